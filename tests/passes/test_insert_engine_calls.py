"""D insert_engine_calls: engine state is set where an operation needs another one, and DST is handed over."""

import re

import pytest
import tilelang.language as T

from tilelang_tt.ir.engine import DstCall, DstKind, DstUse
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.layout import Role
from tilelang_tt.passes.d_split.insert_engine_calls import insert_engine_calls

from .kernels import CASES, Case, cast_copy, clear_accum_gemm, gemm, gemm_relu
from .stages import kernel_body, kernels_after, kernels_before


def _compute(func) -> str:
    return kernel_body(kernels_after(insert_engine_calls, func), "compute")


def _settings(func) -> str:
    """Loops, settings and operations, without protocol and packing details."""
    kept = re.compile(r"\s*(startup|init|reconfig|accumulate|for (unit|k|row)|matmul|copy|sfpu|transpose|fill)")
    return "\n".join(line for line in _compute(func).splitlines() if kept.match(line)) + "\n"


def test_one_kind_of_operation_is_set_up_once_before_the_persistent_loop() -> None:
    assert (
        _settings(gemm())
        == """\
startup A_s, B_s -> C_l_out, reversed
init matmul A_s, B_s, 2 x 2 tiles, A stride 1
for unit in unit_start .. unit_start + unit_count
  for k in 0 .. 4
    matmul A_s[0], B_s[0] -> DST[0], 2 x 2 tiles, A stride 1
"""
    )


def test_the_second_unit_finds_what_the_first_left_behind() -> None:
    """Matmul comes first in a unit and copy last: each unit must set matmul up again."""
    text = _settings(gemm_relu())
    unit_loop = text.split("for unit in")[1]
    assert "init matmul" in unit_loop
    assert "reconfig srca B_s\n" in unit_loop


def test_accumulation_is_off_when_the_kernel_ends() -> None:
    text = _compute(clear_accum_gemm())
    assert "    accumulate in L1 where k != 0\n" in text
    assert text.endswith("\naccumulate in L1 where False\n")


def test_a_transposed_first_operand_alternates_with_the_product() -> None:
    text = _settings(gemm(64, 64, 64, (64, 64, 32), transpose_A=True, out_dtype="float32"))
    inside = text.split("  for k in 0 .. 2\n")[1]
    assert [line.strip() for line in inside.splitlines() if "init" in line] == [
        "init transpose A_s",
        "init matmul A_s_t, B_s, 2 x 2 tiles, A stride 1",
    ]


def test_a_kernel_without_compute_is_left_alone() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((64, 64), "float32")
            T.copy(A, X)
            T.copy(X, B)

    assert _compute(main) == "\n"


def test_a_conversion() -> None:
    assert (
        _settings(cast_copy())
        == """\
startup A_s, A_s -> A_s_out
init copy A_s
for unit in unit_start .. unit_start + unit_count
    copy A_s[t] -> DST[t]
"""
    )


def test_equal_formats_need_no_reconfiguration() -> None:
    """X and Y differ in name only: one setting serves both."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), B: T.Tensor((64, 64), "bfloat16"), C: T.Tensor((64, 64), "bfloat16")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((64, 64), "bfloat16")
            Y = T.alloc_shared((64, 64), "bfloat16")
            Z = T.alloc_fragment((64, 64), "bfloat16")
            T.copy(A, X)
            T.copy(B, Y)
            for i, j in T.Parallel(64, 64):
                Z[i, j] = T.max(X[i, j], Y[i, j])
            T.copy(Z, C)

    text = _settings(main)
    assert "reconfig" not in text
    assert text.count("init copy") == 1


def test_sums_by_the_matrix_engine() -> None:
    @T.prim_func
    def main(
        A: T.Tensor((64, 64), "bfloat16"),
        B: T.Tensor((64, 64), "float32"),
        W: T.Tensor((64,), "bfloat16"),
        C: T.Tensor((64, 64), "bfloat16"),
    ):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((64, 64), "bfloat16")
            V = T.alloc_shared((64,), "bfloat16")
            Y = T.alloc_shared((64, 64), "float32")
            Z = T.alloc_fragment((64, 64), "bfloat16")
            T.copy(A, X)
            T.copy(W, V)
            T.copy(B, Y)
            for i, j in T.Parallel(64, 64):
                Z[i, j] = T.max(X[i, j] * Y[i, j], X[i, j] - V[j])
            T.copy(Z, C)

    assert (
        _settings(main)
        == """\
startup X, Y -> Z
init sfpu binary_max_tile_init()
for unit in unit_start .. unit_start + unit_count
    reconfig srcb Y
    init mul_tiles X, Y
    reconfig srcb Y -> V
    init sub_tiles_bcast_rows X, V
      sfpu binary_max_tile DST[t], DST[2 + t] -> DST[t]
"""
    )


def test_branches_forget_what_only_one_arm_set() -> None:
    @T.prim_func
    def main(A: T.Tensor((128, 64), "float32"), B: T.Tensor((128, 64), "float32")):
        with T.Kernel(4, threads=128) as bx:
            X = T.alloc_shared((32, 64), "float32")
            Y = T.alloc_fragment((32, 64), "float32")
            T.copy(A[bx * 32, 0], X)
            if bx == 0:
                for i, j in T.Parallel(32, 64):
                    Y[i, j] = T.exp(X[i, j])
            else:
                for i, j in T.Parallel(32, 64):
                    Y[i, j] = T.sqrt(X[i, j])
            T.copy(Y, B[bx * 32, 0])

    then, otherwise = _compute(main).split("  if bx == 0\n")[1].split("  else\n")
    assert "init sfpu exp_tile_init()" in then
    assert "init sfpu sqrt_tile_init()" in otherwise


def test_products_of_different_formats_are_set_up_apart() -> None:
    """Same shapes, other formats: the unpackers must be told."""

    @T.prim_func
    def main(A: T.Tensor((32, 32), "bfloat16"), B: T.Tensor((32, 32), "float32"), C: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((32, 32), "bfloat16")
            B_s = T.alloc_shared((32, 32), "float32")
            C_l = T.alloc_fragment((32, 32), "float32")
            T.copy(A, A_s)
            T.copy(B, B_s)
            T.gemm(A_s, A_s, C_l, clear_accum=True)
            T.gemm(B_s, B_s, C_l)
            T.copy(C_l, C)

    assert (
        _settings(main)
        == """\
startup A_s, A_s -> C_l, reversed
for unit in unit_start .. unit_start + unit_count
  reconfig srca A_s
  reconfig srcb A_s
  init matmul A_s, A_s, 1 x 1 tiles, A stride 1
  accumulate in L1 where False
  matmul A_s[0], A_s[0] -> DST[0], 1 x 1 tiles, A stride 1
  reconfig srca A_s -> B_s
  reconfig srcb A_s -> B_s
  init matmul B_s, B_s, 1 x 1 tiles, A stride 1
  accumulate in L1 where True
  matmul B_s[0], B_s[0] -> DST[0], 1 x 1 tiles, A stride 1
accumulate in L1 where False
"""
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_section_is_left_and_calls_of_dst_come_in_fours(case: Case) -> None:
    before = kernels_before(insert_engine_calls, case.build())
    sections = sum(isinstance(stmt, DstUse) for stmt in walk(before.kernel(Role.COMPUTE).body))
    stmts = list(walk(insert_engine_calls(before).kernel(Role.COMPUTE).body))
    assert not any(isinstance(stmt, DstUse) for stmt in stmts)
    calls = [stmt.kind for stmt in stmts if isinstance(stmt, DstCall)]
    assert calls == [DstKind.ACQUIRE, DstKind.COMMIT, DstKind.WAIT, DstKind.RELEASE] * sections
