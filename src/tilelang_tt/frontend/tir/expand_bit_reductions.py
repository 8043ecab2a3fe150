"""Expand T.reduce_bitand, T.reduce_bitor and T.reduce_bitxor into one reduction for each bit.

    before   T.reduce_bitor(x, r, dim=1)                              x : int32, 64 x 128
    after    for k in T.serial(32):
                 for i, j in T.Parallel(64, 128): bit[i, j] = float32((x[i, j] >> k) & 1)
                 T.reduce_max(bit, row, dim=1)
                 for i in T.Parallel(64): word[i] = word[i] | (int32(row[i]) << k)
             for i in T.Parallel(64): r[i] = word[i]

No engine combines bits along an axis, but it can take the maximum, minimum or sum of a single bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilelang.ir import get_stmt_span, stamp_stmt_spans
from tvm import tirx

from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.frontend.tir.loop_nests import CHIP, assigned, box, nest, region_like, variables
from tilelang_tt.ir import scalar

_BITS = {"bool": 1, "int8": 8, "uint8": 8, "int16": 16, "uint16": 16, "int32": 32, "uint32": 32}
_WORD = "int32"
# kind -> (reduction of one bit, how two numbers are combined)
BIT_REDUCTIONS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "bitand": ("min", tirx.bitwise_and),
    "bitor": ("max", tirx.bitwise_or),
    "bitxor": ("sum", tirx.bitwise_xor),
}


def expand_bit_reductions(func: tirx.PrimFunc) -> tirx.PrimFunc:
    def rewrite(stmt: Any) -> Any:
        call = stmt.value
        if operator(call) != "tl.tileop.reduce" or str(call.args[2].value) not in BIT_REDUCTIONS:
            return None
        source, target = box(call.args[0])[0], box(call.args[1])[0]
        if str(source.dtype) not in _BITS or str(target.dtype) not in _BITS:
            return None
        changed = _bit_by_bit(call)
        stamp_stmt_spans(changed, get_stmt_span(stmt))
        return changed

    return func.with_body(tirx.stmt_functor.ir_transform(func.body, rewrite, None, ["tirx.Evaluate"]))


def _bit_by_bit(call: Any) -> Any:
    (source, low, extents), (target, there, places) = box(call.args[0]), box(call.args[1])
    kind, combine = BIT_REDUCTIONS[str(call.args[2].value)]
    bit, row, word = (
        tirx.decl_buffer(shape, dtype, f"{source.name}_{name}", scope=CHIP)
        for name, shape, dtype in (("bit", extents, "float32"), ("row", places, "float32"), ("word", places, _WORD))
    )
    (k,) = variables(1, "bit")
    each, kept = variables(len(extents), "place"), variables(len(places), "place")

    def for_each(variables: list[Any], lengths: list[Any], stmt: Any) -> Any:
        return nest(zip(variables, lengths, strict=True), stmt)

    def at(starts: list[Any], steps: list[Any]) -> list[Any]:
        return [start + step for start, step in zip(starts, steps, strict=True)]

    number = tirx.Cast(_WORD, tirx.BufferLoad(source, at(low, each)))
    take = assigned(bit, each, tirx.bitwise_and(tirx.shift_right(number, k), tirx.const(1, _WORD)))
    regions = [region_like(call.args[0], bit), region_like(call.args[1], row)]
    reduce = tirx.Call(call.dtype, call.op, [*regions, tirx.StringImm(kind), call.args[3], tirx.const(1, "bool")])
    found = tirx.bitwise_and(tirx.Cast(_WORD, tirx.BufferLoad(row, kept)), tirx.const(1, _WORD))  # of a sum its parity
    put = assigned(word, kept, tirx.bitwise_or(tirx.BufferLoad(word, kept), tirx.shift_left(found, k)))
    rounds = [for_each(each, extents, take), tirx.Evaluate(reduce), for_each(kept, places, put)]
    value = tirx.BufferLoad(word, kept)
    if scalar.int_value(call.args[4]) == 0:
        value = combine(tirx.Cast(_WORD, tirx.BufferLoad(target, at(there, kept))), value)
    steps = [
        for_each(kept, places, assigned(word, kept, tirx.const(0, _WORD))),
        nest([(k, _BITS[str(source.dtype)])], tirx.SeqStmt(rounds), tirx.ForKind.SERIAL),
        for_each(kept, places, assigned(target, at(there, kept), value)),
    ]
    block = tirx.SBlock([], [], [], "bits", tirx.SeqStmt(steps), alloc_buffers=[bit, row, word])
    return tirx.SBlockRealize([], tirx.const(True, "bool"), block)
