"""C1 lower_shared_to_cb: who fills and drains each buffer, and how many blocks it holds."""

import pytest
import tilelang.language as T

from tilelang_tt.options import Options
from tilelang_tt.passes.c_tile.lower_shared_to_cb import lower_shared_to_cb

from .kernels import cast_copy, clear_accum_gemm, gemm, split_k_reduction
from .stages import after, facts, refusal


def _streams(func, options: Options | None = None) -> list[str]:
    """name: stream, of each buffer."""
    lines = facts(after(lower_shared_to_cb, func, options), "buffer")
    return [f"{line.split(':')[0]}: {line.split('; ')[2]}" for line in lines]


@pytest.mark.parametrize(("stages", "depth"), [(0, "2 blocks"), (1, "1 block"), (2, "2 blocks"), (4, "4 blocks")])
def test_depth_follows_num_stages(stages: int, depth: str) -> None:
    """Without stages, two blocks: one is filled while the other is drained."""
    assert _streams(gemm(stages=stages))[:2] == [
        f"A_s: reader -> compute, {depth}",
        f"B_s: reader -> compute, {depth}",
    ]


def test_a_result_in_its_final_format_is_packed_for_the_writer() -> None:
    assert _streams(clear_accum_gemm())[-1] == "C_l: compute -> writer, 2 blocks"


def test_a_copy_needs_no_compute() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 64), "float32")
            T.copy(A[bx * 32, 0], X)
            T.copy(X, B[bx * 32, 0])

    assert _streams(main) == ["X: reader -> writer, 2 blocks"]


def test_float32_that_stays_float32_goes_straight_to_dst() -> None:
    """The source registers keep 10 mantissa bits; a sum of float32 partials must not lose the rest."""
    assert _streams(split_k_reduction()) == [
        "part: reader -> compute, 2 blocks, unpacked to DST",
        "total: compute -> compute, 1 block, unpacked to DST",
        "total_out: compute -> writer, 2 blocks",
    ]
    narrow = _streams(split_k_reduction(), Options(fp32_acc=False))
    assert not any("unpacked to DST" in line for line in narrow)


def test_float32_on_its_way_to_bfloat16_does_not() -> None:
    assert _streams(cast_copy()) == [
        "A_s: reader -> compute, 2 blocks",
        "A_s_out: compute -> writer, 2 blocks",
    ]


def test_a_block_nothing_fills_is_refused() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((64, 64), "bfloat16")
            B_s = T.alloc_shared((64, 64), "bfloat16")
            C_l = T.alloc_fragment((64, 64), "float32")
            T.copy(A, A_s)
            T.gemm(A_s, B_s, C_l, clear_accum=True)
            T.copy(C_l, C)

    assert (
        refusal(lambda: after(lower_shared_to_cb, main))
        == """\
test_lower_shared_to_cb.py: error[TT125]: 'B_s' is read, but nothing fills it before
    T.gemm(A_s, B_s, C_l, clear_accum=True)
  help: T.copy, T.clear or T.fill it first"""
    )


def test_adding_to_what_nothing_cleared_is_refused() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((64, 64), "bfloat16")
            C_l = T.alloc_fragment((64, 64), "float32")
            T.copy(A, A_s)
            T.gemm(A_s, A_s, C_l)
            T.copy(C_l, C)

    assert (
        refusal(lambda: after(lower_shared_to_cb, main))
        == """\
test_lower_shared_to_cb.py: error[TT128]: 'C_l' is added to but never cleared
    T.gemm(A_s, A_s, C_l)
  help: T.clear it first, or use clear_accum=True"""
    )
