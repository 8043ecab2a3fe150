"""C fit_products: transposes, sub-blocks that fill DST, accumulators that never leave DST."""

import pytest
import tilelang.language as T

from tilelang_tt.ir.layout import BufferLayout
from tilelang_tt.ir.tile import SubBlock
from tilelang_tt.options import Options
from tilelang_tt.passes.c_tile.fit_products import fit_products
from tilelang_tt.passes.c_tile.sub_blocks import dividing, largest

from .kernels import gemm, small_integers
from .stages import after, body, keeps_meaning


@pytest.mark.parametrize(
    ("block", "capacity", "one_column", "expected"),
    [
        ((4, 4), 4, False, (2, 2)),  # the squarest of the largest
        ((4, 4), 8, False, (2, 4)),  # wide rather than tall
        ((8, 1), 4, False, (4, 1)),
        ((1, 8), 4, False, (1, 4)),
        ((3, 3), 4, False, (1, 3)),  # must divide the block
        ((5, 7), 8, False, (1, 7)),
        ((2, 2), 4, False, (2, 2)),
        ((1, 1), 8, False, (1, 1)),
        ((4, 4), 4, True, (4, 1)),  # tiles along N are not side by side
    ],
)
def test_sub_block(block: tuple[int, int], capacity: int, one_column: bool, expected: tuple[int, int]) -> None:
    layout = BufferLayout(*block, "Float32", 4096)
    assert largest(dividing(layout, capacity, one_column=one_column)) == SubBlock(*expected)


def test_dst_holds_twice_as_many_narrow_tiles() -> None:
    narrow = body(after(fit_products, gemm(block=(128, 128, 32)), Options(fp32_acc=False)))
    assert "sub-blocks 2 x 4" in narrow


def test_a_transposed_second_operand_that_lies_by_rows_goes_column_by_column() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((64, 64), "bfloat16")
            C_l = T.alloc_fragment((64, 64), "float32")
            T.copy(A, A_s)
            T.gemm(A_s, A_s, C_l, transpose_B=True, clear_accum=True)
            T.copy(C_l, C)

    assert "Gemm C_l = A_s @ A_s^T, sub-blocks 2 x 1\n" in body(after(fit_products, main))
    assert keeps_meaning(fit_products, main, small_integers({"A": (64, 64)}))


def test_two_transposed_copies_have_two_names() -> None:
    @T.prim_func
    def main(A: T.Tensor((32, 64), "bfloat16"), C: T.Tensor((64, 64), "float32"), D: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((32, 64), "bfloat16")
            C_l = T.alloc_fragment((64, 64), "float32")
            D_l = T.alloc_fragment((64, 64), "float32")
            T.copy(A, A_s)
            T.gemm(A_s, A_s, C_l, transpose_A=True, clear_accum=True)
            T.copy(C_l, C)
            T.gemm(A_s, A_s, D_l, transpose_A=True, clear_accum=True)
            T.copy(D_l, D)

    names = [buffer.name for buffer in after(fit_products, main).launches[0].buffers]
    assert len(set(names)) == len(names)
    assert keeps_meaning(fit_products, main, small_integers({"A": (32, 64)}))
