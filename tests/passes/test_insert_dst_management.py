"""D5 insert_dst_management: every section gets acquire, commit, wait and release, in this order."""

import pytest

from tilelang_tt.ir.engine import DstCall, DstKind, DstUse
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.layout import Role
from tilelang_tt.passes.d_split.insert_dst_management import insert_dst_management

from .kernels import CASES, Case, gemm
from .stages import kernel_body, kernels_after, kernels_before


def test_before_and_after() -> None:
    before = kernels_before(insert_dst_management, gemm())
    assert "\n  math\n" in kernel_body(before, "compute")
    assert (
        kernel_body(insert_dst_management(before), "compute")
        == """\
startup A_s, B_s -> C_l_out, reversed
init matmul A_s, B_s, 2 x 2 tiles, A stride 1
for unit in unit_start .. unit_start + unit_count
  let bx = unit % 2
  let by = unit // 2
  acquire
  for k in 0 .. 4
    wait A_s 2
    wait B_s 2
    matmul A_s[0], B_s[0] -> DST[0], 2 x 2 tiles, A stride 1
    pop A_s 2
    pop B_s 2
  reserve C_l_out 4
  commit
  wait DST
  for t in 0 .. 4
    pack DST[t] -> C_l_out[t]
  release
  push C_l_out 4
"""
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_section_is_left_and_calls_come_in_fours(case: Case) -> None:
    before = kernels_before(insert_dst_management, case.build())
    sections = sum(isinstance(stmt, DstUse) for stmt in walk(before.kernel(Role.COMPUTE).body))
    stmts = list(walk(kernels_after(insert_dst_management, case.build()).kernel(Role.COMPUTE).body))
    assert not any(isinstance(stmt, DstUse) for stmt in stmts)
    calls = [stmt.kind for stmt in stmts if isinstance(stmt, DstCall)]
    assert calls == [DstKind.ACQUIRE, DstKind.COMMIT, DstKind.WAIT, DstKind.RELEASE] * sections
