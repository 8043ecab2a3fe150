"""F: what holds of a tile program once the pass that ensures it has run (`pipeline.py`). Checked after every pass."""

from __future__ import annotations

from collections.abc import Callable

from tilelang_tt.formats import STORED
from tilelang_tt.ir import tile
from tilelang_tt.ir.buffers import Buffer, Tensor
from tilelang_tt.ir.elements import Apply, ElementExpr, Index, parts, value_type
from tilelang_tt.ir.fields import children, walk, with_nested
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.tensors_of_code import used_by_code
from tilelang_tt.ir.views import reshaped
from tilelang_tt.ops import ELEMENT_OPS
from tilelang_tt.ops.expressions import instructions, is_free
from tilelang_tt.passes.f_verify.failure import fail
from tilelang_tt.passes.record import Invariant


def _held(launch: tile.Launch) -> frozenset[Buffer]:
    return frozenset().union(*(with_nested("_held_in_dst", stmt, _held_by) for stmt in launch.body))


def _held_by(stmt: tile.Stmt) -> tuple[Buffer, ...]:
    return (stmt.held,) if isinstance(stmt, tile.Section) and stmt.held is not None else ()


def _statements(program: tile.TileProgram) -> list[tuple[tile.Launch, tile.Stmt]]:
    return [(launch, stmt) for launch in program.launches for stmt in walk(launch.body)]


def _of_each(name: str, text: str, check: Callable[[tile.Stmt], None]) -> Invariant[tile.TileProgram]:
    """Something that holds of statements, each by itself. One that was checked is not again: it never changes."""
    mark = f"_{name}"

    def check_body(body: tuple[tile.Stmt, ...]) -> None:
        for stmt in body:
            if mark not in stmt.__dict__:
                check(stmt)
                for nested in children(stmt):
                    check_body(nested)
                stmt.__dict__[mark] = True

    def check_program(program: tile.TileProgram) -> None:
        for launch in program.launches:
            check_body(launch.body)

    return Invariant(name, text, check_program)


def _known_buffers(program: tile.TileProgram) -> None:
    for launch in program.launches:
        known = {*launch.buffers, *launch.views} | _held(launch)
        if all(tile.mentioned(stmt) <= known for stmt in launch.body):
            continue
        for stmt in walk(launch.body):
            for buffer in (*tile.reads(stmt), *tile.writes(stmt)):
                if buffer not in known:
                    raise fail("TT901", f"'{buffer.name}' does not belong to the launch", stmt.location)


def _types(stmt: tile.Stmt) -> None:
    computed: list[tuple[Tensor | Buffer, ElementExpr]] = [(one.dst, one.value) for one in tile.maps_of(stmt)]
    if isinstance(stmt, tile.Each):
        computed = [(stmt.target.source, stmt.value)]
    for target, value in computed:
        if value.dtype != value_type(target.dtype):
            raise fail("TT936", f"'{target.name}' is assigned a {value.dtype}", stmt.location)
        for expr in _operations(value):
            operands = expr.args[1:] if expr.op == "where" else expr.args
            result = "bool" if ELEMENT_OPS[expr.op].truth else operands[-1].dtype
            changed = result != expr.dtype and expr.op not in ("cast", "bitcast")
            if changed or len({operand.dtype for operand in operands}) > 1:
                raise fail("TT936", f"{_signature(expr)} does not agree in its types", stmt.location)


def _legal_types(stmt: tile.Stmt) -> None:
    for expr in (expr for one in tile.maps_of(stmt) for expr in _operations(one.value)):
        # What is done with positions has a form behind `lower_positions`.
        if not isinstance(expr.args[0], Index) and not is_free(expr) and not instructions(expr):
            raise fail("TT937", f"{_signature(expr)} has no instruction", stmt.location)


def _operations(value: ElementExpr) -> list[Apply]:
    return [part for part in parts(value) if isinstance(part, Apply)]


def _signature(expr: Apply) -> str:
    return f"'{expr.op}' of {', '.join(operand.dtype for operand in expr.args)} to {expr.dtype}"


def _no_views(program: tile.TileProgram) -> None:
    views: list[Tensor | Buffer] = [*reshaped(program), *(view for one in program.launches for view in one.views)]
    for view in views:
        raise fail("TT939", f"'{view.name}' is another shape of a tensor or block", view.location)


def _no_elements(stmt: tile.Stmt) -> None:
    if isinstance(stmt, tile.Each):
        raise fail("TT938", "a generic statement was not raised to tiles", stmt.location)


def _layouts(program: tile.TileProgram) -> None:
    by_code = {tensor.param for tensor in used_by_code(program)}
    for tensor in (*program.tensors, *program.views):
        in_tiles = tensor.param not in by_code and tensor.dtype in STORED
        if in_tiles and tensor not in program.layouts:
            raise fail("TT908", f"tensor '{tensor.name}' has no layout")
    for launch in program.launches:
        for buffer in launch.buffers:
            if buffer not in launch.layouts:
                raise fail("TT908", f"'{buffer.name}' has no layout", buffer.location)


def _no_copies(stmt: tile.Stmt) -> None:
    if isinstance(stmt, tile.Copy):
        raise fail("TT902", "a copy was not turned into tile traffic", stmt.location)


def _units(program: tile.TileProgram) -> None:
    for launch in program.launches:
        if launch.work is None:
            raise fail("TT909", f"the blocks of '{launch.name}' have no units of work", launch.location)


def _no_positions(stmt: tile.Stmt) -> None:
    if any(isinstance(part, Index) for one in tile.maps_of(stmt) for part in parts(one.value)):
        raise fail("TT918", "a value still depends on the position of its element", stmt.location)


def _roles(launch: tile.Launch) -> tuple[dict[Buffer, set[Role]], dict[Buffer, set[Role]]]:
    """The kernels that fill each buffer and those that drain it, according to the statements."""
    filling: dict[Buffer, set[Role]] = {buffer: {Role.READER} for buffer in launch.constants}
    draining: dict[Buffer, set[Role]] = {}
    for stmt in walk(launch.body):
        for roles, buffers, role in (
            (filling, tile.writes(stmt), _loader(launch, stmt) if isinstance(stmt, tile.Load) else Role.COMPUTE),
            (draining, tile.unpacks(stmt), Role.WRITER if isinstance(stmt, tile.Store) else Role.COMPUTE),
        ):
            for buffer in buffers:
                roles.setdefault(buffer, set()).add(role)
    return filling, draining


def _loader(launch: tile.Launch, load: tile.Load) -> Role:
    """The reader, unless the writer is said to do it."""
    stream = launch.streams.get(load.dst)
    return Role.WRITER if stream is not None and stream.producer is Role.WRITER else Role.READER


def _one_role(program: tile.TileProgram) -> None:
    for launch in program.launches:
        for roles in _roles(launch):
            for buffer, found in roles.items():
                if len(found) > 1:
                    raise fail("TT919", f"'{buffer.name}' has several producers or consumers")


def _streams(program: tile.TileProgram) -> None:
    for launch in program.launches:
        filling, draining = _roles(launch)
        known = set(launch.streams) | _held(launch)
        for stmt in walk(launch.body):
            for buffer in (*tile.unpacks(stmt), *tile.writes(stmt)):
                if buffer not in known:
                    raise fail("TT903", f"'{buffer.name}' has no circular buffer", stmt.location)
        words = {stmt.word for stmt in walk(launch.body) if isinstance(stmt, tile.Await)}
        for buffer, stream in launch.streams.items():
            if buffer in words:
                if {stream.producer, stream.consumer} != {Role.READER, Role.WRITER}:
                    raise fail("TT904", f"'{buffer.name}' is no word between reader and writer")
                continue
            if stream.is_scratch and buffer not in (*filling, *draining):
                continue
            if filling.get(buffer) != {stream.producer}:
                raise fail("TT904", f"'{buffer.name}' is not filled by {stream.producer.value} alone")
            if draining.get(buffer, {stream.consumer}) != {stream.consumer}:
                raise fail("TT905", f"'{buffer.name}' is not drained by {stream.consumer.value} alone")


def _sub_blocks(program: tile.TileProgram) -> None:
    capacity = program.options.dst_tiles
    for launch, stmt in _statements(program):
        if not isinstance(stmt, tile.Gemm):
            continue
        layout, sub = launch.layouts[stmt.c], stmt.sub_block
        if sub is None or layout.rows % sub.rows or layout.cols % sub.cols or sub.rows * sub.cols > capacity:
            raise fail("TT906", f"sub-block {sub} does not suit '{stmt.c.name}'", stmt.location)
        if stmt.transpose_a:
            raise fail("TT907", "a transposed first operand was left to the matrix engine", stmt.location)


def _schedules(program: tile.TileProgram) -> None:
    capacity = program.options.dst_tiles
    for _, stmt in _statements(program):
        schedule = stmt.schedule if isinstance(stmt, tile.Section) else None
        if schedule is None and tile.maps_of(stmt):
            raise fail("TT934", "an element-wise statement has no schedule", stmt.location)
        if schedule is None:
            continue
        tiles = schedule.program.slots * schedule.group.tiles + schedule.program.common
        if tiles > capacity or schedule.rows % schedule.group.rows or schedule.cols % schedule.group.cols:
            raise fail("TT935", f"groups of {schedule.group.tiles} tiles do not suit DST or the block", stmt.location)


def _published(program: tile.TileProgram) -> None:
    for launch in program.launches:
        published = {stmt.buffer for stmt in walk(launch.body) if isinstance(stmt, tile.Publish)}
        for buffer, stream in launch.streams.items():
            handed = stream.producer is Role.COMPUTE and stream.consumer is Role.WRITER
            if handed != (buffer in published):
                raise fail("TT933", f"'{buffer.name}' is not handed to the writer")


KNOWN_BUFFERS = Invariant(
    "known buffers", "every buffer a statement mentions belongs to the launch, or is held in DST", _known_buffers
)
TYPES = _of_each("types", "operands of an operation agree in type, and a block is assigned values of its type", _types)
LEGAL_TYPES = _of_each("legal types", "the chip has instructions for the types of every operation", _legal_types)
NO_VIEWS = Invariant("no views", "every tensor and block has one shape", _no_views)
NO_ELEMENTS = _of_each("no elements", "every statement is an operation on blocks of tiles", _no_elements)
LAYOUTS = Invariant("layouts", "every tensor and view has a layout in device memory, every buffer has tiles", _layouts)
NO_COPIES = _of_each("no copies", "every T.copy has become a Load, a Store or a Map", _no_copies)
UNITS = Invariant("units", "every launch says how its blocks become units of work", _units)
NO_POSITIONS = _of_each("no positions", "no value depends on the position of an element", _no_positions)
ONE_ROLE = Invariant("one role", "each buffer has one producer and one consumer among the three kernels", _one_role)
STREAMS = Invariant(
    "streams",
    "every buffer in L1 has a circular buffer, whose producer and consumer are those of its statements",
    _streams,
)
SUB_BLOCKS = Invariant(
    "sub-blocks",
    "every product has a sub-block that divides its block and fits DST, and no first operand is transposed",
    _sub_blocks,
)
SCHEDULES = Invariant(
    "schedules",
    "every element-wise statement is part of a section, and the groups of tiles of a section fit DST and its block",
    _schedules,
)
PUBLISHED = Invariant("published", "exactly the blocks that compute makes for the writer are handed over", _published)
