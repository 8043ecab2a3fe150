"""C: fill the padding of blocks that are not whole tiles, where it would change a result.

    before   Reduce m = max of S[64 x 48] along j
    after    Map S_masked = where([j + -48] < 0, S, -inf) ; Reduce m = max of S_masked along j

Padding lanes hold anything. That is harmless for element-wise code. A reduction or a product over them needs its
neutral value there. Blocks that only loads and zero fills write have zeros already: the host pads with zeros.
"""

from __future__ import annotations

import math
from dataclasses import replace

from tilelang_tt.arch import TILE
from tilelang_tt.diagnostics import Location
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Memory, Tensor, unique_name
from tilelang_tt.ir.elements import Element, Index, Number, value_type
from tilelang_tt.ir.fields import rewritten, walk
from tilelang_tt.ir.ranges import type_range
from tilelang_tt.ir.tile import Fill, Gemm, Launch, Load, Map, Reduce, Stmt, Store, TileProgram, writes
from tilelang_tt.ops.expressions import apply, cast


def mask_padding(program: TileProgram) -> TileProgram:
    stored = {stmt.dst.tensor for launch in program.launches for stmt in walk(launch.body) if isinstance(stmt, Store)}
    return replace(program, launches=tuple(_Masking(launch, stored).run() for launch in program.launches))


class _Masking:
    def __init__(self, launch: Launch, stored: set[Tensor]) -> None:
        self.launch = launch
        self.stored = stored

    def run(self) -> Launch:
        body = rewritten(self.launch.body, self.stmt)
        return replace(self.launch, body=body)

    def stmt(self, stmt: Stmt) -> list[Stmt] | None:
        before: list[Stmt] = []
        if isinstance(stmt, Reduce):
            neutral = 0.0 if stmt.op == "sum" else -math.inf
            src = self.masked(stmt.src, stmt.axis, neutral, stmt.location, before)
            return [*before, replace(stmt, src=src)]
        if isinstance(stmt, Gemm):
            a = self.masked(stmt.a, 0 if stmt.transpose_a else 1, 0.0, stmt.location, before)
            b = self.masked(stmt.b, 1 if stmt.transpose_b else 0, 0.0, stmt.location, before)
            return [*before, replace(stmt, a=a, b=b)]
        return None

    def masked(
        self, buffer: Buffer, axis: int, neutral: float, location: Location | None, before: list[Stmt]
    ) -> Buffer:
        extent = buffer.shape[axis]
        if extent % TILE == 0 or (neutral == 0 and self.zero_behind(buffer)):
            return buffer
        name = unique_name(f"{buffer.name}_masked", self.launch.names)
        block = Buffer(name, buffer.dtype, buffer.shape, Memory.SHARED, location)
        layouts = {**self.launch.layouts, block: self.launch.layouts[buffer]}
        self.launch = replace(self.launch, buffers=(*self.launch.buffers, block), layouts=layouts)
        factors = tuple(int(along == axis) for along in range(len(buffer.shape)))
        inside = apply("lt", Index(factors, scalar.const(-extent)), Number(0, "int32"))
        dtype = value_type(buffer.dtype)
        if dtype != "float32":  # small integers lie as floats, and the least of them stands for minus infinity
            neutral = max(neutral, type_range(dtype)[0])
        value = apply("where", inside, cast(Element(buffer), "float32"), Number(float(neutral)))
        before.append(Map(block, cast(value, dtype), location))
        return block

    def zero_behind(self, buffer: Buffer) -> bool:
        """Whether only loads of what the host padded, and zeros, ever come into the block."""
        filling = [stmt for stmt in walk(self.launch.body) if buffer in writes(stmt)]
        return all(
            (isinstance(stmt, Load) and stmt.src.tensor not in self.stored)
            or (isinstance(stmt, Fill) and stmt.value == 0)
            for stmt in filling
        )
