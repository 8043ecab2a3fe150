"""The runner is lost, or there is no memory: a clear exception, a caller that goes on, and nothing left behind."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from device_programs import Gemm

from tilelang_tt.diagnostics import DeviceError
from tilelang_tt.runtime import arena, runner
from tilelang_tt.runtime.runner_build import BUILD_VARIABLE

ENDLESS = {
    "reader.cpp": (
        "    const uint32_t blocks_across",
        "    for (volatile int x = 0;;) x = x + 1;\n    const uint32_t blocks_across",
    )
}
PATIENCE = 120  # seconds for another process to do something


def children(pid: int | str = "self") -> set[int]:
    """Processes that this one has started and not waited for: the running ones and the zombies."""
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a thread that has just ended
            found |= set(map(int, (task / "children").read_text().split()))
    return found


def name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def wait_for_runner(parent: int | str = "self") -> int:
    """The runner that the parent has started, as soon as it is there."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for pid in children(parent):
            if name_of(pid) == "runner":
                return pid
        time.sleep(0.01)
    raise AssertionError("no runner was started")


def left() -> tuple[set[int], int, set[str]]:
    gc.collect()
    while arena._free:  # kept for the next call, on purpose
        arena._free.pop().close()
    shared = {name for name in os.listdir("/dev/shm") if not name.startswith("sem.mp-")}  # of multiprocessing, not ours
    return children(), len(os.listdir("/proc/self/fd")), shared


@pytest.fixture
def nothing_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No process, no descriptor, no shared memory, no temporary file; and the next launch works."""
    assert Gemm().run(64, 64, 64).relative_error < 0.002  # builds, and keeps an arena
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    before = left()
    yield
    assert Gemm().run(64, 64, 64).relative_error < 0.002
    end = time.monotonic() + PATIENCE
    while left() != before and time.monotonic() < end:
        time.sleep(0.1)
        subprocess._cleanup()  # type: ignore[attr-defined]  # as every start of a process does, for one interrupted early
    assert left() == before
    assert list(tmp_path.iterdir()) == []


def signal_the_runner(number: signal.Signals) -> threading.Thread:
    def act() -> None:
        os.kill(wait_for_runner(), number)

    thread = threading.Thread(target=act)
    thread.start()
    return thread


@pytest.mark.usefixtures("nothing_left_behind")
def test_killed_runner() -> None:
    helper = signal_the_runner(signal.SIGKILL)
    with pytest.raises(DeviceError) as caught:
        Gemm(edits=ENDLESS).run(64, 64, 64)
    helper.join()
    assert str(caught.value) == (
        "error[TT408]: the device runtime was ended by SIGKILL\n"
        "  help: the system ends processes like this when memory runs out; the tensors take 1 MiB"
    )


@pytest.mark.usefixtures("nothing_left_behind")
def test_stopped_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that cannot even report its time limit."""
    monkeypatch.setattr(runner, "_GRACE", 0.2)
    helper = signal_the_runner(signal.SIGSTOP)
    with pytest.raises(DeviceError, match=r"error\[TT405\]: time limit: the kernels did not end within 1 s"):
        Gemm(edits=ENDLESS).run(64, 64, 64, timeout=1.0)
    helper.join()


@pytest.mark.usefixtures("nothing_left_behind")
def test_interrupted_call() -> None:
    """Ctrl-C while kernels run."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    def act() -> None:
        wait_for_runner()
        os.kill(os.getpid(), signal.SIGUSR1)

    former = signal.signal(signal.SIGUSR1, interrupt)
    helper = threading.Thread(target=act)
    helper.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            Gemm(edits=ENDLESS).run(64, 64, 64)
    finally:
        helper.join()
        signal.signal(signal.SIGUSR1, former)


@pytest.mark.usefixtures("nothing_left_behind")
def test_no_memory_for_the_tensors() -> None:
    with pytest.raises(DeviceError, match=r"error\[TT415\]: no memory for the tensors of the device: [\d,]+ MiB"):
        arena.Arena(1 << 62)


@pytest.mark.usefixtures("nothing_left_behind")
def test_runner_without_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of address space holds for the runner alone: it is set by the shell that starts it."""
    monkeypatch.delenv(BUILD_VARIABLE, raising=False)  # a sanitizer itself takes more addresses than the limit
    program, size = Gemm(grid=(2, 2)), (4096, 2048, 64)
    program.run(*size)  # builds
    started = subprocess.Popen

    def limited(command: list[str], **options: object) -> subprocess.Popen[bytes]:
        return started(["/bin/sh", "-c", 'ulimit -v 20000 && exec "$@"', "sh", *command], **options)  # type: ignore

    monkeypatch.setattr(runner.subprocess, "Popen", limited)
    with pytest.raises(DeviceError, match=r"error\[TT408\]: .*: cannot map the memory of the device"):
        program.run(*size)
    monkeypatch.undo()


SCRIPT = """
import sys
sys.path[:0] = {path!r}
from test_worker_loss import ENDLESS
from device_programs import Gemm
Gemm(edits=ENDLESS).run(64, 64, 64)
"""


def test_the_runner_ends_with_its_caller() -> None:
    """A caller that is killed cannot end its runner; nobody may compute on for the rest of the time limit."""
    script = SCRIPT.format(path=[str(Path(__file__).parent), *sys.path])
    caller = subprocess.Popen([sys.executable, "-c", script])
    pid = wait_for_runner(caller.pid)
    caller.kill()
    caller.wait()
    end = time.monotonic() + PATIENCE
    while name_of(pid) == "runner" and time.monotonic() < end:
        time.sleep(0.01)
    assert name_of(pid) != "runner"
