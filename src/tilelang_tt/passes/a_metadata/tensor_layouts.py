"""Choose which two axes of each tensor are tile rows and tile columns, and its storage format: part of `infer_layout`.

    before   A : bfloat16[4, 1024, 512], copied by blocks [1, 128, 64]
    after    A : rows = axis 1, columns = axis 2, 32 x 16 tiles x 4 batches, Float16_b pages of 2048 B

The choice follows the blocks the kernel copies: the axes a block extends over are the tile axes, all
others are batches. All copies of a tensor must agree. A block over one axis only makes tiles whose rows, or columns,
are all equal: the host stores them so. Blocks that do not start at tiles get windows: the host stores every block in
tiles of its own, and an element of several blocks several times.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

from tilelang_tt.arch import TILE
from tilelang_tt.compiled import Decision
from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.formats import BLOCK_FORMATS, INTEGER_FORMATS, INTEGERS, STORED, TILE_BYTES, format_of, storage_note
from tilelang_tt.ir import scalar, scalar_text
from tilelang_tt.ir.buffers import Region, Tensor
from tilelang_tt.ir.facts import Facts
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.layout import TensorLayout, Window
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tensors_of_code import used_by_code
from tilelang_tt.ir.tile import Copy, TileProgram, table_reads
from tilelang_tt.options import Options
from tilelang_tt.passes.a_metadata.block_float_results import why_not_block_floats
from tilelang_tt.passes.a_metadata.orient import Side, Sides

TileAxes = tuple[int | None, int | None]  # rows, columns; None: the tiles repeat there
Ways = dict[Tensor, dict[TileAxes, Location | None]]
Boxes = dict[Tensor, list[Region]]


def tensor_layouts(program: TileProgram, sides: Sides) -> TileProgram:
    ways, boxes, written = _copied(program, sides)
    layouts: dict[Tensor, TensorLayout] = {}
    decisions: list[Decision] = []
    tables = {read.table for launch in program.launches for stmt in walk(launch.body) for read in table_reads(stmt)}
    by_code = {tensor.param for tensor in used_by_code(program)}
    stored = {tensor.param for tensor, writes in used_by_code(program).items() if writes}
    rows_asked = {name for name, hint in program.options.layout if hint.pages == "row"}
    for tensor in (*program.tensors, *program.views):
        if tensor in tables or (tensor not in ways and (tensor.param in by_code or tensor.dtype not in STORED)):
            continue  # not in tiles
        stores = tensor in written or tensor.param in stored
        storage = _storage(tensor, program.params[tensor.param].name, stores, program.options)
        layouts[tensor] = layout = _layout(
            tensor,
            ways.get(tensor, {_default_axes(tensor): None}),
            boxes.get(tensor, []),
            written.get(tensor, []),
            format_of(storage, program.options.float16),
            program.signed,
            rows_asked=program.params[tensor.param].name in rows_asked,
            by_code=tensor.param in by_code,
        )
        narrowed = stores and layout.format in BLOCK_FORMATS
        if narrowed and (not layout.in_tiles or why_not_block_floats(program, tensor, layout)):
            own = format_of(tensor.dtype, program.options.float16)
            layouts[tensor] = layout = replace(layout, format=own, page_bytes=TILE_BYTES[own])
        decisions.append(Decision("infer_layout", tensor.name, _describe(tensor, layout)))
    for table in [view for view in program.views if view in tables]:
        layouts[table] = _table(table)
        decisions.append(Decision("infer_layout", table.name, _describe_table(table, layouts[table])))
    return replace(program, layouts=layouts).with_decisions(*decisions)


def _copied(program: TileProgram, sides: Sides) -> tuple[Ways, Boxes, Boxes]:
    """Of each tensor: how copies lay its tiles and where, the boxes that are copied, and those that are stored."""
    ways: Ways = {}
    boxes: Boxes = {}
    written: Boxes = {}
    for launch in program.launches:
        for stmt in walk(launch.body):
            if not isinstance(stmt, Copy):
                continue
            for region in (stmt.src, stmt.dst):
                if isinstance(region.source, Tensor):
                    found = _tile_axes(region, sides, stmt.location)
                    ways.setdefault(region.source, {}).setdefault(found, stmt.location)
                    boxes.setdefault(region.source, []).append(region)
            if isinstance(stmt.dst.source, Tensor):
                written.setdefault(stmt.dst.source, []).append(stmt.dst)
    return ways, boxes, written


def _describe_table(table: Tensor, layout: TensorLayout) -> str:
    where = "kept in L1 by kernels" if layout.kept else "fetched by kernels page by page"
    return f"{table.dtype} table of {scalar_text.to_python(scalar.product(table.shape))} numbers, {where}"


def _table(table: Tensor) -> TensorLayout:
    """Words in row-major order, 1024 to a page."""
    pages = scalar.ceildiv(scalar.product(table.shape), WORDS)
    one = scalar.const(1)
    return TensorLayout(None, None, pages, one, one, "UInt32", TILE_BYTES["UInt32"], table=True)


def _tile_axes(region: Region, sides: Sides, location: Location | None) -> TileAxes:
    """The axes a block extends over, by side; a block over one axis or none leaves a side free."""
    assert isinstance(region.source, Tensor)
    axes = [axis for axis, extent in enumerate(region.extents) if extent != 1]  # at most two: lifting sees to that
    row = [axis for axis in axes if sides.get((region.source, axis)) is Side.ROW]
    col = [axis for axis in axes if sides.get((region.source, axis)) is Side.COL]
    if len(row) > 1 or len(col) > 1 or len(row) + len(col) != len(axes):
        box = "x".join(str(extent) for extent in region.extents)
        raise UnsupportedError(
            "TT122",
            f"block {box} of '{region.source.name}' lies along axes {tuple(axes)}, and another one across one of these",
            location=location,
            help="copy blocks of a tensor over the same axes everywhere",
        )
    return (row[0] if row else None), (col[0] if col else None)


def _common(tensor: Tensor, ways: dict[TileAxes, Location | None]) -> TileAxes:
    """Axes for a tensor that is walked in several ways: rows of it serve all that agree on what lies along a row.

    A row may be a single number; then blocks over any one axis are built from such rows.
    """
    rows, cols = ([way[side] for way in ways if way[side] is not None] for side in (0, 1))
    if len({col for _, col in ways}) == 1:
        return rows[0], next(iter(ways))[1]
    if all(None in way for way in ways):
        return (rows + cols)[0], None
    (first, _), (other, location) = list(ways.items())[:2]
    raise UnsupportedError(
        "TT123",
        f"'{tensor.name}' is copied by blocks over axes {first} and over axes {other}",
        location=location,
        help="copy blocks of a tensor over the same axes everywhere",
    )


def _default_axes(tensor: Tensor) -> TileAxes:
    rank = len(tensor.shape)
    return (rank - 2 if rank >= 2 else None), (rank - 1 if rank else None)


def _storage(tensor: Tensor, name: str, written: bool, options: Options) -> str:
    """The storage type: an option may narrow inputs, and results by their names; integers keep their own type."""
    choices = dict(options.storage)
    choice = choices.get(name, None if written else choices.get("*"))
    return choice if choice is not None and tensor.dtype not in INTEGERS else tensor.dtype


def _layout(
    tensor: Tensor,
    ways: dict[TileAxes, Location | None],
    boxes: list[Region],
    written: list[Region],
    format: str,
    signed: set[Var],
    *,
    rows_asked: bool,
    by_code: bool,
) -> TensorLayout:
    axes = next(iter(ways)) if len(ways) == 1 else _common(tensor, ways)
    if axes[0] is None and axes[1] is not None and _needs_rows(tensor, axes[1], boxes, written):
        axes = (axes[1], None)  # a vector: each number a row
    others = [extent for axis, extent in enumerate(tensor.shape) if axis not in axes]
    rows = rows_asked and None not in axes  # of a vector there are none
    if rows or len(ways) > 1 or (axes[0] is not None and _needs_rows(tensor, axes[0], boxes, written)):
        words = format if format in INTEGER_FORMATS or (rows and format == _NARROW and not by_code) else "Float32"
        return _by_rows(tensor, axes, boxes, scalar.product(others), words, asked=rows)
    windows = [None if axis is None else _window(tensor, axis, boxes, written, signed) for axis in axes]

    def tiles(axis: int | None, window: Window | None) -> Expr:
        if axis is None:
            return scalar.const(1)
        length = tensor.shape[axis]
        if window is None:
            return scalar.ceildiv(length, TILE)
        return scalar.simplify((scalar.ceildiv(length, window.step) + window.before) * window.tiles)

    row_tiles, col_tiles = (tiles(axis, window) for axis, window in zip(axes, windows, strict=True))
    batch = scalar.product(others)
    return TensorLayout(
        *axes, row_tiles, col_tiles, batch, format, TILE_BYTES[format], row_window=windows[0], col_window=windows[1]
    )


WORDS = TILE * TILE  # of a page of a table
_NARROW = "Float16_b"  # rows of these that are asked for hold 16 bits, as ttnn's do
_MOST_COPIES = 32  # of an element, in windows: beyond that the tensor would swell too much


def _window(
    tensor: Tensor, axis: int, boxes: list[Region], written: list[Region], signed: Collection[Var] = ()
) -> Window | None:
    """None where every block starts at a tile and ends at one, or at the tensor's end."""
    starts = [scalar.granularity(box.mins[axis]) for box in boxes]
    step = math.gcd(*starts)
    extent = max((box.extents[axis] for box in boxes), default=TILE)
    if step % TILE == 0 and all(ends_with_tile(tensor, axis, box) for box in boxes):
        return None
    step = step or extent
    inside = all(scalar.nonnegative(box.mins[axis], signed) for box in boxes)
    window = Window(step, extent, before=0 if inside else (extent - 1) // step)
    overlap = extent > step  # then an element lies in several places, which a store would have to reach
    shorter = any(box.extents[axis] != extent and not ends_with_tile(tensor, axis, box) for box in written)
    if (written and overlap) or shorter or window.tiles * TILE > _MOST_COPIES * step:
        return None  # refused where the block is read or written
    return window


def _needs_rows(tensor: Tensor, axis: int, boxes: list[Region], written: list[Region]) -> bool:
    """Whether blocks start anywhere along an axis, or every row of theirs lies anywhere."""
    if any(box.gather is not None for box in boxes):
        return True
    if any(box.limit is not None and box.limit[0] == axis for box in written):
        return True  # whole tiles would overwrite what lies behind
    aligned = all(scalar.granularity(box.mins[axis]) % TILE == 0 for box in boxes)
    exact = all(ends_with_tile(tensor, axis, box) for box in written)
    return not (aligned and exact) and _window(tensor, axis, boxes, written) is None


def _by_rows(
    tensor: Tensor, axes: TileAxes, boxes: list[Region], batch: Expr, format: str, *, asked: bool
) -> TensorLayout:
    """A page for every row: kernels put tiles together row by row.

    A block that begins inside a row may end behind it: pages have room for that.
    """
    row, col = axes
    assert row is not None
    width = TILE if col is None else scalar.int_value(tensor.shape[col])
    if width is None:
        why = (
            f"pages of '{tensor.name}' are rows"
            if asked
            else f"blocks of '{tensor.name}' start anywhere along axis {row}"
        )
        instead = "leave out pages='row'" if asked else "let blocks start at multiples of 32"
        raise UnsupportedError(
            "TT144",
            f"{why}, and axis {col} is known only at run time",
            help=f"{instead}, or give that axis a constant length",
        )
    room = tiles = -(-width // TILE)
    if col is not None and not all(_fits(box, col, width) for box in boxes):
        room += max(-(-box.extents[col] // TILE) for box in boxes) - 1
    rows, one = scalar.as_expr(tensor.shape[row]), scalar.const(1)
    page_bytes = room * TILE_BYTES[format] // TILE
    return TensorLayout(row, col, rows, one, batch, format, page_bytes, by_rows=True, row_width=tiles)


def _fits(box: Region, axis: int, length: int) -> bool:
    """Whether a box that begins inside an axis surely ends inside it."""
    start, extent = scalar.int_value(box.mins[axis]), box.extents[axis]
    if start is not None:
        return start + extent <= length
    return length % extent == 0 and scalar.granularity(box.mins[axis]) % extent == 0


def ends_with_tile(tensor: Tensor, axis: int, box: Region) -> bool:
    """Whether nothing lies behind a box that starts at a tile, in the last tile of it."""
    return box.extents[axis] % TILE == 0 or _reaches_end(tensor, axis, box)


def _reaches_end(tensor: Tensor, axis: int, box: Region) -> bool:
    facts = Facts(scalar.variables(tensor.shape[axis]))
    return facts.proves(box.mins[axis] + box.extents[axis] >= tensor.shape[axis])


def _describe(tensor: Tensor, layout: TensorLayout) -> str:
    shape = " x ".join(scalar_text.to_python(extent) for extent in tensor.shape)
    tiles = f"{scalar_text.to_python(layout.row_tiles)} x {scalar_text.to_python(layout.col_tiles)} tiles"
    repeated = [side for side, axis in (("rows", layout.row_axis), ("columns", layout.col_axis)) if axis is None]
    tiles += f" of equal {' and '.join(repeated)}" if repeated else ""
    if layout.by_rows:
        page = f"a page of {layout.page_bytes} B, {layout.format}, for every row"
        return f"{tensor.dtype} [{shape}] -> {page}: kernels read them one by one"
    for side, window in (("rows", layout.row_window), ("columns", layout.col_window)):
        tiles += f", {side} by windows of {window.extent} every {window.step}" if window else ""
    batch = "" if scalar.int_value(layout.batch) == 1 else f" in {scalar_text.to_python(layout.batch)} batches"
    storage = f"{layout.format} pages of {layout.page_bytes} B"
    note = storage_note(tensor.dtype, layout.format)
    return "; ".join(filter(None, [f"{tensor.dtype} [{shape}] -> {tiles}{batch}, {storage}", note]))
