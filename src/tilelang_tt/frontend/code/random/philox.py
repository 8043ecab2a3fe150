"""Philox with four words and ten rounds, bit by bit as cuRAND has it.

A counter of four words, a key of two, the four words that the counter gives, and how many of these were taken.
"""

from __future__ import annotations

from tilelang_tt.frontend.code.random.generator import Generator, high, long, low, word
from tilelang_tt.frontend.code.values import cast
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Memory
from tilelang_tt.ir.code import CodeStmt, Constant, For, If, Op, Place, Put, Value

_COUNTER, _KEY, _OUTPUT, _TAKEN = 0, 4, 6, 10
_FACTORS, _STEPS, _ROUNDS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85), 10


class Philox(Generator):
    WORDS = 11

    def uniform_double(self) -> tuple[tuple[CodeStmt, ...], Value]:
        """Of one word, unlike the other generators."""
        stmts, found = self.taken()
        step = Constant(2.0**-32, "float64")
        return stmts, Op("add", (Op("mul", (cast(found, "float64"), step), "float64"), step), "float64")

    def started(self, seed: Value, sequence: Value, offset: Value) -> tuple[CodeStmt, ...]:
        """curand_init: the sequence is in the upper half of the counter, the offset counts words."""
        quarter = Op("shift_right", (offset, Constant(2, "uint64")), "uint64")
        numbers = (low(quarter), high(quarter), low(sequence), high(sequence))
        return (
            *(self.put(_COUNTER + place, value) for place, value in enumerate(numbers)),
            *(self.put(_KEY + place, half(seed)) for place, half in enumerate((low, high))),
            self.put(_TAKEN, Op("bit_and", (low(offset), word(3)), "uint32")),
            *self.computed(),
        )

    def computed(self) -> tuple[CodeStmt, ...]:
        """The four words that the counter gives: ten rounds with a key that changes from round to round."""
        keys = [
            Place(self.lifter.declared.temporary("key", "uint32", (1,), Memory.LOCAL), (Constant(0, "int32"),))
            for _ in _STEPS
        ]
        begin = [Put(key, self.at(_KEY + place), self.lifter.location) for place, key in enumerate(keys)]
        copied = [self.put(_OUTPUT + place, self.at(_COUNTER + place)) for place in range(4)]
        products = [
            self.named("product", Op("mul", (long(self.at(_OUTPUT + 2 * place)), Constant(factor, "uint64")), "uint64"))
            for place, factor in enumerate(_FACTORS)
        ]
        (_, first), (_, second) = products
        mixed = [
            _mixed(high(second), self.at(_OUTPUT + 1), keys[0]),
            low(second),
            _mixed(high(first), self.at(_OUTPUT + 3), keys[1]),
            low(first),
        ]
        words = [self.named("word", value) for value in mixed]
        body: tuple[CodeStmt, ...] = (
            *(let for let, _ in products),
            *(let for let, _ in words),
            *(self.put(_OUTPUT + place, name) for place, (_, name) in enumerate(words)),
            *(
                Put(key, Op("add", (key, word(step)), "uint32"), self.lifter.location)
                for key, step in zip(keys, _STEPS, strict=True)
            ),
        )
        rounds = Constant(_ROUNDS, "int32")
        return (*begin, *copied, For(scalar.var("philox"), Constant(0, "int32"), rounds, body))

    def taken(self) -> tuple[tuple[CodeStmt, ...], Value]:
        """curand: the next word. Behind the fourth the counter goes on."""
        place = Op("add", (Constant(_OUTPUT, "int32"), cast(self.at(_TAKEN), "int32")), "int32")
        let, name = self.named("random", self.at(place))
        behind = Op("eq", (self.at(_TAKEN), word(4)), "bool")
        return (
            let,
            self.put(_TAKEN, Op("add", (self.at(_TAKEN), word(1)), "uint32")),
            If(behind, (*self.counted(), *self.computed(), self.put(_TAKEN, word(0))), location=self.lifter.location),
        ), name

    def counted(self) -> tuple[CodeStmt, ...]:
        """The counter, one further: a word that becomes zero carries to the next."""
        body: tuple[CodeStmt, ...] = ()
        for place in reversed(range(4)):
            carries = Op("eq", (self.at(_COUNTER + place), word(0)), "bool")
            step = self.put(_COUNTER + place, Op("add", (self.at(_COUNTER + place), word(1)), "uint32"))
            body = (step, If(carries, body)) if body else (step,)
        return body


def _mixed(product: Value, other: Value, key: Value) -> Value:
    return Op("bit_xor", (Op("bit_xor", (product, other), "uint32"), key), "uint32")
