"""Lift a function: what the tile engines refuse as scalar code, all the rest as tiles.

before   with T.Kernel(8, 8): T.gemm(...)             after    Launch main_0: Loop k: ... ; Gemm C += A_s @ B_s
         with T.Kernel(64): T.atomic_add(...)                  Launch main_1: Code because ...

A launch is scalar code as a whole, or statements in it are (`cut_out_code`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tvm import tirx

from tilelang_tt.diagnostics import Location
from tilelang_tt.frontend.asked_schedules import with_asked
from tilelang_tt.frontend.code.lift_code import lift_code
from tilelang_tt.frontend.lift import lift
from tilelang_tt.frontend.tir.assertions import with_conditions_inside
from tilelang_tt.frontend.tir.cut_out_code import cut_out_code
from tilelang_tt.frontend.tir.expand_row_copies import expand_row_copies
from tilelang_tt.frontend.tir.select_launches import count_launches, select_launches
from tilelang_tt.frontend.tir.with_plain_indices import with_plain_indices
from tilelang_tt.ir import fields
from tilelang_tt.ir.buffers import Tensor
from tilelang_tt.ir.code import Code
from tilelang_tt.ir.tile import Launch, ScalarParam, TileProgram
from tilelang_tt.options import Options

Reasons = Mapping[Location, str]  # lines of statements, and why they are refused


def lift_function(
    func: tirx.PrimFunc, options: Options, refused: Mapping[int, str], cuts: Mapping[int, Reasons]
) -> TileProgram:
    """`refused`: the numbers of the launches that become scalar code, and why; `cuts`: those of which parts do."""
    return with_asked(_lifted(func, options, refused, cuts), func, options)


def _lifted(
    func: tirx.PrimFunc, options: Options, refused: Mapping[int, str], cuts: Mapping[int, Reasons]
) -> TileProgram:
    if cuts:
        func, pieces = cut_out_code(with_conditions_inside(expand_row_copies(with_plain_indices(func))), cuts)
    else:
        pieces = ()
    reasons = [next(why for line, why in cuts[piece.launch].items() if line in piece.lines) for piece in pieces]
    if not refused:
        return lift(func, options, list(zip(pieces, reasons, strict=True)))
    numbers = range(max(1, count_launches(func)))
    code = _with_reasons(lift_code(select_launches(func, refused), options, ""), [refused[n] for n in sorted(refused)])
    if set(refused) == set(numbers):
        return code
    kept = [number for number in numbers if number not in refused]
    tiles = lift(select_launches(func, kept), options, list(zip(pieces, reasons, strict=True)))
    return _joined(tiles, code, [number in refused for number in numbers])


def _with_reasons(program: TileProgram, reasons: list[str]) -> TileProgram:
    pairs = zip(program.launches, reasons, strict=True)
    return replace(program, launches=tuple(_because(launch, why) for launch, why in pairs))


def _because(launch: Launch, why: str) -> Launch:
    return replace(launch, body=tuple(replace(stmt, why=why) for stmt in launch.body if isinstance(stmt, Code)))


def _joined(tiles: TileProgram, code: TileProgram, is_code: list[bool]) -> TileProgram:
    """One program of both; a tensor is the one that tiles know, unless they cannot hold its type.

    Scalar code may have more: records of assertions.
    """
    pairs = list(zip(tiles.params, code.params, strict=False))
    shared = (one if one.dtype == other.dtype else other for one, other in pairs)
    params = (*shared, *code.params[len(pairs) :])
    same: dict[Tensor | ScalarParam, Tensor | ScalarParam]
    same = {other: one for one, other in zip(params, code.params, strict=True) if isinstance(other, Tensor)}
    of_code = iter(fields.renamed(code.launches, same))
    return replace(
        tiles,
        params=params,
        sizes=tuple(dict.fromkeys((*tiles.sizes, *code.sizes))),
        launches=tuple(_in_order(iter(tiles.launches), of_code, is_code, tiles.name)),
        decisions=(*tiles.decisions, *code.decisions),
        views=(*tiles.views, *code.views),
    )


def _in_order(tiles: Iterator[Launch], code: Iterator[Launch], is_code: list[bool], name: str) -> Iterator[Launch]:
    for number, scalar in enumerate(is_code):
        yield replace(next(code if scalar else tiles), name=f"{name}_{number}")
