"""The plugin of `make test-ttnn`: a right device passes, another number fails, what cannot run is said; the table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_ttnn import FakeTtnn

REAL = Path(__file__).parent / "real"
sys.path.insert(0, str(REAL))

import table  # noqa: E402
from table import COLUMNS, name_of, replace_section, section  # noqa: E402

KERNEL = """
import pytest
import tilelang
import tilelang.language as T
import tilelang_tt
import torch


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_product(arch, dtype):
    @T.prim_func
    def product(A: T.Tensor((32, 32), dtype), B: T.Tensor((32, 32), dtype), C: T.Tensor((32, 32), dtype)):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((32, 32), dtype)
            b = T.alloc_shared((32, 32), dtype)
            c = T.alloc_fragment((32, 32), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C)

    target = {"kind": "tenstorrent", "arch": arch, "grid": "1x1"}
    a, b = (torch.randn(32, 32, generator=torch.Generator().manual_seed(s)).to(getattr(torch, dtype)) for s in (0, 1))
    got = tilelang.compile(product, out_idx=[-1], target=target)(a, b)
    assert (got.double() - a.double() @ b.double()).abs().max() < 0.1


@pytest.mark.parametrize("dtype", ["float32"])
def test_sum(dtype):
    @T.prim_func
    def double(A: T.Tensor((32, 32), dtype), B: T.Tensor((32, 32), dtype)):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((32, 32), dtype)
            T.copy(A, a)
            for i, j in T.Parallel(32, 32):
                a[i, j] = a[i, j] + a[i, j]
            T.copy(a, B)

    a = torch.randn(32, 32, generator=torch.Generator().manual_seed(2))
    got = tilelang.compile(double, out_idx=[-1], target={"kind": "tenstorrent", "grid": "1x1"})(a)
    assert torch.equal(got, a + a)


def test_without_a_kernel():
    pass


def test_for_a_newer_sdk():
    @T.prim_func
    def copy(A: T.Tensor((32, 32), "bfloat16"), B: T.Tensor((32, 32), "bfloat16")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((32, 32), "bfloat16")
            T.copy(A, a)
            T.copy(a, B)

    target = {"kind": "tenstorrent", "grid": "1x1", "sdk": "0.81"}
    tilelang.compile(copy, out_idx=[-1], target=target)(torch.zeros(32, 32).bfloat16())
"""


def run(
    fake: FakeTtnn, folder: Path, numerics: str, arch: str = "blackhole", **settings: str
) -> tuple[int, dict[str, Any]]:
    fake.change(arch=arch)
    (folder / "test_kernels.py").write_text(KERNEL)
    results = folder / "results.json"
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(REAL), *sys.path]),
        "FAKE_TTNN_NUMERICS": numerics,
        "TTNN_RESULTS": str(results),
        **settings,
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "on_device", "-p", "no:xdist", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "--rootdir", str(folder), str(folder)], env=variables, capture_output=True, text=True, check=False
    )
    assert results.exists(), done.stdout + done.stderr
    found: dict[str, Any] = json.loads(results.read_text())
    return done.returncode, found


def test_a_device_with_the_chips_numbers(fake: FakeTtnn, tmp_path: Path) -> None:
    status, results = run(fake, tmp_path, "chip")
    assert status == 0
    assert results["device"]["arch"] == "blackhole"
    outcomes = {case["test"].partition("::")[2]: case for case in results["cases"]}
    assert set(outcomes) == {
        "test_product[bfloat16-blackhole]",
        "test_product[float32-blackhole]",
        "test_sum[float32]",
        "test_without_a_kernel",
        "test_for_a_newer_sdk",
    }
    product = outcomes["test_product[bfloat16-blackhole]"]
    assert (product["outcome"], product["launches"], product["elements"], product["differing"]) == (
        "passed",
        1,
        1024,
        0,
    )
    newer = outcomes["test_for_a_newer_sdk"]
    assert newer["outcome"] == "skipped"
    assert newer["problems"] == ["NOT RUN: the kernel uses the API of ttnn 0.81"]
    text = section(results, "Blackhole")
    assert "| kernels: product | 2 | 2 | 0 | 0 | 2 | 0 | 2,048 | 0 |" in text
    assert "without a kernel" not in text
    assert "| **all** | 4 | 3 | 0 | 1 | 3 | 0 | 3,072 | 0 |" in text
    assert "- the kernel uses the API of ttnn 0.81: kernels: for a newer sdk (1)" in text


def test_a_device_with_other_numbers_fails(fake: FakeTtnn, tmp_path: Path) -> None:
    """Sums in plain float32 are within any bound, but not the chip's bits."""
    status, results = run(fake, tmp_path, "fast")
    assert status == 1
    product = next(case for case in results["cases"] if "float32" in case["test"])
    assert product["outcome"] == "failed"
    assert product["differing"] > 0
    assert "elements of 'C' differ from the virtual device, first [0, 0]: ttnn " in product["problems"][0]
    assert "Failed:\n\n- product: " in section(results, "Blackhole")


def test_what_was_computed_before_is_compared_again(fake: FakeTtnn, tmp_path: Path) -> None:
    """The second run launches nothing; the third has another device with other numbers."""
    programs = []
    for numerics, arch in (("chip", "blackhole"), ("fast", "blackhole"), ("fast", "wormhole_b0")):
        status, _ = run(fake, tmp_path, numerics, arch, TTNN_RECORDED=str(tmp_path / "recorded"))
        programs.append((status, len(fake.programs())))
    assert programs == [(0, 3), (0, 3), (1, 6)]


def test_the_wormhole_simulator_runs_without_unpack_to_dst(fake: FakeTtnn, tmp_path: Path) -> None:
    status, results = run(fake, tmp_path, "chip", "wormhole_b0", TT_METAL_SIMULATOR="libsim.so")
    outcomes = {case["test"].partition("::")[2]: case for case in results["cases"]}
    assert status == 0
    assert outcomes["test_product[float32-wormhole_b0]"]["narrowed"] == 0
    added = outcomes["test_sum[float32]"]
    assert (added["outcome"], added["launches"], added["narrowed"]) == ("passed", 1, 1)
    assert not any(program["kernels"]["compute"]["direct"] for program in fake.programs())


def test_a_section_replaces_its_own() -> None:
    first = replace_section("", "wormhole_b0", "## one\n")
    both = replace_section(first, "blackhole", "## two\n")
    again = replace_section(both, "wormhole_b0", "## three \\1\n")
    assert both.count("## one") == both.count("## two") == 1
    assert again == both.replace("## one", "## three \\1")
    assert again.startswith("# Conformance kernels on ttnn\n")


def test_a_later_run_replaces_its_cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    monkeypatch.setattr(table, "TABLE", page)
    case = {"launches": 1, "narrowed": 0, "elements": 5, "differing": 0, "problems": []}
    facts = {"device": {"arch": "blackhole", "ttnn": "0.77.0"}}
    first = [{**case, "test": f"t/test_a.py::test_{name}", "outcome": "failed", "problems": ["bad"]} for name in "xyz"]
    later = [{**case, "test": "t/test_a.py::test_y", "outcome": "passed"}]
    runs = [
        {**facts, "run": {"day": "D", "device": "S", "commit": commit}, "cases": cases}
        for commit, cases in (("one", first), ("two", later))
    ]
    table.write_table(*runs)
    text = page.read_text()
    assert "## Blackhole: ttnn 0.77.0 on S, D, commit one; 1 cases of two\n" in text
    assert "| **all** | 3 | 1 | 2 | 0 | 3 | 0 | 15 | 0 |" in text
    assert "- bad: a: x (1), a: z (1)\n" in text
    table.write_table(runs[1], part="some of them")
    assert page.read_text().startswith(text)
    assert "## Blackhole, some of them: ttnn 0.77.0 on S, D, commit two\n" in page.read_text()


def test_names_of_rows() -> None:
    assert name_of("tests/conformance/test_idioms.py::test_two_kernels[wormhole_b0]") == "idioms: two kernels"
    assert len(COLUMNS) == 9


@pytest.mark.parametrize("outcome", ["failed", "skipped"])
def test_a_reason_is_given_once(outcome: str) -> None:
    case = {"outcome": outcome, "launches": 0, "elements": 0, "differing": 0, "narrowed": 0}
    case["problems"] = ["NOT RUN: no card"]
    cases = [{**case, "test": f"t/test_a.py::test_{name}"} for name in ("x", "x", "y")]
    text = section({"cases": cases}, "T")
    assert "- no card: a: x (2), a: y (1)\n" in text
