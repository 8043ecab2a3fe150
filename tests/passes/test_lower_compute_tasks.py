"""D lower_compute_tasks: products, maps, fills and transposes as sections of DST."""

import pytest
import tilelang.language as T

from tilelang_tt.ir.buffers import Buffer, Memory
from tilelang_tt.ir.elements import Element, Number
from tilelang_tt.ops.expressions import apply
from tilelang_tt.options import Options
from tilelang_tt.passes.c_tile.dst_program import Compute, Fetch, SetNumber, dst_program
from tilelang_tt.passes.d_split.lower_compute_tasks import largest_divisor, lower_compute_tasks

from .kernels import gemm, split_k_reduction
from .stages import kernel_body, kernels_after


def _compute(func, options: Options | None = None) -> str:
    return kernel_body(kernels_after(lower_compute_tasks, func, options), "compute")


def test_every_k_tile_of_a_block_adds_up_in_dst() -> None:
    text = _compute(gemm(128, 128, 128, (64, 64, 128), out_dtype="float32"))
    assert (
        """\
    math
      for kk in 0 .. 4
        matmul A_s[kk], B_s[kk * 2] -> DST[0], 2 x 2 tiles, A stride 4
    pack
"""
        in text
    )


def test_transposed_operands() -> None:
    """The first is transposed tile by tile beforehand; the second is by the engine, from tiles by columns."""
    func = gemm(64, 128, 64, (64, 128, 64), transpose_A=True, transpose_B=True, out_dtype="float32")
    assert """\
    wait A_s 4
    reserve A_s_t 4
    for i in 0 .. 2
      math
        for t in 0 .. 2
          transpose A_s[t * 2 + i] -> DST[t]
      pack
        for t in 0 .. 2
          pack DST[t] -> A_s_t[i * 2 + t]
    pop A_s 4
    push A_s_t 4
    wait A_s_t 4
    wait B_s 8
    for j in 0 .. 4 by 2
      math
        for kk in 0 .. 2
          matmul A_s_t[kk], B_s[kk * 4 + j]^T -> DST[0], 2 x 2 tiles, A stride 2
""" in _compute(func)


def test_a_sum_in_dst_is_one_section() -> None:
    assert (
        _compute(gemm())
        == """\
for unit in unit_start .. unit_start + unit_count
  let bx = unit % 2
  let by = unit // 2
  math
    for k in 0 .. 4
      wait A_s 2
      wait B_s 2
      matmul A_s[0], B_s[0] -> DST[0], 2 x 2 tiles, A stride 1
      pop A_s 2
      pop B_s 2
    reserve C_l_out 4
  pack
    for t in 0 .. 4
      pack DST[t] -> C_l_out[t]
  push C_l_out 4
"""
    )


def test_an_update_in_place_rotates() -> None:
    assert """\
  for s in 0 .. 3
    wait part 1
    wait total 1
    math
      copy total[0] -> DST[0]
      copy part[0] -> DST[1]
      sfpu add_binary_tile DST[0], DST[1] -> DST[0]
      pop total 1
    pack
      reserve total 1
      pack DST[0] -> total[0]
      push total 1
    pop part 1
""" in _compute(split_k_reduction())


def _sum_and_scale():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((64, 64), "float32")
            Y = T.alloc_shared((64, 64), "float32")
            Z = T.alloc_fragment((64, 64), "float32")
            T.copy(A, X)
            T.copy(C, Y)
            for i, j in T.Parallel(64, 64):
                Z[i, j] = T.exp(X[i, j] + Y[i, j]) / 4.0
            T.copy(Z, B)

    return main


def test_fill() -> None:
    """One tile of DST goes to every place of the block."""

    @T.prim_func
    def main(B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            Y = T.alloc_fragment((64, 64), "float32")
            T.fill(Y, 1.5)
            T.copy(Y, B)

    assert """\
  math
    fill DST[0] = 1.5
  pack
    for tile in 0 .. 4
      pack DST[0] -> Y[tile]
""" in _compute(main)


def test_fills_side_by_side_share_a_section() -> None:
    """A tile of DST for every number; nothing but reservations lies between them."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((64, 64), "float32")
            Y = T.alloc_fragment((64, 64), "float32")
            m = T.alloc_fragment((64,), "float32")
            n = T.alloc_fragment((64,), "float32")
            T.fill(Y, 1.5)
            T.fill(m, 0)
            T.fill(n, 1.5)
            for _ in T.serial(2):
                T.copy(A, X)
                for i in T.Parallel(64):
                    n[i] = n[i] + m[i]
                for i in T.Parallel(64):
                    m[i] = m[i] * 2.0
                for i, j in T.Parallel(64, 64):
                    Y[i, j] = Y[i, j] + X[i, j] * m[i] + n[i]
            T.copy(Y, B)

    assert """\
  reserve Y 4
  reserve m 2
  reserve n 2
  math
    fill DST[0] = 1.5
    fill DST[1] = 0
  pack
    for tile in 0 .. 4
      pack DST[0] -> Y[tile]
    for tile in 0 .. 2
      pack DST[1] -> m[tile]
    for tile in 0 .. 2
      pack DST[0] -> n[tile]
""" in _compute(main)


def test_a_group_takes_as_many_tiles_as_dst_has_slots_for() -> None:
    """Two slots a tile: a 32-bit DST takes 2 of the 4 tiles at once, a 16-bit DST all of them."""
    assert """\
  for tile in 0 .. 4 by 2
    math
      for t in 0 .. 2
        copy X[tile + t] -> DST[t]
      for t in 0 .. 2
        copy Y[tile + t] -> DST[2 + t]
      for t in 0 .. 2
        sfpu add_binary_tile DST[t], DST[2 + t] -> DST[t]
      for t in 0 .. 2
        sfpu exp_tile DST[t] -> DST[t]
      for t in 0 .. 2
        sfpu div_unary_tile DST[t], 0.25 -> DST[t]
    pack
      for t in 0 .. 2
        pack DST[t] -> Z[tile + t]
""" in _compute(_sum_and_scale())
    narrow = _compute(_sum_and_scale(), Options(fp32_acc=False))
    assert "    for t in 0 .. 4\n      copy Y[t] -> DST[4 + t]\n" in narrow


X, Y = (Buffer(name, "float32", (32, 32), Memory.SHARED) for name in "XY")


def test_the_deeper_operand_is_computed_first() -> None:
    """X - (Y * 2 + X): the right side needs two slots, so it goes first."""
    deep = apply("add", apply("mul", Element(Y), Number(2)), Element(X))
    program = dst_program(apply("sub", Element(X), deep))
    assert program.slots == 2
    fetched = [step.buffer for step in program.steps if isinstance(step, Fetch)]
    assert fetched == [Y, X]  # X is kept: there is room
    last = program.steps[-1]
    assert isinstance(last, Compute)
    assert last.operands == (1, 0)


def test_numbers_become_operands_or_tiles() -> None:
    def calls(op: str, *args) -> list[str]:
        steps = dst_program(apply(op, *args)).steps
        return [step.instruction.call.split("(")[0] for step in steps if isinstance(step, Compute)]

    assert calls("add", Number(1), Element(X)) == ["add_unary_tile"]  # commutes
    assert calls("sub", Number(1), Element(X)) == ["rsub_unary_tile"]
    assert calls("max", Number(0), Element(X)) == ["relu_tile"]
    assert calls("max", Element(X), Number(1)) == ["unary_max_tile"]
    assert calls("div", Number(1), Element(X)) == ["div_binary_tile"]  # no reversed division: a tile of ones
    assert any(isinstance(step, SetNumber) for step in dst_program(apply("div", Number(1), Element(X))).steps)


@pytest.mark.parametrize(("number", "limit", "result"), [(8, 4, 4), (6, 4, 3), (7, 4, 1), (3, 8, 3), (1, 1, 1)])
def test_largest_divisor(number: int, limit: int, result: int) -> None:
    assert largest_divisor(number, limit) == result
