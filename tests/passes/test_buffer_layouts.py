"""A infer_layout: tiles, formats and tile order of on-chip buffers."""

import pytest
import tilelang.language as T

from tilelang_tt.options import Options
from tilelang_tt.passes.a_metadata.infer_layout import infer_layout

from .kernels import gemm, small_integers
from .stages import after, facts, keeps_meaning


def test_a_transposed_second_operand_lies_by_columns() -> None:
    (a, b, _) = facts(after(infer_layout, gemm(transpose_B=True)), "buffer")
    assert a == "A_s: shared bfloat16[64, 32]; 2 x 1 tiles Float16_b of 2048 B"
    assert b == "B_s: shared bfloat16[64, 32]; 2 x 1 tiles by columns Float16_b of 2048 B"


def _also_read_plainly():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((64, 64), "bfloat16")
            C_l = T.alloc_fragment((64, 64), "float32")
            T.copy(A, A_s)
            T.gemm(A_s, A_s, C_l, transpose_B=True, clear_accum=True)
            T.copy(C_l, C)

    return main


def _filled_by_compute():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((64, 64), "bfloat16")
            B_s = T.alloc_shared((64, 64), "bfloat16")
            C_l = T.alloc_fragment((64, 64), "float32")
            T.copy(A, A_s)
            for i, j in T.Parallel(64, 64):
                B_s[i, j] = A_s[i, j] * 2.0
            T.gemm(A_s, B_s, C_l, transpose_B=True, clear_accum=True)
            T.copy(C_l, C)

    return main


@pytest.mark.parametrize("build", [_also_read_plainly, _filled_by_compute])
def test_other_uses_keep_a_block_by_rows(build) -> None:
    func = build()
    assert not any("by columns" in line for line in facts(after(infer_layout, func), "buffer"))
    assert keeps_meaning(infer_layout, func, small_integers({"A": (64, 64)}))


def test_a_loaded_block_keeps_the_format_of_its_tensor() -> None:
    lines = facts(after(infer_layout, gemm(), Options(storage=(("A", "bfloat8_b"),))), "buffer")
    assert [line.split("tiles ")[1] for line in lines] == [
        "Bfp8_b of 1088 B",
        "Float16_b of 2048 B",
        "Float32 of 4096 B",
    ]


def test_meaning() -> None:
    tensors = small_integers({"A": (100, 50), "B": (70, 50)})
    assert keeps_meaning(infer_layout, gemm(100, 70, 50, transpose_B=True), tensors)


def test_a_block_of_odd_size_ends_in_a_broken_tile() -> None:
    (a, *_) = facts(after(infer_layout, gemm(block=(64, 64, 48))), "buffer")
    assert a == "A_s: shared bfloat16[64, 48]; 2 x 2 tiles Float16_b of 2048 B"
