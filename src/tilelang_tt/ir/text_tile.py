"""The text of a tile program, for goldens and `explain`: one line per fact, one line per statement.

    launch main  # gemm.py:9
      blocks bx < 8, by < 16
      units 128 by unit: bx = unit % 8, by = unit // 8; 8 x 8 cores
      buffer A_s: shared bfloat16[128, 64]; 4 x 2 tiles Float16_b of 2048 B; reader -> compute, 3 blocks
      body
        Loop k < 16, 3 stages  # gemm.py:16
          Load A tiles (by * 4, k * 2) 4 x 2 -> A_s  # gemm.py:17

Facts a pass has not attached yet are absent. The text is the same in every process: names come from the
program (made different where two things in sight share one), places are base names of files, and no address
is printed. Decisions are not part of it: they explain the program, and `explain` lists them beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from tilelang_tt.diagnostics import Location
from tilelang_tt.ir import scalar, scalar_text
from tilelang_tt.ir.buffers import Buffer, Gather, Read, Region, Tensor
from tilelang_tt.ir.elements import Element, ElementExpr, Index, Number, Scalar
from tilelang_tt.ir.layout import BufferLayout, Constant, Mask, MaskTile, Stream, TensorLayout, TileOrder, Work
from tilelang_tt.ir.scalar import Expr, Var, is_expr
from tilelang_tt.ir.section import Compute, ComputeFromBlocks, Fetch, SetNumber
from tilelang_tt.ir.tile import (
    Branch,
    Copy,
    Fill,
    Gemm,
    Launch,
    Load,
    Loop,
    Map,
    Publish,
    Reduce,
    ScalarParam,
    Section,
    Set,
    Stmt,
    Store,
    TileAccess,
    TileProgram,
    Transpose,
)

INDENT = "  "
AXES = "ijklmnop"  # of the block being computed, in order
_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def tile_text(program: TileProgram) -> str:
    """The whole program, ending in a newline."""
    return "\n".join(_TileText(program).lines()) + "\n"


class Names:
    """A name for each thing in sight: its own, or its own and a number if another thing has that."""

    def __init__(self) -> None:
        self._names: dict[object, str] = {}

    def bind(self, thing: Var | Buffer | Tensor) -> str:
        """Bring a thing into sight."""
        name = candidate = str(thing.name)
        count = 0
        while candidate in self._names.values():
            count += 1
            candidate = f"{name}_{count}"
        self._names[thing] = candidate
        return candidate

    def see(self, thing: Var) -> str:
        """The name of a thing that may be in sight already."""
        return self._names[thing] if thing in self._names else self.bind(thing)

    def release(self, thing: Var | Buffer | Tensor) -> None:
        del self._names[thing]

    def __call__(self, thing: Var | Buffer | Tensor) -> str:
        """A question mark shows what nothing in sight defines."""
        return self._names.get(thing, f"?{thing.name}")

    def expr(self, expr: Expr) -> str:
        return scalar_text.to_python(expr, self)


def place(location: Location | None) -> str:
    """The end of a line: where in the user's program it stems from."""
    return f"  # {PurePath(location.file).name}:{location.line}" if location else ""


def number_text(value: float) -> str:
    """The shortest text that reads back as the same number."""
    return repr(float(value)).removesuffix(".0")


def constant_text(constant: Constant | Mask | MaskTile) -> str:
    """Constant tiles by the value of their element (i, j)."""
    if isinstance(constant, Mask):
        return " | ".join(map(constant_text, constant.tiles))
    if isinstance(constant, MaskTile) and constant.uniform is not None:
        return number_text(constant.uniform)
    if isinstance(constant, MaskTile):
        place = _place_text(constant.row, constant.col, constant.offset)
        return f"{number_text(constant.yes)} where {place} >= 0 else {number_text(constant.no)}"
    return _place_text(constant.row, constant.col, constant.base)


def _place_text(row: int, col: int, base: int) -> str:
    terms = [axis if factor == 1 else f"{factor} * {axis}" for factor, axis in ((row, "i"), (col, "j")) if factor]
    return " + ".join([*terms, str(base)] if base or not terms else terms)


def size(rows: int, cols: int) -> str:
    return f"{rows} x {cols}"


def element_text(expr: ElementExpr, names: Names, *, nested: bool = False) -> str:
    """`max(C * 2, D)`; operators inside operators stand in parentheses."""
    if isinstance(expr, Number):
        return typed_number_text(expr)
    if isinstance(expr, Index):
        places = [(factor, AXES[axis]) for axis, factor in enumerate(expr.factors) if factor]
        terms = [axis if factor == 1 else f"{factor} * {axis}" for factor, axis in places]
        return f"[{' + '.join([*terms, names.expr(expr.base)])}]"
    if isinstance(expr, Scalar):
        return f"{'' if expr.dtype == 'int32' else expr.dtype}[{names.expr(expr.expr)}]"
    if isinstance(expr, Element):
        return f"{names(expr.buffer)}{_walk(expr, names)}"
    if expr.of_blocks:
        return f"{expr.op}_tiles({', '.join(element_text(arg, names) for arg in expr.args)})"
    if expr.op in ("cast", "bitcast"):
        bits = "bits as " if expr.op == "bitcast" else ""
        return f"{bits}{expr.dtype}({element_text(expr.args[0], names)})"
    if expr.op in _INFIX:
        text = f" {_INFIX[expr.op]} ".join(element_text(arg, names, nested=True) for arg in expr.args)
        return f"({text})" if nested else text
    return f"{expr.op}({', '.join(element_text(arg, names) for arg in expr.args)})"


def typed_number_text(number: Number) -> str:
    """`2` is a float, `2i32` an int32, `2u8` a uint8."""
    if number.dtype == "float32":
        return number_text(number.value)
    if number.dtype == "bool":
        return "true" if number.value else "false"
    return f"{number.value}{number.dtype[0]}{number.dtype.removeprefix('u').removeprefix('int')}"


def _walk(element: Element, names: Names) -> str:
    """How an element is found, where it is not at the same place."""
    if element.tile is not None:
        return f"[tile {names.expr(element.tile)}]"
    if element.axes is None and element.origin is None:
        return ""
    places = []
    for number, axis in enumerate(element.walked):
        start = None if element.origin is None else element.origin[number]
        text = [] if axis is None else [AXES[axis]]
        if start is not None and (axis is None or scalar.int_value(start) != 0):
            text.append(names.expr(start))
        places.append(" + ".join(text))
    return f"[{', '.join(places)}]"


def _part(stmt: Map, names: Names) -> str:
    if stmt.part is None:
        return ""
    begins = "" if stmt.part.begins is None else f", first if {names.expr(stmt.part.begins)}"
    if stmt.part.begins is not None and scalar.int_value(stmt.part.begins) is not None:
        begins = ", first" if stmt.part.is_first else ", more"
    return f"[{', '.join(map(names.expr, stmt.part.origin))} : {' x '.join(map(str, stmt.part.extents))}{begins}]"


class _TileText:
    def __init__(self, program: TileProgram) -> None:
        self.program = program
        self.names = Names()

    def lines(self) -> Iterator[str]:
        options = self.program.options
        wide = "32-bit DST" if options.fp32_acc else "16-bit DST"
        yield f"program {self.program.name}"
        cores = f"{size(*options.core_grid)} cores"
        finite = ", fast math" if options.fast_math else ""
        yield f"{INDENT}target {options.arch}, {cores}, {options.math_fidelity}, {wide}{finite}"
        for var in self.program.sizes:
            yield f"{INDENT}size {self.names.bind(var)}"
        for param in self.program.params:
            if isinstance(param, ScalarParam):
                yield f"{INDENT}scalar {self.names.bind(param.var)}: {param.dtype}"
        for tensor in self.program.tensors:
            yield f"{INDENT}tensor {self.tensor(tensor)}"
        for view in self.program.views:
            yield f"{INDENT}view of {self.program.params[view.param].name} {self.tensor(view)}"
        for launch in self.program.launches:
            yield ""
            yield from self.launch(launch)

    # --- facts ------------------------------------------------------------------------------------

    def tensor(self, tensor: Tensor) -> str:
        shape = ", ".join(map(self.names.expr, tensor.shape))
        layout = self.program.layouts.get(tensor)
        facts = self.tensor_layout(layout) if layout else self.sides(tensor)
        return f"{self.names.bind(tensor)}: {tensor.dtype}[{shape}]{facts}"

    def sides(self, place: Tensor | Buffer) -> str:
        """What each axis runs along, as long as no layout says so."""
        if not self.program.sides or not place.shape:
            return ""
        sides = [self.program.sides.get((place, axis)) for axis in range(len(place.shape))]
        return f"; along {', '.join('-' if side is None else side.value for side in sides)}"

    def tensor_layout(self, layout: TensorLayout) -> str:
        axes = f"rows axis {layout.row_axis}, columns axis {layout.col_axis}"
        rows, cols, batch = map(self.names.expr, (layout.row_tiles, layout.col_tiles, layout.batch))
        batches = "" if scalar.int_value(layout.batch) == 1 else f"{batch} x "
        return f"; {axes}, {batches}[{rows}, {cols}] tiles {layout.format} of {layout.page_bytes} B"

    def launch(self, launch: Launch) -> Iterator[str]:
        yield f"launch {launch.name}{place(launch.location)}"
        blocks = [f"{self.names.bind(var)} < {self.names.expr(extent)}" for var, extent in launch.blocks]
        yield f"{INDENT}blocks {', '.join(blocks)}"
        if launch.work:
            yield f"{INDENT}units {self.work(launch.work)}"
        yield from (f"{INDENT}hint {hint}: {outcome}" for hint, outcome in launch.hints)
        buffers = dict.fromkeys((*launch.buffers, *launch.layouts))
        for buffer in buffers:
            yield f"{INDENT}buffer {self.buffer(launch, buffer)}{place(buffer.location)}"
        yield f"{INDENT}body"
        yield from self.body(launch.body, 2)
        things: list[Var | Buffer] = [*(var for var, _ in launch.blocks), *buffers]
        for thing in things:
            self.names.release(thing)

    def work(self, work: Work) -> str:
        units, unit = self.names.expr(work.units), self.names.bind(work.unit)
        indices = ", ".join(f"{self.names(var)} = {self.names.expr(index)}" for var, index in work.indices)
        self.names.release(work.unit)
        return f"{units} by {unit}: {indices}; {size(*work.grid)} cores"

    def buffer(self, launch: Launch, buffer: Buffer) -> str:
        shape = ", ".join(map(str, buffer.shape))
        text = f"{self.names.bind(buffer)}: {buffer.memory.value} {buffer.dtype}[{shape}]"
        layout, stream = launch.layouts.get(buffer), launch.streams.get(buffer)
        text += buffer_layout_text(layout) if layout else self.sides(buffer)
        text += f"; {constant_text(launch.constants[buffer])}" if buffer in launch.constants else ""
        if stream is None:
            return f"{text}; in DST" if launch.streams else text
        pooled = (f", at tile {p.blocks[buffer]} of {p.whole.name}" for p in launch.pools if buffer in p.blocks)
        return text + stream_text(stream) + "".join(pooled)

    # --- statements -------------------------------------------------------------------------------

    def body(self, body: tuple[Stmt, ...], depth: int) -> Iterator[str]:
        for stmt in body:
            yield f"{INDENT * depth}{self.head(stmt)}{place(stmt.location)}"
            if isinstance(stmt, Loop):
                yield from self.body(stmt.body, depth + 1)
            if isinstance(stmt, Section):
                yield from self.body((*stmt.sums, *stmt.results), depth + 1)
                if stmt.schedule is not None:
                    yield from (f"{INDENT * (depth + 1)}{line}" for line in schedule_text(stmt, self.names))
            if isinstance(stmt, Branch):
                yield from self.body(stmt.then, depth + 1)
                if stmt.otherwise:
                    yield f"{INDENT * depth}Else"
                    yield from self.body(stmt.otherwise, depth + 1)
            if isinstance(stmt, Loop):
                self.names.release(stmt.var)

    def head(self, stmt: Stmt) -> str:
        """The line of a statement. A Loop brings its variable into sight."""
        if isinstance(stmt, Loop):
            extent = self.names.expr(stmt.extent)
            stages = f", {stmt.stages} stages" if stmt.stages else ""
            return f"Loop {self.names.bind(stmt.var)} < {extent}{stages}"
        return stmt_text(stmt, self.names)


def stmt_text(stmt: Stmt, names: Names) -> str:
    """The line of a statement, without what is nested in it."""
    match stmt:
        case Loop():
            return f"Loop {names(stmt.var)} < {names.expr(stmt.extent)}"
        case Branch():
            return f"Branch {names.expr(stmt.condition)}"
        case Read():
            return f"Read {names.see(stmt.var)} = {names(stmt.table)}[{names.expr(stmt.index)}]"
        case Set():
            return f"Set {names.see(stmt.var)} = {names.expr(stmt.value)}"
        case Copy():
            return f"Copy {_region(stmt.src, names)} -> {_region(stmt.dst, names)}"
        case Fill():
            return f"Fill {names(stmt.dst)} = {number_text(stmt.value)}"
        case Gemm():
            return _gemm(stmt, names)
        case Map():
            return f"Map {names(stmt.dst)}{_part(stmt, names)} = {element_text(stmt.value, names)}"
        case Section():
            return "Section" if stmt.held is None else f"Section with {names(stmt.held)} in DST"
        case Reduce():
            sign = "=" if stmt.clear else f"{stmt.op}="
            exact = ", exact" if stmt.exact else ""
            return f"Reduce {names(stmt.dst)} {sign} {stmt.op} of {names(stmt.src)} along {AXES[stmt.axis]}{exact}"
        case Transpose():
            return f"Transpose {names(stmt.src)} -> {names(stmt.dst)}{', exact' if stmt.exact else ''}"
        case Load():
            return f"Load {_access(stmt.src, names)} -> {names(stmt.dst)}"
        case Store():
            return f"Store {names(stmt.src)} -> {_access(stmt.dst, names)}"
        case Publish():
            return f"Publish {names(stmt.buffer)}"


def schedule_text(section: Section, names: Names) -> Iterator[str]:
    """How many tiles at a time, and what is in the slots of DST, step by step."""
    schedule = section.schedule
    assert schedule is not None
    program, group = schedule.program, schedule.group
    walked = f"{size(schedule.rows, schedule.cols)} tiles by {size(group.rows, group.cols)}"
    common = f", {program.common} for the group" if program.common else ""
    yield f"Schedule {walked}{', in a run' if schedule.run else ''}; slots {program.slots}{common}"
    for step in program.steps:
        match step:
            case Fetch():
                value = names(step.buffer)
            case SetNumber():
                value = _number(step.value, names)
            case Compute():
                number = [] if step.number is None else [_number(step.number, names)]
                operands = [*(f"s{slot}" for slot in step.operands), *number]
                value = f"{step.instruction.name}({', '.join(operands)})"
            case ComputeFromBlocks():
                value = f"{step.instruction.name}({', '.join(names(fetch.buffer) for fetch in step.operands)})"
        yield f"{INDENT}s{step.slot} = {value}"
    for one, slot in zip(section.results, program.results, strict=True):
        yield f"{INDENT}{names(one.dst)} = s{slot}"


def _number(number: float | Expr, names: Names) -> str:
    return names.expr(number) if is_expr(number) else number_text(number)


def buffer_layout_text(layout: BufferLayout) -> str:
    order = " by columns" if layout.order is TileOrder.COLUMNS else ""
    repeated = {(True, False): " of equal rows", (False, True): " of equal columns", (True, True): " of one value"}
    lanes = repeated.get((layout.row_axis is None, layout.col_axis is None), "")
    once = ", stored once" if layout.constant else ", first row only" if layout.first_row else ""
    return f"; {size(layout.rows, layout.cols)} tiles{order}{lanes} {layout.format} of {layout.page_bytes} B{once}"


def stream_text(stream: Stream) -> str:
    blocks = f"{stream.depth} block{'s' if stream.depth > 1 else ''}"
    direct = ", unpacked to DST" if stream.unpack_to_dest else ""
    once = ", once" if stream.once else ""
    return f"; {stream.producer.value} -> {stream.consumer.value}, {blocks}{direct}{once}"


def _region(region: Region, names: Names) -> str:
    """A box of a tensor, or a whole buffer by its name alone."""
    source = region.source
    starts = [scalar.int_value(low) for low in region.mins]
    if isinstance(source, Buffer) and region.extents == source.shape and not any(low != 0 for low in starts):
        return names(source)
    mins = ", ".join(map(names.expr, region.mins))
    return f"{names(source)}[{mins} : {' x '.join(map(str, region.extents))}]{_gather(region.gather, names)}"


def _gather(gather: Gather | None, names: Names) -> str:
    """Which row of the tensor each row of a block is."""
    if gather is None:
        return ""
    var = names.see(gather.var)
    reads = "".join(f"{stmt_text(read, names)}, " for read in gather.reads)
    return f", row {var} looked up: {reads}{names.expr(gather.index)}"


def _access(access: TileAccess, names: Names) -> str:
    gather = _gather(access.gather, names)
    batch = "" if scalar.int_value(access.batch) == 0 else f"{names.expr(access.batch)}: "
    box = f"({batch}{names.expr(access.row)}, {names.expr(access.col)}) {size(access.rows, access.cols)}"
    sides = [side for side, cut in (("rows", access.guard_rows), ("columns", access.guard_cols)) if cut]
    guards = f", guarded {' and '.join(sides)}" if sides else ""
    condition = f", if {names.expr(access.guard)}" if access.guard is not None else ""
    condition += f", {names.expr(access.limit)} rows" if access.limit is not None else ""
    return f"{names(access.tensor)} tiles {box}{guards}{condition}{gather}"


def _gemm(gemm: Gemm, names: Names) -> str:
    a, b = (
        f"{names(operand)}{'^T' if transposed else ''}"
        for operand, transposed in ((gemm.a, gemm.transpose_a), (gemm.b, gemm.transpose_b))
    )
    always = scalar.int_value(gemm.clear)
    sign = "=" if always else "+="
    first = f", overwriting where {names.expr(gemm.clear)}" if always is None else ""
    sub = gemm.sub_block
    blocks = f", sub-blocks {size(sub.rows, sub.cols)}" if sub else ""
    return f"Gemm {names(gemm.c)} {sign} {_start(gemm, names)}{a} @ {b}{first}{blocks}"


def _start(gemm: Gemm, names: Names) -> str:
    if gemm.start is None:
        return ""
    where = "" if scalar.int_value(gemm.start.where) else f" where {names.expr(gemm.start.where)}"
    return f"{element_text(gemm.start.element, names)}{where} + "
