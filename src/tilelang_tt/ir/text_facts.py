"""Facts that passes attach to tensors and buffers (layouts, streams, constant tiles), to text and back."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TypeVar

from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Tensor
from tilelang_tt.ir.cb import InShard
from tilelang_tt.ir.grammar import Codec, Form, Grammar, listed
from tilelang_tt.ir.layout import (
    BufferLayout,
    Constant,
    DeviceMemory,
    Engine,
    HalfTiles,
    Mask,
    MaskTile,
    Owners,
    Placement,
    Role,
    Stream,
    TensorLayout,
    TileOrder,
    Window,
)
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.scalar_parse import read_expr
from tilelang_tt.ir.text import Names, Reader, number_text, place, size

Word = TypeVar("Word", bound=Enum)


def words(kinds: dict[Word, str]) -> Codec:
    """An enumeration by a word for each member."""

    def read(reader: Reader) -> Word:
        for kind in sorted(kinds, key=lambda kind: -len(kinds[kind])):
            if reader.maybe(kinds[kind]):
                return kind
        raise reader.fail(f"one of {', '.join(kinds.values())}")

    return Codec(lambda kind, _: kinds[kind], read)


def _optional_int(reader: Reader) -> int | None:
    return None if reader.maybe("None") else reader.int()


def typed(var: Var) -> str:
    """The type of a variable behind its name, but for an int32."""
    return "" if str(var.dtype) == "int32" else f": {var.dtype}"


def read_new(reader: Reader) -> Var:
    name = reader.name()
    return reader.sight.variable(name, reader.name() if reader.maybe(":") else "int32")


def _read_depth(reader: Reader) -> int:
    depth = reader.int()
    if not reader.maybe("blocks"):
        reader.take("block")
    return depth


def _read_core(reader: Reader) -> tuple[int, int]:
    reader.take("(")
    return reader.int(","), reader.int(")")


CODECS: dict[str, Codec] = {
    "int": Codec(lambda value, _: str(value), Reader.int),
    "optional_int": Codec(lambda value, _: str(value), _optional_int),
    "extent": Codec(lambda value, _: str(value or "all"), lambda reader: 0 if reader.maybe("all") else reader.int()),
    "number": Codec(lambda value, _: number_text(value), Reader.number),
    "location": Codec(lambda location, _: place(location).removeprefix("  # "), Reader.location),
    "word": Codec(lambda value, _: value, Reader.name),
    "expr": Codec(lambda value, names: names.expr(value), read_expr),
    "new": Codec(lambda var, names: f"{names.bind(var)}{typed(var)}", read_new),
    "see": Codec(lambda var, names: f"{names.see(var)}{typed(var)}", read_new),
    "var": Codec(lambda var, names: names(var), read_expr),
    "buffer": Codec(lambda buffer, names: names(buffer), lambda reader: reader.sight.thing(reader.name(), Buffer)),
    "tensor": Codec(lambda tensor, names: names(tensor), lambda reader: reader.sight.thing(reader.name(), Tensor)),
    "role": words({role: role.value for role in Role}),
    "blocks": Codec(lambda depth, _: f"{depth} block{'s' if depth > 1 else ''}", _read_depth),
    "memory": words({memory: memory.value for memory in DeviceMemory}),
    "core": Codec(lambda core, _: f"({core[0]}, {core[1]})", _read_core),
    "sides": Codec(lambda sides, _: size(*sides), lambda reader: (reader.int("x"), reader.int())),
}
CODECS |= {
    "ints": listed(CODECS["int"]),
    "extents": listed(CODECS["int"], " x "),
    "exprs": listed(CODECS["expr"]),
    "cores": listed(CODECS["core"], " "),
}


def _indices_text(indices: tuple[Var, ...], names: Names) -> str:
    return " and ".join(map(names, indices)) or "nothing"


def _read_indices(reader: Reader) -> tuple[Var, ...]:
    if reader.maybe("nothing"):
        return ()
    return tuple(reader.separated(lambda: reader.sight.variable(reader.name()), "and"))


def _times(batch: Expr, names: Names) -> str:
    return "" if scalar.int_value(batch) == 1 else f"{names.expr(batch)} x "


def _read_times(reader: Reader) -> Expr:
    if reader.peek("["):
        return scalar.const(1)
    return reader.then(read_expr(reader), "x")


_FORMS = Grammar(
    (
        Form(Window, "windows of {extent:int} every {step:int}(? after {before:int} more?)"),
        Form(
            TensorLayout,
            "rows axis {row_axis:optional_int}, columns axis {col_axis:optional_int}, {batch:times}[{row_tiles:expr}, "
            "{col_tiles:expr}] tiles {format:word} of {page_bytes:int} B{table?, a table}{flat?, flat}"
            "{by_rows?, a page per row}(? of {row_width:int} tiles?)"
            "(?, rows by {row_window:window}?)(?, columns by {col_window:window}?)(?, in {placement:placement}?)"
            "(?, in {halves:halves}?)",
        ),
        Form(HalfTiles, "halves of {height:int} x {width:int}, {count:expr} of them"),
        Form(Placement, "{memory:memory}(? by shards of [{shard:exprs}] of [{pages:exprs}] pages on {cores:cores}?)"),
        Form(
            Stream,
            "{producer:role} -> {consumer:role}, {depth:blocks}{unpack_to_dest?, unpacked to DST}"
            "{second_view?, in two views}{once?, once}(?, in the shard of {shard:tensor}?)"
            "(?, where sizes allow it in the shard of {shard_at_call:tensor}?)"
            "{in_order_at_call?, handed over in order}{found_at_call?, found by compute}"
            "(?, one for all cores that agree on {follows:block_indices}?)(?, sent from shards: {owners:owners}?)",
        ),
        Form(InShard, "found by compute: {block:new} or {shard:new} pages(?, rows {pitch:new} apart?)"),
        Form(Owners, "{count:int} in turn{by_columns? by columns} of those on {cores:cores}"),
    ),
    CODECS,
)
CODECS["block_indices"] = Codec(_indices_text, _read_indices)
CODECS["times"] = Codec(_times, _read_times)
CODECS["window"] = _FORMS.codec(Window)
CODECS["placement"] = _FORMS.codec(Placement)
CODECS["halves"] = _FORMS.codec(HalfTiles)
CODECS["owners"] = _FORMS.codec(Owners)
CODECS["in_shard"] = _FORMS.codec(InShard)
TENSOR_LAYOUT, STREAM = _FORMS.codec(TensorLayout), _FORMS.codec(Stream)


# --- blocks as tiles ------------------------------------------------------------------------------

_LANES = {(True, False): " of equal rows", (False, True): " of equal columns", (True, True): " of one value"}


def _usual_axes(lanes: tuple[bool, bool], rank: int) -> tuple[int | None, int | None]:
    """The row and column axes that need not be printed: the last ones, leaving out sides along which tiles repeat."""
    col = None if lanes[1] else rank - 1
    return (None if lanes[0] else rank - 1 if lanes[1] else rank - 2), col


def buffer_layout_text(layout: BufferLayout, shape: tuple[int, ...], names: Names) -> str:
    order = " by columns" if layout.order is TileOrder.COLUMNS else ""
    lanes = (layout.row_axis is None, layout.col_axis is None)
    text = (
        f"{size(layout.rows, layout.cols)} tiles{order}{_LANES.get(lanes, '')} {layout.format} of {layout.page_bytes} B"
    )
    if (layout.row_axis, layout.col_axis) != _usual_axes(lanes, len(shape)):
        text += f", rows axis {layout.row_axis}, columns axis {layout.col_axis}"
    if layout.outer != shape[:-2]:
        text += f", {CODECS['extents'].write(layout.outer, names) or 'no'} matrices"
    text += ", stored once" if layout.constant else ""
    text += f", first row only, spread by the {layout.first_row.value}" if layout.first_row else ""
    text += f", from {names.bind(layout.first)}" if layout.first is not None else ""
    if scalar.is_var(layout.pitch):
        text += f", rows {names.bind(layout.pitch)} apart"
    elif layout.pitch:
        text += f", rows {layout.pitch} apart"
    return text + (", exact" if layout.exact else "")


def read_buffer_layout(reader: Reader) -> BufferLayout:
    rows, cols = reader.int("x"), reader.int("tiles")
    order = TileOrder.COLUMNS if reader.maybe("by columns") else TileOrder.ROWS
    lanes = next((lanes for lanes, text in _LANES.items() if reader.maybe(text.strip())), (False, False))
    format, page_bytes = reader.name("of"), reader.int("B")
    row, col = _usual_axes(lanes, len(reader.shape))
    if reader.maybe(", rows axis"):
        row, col = reader.then(_optional_int(reader), ", columns axis"), _optional_int(reader)
    outer = reader.either(lambda: _read_outer(reader), lambda: reader.shape[:-2])
    constant = reader.maybe(", stored once")
    engine = words({engine: engine.value for engine in Engine})
    first_row = engine.read(reader) if reader.maybe(", first row only, spread by the") else None
    first = reader.sight.variable(reader.name()) if reader.maybe(", from ") else None
    pitch: int | Var = 0
    if reader.maybe(", rows "):
        ways: tuple[Callable[[], int | Var], ...] = (reader.int, lambda: reader.sight.variable(reader.name()))
        pitch = reader.then(reader.either(*ways), "apart")
    exact = reader.maybe(", exact")
    return BufferLayout(
        rows, cols, format, page_bytes, order, row, col, outer, constant, first_row, first, pitch, exact
    )


def _read_outer(reader: Reader) -> tuple[int, ...]:
    reader.take(",")
    outer: tuple[int, ...] = () if reader.maybe("no") else CODECS["extents"].read(reader)
    return reader.then(outer, "matrices")


# --- constant tiles -------------------------------------------------------------------------------


def constant_text(constant: Constant | Mask | MaskTile) -> str:
    """Constant tiles by the value of their element (i, j)."""
    if isinstance(constant, Mask):
        return f"mask {' | '.join(map(constant_text, constant.tiles))}"
    if isinstance(constant, MaskTile) and constant == constant.simplest and constant.uniform is not None:
        return f"all {number_text(constant.uniform)}"
    if isinstance(constant, MaskTile):
        place = _place_text(constant.row, constant.col, constant.offset)
        return f"{number_text(constant.yes)} where {place} >= 0 else {number_text(constant.no)}"
    return _place_text(constant.row, constant.col, constant.base)


def _place_text(row: int, col: int, base: int) -> str:
    terms = [axis if factor == 1 else f"{factor} * {axis}" for factor, axis in ((row, "i"), (col, "j")) if factor]
    return " + ".join([*terms, str(base)] if base or not terms else terms)


def read_constant(reader: Reader) -> Constant | Mask | MaskTile:
    if reader.maybe("mask "):
        return Mask(tuple(reader.separated(lambda: _read_mask_tile(reader), "|")))
    ways: tuple[Callable[[], Constant | MaskTile], ...] = (
        lambda: _read_mask_tile(reader),
        lambda: Constant(*_read_place(reader)),
    )
    return reader.either(*ways)


def _read_mask_tile(reader: Reader) -> MaskTile:
    if reader.maybe("all "):
        value = reader.number()
        return MaskTile(0, 0, 0, value, value)
    yes = reader.then(reader.number(), "where")
    place = reader.then(_read_place(reader), ">= 0 else")
    return MaskTile(*place, yes, reader.number())


def _read_place(reader: Reader) -> tuple[int, int, int]:
    """Base, and factors of rows and columns."""
    found = {"": 0, "i": 0, "j": 0}
    for factor, axis in reader.separated(lambda: _read_term(reader), "+"):
        found[axis] = factor
    return found[""], found["i"], found["j"]


def _read_term(reader: Reader) -> tuple[int, str]:
    for axis in ("i", "j"):
        if reader.maybe(axis):
            return 1, axis
    factor = reader.int()
    return factor, reader.name() if reader.maybe("*") else ""
