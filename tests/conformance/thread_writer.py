"""Draws the statements of a random program for threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, is_dataclass
from random import Random
from typing import Any

from thread_programs import (
    FRAGMENTS,
    MATRICES,
    PLACES,
    SIDE,
    SIZE,
    Program,
    Shared,
    clamped,
    fill,
    load,
    matrix_access,
    product,
    reduction,
    running_sums,
)
from thread_statements import (
    WARP,
    Access,
    Atomic,
    Barrier,
    For,
    If,
    Leave,
    MapAll,
    Set,
    Shuffle,
    Together,
    Variable,
    While,
)
from typed_elements import ALL_FLOATS, EXTREMES, Binary, Cast, Element, Number
from typed_expressions import ExpressionWriter

THREADS = ((32,), (64,), (128,), (48,), (16, 4), (32, 2), (8, 8))
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
ATOMICS = tuple((kind, dtype) for kind in ("add", "max", "min") for dtype in ("int32", "uint32", "float32"))
TID, BLOCK = Variable("tid", "int32"), Variable("blk", "int32")


def whole(number: int) -> Number:
    return Number(number, "int32")


def names(expr: Any) -> set[str]:
    """Names of everything that an expression reads."""
    parts = [part for value in vars(expr).values() for part in (value if isinstance(value, tuple) else (value,))]
    found = {expr.name} if hasattr(expr, "name") else set()
    return found.union(*(names(part) for part in parts if is_dataclass(part)))


@dataclass
class ThreadWriter(ExpressionWriter):
    random: Random
    variables: list[Variable] = field(default_factory=list)
    arrays: list[Shared] = field(default_factory=list)
    shared: list[Shared] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    atomics: tuple[tuple[str, str], ...] = ()
    loops: list[Variable] = field(default_factory=list)  # that are open
    # Of shared blocks since the last barrier: "read", the kind of atomic, or the place that each thread stores to.
    uses: dict[str, Any] = field(default_factory=dict)
    count: int = 0
    loop_number: int = 0
    counters: int = 0

    def pick(self, values: Iterable[Any]) -> Any:
        return self.random.choice(list(values))

    def number(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def program(self) -> Program:
        threads = self.pick(THREADS)
        blocks = self.number(1, 3)
        for extent in threads:
            self.count = extent * (self.count or 1)
        tiles = self.chance(3)
        self.inputs = list(dict.fromkeys(["int32", *(self.dtype() for _ in range(3))]))
        types = ["int32", *(self.pick(self.inputs) for _ in range(self.number(1, 3)))]
        self.variables = [Variable(f"v{n}", dtype) for n, dtype in enumerate(types)]
        self.arrays = [Shared("a0", (4,), self.pick(self.inputs))] if self.chance(4) else []
        own = [Shared(f"s{n}", (self.count,), self.pick(self.inputs)) for n in range(self.number(1, 2))]
        own += [Shared("c0", (PLACES,), self.pick(("int32", "uint32", "float32")))] if self.chance(5) else []
        self.shared = own + (list(MATRICES) if tiles else [])
        self.atomics = tuple({self.pick(ATOMICS) for _ in range(self.number(0, 2))})
        scattered = self.pick(self.inputs)
        body = (*self.starts(own, tiles), *self.phases(2), *self.scatter(scattered))
        counters = [Variable(f"w{n}", "int32") for n in range(self.counters)]
        return Program(
            blocks,
            threads,
            tuple(self.inputs),
            (*self.variables, *counters),
            tuple(self.arrays),
            tuple(self.shared),
            FRAGMENTS if tiles else (),
            self.atomics,
            scattered,
            body,
        )

    def dtype(self) -> str:
        return str(self.pick((*INTEGERS, *ALL_FLOATS, "bool")))

    def starts(self, own: list[Shared], tiles: bool) -> list[Any]:
        """Everything has a value."""
        found: list[Any] = []
        for number, variable in enumerate(self.variables):
            found.append(Set(variable, self.input(variable.dtype, number)))
        for array in self.arrays:
            k = Variable("k", "int32")
            place = Binary("%", Binary("+", Binary("*", TID, whole(4)), k), whole(SIZE))
            kind = self.pick(("serial", "unroll", "vectorized"))
            element = Access(array.name, (k,), array.dtype, own=True)
            start = Set(element, Access(f"X_{array.dtype}", (BLOCK, place), array.dtype))
            found.append(For(k, whole(0), whole(4), (start,), kind))
        for block in own:
            found.append(MapAll(block.name, block.shape[0], self.constant_of(block), block.dtype))
        if tiles:
            found += [load("m0"), load("m1"), product(self.chance(5)), reduction("max", 1)]
        return [*found, Barrier()]

    def constant_of(self, block: Shared) -> Number:
        if block.name == "c0":
            return Number(3.0 if block.dtype in ALL_FLOATS else 3, block.dtype)
        return Number(self.constant(block.dtype), block.dtype)

    def input(self, dtype: str, offset: int) -> Access:
        place = Binary("%", Binary("+", TID, whole(offset)), whole(SIZE))
        return Access(f"X_{dtype}", (BLOCK, place), dtype)

    # --- expressions --------------------------------------------------------------------------------

    def expr(self, dtype: str, without: str = "") -> Any:
        """An expression, noting which shared blocks it reads."""
        return self.noted(self.expression(dtype, self.operands(without), 0))

    def condition(self) -> Any:
        return self.noted(self.truth(self.operands(), 0))

    def noted(self, expr: Any) -> Any:
        for name in names(expr):
            if any(name == block.name for block in self.shared):
                self.uses.setdefault(name, "read")
        return expr

    def extreme(self, dtype: str, part: Callable[[], Any]) -> Any:
        """Which of two zeros is larger is open."""
        other = Number(self.pick((1.0, -2.5, 100.0)), dtype) if dtype in ALL_FLOATS else part()
        return Binary(self.pick(EXTREMES), part(), other)

    def castable(self, dtype: str, operands: list[Any]) -> list[Any]:
        return [e for e in operands if e.dtype != dtype and not (e.dtype in ALL_FLOATS and dtype == "bool")]

    def sum(self, dtype: str, operands: list[Any], depth: int) -> Any:
        if dtype in ALL_FLOATS and self.chance(2):
            divided, divisor = (self.leaf(dtype, operands) for _ in range(2))
            return divided if isinstance(divided, Number) else Binary("/", divided, divisor)
        return super().sum(dtype, operands, depth)

    def index(self, size: int) -> Any:
        """Any place of so many (a power of two)."""
        what = self.pick([variable for variable in (*self.variables, *self.loops, TID) if variable.dtype == "int32"])
        kind = self.number(0, 2)
        if kind == 0:
            return Binary("%", what, whole(size))
        if kind == 1:
            return Binary("&", Binary(self.pick("+^"), what, TID), whole(size - 1))
        return Binary("&", Binary(">>", what, whole(self.number(0, 8))), whole(size - 1))

    def operands(self, without: str = "") -> list[Any]:
        found: list[Any] = [*self.variables, *self.loops, TID, BLOCK]
        dtype = self.pick(self.inputs)
        found += [Access(f"X_{dtype}", (BLOCK, self.index(SIZE)), dtype)]
        found += [Access(array.name, (self.index(4),), array.dtype, own=True) for array in self.arrays]
        for block in self.shared:
            use = self.uses.get(block.name, "read")
            if use == "read" and block.name != without:
                found.append(self.element(block))
            elif use is TID:
                found.append(Access(block.name, (TID,), block.dtype))
        return found

    def element(self, block: Shared) -> Any:
        if len(block.shape) == 2:
            return matrix_access(block.name, self.index(SIDE), self.index(SIDE))
        size = block.shape[0]
        index = self.index(size) if size & (size - 1) == 0 else Binary("%", self.pick([TID, *self.loops]), whole(size))
        return Access(block.name, (index,), block.dtype)

    # --- statements of each thread --------------------------------------------------------------------

    def statements(self, nesting: int, in_loop: bool = False) -> tuple[Any, ...]:
        found: list[Any] = []
        for _ in range(self.number(1, 3)):
            kinds = [self.set, self.set, self.store, self.store, self.atomic, self.own_array]
            kinds += [self.branch, self.for_loop, self.while_loop] if nesting else []
            kind = self.pick(kinds)
            found += kind(nesting, in_loop) if kind == self.branch else kind(nesting)
        if in_loop and self.chance(4):
            found.append(If(self.condition(), (Leave(self.pick(("break", "continue"))),)))
        return tuple(found)

    def set(self, _nesting: int = 0) -> list[Any]:
        target = self.pick(self.variables)
        added = target.dtype != "bool" and self.chance(2)
        return [Set(target, self.expr(target.dtype), added)]

    def own_array(self, _nesting: int) -> list[Any]:
        if not self.arrays:
            return self.set()
        (array,) = self.arrays
        if self.chance(5):
            return [Set(Access(array.name, (self.index(4),), array.dtype, own=True), self.expr(array.dtype))]
        k = self.loop_variable()
        self.loops.append(k)
        element = Access(array.name, (k,), array.dtype, own=True)
        body = (Set(element, self.expr(array.dtype)),)
        self.loops.pop()
        return [For(k, whole(0), whole(4), body, self.pick(("serial", "unroll")))]

    def store(self, _nesting: int) -> list[Any]:
        """To a place of the thread's own in a shared block."""
        free = [block for block in self.shared if block.name != "c0" and self.uses.get(block.name) != "read"]
        if not free:
            return self.set()
        block = self.pick(free)
        if block.name[0] == "m":
            return self.store_whole(block)
        place = self.uses.setdefault(block.name, self.place())
        fitting = [variable for variable in self.variables if variable.dtype == block.dtype]
        if fitting and block.dtype in ("int32", "uint32") and self.chance(3):
            value = self.expr(block.dtype, without=block.name)
            kind = self.pick(("add", "max", "min"))
            return [Atomic(kind, Access(block.name, (place,), block.dtype), value, self.pick(fitting))]
        value = self.expr(block.dtype, without="" if place is TID else block.name)
        return [Set(Access(block.name, (place,), block.dtype), value)]

    def place(self) -> Any:
        """Another one for each thread."""
        kinds = [
            TID,
            Binary("-", whole(self.count - 1), TID),
            Binary("%", Binary("+", TID, whole(self.number(1, 9))), whole(self.count)),
            Access("P", (BLOCK, TID), "int32"),
        ]
        kinds += [Binary("^", TID, whole(self.number(1, 7)))] if self.count & (self.count - 1) == 0 else []
        return self.pick(kinds)

    def store_whole(self, block: Shared) -> list[Any]:
        """To matrices go small whole numbers, in some rows of them."""
        row = self.uses.setdefault(block.name, whole(self.number(0, SIDE - 4)))
        number = self.pick([variable for variable in self.variables if variable.dtype == "int32"])
        value = Cast(Binary("-", Binary("&", number, whole(7)), whole(4)), block.dtype)
        if len(block.shape) == 1:
            return [If(Binary("<", TID, whole(SIDE)), (Set(Access(block.name, (TID,), block.dtype), value),))]
        rows = Binary("+", Binary("//", TID, whole(SIDE)), row)
        cols = Binary("%", Binary("*", TID, whole(5)), whole(SIDE))
        return [Set(Access(block.name, (rows, cols), block.dtype), value)]

    def atomic(self, _nesting: int) -> list[Any]:
        targets = [Access(f"G_{kind}_{dtype}", (self.index(PLACES),), dtype) for kind, dtype in self.atomics]
        kinds = [kind for kind, _ in self.atomics]
        for block in self.shared:
            if block.name == "c0" and self.uses.get("c0") != "read":
                targets.append(Access("c0", (self.index(PLACES),), block.dtype))
                kinds.append(self.uses.get("c0") or self.pick(("add", "max", "min")))
        if not targets:
            return self.set()
        chosen = self.number(0, len(targets) - 1)
        target, kind = targets[chosen], kinds[chosen]
        if target.name == "c0":
            self.uses["c0"] = kind
        small = Binary("-", Binary("&", self.variables[0], whole(7)), whole(3))
        value = Cast(small, "float32") if target.dtype == "float32" else self.expr(target.dtype)
        return [Atomic(kind, target, value)]

    def branch(self, nesting: int, in_loop: bool = False) -> list[Any]:
        condition = self.condition()
        then = self.statements(nesting - 1, in_loop)
        return [If(condition, then, self.statements(nesting - 1, in_loop) if self.chance(5) else ())]

    def loop_variable(self) -> Variable:
        self.loop_number += 1
        return Variable(f"k{self.loop_number}", "int32")

    def bound(self, most: int) -> Any:
        what = self.pick([v for v in (*self.variables, TID) if v.dtype == "int32"])
        return Binary("&", what, whole(most)) if self.chance(8) else whole(self.number(0, most))

    def for_loop(self, nesting: int) -> list[Any]:
        low, high = (whole(0) if self.chance(6) else self.bound(3)), self.bound(7)
        k = self.loop_variable()
        self.loops.append(k)
        body = self.statements(nesting - 1, in_loop=True)
        self.loops.pop()
        return [For(k, low, high, body)]

    def while_loop(self, nesting: int) -> list[Any]:
        counter = Variable(f"w{self.counters}", "int32")
        self.counters += 1
        limit, condition = self.bound(7), self.condition()
        body = self.statements(nesting - 1, in_loop=True)
        return [While(counter, limit, condition, body)]

    # --- statements of all threads -----------------------------------------------------------------------

    def phases(self, nesting: int) -> tuple[Any, ...]:
        """Between barriers."""
        found: list[Any] = []
        for _ in range(self.number(1, 3)):
            kind = self.number(0, 9)
            if kind == 0 and nesting:
                found.append(self.common_loop(nesting))
            elif kind == 1 and nesting:
                found.append(self.common_branch(nesting))
            elif kind in (2, 3):
                found += self.warp()
            elif kind == 4:
                found += self.together()
            elif kind in (5, 6):
                found += self.tiles()
            else:
                found += self.statements(2)
            told = nesting < 2 or "c0" in self.uses or self.chance(7)  # TileLang puts in the others itself
            self.uses.clear()
            found += [Barrier()] if told else []
        return tuple(found)

    def common_loop(self, nesting: int) -> Any:
        """As many rounds for all threads: a number known when compiling, or of the block."""
        self.uses.clear()
        high = Access("R", (BLOCK,), "int32") if self.chance(6) else whole(self.number(1, 3))
        k = self.loop_variable()
        self.loops.append(k)
        body = self.phases(nesting - 1)
        self.loops.pop()
        return For(k, whole(0), high, body)

    def common_branch(self, nesting: int) -> Any:
        condition = Binary(self.pick(("<", "==", ">")), Access("R", (BLOCK,), "int32"), whole(self.number(0, 2)))
        return If(condition, self.phases(nesting - 1), self.phases(nesting - 1) if self.chance(4) else ())

    def warp(self) -> list[Any]:
        """Whole warps; sometimes one of them alone."""
        if self.count % WARP:
            return self.set()
        found: list[Any] = []
        for _ in range(self.number(1, 2)):
            found += self.shuffle() if self.chance(5) else self.reduce_warp()
        if self.count > WARP and self.chance(3):
            return [If(Binary("<", TID, whole(WARP * self.number(1, self.count // WARP - 1))), tuple(found))]
        return found

    def shuffle(self) -> list[Any]:
        fitting = [v for v in self.variables if v.dtype in ("int32", "uint32", "float32", "int64", "float64")]
        target, kind = self.pick(fitting), self.pick(("xor", "up", "down", "sync"))
        by: Any = whole(self.pick((1, 2, 4, 8, 16)))
        if kind == "sync" and self.chance(5):
            by = self.index(WARP)
        return [Shuffle(kind, target, self.pick([v for v in fitting if v.dtype == target.dtype]), by)]

    def reduce_warp(self) -> list[Any]:
        fitting = [v for v in self.variables if v.dtype in ("int32", "uint32", "int64", "uint64")]
        target = self.pick(fitting)
        call = self.pick(("sum", "max", "min", "bitand", "bitor", "any", "all", "ballot"))
        if call in ("any", "all"):
            return [Together(f"{call}_sync", target, self.condition())]
        if call == "ballot":
            return [Together("ballot", target, self.condition())]
        return [Together(f"warp_reduce_{call}", target, self.expr(target.dtype))]

    def together(self) -> list[Any]:
        target = self.pick([v for v in self.variables if v.dtype == "int32"])
        return [Together(f"syncthreads_{self.pick(('count', 'and', 'or'))}", target, self.condition())]

    def tiles(self) -> list[Any]:
        """Operations of all threads on shared blocks."""
        if len(self.shared) < 4 or self.chance(4):
            return self.map_all()
        steps = (
            lambda: load(self.pick(("m0", "m1"))),
            lambda: fill(self.pick(("m0", "m1", "m2", "m3")), self.number(-3, 3)),
            lambda: product(self.chance(5)),
            lambda: reduction(self.pick(("sum", "max", "min")), self.number(0, 1)),
            lambda: clamped(self.number(-1, 2)),
            lambda: running_sums(self.number(0, 1)),
        )
        return [self.pick(steps)() for _ in range(self.number(1, 3))]

    def map_all(self) -> list[Any]:
        block = self.pick([block for block in self.shared if block.name[0] == "s"])
        fitting = [other for other in self.shared if other.shape == block.shape]
        operands = [Element(other.name, "i", other.dtype) for other in fitting] + [Element("i", "", "int32")]
        value = self.expression(block.dtype, operands, 0)
        return [MapAll(block.name, block.shape[0], value, block.dtype)]

    def scatter(self, dtype: str) -> list[Any]:
        """To a place of a tensor that no other thread of any block has."""
        place = Access("Q", (Binary("+", Binary("*", BLOCK, whole(self.count)), TID),), "int32")
        store = Set(Access("W", (place,), dtype), self.expr(dtype))
        return [If(self.condition(), (store,)) if self.chance(6) else store]
