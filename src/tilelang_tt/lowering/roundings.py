"""How coarse the numbers are that a kernel computes: the format with the fewest bits into which it rounds something.

T.copy(A, a)          no rounding: both hold bfloat16
T.copy(s, p)          from float32 to bfloat16: 8 significant bits
T.gemm(p, v, o)       into float32: 24
"""

from __future__ import annotations

import math
from typing import Any

from tvm import tirx

# Significant bits, the leading one among them.
_BITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8, "float8_e4m3": 4, "float8_e5m2": 3}
_WRITES = 2  # of the access mode of a region


def epsilon_of(func: tirx.PrimFunc) -> float:
    """Half the distance from 1 to the next number, of the coarsest float that something is rounded to; 0: no floats."""
    dtypes: set[str] = set()

    def visit(node: Any) -> None:
        if isinstance(node, tirx.BufferStore):
            dtypes.add(str(node.buffer.dtype))
        elif isinstance(node, tirx.Call) and not _is_plain_copy(node):
            dtypes.update(str(region.args[0].buffer.dtype) for region in _regions(node) if _is_written(region))

    tirx.stmt_functor.post_order_visit(func.body, visit)
    bits = [count for dtype in dtypes for name, count in _BITS.items() if dtype.startswith(name)]
    return math.ldexp(1.0, -min(bits)) if bits else 0.0


def multiplies_float32(func: tirx.PrimFunc) -> bool:
    """Whether a product of matrices takes float32 operands."""
    found: list[Any] = []

    def visit(node: Any) -> None:
        if isinstance(node, tirx.Call) and str(getattr(node.op, "name", "")) == "tl.tileop.gemm":
            found.extend(region for region in _regions(node)[:2] if str(region.args[0].buffer.dtype) == "float32")

    tirx.stmt_functor.post_order_visit(func.body, visit)
    return bool(found)


def _regions(call: tirx.Call) -> list[Any]:
    return [arg for arg in call.args if isinstance(arg, tirx.Call) and str(getattr(arg.op, "name", "")) == "tl.region"]


def _is_written(region: Any) -> bool:
    return bool(int(region.args[1]) & _WRITES)


def _is_plain_copy(call: tirx.Call) -> bool:
    if str(getattr(call.op, "name", "")) != "tl.tileop.copy":
        return False
    return len({str(region.args[0].buffer.dtype) for region in _regions(call)}) == 1
