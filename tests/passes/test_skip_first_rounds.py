"""C start_sums: with fast math the first round leaves zeros alone; without, a factor may be infinite."""

from typing import Any

import tilelang.language as T

from tilelang_tt.options import Options
from tilelang_tt.passes.c_tile.start_sums import start_sums

from .kernels import small_integers
from .stages import after, body, keeps_meaning

FAST = Options(fast_math=True)


def _scaled(fill: float = 0, plus: float = 0) -> Any:
    """C = C * s + A @ A, again and again."""

    @T.prim_func
    def main(A: T.Tensor((32, 128), "bfloat16"), S: T.Tensor((32,), "float32"), C: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((32, 32), "bfloat16")
            s = T.alloc_fragment((32,), "float32")
            C_l = T.alloc_fragment((32, 32), "float32")
            T.copy(S, s)
            T.fill(C_l, fill)
            for k in T.serial(4):
                T.copy(A[0, k * 32], A_s)
                for i, j in T.Parallel(32, 32):
                    C_l[i, j] = C_l[i, j] * s[i] + plus if plus else C_l[i, j] * s[i]
                T.gemm(A_s, A_s, C_l)
            T.copy(C_l, C)

    return main


def _nested() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 128), "bfloat16"), S: T.Tensor((32,), "float32"), C: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((32, 32), "bfloat16")
            s = T.alloc_fragment((32,), "float32")
            C_l = T.alloc_fragment((32, 32), "float32")
            T.copy(S, s)
            T.clear(C_l)
            for k, m in T.grid(2, 2):
                T.copy(A[0, (k * 2 + m) * 32], A_s)
                for i, j in T.Parallel(32, 32):
                    C_l[i, j] *= s[i]
                T.gemm(A_s, A_s, C_l)
            T.copy(C_l, C)

    return main


TENSORS = small_integers({"A": (32, 128), "S": (32,)})


def test_the_clear_goes_too() -> None:
    text = body(after(start_sums, _scaled(), FAST))
    assert "Fill" not in text
    assert "  Gemm C_l += A_s @ A_s, overwriting where k == 0\n" in text
    assert keeps_meaning(start_sums, _scaled(), TENSORS, options=FAST)


def test_without_fast_math_nothing_is_skipped() -> None:
    assert "Branch" not in body(after(start_sums, _scaled()))


def test_a_loop_nest_is_skipped_in_its_very_first_round() -> None:
    """Its clear stays: the protocol of circular buffers tells the first round of one loop alone."""
    func = _nested()
    text = body(after(start_sums, func, FAST))
    assert "Fill C_l = 0\n" in text
    assert "Branch k != 0 or m != 0\n" in text
    assert keeps_meaning(start_sums, func, TENSORS, options=FAST)


def test_only_zeros_stay_zeros() -> None:
    for func in (_scaled(fill=1), _scaled(plus=1)):
        assert "Branch" not in body(after(start_sums, func, FAST))
