"""A fold_vectors: vectors that meet no matrix lie in rows of 32; with them their tensors."""

from typing import Any

import tilelang.language as T

from tilelang_tt.passes.a_metadata.fold_vectors import fold_vectors

from .stages import after, before, body


def row_sums(n: int = 2048, block: int = 1024) -> Any:
    @T.prim_func
    def main(A: T.Tensor((4, n), "bfloat16"), B: T.Tensor((4, n), "float32"), S: T.Tensor((4,), "float32")):
        with T.Kernel(4, threads=128) as bx:
            x = T.alloc_fragment((block,), "bfloat16")
            y = T.alloc_fragment((block,), "float32")
            total = T.alloc_fragment((1,), "float32")
            for k in T.serial(n // block):
                T.copy(A[bx, k * block], x)
                for j in T.Parallel(block):
                    y[j] = x[j] * j
                T.copy(y, B[bx, k * block])
            T.reduce_sum(x, total, dim=0)
            T.copy(total, S[bx])

    return main


def scaled_columns(n: int = 64) -> Any:
    """A vector beside a matrix, and one copied from it."""

    @T.prim_func
    def main(A: T.Tensor((32, n), "float32"), V: T.Tensor((n,), "float32"), B: T.Tensor((32, n), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((32, n), "float32")
            v = T.alloc_shared((n,), "float32")
            w = T.alloc_fragment((n,), "float32")
            T.copy(A, a)
            T.copy(V, v)
            for j in T.Parallel(n):
                w[j] = v[j] + 1
            for i, j in T.Parallel(32, n):
                a[i, j] *= w[j]
            T.copy(a, B)

    return main


def test_what_meets_a_matrix_stays_and_so_does_what_it_was_computed_from() -> None:
    assert body(after(fold_vectors, scaled_columns())) == body(before(fold_vectors, scaled_columns()))


def test_rows_that_are_no_multiple_of_32_stay() -> None:
    assert "1 x 100" in body(after(fold_vectors, row_sums(200, 100)))
    assert "1 x 1024]" in body(after(fold_vectors, row_sums(2000, 1024)))  # of blocks; the tensor's own rows count, too
