"""T.rng_init, T.rng_rand, T.rng_rand_float: Philox with four words and ten rounds, bit by bit as cuRAND has it.

A thread's generator is eleven words of its own: a counter of four, a key of two, the four words that the counter gives,
and how many of these were taken. cuRAND's other generators are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tvm import tirx

from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.frontend.code.values import cast
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Memory
from tilelang_tt.ir.code import CodeStmt, Constant, For, If, Let, Name, Op, Place, Put, Value

if TYPE_CHECKING:
    from tilelang_tt.frontend.code.lift_code import CodeLifter

_PHILOX = "curandStatePhilox4_32_10_t"
_COUNTER, _KEY, _OUTPUT, _TAKEN, _WORDS = 0, 4, 6, 10, 11
_FACTORS, _STEPS, _ROUNDS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85), 10


def word(number: int) -> Constant:
    return Constant(number, "uint32")


def _long(value: Value) -> Value:
    return cast(value, "uint64")


def _low(value: Value) -> Value:
    return cast(value, "uint32")


def _high(value: Value) -> Value:
    return _low(Op("shift_right", (value, Constant(32, "uint64")), "uint64"))


class _Generator:
    """The statements that work on one thread's words."""

    def __init__(self, lifter: CodeLifter, state: Buffer) -> None:
        self.lifter, self.state = lifter, state

    def at(self, place: int | Value) -> Place:
        return Place(self.state, (Constant(place, "int32") if isinstance(place, int) else place,))

    def put(self, place: int, value: Value) -> Put:
        return Put(self.at(place), value, self.lifter.location)

    def named(self, name: str, value: Value) -> tuple[Let, Name]:
        var = scalar.typed_var(name, value.dtype)
        return Let(var, value, self.lifter.location), Name(var, value.dtype)

    def started(self, seed: Value, sequence: Value, offset: Value) -> tuple[CodeStmt, ...]:
        """curand_init: the sequence is in the upper half of the counter, the offset counts words."""
        quarter = Op("shift_right", (_long(offset), Constant(2, "uint64")), "uint64")
        numbers = (_low(quarter), _high(quarter), _low(_long(sequence)), _high(_long(sequence)))
        return (
            *(self.put(_COUNTER + place, value) for place, value in enumerate(numbers)),
            *(self.put(_KEY + place, half(_long(seed))) for place, half in enumerate((_low, _high))),
            self.put(_TAKEN, Op("bit_and", (_low(_long(offset)), word(3)), "uint32")),
            *self.computed(),
        )

    def computed(self) -> tuple[CodeStmt, ...]:
        """The four words that the counter gives: ten rounds with a key that changes from round to round."""
        keys = [
            Place(self.lifter.declared.temporary("key", "uint32", (1,), Memory.LOCAL), (Constant(0, "int32"),))
            for _ in _STEPS
        ]
        first = [Put(key, self.at(_KEY + place), self.lifter.location) for place, key in enumerate(keys)]
        copied = [self.put(_OUTPUT + place, self.at(_COUNTER + place)) for place in range(4)]
        products = [
            self.named(
                "product", Op("mul", (_long(self.at(_OUTPUT + 2 * place)), Constant(factor, "uint64")), "uint64")
            )
            for place, factor in enumerate(_FACTORS)
        ]
        (_, low), (_, high) = products
        mixed = [
            _mixed(_high(high), self.at(_OUTPUT + 1), keys[0]),
            _low(high),
            _mixed(_high(low), self.at(_OUTPUT + 3), keys[1]),
            _low(low),
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
        return (*first, *copied, For(scalar.var("philox"), Constant(0, "int32"), rounds, body))

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


def _refused(lifter: CodeLifter, what: str) -> UnsupportedError:
    return UnsupportedError(
        "TT113",
        f"{what} is not supported by this version",
        location=lifter.location,
        help="use cuRAND's Philox, with uniform float32 numbers or words, outside T.Parallel",
    )


def rng_init(lifter: CodeLifter, call: tirx.Call) -> tuple[CodeStmt, ...]:
    kind = str(call.args[3].value)
    if kind != _PHILOX:
        raise _refused(lifter, f"the random generator {kind}")
    lifter.random = lifter.random or lifter.declared.temporary("generator", "uint32", (_WORDS,), Memory.LOCAL)
    return _Generator(lifter, lifter.random).started(*(lifter.value(arg) for arg in call.args[:3]))


def rng_rand(lifter: CodeLifter, call: tirx.Call) -> Value:
    """A word; or a float32 above 0 and up to 1."""
    if lifter.shared or lifter.random is None:
        raise _refused(lifter, "a random number inside T.Parallel, where it is not known which thread draws it,")
    if call.args and (str(call.args[0].value) != "uniform" or str(call.dtype) != "float32"):
        raise _refused(lifter, f"a random number of the distribution {call.args[0].value} in {call.dtype}")
    stmts, found = _Generator(lifter, lifter.random).taken()
    lifter.before(*stmts)
    if not call.args:
        return found
    step = Constant(2.0**-32, "float32")
    scaled = Op("mul", (cast(found, "float32"), step), "float32")
    return Op("add", (scaled, Constant(2.0**-33, "float32")), "float32")


RANDOM_CALLS: dict[str, Callable[[CodeLifter, tirx.Call], tuple[CodeStmt, ...]]] = {"tl.rng_init": rng_init}
RANDOM_VALUES: dict[str, Callable[[CodeLifter, tirx.Call], Value]] = {
    "tl.rng_rand": rng_rand,
    "tl.rng_rand_float": rng_rand,
}
