# Every target sets up .venv by itself; `make help` lists them.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

# The virtual device compiles kernels. Without a C++ compiler, the zig extra brings one.
CXX_FOUND := $(shell command -v "$${CXX:-g++}" || command -v g++ || command -v clang++)
comma     := ,
EXTRAS    := dev$(if $(CXX_FOUND),,$(comma)zig)

WORKERS ?= auto

.DEFAULT_GOAL := help
.PHONY: help demo docs test test-pythons tests test-browser test-ttnn test-vendor ttnn-table lint format truth support numerics random mutate golden layouts gemm-table agree test-next bench timing timing-fit sanitize torture sdk-table doctor clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-9s %s\n", $$1, $$2}'

demo: $(STAMP)  ## compile a 1024^3 bf16 GEMM, run it on the virtual device, check it against torch
	@$(BIN)/python examples/gemm.py

docs: $(STAMP)  ## the documentation as a site that needs no network: build/docs/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build -q
	@echo build/docs/index.html

test: $(STAMP) lint  ## everything: lint, types, tests
	$(BIN)/pytest -rs -n $(WORKERS) tests

PYTHONS ?= python3.10 python3.11 python3.12
test-pythons:  ## the tests with each Python that is supported, in environments of their own; PYTHONS="python3.12" for some, TESTS=tests/unit
	for python in $(PYTHONS); do \
	    $(MAKE) VENV=.venv-$$(basename $$python) PYTHON=$$python tests || exit; done

tests: $(STAMP)
	$(BIN)/python --version
	$(BIN)/pytest -rs -n $(WORKERS) $(TESTS)

lint: $(STAMP)  ## ruff and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)  ## let ruff rewrite the sources
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

test-ttnn: $(STAMP)  ## what a real ttnn can show, on a card or simulator also launches; says what was NOT RUN
	$(BIN)/pytest -v -rs tests/ttnn/real/check_ttnn.py tests/ttnn/real/check_failures.py tests/ttnn/real/check_calls.py tests/ttnn/real/check_stand_in.py
	$(BIN)/pytest -v -rs tests/ttnn/real/check_memory.py tests/ttnn/real/check_pages.py

test-vendor: $(STAMP)  ## the vendor's own kernels of the ttnn wheel, against torch; rewrites docs/reference/vendor.md (minutes)
	$(BIN)/python -m tests.vendor.run $(VENDOR_FLAGS)

test-browser: $(STAMP)  ## the HTML report in headless Chromium, which has to be installed
	$(BIN)/pytest -v tests/browser/check_report.py

truth: $(STAMP)  ## measure every recorded case in every numerics mode; rewrites docs/reference/truth.md (minutes)
	$(BIN)/python tests/numerics/truth_table.py

ttnn-table: $(STAMP)  ## the same, and write its results to docs/ttnn_results.md; TTNN_DEVICE_NAME says what the device is
	UPDATE_TTNN_TABLE=1 $(BIN)/pytest -v -rs tests/ttnn/real/check_ttnn.py tests/ttnn/real/check_failures.py tests/ttnn/real/check_calls.py tests/ttnn/real/check_stand_in.py
	UPDATE_TTNN_TABLE=1 $(BIN)/pytest -v -rs tests/ttnn/real/check_memory.py tests/ttnn/real/check_pages.py

COUNT ?= 100
random: $(STAMP)  ## new random programs: tiles, types, threads, layouts; device and independent references agree; COUNT=500 for more
	RANDOM_PROGRAMS=$(COUNT) $(BIN)/pytest -s tests/conformance/test_tile_programs.py \
	    tests/conformance/test_typed_programs.py tests/conformance/test_thread_programs.py tests/layouts/test_drawn.py

support: $(STAMP)  ## operations x types x layouts, measured where tests/conformance/support.txt has no line; docs/reference/support.md
	$(BIN)/python tests/conformance/support_table.py

numerics: $(STAMP)  ## errors of softmax, norms and attention in every numerics mode; rewrites docs/reference/numerics.md
	$(BIN)/python tests/numerics/kernel_errors.py

layouts: $(STAMP)  ## every layout x policy x kernel x chip against torch; make test runs a share of it (tens of minutes)
	LAYOUTS=all $(BIN)/pytest -n $(WORKERS) tests/layouts

agree: $(STAMP)  ## kernels of examples/every_target.py on every target; says what was NOT RUN; PAGE=FILE.md writes the page
	$(BIN)/tilelang-tt agree examples/every_target.py $(if $(PAGE),--page $(PAGE))

TESTS ?= tests
test-next: $(STAMP)  ## the tests with the newest tilelang of the index; writes what differs to next.md; TESTS=tests/unit for some
	$(BIN)/python maint/test_next.py --workers $(WORKERS) $(TESTS)

mutate: $(STAMP)  ## every protocol call of many kernels left out, doubled, moved; rewrites docs/reference/mutation.md (minutes)
	$(BIN)/python tests/device/mutation_table.py

golden: $(STAMP)  ## rewrite the golden files of tests/golden, tests/passes/texts, docs/reference and the catalogue of errors; review the diff
	UPDATE_GOLDEN=1 $(BIN)/pytest tests/golden tests/layouts/test_bytes.py tests/passes/test_texts.py tests/sdk/test_device_api.py tests/errors/test_catalogue.py

gemm-table: $(STAMP)  ## generated GEMM beside the vendor's, by the same clock (minutes)
	-$(BIN)/python tests/vendor/wheel.py
	$(BIN)/python -m benchmarks.gemm_table

bench: $(STAMP)  ## compile time, virtual device against torch, DRAM and DST against what is needed
	$(BIN)/python -m benchmarks

FAMILY ?=
SHARE  ?= 1
timing: $(STAMP)  ## the clock against published figures; ROWS=FILE.csv for other rows, FAMILY=noc, SHARE=10 for one in ten (tens of minutes)
	-$(BIN)/python tests/vendor/wheel.py  # the vendor's kernels; without them their rows are NOT RUN
	$(BIN)/python -m benchmarks.timing --share $(SHARE) $(addprefix --family ,$(FAMILY)) $(ROWS)

timing-fit: $(STAMP)  ## fit the clock's costs to the published rows that are not held out; rewrites its tables
	$(BIN)/python -m benchmarks.timing --fit

sanitize: $(STAMP)  ## the device suite with ASan and UBSan in the runner, its threads with TSan (minutes)
	TILELANG_TT_RUNNER_BUILD=address $(BIN)/pytest -q -n $(WORKERS) tests/device
	TSAN_OPTIONS=atexit_sleep_ms=0 TILELANG_TT_RUNNER_BUILD=thread $(BIN)/pytest -q -n $(WORKERS) \
	    tests/device/test_gemm.py tests/device/test_launch.py tests/device/test_schedules.py tests/device/test_failures.py

torture: $(STAMP)  ## 10,000 calls: memory, files and processes stay as they are (minutes)
	TORTURE_CALLS=10000 $(BIN)/pytest -v tests/device/test_many_calls.py tests/unit/test_cache_torture.py

sdk-table: $(STAMP)  ## read the SDK's declarations anew from the ttnn wheels on PyPI; reports differences
	$(BIN)/python maint/sdk_table.py

doctor: $(STAMP)  ## what the package finds on this machine
	@$(BIN)/tilelang-tt doctor

clean:  ## remove .venv and tool caches
	rm -rf $(VENV) .venv-* .pytest_cache .mypy_cache .ruff_cache

$(STAMP): pyproject.toml constraints.txt
	@$(if $(CXX_FOUND),,echo "no C++ compiler found: installing ziglang from PyPI as the compiler")
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[$(EXTRAS)]'
	@touch $@
