"""Whole tile programs to text and back: `tile_text` and `parse_tile`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Fold, Memory, Tensor
from tilelang_tt.ir.grammar import Codec, Form, listed
from tilelang_tt.ir.layout import Constant, Mask, Pool, Work
from tilelang_tt.ir.scalar import Var
from tilelang_tt.ir.scalar_parse import read_expr
from tilelang_tt.ir.text import INDENT, Line, Names, ParseError, Reader, Sight, lines_of, place, size
from tilelang_tt.ir.text_facts import (
    CODECS,
    STREAM,
    TENSOR_LAYOUT,
    buffer_layout_text,
    constant_text,
    read_buffer_layout,
    read_constant,
    read_new,
    typed,
)
from tilelang_tt.ir.text_tile import body_text, read_body
from tilelang_tt.ir.tile import Launch, ScalarParam, TileProgram
from tilelang_tt.layout_hints import Hints, hints_text, parse_hints
from tilelang_tt.options import Options
from tilelang_tt.schedule import Schedule
from tilelang_tt.schedule_text import read_said, read_schedule, said_text, schedule_text


def _assigned(sign: str, name: Callable[[Names, Var], str]) -> Codec:
    """A variable and what it is, or is below: `bx = unit % 8`, `bx < 8`."""
    return Codec(
        lambda pair, names: f"{name(names, pair[0])} {sign} {names.expr(pair[1])}",
        lambda reader: (reader.sight.variable(reader.name(sign)), read_expr(reader)),
    )


_BLOCKS = listed(_assigned("<", Names.bind))
_WORK = Form(Work, "{units:expr} by {unit:unit}: {indices:indices}; {grid:sides} cores")
_OF_WORK = {
    **CODECS,
    "unit": Codec(lambda var, names: names.bind(var), lambda reader: reader.sight.variable(reader.name())),
    "indices": listed(_assigned("=", Names.see)),
}


def _schedule_text(work: Work, names: Names) -> str:
    """`schedule rectangle, order z, cores 4x4+2+1; told first_column, columns, first_row, rows`."""
    told = ", ".join(names.bind(var) for var in work.words)
    return f"{schedule_text(work.schedule)}{f'; told {told}' if told else ''}"


def _read_schedule(reader: Reader) -> dict[str, Any]:
    text, _, told = reader.rest().partition("; told ")
    words = tuple(reader.sight.variable(name) for name in told.split(", ") if name)
    schedule = read_schedule(text)
    if schedule.policy == "list":
        return {"schedule": schedule, "listed": words[0]}
    return {"schedule": schedule, "box": words}


def tile_text(program: TileProgram) -> str:
    """The whole program, ending in a newline."""
    return "\n".join(_TileText(program).lines()) + "\n"


class _TileText:
    def __init__(self, program: TileProgram) -> None:
        self.program = program
        self.names = Names()

    def lines(self) -> Iterator[str]:
        yield f"program {self.program.name}"
        yield f"{INDENT}target {_target(self.program.options)}"
        for var in self.program.sizes:
            yield f"{INDENT}size {self.names.bind(var)}{typed(var)}"
        scalars = [param for param in self.program.params if isinstance(param, ScalarParam)]
        names = {param: self.names.see(param.var) for param in scalars}  # tensors before them may depend on them
        for param in self.program.params:
            if isinstance(param, ScalarParam):
                known = "" if names[param] == param.name else f" as {names[param]}"
                yield f"{INDENT}scalar {param.name}: {param.dtype}{known}"
            else:
                yield f"{INDENT}tensor {self.tensor(param)}"
        for view in self.program.views:
            yield f"{INDENT}view of {self.program.params[view.param].name} {self.tensor(view)}"
        for launch in self.program.launches:
            yield ""
            yield from self.launch(launch)

    def tensor(self, tensor: Tensor) -> str:
        shape = CODECS["exprs"].write(tensor.shape, self.names)
        layout = self.program.layouts.get(tensor)
        facts = f"; {TENSOR_LAYOUT.write(layout, self.names)}" if layout else ""
        own = "; workspace" if tensor.workspace else ""
        own += "".join(f"; axis {fold.axis} folded by {fold.width}" for fold in tensor.folds)
        return f"{self.names.bind(tensor)}: {tensor.dtype}[{shape}]{own}{facts}"

    def launch(self, launch: Launch) -> Iterator[str]:
        yield f"launch {launch.name}{place(launch.location)}"
        yield f"{INDENT}blocks {_BLOCKS.write(launch.blocks, self.names)}"
        yield from (f"{INDENT}asked by {said_text(said)}{place(said.location)}" for said in launch.asked)
        if launch.work:
            if launch.work.schedule != Schedule():
                yield f"{INDENT}schedule {_schedule_text(launch.work, self.names)}"
            yield f"{INDENT}units {_WORK.write(launch.work, self.names, _OF_WORK)}"
            blocks = {var for var, _ in launch.blocks}
            steps = (var for var, _ in launch.work.indices if var not in blocks)
            for var in (launch.work.unit, *launch.work.words, *steps):
                self.names.release(var)
        yield from (f"{INDENT}hint {hint}: {outcome}" for hint, outcome in launch.hints)
        if launch.updated:
            yield f"{INDENT}updates {', '.join(self.program.params[number].name for number in sorted(launch.updated))}"
        for pool in launch.pools:
            yield f"{INDENT}pool {self.block(pool.whole)}"
        buffers = dict.fromkeys((*launch.buffers, *launch.layouts))
        for buffer in buffers:
            yield f"{INDENT}buffer {self.buffer(launch, buffer)}{place(buffer.location)}"
        for view, block in launch.views.items():
            yield f"{INDENT}view of {self.names(block)} {self.block(view)}{place(view.location)}"
        yield f"{INDENT}body"
        yield from body_text(launch.body, self.names, 2)
        places = [one for layout in launch.layouts.values() for one in (layout.first, layout.pitch)]
        firsts = [one for one in places if scalar.is_var(one)]
        pools = [pool.whole for pool in launch.pools]
        things: list[Var | Buffer] = [*(var for var, _ in launch.blocks), *buffers, *launch.views, *firsts, *pools]
        for thing in things:
            self.names.release(thing)

    def block(self, buffer: Buffer) -> str:
        shape = ", ".join(map(str, buffer.shape))
        return f"{self.names.bind(buffer)}: {buffer.memory.value} {buffer.dtype}[{shape}]"

    def buffer(self, launch: Launch, buffer: Buffer) -> str:
        facts = [self.block(buffer)]
        if layout := launch.layouts.get(buffer):
            facts.append(buffer_layout_text(layout, buffer.shape, self.names))
        if buffer in launch.constants:
            facts.append(constant_text(launch.constants[buffer]))
        if stream := launch.streams.get(buffer):
            facts.append(STREAM.write(stream, self.names))
        for pool in launch.pools:
            if buffer in pool.blocks:
                facts.append(f"at tile {pool.blocks[buffer]} of {self.names(pool.whole)}")
        facts += ["in DST"] if buffer not in launch.buffers else []
        return "; ".join(facts)


def _target(options: Options) -> str:
    """The chip, its cores, the fidelity and the width of DST; then options that differ from their defaults."""
    wide = "32-bit DST" if options.fp32_acc else "16-bit DST"
    shown = [options.arch, f"{size(*options.core_grid)} cores", options.math_fidelity, wide]
    shown += ["fast math"] if options.fast_math else []
    shown += [f"{name} {value}" for name, value in _others(options).items()]
    shown += [f"{param} stored as {format}" for param, format in options.storage]
    shown += [f"layout {_layout_word(options.layout)}"] if options.layout else []
    return ", ".join(shown)


_SHOWN = ("arch", "grid", "math_fidelity", "fp32_acc", "fast_math", "schedule", "storage", "layout")


def _others(options: Options) -> dict[str, str]:
    """Options that are printed only where they differ from their defaults."""
    others = {one.name: (getattr(options, one.name), one.default) for one in fields(Options) if one.name not in _SHOWN}
    return {name: str(value) for name, (value, usual) in others.items() if value != usual}


def _layout_word(hints: Hints) -> str:
    """Layouts that the user chose, as one word: commas separate options."""
    return hints_text(hints).replace(",", ";")


# --- reading --------------------------------------------------------------------------------------


def parse_tile(text: str, files: Mapping[str, str] | None = None) -> TileProgram:
    """The program that prints as `text`. `files`: paths of the files that places of the text name."""
    return _Parser(lines_of(text, files or {}), files or {}).program()


class _Parser:
    def __init__(self, lines: tuple[Line, ...], files: Mapping[str, str]) -> None:
        self.head, *self.launches = lines
        self.sight = Sight(files=files)
        self.found = TileProgram("", (), (), (), Options())

    def program(self) -> TileProgram:
        self.found = replace(self.found, name=self.head.text.removeprefix("program "))
        for line in self.head.nested:
            if line.text.startswith("scalar "):
                _read_scalar(Reader(line.text, self.sight))  # tensors before it may depend on it
        for line in self.head.nested:
            self.fact(Reader(line.text, self.sight))
        outside = dict(self.sight.things)
        for line in self.launches:
            self.sight.things = dict(outside)
            launch = self.launch(line)
            self.found = replace(self.found, launches=(*self.found.launches, launch))
        return self.found

    def fact(self, reader: Reader) -> None:
        found = self.found
        if reader.maybe("target "):
            self.found = replace(found, options=_read_target(reader))
        elif reader.maybe("size "):
            self.found = replace(found, sizes=(*found.sizes, read_new(reader)))
        elif reader.peek("scalar "):
            self.found = replace(found, params=(*found.params, _read_scalar(reader)))
        elif reader.maybe("tensor "):
            tensor = self.tensor(reader, len(found.params))
            self.found = replace(self.found, params=(*found.params, tensor))
        elif reader.maybe("view of "):
            owner = reader.name()
            param = next(number for number, one in enumerate(found.params) if one.name == owner)
            view = self.tensor(reader, param)
            self.found = replace(self.found, views=(*found.views, view))
        else:
            raise reader.fail("a fact of the program")

    def tensor(self, reader: Reader, param: int) -> Tensor:
        name, dtype = reader.name(":"), reader.name("[")
        shape = reader.then(CODECS["exprs"].read(reader), "]")
        workspace = reader.maybe("; workspace")
        folds = []
        while reader.maybe("; axis "):
            folds.append(Fold(reader.int("folded by"), reader.int()))
        tensor = Tensor(name.partition(".")[0], param, dtype, shape, workspace, tuple(folds))
        self.sight.things[name] = tensor
        if reader.maybe("; "):
            self.found = replace(self.found, layouts={**self.found.layouts, tensor: TENSOR_LAYOUT.read(reader)})
        return tensor

    def launch(self, line: Line) -> Launch:
        names = frozenset(tensor.name for tensor in self.found.tensors)
        launch = Launch(line.text.removeprefix("launch "), (), (), (), line.location, tensor_names=names)
        dealt: dict[str, Any] = {}
        for inner in line.nested:
            reader = Reader(inner.text, self.sight)
            if reader.maybe("blocks "):
                launch = replace(launch, blocks=_BLOCKS.read(reader))
            elif reader.maybe("asked by "):
                launch = replace(launch, asked=(*launch.asked, read_said(reader.rest(), inner.location)))
            elif reader.maybe("schedule "):
                dealt = _read_schedule(reader)
            elif reader.maybe("units "):
                launch = replace(launch, work=Work(**_WORK.read(reader, _OF_WORK), **dealt))
            elif reader.maybe("hint "):
                hint, _, outcome = reader.rest().partition(": ")
                launch = replace(launch, hints=(*launch.hints, (hint, outcome)))
            elif reader.maybe("updates "):
                listed = reader.rest().split(", ")
                updated = (number for number, param in enumerate(self.found.params) if param.name in listed)
                launch = replace(launch, updated=frozenset(updated))
            elif reader.maybe("pool "):
                launch = replace(launch, pools=(*launch.pools, Pool(_read_block(reader, inner), {})))
            elif reader.maybe("buffer "):
                launch = self.buffer(launch, reader, inner)
            elif reader.maybe("view of "):
                block = self.sight.thing(reader.name(), Buffer)
                launch = replace(launch, views={**launch.views, _read_block(reader, inner): block})
            else:
                reader.take("body")
                launch = replace(launch, body=read_body(inner.nested, self.sight))
        return launch

    def buffer(self, launch: Launch, reader: Reader, line: Line) -> Launch:
        buffer = _read_block(reader, line)
        layouts, streams, constants = dict(launch.layouts), dict(launch.streams), dict(launch.constants)
        held = False
        while reader.maybe("; "):
            if reader.maybe("in DST"):
                held = True
            elif reader.maybe("at tile "):
                tile, whole = reader.int("of"), self.sight.thing(reader.name(), Buffer)
                next(pool for pool in launch.pools if pool.whole is whole).blocks[buffer] = tile
            elif buffer not in layouts:
                layouts[buffer] = read_buffer_layout(reader)
            else:
                found = reader.either(lambda: STREAM.read(reader), lambda: read_constant(reader))
                if isinstance(found, Constant | Mask):
                    constants[buffer] = found
                else:
                    streams[buffer] = found
        if not reader.done:
            raise reader.fail("the end")
        buffers = launch.buffers if held else (*launch.buffers, buffer)
        return replace(launch, buffers=buffers, layouts=layouts, streams=streams, constants=constants)


def _read_scalar(reader: Reader) -> ScalarParam:
    reader.take("scalar ")
    name, dtype = reader.name(":"), reader.name()
    return ScalarParam(name, dtype, reader.sight.variable(reader.name() if reader.maybe("as ") else name, dtype))


def _read_block(reader: Reader, line: Line) -> Buffer:
    name, memory, dtype = reader.name(":"), Memory(reader.name()), reader.name("[")
    shape = reader.shape = reader.then(CODECS["ints"].read(reader), "]")
    buffer = Buffer(name.partition(".")[0], dtype, shape, memory, line.location)
    reader.sight.things[name] = buffer
    return buffer


_FLAGS = {"True": True, "False": False}


def _read_target(reader: Reader) -> Options:
    options = Options(arch=reader.name(","))
    cores = reader.then(CODECS["sides"].read(reader), "cores,")
    fidelity = reader.name(",")
    wide = reader.int("-bit DST") == 32
    fast_math = reader.maybe(", fast math")
    values: dict[str, str | bool] = {}
    storage = []
    while reader.maybe(", "):
        name, rest = reader.match(re.compile(r"[\w*]+"), "an option"), reader.match(re.compile(r"[^,]+"), "a value")
        if rest.strip().startswith("stored as "):
            storage.append((name, rest.strip().removeprefix("stored as ")))
        else:
            values[name] = _FLAGS.get(rest.strip(), rest.strip())
    if not reader.done:
        raise ParseError(f"'{reader.text}' is not a target")
    layout = parse_hints(str(values.pop("layout", "")).replace(";", ","))
    return replace(
        options,
        layout=layout,
        grid=None if cores == options.chip.grid else cores,
        math_fidelity=fidelity,  # type: ignore[arg-type]
        fp32_acc=wide,
        fast_math=fast_math,
        storage=tuple(storage),
        **values,  # type: ignore[arg-type]
    )
