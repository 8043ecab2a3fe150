"""Settle the schedule of a launch from what the user says of it: part of `partition_work`.

    TT.schedule(order="column") in the kernel, {"schedule": {"policy": "strided"}} in the target
        -> every 64th unit for a core, numbered down the columns

The kernel and the target may each say a part. Where both say the same thing differently, they are refused.
T.use_swizzle counts where neither says an order. Where nothing is said, blocks run where sharded tensors lie
(`infer_match`), or in contiguous runs in the order of the grid, over all cores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tilelang_tt.core_ranges import CoreRange
from tilelang_tt.delivery_costs import delivery_costs
from tilelang_tt.diagnostics import Location, TargetError
from tilelang_tt.ir.alike import alike, axes_of, delivered_by
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.scalar import Var, int_value
from tilelang_tt.ir.tile import Launch, TileProgram
from tilelang_tt.ir.units import known_extents
from tilelang_tt.options import Options
from tilelang_tt.passes.b_partition.even_out import even_out
from tilelang_tt.passes.b_partition.match_tensor import infer_match, match_tensor
from tilelang_tt.schedule import DEFAULT_PANEL, PANEL_ORDERS, Matched, Order, Pieces, Schedule, shares, uncovered
from tilelang_tt.schedule_request import Request, Said, ScheduleError, checked

_MOST_MORE = 2  # units of a core
_TOGETHER = "rectangles: a row, or a column, of cores needs the same blocks"


@dataclass(frozen=True)
class Settled:
    schedule: Schedule
    grid: tuple[int, int]  # cores from (0, 0) to the last one that is used
    reasons: tuple[str, ...] = ()  # what `explain` says of it


def settle_schedule(program: TileProgram, written: Launch, launch: Launch, *, alone: bool) -> Settled:
    """`written`: the launch with all its block indices. `alone`: one core has to do all units in their order."""
    asked = _asked(written)
    request, options = asked.request, program.options
    _check_cores(asked, options)
    chosen = request.cores or (CoreRange(*options.core_grid),)
    if alone:
        return _on_one_core(request, chosen[0].origin)
    grid = max(one.end[0] for one in chosen), max(one.end[1] for one in chosen)
    ranges = () if chosen == (CoreRange(*grid),) else chosen
    core_order, (order, panel) = request.core_order or "row", _order(request)
    if request.units is not None:
        schedule = Schedule("list", ranges=ranges, core_order=core_order, lists=request.units)
        _check_lists(schedule, grid, written, launch, asked)
        return Settled(schedule, grid, asked.reasons)
    if request.match is not None:
        _all_indices(f"match '{request.match}'", written, launch, asked)
        found = match_tensor(program, launch, request.match, asked.place)
        return _matching(order, panel, found, options, asked.reasons)
    free = not asked.said and len(written.blocks) == len(launch.blocks)
    inferred = infer_match(program, launch) if free else None
    if inferred is not None:
        return _matching(order, panel, inferred.pieces, options, (*asked.reasons, inferred.reason))
    evened = even_out(launch, grid) if not asked.said and request == Request() else None
    if evened is not None:
        return Settled(evened.schedule, grid, (*asked.reasons, evened.reason))
    runs = Schedule(request.policy or "contiguous", order, panel, ranges, core_order)
    boxes = replace(runs, policy="rectangle")
    if request.policy is None and _pays(program, launch, boxes, runs, grid):
        return Settled(boxes, grid, (*asked.reasons, _TOGETHER))
    return Settled(runs, grid, asked.reasons)


def _pays(program: TileProgram, launch: Launch, boxes: Schedule, runs: Schedule, grid: tuple[int, int]) -> bool:
    """Whether rectangles of blocks let cores share loads, and no core gets more units than in runs.

    Sizes must be known, and blocks no line. A user who asks for multicasts waits for DRAM alone: by the clock twice the
    units of a product in rectangles take 0.3 to 0.8 of the time.
    """
    extents, multicast = known_extents(launch), program.options.multicast
    if multicast is False or extents is None or len(boxes.core_ranges(grid)) > 1:
        return False
    columns, rows = (*extents, 1)[0], math.prod(extents[1:])
    most = [max(share.count for share in shares(one, grid, columns, rows)) for one in (boxes, runs)]
    if min(columns, rows) == 1 or most[0] > (_MOST_MORE if multicast else 1) * most[1]:
        return False
    found = alike(program, launch).items()
    return bool(found) and (bool(multicast) or any(_sent(program, launch, one, boxes, grid) for one in found))


def _sent(
    program: TileProgram, launch: Launch, found: tuple[Buffer, tuple[Var, ...]], boxes: Schedule, grid: tuple[int, int]
) -> bool:
    """Whether one core should read a block for others if units are dealt out as rectangles."""
    (buffer, follows), extents = found, known_extents(launch)
    assert extents is not None
    cores = delivered_by(boxes, grid, extents, axes_of(launch, follows))
    layout = launch.layouts[buffer]
    working = [one for share, one in cores if share.count]
    return delivery_costs(program.options.chip, layout.tiles * layout.page_bytes, working).pays


def _matching(order: Order, panel: int, found: Pieces | Matched, options: Options, reasons: tuple[str, ...]) -> Settled:
    """Where pieces are found at the call, all cores may be needed."""
    if isinstance(found, Matched):
        return Settled(Schedule("match", order, panel, matched=found), options.core_grid, reasons)
    grid = max(x for x, _ in found.cores) + 1, max(y for _, y in found.cores) + 1
    return Settled(Schedule("match", order, panel, pieces=found), grid, reasons)


@dataclass(frozen=True)
class _Asked:
    """What kernel and target say together, a line to blame, and what became of weaker hints."""

    request: Request
    place: Location | None
    reasons: tuple[str, ...]
    said: bool  # by more than hints


def _asked(launch: Launch) -> _Asked:
    request, place, said_by = Request(), launch.location, dict[str, str]()  # by the names of words
    for said in (one for one in launch.asked if not one.weak):
        for name in said.request.differences(request):
            raise _disagree(said, name, request, said_by[name])
        by = said.by if said.location is None else f"{said.by} at {said.location}"
        said_by = dict.fromkeys(said.request.names(), by) | said_by
        request, place = request.joined(said.request), said.location or place
    reasons = []
    for hint in (one for one in launch.asked if one.weak):
        free = request.order is None and request.panel is None and request.units is None
        request = request.joined(hint.request) if free else request
        outcome = f"order {hint.request.order} by panels of {hint.request.panel}" if free else f"'{request}' counts"
        reasons.append(f"{hint.by}: {outcome}")
    try:
        checked(request)
    except ScheduleError as error:
        fact = f"the schedule of kernel '{launch.name}': {error}"
        raise TargetError("TT604", fact, location=place, help=error.help) from None
    if len(launch.blocks) < 2 and _order(request)[0] != "row":
        reasons.append(f"order {_order(request)[0]} changes nothing: there is one block index")
    return _Asked(request, place, tuple(reasons), bool(said_by))


def _order(request: Request) -> tuple[Order, int]:
    order: Order = request.order or ("block-linear" if request.panel else "row")
    return order, (request.panel or DEFAULT_PANEL) if order in PANEL_ORDERS else 0


def _on_one_core(request: Request, core: tuple[int, int]) -> Settled:
    text = f"'{request}' is not followed: one core does all units, as they may store to the same elements"
    one = CoreRange(1, 1, core)
    return Settled(Schedule(ranges=() if core == (0, 0) else (one,)), one.end, (text,) if str(request) else ())


def _disagree(said: Said, name: str, other: Request, by: str) -> TargetError:
    mine, theirs = (str(Request(**{name: getattr(one, name)})) for one in (said.request, other))
    return TargetError(
        "TT604",
        f"{said.by} says {mine}; {by} says {theirs}",
        location=said.location,
        help=f"leave '{name}' out in one of them",
    )


def _check_cores(asked: _Asked, options: Options) -> None:
    x, y = options.core_grid
    for one in asked.request.cores or ():
        if not one.is_inside((x, y)):
            fact = f"target option grid={x}x{y}" if options.grid else f"{options.chip.title} has {x}x{y} cores"
            raise TargetError(
                "TT605",
                f"core range {one} of the schedule ends at core ({one.end[0] - 1}, {one.end[1] - 1}), outside the grid",
                location=asked.place,
                notes=(fact,),
                help=f"ranges lie within {x}x{y}+0+0",
            )


def _check_lists(schedule: Schedule, grid: tuple[int, int], written: Launch, launch: Launch, asked: _Asked) -> None:
    _all_indices("a list of units", written, launch, asked)
    extents = [int_value(extent) for _, extent in launch.blocks]
    known = [extent for extent in extents if extent is not None]
    cores = len(schedule.cores(grid))
    if len(schedule.lists) > cores:
        raise TargetError(
            "TT606",
            f"'units' has lists for {len(schedule.lists)} cores; there are {cores}",
            location=asked.place,
            help="leave lists out, or give more cores",
        )
    if len(known) < len(extents):
        return  # the call knows: `runtime.shares`
    columns, rows = (*known, 1)[0], math.prod(known[1:])
    problem = uncovered(schedule, shares(schedule, grid, columns, rows), columns, rows)
    if problem is not None:
        raise TargetError(
            "TT606",
            f"the lists of units do not make up kernel '{launch.name}': {problem}",
            location=asked.place,
            notes=(f"its grid has {columns} x {rows} blocks, numbered row by row from 0 to {columns * rows - 1}",),
            help="list every number once",
        )


def _all_indices(what: str, written: Launch, launch: Launch, asked: _Asked) -> None:
    if len(written.blocks) != len(launch.blocks):
        left = ", ".join(str(var.name) for var, _ in launch.blocks) or "none"
        raise TargetError(
            "TT607",
            f"{what} needs all block indices of kernel '{launch.name}'; blocks that update the same tiles run one "
            f"after the other, so only these are dealt to cores: {left}",
            location=asked.place,
            help="leave the schedule out, or say contiguous, strided or rectangle",
        )
