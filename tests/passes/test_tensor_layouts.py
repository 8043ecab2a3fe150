"""A infer_layout: tile axes and storage formats of tensors."""

import tilelang.language as T

from tilelang_tt.options import Options
from tilelang_tt.passes.a_metadata.infer_layout import infer_layout

from .kernels import batched_gemm, dynamic_gemm, gemm, small_integers
from .stages import after, facts, keeps_meaning, refusal


def test_symbolic_sizes_stay_symbolic() -> None:
    (a, *_) = facts(after(infer_layout, dynamic_gemm()), "tensor")
    axes = "rows axis 0, columns axis 1"
    assert a == f"A: bfloat16[M, K]; {axes}, [(M + 31) // 32, (K + 31) // 32] tiles Float16_b of 2048 B"


def test_the_axes_follow_the_blocks_that_are_copied() -> None:
    """A block over axes 0 and 2 makes these the tile axes; the axis between is the batch."""

    @T.prim_func
    def main(A: T.Tensor((64, 3, 128), "float32"), B: T.Tensor((64, 3, 128), "float32")):
        with T.Kernel(2, 3, threads=128) as (bx, by):
            X = T.alloc_shared((32, 128), "float32")
            T.copy(A[bx * 32 : bx * 32 + 32, by, 0:128], X)
            T.copy(X, B[bx * 32 : bx * 32 + 32, by, 0:128])

    (a, b) = facts(after(infer_layout, main), "tensor")
    assert a == "A: float32[64, 3, 128]; rows axis 0, columns axis 2, 3 x [2, 4] tiles Float32 of 4096 B"
    assert b == a.replace("A", "B")
    assert keeps_meaning(infer_layout, main, small_integers({"A": (64, 3, 128)}))


def test_float16_keeps_its_mantissa_unless_told_otherwise() -> None:
    (a, *_) = facts(after(infer_layout, batched_gemm()), "tensor")
    assert a == "A: float16[3, 64, 64]; rows axis 1, columns axis 2, 3 x [2, 2] tiles Float32 of 4096 B"
    (a, *_) = facts(after(infer_layout, batched_gemm(), Options(float16="bfloat16")), "tensor")
    assert a.endswith("tiles Float16_b of 2048 B")


def test_a_storage_choice_applies_to_inputs_only() -> None:
    everywhere = facts(after(infer_layout, gemm(), Options(storage=(("*", "bfloat8_b"),))), "tensor")
    assert [line.split("tiles ")[1] for line in everywhere] == [
        "Bfp8_b of 1088 B",
        "Bfp8_b of 1088 B",
        "Float16_b of 2048 B",
    ]
    only_b = facts(after(infer_layout, gemm(), Options(storage=(("B", "bfloat8_b"),))), "tensor")
    assert [line.split("tiles ")[1].split()[0] for line in only_b] == ["Float16_b", "Bfp8_b", "Float16_b"]


def test_meaning() -> None:
    tensors = small_integers({"A": (100, 50), "B": (50, 70)})
    assert keeps_meaning(infer_layout, gemm(100, 70, 50), tensors)


def test_blocks_over_different_axes_are_refused() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((64, 64), "float32")
            T.copy(A, X)
            T.copy(X, B[0, 0:64, 0:64])
            V = T.alloc_shared((64,), "float32")
            T.clear(V)
            T.copy(V, B[0:64, 5, 7])

    assert (
        refusal(lambda: after(infer_layout, main))
        == """\
test_tensor_layouts.py: error[TT123]: 'B' is copied by blocks over axes (1, 2) and over axes (None, 0)
    T.copy(V, B[0:64, 5, 7])
  help: copy blocks of a tensor over the same axes everywhere"""
    )


def test_a_tensor_walked_by_rows_lies_in_tiles_of_equal_rows() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 48), "float32"), B: T.Tensor((64, 48), "float32")):
        with T.Kernel(64, threads=128) as bx:
            X = T.alloc_shared((1, 48), "float32")
            T.copy(A[bx, 0], X)
            T.copy(X, B[bx, 0])

    (a, _) = facts(after(infer_layout, main), "tensor")
    assert a == "A: float32[64, 48]; rows axis None, columns axis 1, 64 x [1, 2] tiles Float32 of 4096 B"
    assert keeps_meaning(infer_layout, main, small_integers({"A": (64, 48)}))
