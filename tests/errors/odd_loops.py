"""Grids, loops and places of blocks at the edge of what is allowed."""

from typing import Any

import tilelang.language as T
import torch
from odd_kernels import computes, zeros

# --- grids and loops ------------------------------------------------------------------------------


@computes(lambda _: zeros(32, 32))
def no_body() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            pass

    return main


@computes(lambda _: zeros(32, 32))
def empty_grid() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(0, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A, X)
            T.copy(X, B)

    return main


@computes(lambda _: zeros(64, 32))
def loop_without_rounds() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 32), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 32), "float32")
            C = T.alloc_fragment((32, 32), "float32")
            T.clear(C)
            for k in T.Pipelined(0, num_stages=2):
                T.copy(A[0, k * 32], X)
                T.gemm(X, X, C)
            T.copy(C, B[bx * 32, 0])

    return main


@computes(lambda A: A)
def loop_downwards() -> Any:
    @T.prim_func
    def main(A: T.Tensor((96, 32), "float32"), B: T.Tensor((96, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            for k in T.serial(2, -1, -1):
                T.copy(A[k * 32, 0], X)
                T.copy(X, B[k * 32, 0])

    return main


@computes(lambda A: torch.cat([A[:32], zeros(32, 32), A[64:96], zeros(32, 32)]))
def loop_in_steps() -> Any:
    @T.prim_func
    def main(A: T.Tensor((128, 32), "float32"), B: T.Tensor((128, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            for k in T.serial(0, 4, 2):
                T.copy(A[k * 32, 0], X)
                T.copy(X, B[k * 32, 0])

    return main


@computes(lambda _: zeros(64, 32))
def loop_that_ends_before_it_starts() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            for k in T.serial(3, 1):
                T.copy(A[k * 32, 0], X)
                T.copy(X, B[k * 32, 0])

    return main


@computes(lambda A: torch.cat([zeros(64, 32), A[:32], A[:32] + A[32:64]]))
def loop_of_negative_length() -> Any:
    @T.prim_func
    def main(A: T.Tensor((128, 32), "float32"), B: T.Tensor((128, 32), "float32")):
        with T.Kernel(4, threads=128) as bx:
            X = T.alloc_shared((32, 32), "float32")
            total = T.alloc_fragment((32, 32), "float32")
            T.clear(total)
            for k in T.serial(bx - 1):
                T.copy(A[k * 32, 0], X)
                for i, j in T.Parallel(32, 32):
                    total[i, j] = total[i, j] + X[i, j]
            T.copy(total, B[bx * 32, 0])

    return main


@computes(lambda A: torch.cat([zeros(32, 64), A[:32, :32] @ A[:32]]))
def loop_as_long_as_the_block_number() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 32), "float32")
            Y = T.alloc_shared((32, 64), "float32")
            C = T.alloc_fragment((32, 64), "float32")
            T.clear(C)
            for k in T.Pipelined(bx, num_stages=2):
                T.copy(A[k * 32, k * 32], X)
                T.copy(A[k * 32, 0], Y)
                T.gemm(X, Y, C)
            T.copy(C, B[bx * 32, 0])

    return main


# --- places of blocks -----------------------------------------------------------------------------


@computes(lambda A: A)
def far_beyond_the_tensor() -> Any:
    @T.prim_func
    def main(A: T.Tensor((40, 40), "float32"), B: T.Tensor((40, 40), "float32")):
        with T.Kernel(4, 4, threads=128) as (bx, by):
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], X)
            T.copy(X, B[by * 32, bx * 32])

    return main


@computes(lambda A: torch.cat([torch.zeros(2, 32, 64), A[:, :32]], 1))
def before_the_tensor() -> Any:
    """Rows before the first read as zero, not as the batch before."""

    @T.prim_func
    def main(A: T.Tensor((2, 64, 64), "float32"), B: T.Tensor((2, 64, 64), "float32")):
        with T.Kernel(2, 2, threads=128) as (by, bz):
            X = T.alloc_shared((32, 64), "float32")
            T.copy(A[bz, by * 32 - 32, 0], X)
            T.copy(X, B[bz, by * 32, 0])

    return main


@computes(lambda A: torch.cat([A[:32], A[:96]]))
def clamped_index() -> Any:
    @T.prim_func
    def main(A: T.Tensor((128, 32), "float32"), B: T.Tensor((128, 32), "float32")):
        with T.Kernel(4, threads=128) as bx:
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A[T.max(bx - 1, 0) * 32, 0], X)
            T.copy(X, B[bx * 32, 0])

    return main


@computes(lambda A: torch.cat([A.flip(0)[:, 32:], A.flip(0)[:, :32]], 1))
def index_arithmetic() -> Any:
    @T.prim_func
    def main(A: T.Tensor((4, 64, 32), "float32"), B: T.Tensor((4, 64, 32), "float32")):
        with T.Kernel(8, threads=128) as bx:
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A[3 - bx // 2, (bx % 2) * 32, 0], X)
            T.copy(X, B[bx // 2, (1 - bx % 2) * 32, 0])

    return main


@computes(lambda A: A)
def unit_axis_in_the_middle() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 2, 32), "float32"), B: T.Tensor((64, 2, 32), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((64, 1, 32), "float32")
            T.copy(A[0, bx, 0], X)
            T.copy(X, B[0, bx, 0])

    return main
