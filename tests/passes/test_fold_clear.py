"""C start_sums: the first product overwrites the accumulator; a clear that may be needed stays."""

from typing import Any

import tilelang.language as T

from tilelang_tt.passes.c_tile.start_sums import start_sums

from .kernels import double_loop_gemm, dynamic_gemm, small_integers
from .stages import after, body, keeps_meaning
from .vector_kernels import attention


def test_the_first_step_of_a_loop_nest() -> None:
    text = body(after(start_sums, double_loop_gemm()))
    assert "Fill" not in text
    assert "Gemm C_l += A_s @ B_s, overwriting where outer == 0 and inner == 0\n" in text
    assert keeps_meaning(start_sums, double_loop_gemm(), small_integers({"A": (128, 128), "B": (128, 64)}))


def test_a_symbolic_k_is_at_least_one_block() -> None:
    text = body(after(start_sums, dynamic_gemm()))
    assert "Fill" not in text
    assert "overwriting where k == 0\n" in text


def test_a_single_product() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((64, 64), "bfloat16")
            C_l = T.alloc_fragment((64, 64), "float32")
            T.copy(A, A_s)
            T.clear(C_l)
            T.gemm(A_s, A_s, C_l)
            T.gemm(A_s, A_s, C_l)
            T.copy(C_l, C)

    assert (
        body(after(start_sums, main))
        == """\
Load A tiles (0, 0) 2 x 2 -> A_s
Gemm C_l = A_s @ A_s
Gemm C_l += A_s @ A_s
Store C_l -> C tiles (0, 0) 2 x 2
"""
    )
    assert keeps_meaning(start_sums, main, small_integers({"A": (64, 64)}))


def _sum(fill: float, triangular: bool = False, branch: bool = False):
    @T.prim_func
    def main(
        A: T.Tensor((128, 128), "bfloat16"),
        B: T.Tensor((128, 64), "bfloat16"),
        C: T.Tensor((128, 64), "float32"),
    ):
        with T.Kernel(4, threads=128) as bx:
            A_s = T.alloc_shared((32, 32), "bfloat16")
            B_s = T.alloc_shared((32, 64), "bfloat16")
            C_l = T.alloc_fragment((32, 64), "float32")
            T.fill(C_l, fill)
            for k in T.serial(bx if triangular else 4):
                T.copy(A[bx * 32, k * 32], A_s)
                T.copy(B[k * 32, 0], B_s)
                if branch:
                    if k > 1:
                        T.gemm(A_s, B_s, C_l)
                else:
                    T.gemm(A_s, B_s, C_l)
            T.copy(C_l, C[bx * 32, 0])

    return main


TENSORS = small_integers({"A": (128, 128), "B": (128, 64)})


def test_a_loop_that_may_not_run_keeps_the_clear() -> None:
    """Block 0 of a triangular sum adds nothing up: its result is the zero of the clear."""
    func = _sum(0, triangular=True)
    assert body(after(start_sums, func)).startswith("Fill C_l = 0\nLoop k < bx\n")
    assert keeps_meaning(start_sums, func, TENSORS)


def test_a_conditional_product_keeps_the_clear() -> None:
    func = _sum(0, branch=True)
    assert body(after(start_sums, func)).startswith("Fill C_l = 0\n")
    assert keeps_meaning(start_sums, func, TENSORS)


def test_only_zero_is_folded() -> None:
    func = _sum(1.5)
    assert body(after(start_sums, func)).startswith("Fill C_l = 1.5\n")
    assert keeps_meaning(start_sums, func, TENSORS)


def test_a_block_that_is_read_first_keeps_the_clear() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), C: T.Tensor((64, 64), "float32"), D: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((64, 64), "bfloat16")
            C_l = T.alloc_fragment((64, 64), "float32")
            D_l = T.alloc_fragment((64, 64), "float32")
            T.copy(A, A_s)
            T.clear(C_l)
            for i, j in T.Parallel(64, 64):
                D_l[i, j] = C_l[i, j] + 1.0
            T.gemm(A_s, A_s, C_l)
            T.copy(C_l, C)
            T.copy(D_l, D)

    assert "Fill C_l = 0\n" in body(after(start_sums, main))
    assert keeps_meaning(start_sums, main, small_integers({"A": (64, 64)}))


def test_a_clear_in_one_arm_of_a_branch() -> None:
    text = body(after(start_sums, attention()))
    assert "Fill scores" not in text
    assert "  Gemm scores = (mask[tile 0] where bx <= n) + q @ k^T\n" in text
    assert keeps_meaning(start_sums, attention(), small_integers(dict.fromkeys("QKV", (128, 32))))


def _steered(changes: bool) -> Any:
    """A number of the program decides whether there is something to add to; it may change before the product."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), S: T.Tensor((2,), "int32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((64, 64), "bfloat16")
            C_l = T.alloc_fragment((64, 64), "float32")
            flag = T.alloc_var("int32")
            flag = S[0]
            T.copy(A, A_s)
            if flag > 0:
                T.clear(C_l)
            else:
                T.copy(A_s, C_l)
            if changes:
                flag = S[1]
            T.gemm(A_s, A_s, C_l)
            T.copy(C_l, C)

    return main


def test_a_condition_that_may_change_keeps_its_clear() -> None:
    assert "Fill" not in body(after(start_sums, _steered(changes=False)))
    assert "Fill C_l = 0\n" in body(after(start_sums, _steered(changes=True)))
