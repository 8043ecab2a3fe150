"""Print scalar code: the body of a data-movement kernel that works on single elements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import PurePath

from tilelang_tt.codegen.code_support import needed
from tilelang_tt.codegen.code_tensors import TensorPrinter
from tilelang_tt.codegen.code_values import ValuePrinter, flat_index, is_packed, value_type, word_type
from tilelang_tt.codegen.cpp import Printer, in_comment
from tilelang_tt.formats import is_float
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Tensor
from tilelang_tt.ir.code import (
    Check,
    Code,
    CodeStmt,
    Constant,
    For,
    If,
    Jump,
    Let,
    Name,
    Op,
    Place,
    Put,
    Show,
    Update,
    Value,
    While,
    places,
)
from tilelang_tt.ir.code_room import LINE_ROOM, aligned, bytes_of, is_variable
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.layout import TensorLayout


class CodePrinter:
    def __init__(
        self, printer: Printer, code: Code, tensors: Mapping[Tensor, TensorLayout], *, among_tiles: bool = False
    ) -> None:
        self.printer, self.code, self.among_tiles = printer, code, among_tiles
        self.names: dict[Buffer, str] = {}
        self.prints = False  # whether it has T.print
        self.checks: list[object] = [stmt for stmt in walk(code.body) if isinstance(stmt, Check)]
        self.returns = bool(self.checks) and _returns(code.body)  # then `return` does not leave the kernel
        self.values = ValuePrinter(printer.name, self.load)
        self.tensors = TensorPrinter(printer, self.values, tensors, self.index)

    # --- declarations -----------------------------------------------------------------------------

    def memory(self, base: str, accessors: Mapping[Tensor, tuple[str, str]]) -> None:
        """Lines of tensors, then blocks, in L1 from `base` on. `accessors`: what knows where the pages of each are."""
        for number, (tensor, names) in enumerate(accessors.items()):
            self.tensors.declare(tensor, *names, f"{base} + {number * LINE_ROOM}" if number else base)
        sources = (place.source for stmt in walk(self.code.body) for place in places(stmt))
        for source in dict.fromkeys(source for source in sources if isinstance(source, Tensor)):
            self.tensors.count(source)
        self.blocks(base, len(accessors))
        self.variables()

    def blocks(self, base: str, tensors: int) -> None:
        """Names for the blocks: pointers into L1 from `base` on."""
        place, views = tensors * LINE_ROOM, dict(self.code.views)
        places: dict[Buffer, int] = {}
        for block in self.code.blocks:
            if is_variable(self.code, block):
                continue
            places[block] = place
            place += aligned(bytes_of(block))
        for block in (*places, *views):
            name, word = self.printer.identifier(block.name), word_type(block.dtype)
            self.names[block] = name
            shape = " x ".join(map(str, block.shape))
            at = f"{base} + {places[views.get(block, block)]}"
            pointer = f"const auto {name} = reinterpret_cast<tt_l1_ptr {word}*>({at});"
            self.printer.line(f"{pointer}  // {shape} {block.dtype}")

    def variables(self) -> None:
        for block in self.code.blocks:
            if is_variable(self.code, block):
                self.names[block] = self.printer.identifier(block.name)
                self.printer.line(f"{value_type(block.dtype)} {self.names[block]} = 0;")
        if self.returns:
            self.printer.line("bool stopped = false;")

    # --- elements ---------------------------------------------------------------------------------

    def index(self, value: Value, outer: int = 0) -> str:
        return self.values.text(value, outer, index=True)

    def number(self, place: Place) -> str:
        return flat_index(place, self.index, list(map(str, place.source.shape)))

    def load(self, place: Place) -> str:
        source = place.source
        if isinstance(source, Tensor):
            return self.tensors.load(place)
        if is_variable(self.code, source):
            return self.names[source]
        name, number = self.names[source], self.number(place)
        word = (
            self.values.packed("packed_at", source.dtype, name, number)
            if is_packed(source.dtype)
            else f"{name}[{number}]"
        )
        return self.values.from_word(word, source.dtype)

    def store(self, place: Place, value: Value) -> None:
        source, line = place.source, self.printer.line
        if isinstance(source, Tensor):
            self.tensors.store(place, value)
        elif is_variable(self.code, source):
            line(f"{self.names[source]} = {self.values.text(value)};")
        elif is_packed(source.dtype):
            put = self.values.packed(
                "put_packed", source.dtype, self.names[source], self.number(place), self.values.word(value)
            )
            line(f"{put};")
        else:
            line(f"{self.names[source]}[{self.number(place)}] = {self.values.word(value)};")

    # --- statements -------------------------------------------------------------------------------

    def body(self, body: Iterable[CodeStmt]) -> None:
        for stmt in body:
            if stmt.location is not None and not isinstance(stmt, Let | Jump):
                self.printer.source(stmt.location)
            self.statement(stmt)

    def unit(self, code: Code) -> None:
        """What is done for one block of the grid. Among tiles an assertion ends it, and nothing else."""
        if self.among_tiles and self.checks:
            with self.printer.block("[&]"):
                self.rounds(code.body)
            self.printer.lines[-1] += "();"
        else:
            self.rounds(code.body)

    def rounds(self, body: tuple[CodeStmt, ...]) -> None:
        if _returns(body):
            self.round(body)
        else:
            self.body(body)

    def round(self, body: tuple[CodeStmt, ...]) -> None:
        """What may end before its end."""
        with self.printer.block("[&]"):
            self.body(body)
        self.printer.lines[-1] += "();"
        if self.returns:
            self.printer.line("if (stopped) return;")

    def statement(self, stmt: CodeStmt) -> None:
        printer = self.printer
        match stmt:
            case For():
                self.loop(stmt)
            case While():
                with printer.block(f"while ({self.values.text(stmt.condition)})"):
                    self.body(stmt.body)
            case If():
                self.branch(stmt)
            case Jump():
                printer.line(f"{stmt.kind};")
            case Let():
                found = self.values.interval(stmt.value)
                self.values.between |= {} if found is None else {stmt.var: found}
                text = self.values.text(stmt.value)
                printer.line(f"const {value_type(stmt.value.dtype)} {printer.declare(stmt.var)} = {text};")
            case Put():
                self.store(stmt.target, stmt.value)
            case Update():
                self.update(stmt)
            case Check():
                self.check(stmt)
            case Show():
                self.show(stmt)
            case _:
                raise TypeError(f"{type(stmt).__name__} is not printed")

    def check(self, stmt: Check) -> None:
        """T.device_assert: the host reads the record behind the run."""
        assert stmt.record is not None
        test, note = self.values.text(Op("not", (stmt.condition,), "bool")), in_comment(stmt.text)
        with self.printer.block(f"if ({test})"):
            self.printer.lines[-1] += f"  // {note}" if note else ""
            if self.among_tiles:  # other rounds follow: what the first one told is kept
                with self.printer.block(f"if ({self.load(stmt.record)} == 0)"):
                    self.tell(stmt, stmt.record)
            else:
                self.tell(stmt, stmt.record)
            if self.returns:
                self.printer.line("stopped = true;")
            self.printer.line("return;")

    def tell(self, stmt: Check, record: Place) -> None:
        number = Constant(1 + self.checks.index(stmt), "int64")
        for at, value in reversed([*enumerate((number, *stmt.values))]):
            self.store(_word(record, at), _in_64_bits(value))
        self.printer.line("noc_async_write_barrier();")

    def show(self, stmt: Show) -> None:
        """T.print, through the SDK's own way to print: the user's line, the text, the values."""
        self.prints = True
        place = f"{PurePath(stmt.location.file).name}:{stmt.location.line}:" if stmt.location else ""
        holes = ", ".join("{}" for _ in stmt.values)
        said = (part.replace("{", "{{").replace("}", "}}") for part in (place, stmt.text))
        text = " ".join(part for part in (*said, holes) if part)
        text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        args = ", ".join(['"' + text + '\\n"', *map(self.values.text, stmt.values)])
        self.printer.line(f"DPRINT({args});")

    def loop(self, stmt: For) -> None:
        printer, kind = self.printer, value_type(str(stmt.var.dtype))
        start, extent = self.index(stmt.start, 7), self.index(stmt.extent, 8)
        if any(isinstance(part, Place) for part in places(stmt)):
            extent = self.once(kind, stmt.extent)
            start = self.once(kind, stmt.start) if not isinstance(stmt.start, Constant) else start
        printer.scopes.append({})
        first, most = self.values.interval(stmt.start), self.values.interval(stmt.extent)
        if first is not None and most is not None:
            self.values.between[stmt.var] = first[0], max(first[0], first[1] + most[1] - 1)
        var = printer.declare(stmt.var)
        stop = extent if start == "0" else f"{start} + {extent}"
        with printer.block(f"for ({kind} {var} = {start}; {var} < {stop}; ++{var})"):
            if _returns(stmt.body):
                self.round(stmt.body)
            else:
                self.body(stmt.body)
        printer.scopes.pop()

    def once(self, kind: str, value: Value) -> str:
        """A name for a number that a loop must not ask for again."""
        name = self.printer.identifier("rounds")
        self.printer.line(f"const {kind} {name} = {self.index(value)};")
        return name

    def branch(self, stmt: If) -> None:
        printer = self.printer
        with printer.block(f"if ({self.values.text(stmt.condition)})"):
            self.body(stmt.then)
        if stmt.otherwise:
            printer.lines.pop()
            with printer.block("} else"):
                self.body(stmt.otherwise)

    def update(self, stmt: Update) -> None:
        """Read, combine, write: this core is the only one that changes the element meanwhile."""
        target, kind = self.at_once(stmt.target), stmt.target.dtype
        held = Place(target.source, target.indices)
        combined = stmt.value if stmt.op == "set" else Op(stmt.op, (held, stmt.value), kind)
        if stmt.old is not None:
            name = self.printer.declare(stmt.old)
            self.printer.line(f"const {value_type(kind)} {name} = {self.load(target)};")
            combined = stmt.value if stmt.op == "set" else Op(stmt.op, (Name(stmt.old, kind), stmt.value), kind)
        if stmt.expected is None:
            self.store(target, combined)
            return
        test = self.values.text(Op("eq", (held, stmt.expected), "bool"))
        with self.printer.block(f"if ({test})"):
            self.store(target, combined)

    def at_once(self, place: Place) -> Place:
        """The same place; what its indices ask for is asked once."""
        indices: list[Value] = []
        for index in place.indices:
            if isinstance(index, Constant | Name):
                indices.append(index)
                continue
            var = scalar.typed_var("at", index.dtype)
            text = self.index(index)
            self.printer.line(f"const {value_type(index.dtype)} {self.printer.declare(var)} = {text};")
            indices.append(Name(var, index.dtype))
        return replace(place, indices=tuple(indices))


def _word(record: Place, number: int) -> Place:
    return replace(record, indices=(*record.indices[:-1], Constant(number, "int32")))


def _in_64_bits(value: Value) -> Value:
    """A whole number as it is, a float as the bits of a double."""
    if not is_float(value.dtype):
        return Op("cast", (value,), "int64")
    return Op("bitcast", (Op("cast", (value,), "float64"),), "int64")


def _returns(body: tuple[CodeStmt, ...]) -> bool:
    """Whether a round may end before its end, from anywhere inside it."""
    return any(isinstance(stmt, Jump) and stmt.kind == "return" for stmt in walk(body))


def support(used: Iterable[str]) -> list[str]:
    return "\n\n".join(needed(used)).split("\n")
