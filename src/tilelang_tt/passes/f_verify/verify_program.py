"""F: what must hold of a tile program after each pass.

- Every buffer a statement mentions belongs to the launch, and every tensor to the program.
- Once `attach_tensor_accessors` has run, no Copy is left.
- Once `lower_shared_to_cb` has run, every buffer that lives in L1 has a stream, and its producers and consumers
  are the ones the statements show.
- Once `lower_tile_intrinsics` has run, every product has a sub-block that divides its block and fits DST, and no
  first operand is transposed.
"""

from __future__ import annotations

from tilelang_tt.diagnostics import InternalError, Location
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.places import Buffer
from tilelang_tt.ir.tile import Copy, Gemm, InDst, Launch, Load, Store, TileProgram, reads, unpacks, walk, writes

_ORDER = (
    "lift",
    "fold_vectors",
    "separate_views",
    "infer_layout",
    "propagate_layout",
    "attach_tensor_accessors",
    "keep_last_bits",
    "align_operands",
    "partition_work",
    "map_grid_to_cores",
    "complete_parts",
    "drop_dead_writes",
    "mask_padding",
    "lower_positions",
    "lower_reductions",
    "factor_numbers",
    "separate_roles",
    "fuse_maps",
    "split_expressions",
    "join_maps",
    "skip_first_rounds",
    "fold_clear",
    "preload",
    "lower_shared_to_cb",
    "lower_tile_intrinsics",
    "keep_in_dst",
    "share_buffers",
    "load_once",
    "keep_first_rows",
    "choose_engine",
    "build_tile_dfg",
)


def verify_program(program: TileProgram, after: str) -> None:
    """Raise InternalError if an invariant of this stage does not hold."""
    stage = _ORDER.index(after)
    for launch in program.launches:
        _mentioned(launch)
        if stage >= _ORDER.index("attach_tensor_accessors"):
            _no_copy(launch)
        if stage >= _ORDER.index("lower_shared_to_cb"):
            _streams(launch)
        if stage >= _ORDER.index("lower_tile_intrinsics"):
            _sub_blocks(launch, program.options.dst_tiles)


def fail(code: str, message: str, location: Location | None = None) -> InternalError:
    return InternalError(code, message, location=location, help="this is a bug of tilelang-tt: please report it")


def _held(launch: Launch) -> set[object]:
    return {stmt.buffer for stmt in walk(launch.body) if isinstance(stmt, InDst)}


def _mentioned(launch: Launch) -> None:
    known = set(launch.buffers) | _held(launch)
    for stmt in walk(launch.body):
        for buffer in (*reads(stmt), *writes(stmt)):
            if buffer not in known:
                raise fail("TT901", f"'{buffer.name}' does not belong to the launch", stmt.location)


def _no_copy(launch: Launch) -> None:
    for stmt in walk(launch.body):
        if isinstance(stmt, Copy):
            raise fail("TT902", "a copy was not turned into tile traffic", stmt.location)


def _streams(launch: Launch) -> None:
    held = _held(launch)
    filling = {buffer: {Role.READER} if buffer in launch.constants else set() for buffer in launch.streams}
    draining: dict[Buffer, set[Role]] = {buffer: set() for buffer in launch.streams}
    for stmt in walk(launch.body):
        for roles, buffers, role in (
            (filling, writes(stmt), Role.READER if isinstance(stmt, Load) else Role.COMPUTE),
            (draining, unpacks(stmt), Role.WRITER if isinstance(stmt, Store) else Role.COMPUTE),
        ):
            for buffer in buffers:
                if buffer in launch.streams:
                    roles[buffer].add(role)
                elif buffer not in held:
                    raise fail("TT903", f"'{buffer.name}' has no circular buffer", stmt.location)
    for buffer, stream in launch.streams.items():
        if filling[buffer] != {stream.producer}:
            raise fail("TT904", f"'{buffer.name}' is not filled by {stream.producer.value} alone")
        if draining[buffer] - {stream.consumer}:
            raise fail("TT905", f"'{buffer.name}' is not drained by {stream.consumer.value} alone")


def _sub_blocks(launch: Launch, capacity: int) -> None:
    for stmt in walk(launch.body):
        if not isinstance(stmt, Gemm):
            continue
        layout, sub = launch.layouts[stmt.c], stmt.sub_block
        if sub is None or layout.rows % sub.rows or layout.cols % sub.cols or sub.rows * sub.cols > capacity:
            raise fail("TT906", f"sub-block {sub} does not suit '{stmt.c.name}'", stmt.location)
        if stmt.transpose_a:
            raise fail("TT907", "a transposed first operand was left to the matrix engine", stmt.location)
