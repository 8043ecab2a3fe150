"""Random programs with typed elements: every integer type in its whole range, truth values, and floats with NaNs,
infinities, denormals and -0.

A program loads blocks of one type each, computes with them element by element, converts, reduces, multiplies bytes,
in loops and branches, and stores every block to a tensor of its own. Each statement is its text and its meaning at the
same time, so that a program brings its expected results along: no code of the package takes part in them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, is_dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from typed_elements import (
    FLOATS,
    INTEGERS,
    SIGNED,
    Element,
    Reading,
    limits,
    numpy_type,
    width,
)
from typed_expressions import ExpressionWriter
from typed_statements import Branch, Buffer, Convert, Fill, Gemm, Load, Loop, Map, Reduce, State

SIDES = (32, 64, 40)
ROWS, COLS = 100, 130  # of every input
GRID = 2
MOST_ROUNDS = 2
SPECIALS = (0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1.0, -1.0, 3.0e38, -3.0e38, 2.0**-126)
DENORMALS = (2.0**-127, -(2.0**-149), 2.0**-130)


@dataclass(frozen=True)
class Program:
    buffers: tuple[Buffer, ...]
    statements: tuple[Any, ...]
    denormals: bool

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(buffer.dtype for buffer in self.buffers))

    def source(self) -> str:
        """`main(X_int8, ..., O_b0, ...)`: an input for each type, a result for each buffer."""
        tensors = [f'X_{dtype}: T.Tensor(({ROWS}, {COLS}), "{dtype}")' for dtype in self.inputs]
        tensors += [f'O_{b.name}: T.Tensor({(GRID, *b.shape)}, "{b.dtype}")' for b in self.buffers]
        lines = [
            "import tilelang.language as T",
            "",
            "",
            "@T.prim_func",
            "def main(",
            *(f"    {tensor}," for tensor in tensors),
            "):",
            f"    with T.Kernel({GRID}, threads=128) as bx:",
            *(f"        {buffer.declaration()}" for buffer in self.buffers),
            *(f"        {line}" for statement in self.statements for line in statement.lines()),
            *(f"        T.copy({b.name}, O_{b.name}[bx{', 0' * len(b.shape)}])" for b in self.buffers),
        ]
        return "\n".join(lines) + "\n"

    def tensors(self, seed: int) -> State:
        random = np.random.default_rng(seed)
        return {f"X_{dtype}": numbers(random, dtype, self.denormals) for dtype in self.inputs}

    def meaning(self, tensors: State, reading: Reading) -> State:
        """Contents of the results."""
        results = {f"O_{b.name}": reading.rounded(np.zeros((GRID, *b.shape)), b.dtype) for b in self.buffers}
        with np.errstate(all="ignore"):
            tensors = {name: reading.rounded(tensor, name.removeprefix("X_")) for name, tensor in tensors.items()}
            for bx in range(GRID):
                state: State = {**tensors, "bx": bx, "reading": reading}
                for statement in self.statements:
                    statement.run(state)
                for buffer in self.buffers:
                    results[f"O_{buffer.name}"][bx] = state[buffer.name]
        return results


def numbers(random: Any, dtype: str, denormals: bool) -> Any:
    """The whole range, its ends, powers of two and their neighbours, and small numbers."""
    shape = (ROWS, COLS)
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if dtype in FLOATS:
        plain = random.integers(-64, 65, shape) / 4
        special = random.choice([*SPECIALS, *(DENORMALS if denormals else ())], shape)
        found = np.where(random.random(shape) < 0.3, special, plain).astype(np.float32)
        if not denormals:  # of the narrower type, too
            found[(found != 0) & (np.abs(found) < ml_tiny(dtype))] = 0
        return found.astype(numpy_type(dtype))
    low, high = limits(dtype)
    powers = [2**bit + offset for bit in range(width(dtype)) for offset in (-1, 0, 1)]
    edges = [number for power in powers for number in (power, -power) if low <= number <= high] + [low, high]
    found = random.integers(low, high + 1, shape, dtype=np.int64)
    found = np.where(random.random(shape) < 0.4, random.choice(edges, shape), found)
    return np.where(random.random(shape) < 0.2, random.integers(max(low, -9), 10, shape), found).astype(dtype)


def ml_tiny(dtype: str) -> float:
    """The smallest normal number."""
    return 2.0**-14 if dtype == "float16" else 2.0**-126


def leaves(expr: Any) -> set[Element]:
    """Elements in an expression."""
    if isinstance(expr, Element):
        return {expr}
    return {leaf for part in vars(expr).values() if is_dataclass(part) for leaf in leaves(part)}


@st.composite
def typed_programs(draw: st.DrawFn, floats: bool = False) -> Program:
    return _Writer(draw, floats).program()


@dataclass
class _Writer(ExpressionWriter):
    draw: st.DrawFn
    floats: bool
    blocks: list[Buffer] = field(default_factory=list)
    vectors: list[Buffer] = field(default_factory=list)

    def pick(self, values: Iterable[Any]) -> Any:
        return self.draw(st.sampled_from(list(values)))

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def dtype(self) -> str:
        if self.floats:
            return str(self.pick(("float32", "float32", "bfloat16", "float16", "bool", "int32")))
        return str(self.pick((*INTEGERS, "int32", "uint32", "bool")))

    def program(self) -> Program:
        shape = (self.pick(SIDES), self.pick(SIDES))
        multiplies = not self.floats and self.chance(2)
        types = [*(["int8", "uint8"] if multiplies else []), *(self.dtype() for _ in range(self.number(1, 2)))]
        for n in range(self.number(2, 3)):
            self.blocks.append(Buffer(f"b{n}", shape, self.pick(types), self.pick(("fragment", "shared"))))
        for n in range(self.number(0, 2)):
            self.vectors.append(Buffer(f"v{n}", (self.pick(shape),), self.pick(types), "fragment"))
        if multiplies:
            self.blocks.append(Buffer("acc", (shape[0], shape[0]), "int32", "fragment"))
        buffers = (*self.blocks, *self.vectors)
        start = [Load(buffer, 32 * self.number(0, 1), 32 * self.number(0, 1)) for buffer in buffers]
        return Program(buffers, (*start, *self.statements(1)), self.floats and self.chance(3))

    def statements(self, nesting: int) -> tuple[Any, ...]:
        found: list[Any] = []
        while len(found) < self.number(1, 3):
            if nesting and self.chance(2):
                body = self.statements(nesting - 1)
                found.append(Loop(self.number(1, MOST_ROUNDS), body) if self.chance(6) else Branch(body))
            else:
                kind = self.pick(
                    (self.map, self.map, self.map, self.fill, self.convert, self.reduce, self.reduce, self.gemm)
                )
                found += kind()
        return tuple(found)

    def map(self) -> list[Any]:
        target = self.pick((*self.blocks, *self.vectors))
        return [Map(target, self.expression(target.dtype, self.operands(target), 0))]

    def operands(self, target: Buffer) -> list[Element]:
        if len(target.shape) == 1:
            return [Element(v.name, "i", v.dtype) for v in self.vectors if v.shape == target.shape] + [
                Element("i", "", "int32")
            ]
        found = [Element(b.name, "i, j", b.dtype) for b in self.blocks if b.shape == target.shape]
        for vector in self.vectors:
            found += [
                Element(vector.name, var, vector.dtype)
                for var, side in zip("ij", target.shape, strict=True)
                if vector.shape == (side,)
            ]
        return [*found, Element("i", "", "int32"), Element("j", "", "int32")]

    def fill(self) -> list[Any]:
        target = self.pick((*self.blocks, *self.vectors))
        return [Fill(target, self.constant(target.dtype))]

    def convert(self) -> list[Any]:
        pairs = [(a, b) for a in self.blocks for b in self.blocks if a is not b and a.shape == b.shape]
        pairs = [(a, b) for a, b in pairs if not (a.dtype in FLOATS and b.dtype in INTEGERS)]
        return [Convert(*self.pick(pairs))] if pairs else []

    def reduce(self) -> list[Any]:
        kinds = {"sum": INTEGERS, "abssum": SIGNED, "absmax": SIGNED, "max": (*INTEGERS, *FLOATS)}
        kinds |= {"min": kinds["max"]} | dict.fromkeys(("bitand", "bitor", "bitxor"), INTEGERS)
        fitting = [
            (kind, block, vector, axis)
            for kind, types in kinds.items()
            for block in self.blocks
            for vector in self.vectors
            for axis in (0, 1)
            if block.dtype == vector.dtype and block.dtype in types and vector.shape == (block.shape[1 - axis],)
        ]
        if not fitting:
            return []
        kind, *rest = self.pick(fitting)
        return [Reduce(kind, *rest, kind not in ("sum", "max", "min") or self.chance(6))]

    def gemm(self) -> list[Any]:
        bytes_ = [block for block in self.blocks if block.dtype in ("int8", "uint8")]
        targets = [block for block in self.blocks if block.name == "acc"]
        pairs = [(a, b) for a in bytes_ for b in bytes_ if a.dtype == b.dtype]
        if not pairs or not targets:
            return []
        return [Gemm(*self.pick(pairs), targets[0], self.chance(5))]
