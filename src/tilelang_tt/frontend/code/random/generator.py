"""What the generators of random numbers have in common: words of each thread's own, and the distributions.

A generator gives words of 32 bits (`taken`). Uniform numbers are computed from them as cuRAND does, to the last bit.
Normal ones come in pairs by the formula of Box and Muller, of which the second is kept for the next call, as in cuRAND;
logarithm, sine and cosine are rounded to the nearest, where a GPU has approximations of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tilelang_tt.frontend.code.values import cast
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Memory
from tilelang_tt.ir.code import CodeStmt, Constant, If, Let, Name, Op, Place, Put, Value

if TYPE_CHECKING:
    from tilelang_tt.frontend.code.lift_code import CodeLifter

_TWO_PI = float(np.float32(2 * math.pi))  # as a float32
_WORD_BITS, _DOUBLE_BITS = 32, 53
Drawn = tuple[tuple[CodeStmt, ...], Value]


def word(number: int) -> Constant:
    return Constant(number, "uint32")


def long(value: Value) -> Value:
    return Constant(int(value.value) % 2**64, "uint64") if isinstance(value, Constant) else cast(value, "uint64")


def low(value: Value) -> Value:
    return word(int(value.value) % 2**32) if isinstance(value, Constant) else cast(value, "uint32")


def high(value: Value) -> Value:
    if isinstance(value, Constant):
        return word(int(value.value) >> 32)
    return low(Op("shift_right", (value, Constant(32, "uint64")), "uint64"))


def computed(op: str, *args: Value) -> Value:
    """An operation on values of one type."""
    return Op(op, args, args[0].dtype)


class Generator:
    WORDS: ClassVar[int]  # of the state

    def __init__(self, lifter: CodeLifter, normal: Iterable[int]) -> None:
        """`normal`: the bits of normal numbers that the function draws."""
        self.lifter = lifter
        self.state = lifter.declared.temporary("generator", "uint32", (self.WORDS,), Memory.LOCAL)
        self.second = {bits: self.own(f"second_{bits}", f"float{bits}") for bits in normal}  # of a pair
        self.has_second = {bits: self.own(f"has_second_{bits}", "bool") for bits in normal}

    def own(self, name: str, dtype: str) -> Place:
        """A variable of each thread."""
        return Place(self.lifter.declared.temporary(name, dtype, (1,), Memory.LOCAL), (Constant(0, "int32"),))

    def at(self, place: int | Value) -> Place:
        return Place(self.state, (Constant(place, "int32") if isinstance(place, int) else place,))

    def put(self, place: int, value: Value) -> Put:
        return self.set(self.at(place), value)

    def set(self, target: Place, value: Value) -> Put:
        return Put(target, value, self.lifter.location)

    def named(self, name: str, value: Value) -> tuple[Let, Name]:
        var = scalar.typed_var(name, value.dtype)
        return Let(var, value, self.lifter.location), Name(var, value.dtype)

    # --- what a generator says --------------------------------------------------------------------

    def started(self, seed: Value, sequence: Value, offset: Value) -> tuple[CodeStmt, ...]:
        """curand_init, of numbers of 64 bits."""
        raise NotImplementedError

    def taken(self) -> Drawn:
        """curand: the next word."""
        raise NotImplementedError

    # --- distributions ----------------------------------------------------------------------------

    def begun(self, seed: Value, sequence: Value, offset: Value) -> tuple[CodeStmt, ...]:
        nothing = (self.set(place, Constant(0, "bool")) for place in self.has_second.values())
        return (*self.started(long(seed), long(sequence), long(offset)), *nothing)

    def words(self, count: int) -> tuple[tuple[CodeStmt, ...], list[Name]]:
        stmts: tuple[CodeStmt, ...] = ()
        names: list[Name] = []
        for _ in range(count):
            drawn, found = self.taken()
            let, name = self.named("word", found)
            stmts += drawn if isinstance(found, Name) else (*drawn, let)
            names.append(found if isinstance(found, Name) else name)
        return stmts, names

    def uniform(self) -> Drawn:
        """A float32 above 0 and up to 1."""
        stmts, found = self.taken()
        return stmts, _scaled(found, _WORD_BITS, "float32")

    def uniform_double(self) -> Drawn:
        """A float64 above 0 and up to 1, of two words."""
        stmts, (first, second) = self.words(2)
        return stmts, _scaled(_joined(first, second), _DOUBLE_BITS, "float64")

    def pair(self) -> tuple[tuple[CodeStmt, ...], Value, Value]:
        """A uniform float32, and an angle."""
        stmts, (first, second) = self.words(2)
        step = _TWO_PI * 2.0**-_WORD_BITS  # the sum is rounded once: a float64 holds it
        wide = cast(cast(second, "float32"), "float64")
        turned = computed("mul", wide, Constant(step, "float64"))
        angle = cast(computed("add", turned, Constant(step / 2, "float64")), "float32")
        return stmts, _scaled(first, _WORD_BITS, "float32"), angle

    def pair_double(self) -> tuple[tuple[CodeStmt, ...], Value, Value]:
        stmts, (a, b, c, d) = self.words(4)
        half_turns = computed("mul", _scaled(_joined(c, d), _DOUBLE_BITS, "float64"), Constant(2.0, "float64"))
        return stmts, _scaled(_joined(a, b), _DOUBLE_BITS, "float64"), angle_of(half_turns)

    def normal(self, bits: int) -> Drawn:
        """The sine's part first; the cosine's is the next number."""
        draw, number, angle = self.pair() if bits == 32 else self.pair_double()
        kept, result = self.second[bits], self.own("normal", f"float{bits}")
        (first, uniform), (second, turn) = self.named("uniform", number), self.named("angle", angle)
        minus = Constant(-2.0, f"float{bits}")
        let, size = self.named("size", computed("sqrt", computed("mul", minus, computed("log", uniform))))
        two = (
            *draw,
            first,
            second,
            let,
            self.set(result, computed("mul", size, computed("sin", turn))),
            self.set(kept, computed("mul", size, computed("cos", turn))),
            self.set(self.has_second[bits], Constant(1, "bool")),
        )
        one = (self.set(result, kept), self.set(self.has_second[bits], Constant(0, "bool")))
        return (If(self.has_second[bits], one, two, self.lifter.location),), result


def _scaled(number: Value, bits: int, dtype: str) -> Value:
    """A whole number of so many bits as a fraction of 1: the middle of its step."""
    part = computed("mul", cast(number, dtype), Constant(2.0**-bits, dtype))
    return computed("add", part, Constant(2.0 ** -(bits + 1), dtype))


def _joined(first: Value, second: Value) -> Value:
    """53 bits of two words."""
    return computed("bit_xor", long(first), computed("shift_left", long(second), Constant(21, "uint64")))


def angle_of(half_turns: Value) -> Value:
    return computed("mul", half_turns, Constant(math.pi, "float64"))
