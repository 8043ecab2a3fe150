"""Statements of random programs with typed elements: as TileLang source, and what they do, in NumPy.

    Reduce("sum", b0, v0, 1, True)
        lines    T.reduce_sum(b0, v0, dim=1)
        run      state["v0"] = the sums of state["b0"], modulo 2^n

A state holds blocks and tensors by name, the block index as "bx", and the reading of what is open as "reading".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from typed_elements import FLOATS, Number, Values, converted

State = dict[str, Any]


@dataclass(frozen=True)
class Buffer:
    name: str
    shape: tuple[int, ...]
    dtype: str
    memory: str

    def declaration(self) -> str:
        return f'{self.name} = T.alloc_{self.memory}({self.shape}, "{self.dtype}")'


@dataclass(frozen=True)
class Load:
    """A box of the input of the block's type; it may reach beyond it, where zeros are."""

    target: Buffer
    row: int
    col: int

    def lines(self) -> Iterator[str]:
        place = f"{self.row} + bx * 32, {self.col}"
        if len(self.target.shape) == 1:
            place = f"bx, {self.col} : {self.col} + {self.target.shape[0]}"
        yield f"T.copy(X_{self.target.dtype}[{place}], {self.target.name})"

    def run(self, state: State) -> None:
        source, bx = state[f"X_{self.target.dtype}"], state["bx"]
        if len(self.target.shape) == 1:
            state[self.target.name] = source[bx, self.col : self.col + self.target.shape[0]].copy()
            return
        rows, cols = self.target.shape
        box = source[self.row + bx * 32 :, self.col :][:rows, :cols]
        block = np.zeros(self.target.shape, source.dtype)
        block[: box.shape[0], : box.shape[1]] = box
        state[self.target.name] = block


@dataclass(frozen=True)
class Map:
    target: Buffer
    value: Any

    def lines(self) -> Iterator[str]:
        variables = "ij"[: len(self.target.shape)]
        yield f"for {', '.join(variables)} in T.Parallel({', '.join(map(str, self.target.shape))}):"
        yield f"    {self.target.name}[{', '.join(variables)}] = {self.value.text()}"

    def run(self, state: State) -> None:
        found = self.value.value(Values(partial(_elements, state, self.target.shape), state["reading"]))
        state[self.target.name] = np.broadcast_to(found, self.target.shape)


def _elements(state: State, shape: tuple[int, ...], name: str, index: str) -> Any:
    if name == "bx":
        return np.int32(state["bx"])
    if name in ("i", "j"):
        axis = "ij".index(name)
        positions = np.arange(shape[axis], dtype=np.int32)
        return positions[:, None] if axis == 0 and len(shape) == 2 else positions
    if index == "i" and len(shape) == 2:
        return state[name][:, None]
    return state[name]


@dataclass(frozen=True)
class Fill:
    target: Buffer
    number: Any

    def lines(self) -> Iterator[str]:
        yield f"T.fill({self.target.name}, {Number(self.number, self.target.dtype).text()})"

    def run(self, state: State) -> None:
        found = state["reading"].rounded(np.array(self.number), self.target.dtype)
        state[self.target.name] = np.broadcast_to(found, self.target.shape)


@dataclass(frozen=True)
class Convert:
    """T.copy between blocks of different types."""

    source: Buffer
    target: Buffer

    def lines(self) -> Iterator[str]:
        yield f"T.copy({self.source.name}, {self.target.name})"

    def run(self, state: State) -> None:
        state[self.target.name] = converted(state[self.source.name], self.target.dtype, state["reading"])


@dataclass(frozen=True)
class Reduce:
    """Of one type: the vector's, in which sums wrap."""

    kind: str
    source: Buffer
    target: Buffer
    axis: int
    clear: bool

    def lines(self) -> Iterator[str]:
        clear = "" if self.clear else ", clear=False"
        yield f"T.reduce_{self.kind}({self.source.name}, {self.target.name}, dim={self.axis}{clear})"

    def run(self, state: State) -> None:
        block = state[self.source.name]
        absolute, kind = self.kind.startswith("abs"), self.kind.removeprefix("abs")
        found = REDUCTIONS[kind].reduce(np.abs(block) if absolute else block, axis=self.axis, dtype=block.dtype)
        if not self.clear:
            found = REDUCTIONS[kind](state[self.target.name], found)
        if self.source.dtype in FLOATS:
            found = np.where(found != found, found.dtype.type(state["reading"].of_nan), found)
        state[self.target.name] = found


REDUCTIONS: dict[str, Any] = {
    "sum": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor,
}


@dataclass(frozen=True)
class Gemm:
    """Bytes, added up in int32."""

    left: Buffer
    right: Buffer
    target: Buffer
    clear: bool

    def lines(self) -> Iterator[str]:
        blocks = f"{self.left.name}, {self.right.name}, {self.target.name}"
        yield f"T.gemm({blocks}, transpose_B=True, clear_accum={self.clear})"

    def run(self, state: State) -> None:
        found = state[self.left.name].astype(np.int32) @ state[self.right.name].astype(np.int32).T
        state[self.target.name] = found if self.clear else state[self.target.name] + found


@dataclass(frozen=True)
class Loop:
    rounds: int
    body: tuple[Any, ...]

    def lines(self) -> Iterator[str]:
        yield f"for k in T.serial({self.rounds}):"
        yield from (f"    {line}" for statement in self.body for line in statement.lines())

    def run(self, state: State) -> None:
        for _ in range(self.rounds):
            for statement in self.body:
                statement.run(state)


@dataclass(frozen=True)
class Branch:
    body: tuple[Any, ...]

    def lines(self) -> Iterator[str]:
        yield "if bx == 0:"
        yield from (f"    {line}" for statement in self.body for line in statement.lines())

    def run(self, state: State) -> None:
        if state["bx"] == 0:
            for statement in self.body:
                statement.run(state)
