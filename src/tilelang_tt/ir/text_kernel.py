"""The text of a kernel set, for goldens, `explain` and tests: circular buffers, then the three kernels call by call.

    kernels main
      cb0 A_s: reader -> compute, 3 blocks of 4 x 2 tiles Float16_b, 24 pages of 2048 B  # gemm.py:12

    compute(unit_count: count)
      startup B_s, A_s -> C_out, reversed
      for unit in 0 .. unit_count
        wait A_s 8
        acquire
        matmul A_s[kk], B_s[kk * 4] -> DST[0], 1 x 4 tiles, A stride 2

Circular buffers are called by name; the list at the top gives their numbers. `parse_kernels` reads the text back, given
the tile program that the kernels were made from. `text_tile` says what the two kinds of text have in common.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Memory, Tensor
from tilelang_tt.ir.cb import Cb, PoolBlock
from tilelang_tt.ir.code import Code
from tilelang_tt.ir.engine import DstUse
from tilelang_tt.ir.extents import OF_TENSOR, Extent
from tilelang_tt.ir.fields import children, defined, with_children
from tilelang_tt.ir.grammar import Form
from tilelang_tt.ir.kernel import Arg, ArgKind, Assign, For, Hand, Held, If, Kernel, KernelSet, KernelStmt, Source, Task
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.scalar_extents import extent_of
from tilelang_tt.ir.scalar_parse import read_expr
from tilelang_tt.ir.text import INDENT, Line, Names, Reader, Sight, lines_of, place
from tilelang_tt.ir.text_calls import CALLS
from tilelang_tt.ir.text_facts import CODECS
from tilelang_tt.ir.text_tile import body_text, read_stmt
from tilelang_tt.ir.tile import Launch, Loop, ScalarParam, Stmt, TileProgram

_NUMBER = re.compile(r"cb\d+")
_SECOND = {If: "else", DstUse: "pack"}  # what stands before the second list of statements


class _Names(Names):
    """Names of everything in a kernel set; circular buffers have names of their own.

    Variables of the tile program keep clear of the names of axes, as in its text; those of the kernels have any name.
    """

    def __init__(self, program: TileProgram, launch: Launch, start: Var, count: Var) -> None:
        super().__init__()
        self.cbs: dict[Cb, str] = {}
        self.sides = [
            (tensor, side)
            for tensor, layout in program.layouts.items()
            for expr in layout.named_grid(tensor)
            if (side := extent_of(expr)) is not None
        ]
        self.variables = _variables(launch)
        scalars = [param.var for param in program.params if isinstance(param, ScalarParam)]
        pools = [pool.whole for pool in launch.pools]
        for var in dict.fromkeys((*program.sizes, *scalars, start, count, *(launch.work.words if launch.work else ()))):
            self.bind(var)
        blocks = dict.fromkeys((*launch.buffers, *launch.layouts, *pools))
        things: list[Tensor | Buffer] = [*program.tensors, *program.views, *blocks]
        for thing in things:
            self.bind(thing)

    def bind(self, thing: Var | Buffer | Tensor, *, any_name: bool = False) -> str:
        kernels_own = scalar.is_var(thing) and thing not in self.variables.values()
        return super().bind(thing, any_name=any_name or kernels_own)

    def bind_cb(self, cb: Cb, name: str) -> str:
        self.cbs[cb] = name
        return name

    def extent(self, extent: Extent) -> str:
        if extent.side in OF_TENSOR:
            same = ((known, one) for known, one in self.sides if one.key == extent.key and one == extent)
            return next(f"{self(known)}.{one.side.value}" for known, one in same)
        return next(f"{name}.{extent.side.value}" for cb, name in self.cbs.items() if cb.id == extent.of)

    def __call__(self, thing: Var | Buffer | Tensor | Cb) -> str:
        return self.cbs[thing] if isinstance(thing, Cb) else super().__call__(thing)


def _variables(launch: Launch) -> dict[str, Var]:
    """Variables of a tile program by the names its text gives them."""
    names, found = Names(), {}
    own = (launch.work.unit, *launch.work.words) if launch.work else ()
    for var in (*(var for var, _ in launch.blocks), *own):
        found[names.bind(var)] = var

    def visit(body: tuple[Stmt, ...]) -> None:
        for stmt in body:
            for var in defined(stmt):
                found[names.see(var)] = var
            for nested in children(stmt):
                visit(nested)
            if isinstance(stmt, Loop):
                names.release(stmt.var)

    visit(launch.body)
    return found


def kernel_text(kernels: KernelSet) -> str:
    """The whole set, ending in a newline."""
    return "\n".join(_KernelText(kernels).lines()) + "\n"


class _KernelText:
    def __init__(self, kernels: KernelSet) -> None:
        self.kernels = kernels
        self.names = _Names(kernels.program, kernels.launch, kernels.unit_start, kernels.unit_count)

    def lines(self) -> Iterator[str]:
        launch, cbs = self.kernels.launch, self.kernels.cbs
        yield f"kernels {launch.name}{place(launch.location)}"
        for buffer, cb in cbs.items():
            if cb not in self.names.cbs:  # a pool comes before its blocks
                table = self.names(buffer).startswith("?")  # it has no block
                name = self.names.bind_cb(cb, cb.name if table else self.names(buffer))
                yield f"{INDENT}cb{cb.id} {name}: {_CB.write(cb, self.names, CODECS)}{place(cb.location)}"
                for block in cb.pool:
                    yield f"{INDENT * 2}{self.names.bind(block.first)} = {block.place}: {block.tiles} tiles"
        for buffer, view in self.kernels.views.items():
            if view not in self.names.cbs:
                pages = self.names(cbs[buffer])
                name = self.names.bind_cb(view, f"{pages}_fp32")
                yield f"{INDENT}cb{view.id} {name}: the pages of {pages}, unpacked to DST"
        for kernel in self.kernels.kernels:
            yield ""
            yield from self.kernel(kernel)

    def kernel(self, kernel: Kernel) -> Iterator[str]:
        yield f"{kernel.role.value}({', '.join(map(self.arg, kernel.args))})"
        for index, tensor in enumerate(kernel.tensors):
            yield f"{INDENT}accessor {index}: {self.names(tensor)}"
        yield from self.body(kernel.body, 1)
        for arg in kernel.args:
            if arg.var is not None and arg.size is not None and arg.size is not arg.var:
                self.names.release(arg.var)

    def arg(self, arg: Arg) -> str:
        """Name, kind and what it stands for: `K_tiles: size (K + 31) // 32`."""
        of = f" of {self.names(arg.tensor)}" if arg.tensor is not None else ""
        if arg.var is None:
            return f"{arg.name}: {arg.kind.value}{of}"
        size = f" {self.names.expr(arg.size)}" if arg.size is not None and arg.size is not arg.var else ""
        var = self.names.see(arg.var)
        return f"{arg.name}: {arg.kind.value}{of}{size}{'' if var == arg.name else f' -> {var}'}"

    def body(self, body: tuple[KernelStmt, ...], depth: int) -> Iterator[str]:
        bound: list[Var] = []
        for stmt in body:
            if isinstance(stmt, Task | Code):
                yield from body_text((stmt.stmt if isinstance(stmt, Task) else stmt,), self.names, depth)
            elif isinstance(stmt, Source):
                yield f"{INDENT * depth}{place(stmt.location).strip()}"
            else:
                yield f"{INDENT * depth}{CALLS.write(stmt, self.names)}{place(getattr(stmt, 'location', None))}"
                yield from self.nested(stmt, depth)
                bound += [] if isinstance(stmt, For | Assign) else defined(stmt)
        for var in bound:
            self.names.release(var)

    def nested(self, stmt: KernelStmt, depth: int) -> Iterator[str]:
        for number, nested in enumerate(children(stmt)):
            if number and (nested or isinstance(stmt, DstUse)):
                yield f"{INDENT * depth}{_SECOND[type(stmt)]}"
            yield from self.body(nested, depth + 1)
        if isinstance(stmt, For):
            self.names.release(stmt.var)


_CB = Form(
    Cb,
    "{producer:role} -> {consumer:role}, {depth:blocks} of {shape:sides} tiles {format:word}, {pages:int} pages of "
    "{page_bytes:int} B{first_row?, first rows only}{is_word?, a word}{is_scratch?, room for scalar code}"
    "{is_row_room?, room for rows}"
    "{unpack_to_dest?, unpacked to DST}(?, in the shard of {shard:tensor}?)"
    "(?, moved where {moves:new} else in the shard of {shard_at_call:tensor}?)(?, {found:in_shard}?)"
    "(?, read where {reads:new} else sent, semaphores {ready:int} and {valid:int}?)(?, sent by {owners:int} in turn?)"
    "(?, {sub:sides} at a time?)",
)


# --- reading --------------------------------------------------------------------------------------


def parse_kernels(text: str, program: TileProgram, files: Mapping[str, str] | None = None) -> tuple[KernelSet, ...]:
    """The kernels of every launch of `program` that print as `text`."""
    sets: list[list[Line]] = []
    for line in lines_of(text, files or {}):
        if line.text.startswith("kernels "):
            sets.append([])
        sets[-1].append(line)
    return tuple(
        _Parser(program, launch, files or {}).kernels(lines)
        for launch, lines in zip(program.launches, sets, strict=True)
    )


class _Parser:
    def __init__(self, program: TileProgram, launch: Launch, files: Mapping[str, str]) -> None:
        start, count = scalar.var("unit_start"), scalar.var("unit_count")
        self.names = _Names(program, launch, start, count)
        self.sight = Sight({**self.names.variables, **{name: thing for thing, name in self.names.all()}}, files)
        self.sight.things |= {f"{side.side.value} of {self.names(tensor)}": side for tensor, side in self.names.sides}
        firsts = [layout.first for layout in launch.layouts.values() if layout.first is not None]
        self.sight.things |= {str(first.name): first for first in firsts}  # of blocks in shards that are kept
        empty = tuple(Kernel(role, ()) for role in Role)
        self.found = KernelSet(program, launch, empty, {}, start, count)  # type: ignore[arg-type]

    def kernels(self, lines: list[Line]) -> KernelSet:
        head, *kernels = lines
        for line in head.nested:
            self.cb(Reader(line.text, self.sight), line)
        self.pools()
        outside = dict(self.sight.things)
        for line in kernels:
            self.sight.things = dict(outside)
            self.found = self.found.with_kernel(self.kernel(line))
        return self.found

    def cb(self, reader: Reader, line: Line) -> None:
        number, name = int(reader.match(_NUMBER, "a circular buffer").removeprefix("cb")), reader.name(":")
        if reader.maybe("the pages of"):
            cb = self.sight.thing(f"cb {reader.name()}", Cb)
            buffer = next(buffer for buffer, known in self.found.cbs.items() if known is cb)
            view = replace(cb, id=number, name=f"{cb.name}_fp32", unpack_to_dest=True, shares=cb.id)
            self.found.views[buffer] = self.sight.things[f"cb {name}"] = view
            return
        known = self.sight.things.get(name)
        base = name.partition(".")[0]
        buffer = known if isinstance(known, Buffer) else Buffer(base, "int32", (), Memory.SHARED)
        blocks = tuple(self.pool_block(Reader(block.text, self.sight)) for block in line.nested)
        facts = _CB.read(reader, CODECS)
        tiles = facts.pop("pages") // facts["depth"]
        cb = Cb(id=number, name=base, tiles=tiles, location=line.location, pool=blocks, **facts)
        self.found.cbs[buffer] = self.sight.things[f"cb {name}"] = cb

    def pool_block(self, reader: Reader) -> PoolBlock:
        first = next(
            layout.first
            for layout in self.found.launch.layouts.values()
            if layout.first is not None and reader.maybe(f"{layout.first.name} =")
        )
        self.sight.things[str(first.name)] = first
        return PoolBlock(first, reader.int(":"), reader.int())

    def pools(self) -> None:
        """Blocks of a pool have its numbers; the second one if they are unpacked to DST."""
        launch, cbs, views = self.found.launch, self.found.cbs, self.found.views
        for pool in launch.pools:
            for block in pool.blocks:
                cbs[block] = cbs[pool.whole]
                stream = launch.streams[block]
                if pool.whole in views and (stream.unpack_to_dest or stream.second_view):
                    views[block] = views[pool.whole]

    def kernel(self, line: Line) -> Kernel:
        reader = Reader(line.text, self.sight)
        role = CODECS["role"].read(reader)
        reader.take("(")
        args = () if reader.peek(")") else tuple(reader.separated(lambda: self.arg(reader)))
        accessors = [inner for inner in line.nested if inner.text.startswith("accessor ")]
        tensors = tuple(self.sight.thing(inner.text.partition(": ")[2], Tensor) for inner in accessors)
        return Kernel(role, self.body(line.nested[len(accessors) :]), args, tensors)

    def arg(self, reader: Reader) -> Arg:
        name, kind = reader.name(":"), ArgKind(reader.name())
        tensor = self.sight.thing(reader.name(), Tensor) if reader.maybe("of ") else None
        ends = any(map(reader.peek, (",", ")", "->")))
        computed: Expr | None = None if ends else read_expr(reader)
        shown = reader.name() if reader.maybe("->") else name
        if kind is ArgKind.ADDRESS:
            return Arg(name, kind, tensor=tensor)
        var = self.sight.variable(shown)
        size = computed if computed is not None else var if kind is ArgKind.SIZE else None
        return Arg(name, kind, var, tensor, size)

    def body(self, lines: tuple[Line, ...]) -> tuple[KernelStmt, ...]:
        found: list[KernelStmt] = []
        for line in lines:
            if line.text in _SECOND.values():
                first, *_ = children(found[-1])
                found.append(with_children(found.pop(), (first, self.body(line.nested))))
            elif not line.text:
                assert line.location is not None
                found.append(Source(line.location))
            elif line.text[0].isupper():
                stmt = read_stmt(line, self.sight)
                found.append(stmt if isinstance(stmt, Code) else Task(stmt))
            else:
                found.append(self.stmt(line))
        return tuple(found)

    def stmt(self, line: Line) -> KernelStmt:
        cls, values = CALLS.read(Reader(line.text, self.sight))
        if cls in (For, Hand):
            values["location"] = line.location
        if cls is DstUse:
            return DstUse(self.body(line.nested), ())
        if cls is If:
            return If(values["condition"], self.body(line.nested))
        if cls in (For, Held):
            values["body"] = self.body(line.nested)
        return cls(**values)  # type: ignore[no-any-return]
