"""What goes wrong on a real device, or its simulator, ends as an error with its stage, and the next call works."""

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest
import tilelang.language as T
import torch

from tilelang_tt.arch import TILE
from tilelang_tt.diagnostics import DeviceError
from tilelang_tt.options import Options
from tilelang_tt.pipeline import compile_function
from tilelang_tt.runtime import ttnn_process
from tilelang_tt.runtime.plan import Plan
from tilelang_tt.runtime.ttnn_launch import launch

LIMIT = float(os.environ.get("TTNN_SHORT_LIMIT", "60"))  # seconds; a right launch must be done by then


class Copy:
    """A kernel that copies a block, whose files a test may spoil."""

    def __init__(self, arch: str) -> None:
        @T.prim_func
        def copy(A: T.Tensor((32, 32), "bfloat16"), B: T.Tensor((32, 32), "bfloat16")):
            with T.Kernel(1, threads=128):
                block = T.alloc_shared((32, 32), "bfloat16")
                T.copy(A, block)
                T.copy(block, B)

        compiled = compile_function(copy, Options(arch=arch, grid=(1, 1)))
        self.plan: Plan = compiled.plan
        self.files = dict(compiled.files)

    def run(self, files: dict[str, str] | None = None, limit: float | None = None) -> None:
        a, b = torch.randn(TILE, TILE).bfloat16(), torch.zeros(TILE, TILE).bfloat16()
        launch(self.plan, files or self.files, {"A": a, "B": b}, {}, timeout=limit)
        assert torch.equal(a, b)


@pytest.fixture
def copy(arch: str) -> Iterator[Copy]:
    kernel = Copy(arch)
    yield kernel
    kernel.run()  # whatever happened before


def spoiled(files: dict[str, str], name: str, old: str, new: str) -> dict[str, str]:
    assert old in files[name]
    return {**files, name: files[name].replace(old, new)}


def test_a_right_kernel(copy: Copy) -> None:
    copy.run(limit=LIMIT)


def test_a_deadlock(copy: Copy) -> None:
    """The reader never hands over its tile: the writer waits for ever, and the device never returns."""
    files = spoiled(copy.files, "reader.cpp", "cb_push_back(cb_block, 1);", "")
    with pytest.raises(DeviceError) as caught:
        copy.run(files, limit=LIMIT)
    assert caught.value.code == "TT405"
    assert caught.value.message == f"time limit: the ttnn worker did not end 'running launch 'copy'' within {LIMIT:g} s"


def test_a_kernel_that_does_not_compile(copy: Copy) -> None:
    files = spoiled(copy.files, "reader.cpp", "noc_async_read_barrier();", "noc_async_read_barier();")
    with pytest.raises(DeviceError) as caught:
        copy.run(files)
    assert caught.value.code == "TT411"
    assert caught.value.message.startswith("ttnn failed while 'running launch 'copy'': ")
    assert "noc_async_read_barier" in str(caught.value)


def test_a_worker_that_is_killed(copy: Copy) -> None:
    files = spoiled(copy.files, "reader.cpp", "cb_push_back(cb_block, 1);", ";")
    pid = ttnn_process._worker.process.pid if ttnn_process._worker else 0
    assert pid

    def kill() -> None:
        while ttnn_process._worker is not None and "running" not in ttnn_process._worker.stage:
            time.sleep(0.1)
        time.sleep(1.0)
        os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(DeviceError) as caught:
        copy.run(files, limit=LIMIT)
    killer.join()
    assert caught.value.code == "TT406"
    assert caught.value.message == "crash: the ttnn worker ended (signal SIGKILL) while 'running launch 'copy''"
