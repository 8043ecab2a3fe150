"""Blocks that are filled, overwritten and kept in unusual ways; macros and hints."""

from typing import Any

import tilelang.language as T
import torch
from odd_kernels import computes, zeros

# --- what blocks hold -----------------------------------------------------------------------------


@computes(lambda A: A.bfloat16().half())
def another_dtype_on_each_side() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64, 32), "float16")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 32), "bfloat16")
            T.copy(A[bx * 32, 0], X)
            T.copy(X, B[bx * 32, 0])

    return main


@computes(lambda A: A @ A.T)
def both_operands_one_block() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 96), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((64, 96), "float32")
            C = T.alloc_fragment((64, 64), "float32")
            T.copy(A, X)
            T.clear(C)
            T.gemm(X, X, C, transpose_B=True)
            T.copy(C, B)

    return main


@computes(lambda A: A)
def filled_and_never_used() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64, 32), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 32), "float32")
            Y = T.alloc_shared((32, 32), "float32")
            Z = T.alloc_fragment((32, 32), "float32")
            T.copy(A[bx * 32, 0], X)
            T.copy(A[bx * 32, 0], Y)
            T.clear(Z)
            T.copy(X, B[bx * 32, 0])

    return main


@computes(lambda _: zeros(64, 32))
def nothing_stored() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64, 32), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A[bx * 32, 0], X)

    return main


@computes(lambda A: A @ A)
def cleared_twice_over() -> Any:
    """T.fill and clear_accum=True: the fill is dead."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 64), "float32")
            Y = T.alloc_shared((64, 64), "float32")
            C = T.alloc_fragment((32, 64), "float32")
            T.copy(A[bx * 32, 0], X)
            T.copy(A, Y)
            T.fill(C, 1.0)
            T.gemm(X, Y, C, clear_accum=True)
            T.copy(C, B[bx * 32, 0])

    return main


@computes(lambda A: 2 * A @ A)
def cleared_in_the_middle() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((64, 64), "float32")
            Y = T.alloc_shared((64, 64), "float32")
            C = T.alloc_fragment((64, 64), "float32")
            T.fill(C, 1.0)
            for k in T.serial(3):
                T.copy(A, X)
                T.copy(A, Y)
                T.gemm(X, Y, C, clear_accum=(k == 1))
            T.copy(C, B)

    return main


@computes(lambda A: 2 * A @ A)
def first_product_thrown_away() -> Any:
    """The first product overwrites, and so does the second."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 64), "float32")
            Y = T.alloc_shared((64, 64), "float32")
            C = T.alloc_fragment((32, 64), "float32")
            T.clear(C)
            for k in T.serial(3):
                T.copy(A[bx * 32, 0], X)
                T.copy(A, Y)
                T.gemm(X, Y, C, clear_accum=(k == 1))
            T.copy(C, B[bx * 32, 0])

    return main


@computes(lambda A: A @ A)
def all_but_the_last_product_thrown_away() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 64), "float32")
            Y = T.alloc_shared((64, 64), "float32")
            C = T.alloc_fragment((32, 64), "float32")
            for _ in T.serial(3):
                T.copy(A[bx * 32, 0], X)
                T.copy(A, Y)
                T.gemm(X, Y, C, clear_accum=True)
            T.copy(C, B[bx * 32, 0])

    return main


@computes(lambda A: torch.cat([A[32:], A[:32]]))
def blocks_exchanged() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            Y = T.alloc_shared((32, 32), "float32")
            Z = T.alloc_shared((32, 32), "float32")
            T.copy(A[0, 0], X)
            T.copy(A[32, 0], Y)
            T.copy(X, Z)
            T.copy(Y, X)
            T.copy(Z, Y)
            T.copy(X, B[0, 0])
            T.copy(Y, B[32, 0])

    return main


@computes(lambda A: torch.cat([A[32:], A[32:]]))
def last_round_wins() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64, 32), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 32), "float32")
            for k in T.serial(2):
                T.copy(A[k * 32, 0], X)
            T.copy(X, B[bx * 32, 0])

    return main


@computes(lambda A: torch.cat([A[32:], A[:32]]))
def filled_in_either_arm() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64, 32), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 32), "float32")
            if bx == 0:
                T.copy(A[32, 0], X)
            else:
                T.copy(A[0, 0], X)
            T.copy(X, B[bx * 32, 0])

    return main


@computes(lambda A: torch.cat([A[:32], torch.ones(32, 32)]))
def overwritten_in_one_arm() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64, 32), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 32), "float32")
            T.fill(X, 1.0)
            if bx == 0:
                T.copy(A[bx * 32, 0], X)
            T.copy(X, B[bx * 32, 0])

    return main


@computes(lambda A: torch.cat([A[:32], A[:32] + A[32:]]))
def sum_stored_as_it_grows() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            total = T.alloc_fragment((32, 32), "float32")
            T.clear(total)
            for k in T.serial(2):
                T.copy(A[k * 32, 0], X)
                for i, j in T.Parallel(32, 32):
                    total[i, j] = total[i, j] + X[i, j]
                T.copy(total, B[k * 32, 0])

    return main


@computes(lambda A: torch.cat([torch.ones(32, 32), A[:32] * 2]))
def stored_one_round_later() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            Y = T.alloc_fragment((32, 32), "float32")
            T.fill(Y, 1.0)
            for k in T.serial(2):
                T.copy(Y, B[k * 32, 0])
                T.copy(A[k * 32, 0], X)
                for i, j in T.Parallel(32, 32):
                    Y[i, j] = X[i, j] * 2.0

    return main


@computes(lambda A: ((A @ A) * 2 + A @ A) * 2)
def sum_rescaled_in_the_loop() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((64, 64), "float32")
            Y = T.alloc_shared((64, 64), "float32")
            C = T.alloc_fragment((64, 64), "float32")
            T.copy(A, X)
            T.copy(A, Y)
            T.clear(C)
            for _ in T.serial(2):
                T.gemm(X, Y, C)
                for i, j in T.Parallel(64, 64):
                    C[i, j] = C[i, j] * 2.0
            T.copy(C, B)

    return main


@computes(lambda _: torch.full((32, 32), float("-inf")))
def infinity() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_fragment((32, 32), "float32")
            T.fill(X, -T.infinity("float32"))
            T.copy(X, B)

    return main


# --- macros and hints -----------------------------------------------------------------------------


@computes(lambda A: torch.cat([A[:32] * 2, A[32:] * 3]))
def macro_with_a_buffer_of_its_own() -> Any:
    @T.macro
    def scaled(A: Any, B: Any, row: int, factor: float) -> None:
        X = T.alloc_shared((32, 32), "float32")
        T.copy(A[row * 32, 0], X)
        for i, j in T.Parallel(32, 32):
            X[i, j] = X[i, j] * factor
        T.copy(X, B[row * 32, 0])

    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=128):
            scaled(A, B, 0, 2.0)
            scaled(A, B, 1, 3.0)

    return main


@computes(lambda A: A)
def hints_for_gpus() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64, 32), "float32")):
        with T.Kernel(2, threads=128, cluster_dims=(2, 1, 1)) as bx:
            X = T.alloc_shared((32, 32), "float32")
            T.annotate_l2_hit_ratio({A: 0.5})
            T.set_max_nreg(240, 1)
            T.disable_warp_group_reg_alloc()
            T.assume(bx < 2)
            T.copy(A[bx * 32, 0], X)
            T.sync_threads()
            T.copy(X, B[bx * 32, 0])

    return main


@computes(lambda A: A)
def thread_index_bound_and_not_used() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            _tx = T.get_thread_binding(0)
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A, X)
            T.copy(X, B)

    return main
