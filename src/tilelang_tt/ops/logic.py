"""Comparisons, logic and choice. A truth value is a tile of ones and zeros, which are floats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tilelang_tt.ops.row import EXACT, NT, TN, TTT, UNARY, ElementOp, Instruction, Operands, T, of_tiles, with_number

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_COMPARE = f"{UNARY}/comp.h"
_NAN_UNARY = "with a number, a NaN counts as a number beyond infinity of its sign; with a tile or zero, as in IEEE 754"


def _with_finite(operands: Operands, name: str) -> Instruction:
    """The chip subtracts the number, which makes a NaN of two equal infinities; of two tiles it compares the bits."""
    return with_number(operands, f"unary_{name}_tile", _COMPARE, finite=True)


def _comparison(name: str, swapped: str, meaning: Callable[..., Any], note: str = "") -> ElementOp:
    """`swapped` is the comparison that holds for exchanged operands."""

    def with_zero(operands: Operands, comparison: str) -> Instruction:
        call = f"{comparison}z_tile"
        return Instruction(operands, f"{call}_init()", f"{call}({{a}})", _COMPARE, number=0.0)

    rows = (
        with_zero(TN, name),
        with_zero(NT, swapped),
        _with_finite(TN, name),
        _with_finite(NT, swapped),
        of_tiles(f"{name}_binary_tile"),
    )
    return ElementOp(name, meaning, rows, EXACT, note=note, jumps=True, truth=True)


def _test(name: str, meaning: Callable[..., Any]) -> ElementOp:
    """A test of one tile. NaN survives only where float32 is unpacked straight to DST."""
    row = Instruction(T, f"{name}_tile_init()", f"{name}_tile({{a}})", f"{UNARY}/isinf_isnan.h")
    note = "NaN becomes infinity on the way to a 16-bit result"
    return ElementOp(name, meaning, (row,), EXACT, note=note, truth=True)


def _of_truth(row: Instruction) -> Instruction:
    """An instruction for floats, on ones and zeros."""
    return replace(row, of="bool")


_PRODUCT = of_tiles("mul_binary_tile")
_LARGER = of_tiles("binary_max_tile", "api/compute/binary_max_min.h")
_IS_ZERO = Instruction(T, "eqz_tile_init()", "eqz_tile({a})", _COMPARE)
_CHOICE = Instruction(TTT, "where_tile_init()", "where_tile<{format}>({a}, {b}, {c}, {out})", f"{UNARY}/where.h")

ROWS = (
    _comparison("eq", "eq", np.equal),
    _comparison("ne", "ne", np.not_equal),
    _comparison("lt", "gt", np.less, _NAN_UNARY),
    _comparison("gt", "lt", np.greater, _NAN_UNARY),
    _comparison("le", "ge", np.less_equal, _NAN_UNARY),
    _comparison("ge", "le", np.greater_equal, _NAN_UNARY),
    ElementOp("and", np.logical_and, (_of_truth(_PRODUCT),), EXACT, commutative=True, truth=True),
    ElementOp("or", np.logical_or, (_of_truth(_LARGER),), EXACT, commutative=True, truth=True),
    ElementOp("not", np.logical_not, (_of_truth(_IS_ZERO),), EXACT, truth=True),
    ElementOp(
        "where",
        np.where,
        (_CHOICE, _of_truth(_CHOICE)),
        EXACT,
        note="takes a truth value first; the branch not chosen may hold anything, also infinity or NaN",
        steady=(1, 2),
    ),
    _test("isnan", np.isnan),
    _test("isfinite", np.isfinite),
)
