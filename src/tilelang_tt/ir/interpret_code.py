"""What scalar code means: it is made into a Python function once, which then runs for every unit.

Blocks begin as zeros. Each thread is a generator of its own: it runs up to a barrier, and when all threads wait, those
go on that are at the first of these barriers, in the order of the program. What threads do together, the first one
that gets there carries out, between two barriers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from tilelang_tt.diagnostics import Location
from tilelang_tt.ir import interpret_numbers as numbers
from tilelang_tt.ir.buffers import Buffer, Memory, Tensor
from tilelang_tt.ir.code import (
    Barrier,
    Check,
    Code,
    CodeStmt,
    Constant,
    For,
    If,
    Jump,
    Let,
    Name,
    Op,
    Place,
    Put,
    Show,
    Threads,
    Update,
    Value,
    While,
    is_shared,
)
from tilelang_tt.ir.interpret_numbers import Number
from tilelang_tt.ir.scalar import Var

Array = npt.NDArray[Any]
Source = Tensor | Buffer
Note = Callable[[Source, tuple[int, ...], CodeStmt], None]  # of each store


class OutsideError(IndexError):
    """Scalar code reaches for an element that is not there."""


class CheckError(AssertionError):
    """A condition of the user's does not hold (T.device_assert)."""


def run_code(
    code: Code, array: Callable[[Source], Array], values: Mapping[Var, Number], note: Note | None = None
) -> None:
    """Carry out scalar code. `array` is asked for tensors and blocks that are not its own."""
    made: _Made | None = code.__dict__.get("_made")
    if made is None:
        made = code.__dict__["_made"] = _Made(code)  # a statement never changes
    names = [change(values[var]) for var, change in made.names.items()]
    with np.errstate(all="ignore"):  # NaN and infinity are results
        made.run(*map(array, made.sources), *names, note)


def _outside(place: Place, at: tuple[int, ...], shape: tuple[int, ...], location: Location | None) -> Number:
    """What is read there: zero where the place may lie outside."""
    for axis, (index, extent) in enumerate(zip(at, shape, strict=True)):
        if not 0 <= index < extent and axis not in place.unsure:
            where = f"{location}: " if location else ""
            element = f"{place.source.name}[{', '.join(map(str, at))}]"
            raise OutsideError(f"{where}{element} lies outside of {place.source.name}, whose shape is {shape}")
    return numbers.as_type(place.dtype)(0)


Thread = Generator[tuple[int, ...], bool | None, None]  # gives where it waits: in the program, and in rounds of loops


def _in_step(threads: list[Thread]) -> None:
    """Run threads from barrier to barrier. Of those that go on, the first one is told so."""
    waiting = [(place, thread) for thread in threads if (place := next(thread, None)) is not None]
    while waiting:
        first = min(place for place, _ in waiting)
        ready = [thread for place, thread in waiting if place == first]
        waiting = [(place, thread) for place, thread in waiting if place != first]
        for number, thread in enumerate(ready):
            with suppress(StopIteration):
                waiting.append((thread.send(number == 0), thread))


def _check(condition: Number, text: str, location: Location | None) -> None:
    if not condition:
        raise CheckError(f"{location}: {text}" if location else text)


@dataclass
class _Scope:
    """A function being written."""

    lines: list[str]
    depth: int = 1
    rounds: tuple[str, ...] = ()  # loops around in which threads wait: a number of each, and the name of its round
    threads: bool = False  # it is one for each thread


@dataclass
class _Made:
    """A Python function that carries out scalar code."""

    code: Code
    sources: list[Source] = field(default_factory=list)  # tensors and blocks of others, in the order of parameters
    names: dict[Var, Callable[[Number], Number]] = field(default_factory=dict)  # from outside, and their types

    def __post_init__(self) -> None:
        self.owners = {block: block for block in self.code.blocks} | dict(self.code.views)
        self.known: dict[object, str] = {}  # variables, blocks and tensors -> their Python names
        self.inside: set[Var] = set()  # variables that the code defines
        self.globals: dict[str, object] = {
            "divided": numbers.divided,
            "remainder": numbers.remainder,
            "outside": _outside,
            "in_step": _in_step,
            "check": _check,
            "product": product,
            "np": np,
        }
        self.count = 0
        self.scope = _Scope([])
        self.allocate(*Memory)
        self.body(self.code.body)
        parameters = ", ".join([self.name(one) for one in (*self.sources, *self.names)] + ["note"])
        text = "\n".join([f"def run({parameters}):", *self.scope.lines, "    return"])
        exec(compile(text, f"<scalar code of {self.code.location}>", "exec"), self.globals)
        self.run: Callable[..., None] = self.globals["run"]  # type: ignore[assignment]

    # --- names ------------------------------------------------------------------------------------

    def fresh(self, base: str = "t") -> str:
        self.count += 1
        return f"{base}_{self.count}"

    def name(self, thing: Var | Source) -> str:
        if thing not in self.known:
            self.known[thing] = self.fresh("".join(c if c.isalnum() else "_" for c in f"v_{thing.name}"))
        return self.known[thing]

    def constant(self, value: object) -> str:
        name = self.fresh("k")
        self.globals[name] = value
        return name

    def source(self, source: Source) -> str:
        if source not in self.owners and source not in self.sources:
            self.sources.append(source)
        return self.name(source)

    # --- values -----------------------------------------------------------------------------------

    def value(self, value: Value) -> str:
        match value:
            case Constant():
                number = numbers.as_type(value.dtype)(value.value)
                return self.constant(number) if numbers.is_float(value.dtype) else f"({number})"
            case Name():
                if value.var not in self.inside:
                    self.names.setdefault(value.var, numbers.as_type(value.dtype))
                return self.name(value.var)
            case Place():
                at = [self.fresh() for _ in value.indices]
                named = [f"({name} := {self.value(index)})" for name, index in zip(at, value.indices, strict=True)]
                inside = self.is_inside(value, named)
                return f"({self.element(value, at)} if {inside} else {self.elsewhere(value, at)})"
            case Op():
                return f"({self.operation(value, [self.value(arg) for arg in value.args])})"

    def operation(self, value: Op, args: list[str]) -> str:
        op, dtype, first = value.op, value.dtype, value.args[0].dtype if value.args else ""
        if op == "cast":
            return f"{self.constant(numbers.as_type(dtype))}({args[0]})"
        if op == "bitcast":
            return f"{self.constant(numbers.same_bits(first, dtype))}({args[0]})"
        if op == "where":
            return f"{args[1]} if {args[0]} else {args[2]}"
        if op in numbers.TRUTHS:
            return numbers.TRUTHS[op].format(*args)
        if op in numbers.INTEGERS and numbers.is_integer(dtype):
            text = numbers.INTEGERS[op].format(*args, bits=numbers.bits(dtype), t=self.fresh())
            return numbers.wrapped(text, dtype)
        if op in numbers.FLOATS and numbers.is_float(dtype):
            text = numbers.FLOATS[op].format(*args)
            return text if dtype in ("float32", "float64") else f"{self.constant(numbers.as_type(dtype))}({text})"
        meaning = numbers.operation(op, tuple(arg.dtype for arg in value.args), dtype)
        return f"{self.constant(meaning)}({', '.join(args)})"

    def is_inside(self, place: Place, indices: list[str]) -> str:
        """The condition that an element is there; every index is computed."""
        source = self.source(place.source)
        tests = (f"(0 <= {index} < {source}.shape[{axis}])" for axis, index in enumerate(indices))
        return " & ".join(tests) or "True"

    def element(self, place: Place, at: list[str]) -> str:
        """An element as a number of its type; the indices have names."""
        source = self.source(place.source)
        if not numbers.is_float(place.dtype):
            return f"{source}.item({', '.join(at)})"
        element = f"{source}[{', '.join(at) or '()'}]"
        return (
            element
            if place.dtype in ("float32", "float64")
            else f"{self.constant(numbers.as_type(place.dtype))}({element})"
        )

    def elsewhere(self, place: Place, at: list[str]) -> str:
        at_all = "".join(f"{name}, " for name in at)
        return f"outside({self.constant(place)}, ({at_all}), {self.source(place.source)}.shape, {self.location})"

    # --- statements -------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        self.scope.lines.append("    " * self.scope.depth + text)

    def body(self, body: tuple[CodeStmt, ...]) -> None:
        for stmt in body:
            self.location = self.constant(stmt.location)
            self.statement(stmt)

    def block(self, head: str, body: tuple[CodeStmt, ...], first: str = "pass") -> None:
        self.line(head)
        self.scope.depth += 1
        self.line(first)
        self.body(body)
        self.line("pass")
        self.scope.depth -= 1

    def define(self, var: Var) -> str:
        self.inside.add(var)
        return self.name(var)

    def once(self, stmt: CodeStmt) -> None:
        """What threads do together: by the first one, between two barriers."""
        self.line(f"if ({self.barrier()}):")
        self.scope.depth += 1
        self.scope.threads = False  # nothing inside is shared again
        self.statement(stmt)
        self.scope.threads = True
        self.scope.depth -= 1
        self.line(self.barrier())

    def statement(self, stmt: CodeStmt) -> None:
        if self.scope.threads and is_shared(stmt):
            self.once(stmt)
            return
        match stmt:
            case For():
                self.loop(stmt)
            case While():
                self.repeat(f"while {self.value(stmt.condition)}:", stmt.body)
            case If():
                self.block(f"if {self.value(stmt.condition)}:", stmt.then)
                self.block("else:", stmt.otherwise)
            case Jump():
                self.line(stmt.kind)
            case Let():
                value = self.value(stmt.value)
                self.line(f"{self.define(stmt.var)} = {value}")
            case Put():
                at = self.indices(stmt.target)
                self.store(stmt, stmt.target, at, self.value(stmt.value))
            case Update():
                self.update(stmt)
            case Threads():
                self.threads(stmt)
            case Barrier():
                self.line(self.barrier())
            case Show():
                self.line(f"print({', '.join([repr(stmt.text), *map(self.value, stmt.values)])})")
            case Check():
                self.line(f"check({self.value(stmt.condition)}, {stmt.text!r}, {self.location})")

    def repeat(self, head: str, body: tuple[CodeStmt, ...]) -> None:
        """A loop, whose rounds are counted where threads may wait in it."""
        if not self.scope.threads:
            self.block(head, body)
            return
        around, count = self.scope.rounds, self.fresh("round")
        self.line(f"{count} = 0")
        self.scope.rounds = (*around, str(self.count), count)
        self.block(head, body, f"{count} += 1")
        self.scope.rounds = around

    def barrier(self) -> str:
        self.count += 1
        return f"yield ({', '.join((*self.scope.rounds, str(self.count)))},)"

    def loop(self, stmt: For) -> None:
        start, var = self.fresh(), self.define(stmt.var)
        head = f"for {var} in range({start} := {self.value(stmt.start)}, {start} + {self.value(stmt.extent)}):"
        self.repeat(head, stmt.body)

    def indices(self, place: Place) -> list[str]:
        """Names for the indices of an element."""
        at = [self.fresh() for _ in place.indices]
        for name, index in zip(at, place.indices, strict=True):
            self.line(f"{name} = {self.value(index)}")
        return at

    def store(self, stmt: Put | Update, place: Place, at: list[str], value: str) -> None:
        self.line(f"if {self.is_inside(place, at)}:")
        self.line(f"    {self.source(place.source)}[{', '.join(at) or '()'}] = {value}")
        if isinstance(place.source, Tensor):
            at_all = "".join(f"{name}, " for name in at)
            noted = f"note({self.constant(place.source)}, ({at_all}), {self.constant(stmt)})"
            self.line(f"    note is None or {noted}")
        self.line("else:")
        self.line(f"    {self.elsewhere(place, at)}")

    def update(self, stmt: Update) -> None:
        place, at, old = stmt.target, self.indices(stmt.target), self.fresh("old")
        self.line(f"{old} = {self.element(place, at)} if {self.is_inside(place, at)} else {self.elsewhere(place, at)}")
        value = new = self.value(stmt.value)
        if stmt.op != "set":
            new = self.operation(Op(stmt.op, (place, stmt.value), place.dtype), [old, value])
        if stmt.expected is None:
            self.store(stmt, place, at, new)
        else:
            self.line(f"if {old} == {self.value(stmt.expected)}:")
            self.scope.depth += 1
            self.store(stmt, place, at, new)
            self.scope.depth -= 1
        if stmt.old is not None:
            self.line(f"{self.define(stmt.old)} = {old}")

    def threads(self, stmt: Threads) -> None:
        """A generator for each thread, with blocks of its own."""
        make = self.fresh("thread")
        indices = [self.define(var) for var, _ in stmt.axes]
        self.line(f"def {make}({', '.join(reversed(indices))}):")
        self.scope.depth, self.scope.threads = self.scope.depth + 1, True
        self.allocate(Memory.LOCAL)
        self.body(stmt.body)
        self.line("return")
        self.line("yield")
        self.scope.depth, self.scope.threads = self.scope.depth - 1, False
        extents = ", ".join(f"range({extent})" for _, extent in reversed(stmt.axes))
        self.line(f"in_step([{make}(*at) for at in product({extents})])")

    def allocate(self, *memories: Memory) -> None:
        """Blocks in some memories, and views of them."""
        for block in (block for block in self.code.blocks if block.memory in memories):
            self.line(f"{self.name(block)} = np.zeros({block.shape}, {block.dtype!r})")
        for view, block in self.code.views:
            if self.owners[block].memory in memories:
                bytes_of = f"{self.name(block)}.reshape(-1).view({view.dtype!r})"
                self.line(f"{self.name(view)} = {bytes_of}.reshape({view.shape})")
