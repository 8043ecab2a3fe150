"""The page docs/reference/operations.md, from the table of operations."""

from __future__ import annotations

from tilelang_tt.ops import FAMILIES, ElementOp
from tilelang_tt.ops.derived import DERIVED
from tilelang_tt.ops.row import EVERYWHERE, Accuracy

_HEAD = """\
# Element-wise operations

Generated from the table in `src/tilelang_tt/ops`; `make golden` rewrites it, `make test` fails if it is stale.

What may stand on the right of an assignment under `T.Parallel`: elements of blocks and tensors, numbers, block and
loop indices, sizes, scalar parameters, and the operations below on any of them. An expression is computed in DST, in
float32 (with target option `fp32_acc=false`: every step rounds to bfloat16).

**Accuracy** is the largest error in a 32-bit DST against the exact result for float32 operands, in units of the
result's last place, in the arithmetic of the vendor's stack. The tests hold every operation to it. A result stored in
16 bits is rounded once more.

**Numbers**: an instruction with `n` takes a number without a tile for it. Whole numbers known when the kernel runs
(indices, sizes) become the nearest float32; a float parameter arrives as it is.

**Engines**: instructions with `t` and `n` are the vector unit's, on tiles copied to DST. One with `b` is the matrix
engine's, which takes both tiles straight from L1. It is used for blocks of 16-bit and narrower floats where the result
does not show the difference (`explain` says where). An infinity is the next number after the largest to it. `r` is the
first row of a tile whose rows are all equal, a value per column.

**Casts**: inside an expression, to bfloat16 and float8 rounds to nearest even. A float that is stored as bfloat16, with
a cast or without, is rounded by the packer: halves away from zero. float16 is kept in 32 bits, as in its
blocks. A float becomes an integer by cutting its fraction off, and must be in the type's range; truth values are 1
and 0.

**Integers** of 8, 16 and 32 bits, with and without a sign, keep all of their bits in every operation, in reductions of
any length and in products of bytes; what does not fit a type wraps. `//` and `%` round down, as in Python,
`T.truncdiv` and `T.truncmod` towards zero, as in C; a division by zero gives anything. Integers of 8 and 16 bits are
computed as floats where these hold all results, others as words of 32 bits; a division or a comparison of words takes
several operations (`explain` shows them). Expressions of 64 bits are computed where 32 hold them.
"""

_TABLE = "| operation | TileLang | chip | accuracy | where it holds | note |\n|---|---|---|---|---|---|"

# Names in TileLang, where they are not T.<name>.
_WRITTEN = {
    "add": "`x + y`",
    "sub": "`x - y`",
    "mul": "`x * y`",
    "div": "`x / y`",
    "eq": "`x == y`",
    "ne": "`x != y`",
    "lt": "`x < y`",
    "gt": "`x > y`",
    "le": "`x <= y`",
    "ge": "`x >= y`",
    "and": "`T.And`",
    "or": "`T.Or`",
    "not": "`T.Not`",
    "where": "`T.if_then_else`, `T.Select`",
    "rint": "`T.nearbyint`",
    "sign": "a part of others",
    "cast": "`T.cast`, an assignment to another type",
    "bitcast": '`T.reinterpret(x, "uint32")`',
    "trunc_div": "`T.truncdiv`",
    "trunc_mod": "`T.truncmod`",
    "to_bfloat16": '`T.cast(x, "bfloat16")`',
    "erf_to_float32": "`T.erf`",
    "to_float8_e4m3": '`T.cast(x, "float8_e4m3fn")`',
    "to_float8_e5m2": '`T.cast(x, "float8_e5m2")`',
    "bit_and": "`x & y`",
    "bit_or": "`x \\| y`",
    "bit_xor": "`x ^ y`",
    "shift_left": "`x << n`",
    "shift_right": "`x >> n`",
    "floor_div": "`x // y`",
    "floor_mod": "`x % y`",
}


def page() -> str:
    """The whole page."""
    parts = [_HEAD]
    for family, rows in FAMILIES.items():
        parts.append(f"\n## {family}\n\n{_TABLE}")
        parts += [_row(op.name, _chip(op), op.accuracy, op.note) for op in rows]
    parts.append(f"\n## Built from others\n\n{_TABLE}")
    parts += [_row(op.name, "an expression", op.accuracy, op.note) for op in DERIVED.values()]
    return "\n".join(parts) + "\n"


def _row(name: str, chip: str, accuracy: Accuracy, note: str) -> str:
    cells = (name, _WRITTEN.get(name, f"`T.{name}`"), chip, _error(accuracy), _domain(accuracy), note)
    return f"| {' | '.join(cells)} |"


def _chip(op: ElementOp) -> str:
    """Each instruction once, with the operands it takes."""
    if not op.instructions:
        return "nothing to do" if op.name == "bitcast" else "several operations"
    found: dict[str, list[str]] = {}
    for row in op.instructions:
        only = "" if row.number is None else f" = {row.number:g}"
        kinds = "".join(kind.value for kind in row.operands)
        found.setdefault(row.call.partition("(")[0].partition("<")[0], []).append(kinds + only)
    return ", ".join(f"`{call}` ({', '.join(forms)})" for call, forms in found.items())


def _error(accuracy: Accuracy) -> str:
    if accuracy.absolute:
        beside = f"{accuracy.absolute:g} absolute"
        return f"{accuracy.ulp:g} or {beside}" if accuracy.ulp else beside
    return f"{accuracy.ulp:g}" if accuracy.ulp else "exact"


def _domain(accuracy: Accuracy) -> str:
    if accuracy.domain == EVERYWHERE:
        return "everywhere"
    low, high = accuracy.domain
    return f"{low:.3g} to {high:.3g}"
