"""Statements of random programs for threads: as TileLang source, and what they do, in NumPy.

    If(Binary("<", x, y), (Set(Variable("v0"), x),), ())
        lines    if (x < y): v0 = x
        run      v0 of those threads where x < y

All threads of a block take a statement at the same time, those that a mask has. Programs are free of races, so that any
other order gives the same. What a thread has for itself has an element for each thread: variables are arrays of
one axis, a thread's own arrays have two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from typed_elements import ARITHMETIC, Reading, Values, converted, limits, numpy_type

WARP = 32


class OneThread(Reading):
    """Scalar code: the extreme of a NaN and a number is the number."""

    def extreme(self, op: str, left: Any, right: Any) -> Any:
        found = np.where(np.isnan(right), left, ARITHMETIC[op](left, right))
        return np.where(np.isnan(left), right, found)

    def rounded(self, found: Any, dtype: str) -> Any:
        """Floats become integers towards zero; beyond the ends of the type its end, NaN is 0."""
        form, source = numpy_type(dtype), np.asarray(found)
        if form.kind not in "iu" or source.dtype.kind in "iub":
            return source.astype(form)
        low, high = limits(dtype)
        ends = {np.inf: high, -np.inf: low}
        whole = [
            0 if x != x else ends[x] if x in ends else min(max(int(x), low), high) for x in source.ravel().tolist()
        ]
        return np.array(whole, form).reshape(source.shape)


@dataclass
class Block:
    """What the threads of one block see."""

    count: int
    arrays: dict[str, Any]  # of each thread, of the block, and tensors
    broken: list[Any] = field(default_factory=list)  # of each loop: the threads that left it

    def value(self, expr: Any) -> Any:
        """Of every thread."""
        found = expr.value(Values(lambda name, _index: self.arrays[name], OneThread()))
        return np.broadcast_to(np.asarray(found).astype(numpy_type(expr.dtype)), (self.count,))

    def run(self, body: tuple[Any, ...], mask: Any) -> Any:
        """The threads that reach the end."""
        for statement in body:
            if not mask.any():
                return mask
            mask = statement.run(self, mask)
        return mask


@dataclass(frozen=True)
class Variable:
    name: str
    dtype: str

    def text(self) -> str:
        return self.name

    def value(self, values: Values) -> Any:
        return values.of(self.name, "")

    def put(self, block: Block, mask: Any, found: Any) -> None:
        block.arrays[self.name] = np.where(mask, found, block.arrays[self.name])


@dataclass(frozen=True)
class Access:
    """An element of a tensor, of a block, or of an array that each thread has for itself (`own`)."""

    name: str
    index: tuple[Any, ...]
    dtype: str
    own: bool = False

    def text(self) -> str:
        return f"{self.name}[{', '.join(index.text() for index in self.index)}]"

    def value(self, values: Values) -> Any:
        return values.of(self.name, "")[self.places(values)]

    def places(self, values: Values) -> tuple[Any, ...]:
        count = len(values.of("tid", ""))
        each = tuple(np.broadcast_to(index.value(values), (count,)).astype(np.int64) for index in self.index)
        return (np.arange(count), *each) if self.own else each

    def put(self, block: Block, mask: Any, found: Any) -> None:
        block.arrays[self.name][self.chosen(block, mask)] = found[mask]

    def chosen(self, block: Block, mask: Any) -> tuple[Any, ...]:
        """Places of the threads in the mask."""
        places = self.places(Values(lambda name, _index: block.arrays[name], OneThread()))
        return tuple(place[mask] for place in places)


def indented(body: tuple[Any, ...]) -> Iterator[str]:
    yield from (f"    {line}" for statement in body for line in statement.lines())


@dataclass(frozen=True)
class Set:
    target: Variable | Access
    value: Any
    added: bool = False

    def lines(self) -> Iterator[str]:
        yield f"{self.target.text()} {'+=' if self.added else '='} {self.value.text()}"

    def run(self, block: Block, mask: Any) -> Any:
        found = block.value(self.value)
        if self.added:
            found = (block.value(self.target) + found).astype(numpy_type(self.target.dtype))
        self.target.put(block, mask, found)
        return mask


ATOMICS: dict[str, Any] = {"add": np.add, "max": np.maximum, "min": np.minimum}


@dataclass(frozen=True)
class Atomic:
    """Places may meet; with `into`, they are distinct."""

    kind: str
    target: Access
    value: Any
    into: Variable | None = None

    def lines(self) -> Iterator[str]:
        call = f"T.atomic_{self.kind}({self.target.text()}, {self.value.text()}"
        yield f"{self.into.text()} = {call}, return_prev=True)" if self.into else f"{call})"

    def run(self, block: Block, mask: Any) -> Any:
        found = block.value(self.value)
        before = block.value(self.target)
        ATOMICS[self.kind].at(block.arrays[self.target.name], self.target.chosen(block, mask), found[mask])
        if self.into:
            self.into.put(block, mask, before)
        return mask


@dataclass(frozen=True)
class If:
    condition: Any
    then: tuple[Any, ...]
    otherwise: tuple[Any, ...] = ()

    def lines(self) -> Iterator[str]:
        yield f"if {self.condition.text()}:"
        yield from indented(self.then)
        if self.otherwise:
            yield "else:"
            yield from indented(self.otherwise)

    def run(self, block: Block, mask: Any) -> Any:
        found = block.value(self.condition)
        return block.run(self.then, mask & found) | block.run(self.otherwise, mask & ~found)


@dataclass(frozen=True)
class For:
    """From `low` to below `high`, which may differ from thread to thread."""

    variable: Variable
    low: Any
    high: Any
    body: tuple[Any, ...]
    kind: str = "serial"

    def lines(self) -> Iterator[str]:
        yield f"for {self.variable.name} in T.{self.kind}({self.low.text()}, {self.high.text()}):"
        yield from indented(self.body)

    def run(self, block: Block, mask: Any) -> Any:
        number, high = block.value(self.low), block.value(self.high)
        block.broken.append(np.zeros_like(mask))
        while (going := mask & (number < high) & ~block.broken[-1]).any():
            block.arrays[self.variable.name] = number
            block.run(self.body, going)
            number = number + np.int32(1)
        block.broken.pop()
        return mask


@dataclass(frozen=True)
class While:
    """Its counter goes up first of all, so that it ends."""

    counter: Variable
    limit: Any
    condition: Any
    body: tuple[Any, ...]

    def lines(self) -> Iterator[str]:
        yield f"{self.counter.name} = 0"
        yield f"while {self.counter.name} < {self.limit.text()} and {self.condition.text()}:"
        yield f"    {self.counter.name} += 1"
        yield from indented(self.body)

    def run(self, block: Block, mask: Any) -> Any:
        self.counter.put(block, mask, np.zeros(block.count, np.int32))
        block.broken.append(np.zeros_like(mask))
        going = mask
        while True:
            below = block.value(self.counter) < block.value(self.limit)
            going = going & below & block.value(self.condition) & ~block.broken[-1]
            if not going.any():
                break
            self.counter.put(block, going, block.value(self.counter) + np.int32(1))
            block.run(self.body, going)
        block.broken.pop()
        return mask


@dataclass(frozen=True)
class Leave:
    """`break` or `continue`."""

    word: str

    def lines(self) -> Iterator[str]:
        yield self.word

    def run(self, block: Block, mask: Any) -> Any:
        if self.word == "break":
            block.broken[-1] = block.broken[-1] | mask
        return np.zeros_like(mask)


@dataclass(frozen=True)
class Barrier:
    def lines(self) -> Iterator[str]:
        yield "T.sync_threads()"

    def run(self, _block: Block, mask: Any) -> Any:
        return mask


@dataclass(frozen=True)
class Shuffle:
    """Whole warps take part."""

    kind: str
    target: Variable
    value: Any
    by: Any

    def lines(self) -> Iterator[str]:
        yield f"{self.target.name} = T.shfl_{self.kind}({self.value.text()}, {self.by.text()})"

    def run(self, block: Block, mask: Any) -> Any:
        me, by = np.arange(block.count), block.value(self.by).astype(np.int64)
        lane = me % WARP
        other = {"xor": lane ^ by, "up": lane - by, "down": lane + by, "sync": by}[self.kind]
        other = np.where((other >= 0) & (other < WARP), other, lane)
        self.target.put(block, mask, block.value(self.value)[me - lane + other])
        return mask


TOGETHER: dict[str, Any] = {
    "warp_reduce_sum": np.add.reduce,
    "warp_reduce_max": np.maximum.reduce,
    "warp_reduce_min": np.minimum.reduce,
    "warp_reduce_bitand": np.bitwise_and.reduce,
    "warp_reduce_bitor": np.bitwise_or.reduce,
    "any_sync": np.any,
    "all_sync": np.all,
    "ballot": lambda row: sum(1 << lane for lane in range(len(row)) if row[lane]),
    "syncthreads_count": np.count_nonzero,
    "syncthreads_and": np.all,
    "syncthreads_or": np.any,
}


@dataclass(frozen=True)
class Together:
    """What all threads of a warp, or of the block, find from what each has."""

    call: str
    target: Variable
    value: Any

    def lines(self) -> Iterator[str]:
        yield f'{self.target.name} = T.cast(T.{self.call}({self.value.text()}), "{self.target.dtype}")'

    def run(self, block: Block, mask: Any) -> Any:
        group = block.count if self.call.startswith("syncthreads") else WARP
        dtype = numpy_type(self.target.dtype)
        found = [TOGETHER[self.call](row) for row in block.value(self.value).reshape(-1, group)]
        self.target.put(block, mask, np.repeat(np.array(found).astype(dtype), group))
        return mask


@dataclass(frozen=True)
class Lines:
    """Text with one meaning in NumPy, for all threads at once: tile operations."""

    text: tuple[str, ...]
    meaning: Any

    def lines(self) -> Iterator[str]:
        yield from self.text

    def run(self, block: Block, mask: Any) -> Any:
        assert mask.all()
        self.meaning(block.arrays)
        return mask


@dataclass(frozen=True)
class MapAll:
    """T.Parallel over a block of one axis: `i` is its place."""

    name: str
    count: int
    value: Any
    dtype: str

    def lines(self) -> Iterator[str]:
        yield f"for i in T.Parallel({self.count}):"
        yield f"    {self.name}[i] = {self.value.text()}"

    def run(self, block: Block, mask: Any) -> Any:
        assert mask.all()
        seen = block.arrays | {"i": np.arange(self.count, dtype=np.int32)}
        found = self.value.value(Values(lambda name, _index: seen[name], OneThread()))
        block.arrays[self.name][:] = converted(np.asarray(found), self.dtype, OneThread())
        return mask
