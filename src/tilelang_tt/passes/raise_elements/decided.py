"""Element expressions without choices that are settled when compiling."""

from __future__ import annotations

from tilelang_tt.ir import scalar
from tilelang_tt.ir.elements import Apply, ElementExpr, Number, Scalar, with_parts
from tilelang_tt.ops.expressions import with_operands


def decided(expr: ElementExpr) -> ElementExpr:
    """An expression without choices whose conditions are known."""

    def change(part: ElementExpr) -> ElementExpr | None:
        if isinstance(part, Scalar) and part.dtype == "bool" and scalar.int_value(part.expr) is not None:
            return Number(scalar.int_value(part.expr) or 0, "bool")
        if not isinstance(part, Apply):
            return None
        args = tuple(map(decided, part.args))
        known = [bool(arg.value) for arg in args if isinstance(arg, Number)]
        if part.op == "where" and isinstance(args[0], Number):
            return args[1] if args[0].value else args[2]
        if part.op in ("and", "or") and (settles := part.op == "or") in known:
            return Number(int(settles), "bool")
        if part.op in ("and", "or") and known:
            return next((arg for arg in args if not isinstance(arg, Number)), args[0])
        return with_operands(part, *args)

    return with_parts(expr, change)
