"""T.print shows core, line and values; T.device_assert stops the run with the user's line and the values."""

import pytest
import tilelang
import tilelang.language as T
import torch

from tilelang_tt.diagnostics import DeviceError, TenstorrentWarning
from tilelang_tt.ir.tensors_of_code import codes_of, is_code
from tilelang_tt.options import Options
from tilelang_tt.pipeline import run_passes

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


# --- among tile operations ----------------------------------------------------------------------------


def asserting_among_tiles(N=128):
    """On a number of the call, an element of a tensor, and one of a block, in a loop."""

    @T.prim_func
    def main(
        X: T.Tensor((N, 64), "float32"), L: T.Tensor((N // 32,), "int32"), Y: T.Tensor((N, 64), "float32"), n: T.int32
    ):
        with T.Kernel(N // 32, threads=128) as bx:
            x = T.alloc_shared((32, 64), "float32")
            y = T.alloc_fragment((32, 64), "float32")
            top = T.alloc_fragment((32,), "float32")
            T.device_assert(n > 0)
            T.copy(X[bx * 32, 0], x)
            T.reduce_max(x, top, dim=1)
            T.device_assert(L[bx] < n, "length")
            for r in T.serial(2):
                for i, j in T.Parallel(32, 64):
                    y[i, j] = x[i, j] - top[i]
                T.device_assert(top[5] < 10.0 - r, "top")
                T.copy(y, x)
            T.copy(y, Y[bx * 32, 0])

    return main


@pytest.mark.parametrize("numerics", ["fast", "exact", "chip"])
def test_among_tile_operations(numerics):
    """All other statements stay on the tile engines; where one does not hold, the others go on to their end."""
    func = asserting_among_tiles()
    program, _ = run_passes(func, Options(), lambda *_: None)
    assert [(len(codes_of(launch)), is_code(launch)) for launch in program.launches] == [(3, False)]
    kernel = tilelang.compile(func, target={"kind": "tenstorrent", "grid": "2x1", "numerics": numerics})
    x = torch.randint(-3, 4, (128, 64), generator=torch.Generator().manual_seed(0)).float()
    lengths, y = torch.tensor([1, 2, 3, 4], dtype=torch.int32), torch.zeros(128, 64)
    wanted = x - 2 * x.max(1, keepdim=True).values
    kernel(x, lengths, y, 5)
    assert torch.equal(y, wanted)
    higher = x.clone()
    higher[69, 7] = 9.5
    for args, said, place, line in (
        ((x, 0), "n = 0", 0, 11),
        ((x, 3), "length: L[bx] = 3, n = 3", 2, 14),
        ((higher, 5), 'top: top[5] = 9.5, T.float32(10.0) - T.Cast("float32", r) = 9', 2, 18),
    ):
        with pytest.raises(DeviceError) as caught:
            kernel(args[0], lengths, y, args[1])
        assert caught.value.message == f"an assertion does not hold: {said}"
        assert caught.value.notes == (f"block {place} of the grid",)
        assert caught.value.location.line == asserting_among_tiles.__code__.co_firstlineno + line
    kernel(x, lengths, y, 5)
    assert torch.equal(y, wanted)


def test_in_a_statement_that_is_cut_out():
    """Of several rounds that fail the first one is told."""

    @T.prim_func
    def main(X: T.Tensor((64, 64), "float32"), Y: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            x = T.alloc_shared((32, 64), "float32")
            y = T.alloc_fragment((32, 64), "float32")
            T.copy(X[bx * 32, 0], x)
            T.copy(x, y)
            for r in T.serial(3):
                for i in T.serial(32):
                    j = T.alloc_var("int32")
                    j = 0
                    while j < 64 and y[i, j] < 1.0:
                        j = j + 1
                    T.device_assert(j < 64, "nothing found")
                    y[i, 0] = T.cast(j + r, "float32") - 64.0
                for i, j in T.Parallel(32, 64):
                    y[i, j] = y[i, j] * 2.0
            T.copy(y, Y[bx * 32, 0])

    kernel = tilelang.compile(main, target="tenstorrent")
    x, y = torch.zeros(64, 64), torch.zeros(64, 64)
    x[:, 9] = 1.0
    kernel(x, y)
    x[40:44, 9] = 0.0
    with pytest.raises(DeviceError, match="nothing found: j\\[0\\] = 64") as caught:
        kernel(x, y)
    assert caught.value.notes == ("block 1 of the grid",)


def asserting_inside(N=64):
    @T.prim_func
    def main(A: T.Tensor((N, 64), "float32"), B: T.Tensor((N, 64), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((N, 64), "float32")
            T.copy(A, x)
            for i, j in T.Parallel(N, 64):
                T.device_assert(x[i, j] > 0)
                x[i, j] = x[i, j] * 2.0
            T.copy(x, B)

    return main


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    ("func", "target"),
    [
        (asserting_inside, "tenstorrent"),
        (asserting_among_tiles, {"kind": "tenstorrent", "scalar_code": False}),
    ],
)
def test_where_it_is_not_checked_a_warning_says_so(func, target):
    """Inside T.Parallel, and without scalar code."""
    with pytest.warns(TenstorrentWarning, match="TT703"):
        tilelang.compile(func(), target=target)
