"""What the T.Kernels of a function say of their schedules, and what the target says of them.

TT.schedule and the target option may name a T.Kernel by its number. Launches are compiled one by one and set apart
later, so `by_line` gives such words the line of their T.Kernel; `with_asked` finds what belongs to a launch.
T.use_swizzle is a hint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tvm import tirx

from tilelang_tt.compiled import Decision
from tilelang_tt.diagnostics import Location, TargetError
from tilelang_tt.frontend.refuse_gpu_code import location_of
from tilelang_tt.frontend.tir.select_launches import KERNEL, launches_of
from tilelang_tt.frontend.tir.take_annotations import ScheduleNote
from tilelang_tt.ir import scalar
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.options import Options
from tilelang_tt.schedule import Order
from tilelang_tt.schedule_request import OPTION, Request, Said, ScheduleError, request_of

SWIZZLE = "threadblock_swizzle_pattern"
_ORDERS: dict[str, Order] = {
    "rasterization2DRow": "block-linear",
    "rasterization2DColumn": "block-linear-column",
}


def by_line(options: Options, func: tirx.PrimFunc, notes: Sequence[ScheduleNote]) -> Options:
    """Options whose schedules name T.Kernels by their lines; what the kernels say is among them."""
    lines = [_line(launch) for launch in launches_of(func.body)]
    found = []
    for key, said in options.schedule:
        if key != "*" and int(key) >= len(lines):
            raise TargetError(
                "TT604",
                f"{said.by} speaks of T.Kernel {key}; the function has {len(lines)}",
                help="the first one is number 0",
            )
        found.append((key if key == "*" else str(lines[int(key)]), said))
    found += [(str(lines[note.launch]), _note(note)) for note in notes]
    return replace(options, schedule=tuple(found))


def _line(launch: tirx.Stmt) -> Location | None:
    blocks = [node for node in scalar.nodes(launch, tirx.SBlockRealize) if node.block.name_hint == KERNEL]
    return location_of(blocks[0] if blocks else launch)


def _note(note: ScheduleNote) -> Said:
    settings = note.settings | ({} if note.match is None else {"match": note.match})
    try:
        return Said("TT.schedule", request_of(settings), note.location)
    except ScheduleError as error:
        raise TargetError("TT604", f"TT.schedule: {error}", location=note.location, help=error.help) from None


def with_asked(program: TileProgram, func: tirx.PrimFunc, options: Options) -> TileProgram:
    """The program whose launches say what is asked of their schedules; its options say no more of it."""
    launches, ignored = [], []
    for launch, stmt in zip(program.launches, launches_of(func.body), strict=True):
        asked = Request()  # by the target: for this launch, then for all
        for key in (str(launch.location), "*"):
            for number, said in options.schedule:
                asked = asked.joined(said.request) if said.by == OPTION and number == key else asked
        own = [said for key, said in options.schedule if said.by != OPTION and key == str(launch.location)]
        hints = [node for node in scalar.nodes(stmt, tirx.AttrStmt) if str(node.attr_key) == SWIZZLE]
        orders = [(_swizzle(hint), location_of(hint)) for hint in hints]
        of_target = (Said(OPTION, asked),) if str(asked) else ()
        launches.append(replace(launch, asked=(*of_target, *own, *(said for said, _ in orders if said is not None))))
        ignored += [Decision("lift", SWIZZLE, _NO_ORDER, place) for said, place in orders if said is None]
    program = replace(program, launches=tuple(launches), options=replace(program.options, schedule=()))
    return program.with_decisions(*ignored)


_NO_ORDER = "T.use_swizzle ignored: this pattern is no order of blocks here"


def _swizzle(hint: tirx.AttrStmt) -> Said | None:
    """T.use_swizzle as an order; its third pattern (mlx) has none here."""
    name, panel = hint.value.args[0], scalar.int_value(hint.value.args[1])
    order = _ORDERS.get(str(name.value))
    if order is None or panel is None or panel < 1:
        return None
    return Said("T.use_swizzle", Request(order=order, panel=panel), location_of(hint), weak=True)
