"""Split an axis that is used as `i // 32` and `i % 32` into two, and vectors that such axes walk into matrices.

    before   Each i < 2048: v[i] = a[i // 32, i % 32] * 2
             Reduce s = sum of v along i
    after    Each i_0 < 64, i_1 < 32: v[i_0, i_1] = a[i_0, i_1] * 2
             Reduce v_rows = sum of v along j ; Reduce s = sum of v_rows along i

An axis of which only the quotient, or only the remainder, is used stays as it is: it repeats or looks up what is read.
A vector becomes a matrix if it is only used in whole, at `i` of a split axis, or at `32 * r + c` where c counts to 32.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tilelang_tt.ir import fields, scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.elements import Access
from tilelang_tt.ir.facts import Facts
from tilelang_tt.ir.fields import rewritten, walk
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.scalar_forms import divisions
from tilelang_tt.ir.tile import Axis, Each, Fill, Launch, Loop, Reduce, Stmt, TileProgram, reads, writes
from tilelang_tt.passes.raise_elements.new_blocks import NewBlocks

_MATRIX = 2  # axes


def split_axes(program: TileProgram) -> TileProgram:
    return replace(program, launches=tuple(_Launch(launch).changed() for launch in program.launches))


class _Launch:
    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.statements = [stmt for stmt in walk(launch.body) if isinstance(stmt, Each)]
        self.extents = {axis.var: axis.extent for each in self.statements for axis in each.axes}
        loops = {stmt.var: scalar.int_value(stmt.extent) for stmt in walk(launch.body) if isinstance(stmt, Loop)}
        self.rounds: dict[Var, int | None] = {**loops, **self.extents}
        self.steps = {var: steps for var, steps in self.all_steps() if steps}
        self.matrices = self.found_matrices()
        self.new = NewBlocks(launch)
        self.parts = {var: self.axes_of(var, steps) for var, steps in self.steps.items()}
        counted = [(axis.var, scalar.const(axis.extent)) for axes in self.parts.values() for axis in axes]
        known = [(var, scalar.const(extent)) for var, extent in self.rounds.items() if extent]
        self.facts = Facts(blocks=[*known, *counted])
        self.values = {var: _together(axes, self.steps[var]) for var, axes in self.parts.items()}

    def changed(self) -> Launch:
        if not self.steps and not self.matrices:
            return self.launch
        body = rewritten(self.launch.body, self.statement)
        kept = (self.matrices.get(buffer, buffer) for buffer in self.launch.buffers)
        return replace(self.launch, body=body, buffers=(*kept, *self.new.found))

    # --- axes -------------------------------------------------------------------------------------

    def all_steps(self) -> Iterator[tuple[Var, list[int]]]:
        """For every axis the divisors that split it, largest first and 1 last; none if it is not split.

        Statements that come from one T.Parallel share their variables, and are split alike.
        """
        quotients: dict[Var, set[int]] = {var: set() for var in self.extents}
        remainders: dict[Var, set[int]] = {var: set() for var in self.extents}
        for is_quotient, of, by in self.divisions():
            counted = _counted(of)
            if counted is not None and counted[0] in self.extents:
                (quotients if is_quotient else remainders)[counted[0]].add(counted[1] * by)
        for var, extent in self.extents.items():
            both = quotients[var] and remainders[var]
            yield var, _nested_steps(quotients[var] | remainders[var], extent) if both else []

    def divisions(self) -> Iterator[tuple[bool, Expr, int]]:
        for each in self.statements:
            for expr in fields.expressions(each):
                yield from divisions(expr)

    def axes_of(self, var: Var, steps: list[int]) -> tuple[Axis, ...]:
        bounds = [self.extents[var], *steps]
        return tuple(
            Axis(scalar.var(f"{var.name}_{number}"), above // step)
            for number, (above, step) in enumerate(zip(bounds, steps, strict=False))
        )

    def statement(self, stmt: Stmt) -> Iterable[Stmt] | None:
        if isinstance(stmt, Fill) and stmt.dst in self.matrices:
            return (replace(stmt, dst=self.matrices[stmt.dst]),)
        if isinstance(stmt, Reduce) and stmt.src in self.matrices:
            return self.reduction(stmt, self.matrices[stmt.src])
        return (self.each(stmt),) if isinstance(stmt, Each) else None

    def each(self, each: Each) -> Each:
        def change(part: object, _: fields.Mark | None) -> object:
            if isinstance(part, Access) and part.source in self.matrices:
                return self.access(part, self.matrices[part.source])
            return self.number(part) if scalar.is_expr(part) else None

        axes = tuple(new for axis in each.axes for new in self.parts.get(axis.var, (axis,)))
        return replace(fields.rebuilt(replace(each, axes=()), change), axes=axes)

    def number(self, expr: Expr) -> Expr:
        if not any(var in self.values for var in scalar.variables(expr)):
            return expr
        return self.facts.simplify(scalar.substitute(expr, self.values))

    # --- vectors ----------------------------------------------------------------------------------

    def found_matrices(self) -> dict[Buffer, Buffer]:
        """Vectors that become matrices, with what they become."""
        widths: dict[Buffer, set[int | None]] = {
            buffer: set() for buffer in self.launch.buffers if len(buffer.shape) == 1
        }
        for stmt in walk(self.launch.body):
            if isinstance(stmt, Each):
                for access in stmt.accesses:
                    if access.source in widths:
                        widths[access.source].add(self.width(access.indices[0]))
                for read in stmt.reads:
                    if read.source in widths:
                        widths[read.source].add(None)
            elif not isinstance(stmt, Fill):
                for buffer in (*reads(stmt), *writes(stmt)):
                    if buffer in widths and not (isinstance(stmt, Reduce) and stmt.src is buffer):
                        widths[buffer].add(None)
        return {
            buffer: Buffer(buffer.name, buffer.dtype, (buffer.shape[0] // width, width), buffer.memory, buffer.location)
            for buffer, found in widths.items()
            for width in found
            if len(found) == 1 and width is not None and buffer.shape[0] % width == 0
        }

    def width(self, index: Expr) -> int | None:
        """The row length of a matrix whose elements an index counts: `i` of an axis split once, or `w * r + c`."""
        if scalar.is_var(index):
            steps = self.steps.get(index, [])
            return steps[0] if len(steps) == _MATRIX else None
        walked = [var for var in scalar.variables(index) if var in self.rounds]
        factors = scalar.linear(index, walked) if len(walked) == _MATRIX else None
        if factors is None or scalar.int_value(factors[-1]) != 0:
            return None
        for row, col in ((0, 1), (1, 0)):
            if factors[col] == 1 and factors[row] == self.rounds[walked[col]]:
                return int(factors[row])
        return None

    def access(self, access: Access, matrix: Buffer) -> Access:
        at, width = scalar.substitute(access.indices[0], self.values), matrix.shape[1]
        places = (scalar.floordiv(at, width), scalar.floormod(at, width))
        return Access(matrix, tuple(map(self.facts.simplify, places)))

    def reduction(self, reduce: Reduce, matrix: Buffer) -> tuple[Stmt, ...]:
        """Along the rows first, then down the column of their results."""
        rows = self.new.add(f"{matrix.name}_rows", reduce.dst.dtype, matrix.shape[:1], reduce.location)
        again = reduce.op.removeprefix("abs")  # what is not negative any more
        return (
            replace(reduce, src=matrix, dst=rows, axis=1, clear=True),
            replace(reduce, op=again, src=rows, axis=0),
        )


def _counted(expr: Expr) -> tuple[Var, int] | None:
    """(i, n) if an expression is `i // n`."""
    if scalar.is_var(expr):
        return expr, 1
    (division,) = divisions(expr)[-1:] or (None,)
    if division is None or not division[0] or not scalar.is_var(division[1]):
        return None
    return (division[1], division[2]) if scalar.same_form(expr, scalar.floordiv(*division[1:])) else None


def _nested_steps(found: set[int], extent: int) -> list[int]:
    """Divisors, largest first and 1 last, if each divides the next one and the last one divides the extent."""
    result = [1]
    for step in sorted(found):
        if step % result[-1]:
            return []
        if step not in (result[-1], extent):
            result.append(step)
    return list(reversed(result)) if extent % result[-1] == 0 and len(result) > 1 else []


def _together(axes: tuple[Axis, ...], steps: list[int]) -> Expr:
    """The number that the parts of an axis count together."""
    terms = [axis.var * step for axis, step in zip(axes, steps, strict=True)]
    return scalar.simplify(sum(terms[1:], terms[0]))
