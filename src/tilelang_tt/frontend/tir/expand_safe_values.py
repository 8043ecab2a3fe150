"""Expand T.annotate_safe_value: reads past the end of a tensor select the annotated value.

before   T.annotate_safe_value({A: -1})
         T.copy(A[bx * 32, 0], s)
after    for i, j in T.Parallel(32, 64):
             s[i, j] = T.if_then_else(bx * 32 + i < n and j < 60, A[bx * 32 + i, j], -1)
"""

from __future__ import annotations

from typing import Any

from tilelang.ir import get_stmt_span, stamp_stmt_spans
from tvm import tirx

from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.frontend.refuse_gpu_code import location_of
from tilelang_tt.frontend.tir.loop_nests import block_like, copied
from tilelang_tt.ir import scalar

_KEY = "safe_value_map"


def expand_safe_values(func: tirx.PrimFunc) -> tirx.PrimFunc:
    tensors = {buffer.data: buffer for buffer in func.buffer_map.values()}

    def after(block: Any) -> Any:
        """Inner blocks come first: their annotations hold inside them."""
        if _KEY not in block.annotations:
            return None
        values = {tensors[data]: value for data, value in block.annotations[_KEY].items() if data in tensors}
        kept = {key: value for key, value in block.annotations.items() if str(key) != _KEY}
        return block_like(block, body=_with(block.body, values), annotations=kept)

    return func.with_body(tirx.stmt_functor.ir_transform(func.body, None, after, ["tirx.SBlock"]))


def _with(body: Any, values: dict[Any, Any]) -> Any:
    def before(node: Any) -> Any:
        if isinstance(node, tirx.BufferLoad):
            return _safe(node, values[node.buffer]) if node.buffer in values else None
        call = node.value
        if operator(call) == "tl.tileop.copy" and call.args[0].args[0].buffer in values:
            loops = copied(call, location_of(node), lambda load: _safe(load, values[load.buffer]))
            stamp_stmt_spans(loops, get_stmt_span(node))
            return loops
        return node if operator(call).startswith("tl.tileop.") else None  # their regions are no elements

    return tirx.stmt_functor.ir_transform(body, before, None, ["tirx.BufferLoad", "tirx.Evaluate"])


def _safe(load: Any, value: Any) -> Any:
    tests = [
        test
        for index, extent in zip(load.indices, load.buffer.shape, strict=True)
        for test in (index >= 0, index < extent)
        if not scalar.always(test)
    ]
    inside = tests[0] if tests else tirx.const(True, "bool")
    for test in tests[1:]:
        inside = tirx.And(inside, test)
    return tirx.if_then_else(inside, load, tirx.Cast(load.dtype, value))
