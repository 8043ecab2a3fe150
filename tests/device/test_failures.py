"""Kernels that crash, hang or deadlock: an exception with the place, and a process that goes on."""

from __future__ import annotations

import os
import time

import pytest
import torch
from device_programs import Gemm, TileProgram

from tilelang_tt.diagnostics import DeviceError, EnvironmentProblem
from tilelang_tt.runtime.progress import progress
from tilelang_tt.runtime.runner_build import BUILD_VARIABLE
from tilelang_tt.runtime.virtual import launch

LOOP = "    for (uint32_t unit = 0; unit < count; ++unit) {\n"


def failing(file: str, old: str, new: str, timeout: float | None = None) -> DeviceError:
    with pytest.raises(DeviceError) as caught:
        Gemm(edits={file: (old, new)}, grid=(2, 1)).run(128, 384, 64, timeout=timeout)
    assert Gemm(grid=(2, 1)).run(128, 128, 64).relative_error < 0.002, "the next launch must work"
    return caught.value


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("*reinterpret_cast<volatile uint32_t*>(0x10) = 1;", "segmentation fault at address 0x10"),
        ("volatile uint32_t zero = 0; volatile uint32_t bad = count / zero; (void)bad;", "arithmetic fault"),
        ("__builtin_trap();", "illegal instruction"),
    ],
)
def test_crash(statement: str, text: str) -> None:
    error = failing("compute.cpp", LOOP, f"    {statement}\n{LOOP}")
    assert error.code == "TT406"
    assert text in error.message
    assert "matmul_block_init(cb_a" in str(error), "the last call into the device"


def test_stack_overflow_is_a_crash() -> None:
    function = (
        "uint32_t depth(volatile uint32_t n) {\n"
        "    volatile uint32_t pad[64] = {n};\n"
        "    return n ? depth(n + 1) + pad[0] : 0;\n"
        "}\n"
    )
    edit = (
        "void kernel_main() {\n",
        f"{function}void kernel_main() {{\n    depth(get_arg_val<uint32_t>(0));\n",
    )
    error = failing("compute.cpp", *edit)
    assert (error.code, "segmentation fault" in error.message) == ("TT406", True)


def test_hang_without_device_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(BUILD_VARIABLE, raising=False)  # TSan holds signals back from a thread that makes no calls
    edit = (
        "    const uint32_t blocks_across",
        "    for (volatile int x = 0;;) x = x + 1;\n    const uint32_t blocks_across",
    )
    failing("reader.cpp", *edit, timeout=0.5)  # builds
    start = time.perf_counter()
    error = failing("reader.cpp", *edit, timeout=0.5)
    assert time.perf_counter() - start < 30  # far from the default limit, on a busy machine too
    assert error.code == "TT405"
    assert error.message == "time limit: the kernels did not end within 0.5 s"
    assert any("reader reader.cpp:" in note and note.endswith(" runs") for note in error.notes)
    assert "TILELANG_TT_TIMEOUT" in (error.help or "")


def test_deadlock_says_who_waits_for_whom() -> None:
    error = failing("reader.cpp", "            cb_push_back(cb_b, block_k * block_n);\n", "")
    assert error.code == "TT404"
    text = str(error)
    assert "compute compute.cpp" in text
    assert "waits in cb_wait_front for 4 pages of CB 1 'B': 0 are there, the reader has to push" in text
    assert "waits in cb_wait_front for 4 pages of CB 16 'C': 0 are there, the compute has to push" in text


def test_full_buffer_deadlock() -> None:
    error = failing("compute.cpp", "            cb_pop_front(cb_a, block_m * block_k);\n", "")
    assert error.code == "TT404"
    assert "waits in cb_reserve_back for 4 free pages of CB 0 'A'" in str(error)


def test_time_limit_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILELANG_TT_TIMEOUT", "0.3")
    with pytest.raises(DeviceError, match=r"did not end within 0\.3 s"):
        Gemm(
            edits={
                "writer.cpp": (
                    "    const uint32_t blocks_across",
                    "    for (volatile int x = 0;;) x = x + 1;\n    const uint32_t blocks_across",
                )
            }
        ).run(64, 64, 64)
    monkeypatch.setenv("TILELANG_TT_TIMEOUT", "soon")
    with pytest.raises(
        EnvironmentProblem, match=r"error\[TT504\]: TILELANG_TT_TIMEOUT is not a number of seconds: 'soon'"
    ):
        Gemm().run(64, 64, 64)


def test_kernel_that_does_not_compile() -> None:
    with pytest.raises(DeviceError) as caught:
        Gemm(edits={"compute.cpp": ("cb_push_back(cb_out", "cb_push_bak(cb_out")}).run(64, 64, 64)
    assert caught.value.code == "TT407"
    assert "kernel compute.cpp does not compile" in str(caught.value)
    assert "cb_push_bak" in str(caught.value)


def test_missing_part_of_the_sdk_is_named() -> None:
    edit = ('#include "api/compute/pack.h"', '#include "api/compute/no_such.h"')
    with pytest.raises(DeviceError, match=r"error\[TT402\]: .*virtual device: header api/compute/no_such\.h"):
        Gemm(edits={"compute.cpp": edit}).run(64, 64, 64)
    # A function of the SDK that is missing compiles, whatever its arguments, and stops the run by name.
    scan = TileProgram("ema_init(7); ema_tile<true>(0, 1, 2);", ("ema.h",))
    with pytest.raises(DeviceError, match=r"error\[TT402\]: .*unimplemented: ema_init"):
        scan.run(torch.ones(32, 32))
    # An instruction of the chip that is not modelled.
    raw = TileProgram("MATH((TTI_SFPADD(0, 1, 2, 3, 0)));", ())
    with pytest.raises(DeviceError, match=r"error\[TT402\]: .*virtual device: the instruction TTI_SFPADD"):
        raw.run(torch.ones(32, 32))


def test_argument_the_device_does_not_know_is_refused() -> None:
    edit = ("noc_async_read_barrier();", "noc_async_read_barrier(0, 7);")
    with pytest.raises(DeviceError, match=r"kernel reader\.cpp does not compile"):
        Gemm(edits={"reader.cpp": edit}).run(64, 64, 64)


def test_failed_launch_leaves_tensors_alone() -> None:
    program = TileProgram("copy_tile(x, 0, 0);")
    out = torch.full((32, 32), 5.0)
    x = torch.ones(32, 32)
    with pytest.raises(DeviceError):
        launch(program.plan(), program.sources(), {"x": x, "y": x, "out": out}, {"M": 32, "N": 32})
    assert torch.equal(out, torch.full((32, 32), 5.0))


def test_failures_leave_no_descriptors_behind() -> None:
    program = TileProgram("copy_tile(x, 0, 0);")
    counts = []
    for _ in range(6):
        with pytest.raises(DeviceError):
            program.run(torch.ones(32, 32))
        counts.append(len(os.listdir("/dev/fd")))
    assert counts[-1] <= counts[1]


def test_unknown_numerics_are_refused() -> None:
    with pytest.raises(DeviceError, match=r"error\[TT409\]: unknown numerics 'fuzzy'"):
        Gemm().run(64, 64, 64, numerics="fuzzy")


def test_progress_is_shown_when_it_takes_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tilelang_tt.runtime.progress.PATIENCE", 0.05)
    with progress("running a test"):
        pass
    assert capsys.readouterr().err == ""
    with progress("running a test"):
        time.sleep(0.3)
    assert "running a test" in capsys.readouterr().err
