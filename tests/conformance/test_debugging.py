"""T.print shows core, line and values; T.device_assert stops the run with the user's line."""

import pytest
import tilelang
import tilelang.language as T
import torch

from tilelang_tt.diagnostics import DeviceError, TenstorrentWarning

pytestmark = pytest.mark.filterwarnings("ignore:.*TT70[23]")


def printing():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            s = T.alloc_shared((2,), "float32")
            if tx < 2:
                s[tx] = A[tx] * 0.5
            if tx == 3:
                T.print(A[tx], msg="an element")
            T.print(s, msg="a block")
            B[tx] = s[tx % 2]

    return main


def test_print(capfd):
    kernel = tilelang.compile(printing(), target="tenstorrent")
    kernel(torch.arange(64.0), torch.zeros(64))
    first = printing.__code__.co_firstlineno
    shown = [line for line in capfd.readouterr().err.splitlines() if line.startswith("core ")]
    assert shown == [
        f"core (0,0) test_debugging.py:{first + 9}: an element 3",
        f"core (0,0) test_debugging.py:{first + 10}: a block s 0, 0",
        f"core (0,0) test_debugging.py:{first + 10}: a block s 1, 0.5",
    ]


def asserting():
    @T.prim_func
    def main(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            T.device_assert(A[tx] < 50, "too large")
            B[tx] = A[63 - tx]

    return main


def test_assertion():
    kernel = tilelang.compile(asserting(), target="tenstorrent")
    a, b = torch.arange(64, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
    kernel(a % 50, b)
    assert torch.equal(b, (a % 50).flip(0))
    with pytest.raises(DeviceError, match="an assertion does not hold") as caught:
        kernel(a, b)
    assert "ASSERT(condition);  // too large" in str(caught.value)


@pytest.mark.filterwarnings("default")
def test_in_tile_operations_it_is_not_checked_and_says_so():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32"), n: T.int32):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((64, 64), "float32")
            T.device_assert(n > 0)
            T.copy(A, x)
            T.copy(x, B)

    with pytest.warns(TenstorrentWarning, match="TT703"):
        tilelang.compile(main, target="tenstorrent")
