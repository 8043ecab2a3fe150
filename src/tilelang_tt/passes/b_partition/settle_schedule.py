"""Settle the schedule of a launch from what the user says of it: part of `partition_work`.

    TT.schedule(order="column") in the kernel, {"schedule": {"policy": "strided"}} in the target
        -> every 64th unit for a core, numbered down the columns

The kernel and the target may each say a part. Where both say the same thing differently, they are refused.
T.use_swizzle counts where neither says an order. Where nothing is said, blocks run where sharded tensors lie
(`infer_match`), or in contiguous runs in the order of the grid, over all cores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tilelang_tt.diagnostics import Location, TargetError
from tilelang_tt.ir.scalar import int_value
from tilelang_tt.ir.tile import Launch, TileProgram
from tilelang_tt.options import Options
from tilelang_tt.passes.b_partition.match_tensor import infer_match, match_tensor
from tilelang_tt.schedule import DEFAULT_PANEL, PANEL_ORDERS, CoreRange, Order, Schedule, shares, uncovered
from tilelang_tt.schedule_request import Request, Said, ScheduleError, checked


@dataclass(frozen=True)
class Settled:
    schedule: Schedule
    grid: tuple[int, int]  # cores from (0, 0) to the last one that is used
    reasons: tuple[str, ...] = ()  # what `explain` says of it


def settle_schedule(program: TileProgram, written: Launch, launch: Launch, *, alone: bool) -> Settled:
    """`written`: the launch with all its block indices. `alone`: one core has to do all units in their order."""
    options = program.options
    request, place, reasons = _asked(written, options)
    _check_cores(request, options, place)
    chosen = request.cores or (CoreRange(0, 0, *options.core_grid),)
    core_order = request.core_order or "row"
    if alone:
        first = chosen[0].cores()[0]
        one = CoreRange(*first, 1, 1)
        asked = (f"'{request}' is not followed: one core does all units, which may store to the same elements",)
        whole = one == CoreRange(0, 0, 1, 1)
        return Settled(Schedule(ranges=() if whole else (one,)), one.end, asked if str(request) else ())
    whole_grid = request.cores is None
    grid = options.core_grid if whole_grid else (max(one.end[0] for one in chosen), max(one.end[1] for one in chosen))
    ranges = () if whole_grid or chosen == (CoreRange(0, 0, *grid),) else chosen
    if request.units is not None:
        schedule = Schedule("list", ranges=ranges, core_order=core_order, lists=request.units)
        _check_lists(schedule, grid, written, launch, place)
        return Settled(schedule, grid, reasons)
    inferred = None if str(request) or len(written.blocks) != len(launch.blocks) else infer_match(program, launch)
    if inferred is not None:
        return _matching(Schedule("match", pieces=inferred.pieces), (*reasons, inferred.reason))
    order, panel = _order(request)
    if request.match is not None:
        _all_indices(f"match '{request.match}'", written, launch, place)
        pieces = match_tensor(program, launch, request.match, place)
        return _matching(Schedule("match", order, panel, pieces=pieces), reasons)
    schedule = Schedule(request.policy or "contiguous", order, panel, ranges, core_order)
    if len(launch.blocks) < 2 and order != "row":
        reasons = (*reasons, f"order {order} changes nothing: there is one block index")
    return Settled(schedule, grid, reasons)


def _matching(schedule: Schedule, reasons: tuple[str, ...]) -> Settled:
    cores = schedule.pieces.cores if schedule.pieces is not None else ()
    return Settled(schedule, (max(x for x, _ in cores) + 1, max(y for _, y in cores) + 1), reasons)


def _order(request: Request) -> tuple[Order, int]:
    order: Order = request.order or ("block-linear" if request.panel else "row")
    return order, (request.panel or DEFAULT_PANEL) if order in PANEL_ORDERS else 0


def _asked(launch: Launch, options: Options) -> tuple[Request, Location | None, tuple[str, ...]]:
    """What kernel and target say together, a line to blame, and what became of weaker hints."""
    option = Request()
    for key in (str(launch.location), "*"):
        option = option.joined(dict(options.schedule).get(key, Request()))
    request, place, by = option, launch.location, "the target option 'schedule'"
    for said in (one for one in launch.asked if not one.weak):
        for name in said.request.differences(request):
            raise _disagree(said, name, request, by)
        request, place, by = request.joined(said.request), said.location, said.by
    reasons = []
    for hint in (one for one in launch.asked if one.weak):
        free = request.order is None and request.panel is None and request.units is None
        request = request.joined(hint.request) if free else request
        outcome = f"order {hint.request.order} by panels of {hint.request.panel}" if free else f"'{request}' counts"
        reasons.append(f"{hint.by}: {outcome}")
    try:
        return checked(request), place, tuple(reasons)
    except ScheduleError as error:
        raise TargetError("TT604", f"the schedule of kernel '{launch.name}': {error}", location=place) from None


def _disagree(said: Said, name: str, other: Request, by: str) -> TargetError:
    mine, theirs = (str(Request(**{name: getattr(one, name)})) for one in (said.request, other))
    return TargetError(
        "TT604",
        f"{said.by} says {mine}; {by} says {theirs}",
        location=said.location,
        help=f"leave '{name}' out in one of them",
    )


def _check_cores(request: Request, options: Options, place: Location | None) -> None:
    x, y = options.core_grid
    for one in request.cores or ():
        if one.end[0] > x or one.end[1] > y:
            fact = f"target option grid={x}x{y}" if options.grid else f"{options.chip.title} has {x}x{y} cores"
            raise TargetError(
                "TT605",
                f"core range {one} of the schedule ends at core ({one.end[0] - 1}, {one.end[1] - 1}), outside the grid",
                location=place,
                notes=(fact,),
                help=f"ranges lie within {x}x{y}+0+0",
            )


def _check_lists(
    schedule: Schedule, grid: tuple[int, int], written: Launch, launch: Launch, place: Location | None
) -> None:
    _all_indices("a list of units", written, launch, place)
    extents = [int_value(extent) for _, extent in launch.blocks]
    known = [extent for extent in extents if extent is not None]
    cores = len(schedule.cores(grid))
    if len(schedule.lists) > cores:
        raise TargetError(
            "TT606", f"'units' has lists for {len(schedule.lists)} cores; there are {cores}", location=place
        )
    if len(known) < len(extents):
        return  # the call knows: `runtime.shares`
    columns, rows = (*known, 1)[0], math.prod(known[1:])
    problem = uncovered(schedule, shares(schedule, grid, columns, rows), columns, rows)
    if problem is not None:
        raise TargetError(
            "TT606",
            f"the lists of units do not make up kernel '{launch.name}': {problem}",
            location=place,
            notes=(f"its grid has {columns} x {rows} blocks, numbered row by row from 0 to {columns * rows - 1}",),
            help="list every number once",
        )


def _all_indices(what: str, written: Launch, launch: Launch, place: Location | None) -> None:
    if len(written.blocks) != len(launch.blocks):
        left = ", ".join(str(var.name) for var, _ in launch.blocks) or "none"
        raise TargetError(
            "TT607",
            f"{what} needs all block indices of kernel '{launch.name}'; blocks that update the same tiles run one "
            f"after the other, so only these are dealt to cores: {left}",
            location=place,
            help="leave the schedule out, or say contiguous, strided or rectangle",
        )
