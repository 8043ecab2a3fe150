"""A sharded tensor that a launch loads, changes and stores: nothing moves, unless old and new would get in the way."""

from typing import Any

import pytest
import tilelang.language as T
import torch
from placed import check, moved, whole

SIZE = 128
BLOCKS = {"memory": "L1", "shard": "block", "grid": (2, 2)}
ROWS = {"memory": "L1", "shard": "height", "grid": (4, 1)}
DTYPES = {"bfloat16": torch.bfloat16, "float32": torch.float32}


def scaled(block: tuple[int, int], dtype: str) -> Any:
    bm, bn = block

    @T.prim_func
    def main(X: T.Tensor((SIZE, SIZE), dtype), Y: T.Tensor((SIZE, SIZE), dtype)):
        with T.Kernel(SIZE // bn, SIZE // bm, threads=128) as (bx, by):
            x = T.alloc_shared((bm, bn), dtype)
            y = T.alloc_shared((bm, bn), dtype)
            T.copy(X[by * bm, bx * bn], x)
            T.copy(Y[by * bm, bx * bn], y)
            for i, j in T.Parallel(bm, bn):
                x[i, j] = x[i, j] * 2 + y[i, j]
            T.copy(x, X[by * bm, bx * bn])

    return main


@pytest.mark.parametrize(
    ("block", "dtype", "numerics"),
    [((64, 64), "bfloat16", "chip"), ((64, 64), "float32", "fast"), ((32, 32), "bfloat16", "exact")],
)
def test_elements(block: tuple[int, int], dtype: str, numerics: str) -> None:
    x, y = whole(SIZE, SIZE, dtype=DTYPES[dtype]), whole(SIZE, SIZE, dtype=DTYPES[dtype], seed=1)
    layouts = {"X": BLOCKS, "Y": BLOCKS}
    func, options = scaled(block, dtype), {"schedule": {"match": "X"}, "numerics": numerics}
    kernel = check(func, {"X": x, "Y": y}, {"X": x * 2 + y}, layouts, **options)
    assert moved(kernel) == (0, 0)


def test_sums_of_products_are_added() -> None:
    """C += A @ B."""

    @T.prim_func
    def main(
        A: T.Tensor((SIZE, SIZE), "bfloat16"),
        B: T.Tensor((SIZE, SIZE), "bfloat16"),
        C: T.Tensor((SIZE, SIZE), "float32"),
    ):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            a = T.alloc_shared((64, 64), "bfloat16")
            b = T.alloc_shared((64, 64), "bfloat16")
            c = T.alloc_fragment((64, 64), "float32")
            T.copy(C[by * 64, bx * 64], c)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[by * 64, k * 64], a)
                T.copy(B[k * 64, bx * 64], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 64, bx * 64])

    a, b, c = whole(SIZE, SIZE), whole(SIZE, SIZE, seed=1), whole(SIZE, SIZE, dtype=torch.float32, seed=2)
    kernel = check(main, {"A": a, "B": b, "C": c}, {"C": c + a.float() @ b.float()}, {"C": BLOCKS})
    assert moved(kernel) == (2 * 2 * SIZE * SIZE * 2, 0)


def test_softmax_of_rows() -> None:
    @T.prim_func
    def main(X: T.Tensor((SIZE, SIZE), "float32")):
        with T.Kernel(SIZE // 32, threads=128) as by:
            x = T.alloc_fragment((32, SIZE), "float32")
            most = T.alloc_fragment((32,), "float32")
            T.copy(X[by * 32, 0], x)
            T.reduce_max(x, most, dim=1)
            for i, j in T.Parallel(32, SIZE):
                x[i, j] = x[i, j] - most[i]
            T.copy(x, X[by * 32, 0])

    x = whole(SIZE, SIZE, dtype=torch.float32, most=900)
    kernel = check(main, {"X": x}, {"X": x - x.amax(1, keepdim=True)}, {"X": ROWS})
    assert moved(kernel) == (0, 0)


def test_a_product_with_itself_is_moved() -> None:
    """Every tile of the result needs all tiles of its rows."""

    @T.prim_func
    def main(X: T.Tensor((SIZE, 64), "bfloat16"), B: T.Tensor((64, 64), "bfloat16")):
        with T.Kernel(SIZE // 32, threads=128) as by:
            x = T.alloc_shared((32, 64), "bfloat16")
            b = T.alloc_shared((64, 64), "bfloat16")
            c = T.alloc_fragment((32, 64), "float32")
            T.copy(X[by * 32, 0], x)
            T.copy(B, b)
            T.gemm(x, b, c, clear_accum=True)
            for i, j in T.Parallel(32, 64):
                c[i, j] = c[i, j] + x[i, j]
            T.copy(c, X[by * 32, 0])

    x, b = whole(SIZE, 64, most=2), whole(64, 64, most=2, seed=1)
    check(main, {"X": x, "B": b}, {"X": x.double() @ b.double() + x.double()}, {"X": ROWS})


def test_rows_that_change_places_are_moved() -> None:
    """What is stored lies elsewhere than what was loaded."""

    @T.prim_func
    def main(X: T.Tensor((SIZE, 64), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((64, 64), "float32")
            T.copy(X[0, 0], x)
            for i, j in T.Parallel(64, 64):
                x[i, j] = x[i, j] * 3
            T.copy(x, X[64, 0])

    x = whole(SIZE, 64, dtype=torch.float32)
    layout = {"memory": "L1", "shard": "height", "grid": (1, 1)}
    check(main, {"X": x}, {"X": torch.cat([x[:64], 3 * x[:64]])}, {"X": layout})


@pytest.mark.parametrize("numerics", ["fast", "chip"])
def test_a_block_that_is_updated_again_and_again_is_moved(numerics: str) -> None:
    """Split-K on one core: every part of K adds to the same block. What the part before stored has to be read."""

    @T.prim_func
    def main(A: T.Tensor((32, 128), "bfloat16"), B: T.Tensor((128, 64), "bfloat16"), C: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, 1, 4, threads=128) as (bx, by, bz):
            a = T.alloc_shared((32, 32), "bfloat16")
            b = T.alloc_shared((32, 64), "bfloat16")
            c = T.alloc_fragment((32, 64), "float32")
            T.copy(A[by * 32, bz * 32], a)
            T.copy(B[bz * 32, bx * 64], b)
            T.gemm(a, b, c, clear_accum=True)
            T.atomic_add(C[by * 32, bx * 64], c)

    a, b, c = whole(32, 128), whole(128, 64, seed=1), whole(32, 64, dtype=torch.float32, seed=2)
    for grid in ((1, 1), (4, 4)):
        layout = {"C": {"memory": "L1", "shard": "height", "grid": grid}}
        expected = {"C": c + a.float() @ b.float()}
        kernel = check(main, {"A": a, "B": b, "C": c}, expected, layout, numerics=numerics)
        told = kernel.explain(whole=True)
        assert told.count("'C' is moved over the NoC: its blocks are stored several times") == 2
