"""Turn bit operations on indices into arithmetic, which the compiler can reason about.

    before   A[(bx >> 1) * 32, (bx & 1) * 32]          i & ~31              i ^ 1
    after    A[bx // 2 * 32, bx % 2 * 32]              i - i % 32           i + 1 - i % 2 * 2

    before   for s in T.serial(3): ... 1 << s          after    ... 1 ; ... 2 ; ... 4

Elements of tensors and blocks are left alone: the vector unit has instructions for their bits.
"""

from __future__ import annotations

from collections.abc import Iterator

from tvm import tirx

from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.ir import scalar

_LARGEST = 30  # bits of a constant that is still a whole number of 32 bits
_SHIFTS = ("tirx.shift_left", "tirx.shift_right")


def index_bits_to_arithmetic(func: tirx.PrimFunc) -> tirx.PrimFunc:
    def rewrite(call: tirx.Call) -> tirx.PrimExpr | None:
        if str(call.dtype) not in ("int32", "int64") or not _is_index(call):
            return None
        return _arithmetic(operator(call), list(call.args))

    body = tirx.stmt_functor.ir_transform(func.body, None, _unrolled, ["tirx.For"])
    return func.with_body(tirx.stmt_functor.ir_transform(body, None, rewrite, ["tirx.Call"]))


def _unrolled(loop: tirx.For) -> tirx.Stmt | None:
    """The rounds of a loop one after the other, if its variable says how far the bits of an index are shifted."""
    rounds = scalar.int_value(loop.extent)
    shifts = [call for call in scalar.nodes(loop.body, tirx.Call) if operator(call) in _SHIFTS and _is_index(call)]
    if (
        rounds is None
        or not 0 < rounds <= _LARGEST
        or loop.kind not in (tirx.ForKind.SERIAL, tirx.ForKind.UNROLLED)
        or not any(loop.loop_var in scalar.variables(call.args[1]) for call in shifts)
        or scalar.nodes(loop.body, tirx.SBlock)
    ):
        return None
    places = (loop.min + number for number in range(rounds))
    return tirx.SeqStmt([tirx.stmt_functor.substitute(loop.body, {loop.loop_var: place}) for place in places])


def _is_index(expr: tirx.PrimExpr) -> bool:
    """Whether an expression is of block indices, loop variables, sizes and scalar variables alone."""
    return all(str(load.buffer.scope()) == "local.var" for load in scalar.nodes(expr, tirx.BufferLoad))


def _arithmetic(name: str, args: list[tirx.PrimExpr]) -> tirx.PrimExpr | None:
    """The expression without bits, where one operand is a constant; None otherwise."""
    if name == "tirx.bitwise_not":
        return -args[0] - 1
    if len(args) == 2 and name in ("tirx.bitwise_and", "tirx.bitwise_or", "tirx.bitwise_xor"):
        a, b = args if scalar.int_value(args[1]) is not None else reversed(args)
        constant = scalar.int_value(b)
        if constant is None or not -(1 << _LARGEST) <= constant < 1 << _LARGEST:
            return None
        common = _and(a, constant)
        if name == "tirx.bitwise_and":
            return common
        return a + b - (common if name == "tirx.bitwise_or" else common * 2)
    count = scalar.int_value(args[1]) if name in _SHIFTS else None
    if count is None or not 0 <= count <= _LARGEST:
        return None
    power = tirx.const(1 << count, args[0].dtype)
    return args[0] * power if name == "tirx.shift_left" else tirx.floordiv(args[0], power)


def _and(a: tirx.PrimExpr, constant: int) -> tirx.PrimExpr:
    if constant < 0:
        return a - _and(a, ~constant)
    result = tirx.const(0, a.dtype)
    for low, length in _runs(constant):
        part = tirx.floordiv(a, tirx.const(1 << low, a.dtype)) if low else a
        result = result + tirx.floormod(part, tirx.const(1 << length, a.dtype)) * tirx.const(1 << low, a.dtype)
    return result


def _runs(number: int) -> Iterator[tuple[int, int]]:
    """Runs of one bits in a number: where each begins, and how long it is."""
    low = 0
    while number >> low:
        if (number >> low) & 1:
            length = 1
            while (number >> (low + length)) & 1:
                length += 1
            yield low, length
            low += length
        low += 1
