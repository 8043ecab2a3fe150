"""XORWOW, bit by bit as cuRAND has it: Marsaglia's xorshift of five words, plus a counter.

A step is linear over GF(2): n steps are a polynomial of the step, x^n modulo its characteristic polynomial. So to skip
n steps takes squarings of polynomials of 160 bits, instead of the tables of matrices that cuRAND has. A sequence starts
2^67 steps behind the one before.
"""

from __future__ import annotations

from collections.abc import Callable

from tilelang_tt.frontend.code.random.generator import Drawn, Generator, computed, high, low, word
from tilelang_tt.frontend.code.values import cast
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Memory
from tilelang_tt.ir.code import CodeStmt, Constant, For, If, Name, Op, Place, Value, While

_SHIFTED, _COUNTER = 5, 5  # words of the xorshift; where the counter is
_COUNTER_STEP = 362437
_BITS = 160
# Polynomials, the lowest power in the lowest bit of the first word; test_random_numbers.py compares them with matrices.
_CHARACTERISTIC = (0x00060001, 0x08610030, 0x00062121, 0x0F3C0035, 0x00000F0E)  # without x^160
_SEQUENCE = (0x26294934, 0x77BBC248, 0x1A87DAD0, 0x930052D4, 0x947E6DD2)  # x^(2^67)
_ONE_STEP = (2, 0, 0, 0, 0)  # x
_SALT, _FACTORS = (0xAAD26B49, 0xF7DCEFDD), (1099087573, 2591861531)


def _number(value: int) -> Constant:
    return Constant(value, "int32")


def _shift(op: str, value: Value, bits: int) -> Value:
    return computed(op, value, word(bits))


def _bit(words: Place, bit: Name) -> Value:
    """Whether a bit of several words is set."""
    at = Place(words.source, (computed("shift_right", bit, _number(5)),))
    place = cast(computed("bit_and", bit, _number(31)), "uint32")
    return Op("ne", (computed("bit_and", computed("shift_right", at, place), word(1)), word(0)), "bool")


class Xorwow(Generator):
    WORDS = 6

    def started(self, seed: Value, sequence: Value, offset: Value) -> tuple[CodeStmt, ...]:
        halves = (low(seed), high(seed))
        mixed = [
            self.named("mixed", computed("mul", computed("bit_xor", half, word(salt)), word(factor)))
            for half, salt, factor in zip(halves, _SALT, _FACTORS, strict=True)
        ]
        (_, first), (_, second) = mixed
        numbers = (
            computed("add", word(123456789), first),
            computed("bit_xor", word(362436069), first),
            computed("add", word(521288629), second),
            computed("bit_xor", word(88675123), second),
            computed("add", word(5783321), first),
            computed("add", computed("add", word(6615241), second), first),
        )
        skipped = computed("mul", low(offset), word(_COUNTER_STEP))  # 2^67 steps of the counter change nothing
        return (
            *(let for let, _ in mixed),
            *(self.put(place, number) for place, number in enumerate(numbers)),
            *self.jumped(sequence, _SEQUENCE),
            *self.jumped(offset, _ONE_STEP),
            self.put(_COUNTER, computed("add", self.at(_COUNTER), skipped)),
        )

    def taken(self) -> Drawn:
        let, name = self.named("random", computed("add", self.at(_SHIFTED - 1), self.at(_COUNTER)))
        count = self.put(_COUNTER, computed("add", self.at(_COUNTER), word(_COUNTER_STEP)))
        return (*self.stepped(self.at(0)), count, let), name

    def stepped(self, words: Place) -> tuple[CodeStmt, ...]:
        """One step of five words."""
        at = [Place(words.source, (_number(place),)) for place in range(_SHIFTED)]
        let, first = self.named("first", computed("bit_xor", at[0], _shift("shift_right", at[0], 2)))
        moved = (self.set(at[place], at[place + 1]) for place in range(_SHIFTED - 1))
        last = computed("bit_xor", at[-1], _shift("shift_left", at[-1], 4))
        mixed = computed("bit_xor", last, computed("bit_xor", first, _shift("shift_left", first, 1)))
        new, name = self.named("last", mixed)
        return (let, new, *moved, self.set(at[-1], name))

    # --- skipping ---------------------------------------------------------------------------------

    def jumped(self, times: Value, polynomial: tuple[int, ...]) -> tuple[CodeStmt, ...]:
        """The steps that a polynomial stands for, so many times."""
        if isinstance(times, Constant) and times.value == 0:
            return ()
        power, work = (self.words_of(name) for name in ("power", "work"))
        left = self.own("left", "uint64")
        odd = Op("ne", (computed("bit_and", left, Constant(1, "uint64")), Constant(0, "uint64")), "bool")
        apply = self.evaluated(work, self.stepped(work), power, self.at(0))
        square = self.evaluated(work, self.times_x(work), power, power)
        body = (
            If(odd, (*apply, *self.copied(work, self.at(0)))),
            self.set(left, computed("shift_right", left, Constant(1, "uint64"))),
            *square,
            *self.copied(work, power),
        )
        first = (self.set(Place(power.source, (_number(at),)), word(of)) for at, of in enumerate(polynomial))
        more = Op("ne", (left, Constant(0, "uint64")), "bool")
        return (self.set(left, times), *first, While(more, body, self.lifter.location))

    def words_of(self, name: str) -> Place:
        return Place(self.lifter.declared.temporary(name, "uint32", (_SHIFTED,), Memory.LOCAL), (_number(0),))

    def evaluated(
        self, result: Place, step: tuple[CodeStmt, ...], polynomial: Place, at: Place
    ) -> tuple[CodeStmt, ...]:
        """By Horner's rule: a step for each power, and `at` added where the polynomial has it."""
        turn = scalar.var("turn")
        let, bit = self.named("bit", computed("sub", _number(_BITS - 1), Name(turn, "int32")))
        added = If(_bit(polynomial, bit), self.each(lambda of: (result, computed("bit_xor", of(result), of(at)))))
        return (
            *self.each(lambda _: (result, word(0))),
            For(turn, _number(0), _number(_BITS), (*step, let, added)),
        )

    def times_x(self, words: Place) -> tuple[CodeStmt, ...]:
        """A polynomial, times x, modulo the characteristic one."""
        at = [Place(words.source, (_number(place),)) for place in range(_SHIFTED)]
        let, over = self.named("over", _shift("shift_right", at[-1], 31))
        carried = (
            computed("bit_or", _shift("shift_left", at[place], 1), _shift("shift_right", at[place - 1], 31))
            for place in reversed(range(1, _SHIFTED))
        )
        shifted = [self.set(place, value) for place, value in zip(reversed(at[1:]), carried, strict=True)]
        lowest = self.set(at[0], _shift("shift_left", at[0], 1))
        reduced = (
            self.set(place, computed("bit_xor", place, word(of))) for place, of in zip(at, _CHARACTERISTIC, strict=True)
        )
        return (let, *shifted, lowest, If(Op("ne", (over, word(0)), "bool"), tuple(reduced)))

    def copied(self, source: Place, target: Place) -> tuple[CodeStmt, ...]:
        return self.each(lambda of: (target, of(source)))

    def each(self, put: Callable[[Callable[[Place], Place]], tuple[Place, Value]]) -> tuple[CodeStmt, ...]:
        """An assignment for each of the five words."""
        var = scalar.var("place")

        def of(words: Place) -> Place:
            return Place(words.source, (Name(var, "int32"),))

        target, value = put(of)
        return (For(var, _number(0), _number(_SHIFTED), (self.set(of(target), value),)),)
