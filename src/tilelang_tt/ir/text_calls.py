"""One line for every statement of the three kernels, from which it is printed and read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import get_args

from tilelang_tt.ir import engine, movement, scalar
from tilelang_tt.ir.cb import Cb, CbCall, CbKind
from tilelang_tt.ir.extents import Extent
from tilelang_tt.ir.grammar import Codec, Form, Grammar, listed
from tilelang_tt.ir.kernel import Assign, For, Hand, Held, If, Let, Receive
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.scalar_parse import read_expr, read_extent
from tilelang_tt.ir.text import Names, Reader
from tilelang_tt.ir.text_facts import CODECS, constant_text, read_constant, words
from tilelang_tt.ir.text_schedule import BLOCK_INSTRUCTION, INSTRUCTION, NUMBER, OPERAND, instructions

_SHAPE = "{rows:count} x {cols:count} tiles, A stride {a_stride:count}"
_TILES = "{a:cb}[{a_index:expr}], {b:cb}[{b_index:expr}]"
_BASE = "{cb:cb}[{slot:expr}] at {base:var}"
_PAGE = "{tensor:tensor} page {page:expr}"
_BARRIERS = ("read barrier", "writes flushed", "write barrier", "signal barrier")

FORMS = (
    Form(For, "for {var:new} in {start:expr} .. {stop:expr}", {"step": 1}),
    Form(For, "for {var:new} in {start:expr} .. {stop:expr} by {step:count}"),
    Form(If, "if {condition:expr}"),
    Form(movement.Pointer, "let {var:new} = write address of {cb:cb}", {"write": True}),
    Form(movement.Pointer, "let {var:new} = read address of {cb:cb}", {"write": False}),
    Form(
        movement.ReadTable,
        "let {var:new} = {table:tensor}[{index:expr}](? in {cb:cb}?)(? at {base:var}?)(?, which has page {page:var}?)",
    ),
    Form(Let, "let {var:new} = {value:expr}"),
    Form(Assign, "set {var:see} = {value:expr}"),
    Form(Receive, "receive {buffer:buffer}"),
    Form(Hand, "hand {buffer:buffer}"),
    Form(Held, "held"),
    Form(engine.DstCall, "{kind:dst_call}"),
    Form(movement.Barrier, "{kind:barrier}"),
    Form(CbCall, "{kind:cb_call} {cb:cb} {pages:count}(?, at the call {count:var}?)"),
    Form(movement.MakeTile, f"make {{constant:constant}} -> {_BASE}"),
    Form(movement.ReadRow, f"read {_PAGE} from tile {{col:expr}} -> {{room:room_row}}"),
    Form(movement.BlankRow, "zero {room:room_row}"),
    Form(movement.PlaceRow, "place {room:room_row} -> {place:row}"),
    Form(movement.ZeroRow, "zero {place:row}"),
    Form(movement.WriteRow, f"write {{place:row}} -> {_PAGE} from tile {{col:expr}}"),
    Form(movement.ReadTile, f"read {_PAGE} -> {_BASE}(?, {{half:half}}?)", {"first_row": False}),
    Form(movement.ReadTile, f"read first row of {_PAGE} -> {_BASE}", {"first_row": True}),
    Form(movement.ZeroTile, f"zero {_BASE}(?, {{half:half}}?)"),
    Form(movement.WriteTile, f"write {_BASE} -> {_PAGE}", {"half": None}),
    Form(movement.WriteTile, f"write {_BASE}, {{half:half}} -> {_PAGE}"),
    Form(movement.Ask, "ask for {cb:cb}(? from owner {turn:expr}?)"),
    Form(movement.Send, "send {cb:cb} at {base:var}(? as owner {turn:expr}?)(? from {shard:shard_part}?)"),
    Form(movement.Take, "take {cb:cb}(? from owner {turn:expr}?)"),
    Form(engine.MatmulBlock, f"matmul {_TILES}{{transpose?^T}} -> DST[{{dst:int}}], {_SHAPE}"),
    Form(
        engine.ReduceTile,
        "maxima of each {along_columns:along} of {cb:cb}[{index:expr}] by {scaler:cb} -> DST[{dst:expr}] for {out:cb}",
    ),
    Form(engine.BinaryTiles, f"{{instruction:block_instruction}} {_TILES} -> DST[{{dst:expr}}]"),
    Form(engine.CopyTile, "copy {cb:cb}[{index:expr}] -> DST[{dst:expr}]"),
    Form(engine.TransposeDst, "transpose DST[{dst:expr}]"),
    Form(engine.TransposeTile, "transpose {cb:cb}[{index:expr}] -> DST[{dst:expr}]"),
    Form(engine.FillTile, "fill DST[{dst:expr}] = {value:tile_number}"),
    Form(engine.Sfpu, "sfpu {instruction:instruction} {operands:slots}{number:operand} -> DST[{out:expr}]"),
    Form(engine.PackTile, "pack DST[{dst:expr}] -> {cb:cb}[{index:expr}]", {"overwrite": scalar.true()}),
    Form(engine.PackTile, "pack DST[{dst:expr}] -> {cb:cb}[{index:expr}], adding", {"overwrite": scalar.false()}),
    Form(engine.PackTile, "pack DST[{dst:expr}] -> {cb:cb}[{index:expr}], adding unless {overwrite:expr}"),
    Form(engine.DstUse, "math"),
    Form(engine.EndBlock, "end of block"),
    Form(engine.Startup, "startup {a:cb}, {b:cb} -> {out:cb}{reverse?, reversed}"),
    Form(engine.Init, "init {mode:mode}"),
    Form(engine.Uninit, "undo maxima of {cb:cb}"),
    Form(engine.Reconfig, "reconfig {unit:unit} {new:cb}", {"old": None}),
    Form(engine.Reconfig, "reconfig {unit:unit} {old:cb} -> {new:cb}"),
    Form(engine.L1Accumulate, "accumulate in L1 where {on:expr}"),
)

PARTS = (
    Form(movement.Half, "half {number:expr}{sideways?, sideways}"),
    Form(
        movement.ShardPart,
        "{rows:int} x {cols:int} of the shard of {tensor:tensor} from tile {place:expr} on, {pitch:int} in a row",
    ),
    Form(
        movement.RoomRow,
        "row {row:expr} of room {cb:cb} at {base:var}, {tiles:count} tiles of {block:cb}",
    ),
    Form(
        movement.RowPlace,
        "{cb:cb} row {row:expr} at {base:var}, {tiles:count} tiles, steps {row_step:count} and {col_step:count}",
    ),
    Form(engine.MatmulMode, f"matmul {{a:cb}}, {{b:cb}}{{transpose?^T}}, {_SHAPE}"),
    Form(engine.ReduceMode, "maxima of each {along_columns:along} of {cb:cb} by {scaler:cb} -> {out:cb}"),
    Form(engine.TransposeDstMode, "transpose in DST"),
    Form(engine.CopyMode, "copy {cb:cb}"),
    Form(engine.TransposeMode, "transpose {cb:cb}"),
    Form(engine.BinaryMode, "{instruction:block_instruction} {a:cb}, {b:cb}"),
)


def _read_init(reader: Reader) -> engine.SfpuMode:
    init, _, number = reader.rest().partition(" of ")
    modes = (engine.FILL_MODE, *(engine.SfpuMode(row.init, row.header) for row in instructions().values()))
    found = next((mode for mode in modes if mode.init == init), None)
    if found is None:
        raise reader.fail("an init")
    return replace(found, number=float(number)) if number else found


def _count_text(value: int | Var, names: Names) -> str:
    if scalar.is_var(value):
        return names.expr(value)
    return names.extent(value) if isinstance(value, Extent) else str(value)


def _read_count(reader: Reader) -> int | Var:
    reader.peek("")  # past blanks
    extent = read_extent(reader)
    if extent is not None:
        return extent
    ways: tuple[Callable[[], int | Var], ...] = (reader.int, lambda: reader.sight.variable(reader.name()))
    found: int | Var = reader.either(*ways)
    return found


def _read_dst(reader: Reader) -> Expr:
    reader.take("DST[")
    return reader.then(read_expr(reader), "]")


def _mode_text(mode: engine.Mode | engine.SfpuMode, names: Names) -> str:
    if not isinstance(mode, engine.SfpuMode):
        return GRAMMAR.write(mode, names)
    return f"sfpu {mode.init}" if mode.number is None else f"sfpu {mode.init} of {mode.number!r}"


def _read_mode(reader: Reader) -> object:
    if reader.maybe("sfpu "):
        return _read_init(reader)
    return reader.either(*(lambda cls=cls: GRAMMAR.codec(cls).read(reader) for cls in get_args(engine.Mode)))


KERNEL_CODECS: dict[str, Codec] = {
    **CODECS,
    "cb": Codec(lambda cb, names: names(cb), lambda reader: reader.sight.thing(f"cb {reader.name()}", Cb)),
    "count": Codec(_count_text, _read_count),
    "cb_call": words(dict(zip(CbKind, ("reserve", "push", "wait", "pop"), strict=True))),
    "barrier": words(dict(zip(movement.BarrierKind, _BARRIERS, strict=True))),
    "dst_call": words(dict(zip(engine.DstKind, ("acquire", "commit", "wait DST", "release"), strict=True))),
    "unit": words({engine.Unit.SRC_A: "srca", engine.Unit.SRC_B: "srcb", engine.Unit.PACK: "pack"}),
    "along": Codec(lambda columns, _: "row" if columns else "column", lambda reader: reader.name() == "row"),
    "constant": Codec(lambda constant, _: constant_text(constant), read_constant),
    "instruction": INSTRUCTION,
    "block_instruction": BLOCK_INSTRUCTION,
    "tile_number": NUMBER,
    "slots": listed(
        Codec(lambda slot, names: f"DST[{names.expr(slot)}]", _read_dst),
    ),
    "operand": OPERAND,
    "mode": Codec(_mode_text, _read_mode),
}
GRAMMAR: Grammar = Grammar((*FORMS, *PARTS), KERNEL_CODECS)
CALLS = Grammar(FORMS, KERNEL_CODECS)
KERNEL_CODECS["half"] = GRAMMAR.codec(movement.Half)
KERNEL_CODECS["room_row"] = GRAMMAR.codec(movement.RoomRow)
KERNEL_CODECS["row"] = GRAMMAR.codec(movement.RowPlace)
KERNEL_CODECS["shard_part"] = GRAMMAR.codec(movement.ShardPart)
