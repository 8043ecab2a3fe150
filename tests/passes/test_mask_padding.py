"""C mask_padding: lanes behind the end of a block hold the neutral value where they count."""

from typing import Any

import tilelang.language as T

from tilelang_tt.passes.c_tile.mask_padding import mask_padding

from .kernels import gemm, small_integers
from .stages import after, before, body, keeps_meaning


def product_of_parts(scale: float) -> Any:
    """A @ A over 40 elements, of which the second operand is computed on if `scale` is not 1."""

    @T.prim_func
    def main(A: T.Tensor((40, 40), "bfloat16"), C: T.Tensor((40, 40), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((40, 40), "bfloat16")
            b = T.alloc_shared((40, 40), "bfloat16")
            c = T.alloc_fragment((40, 40), "float32")
            T.copy(A, a)
            T.copy(A, b)
            if scale != 1:
                for i, j in T.Parallel(40, 40):
                    b[i, j] = b[i, j] * scale
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C)

    return main


def test_a_product_needs_zeros_along_k_where_something_was_computed() -> None:
    text = body(after(mask_padding, product_of_parts(2.0)))
    assert "Map b_masked = where(lt([i + -40], 0i32), b, 0)\n" in text
    assert "Gemm c = a @ b_masked\n" in text
    assert keeps_meaning(mask_padding, product_of_parts(2.0), small_integers({"A": (40, 40)}))


def test_what_is_only_loaded_has_zeros_behind_its_end() -> None:
    assert body(after(mask_padding, product_of_parts(1.0))) == body(before(mask_padding, product_of_parts(1.0)))


def test_whole_tiles_need_nothing() -> None:
    assert body(after(mask_padding, gemm())) == body(before(mask_padding, gemm()))
