"""T.print shows core, line and values; T.device_assert stops the run with the user's line and the values."""

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
    with pytest.raises(DeviceError) as caught:
        kernel(a, b)
    assert caught.value.code == "TT417"
    assert caught.value.message == "an assertion does not hold: too large: A[tx] = 50, tx = 50"
    assert caught.value.location.line == asserting.__code__.co_firstlineno + 5
    kernel(a % 50, b)


def asserting_in_places(n):
    """In a loop whose threads may end early; with floats, two comparisons, and braces in the text."""

    @T.prim_func
    def main(A: T.Tensor((n, 64), "float32"), B: T.Tensor((n, 64), "float32")):
        with T.Kernel(n, threads=64) as bx:
            tx = T.get_thread_binding()
            if tx > 40:
                T.thread_return()
            for k in T.serial(2):
                x = A[bx, tx] * 2
                T.device_assert(x >= 0 and x + k < 100, "in {0, 100}")
                B[bx, tx] = x

    return main


def test_values_of_an_assertion():
    kernel = tilelang.compile(asserting_in_places(4), target="tenstorrent")
    a, b = torch.rand(4, 64), torch.zeros(4, 64)
    kernel(a, b)
    assert torch.equal(b[:, :41], a[:, :41] * 2)
    a[2, 50] = -1  # of a thread that has ended
    kernel(a, b)
    a[2, 17] = 49.75
    with pytest.raises(DeviceError) as caught:
        kernel(a, b)
    assert caught.value.message.startswith("an assertion does not hold: in {0, 100}: x = 99.5, x + ")
    assert caught.value.message.endswith(" = 100.5, tx = 17")
    assert caught.value.notes == ("block 2 of the grid",)


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
