"""Lift a TileLang function to a tile program: the only code that walks TIR.

    before   for k in T.serial(16, annotations={"num_stages": 3}):
                 T.copy(T.region(A[by * 128, k * 64], 1, 128, 64), T.region(A_s[0, 0], 2, 128, 64))
    after    Loop k < 16 stages 3
                 Copy A[by * 128, k * 64 : 128 x 64] -> A_s

Meaning comes from operators, scopes, indices and loop kinds, never from names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tvm import tirx

from tilelang_tt.arch import TILE
from tilelang_tt.compiled import Decision
from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.formats import DTYPES, INTEGERS
from tilelang_tt.frontend.elementwise import lift_parallel
from tilelang_tt.frontend.expression import constant
from tilelang_tt.frontend.integers import lower_integers
from tilelang_tt.frontend.refuse import DROP_BARRIER, HARMLESS, location_of, macro_note, refuse_gpu_code, thread_index
from tilelang_tt.frontend.shared_passes import run_shared_passes
from tilelang_tt.ir import scalar
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tile import (
    Apply,
    Branch,
    Buffer,
    Copy,
    Element,
    ElementExpr,
    Fill,
    Gemm,
    Launch,
    Loop,
    Map,
    Memory,
    Number,
    Part,
    Read,
    Reduce,
    Region,
    ScalarParam,
    Set,
    Stmt,
    Tensor,
    TileProgram,
    unique_name,
    walk,
    whole,
)
from tilelang_tt.ops.derived import apply
from tilelang_tt.options import Options

_MEMORY = {
    "shared": Memory.SHARED,
    "shared.dyn": Memory.SHARED,
    "local.fragment": Memory.FRAGMENT,
    "local": Memory.FRAGMENT,
    "local.var": Memory.FRAGMENT,  # a float: whole numbers are variables of the kernels
}

_SAME_TYPE = {"custom[tfloat32]": "float32"}  # what the matrix engine makes of it anyway

# What to write instead of a buffer that lives elsewhere.
_INSTEAD_OF_SCOPE = {
    "global": "pass it as a tensor parameter",
    "shared.barrier": DROP_BARRIER,
    "shared.tmem": "use T.alloc_fragment for accumulators",
}

# kind of T.reduce -> (reduction, applied before, applied after)
_REDUCTIONS: dict[str, tuple[str, str | None, str | None]] = {
    "sum": ("sum", None, None),
    "max": ("max", None, None),
    "min": ("max", "negate", "negate"),
    "abssum": ("sum", "abs", None),
    "absmax": ("max", "abs", None),
}

# What to declare instead of an element type the chip has no room for.
_INSTEAD_OF_DTYPE = {
    "int64": "the chip has no 64-bit numbers: declare int32, and pass tensor.to(torch.int32)",
    "uint64": "the chip has no 64-bit numbers: declare uint32, and pass tensor.to(torch.uint32)",
    "float64": "the chip has no 64-bit numbers: declare float32, and pass tensor.to(torch.float32)",
}

# Attributes and annotations that only tune GPU code: harmless, but the user is told.
_IGNORED_HINTS = {
    "threadblock_swizzle_pattern": "T.use_swizzle ignored: units are dealt to cores in row-major runs",
    "layout_map": "T.annotate_layout ignored: tiles have one fixed layout in L1",
    "padding_map": "padding annotation ignored: tails are padded with zero tiles",
    "l2_hit_ratio_map": "T.annotate_l2_hit_ratio ignored: tensors lie in DRAM, there is no L2",
    "cluster_dims": "cluster_dims ignored: every core reads its own tiles",
    "tl.assume_requires_runtime_check": "T.assume ignored: nothing here depends on it",
    "tl.assume": "",  # T.assume, and what TileLang knows about shapes
    "tl.launch_threads": "",  # every T.Kernel has it
}


@dataclass(frozen=True)
class _Operand:
    """A block that an operation works on: the user's, or a copy of a part of it."""

    buffer: Buffer
    take: tuple[Stmt, ...]  # fills the copy
    put: tuple[Stmt, ...]  # puts it back


def lift(func: tirx.PrimFunc, options: Options) -> TileProgram:
    """The tile program of a function as the user wrote it."""
    refuse_gpu_code(func)
    return _Lifter(run_shared_passes(func), options).program()


class _Lifter:
    def __init__(self, func: tirx.PrimFunc, options: Options) -> None:
        self.func = func
        self.options = options
        self.tensors: dict[Any, Tensor] = {}  # TIR buffer -> tensor
        self.buffers: dict[Any, Buffer] = {}  # TIR buffer -> on-chip buffer, of the launch being lifted
        self.names: set[str] = set()
        self.values: dict[Var, Expr] = {}  # loop variables that start elsewhere than 0
        self.decisions: list[Decision] = []
        self.location: Location | None = None  # of the statement being lifted
        self.signed: set[Var] = set()  # scalar parameters, and elements of tables
        self.tables: dict[Tensor, Tensor] = {}  # tensor -> the view of it as a table
        self.cells: dict[Any, Var] = {}  # T.alloc_var of whole numbers -> its variable
        self.copies: dict[Any, Region] = {}  # on-chip integers -> the box of a tensor they are a copy of
        self.pending: list[Read] = []  # elements of tables that the statement being lifted needs

    # --- the function -----------------------------------------------------------------------------

    def program(self) -> TileProgram:
        params = tuple(self.param(index, var) for index, var in enumerate(self.func.params))
        self.signed = scalars = {param.var for param in params if isinstance(param, ScalarParam)}
        sizes: dict[Var, None] = {}
        for tensor in self.tensors.values():
            for extent in tensor.shape:
                sizes.update((v, None) for v in scalar.variables(extent) if v not in scalars)
        launches = _numbered(self.launches(self.func.body, ()))
        if not launches:
            raise UnsupportedError(
                "TT103", f"function '{self.name}' has no T.Kernel", help="add one: with T.Kernel(...) as ..."
            )
        launches = [lower_integers(launch, self.options) for launch in launches]
        return TileProgram(
            self.name,
            params,
            tuple(sizes),
            tuple(launches),
            self.options,
            decisions=tuple(self.decisions),
            views=tuple(self.tables.values()),
        )

    @property
    def name(self) -> str:
        return str(self.func.attrs["global_symbol"]) if "global_symbol" in self.func.attrs else "main"

    def unique(self, name: str) -> str:
        """A C++ identifier near `name` that nothing else in the program has."""
        base = "".join(c if c.isalnum() or c == "_" else "_" for c in name) or "buffer"
        base = base if not base[0].isdigit() else f"_{base}"
        candidate = unique_name(base, self.names)
        self.names.add(candidate)
        return candidate

    def param(self, index: int, var: Any) -> Tensor | ScalarParam:
        if var not in self.func.buffer_map:
            return ScalarParam(self.unique(str(var.name)), str(var.dtype), var)
        buffer = self.func.buffer_map[var]
        dtype = self.dtype(buffer, location_of(buffer))
        tensor = Tensor(self.unique(str(buffer.name)), index, dtype, tuple(buffer.shape))
        self.check_contiguous(buffer, tensor)
        self.tensors[buffer] = tensor
        return tensor

    def check_contiguous(self, buffer: Any, tensor: Tensor) -> None:
        expected: Expr = scalar.const(1)
        for extent, stride in zip(reversed(tensor.shape), reversed(list(buffer.strides)), strict=False):
            if not scalar.equal(stride, expected):
                raise UnsupportedError(
                    "TT105",
                    f"tensor '{tensor.name}' has strides; only contiguous tensors are supported",
                    location=location_of(buffer),
                    help="declare it as T.Tensor and pass a contiguous tensor",
                )
            expected = scalar.simplify(expected * extent)

    def dtype(self, buffer: Any, location: Location | None) -> str:
        dtype = _SAME_TYPE.get(str(buffer.dtype), str(buffer.dtype))
        if dtype not in DTYPES:
            raise UnsupportedError(
                "TT110",
                f"'{buffer.name}' has dtype {dtype}, which this version does not support",
                location=location,
                help=_INSTEAD_OF_DTYPE.get(dtype, f"use one of {', '.join(DTYPES)}"),
            )
        return dtype

    # --- launches ---------------------------------------------------------------------------------

    def launches(self, stmt: Any, blocks: tuple[tuple[Var, Expr], ...]) -> list[Launch]:
        """Every T.Kernel below `stmt`, in order."""
        if isinstance(stmt, tirx.SeqStmt):
            return [launch for part in stmt.seq for launch in self.launches(part, blocks)]
        if isinstance(stmt, tirx.AttrStmt):
            if stmt.attr_key == "thread_extent":
                return self.launches(stmt.body, (*blocks, (stmt.node.var, stmt.value)))
            if stmt.attr_key == "tl.assume":
                return self.launches(stmt.body, blocks)
        if isinstance(stmt, tirx.SBlockRealize):
            if blocks:
                return [self.launch(stmt, blocks)]
            return self.launches(stmt.block.body, blocks)
        if isinstance(stmt, tirx.Evaluate) and not isinstance(stmt.value, tirx.Call):
            return []  # what an empty function consists of
        raise UnsupportedError(
            "TT106",
            f"{type(stmt).__name__} outside a T.Kernel",
            location=location_of(stmt),
            help="move the statement into the T.Kernel block",
        )

    def launch(self, stmt: Any, blocks: tuple[tuple[Var, Expr], ...]) -> Launch:
        block, location = stmt.block, location_of(stmt)
        self.location = location
        self.buffers = {}
        for buffer in block.alloc_buffers:
            self.allocate(buffer)
        for key in block.annotations:
            self.hint(str(key), location)
        body = self.body(block.body)
        body = (*_blank_around_parts(body), *body)
        return Launch(
            self.name,
            tuple((var, scalar.simplify(extent)) for var, extent in blocks),
            tuple(self.buffers.values()),
            body,
            location,
            tensor_names=frozenset(tensor.name for tensor in self.tensors.values()),
        )

    def hint(self, key: str, location: Location | None) -> None:
        if key not in _IGNORED_HINTS:
            raise UnsupportedError(
                "TT107",
                f"annotation '{key}' is not known to this backend",
                location=location,
                help="remove it",
            )
        if _IGNORED_HINTS[key]:
            self.decisions.append(Decision("lift", key, _IGNORED_HINTS[key], location))

    def allocate(self, buffer: Any) -> None:
        scope, location = str(buffer.scope()), location_of(buffer)
        if scope == "local.var" and not str(buffer.dtype).startswith("float"):
            self.cells[buffer] = cell = tirx.Var(self.unique(str(buffer.name)), "int32")
            self.signed.add(cell)
            return
        if scope not in _MEMORY:
            raise UnsupportedError(
                "TT108",
                f"'{buffer.name}' has scope '{scope}', which this version does not support",
                location=location,
                help=_INSTEAD_OF_SCOPE.get(scope, "use T.alloc_shared or T.alloc_fragment"),
            )
        shape = tuple(scalar.int_value(extent) for extent in buffer.shape)
        static = tuple(extent for extent in shape if extent is not None)
        if len(static) != len(shape):
            raise UnsupportedError(
                "TT109",
                f"'{buffer.name}' has a shape known only at run time: {list(buffer.shape)}",
                location=location,
                help="on-chip buffers need constant shapes",
            )
        axes = tuple(extent for extent in static if extent != 1)  # the others have nothing to say
        self.buffers[buffer] = Buffer(
            self.unique(str(buffer.name)), self.dtype(buffer, location), axes, _MEMORY[scope], location
        )

    def temporary(self, like: str, dtype: str, shape: tuple[int, ...], location: Location | None) -> Buffer:
        """A block the user did not name, to carry tensor elements through L1."""
        buffer = Buffer(self.unique(f"{like}_tile"), dtype, shape, Memory.SHARED, location)
        self.buffers[buffer] = buffer
        return buffer

    def kept(self, tir: Any, location: Location | None) -> tuple[Any, Buffer]:
        """A block like another one, under a TIR buffer of its own."""
        like = self.buffers[tir]
        copy = self.temporary(like.name, like.dtype, like.shape, location)
        key = tirx.decl_buffer(tir.shape, tir.dtype, copy.name)
        self.buffers[key] = self.buffers.pop(copy)
        return key, copy

    # --- statements -------------------------------------------------------------------------------

    def body(self, stmt: Any) -> tuple[Stmt, ...]:
        if isinstance(stmt, tirx.SeqStmt):
            return tuple(lifted for part in stmt.seq for lifted in self.body(part))
        around, outer = self.location, self.pending
        self.location = location = location_of(stmt) or around
        self.pending = []
        result = self.located(stmt, location)
        result = (*self.pending, *result)
        self.location, self.pending = around, outer
        return result

    def located(self, stmt: Any, location: Location | None) -> tuple[Stmt, ...]:
        """A statement whose line, or the user's line around it, is known."""
        if isinstance(stmt, tirx.AttrStmt):
            self.hint(str(stmt.attr_key), location)
            return self.body(stmt.body)
        if isinstance(stmt, tirx.SBlockRealize):
            for buffer in stmt.block.alloc_buffers:
                self.allocate(buffer)
            return self.body(stmt.block.body)
        if isinstance(stmt, tirx.For):
            return self.loop(stmt, location)
        if isinstance(stmt, tirx.IfThenElse):
            otherwise = self.body(stmt.else_case) if stmt.else_case is not None else ()
            return (Branch(self.expr(stmt.condition, location), self.body(stmt.then_case), otherwise, location),)
        if isinstance(stmt, tirx.Evaluate):
            return self.evaluate(stmt, location)
        if isinstance(stmt, tirx.BufferStore) and stmt.buffer in self.cells:
            return (Set(self.cells[stmt.buffer], self.expr(stmt.value, location), location),)
        if isinstance(stmt, tirx.BufferStore) and self.is_scalar(stmt.buffer):
            return lift_parallel(self, stmt, location)
        what, instead = type(stmt).__name__, "express it with T.serial, T.Parallel and tile operations"
        if isinstance(stmt, tirx.BufferStore):
            what, instead = "a scalar store outside T.Parallel", "use T.Parallel over a whole block, or T.copy"
        raise UnsupportedError("TT111", f"{what} is not supported by this version", location=location, help=instead)

    def is_scalar(self, buffer: Any) -> bool:
        return buffer in self.buffers and not self.buffers[buffer].shape

    def loop(self, stmt: Any, location: Location | None) -> tuple[Stmt, ...]:
        if stmt.kind == tirx.ForKind.PARALLEL:
            return lift_parallel(self, stmt, location)
        if stmt.kind == tirx.ForKind.THREAD_BINDING:
            raise thread_index(str(stmt.loop_var.name), location)
        minimum = self.expr(stmt.min, location)
        if scalar.int_value(minimum) != 0:
            self.values[stmt.loop_var] = stmt.loop_var + minimum
        stages = max(0, int(stmt.annotations.get("num_stages", 0)))
        body = self.body(stmt.body)
        self.values.pop(stmt.loop_var, None)
        extent = scalar.at_least_zero(self.expr(stmt.extent, location), self.signed)
        return (Loop(stmt.loop_var, extent, body, stages, location),)

    def expr(self, expr: Any, location: Location | None) -> Expr:
        """A scalar of the program, with shifted loop variables made explicit."""
        result = scalar.substitute(expr, self.values) if self.values else scalar.simplify(expr)
        result = scalar.replace_loads(result, lambda load: self.element(load, location))
        if not scalar.supported(result):
            raise UnsupportedError(
                "TT112",
                f"index or condition '{result}' is more than whole-number arithmetic on known values",
                location=location,
                help="use + - * // % min max and comparisons of block indices, loop variables, sizes and constants",
            )
        return result

    def is_number(self, buffer: Any) -> bool:
        """Whether elements of a buffer are numbers that every kernel can know: tensors, copies of them, T.alloc_var."""
        return buffer in self.tensors or buffer in self.cells or buffer in self.copies

    def element(self, load: Any, location: Location | None) -> Var:
        """The variable that holds an element of a tensor: read before the statement being lifted."""
        if load.buffer in self.cells:
            return self.cells[load.buffer]
        if load.buffer in self.copies:
            region = self.copies[load.buffer]
            starts = iter(load.indices)
            indices = [
                start + next(starts) if extent != 1 else start
                for start, extent in zip(region.mins, region.extents, strict=True)
            ]
            return self.number_of(region.source, indices, location)
        source = self.source(load.buffer, location)
        if isinstance(source, Buffer):
            raise UnsupportedError(
                "TT138",
                f"an element of '{source.name}' steers the kernel; it is computed on the chip",
                location=location,
                help="read the number from a tensor parameter",
            )
        return self.number_of(source, load.indices, location)

    def number_of(self, source: Any, indices: Any, location: Location | None) -> Var:
        number = scalar.const(0)
        for extent, index in zip(source.shape, indices, strict=True):
            number = number * extent + self.expr(index, location)
        number = scalar.simplify(number)
        for read in self.pending:
            if self.tables.get(source) is read.table and scalar.same_form(read.index, number):
                return read.var
        table = self.tables.setdefault(source, replace(source, name=self.unique(f"{source.name}_table")))
        dtype = "float32" if "float" in source.dtype else "int32"
        var = tirx.Var(self.unique(f"{source.name}_value"), dtype)
        self.signed.add(var)
        self.pending.append(Read(var, table, number, location))
        return var

    def evaluate(self, stmt: Any, location: Location | None) -> tuple[Stmt, ...]:
        call = stmt.value
        if not isinstance(call, tirx.Call):
            return ()  # a bare value does nothing
        op = str(getattr(call.op, "name", call.op))
        if op in HARMLESS:
            self.decisions.append(Decision("lift", op, HARMLESS[op], location))
            return ()
        if op == "tl.tileop.copy":
            return self.copy(call, location)
        if op == "tl.tileop.fill":
            target = self.block(call.args[0], location, written=True)
            return (Fill(target.buffer, self.number(call.args[1], location), location), *target.put)
        if op == "tl.tileop.gemm":
            return self.gemm(call, location)
        if op == "tl.tileop.reduce":
            return self.reduce(call, location)
        raise UnsupportedError(
            "TT113",
            f"{op} is not supported by this version",
            location=location,
            notes=macro_note(stmt),
            help="supported tile operations: T.copy, T.fill, T.clear, T.gemm, T.reduce_*, T.Parallel",
        )

    def number(self, value: Any, location: Location | None) -> float:
        if isinstance(value, tirx.Cast):
            return self.number(value.value, location)
        number = constant(value)
        if number is not None:
            return number
        raise UnsupportedError(
            "TT114",
            f"T.fill with '{value}': only constants are supported",
            location=location,
            help="fill with a number",
        )

    # --- regions ----------------------------------------------------------------------------------

    def region(self, call: Any, location: Location | None) -> Region:
        load = call.args[0]
        extents = tuple(scalar.int_value(extent) for extent in call.args[2:])
        static = tuple(extent for extent in extents if extent is not None)
        if len(static) != len(extents):
            raise UnsupportedError(
                "TT115",
                f"region of '{load.buffer.name}' has an extent known only at run time",
                location=location,
                help="copy blocks of constant size; tails are cut by the tensor's bounds",
            )
        source = self.source(load.buffer, location)
        mins = tuple(self.expr(index, location) for index in load.indices)
        if isinstance(source, Buffer):
            axes = [axis for axis, extent in enumerate(load.buffer.shape) if scalar.int_value(extent) != 1]
            return Region(source, tuple(mins[axis] for axis in axes), tuple(static[axis] for axis in axes))
        return Region(source, mins, static)

    def source(self, buffer: Any, location: Location | None) -> Tensor | Buffer:
        if buffer in self.tensors:
            return self.tensors[buffer]
        if buffer in self.buffers:
            return self.buffers[buffer]
        raise UnsupportedError(
            "TT116",
            f"'{buffer.name}' is a view or alias of another buffer",
            location=location,
            help="use the buffer itself",
        )

    def block(self, call: Any, location: Location | None, *, written: bool = False) -> _Operand:
        """The on-chip block that a region is, or a copy of the part that it covers."""
        region = self.region(call, location)
        if isinstance(region.source, Tensor):
            raise UnsupportedError(
                "TT117",
                f"'{region.source.name}' is a tensor; this operation works on on-chip buffers",
                location=location,
                help="T.copy it to a T.alloc_shared block first",
            )
        return self.operand(region, location, written=written)

    def operand(self, region: Region, location: Location | None, *, written: bool) -> _Operand:
        """A part that is read may end inside a tile: what it brings along lies behind its end."""
        source = region.source
        assert isinstance(source, Buffer)
        if region.extents == source.shape and all(scalar.int_value(low) == 0 for low in region.mins):
            return _Operand(source, (), ())
        for axis, (low, extent) in enumerate(zip(region.mins, region.extents, strict=True)):
            ends = scalar.equal(low + extent, source.shape[axis])
            tiles = scalar.granularity(low) % TILE == 0 and (extent % TILE == 0 or ends or not written)
            if not (tiles if axis >= len(source.shape) - 2 else extent == 1):
                raise UnsupportedError(
                    "TT118",
                    f"part of '{source.name}' is used that is not made of whole 32x32 tiles",
                    location=location,
                    help="let parts of on-chip buffers start and end at multiples of 32",
                )
        shape = tuple(extent for extent in region.extents if extent != 1)
        copy = self.temporary(source.name, source.dtype, shape, location)
        walked = iter(range(len(shape)))
        axes = tuple(None if extent == 1 else next(walked) for extent in region.extents)
        take = Map(copy, Element(source, axes, region.mins), location)
        put = Map(source, Element(copy), location, Part(region.mins, region.extents))
        return _Operand(copy, (take,), (put,))

    # --- tile operations --------------------------------------------------------------------------

    def copy(self, call: Any, location: Location | None) -> tuple[Stmt, ...]:
        src, dst = self.region(call.args[0], location), self.region(call.args[1], location)
        target = call.args[1].args[0].buffer
        if isinstance(src.source, Tensor) and isinstance(dst.source, Buffer) and dst.source.dtype in INTEGERS:
            self.copies[target] = src
        self.check_same_box(src, dst, location)
        before: tuple[Stmt, ...] = ()
        after: tuple[Stmt, ...] = ()
        if isinstance(src.source, Buffer):
            source = self.operand(src, location, written=False)
            src, before = whole(source.buffer), source.take
        if isinstance(dst.source, Buffer):
            result = self.operand(dst, location, written=True)
            dst, after = whole(result.buffer), result.put
        if isinstance(src.source, Tensor) and isinstance(dst.source, Tensor):
            box = tuple(extent for extent in src.extents if extent != 1)
            middle = whole(self.temporary(src.source.name, src.source.dtype, box, location))
            return (Copy(src, middle, location), Copy(middle, dst, location))
        return (*before, Copy(src, dst, location), *after)

    def check_same_box(self, src: Region, dst: Region, location: Location | None) -> None:
        if [e for e in src.extents if e != 1] != [e for e in dst.extents if e != 1]:
            shape = ["x".join(map(str, region.extents)) for region in (src, dst)]
            raise UnsupportedError(
                "TT119",
                f"T.copy between boxes of different shape: {shape[0]} to {shape[1]}",
                location=location,
                help="make the shapes equal",
            )

    def gemm(self, call: Any, location: Location | None) -> tuple[Stmt, ...]:
        a, b = (self.block(arg, location) for arg in call.args[:2])
        c = self.block(call.args[2], location, written=True)
        transpose_a, transpose_b = bool(call.args[3]), bool(call.args[4])
        clear = self.expr(call.args[9], location)
        self.check_gemm(a.buffer, b.buffer, c.buffer, location)
        product = Gemm(a.buffer, b.buffer, c.buffer, transpose_a, transpose_b, clear, location=location)
        old = () if scalar.int_value(clear) == 1 else c.take
        return (*a.take, *b.take, *old, product, *c.put)

    def reduce(self, call: Any, location: Location | None) -> tuple[Stmt, ...]:
        """Sums and maxima as they are; the others by way of |x| or -x."""
        source = self.block(call.args[0], location)
        result_block = self.block(call.args[1], location, written=True)
        src, dst = source.buffer, result_block.buffer
        old = () if bool(call.args[4]) else result_block.take
        kind, clear = str(call.args[2].value), bool(call.args[4])
        shape = call.args[0].args[0].buffer.shape
        dim = int(call.args[3]) % len(shape)
        if kind not in _REDUCTIONS:
            raise UnsupportedError(
                "TT113",
                f"T.reduce_{kind} is not supported by this version",
                location=location,
                help=f"supported: {', '.join(_REDUCTIONS)}",
            )
        op, before, after = _REDUCTIONS[kind]
        if scalar.int_value(shape[dim]) == 1:
            value: ElementExpr = Apply("abs", (Element(src),)) if kind.startswith("abs") else Element(src)
            combine = {"sum": "add", "max": "min" if kind == "min" else "max"}[op]
            value = value if clear else Apply(combine, (Element(dst), value))
            return (*source.take, *old, Map(dst, value, location), *result_block.put)
        axis = sum(1 for extent in list(shape)[:dim] if scalar.int_value(extent) != 1)
        result: list[Stmt] = [*source.take, *old]
        if before is not None:
            block = self.temporary(src.name, src.dtype, src.shape, location)
            result.append(Map(block, _prepared(before, src), location))
            src = block
        if after is None and (clear or op == "sum"):
            return (*result, Reduce(op, src, dst, axis, clear, location), *result_block.put)
        part = self.temporary(dst.name, dst.dtype, dst.shape, location)
        value = Element(part) if after is None else _prepared(after, part)
        if not clear:
            value = Apply("max" if after is None else "min", (Element(dst), value))
        reduce = Reduce(op, src, part, axis, True, location)
        return (*result, reduce, Map(dst, value, location), *result_block.put)

    def check_gemm(self, a: Buffer, b: Buffer, c: Buffer, location: Location | None) -> None:
        """Shapes agree already: T.gemm itself checks them."""
        if any(len(buffer.shape) != 2 for buffer in (a, b, c)):
            raise UnsupportedError(
                "TT120", "T.gemm needs 2-D operands", location=location, help="allocate them without unit axes"
            )
        if c in (a, b):
            raise UnsupportedError(
                "TT121",
                f"T.gemm adds to '{c.name}', which is also one of its operands",
                location=location,
                help="give it an accumulator of its own",
            )


def _blank_around_parts(body: tuple[Stmt, ...]) -> list[Stmt]:
    """Zeros for blocks that are written part by part: all their tiles go together when they are read."""
    parts = dict.fromkeys(stmt.dst for stmt in walk(body) if isinstance(stmt, Map) and stmt.part is not None)
    return [Fill(buffer, 0.0) for buffer in parts]


def _prepared(function: str, buffer: Buffer) -> ElementExpr:
    """What is done to elements before or after a reduction."""
    return apply("mul", Element(buffer), Number(-1.0)) if function == "negate" else apply(function, Element(buffer))


def _numbered(launches: list[Launch]) -> list[Launch]:
    """Launches of one function told apart by their names."""
    if len(launches) == 1:
        return launches
    return [replace(launch, name=f"{launch.name}_{number}") for number, launch in enumerate(launches)]
