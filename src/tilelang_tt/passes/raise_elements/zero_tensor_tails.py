"""Write zeros past the end of a tensor that a later launch of the same function reads.

    before   Copy x -> M[by * 64 : 64]      M : [100], read by the next launch
    after    Map x_end = where(by * 64 + i < 100, x, 0) ; Copy x_end -> M[by * 64 : 64]

The last tile of a tensor reaches past its end. The host fills that padding with zeros once. What one launch stores
there, the next launch would read.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.arch import TILE
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Memory, Region, Tensor, unique_name, whole
from tilelang_tt.ir.elements import Element, ElementExpr, Index, Number, value_type
from tilelang_tt.ir.facts import Facts
from tilelang_tt.ir.fields import children, walk, with_children
from tilelang_tt.ir.tile import Copy, Launch, Loop, Map, Stmt, TileProgram
from tilelang_tt.ops.expressions import apply, both, numeral


def zero_tensor_tails(program: TileProgram) -> TileProgram:
    launches = tuple(
        _Blanking(launch, _read(program.launches[number + 1 :])).run(Facts(program.sizes, launch.blocks))
        for number, launch in enumerate(program.launches)
    )
    return replace(program, launches=launches)


def _read(launches: tuple[Launch, ...]) -> set[Tensor | Buffer]:
    copies = [stmt for launch in launches for stmt in walk(launch.body) if isinstance(stmt, Copy)]
    return {copy.src.source for copy in copies if isinstance(copy.src.source, Tensor)}


class _Blanking:
    def __init__(self, launch: Launch, read: set[Tensor | Buffer]) -> None:
        self.launch = launch
        self.read = read
        self.new: list[Buffer] = []

    def run(self, facts: Facts) -> Launch:
        body = self.body(self.launch.body, facts)
        return replace(self.launch, body=body, buffers=(*self.launch.buffers, *self.new))

    def body(self, body: tuple[Stmt, ...], facts: Facts) -> tuple[Stmt, ...]:
        return tuple(new for stmt in body for new in self.stmt(stmt, facts))

    def stmt(self, stmt: Stmt, facts: Facts) -> tuple[Stmt, ...]:
        if isinstance(stmt, Copy) and stmt.dst.source in self.read and isinstance(stmt.src.source, Buffer):
            return self.store(stmt, facts)
        inner = facts.with_loop(stmt.var, stmt.extent) if isinstance(stmt, Loop) else facts
        return (with_children(stmt, tuple(self.body(nested, inner) for nested in children(stmt))),)

    def store(self, copy: Copy, facts: Facts) -> tuple[Stmt, ...]:
        inside = _inside(copy.dst, facts)
        block = copy.src.source
        if inside is None or not isinstance(block, Buffer):
            return (copy,)
        taken = self.launch.names | {buffer.name for buffer in self.new}
        end = Buffer(unique_name(f"{block.name}_end", taken), block.dtype, block.shape, Memory.SHARED, copy.location)
        self.new.append(end)
        value = apply("where", inside, Element(block), numeral(0, value_type(block.dtype)))
        return (Map(end, value, copy.location), replace(copy, src=whole(end)))


def _inside(region: Region, facts: Facts) -> ElementExpr | None:
    """Whether an element of a block is inside the tensor; None if nothing of its last tile is outside."""
    walked = [axis for axis, extent in enumerate(region.extents) if extent != 1]
    result: ElementExpr | None = None
    for place, axis in enumerate(walked):
        length, end = region.source.shape[axis], region.mins[axis] + region.extents[axis]
        if facts.divisible(scalar.as_expr(length), TILE) or facts.proves(end <= length):
            continue
        factors = tuple(int(other == place) for other in range(len(walked)))
        test = apply("lt", Index(factors, scalar.simplify(region.mins[axis] - length)), Number(0, "int32"))
        result = both(result, test)
    return result
