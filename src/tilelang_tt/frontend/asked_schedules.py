"""What the T.Kernels of a function say of their schedules: TT.schedule, and T.use_swizzle."""

from __future__ import annotations

from tvm import tirx

from tilelang_tt.frontend.refuse_gpu_code import location_of
from tilelang_tt.frontend.tir.select_launches import launches_of
from tilelang_tt.ir import scalar
from tilelang_tt.schedule import Order
from tilelang_tt.schedule_request import Request, Said

SWIZZLE = "threadblock_swizzle_pattern"
_ORDERS: dict[str, Order] = {
    "rasterization2DRow": "block-linear",
    "rasterization2DColumn": "block-linear-column",
}


def asked_schedules(func: tirx.PrimFunc) -> list[tuple[Said, ...]]:
    """For each launch of the function, in order."""
    return [_asked(launch) for launch in launches_of(func.body)]


def _asked(launch: tirx.Stmt) -> tuple[Said, ...]:
    hints = [node for node in scalar.nodes(launch, tirx.AttrStmt) if str(node.attr_key) == SWIZZLE]
    return tuple(said for hint in hints if (said := _swizzle(hint)) is not None)


def _swizzle(hint: tirx.AttrStmt) -> Said | None:
    """T.use_swizzle as an order; its third pattern (mlx) has none here."""
    name, panel = hint.value.args[0], scalar.int_value(hint.value.args[1])
    order = _ORDERS.get(str(name.value))
    if order is None or panel is None or panel < 1:
        return None
    return Said("T.use_swizzle", Request(order=order, panel=panel), location_of(hint), weak=True)
