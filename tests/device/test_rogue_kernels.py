"""Kernels that act on the process they run in: a clear error in bounded time, and nothing left behind."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import pytest
from device_programs import Gemm
from reports import category_of
from test_worker_loss import PATIENCE

from tilelang_tt.diagnostics import DeviceError
from tilelang_tt.runtime import runner
from tilelang_tt.runtime.runner_build import BUILD_VARIABLE

HEADERS = (
    "cstdio", "cstdlib", "csignal", "pthread.h", "spawn.h", "sys/resource.h", "unistd.h", "api/debug/dprint.h",
    "api/debug/assert.h",
)  # fmt: skip
BEGIN = "void kernel_main() {\n"


def program(statement: str, file: str = "reader.cpp", grid: tuple[int, int] = (2, 1)) -> Gemm:
    head = "".join(f"#include <{name}>\n" for name in HEADERS)
    return Gemm(edits={file: (BEGIN, f"{head}{BEGIN}    {statement}\n")}, grid=grid)


def failing(statement: str, file: str = "reader.cpp", timeout: float = 20.0) -> DeviceError:
    with pytest.raises(DeviceError) as caught:
        program(statement, file).run(128, 128, 64, timeout=timeout)
    return caught.value


@pytest.mark.parametrize("file", ["reader.cpp", "compute.cpp", "writer.cpp"])
@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("std::exit(0);", "crash: a kernel ends the process: exit"),
        ("quick_exit(3);", "crash: a kernel ends the process: exit"),
        ("fork();", "crash: a kernel starts another process: fork"),
        ("std::abort();", "crash: abort"),
        ("char* volatile room = new char[1ull << 60]; room[0] = 1;", "crash: abort"),
        ("auto* volatile room = static_cast<char*>(std::malloc(1ull << 60)); room[0] = 1;", "segmentation fault"),
        ("volatile char* room = static_cast<char*>(__builtin_alloca(1u << 30)); room[0] = 1;", "segmentation fault"),
        ("void (*volatile nowhere)() = nullptr; nowhere();", "crash: segmentation fault at address 0x0"),
    ],
)
def test_crash(statement: str, says: str, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(BUILD_VARIABLE, raising=False)  # a sanitizer has its own words for some of these
    error = failing(statement, file)
    assert (error.code, says in error.message) == ("TT406", True), str(error)
    assert f"{file}:" in str(error)


def test_the_process_is_ended_at_once() -> None:
    error = failing("_exit(0);")
    assert str(error) == (
        "error[TT408]: the device runtime ended without a report (exit status 0)\n"
        "  help: a kernel may have ended the process, by _exit for example"
    )


def test_exceptions_do_not_compile() -> None:
    error = failing("throw 1;")
    assert (error.code, "exception handling disabled" in str(error)) == ("TT407", True)


@pytest.mark.parametrize("statement", ['std::printf("a line\\n");', '(void)!write(1, "a line\\n", 7);'])
def test_standard_output_is_shown_and_does_not_disturb(statement: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert program(statement).run(128, 128, 64).relative_error < 0.002
    shown = capfd.readouterr()
    assert (shown.out, shown.err.count("a line\n")) == ("", 2)


def test_a_closed_output() -> None:
    assert program("close(1); close(2);").run(128, 128, 64).relative_error < 0.002


def commands(word: str) -> list[str]:
    """Command lines of all processes that hold the word."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return [line for line in found if word in line and "sleep" in line and "pytest" not in line]


FLOODS = [
    'for (;;) (void)!write(1, "0123456789abcdef0123456789abcdef", 32);',
    'for (;;) (void)!write(2, "0123456789abcdef0123456789abcdef", 32);',
    'for (;;) DPRINT << "0123456789abcdef" << ENDL();',
]


@pytest.mark.parametrize("statement", FLOODS)
def test_output_without_end(statement: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(runner, "_MOST_PRINTED", 1 << 20)
    error = failing(statement, timeout=2.0)
    assert error.code == "TT405"
    shown = capfd.readouterr().err
    assert len(shown) < 4 << 20  # places of lines are written out
    assert "... and more: 1 MiB of what kernels print are kept" in shown


def test_processes_of_a_kernel_end_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_GRACE", 1.0)
    seconds = str(1000 + os.getpid())  # by which they are found
    start = time.perf_counter()
    error = failing(f'(void)!std::system("sleep {seconds}");', timeout=1.0)
    assert error.code == "TT405"
    assert time.perf_counter() - start < 60
    end = time.monotonic() + PATIENCE
    while (left := commands(seconds)) and time.monotonic() < end:
        time.sleep(0.1)
    assert left == []


def test_signals_that_are_kept_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner's own time limit does not get through."""
    monkeypatch.setattr(runner, "_GRACE", 1.0)
    keep = "sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, nullptr);"
    assert failing(f"{keep} for (volatile int x = 0;;) x = x + 1;", timeout=1.0).code == "TT405"


def test_memory_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(BUILD_VARIABLE, raising=False)  # sanitizers take more addresses than there is memory
    limit = "rlimit limit; getrlimit(RLIMIT_DATA, &limit); ASSERT(limit.rlim_cur != RLIM_INFINITY);"
    assert program(limit).run(128, 128, 64).relative_error < 0.002


def test_the_l1_of_another_core() -> None:
    """Cores of one launch lie side by side in the memory of the host."""
    place = "reinterpret_cast<volatile uint32_t*>(get_write_ptr(0) + 2 * (x ? -0x200000 : 0x200000) / 2)"
    error = failing(f"const bool x = get_absolute_logical_x(); *{place} = 1;")
    assert "is not in the L1 of its core" in error.message


@pytest.mark.parametrize("file", ["reader.cpp", "compute.cpp", "writer.cpp"])
@pytest.mark.parametrize("address", ["0x20000", "0x1ff00000", "0x20300000", "0x60000000", "0xfffffff0"])
def test_an_address_outside_all_l1_on_one_core(address: str, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other core's L1 is there to be found, so the host's processor is what stops the kernel."""
    monkeypatch.delenv(BUILD_VARIABLE, raising=False)  # a sanitizer has its own words
    with pytest.raises(DeviceError) as caught:
        program(f"*reinterpret_cast<volatile uint32_t*>({address}) = 1;", file, (1, 1)).run(64, 64, 64)
    error = caught.value
    assert (error.code, category_of(error)) == ("TT401", "l1-bounds"), str(error)
    assert address in error.message
    assert "is not in the L1 of its core" in error.message
    assert f"core (0,0), {file[:-4]} {file}:" in str(error)
    assert "get_write_ptr" in (error.help or "")


def test_a_null_pointer_says_where_to_look() -> None:
    error = failing("*reinterpret_cast<volatile uint32_t*>(0x10) = 1;")
    assert (error.code, "address 0x10" in error.message) == ("TT406", True)
    assert "a pointer or an index that goes nowhere" in (error.help or "")


def test_the_next_call_works() -> None:
    failing("std::abort();")
    assert Gemm(grid=(2, 1)).run(128, 128, 64).relative_error < 0.002
