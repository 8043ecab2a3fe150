"""The text of a tile program, for goldens, `explain` and tests: one line per fact, one line per statement.

    launch main  # gemm.py:9
      blocks bx < 8, by < 16
      units 128 by unit: bx = unit % 8, by = unit // 8; 8 x 8 cores
      buffer A_s: shared bfloat16[128, 64]; 4 x 2 tiles Float16_b of 2048 B; reader -> compute, 3 blocks
      body
        Loop k < 16, 3 stages  # gemm.py:16
          Load A tiles (by * 4, k * 2) 4 x 2 -> A_s  # gemm.py:17

Facts a pass has not attached yet are absent. The text is the same in every process: names come from the
program (made different where two things in sight share one: `k.1`), places are base names of files, and no address
is printed. `parse_tile` reads it back. Decisions are not part of it: they explain the program, and `explain` lists them
beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilelang_tt.ir import scalar, tile
from tilelang_tt.ir.buffers import Buffer, Gather, Part, Read, Region, RowPages, TileAccess, is_whole, whole
from tilelang_tt.ir.code import Code
from tilelang_tt.ir.fields import children
from tilelang_tt.ir.grammar import Codec, Form, Grammar
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.scalar_parse import read_expr
from tilelang_tt.ir.section import Start, SubBlock
from tilelang_tt.ir.text import AXES, INDENT, Line, Names, Reader, Sight, place
from tilelang_tt.ir.text_code import code_head, code_text, read_code
from tilelang_tt.ir.text_elements import element_text, read_access, read_element, read_source
from tilelang_tt.ir.text_facts import CODECS
from tilelang_tt.ir.text_schedule import read_schedule, schedule_text

_VALUE = "{value:element}(? where {guard:element}?)"
_GEMM = "(?{start:start} + ?){a:buffer}{transpose_a?^T} @ {b:buffer}{transpose_b?^T}(? from tile ({origin:exprs})?)"
_SUB = "(?, sub-blocks {sub_block:sub_block}?)"
_REDUCE = "{op:word} of {src:buffer} along {axis:axis}{exact?, exact}"

FORMS = (
    Form(tile.Loop, "Loop {var:new} < {extent:expr}(?, {stages:int} stages?)"),
    Form(tile.Branch, "Branch {condition:expr}"),
    Form(Read, "Read {var:see} = {source:source}[{index:expr}]"),
    Form(tile.Set, "Set {var:see} = {value:expr}"),
    Form(tile.Each, f"Each {{axes:axes}}: {{reads:reads}}{{target:place}} = {_VALUE}", {"combine": None}),
    Form(tile.Each, f"Each {{axes:axes}}: {{reads:reads}}{{target:place}} {{combine:word}}= {_VALUE}"),
    Form(tile.Copy, "Copy {src:region} -> {dst:region}"),
    Form(tile.Fill, "Fill {dst:buffer} = {value:number}"),
    Form(tile.Gemm, f"Gemm {{c:buffer}} = {_GEMM}{_SUB}", {"clear": scalar.true()}),
    Form(tile.Gemm, f"Gemm {{c:buffer}} += {_GEMM}{_SUB}", {"clear": scalar.false()}),
    Form(tile.Gemm, f"Gemm {{c:buffer}} += {_GEMM}, overwriting where {{clear:expr}}{_SUB}"),
    Form(tile.Map, "Map {dst:target}{part:part} = {value:element}"),
    Form(tile.Section, "Section(? with {held:buffer} in DST?)"),
    Form(tile.Reduce, f"Reduce {{dst:buffer}} = {_REDUCE}", {"clear": True}),
    Form(tile.Reduce, f"Reduce {{dst:buffer}} {{op:word}}= {_REDUCE}", {"clear": False}),
    Form(tile.Transpose, "Transpose {src:buffer} -> {dst:buffer}{exact?, exact}"),
    Form(tile.Load, "Load {src:access} -> {dst:buffer}"),
    Form(tile.Store, "Store {src:buffer} -> {dst:access}"),
    Form(tile.Await, "Await {word:buffer}"),
    Form(tile.Publish, "Publish {buffer:buffer}"),
)

PARTS = (
    Form(SubBlock, "{rows:int} x {cols:int}"),
    Form(Start, "({element:element}(?, from {location:location}?))", {"where": scalar.true()}),
    Form(Start, "({element:element} where {where:expr}(?, from {location:location}?))"),
    Form(
        TileAccess,
        "{tensor:tensor}(?, {gather:gather};?) tiles ({batch:batch}{row:expr}, {col:expr}) {rows:int} x {cols:int}"
        "{guard_rows?, guarded rows}{guard_cols?, guarded columns}(?, if {guard:expr}?)(?, at most {limit:expr} rows?)"
        "(?, {height:extent} x {width:extent} elements?)(?, {pages:pages}?)",
    ),
    Form(RowPages, "a page for each of {extent:expr} rows of axis {axis:optional_int} every {step:expr}"),
    Form(Region, "{source:source}[{mins:exprs} : {extents:extents}](?, at most {limit:limit}?)(?, {gather:gather}?)"),
    Form(Part, "[{origin:exprs} : {extents:extents}(?, {begins:begins}?)]"),
    Form(Gather, "row {var:see} of axis {axis:int} looked up: {reads:reads}{index:expr}"),
)


# --- codecs of its own ----------------------------------------------------------------------------


def _read_region(reader: Reader) -> object:
    """A box of a tensor or buffer; a whole buffer by its name alone."""
    return reader.either(
        lambda: GRAMMAR.codec(Region).read(reader), lambda: whole(reader.sight.thing(reader.name(), Buffer))
    )


def _read_limit(reader: Reader) -> tuple[int, Expr]:
    most = reader.then(read_expr(reader), "along axis")
    return reader.int(), most


def _begins_text(begins: Expr, names: Names) -> str:
    known = scalar.int_value(begins)
    return f"first if {names.expr(begins)}" if known is None else "first" if known else "more"


def _read_begins(reader: Reader) -> Expr:
    if reader.maybe("first if"):
        return read_expr(reader)
    return scalar.true() if reader.maybe("first") else reader.then(scalar.false(), "more")


def _read_part(reader: Reader) -> Part | None:
    if not reader.peek("["):
        return None
    part: Part = GRAMMAR.codec(Part).read(reader)
    reader.shape = tuple(extent for extent in part.extents if extent != 1)
    return part


def _read_target(reader: Reader) -> Buffer:
    """A block being computed: elements of others are found by its axes."""
    buffer = reader.sight.thing(reader.name(), Buffer)
    reader.shape = buffer.shape
    return buffer


def _axes_text(axes: tuple[tile.Axis, ...], names: Names) -> str:
    return ", ".join(f"{names.bind(axis.var, any_name=True)} < {axis.extent}" for axis in axes) or "once"


def _read_axes(reader: Reader) -> tuple[tile.Axis, ...]:
    """Iteration variables; behind them elements have indices."""
    reader.generic = True
    if reader.maybe("once"):
        return ()
    return tuple(reader.separated(lambda: tile.Axis(reader.sight.variable(reader.name("<")), reader.int())))


def _read_batch(reader: Reader) -> Expr:
    return reader.either(lambda: reader.then(read_expr(reader), ":"), lambda: scalar.const(0))


def _read_reads(reader: Reader) -> tuple[Read, ...]:
    form, found = next(form for form in FORMS if form.cls is Read), []
    while reader.peek("Read "):
        found.append(Read(**form.read(reader, GRAMMAR.codecs)))
        reader.take(",")
    return tuple(found)


_OWN: dict[str, Codec] = {
    **CODECS,
    "region": Codec(
        lambda region, names: names(region.source) if is_whole(region) else GRAMMAR.write(region, names), _read_region
    ),
    "limit": Codec(lambda limit, names: f"{names.expr(limit[1])} along axis {limit[0]}", _read_limit),
    "part": Codec(lambda part, names: "" if part is None else GRAMMAR.write(part, names), _read_part),
    "begins": Codec(_begins_text, _read_begins),
    "target": Codec(lambda buffer, names: names(buffer), _read_target),
    "source": Codec(lambda source, names: names(source), lambda reader: read_source(reader, reader.name())),
    "axes": Codec(_axes_text, _read_axes),
    "place": Codec(element_text, lambda reader: read_access(reader, reader.name())),
    "element": Codec(element_text, read_element),
    "axis": Codec(lambda axis, _: AXES[axis], lambda reader: AXES.index(reader.name())),
    "batch": Codec(lambda batch, names: "" if scalar.int_value(batch) == 0 else f"{names.expr(batch)}: ", _read_batch),
    "reads": Codec(lambda reads, names: "".join(f"{stmt_text(read, names)}, " for read in reads), _read_reads),
}
GRAMMAR: Grammar = Grammar((*FORMS, *PARTS), _OWN)
_STATEMENTS = Grammar(FORMS, _OWN)
_OWN |= {
    name: GRAMMAR.codec(cls)
    for name, cls in (
        ("sub_block", SubBlock),
        ("start", Start),
        ("access", TileAccess),
        ("pages", RowPages),
        ("gather", Gather),
    )
}


def stmt_text(stmt: tile.Stmt, names: Names) -> str:
    """The line of a statement, without what is nested in it. A Loop brings its variable into sight."""
    return code_head(stmt, names) if isinstance(stmt, Code) else GRAMMAR.write(stmt, names)


def body_text(body: tuple[tile.Stmt, ...], names: Names, depth: int) -> Iterator[str]:
    for stmt in body:
        yield f"{INDENT * depth}{stmt_text(stmt, names)}{place(stmt.location)}"
        if isinstance(stmt, Code):
            yield from code_text(stmt, names, depth + 1)
            continue
        for number, nested in enumerate(children(stmt)):
            if number and nested:
                yield f"{INDENT * depth}Else"
            yield from body_text(nested, names, depth + 1)
        if isinstance(stmt, tile.Section):
            yield from body_text(stmt.results, names, depth + 1)
            if stmt.schedule is not None:
                targets = tuple(one.dst for one in stmt.results)
                yield from (f"{INDENT * (depth + 1)}{line}" for line in schedule_text(stmt.schedule, targets, names))
        for var in (stmt.var,) if isinstance(stmt, tile.Loop) else stmt.extents if isinstance(stmt, tile.Each) else ():
            names.release(var)


def read_body(lines: tuple[Line, ...], sight: Sight) -> tuple[tile.Stmt, ...]:
    found: list[tile.Stmt] = []
    for line in lines:
        if line.text == "Else":
            branch = found.pop()
            assert isinstance(branch, tile.Branch)
            found.append(replace(branch, otherwise=read_body(line.nested, sight)))
        else:
            found.append(read_stmt(line, sight))
    return tuple(found)


def read_stmt(line: Line, sight: Sight) -> tile.Stmt:
    """A statement with what is nested in it; without the other arm of a branch, which is the next line."""
    if line.text == "Code" or line.text.startswith("Code "):
        return read_code(line, sight)
    cls, values = _STATEMENTS.read(Reader(line.text, sight))
    inner = tuple(one for one in line.nested if not one.text.startswith("Schedule "))
    nested = read_body(inner, sight)
    if cls is tile.Section:
        count = next((n for n, one in enumerate(nested) if isinstance(one, tile.Map)), len(nested))
        values |= {"sums": nested[:count], "results": nested[count:]}
        schedules = [read_schedule(one, sight) for one in line.nested if one not in inner]
        values["schedule"] = schedules[0] if schedules else None
    elif cls in (tile.Loop, tile.Branch):
        values["body" if cls is tile.Loop else "then"] = nested
    return cls(**values, location=line.location)  # type: ignore[no-any-return]
