"""T.rng_init, T.rng_rand, T.rng_rand_float: cuRAND's generators, of which each thread has one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tvm import tirx

from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.frontend.code.random.generator import Generator
from tilelang_tt.frontend.code.random.mrg32k3a import Mrg32k3a
from tilelang_tt.frontend.code.random.philox import Philox
from tilelang_tt.frontend.code.random.xorwow import Xorwow
from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.ir.code import CodeStmt, Value

if TYPE_CHECKING:
    from tilelang_tt.frontend.code.lift_code import CodeLifter

_GENERATORS: dict[str, type[Generator]] = {
    "curandStatePhilox4_32_10_t": Philox,
    "curandStateXORWOW_t": Xorwow,
    "curandStateMRG32k3a_t": Mrg32k3a,
}


def rng_init(lifter: CodeLifter, call: tirx.Call) -> tuple[CodeStmt, ...]:
    kind = _GENERATORS[str(call.args[3].value)]
    if type(lifter.random) is not kind:
        lifter.random = kind(lifter, _normal_bits(lifter.declared.func))
    return lifter.random.begun(*(lifter.value(arg) for arg in call.args[:3]))


def rng_rand(lifter: CodeLifter, call: tirx.Call) -> Value:
    """A word, or a number of a distribution."""
    if lifter.shared or lifter.random is None:
        raise UnsupportedError(
            "TT113",
            "a random number inside T.Parallel, where it is not known which thread draws it, is not supported by this "
            "version",
            location=lifter.location,
            help="draw it outside T.Parallel, into an element that the thread index says",
        )
    stmts, found = _drawn(lifter.random, call)
    lifter.before(*stmts)
    return found


def _drawn(generator: Generator, call: tirx.Call) -> tuple[tuple[CodeStmt, ...], Value]:
    if not call.args:
        return generator.taken()
    if _is_normal(call):
        return generator.normal(call.dtype.bits)
    return generator.uniform() if call.dtype.bits == 32 else generator.uniform_double()


def _is_normal(call: tirx.Call) -> bool:
    return str(call.args[0].value) == "normal"


def _normal_bits(func: tirx.PrimFunc) -> list[int]:
    """Of what sizes a function draws normal numbers."""
    found: set[int] = set()

    def visit(node: object) -> None:
        if isinstance(node, tirx.Call) and operator(node) == "tl.rng_rand_float" and _is_normal(node):
            found.add(node.dtype.bits)

    tirx.stmt_functor.post_order_visit(func.body, visit)
    return sorted(found)


RANDOM_CALLS: dict[str, Callable[[CodeLifter, tirx.Call], tuple[CodeStmt, ...]]] = {"tl.rng_init": rng_init}
RANDOM_VALUES: dict[str, Callable[[CodeLifter, tirx.Call], Value]] = {
    "tl.rng_rand": rng_rand,
    "tl.rng_rand_float": rng_rand,
}
