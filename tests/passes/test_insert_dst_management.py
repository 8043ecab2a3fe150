"""D5 insert_dst_management: every section gets acquire, commit, wait and release, in this order."""

import pytest

from tilelang_tt.ir.engine import DstCall, DstKind, DstUse
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.layout import Role
from tilelang_tt.passes.d_split.insert_dst_management import insert_dst_management

from .kernels import CASES, Case
from .stages import kernels_after, kernels_before


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_section_is_left_and_calls_come_in_fours(case: Case) -> None:
    before = kernels_before(insert_dst_management, case.build())
    sections = sum(isinstance(stmt, DstUse) for stmt in walk(before.kernel(Role.COMPUTE).body))
    stmts = list(walk(kernels_after(insert_dst_management, case.build()).kernel(Role.COMPUTE).body))
    assert not any(isinstance(stmt, DstUse) for stmt in stmts)
    calls = [stmt.kind for stmt in stmts if isinstance(stmt, DstCall)]
    assert calls == [DstKind.ACQUIRE, DstKind.COMMIT, DstKind.WAIT, DstKind.RELEASE] * sections
