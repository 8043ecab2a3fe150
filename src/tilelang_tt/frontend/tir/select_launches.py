"""Some of the T.Kernels of a function, and nothing in place of the others.

before   with T.Kernel(8) as bx: ...        after    with T.Kernel(8) as bx: ...
         with T.Kernel(4) as bx: ...                 0
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from tvm import tirx

from tilelang_tt.ir import scalar

KERNEL = "tilelang_root"  # TileLang's mark of what stands in a T.Kernel; T.Kernel() has no block index to tell by


def count_launches(func: tirx.PrimFunc) -> int:
    return len(list(launches_of(func.body)))


def select_launches(func: tirx.PrimFunc, kept: Container[int]) -> tirx.PrimFunc:
    """`kept`: their numbers."""
    dropped = [launch for number, launch in enumerate(launches_of(func.body)) if number not in kept]
    if not dropped:
        return func

    def without(stmt: tirx.Stmt) -> tirx.Stmt | None:
        return tirx.Evaluate(scalar.const(0)) if any(stmt.same_as(one) for one in dropped) else None

    body = tirx.stmt_functor.ir_transform(func.body, without, None, ["tirx.For", "tirx.SBlockRealize"])
    return func.with_body(body)


def launches_of(stmt: tirx.Stmt) -> Iterator[tirx.Stmt]:
    """The statements that are a T.Kernel, in order."""
    if isinstance(stmt, tirx.SeqStmt):
        for part in stmt.seq:
            yield from launches_of(part)
    elif isinstance(stmt, tirx.AttrStmt):
        yield from launches_of(stmt.body)
    elif isinstance(stmt, tirx.SBlockRealize) and stmt.block.name_hint != KERNEL:
        yield from launches_of(stmt.block.body)
    elif isinstance(stmt, tirx.For | tirx.SBlockRealize):
        yield stmt
