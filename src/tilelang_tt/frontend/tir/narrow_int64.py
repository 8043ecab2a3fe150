"""Read 64-bit tensors as 32-bit words where elements are narrowed at once: labels and indices, as torch gives them.

    before   labels[i] = T.cast(Y[bx * 32 + i], "int32")    T.copy(Y[bx * 32], labels)    Y[bx * 32 + i] == T.int64(j)
    after    labels[i] = Y32[bx * 32 + i]                   T.copy(Y32[bx * 32], labels)  Y32[bx * 32 + i] == j

Y32 is the same tensor in words of 32 bits; a call checks that all elements fit (TT315). Arithmetic in 64 bits stays,
and is refused.
"""

from __future__ import annotations

from typing import Any

from tvm import tirx

from tilelang_tt.formats import STEERING_DTYPES
from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.ir import scalar

_COMPARISONS = (tirx.EQ, tirx.NE, tirx.LT, tirx.LE, tirx.GT, tirx.GE)
_NODES = ["tirx.Cast", "tirx.Call", *(f"tirx.{kind.__name__}" for kind in _COMPARISONS)]


def narrow_int64(func: tirx.PrimFunc) -> tuple[tirx.PrimFunc, dict[Any, Any]]:
    """The function, and its buffers of 32-bit words with the 64-bit buffers they stand for."""
    written = {store.buffer for store in scalar.nodes(func.body, tirx.BufferStore)}
    short = {
        buffer: tirx.decl_buffer(buffer.shape, "int32", str(buffer.name))
        for buffer in func.buffer_map.values()
        if str(buffer.dtype) in STEERING_DTYPES and buffer not in written
    }
    if not short:
        return func, {}

    def words(load: Any) -> Any:
        """The load of 32 bits that a load of 64 can be; None for anything else."""
        if isinstance(load, tirx.BufferLoad) and load.buffer in short:
            return tirx.BufferLoad(short[load.buffer], load.indices)
        return None

    def after(node: Any) -> Any:
        if isinstance(node, tirx.Cast):
            load = words(node.value) if str(node.dtype) not in STEERING_DTYPES else None
            return load if load is None or load.dtype == node.dtype else tirx.Cast(node.dtype, load)
        if isinstance(node, _COMPARISONS):
            loads = [words(side) for side in (node.a, node.b)]
            if all(load is None for load in loads):
                return None
            a, b = (_narrow(side) if load is None else load for load, side in zip(loads, (node.a, node.b), strict=True))
            return None if a is None or b is None else type(node)(a, b)
        if operator(node) == "tl.tileop.copy" and str(node.args[1].args[0].buffer.dtype) not in STEERING_DTYPES:
            load, source = words(node.args[0].args[0]), node.args[0]
            if load is not None:
                region = tirx.Call(source.dtype, source.op, [load, *source.args[1:]])
                return tirx.Call(node.dtype, node.op, [region, *node.args[1:]], node.annotations)
        return None

    return func.with_body(tirx.stmt_functor.ir_transform(func.body, None, after, _NODES)), {
        there: buffer for buffer, there in short.items()
    }


def _narrow(expr: Any) -> Any:
    """A number of 64 bits that was, or can be, one of 32."""
    if isinstance(expr, tirx.IntImm):
        return tirx.const(int(expr.value), "int32") if -(2**31) <= int(expr.value) < 2**31 else None
    return expr.value if isinstance(expr, tirx.Cast) and str(expr.value.dtype) == "int32" else None
