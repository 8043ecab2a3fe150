"""Many calls, from many threads, cut off by Ctrl-C: nothing grows and nothing is left.

TORTURE_CALLS=10000 is the long form (`make torture`).
"""

import gc
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch

CALLS = int(os.environ.get("TORTURE_CALLS", "300"))
GROWTH = 8 * 2**20  # bytes that are no leak, whatever the number of calls


@T.prim_func
def add(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
    with T.Kernel(2, 2) as (bx, by):
        a = T.alloc_shared((32, 32), "float32")
        b = T.alloc_shared((32, 32), "float32")
        T.copy(A[by * 32, bx * 32], a)
        T.copy(B[by * 32, bx * 32], b)
        for i, j in T.Parallel(32, 32):
            a[i, j] = a[i, j] + b[i, j]
        T.copy(a, C[by * 32, bx * 32])


@pytest.fixture(scope="module")
def kernel() -> Any:
    return tilelang.compile(add, out_idx=[-1], target="tenstorrent")


def state() -> tuple[int, int, set[str]]:
    """Bytes of memory, open files, and processes under this one."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir("/proc/self/fd")), set(children)


def test_nothing_grows(kernel: Any) -> None:
    a, b = torch.randn(64, 64), torch.randn(64, 64)
    for _ in range(100):
        kernel(a, b)
    bytes_before, files_before, children_before = state()
    for _ in range(CALLS):
        result = kernel(a, b)
    assert torch.equal(result, a + b)
    bytes_after, files_after, children_after = state()
    assert bytes_after - bytes_before < GROWTH
    assert files_after == files_before
    assert len(children_after) == len(children_before)


def test_eight_threads_at_once(kernel: Any) -> None:
    pairs = [(torch.randn(64, 64), torch.randn(64, 64)) for _ in range(64)]
    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(lambda pair: kernel(*pair), pairs))
    assert all(torch.equal(c, a + b) for (a, b), c in zip(pairs, results, strict=True))


LONG = """
import signal, tilelang, tilelang.language as T, torch, tilelang_tt

@T.prim_func
def product(A: T.Tensor((2048, 2048), "float32"), B: T.Tensor((2048, 2048), "float32"),
            C: T.Tensor((2048, 2048), "float32")):
    with T.Kernel(32, 32) as (bx, by):
        a = T.alloc_shared((64, 64), "float32")
        b = T.alloc_shared((64, 64), "float32")
        c = T.alloc_fragment((64, 64), "float32")
        T.clear(c)
        for k in range(32):
            T.copy(A[by * 64, k * 64], a)
            T.copy(B[k * 64, bx * 64], b)
            T.gemm(a, b, c)
        T.copy(c, C[by * 64, bx * 64])

kernel = tilelang.compile(product, out_idx=[-1], target="tenstorrent -numerics=chip")
small = torch.randn(2048, 2048)
signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background of a shell it would be ignored
print("calling", flush=True)
try:
    while True:
        kernel(small, small)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    script = tmp_path / "long.py"
    script.write_text(LONG)
    shared_before = set(os.listdir("/dev/shm"))
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        assert running.stdout is not None
        assert any(line == "calling\n" for line in running.stdout)
        time.sleep(3)  # into the run
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert "interrupted" in out, err
    assert running.returncode == 0
    deadline = time.monotonic() + 10
    while _processes_of(running.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert _processes_of(running.pid) == []
    assert {name for name in set(os.listdir("/dev/shm")) - shared_before if "tilelang" in name} == set()


def _processes_of(session: int) -> list[str]:
    """Commands of the processes that a session still has."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append((folder / "comm").read_text().strip())
    return found
