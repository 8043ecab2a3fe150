"""D1 split_device_kernel: each statement goes to one kernel, and both sides count the same blocks."""

import tilelang.language as T

from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.kernel import Hand, Receive, Task
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.text_program import tile_text
from tilelang_tt.ir.tile import Load, Store
from tilelang_tt.passes.c_tile.publish_blocks import publish_blocks

from .kernels import CASES, cast_copy, gemm_relu
from .stages import after, body, kernel_body, split


def test_before_and_after() -> None:
    assert (
        body(after(publish_blocks, gemm_relu()))
        == """\
Loop k < 2, 3 stages
  Load A tiles (0, k) 4 x 1 -> A_s
  Load B tiles (k, bx * 2) 1 x 2 -> B_s
  Gemm C_l += A_s @ B_s, overwriting where k == 0, sub-blocks 2 x 2
Section
  Map C_l_out = max(C_l, 0)
Publish C_l_out
Store C_l_out -> C tiles (0, bx * 2) 4 x 2
"""
    )
    kernels = split(gemm_relu())
    assert (
        kernel_body(kernels, "reader")
        == """\
for unit in unit_start .. unit_start + unit_count
  let bx = unit % 2
  let by = unit // 2
  for k in 0 .. 2
    Load A tiles (0, k) 4 x 1 -> A_s
    Load B tiles (k, bx * 2) 1 x 2 -> B_s
"""
    )
    assert (
        kernel_body(kernels, "compute")
        == """\
for unit in unit_start .. unit_start + unit_count
  let bx = unit % 2
  let by = unit // 2
  for k in 0 .. 2
    receive A_s
    receive B_s
    Gemm C_l += A_s @ B_s, overwriting where k == 0, sub-blocks 2 x 2
  Map C_l_out = max(C_l, 0)
  hand C_l_out
"""
    )
    assert (
        kernel_body(kernels, "writer")
        == """\
for unit in unit_start .. unit_start + unit_count
  let bx = unit % 2
  let by = unit // 2
  receive C_l_out
  Store C_l_out -> C tiles (0, bx * 2) 4 x 2
"""
    )


def test_branches_are_kept_by_every_kernel_they_concern() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 64), "float32")
            if bx == 0:
                T.copy(A[bx * 32, 0], X)
                T.copy(X, B[bx * 32, 0])

    kernels = split(main)
    assert (
        kernel_body(kernels, "reader")
        == """\
for unit in unit_start .. unit_start + unit_count
  let bx = unit
  if bx == 0
    Load A tiles (bx, 0) 1 x 2 -> X
"""
    )
    assert kernel_body(kernels, "compute") == "\n"
    assert "  if bx == 0\n    receive X\n    Store X" in kernel_body(kernels, "writer")


def test_every_statement_has_one_owner_and_every_hand_over_two_ends() -> None:
    for case in CASES:
        kernels = split(case.build())
        owners = {
            Role.READER: lambda stmt: isinstance(stmt, Load),
            Role.WRITER: lambda stmt: isinstance(stmt, Store),
            Role.COMPUTE: lambda stmt: not isinstance(stmt, Load | Store),
        }
        handed, received = [], []
        for kernel in kernels.kernels:
            for stmt in walk(kernel.body):
                if isinstance(stmt, Task):
                    assert owners[kernel.role](stmt.stmt), (case.name, kernel.role)
                    handed += [stmt.stmt.dst] if isinstance(stmt.stmt, Load) else []
                handed += [stmt.buffer] if isinstance(stmt, Hand) else []
                received += [stmt.buffer] if isinstance(stmt, Receive) else []
        assert sorted(b.name for b in handed) == sorted(b.name for b in received), case.name


def test_the_program_itself_is_carried_along() -> None:
    program = after(publish_blocks, cast_copy())
    assert tile_text(split(cast_copy()).program) == tile_text(program)
