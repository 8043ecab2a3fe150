"""The text of a kernel set, for goldens and `explain`: circular buffers, then the three kernels call by call.

    kernels main
      cb0 A_s: reader -> compute, 3 blocks of 4 x 2 tiles Float16_b, 24 pages of 2048 B  # gemm.py:12

    compute(unit_count: count)
      startup B_s, A_s -> C_out, reversed
      for unit in 0 .. unit_count
        wait A_s 8
        acquire
        matmul A_s[kk], B_s[kk * 4] -> DST[0], 1 x 4 tiles, A stride 2

Circular buffers are written by name, with their numbers in the list at the top. See `text_tile` for what the
two texts have in common.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilelang_tt.ir import scalar, scalar_text
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.cb import Cb, CbCall, CbKind
from tilelang_tt.ir.engine import (
    BinaryMode,
    BinaryTiles,
    CopyMode,
    CopyTile,
    DstCall,
    DstKind,
    DstUse,
    EndBlock,
    FillTile,
    Init,
    L1Accumulate,
    MatmulBlock,
    MatmulMode,
    Mode,
    PackTile,
    Reconfig,
    ReduceMode,
    ReduceTile,
    Sfpu,
    SfpuMode,
    Startup,
    TransposeDst,
    TransposeDstMode,
    TransposeMode,
    TransposeTile,
    Uninit,
    Unit,
)
from tilelang_tt.ir.kernel import (
    Arg,
    Assign,
    For,
    Hand,
    Held,
    If,
    Kernel,
    KernelSet,
    KernelStmt,
    Let,
    Receive,
    Source,
    Task,
)
from tilelang_tt.ir.movement import (
    Barrier,
    BarrierKind,
    MakeTile,
    Pointer,
    ReadRow,
    ReadTable,
    ReadTile,
    RowPlace,
    WriteRow,
    WriteTile,
    ZeroRow,
    ZeroTile,
)
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.text_tile import INDENT, Names, constant_text, number_text, place, size, stmt_text
from tilelang_tt.ir.tile import ScalarParam, Section

_CB_WORD = {CbKind.RESERVE: "reserve", CbKind.PUSH: "push", CbKind.WAIT: "wait", CbKind.POP: "pop"}
_BARRIER_WORD = {
    BarrierKind.READ: "read barrier",
    BarrierKind.FLUSH: "writes flushed",
    BarrierKind.WRITE: "write barrier",
}
_DST_WORD = {
    DstKind.ACQUIRE: "acquire",
    DstKind.COMMIT: "commit",
    DstKind.WAIT: "wait DST",
    DstKind.RELEASE: "release",
}
_UNIT_WORD = {Unit.SRC_A: "srca", Unit.SRC_B: "srcb", Unit.PACK: "pack"}


def kernel_text(kernels: KernelSet) -> str:
    """The whole set, ending in a newline."""
    return "\n".join(_KernelText(kernels).lines()) + "\n"


class _KernelText:
    def __init__(self, kernels: KernelSet) -> None:
        self.kernels = kernels
        self.names = Names()
        self.cb_names: dict[Cb, str] = {}

    def lines(self) -> Iterator[str]:
        launch, program = self.kernels.launch, self.kernels.program
        yield f"kernels {launch.name}{place(launch.location)}"
        for tensor in program.tensors:
            self.names.bind(tensor)
        for buffer in dict.fromkeys((*self.kernels.cbs, *launch.layouts)):
            self.names.bind(buffer)
        for buffer, cb in self.kernels.cbs.items():
            if cb in self.cb_names:
                continue  # a pool, which comes before its blocks
            self.cb_names[cb] = self.names(buffer)
            yield f"{INDENT}{self.cb(buffer, cb)}{place(cb.location)}"
            for block in cb.pool:
                yield f"{INDENT * 2}{self.names.bind(block.first)} = {block.place}: {block.tiles} tiles"
        for buffer, view in self.kernels.views.items():
            if view in self.cb_names:
                continue
            self.cb_names[view] = f"{self.names(buffer)}_fp32"
            pages = self.cb_names[self.kernels.cbs[buffer]]
            yield f"{INDENT}cb{view.id} {self.cb_names[view]}: the pages of {pages}, unpacked to DST"
        for kernel in self.kernels.kernels:
            yield ""
            yield from self.kernel(kernel)

    def cb(self, buffer: Buffer, cb: Cb) -> str:
        ends = f"{cb.producer.value} -> {cb.consumer.value}"
        blocks = f"{cb.depth} block{'s' if cb.depth > 1 else ''} of {size(*cb.shape)} tiles {cb.format}"
        direct = ", first rows only" if cb.first_row else ", unpacked to DST" if cb.unpack_to_dest else ""
        return f"cb{cb.id} {self.names(buffer)}: {ends}, {blocks}, {cb.pages} pages of {cb.page_bytes} B{direct}"

    def kernel(self, kernel: Kernel) -> Iterator[str]:
        bound = [arg.var for arg in kernel.args if arg.var is not None] if kernel.args else self.launch_values()
        for var in bound:
            self.names.bind(var)
        yield f"{kernel.role.value}({', '.join(map(self.arg, kernel.args))})"
        for index, tensor in enumerate(kernel.tensors):
            yield f"{INDENT}accessor {index}: {self.names(tensor)}"
        yield from self.body(kernel.body, 1)
        for var in bound:
            self.names.release(var)

    def launch_values(self) -> list[Var]:
        """What a launch can pass, before `finalize_persistent_signature` chooses what each kernel gets."""
        scalars = [param.var for param in self.kernels.program.params if isinstance(param, ScalarParam)]
        return [self.kernels.unit_start, self.kernels.unit_count, *self.kernels.program.sizes, *scalars]

    def arg(self, arg: Arg) -> str:
        """Name, kind and what it stands for: `K_tiles: size (K + 31) // 32`."""
        of = f" of {self.names(arg.tensor)}" if arg.tensor is not None else ""
        size = f" {scalar_text.to_python(arg.size)}" if arg.size is not None and arg.size is not arg.var else ""
        into = f" -> {self.names(arg.var)}" if arg.var is not None and self.names(arg.var) != arg.name else ""
        return f"{arg.name}: {arg.kind.value}{of}{size}{into}"

    # --- statements -------------------------------------------------------------------------------

    def body(self, body: tuple[KernelStmt, ...], depth: int) -> Iterator[str]:
        bound: list[Var] = []
        for stmt in body:
            yield INDENT * depth + self.head(stmt, bound)
            yield from self.nested(stmt, depth)
        for var in bound:
            self.names.release(var)

    def nested(self, stmt: KernelStmt, depth: int) -> Iterator[str]:
        if isinstance(stmt, For | Held):
            yield from self.body(stmt.body, depth + 1)
        if isinstance(stmt, For):
            self.names.release(stmt.var)
        if isinstance(stmt, If):
            yield from self.body(stmt.then, depth + 1)
            if stmt.otherwise:
                yield f"{INDENT * depth}else"
                yield from self.body(stmt.otherwise, depth + 1)
        if isinstance(stmt, DstUse):
            yield from self.body(stmt.math, depth + 1)
            yield f"{INDENT * depth}pack"
            yield from self.body(stmt.pack, depth + 1)

    def head(self, stmt: KernelStmt, bound: list[Var]) -> str:
        """The line of a statement; what it defines for the rest of its list is added to `bound`."""
        if isinstance(stmt, For):
            start, stop = self.names.expr(stmt.start), self.names.expr(stmt.stop)
            step = f" by {stmt.step}" if stmt.step != 1 else ""
            return f"for {self.names.bind(stmt.var)} in {start} .. {stop}{step}{place(stmt.location)}"
        if isinstance(stmt, Let):
            value = self.names.expr(stmt.value)
            bound.append(stmt.var)
            return f"let {self.names.bind(stmt.var)} = {value}"
        if isinstance(stmt, Pointer):
            bound.append(stmt.var)
            end = "write" if stmt.write else "read"
            return f"let {self.names.bind(stmt.var)} = {end} address of {self.cb_names[stmt.cb]}"
        if isinstance(stmt, ReadTable):
            word = f"{self.names(stmt.table)}[{self.names.expr(stmt.index)}]"
            where = "" if stmt.cb is None else f" in {self.cb_names[stmt.cb]}"
            bound.append(stmt.var)
            return f"let {self.names.bind(stmt.var)} = {word}{where}"
        return self.leaf(stmt)

    def leaf(
        self,
        stmt: If
        | Assign
        | Source
        | Task
        | Receive
        | Hand
        | Held
        | CbCall
        | MakeTile
        | ReadRow
        | ZeroRow
        | WriteRow
        | ReadTile
        | ZeroTile
        | WriteTile
        | Barrier
        | MatmulBlock
        | ReduceTile
        | BinaryTiles
        | CopyTile
        | TransposeTile
        | TransposeDst
        | FillTile
        | Sfpu
        | PackTile
        | DstUse
        | DstCall
        | Startup
        | Init
        | Uninit
        | EndBlock
        | Reconfig
        | L1Accumulate,
    ) -> str:
        names, cbs = self.names, self.cb_names
        match stmt:
            case If():
                return f"if {names.expr(stmt.condition)}"
            case Assign():
                return f"set {names.see(stmt.var)} = {names.expr(stmt.value)}"
            case Source():
                return place(stmt.location).strip()
            case Task():
                parts = (*stmt.stmt.sums, *stmt.stmt.results) if isinstance(stmt.stmt, Section) else (stmt.stmt,)
                return f"{'; '.join(stmt_text(part, names) for part in parts)}{place(stmt.stmt.location)}"
            case Receive():
                return f"receive {names(stmt.buffer)}"
            case Hand():
                return f"hand {names(stmt.buffer)}"
            case Held():
                return "held"
            case CbCall():
                return f"{_CB_WORD[stmt.kind]} {cbs[stmt.cb]} {stmt.pages}"
            case MakeTile():
                tile = f"{cbs[stmt.cb]}[{names.expr(stmt.slot)}]"
                return f"make {constant_text(stmt.constant)} -> {tile} at {names(stmt.base)}"
            case ReadRow():
                return f"read {self.row_of(stmt)} -> {self.row(stmt.place)}"
            case ZeroRow():
                return f"zero {self.row(stmt.place)}"
            case WriteRow():
                return f"write {self.row(stmt.place)} -> {self.row_of(stmt)}"
            case ReadTile():
                part = "first row of " if stmt.first_row else ""
                page = f"{part}{names(stmt.tensor)} page {names.expr(stmt.page)}"
                return f"read {page} -> {self.slot(stmt.cb, stmt.slot)} at {names(stmt.base)}"
            case ZeroTile():
                return f"zero {self.slot(stmt.cb, stmt.slot)} at {names(stmt.base)}"
            case WriteTile():
                page = f"{names(stmt.tensor)} page {names.expr(stmt.page)}"
                return f"write {self.slot(stmt.cb, stmt.slot)} at {names(stmt.base)} -> {page}"
            case Barrier():
                return _BARRIER_WORD[stmt.kind]
            case (
                MatmulBlock()
                | ReduceTile()
                | BinaryTiles()
                | CopyTile()
                | TransposeTile()
                | TransposeDst()
                | FillTile()
                | Sfpu()
                | PackTile()
            ):
                return self.in_dst(stmt)
            case DstUse():
                return "math"
            case DstCall():
                return _DST_WORD[stmt.kind]
            case EndBlock():
                return "end of block"
            case Startup() | Init() | Uninit() | Reconfig() | L1Accumulate():
                return self.engine(stmt)

    def row_of(self, stmt: ReadRow | WriteRow) -> str:
        return f"{self.names(stmt.tensor)} page {self.names.expr(stmt.page)} from tile {self.names.expr(stmt.col)}"

    def row(self, place: RowPlace) -> str:
        steps = f"steps {place.row_step} and {place.col_step}"
        row = f"{self.cb_names[place.cb]} row {self.names.expr(place.row)}"
        return f"{row} at {self.names(place.base)}, {place.tiles} tiles, {steps}"

    def slot(self, cb: Cb, index: Expr) -> str:
        return f"{self.cb_names[cb]}[{self.names.expr(index)}]"

    def dst(self, index: Expr | int) -> str:
        return f"DST[{index if isinstance(index, int) else self.names.expr(index)}]"

    def in_dst(
        self,
        stmt: MatmulBlock
        | ReduceTile
        | BinaryTiles
        | CopyTile
        | TransposeTile
        | TransposeDst
        | FillTile
        | Sfpu
        | PackTile,
    ) -> str:
        match stmt:
            case MatmulBlock():
                a, b = self.slot(stmt.a, stmt.a_index), self.slot(stmt.b, stmt.b_index)
                transposed = "^T" if stmt.transpose else ""
                shape = f"{size(stmt.rows, stmt.cols)} tiles, A stride {stmt.a_stride}"
                return f"matmul {a}, {b}{transposed} -> {self.dst(stmt.dst)}, {shape}"
            case ReduceTile():
                along = "row" if stmt.along_columns else "column"
                return f"maxima of each {along} of {self.slot(stmt.cb, stmt.index)} -> {self.dst(stmt.dst)}"
            case BinaryTiles():
                a, b = self.slot(stmt.a, stmt.a_index), self.slot(stmt.b, stmt.b_index)
                return f"{stmt.instruction.name} {a}, {b} -> {self.dst(stmt.dst)}"
            case CopyTile():
                return f"copy {self.slot(stmt.cb, stmt.index)} -> {self.dst(stmt.dst)}"
            case TransposeTile():
                return f"transpose {self.slot(stmt.cb, stmt.index)} -> {self.dst(stmt.dst)}"
            case TransposeDst():
                return f"transpose {self.dst(stmt.dst)}"
            case FillTile():
                return f"fill {self.dst(stmt.dst)} = {self.number(stmt.value)}"
            case Sfpu():
                return self.sfpu(stmt)
            case PackTile():
                always = scalar.int_value(stmt.overwrite)
                adding = {None: f", adding unless {self.names.expr(stmt.overwrite)}", 0: ", adding"}.get(always, "")
                return f"pack {self.dst(stmt.dst)} -> {self.slot(stmt.cb, stmt.index)}{adding}"

    def number(self, number: float | Expr) -> str:
        return self.names.expr(number) if scalar.is_expr(number) else number_text(number)

    def sfpu(self, stmt: Sfpu) -> str:
        """The instruction by the name of its call."""
        operands = [self.dst(index) for index in stmt.operands]
        if stmt.number is not None:
            operands.append(self.number(stmt.number))
        return f"sfpu {stmt.instruction.name} {', '.join(operands)} -> {self.dst(stmt.out)}"

    def engine(self, stmt: Startup | Init | Uninit | Reconfig | L1Accumulate) -> str:
        cbs = self.cb_names
        match stmt:
            case Startup():
                order = ", reversed" if stmt.reverse else ""
                return f"startup {cbs[stmt.a]}, {cbs[stmt.b]} -> {cbs[stmt.out]}{order}"
            case Init():
                return f"init {self.mode(stmt.mode)}"
            case Uninit():
                return f"undo maxima of {cbs[stmt.cb]}"
            case Reconfig():
                old = f"{cbs[stmt.old]} -> " if stmt.old is not None else ""
                return f"reconfig {_UNIT_WORD[stmt.unit]} {old}{cbs[stmt.new]}"
            case L1Accumulate():
                return f"accumulate in L1 where {self.names.expr(stmt.on)}"

    def mode(self, mode: Mode | SfpuMode) -> str:
        match mode:
            case MatmulMode():
                transposed = "^T" if mode.transpose else ""
                shape = f"{size(mode.rows, mode.cols)} tiles, A stride {mode.a_stride}"
                return f"matmul {self.cb_names[mode.a]}, {self.cb_names[mode.b]}{transposed}, {shape}"
            case ReduceMode():
                along = "row" if mode.along_columns else "column"
                cb, scaler, out = (self.cb_names[cb] for cb in (mode.cb, mode.scaler, mode.out))
                return f"maxima of each {along} of {cb} by {scaler} -> {out}"
            case BinaryMode():
                return f"{mode.instruction.name} {self.cb_names[mode.a]}, {self.cb_names[mode.b]}"
            case CopyMode():
                return f"copy {self.cb_names[mode.cb]}"
            case TransposeMode():
                return f"transpose {self.cb_names[mode.cb]}"
            case TransposeDstMode():
                return "transpose in DST"
            case SfpuMode():
                return f"sfpu {mode.init}"
