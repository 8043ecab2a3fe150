"""A: choose which reductions read all bits of a float32.

    before   Reduce s = sum of X along j ; Store s -> S          X, S : float32
    after    Reduce s = sum of X along j, exact ; Store s -> S

The matrix engine is fast, and reads 11 bits of a float32 (8 for maxima along columns). The vector unit reads all 24 and
is slower. It is chosen where the difference is visible: the result reaches a tensor or a comparison in 32 bits, and
the operand has that many bits, which a result of the matrix engine does not. A maximum that is compared for equality
must be exactly one of its operands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.elements import Apply, Element, ElementExpr, Number, element_buffers, parts
from tilelang_tt.ir.fields import rewritten, walk
from tilelang_tt.ir.tile import Gemm, Launch, Map, Reduce, Stmt, Store, TileProgram, maps_of
from tilelang_tt.ops import ELEMENT_OPS


def keep_last_bits(program: TileProgram) -> TileProgram:
    launches = tuple(
        replace(launch, body=_Choice(program, launch).body if program.options.fp32_acc else _none(launch))
        for launch in program.launches
    )
    return replace(program, launches=launches)


def _none(launch: Launch) -> tuple[Stmt, ...]:
    """A 16-bit DST has nothing to keep."""
    return rewritten(launch.body, lambda stmt: [replace(stmt, exact=False)] if isinstance(stmt, Reduce) else None)


class _Choice:
    def __init__(self, program: TileProgram, launch: Launch) -> None:
        self.program = program
        self.launch = launch
        self.shown = where_bits_show(program, launch)
        self.coarse = of_matrix_engine(launch)
        self.compared = _compared(launch)

    @property
    def body(self) -> tuple[Stmt, ...]:
        return rewritten(self.launch.body, self.stmt)

    def stmt(self, stmt: Stmt) -> list[Stmt] | None:
        return [replace(stmt, exact=self.exact(stmt))] if isinstance(stmt, Reduce) else None

    def exact(self, stmt: Reduce) -> bool:
        if not self.is_wide(stmt.src):
            return False
        shows = stmt.dst in self.shown and stmt.src not in self.coarse
        return stmt.exact or shows or stmt.dst in self.compared

    def is_wide(self, buffer: Buffer) -> bool:
        return _is_wide(self.launch, buffer)


def where_bits_show(program: TileProgram, launch: Launch) -> set[Buffer]:
    """Blocks whose last bits reach a tensor, are compared or rounded."""
    shown = set()
    for stmt in walk(launch.body):
        if isinstance(stmt, Store) and program.layouts[stmt.dst.tensor].format == "Float32":
            shown.add(stmt.src)
        for one in maps_of(stmt):
            shown |= {buffer for buffer in element_buffers(one.value) if jumps(one.value, buffer)}
    flows = [flow for stmt in walk(launch.body) for flow in _flows(stmt)]
    return _reached(shown, [(result, source) for source, result in flows if _is_wide(launch, result)])


def _is_wide(launch: Launch, buffer: Buffer) -> bool:
    return launch.layouts[buffer].format == "Float32"


def of_matrix_engine(launch: Launch) -> set[Buffer]:
    """Blocks computed from products, which are right to about 11 bits."""
    products = {stmt.c for stmt in walk(launch.body) if isinstance(stmt, Gemm)}
    return _reached(products, [flow for stmt in walk(launch.body) for flow in _flows(stmt)])


def _flows(stmt: Stmt) -> Iterator[tuple[Buffer, Buffer]]:
    """(operand, result) of a statement that works element by element or reduces."""
    for one in maps_of(stmt):
        for buffer in element_buffers(one.value):
            yield buffer, one.dst
    if isinstance(stmt, Reduce):
        yield stmt.src, stmt.dst


def _reached(start: set[Buffer], edges: list[tuple[Buffer, Buffer]]) -> set[Buffer]:
    found, news = set(start), set(start)
    while news:
        news = {after for before, after in edges if before in news} - found
        found |= news
    return found


def _compared(launch: Launch) -> set[Buffer]:
    """Blocks whose elements are compared for equality with something that is not a constant."""
    found: set[Buffer] = set()
    for stmt in walk(launch.body):
        for expr in parts(stmt.value) if isinstance(stmt, Map) else ():
            if (
                isinstance(expr, Apply)
                and expr.op in ("eq", "ne")
                and not any(isinstance(arg, Number) for arg in expr.args)
            ):
                found |= {arg.buffer for arg in expr.args if isinstance(arg, Element)}
    return found


def jumps(value: ElementExpr, buffer: Buffer) -> bool:
    """Whether a small change of `buffer` may change the value by much: it is compared or rounded."""
    if not isinstance(value, Apply):
        return False
    here = ELEMENT_OPS[value.op].jumps and buffer in element_buffers(value)
    return here or any(jumps(arg, buffer) for arg in value.args)
