"""What TileLang's own passes leave of lets: they are inlined, and bodies of T.Parallel made plain again."""

import tilelang.language as T

from tilelang_tt.frontend.tir.run_tilelang_passes import run_tilelang_passes


def test_lets_are_inlined_and_conditions_of_elements_simplified() -> None:
    """`i < max(0, min(32, n))` is `i < n` for one of 32 rows, a let that is known asks nothing."""

    @T.prim_func
    def main(A: T.Tensor((256, 64), "float32"), N: T.Tensor((1,), "int32"), B: T.Tensor((256, 64), "float32")):
        with T.Kernel(8, threads=128) as bx:
            x = T.alloc_shared((32, 64), "float32")
            left = T.max(0, T.min(32, N[0]))
            known = T.if_then_else(bx < 8, 1, 0)
            T.copy(A[bx * 32, 0], x)
            for i, j in T.Parallel(32, 64):
                if i < left and known == 1:
                    B[bx * 32 + i, j] = x[i, j]
            for i, j in T.Parallel(32, 64):
                if known == 0:
                    B[bx * 32 + i, j] = 0

    text = run_tilelang_passes(main).script()
    assert "if i < N[0]:" in text
    assert text.count("T.parallel(") == 2  # i and j; the second T.Parallel does nothing
    assert "left" not in text
    assert "known" not in text
