"""Random generic statements mean the same after every pass that raises them to tiles.

`make random` draws more of them. Indices are affine, quotients, remainders, backwards, at single places, and of
several axes at once; blocks have one to three axes and odd sizes; statements have guards, loops around them, reductions
and looked-up numbers. Numbers are small and whole, so that sums are exact in any order.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Memory, Read, Region, Tensor, whole
from tilelang_tt.ir.elements import Access, ElementExpr, Number, Scalar
from tilelang_tt.ir.generic import assigned, new_axes, place
from tilelang_tt.ir.interpret import interpret
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.text_program import parse_tile, tile_text
from tilelang_tt.ir.tile import Axis, Copy, Each, Launch, Loop, Stmt, TileProgram
from tilelang_tt.ops.expressions import apply, cast
from tilelang_tt.options import Options
from tilelang_tt.passes.record import verify
from tilelang_tt.pipeline import LIFTED, RAISING_PASSES, TILE_INVARIANTS

COUNT = int(os.environ.get("RANDOM_PROGRAMS", "0")) or 40
EXTENTS = (2, 3, 5, 8, 31, 32, 33, 40, 64)
ROWS, COLS = 64, 96


class Draw:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.tensors = [
            Tensor("A", 0, "float32", (scalar.const(ROWS), scalar.const(COLS))),
            Tensor("I", 1, "int32", (scalar.const(ROWS),)),
        ]
        self.table = Tensor("I_table", 1, "int32", (scalar.const(ROWS),))
        shapes = [tuple(self.pick(EXTENTS) for _ in range(rank)) for rank in (1, 2, 2, 3)]
        self.blocks = [Buffer(f"b{n}", "float32", shape, Memory.FRAGMENT) for n, shape in enumerate(shapes)]
        self.loops: list[tuple[Expr, int]] = []

    def pick(self, among: Sequence[object]) -> object:
        return self.random.choice(among)

    def program(self) -> TileProgram:
        body = [self.filled(block) for block in self.blocks]
        for _ in range(self.random.randint(2, 4)):
            body.append(self.statement())
        outputs = []
        for number, block in enumerate(self.blocks):
            shape = tuple(map(scalar.const, block.shape))
            outputs.append(Tensor(f"O{number}", 2 + number, "float32", shape))
            body.append(Copy(whole(block), Region(outputs[-1], tuple(scalar.const(0) for _ in shape), block.shape)))
        params = (*self.tensors, *outputs)
        names = frozenset(tensor.name for tensor in params)
        launch = Launch(
            "main", ((scalar.var("bx"), scalar.const(1)),), tuple(self.blocks), tuple(body), tensor_names=names
        )
        return TileProgram("main", params, (), (launch,), Options(), views=(self.table,))

    def filled(self, block: Buffer) -> Each:
        axes = new_axes(block.shape)
        steps = [axis.var * self.random.randint(-2, 3) for axis in axes]
        return assigned(axes, place(block, axes), cast(Scalar(sum(steps[1:], steps[0]) + 1, "int32"), "float32"), None)

    def statement(self) -> Stmt:
        if self.random.random() < 0.3 and not self.loops:
            var = scalar.var("q")
            self.loops.append((var, 3))
            inner = tuple(self.statement() for _ in range(self.random.randint(1, 2)))
            self.loops.pop()
            return Loop(var, scalar.const(3), inner)
        return self.each()

    def each(self) -> Each:
        block = self.pick(self.blocks)
        assert isinstance(block, Buffer)
        axes: list[Axis] = []
        indices = tuple(self.target_index(size, axes) for size in block.shape)
        combine = None
        if self.random.random() < 0.2:
            combine = self.random.choice(("sum", "max", "min"))
            axes.append(Axis(scalar.var("r"), self.random.choice(EXTENTS[:6])))
        reads: tuple[Read, ...] = ()
        if axes and self.random.random() < 0.15:
            axis = self.random.choice(axes)
            reads = (Read(scalar.var("v"), self.table, axis.var),)
        target = Access(block, indices)
        value = self.value(target, axes, reads, 0)
        guard = self.guard(axes) if self.random.random() < 0.4 else None
        return Each(tuple(axes), target, value, guard, reads, combine)

    def target_index(self, size: int, axes: list[Axis]) -> Expr:
        """A place of an axis that no two iterations share; new axes are added."""
        kind = self.random.choice(("whole", "whole", "part", "back", "one", "two", "loop"))
        var = scalar.var("ijkl"[len(axes)] if len(axes) < 4 else f"axis_{len(axes)}")
        if kind == "loop" and self.loops and size >= 3:
            return self.loops[0][0]
        if kind in ("one", "loop"):
            return scalar.const(self.random.randrange(size))
        if kind == "two" and size >= 4:
            inner = self.random.choice([n for n in (2, 3, 32) if n * 2 <= size])
            outer = size // inner
            axes += [Axis(var, outer), Axis(scalar.var(f"{var.name}_in"), inner)]
            return axes[-2].var * inner + axes[-1].var
        extent = size if kind in ("whole", "back", "two") else self.random.randint(1, size)
        axes.append(Axis(var, extent))
        start = self.random.randint(0, size - extent)
        return size - 1 - var if kind == "back" else var + start if start else var

    def index(self, size: int, axes: Sequence[Axis], reads: tuple[Read, ...]) -> Expr:
        """Any place of an axis."""
        kind = self.random.choice(
            ("whole", "whole", "whole", "quotient", "remainder", "back", "one", "loop", "two", "look")
        )
        if kind == "look" and reads and size >= 32:
            return reads[0].var
        if kind == "loop" and self.loops and size >= 3:
            return self.loops[0][0]
        if not axes or kind in ("one", "loop", "look"):
            return scalar.const(self.random.randrange(size))
        axis = self.random.choice(list(axes))
        if kind == "two":
            for outer, inner in pairwise(axes):
                if outer.extent * inner.extent <= size:
                    return outer.var * inner.extent + inner.var
        if kind == "quotient":
            return scalar.floordiv(axis.var, max(2, -(-axis.extent // size)))
        if kind == "remainder" or axis.extent > size:
            return scalar.floormod(axis.var, self.random.randint(1, min(size, 32)))
        start = self.random.choice((0, size - axis.extent))
        return size - 1 - axis.var if kind == "back" else axis.var + start

    def value(self, target: Access, axes: Sequence[Axis], reads: tuple[Read, ...], depth: int) -> ElementExpr:
        kind = self.random.random()
        if depth < 2 and kind < 0.45:
            op = self.random.choice(("add", "sub", "max", "min"))
            return apply(op, *(self.value(target, axes, reads, depth + 1) for _ in range(2)))
        if depth < 2 and kind < 0.55:
            return apply("where", self.guard(axes), *(self.value(target, axes, reads, depth + 1) for _ in range(2)))
        if kind < 0.65:
            numbers = [axis.var for axis in axes] + [var for var, _ in self.loops] + [scalar.const(5)]
            return cast(Scalar(self.random.choice(numbers) * 2 - 3, "int32"), "float32")
        if kind < 0.7:
            return target
        source = self.pick([*self.blocks, self.tensors[0]])
        if source is target.source:
            return target  # other places of it belong to other iterations
        assert isinstance(source, Buffer | Tensor)
        shape = [scalar.int_value(extent) or 0 for extent in source.shape]
        return Access(source, tuple(self.index(size, axes, reads) for size in shape))

    def guard(self, axes: Sequence[Axis]) -> ElementExpr:
        if not axes:
            return Number(1, "bool")
        a, b = (self.random.choice(list(axes)).var for _ in range(2))
        test = self.random.choice((a < 20, a >= 1 + b, a + b <= 40, scalar.is_equal(a * 2, b)))
        return Scalar(test, "bool")


def judged(seed: int) -> str:
    """The code of the refusal, if a program is refused."""
    program = Draw(seed).program()
    generator = np.random.default_rng(seed)
    tensors = {
        "A": generator.integers(-4, 5, (ROWS, COLS)).astype(np.float32),
        "I": generator.integers(0, 32, ROWS).astype(np.int32),
    }
    verify(program, LIFTED)
    text = tile_text(program)
    assert tile_text(parse_tile(text)) == text
    wanted = interpret(program, tensors, exact=True)
    for step in RAISING_PASSES:
        try:
            program = step(program)
        except UnsupportedError as error:
            return error.code
        verify(program, TILE_INVARIANTS[step.name])
        found = interpret(program, tensors, exact=True)
        for name, array in wanted.items():
            message = f"seed {seed}: {name} after {step.name}\n{text}\n{tile_text(program)}"
            np.testing.assert_array_equal(found[name], array, err_msg=message)
    return ""


@pytest.mark.filterwarnings("ignore:.*TT701")
def test_random_elements() -> None:
    refused = [code for code in map(judged, range(COUNT)) if code]
    assert len(refused) <= COUNT // 5, refused
