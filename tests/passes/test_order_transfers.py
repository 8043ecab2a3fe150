"""C order_transfers: where reader and writer wait for each other."""

import pytest
import tilelang.language as T

from tilelang_tt.passes.c_tile.order_transfers import order_transfers

from .kernels import small_integers
from .stages import after, body, keeps_meaning


def _stored_and_loaded(shift: int):
    """Each round stores a block of B and loads the block `shift` rows of blocks above it."""

    @T.prim_func
    def main(A: T.Tensor((128, 64), "float32"), B: T.Tensor((128, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 64), "float32")
            Y = T.alloc_shared((32, 64), "float32")
            Z = T.alloc_fragment((32, 64), "float32")
            for k in T.serial(4):
                T.copy(A[k * 32, 0], X)
                T.copy(B[(k - shift) * 32, 0], Y)
                for i, j in T.Parallel(32, 64):
                    Z[i, j] = X[i, j] + Y[i, j]
                T.copy(Z, B[k * 32, 0])

    return main


def _two_blocks_overlap():
    """A round stores two blocks, and the next one loads the second of them."""

    @T.prim_func
    def main(A: T.Tensor((128, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((64, 64), "float32")
            Z = T.alloc_fragment((64, 64), "float32")
            for k in T.serial(3):
                T.copy(A[k * 32, 0], X)
                for i, j in T.Parallel(64, 64):
                    Z[i, j] = X[i, j] * 2.0
                T.copy(Z, A[k * 32, 0])

    return main


def _loaded_behind(column: int):
    """A block is stored, and then the one at a column loaded."""

    @T.prim_func
    def main(A: T.Tensor((64, 128), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((64, 64), "float32")
            Y = T.alloc_shared((64, 64), "float32")
            T.copy(B, X)
            T.copy(X, A[0, 0])
            T.copy(A[0, column], Y)
            T.copy(Y, B)

    return main


def _exchanged():
    """What is stored was not computed from what was loaded from the same place before."""

    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            Y = T.alloc_shared((32, 32), "float32")
            for k in T.serial(2):
                T.copy(A[k * 32, 0], X)
                T.copy(B[k * 32, 0], Y)
                T.copy(X, B[k * 32, 0])
                T.copy(Y, A[k * 32, 0])

    return main


def _summed(rounds: int):
    """The outer loop comes back to the same blocks, the inner one does not."""

    @T.prim_func
    def main(A: T.Tensor((rounds * 32, 64), "float32"), B: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            Y = T.alloc_shared((32, 32), "float32")
            for k in T.serial(rounds):
                for n in T.serial(2):
                    T.copy(A[k * 32, n * 32], X)
                    T.copy(B[0, n * 32], Y)
                    for i, j in T.Parallel(32, 32):
                        Y[i, j] = Y[i, j] + X[i, j]
                    T.copy(Y, B[0, n * 32])

    return main


@pytest.mark.parametrize("func", [_stored_and_loaded(0), _loaded_behind(64)], ids=["in place", "apart"])
def test_nothing_waits_where_order_is_kept_anyway(func) -> None:
    assert "Await" not in body(after(order_transfers, func))


@pytest.mark.parametrize(
    ("func", "waits"),
    [
        (_stored_and_loaded(1), "Await stored\n  Load B"),
        (_two_blocks_overlap(), "Await stored\n  Load A"),
        (_loaded_behind(32), "Await stored\nLoad A"),
        (_exchanged(), "Await loaded\n  Store X"),
        (_summed(3), "Await stored\n  Loop n < 2"),
    ],
    ids=["round before", "overlap", "behind a store", "not computed from it", "outer loop"],
)
def test_a_kernel_waits_in_front_of(func, waits: str) -> None:
    program = after(order_transfers, func)
    assert waits in body(program)
    assert body(program).count("Await") == 1
    shapes = {tensor.name: tuple(map(int, tensor.shape)) for tensor in program.tensors}
    assert keeps_meaning(order_transfers, func, small_integers(shapes))
