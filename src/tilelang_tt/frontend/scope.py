"""What is known of a function while it is lifted: tensors, blocks, names, and the numbers that control flow depends on.

A : TIR buffer of a parameter      -> Tensor
A_shared : TIR buffer of a block   -> Buffer
table[bx] in an index              -> a variable, and a Read of it before the statement
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from math import prod

from tvm import tirx

from tilelang_tt.compiled import Decision
from tilelang_tt.diagnostics import Location, UnsupportedError, warn
from tilelang_tt.formats import DTYPES, INTEGERS, STEERING_DTYPES
from tilelang_tt.frontend.lift_expression import SAME_TYPE, constant, not_arithmetic
from tilelang_tt.frontend.refuse_gpu_code import DROP_BARRIER, HARMLESS, NOT_CHECKED, location_of
from tilelang_tt.ir import scalar, scalar_text
from tilelang_tt.ir.buffers import Buffer, Memory, Read, Tensor, identifier, unique_name
from tilelang_tt.ir.elements import Access, ElementExpr, Number, Scalar, value_type
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.scalar_forms import row_major_number
from tilelang_tt.ir.tile import Axis, Launch, ScalarParam
from tilelang_tt.ir.views import same_shape
from tilelang_tt.ops.expressions import apply, numeral
from tilelang_tt.options import Options

_MEMORY = {
    "shared": Memory.SHARED,
    "shared.dyn": Memory.SHARED,
    "local.fragment": Memory.FRAGMENT,
    "local": Memory.FRAGMENT,
    "local.reducer": Memory.FRAGMENT,
    "local.var": Memory.FRAGMENT,  # a float: whole numbers are variables of the kernels
}

# What to write instead of a buffer that lives elsewhere.
_INSTEAD_OF_SCOPE = {
    "global": "pass it as a tensor parameter",
    "shared.barrier": DROP_BARRIER,
    "shared.tmem": "use T.alloc_fragment for accumulators",
}
_ONLY_ON_GPUS = {"shared.tmem": "tensor memory"}

# What to declare instead of an element type the chip has no room for.
_INSTEAD_OF_DTYPE = {
    "int64": "the chip has no 64-bit numbers: declare int32, and pass tensor.to(torch.int32)",
    "uint64": "the chip has no 64-bit numbers: declare uint32, and pass tensor.to(torch.uint32)",
    "float64": "the chip has no 64-bit numbers: declare float32, and pass tensor.to(torch.float32)",
}


def unsupported_scope(buffer: tirx.Buffer) -> UnsupportedError:
    scope = str(buffer.scope())
    what = (
        f"{_ONLY_ON_GPUS[scope]}, which only GPUs have"
        if scope in _ONLY_ON_GPUS
        else "which this version does not support"
    )
    return UnsupportedError(
        "TT108",
        f"'{buffer.name}' has scope '{scope}', {what}",
        location=location_of(buffer),
        help=_INSTEAD_OF_SCOPE.get(scope, "use T.alloc_shared or T.alloc_fragment"),
    )


def constant_shape(buffer: tirx.Buffer) -> tuple[int, ...]:
    """Of a block: numbers, none of them 0."""
    shape = [scalar.int_value(extent) for extent in buffer.shape]
    known = tuple(extent for extent in shape if extent is not None)
    if len(known) != len(shape):
        fact, advice = (
            f"has a shape known only at run time: {list(buffer.shape)}",
            "on-chip buffers need constant shapes",
        )
    elif 0 in known:
        fact = f"has no elements: its shape is {list(known)}"
        advice = "give every axis an element at least; where there is nothing to do, leave the block and its use out"
    else:
        return known
    raise UnsupportedError("TT109", f"'{buffer.name}' {fact}", location=location_of(buffer), help=advice)


class Scope:
    def __init__(self, func: tirx.PrimFunc, options: Options) -> None:
        self.func = func
        self.options = options
        self.tensors: dict[tirx.Buffer, Tensor] = {}  # TIR buffer -> tensor
        self.tensor_views: dict[tirx.Buffer, Tensor] = {}  # TIR buffer -> tensor in another shape
        self.buffers: dict[tirx.Buffer, Buffer] = {}  # TIR buffer -> on-chip buffer, of the launch being lifted
        self.views: dict[Buffer, Buffer] = {}  # block in another shape -> block, of the launch being lifted
        self.accessed = _accessed(func.body)
        self.names: set[str] = set()
        self.values: dict[Var, Expr] = {}  # loop variables that start elsewhere than 0
        self.decisions: list[Decision] = []
        self.location: Location | None = None  # of the statement being lifted
        self.signed: set[Var] = set()  # scalar parameters, and elements of tables
        self.tables: dict[int, Tensor] = {}  # number of a parameter -> the view of it as a table
        self.cells: dict[tirx.Buffer, Var] = {}  # T.alloc_var of whole numbers -> its variable
        self.computed: set[tirx.Buffer] = set()  # those of them that only the chip knows: blocks
        self.steering: set[tirx.Buffer] = set()  # blocks of one whole number that are variables, too
        self.own: dict[tirx.Buffer, Access] = {}  # variables of T.Parallel -> the element of each iteration
        self.safe: dict[Tensor | Buffer, Number] = {}  # what reading past the end of a tensor gives
        self.partly_written: dict[Buffer, None] = {}  # blocks that hold zeros at first
        self.reducers: dict[Var, str] = {}  # data of a T.alloc_reducer -> how it combines
        self.updated: set[int] = set()  # numbers of tensors with atomic updates, of the launch being lifted
        self.pending: list[Read] = []  # numbers that the statement being lifted looks up

    # --- declarations -----------------------------------------------------------------------------

    def leave_out(self, op: str, location: Location | None) -> None:
        """An operation that changes nothing here; of an assertion the user is told."""
        self.decisions.append(Decision("lift", op, HARMLESS[op], location))
        if op in NOT_CHECKED:
            warn("TT703", HARMLESS[op], location=location, help="check the result on the host, or leave it out")

    def unique(self, name: str) -> str:
        """A C++ identifier near `name` that nothing else in the program has."""
        candidate = unique_name(identifier(name), self.names)
        self.names.add(candidate)
        return candidate

    def param(self, index: int, var: tirx.Var) -> Tensor | ScalarParam:
        if var not in self.func.buffer_map:
            return ScalarParam(self.unique(str(var.name)), str(var.dtype), var)
        buffer = self.func.buffer_map[var]
        dtype, location = str(buffer.dtype), location_of(buffer)
        dtype = dtype if dtype in STEERING_DTYPES else self.dtype(buffer, location)
        tensor = Tensor(self.unique(str(buffer.name)), index, dtype, tuple(buffer.shape), location=location)
        check_strides(self.func, buffer)
        self.tensors[buffer] = tensor
        self.reshape_tensor(buffer, tensor)
        return tensor

    def workspace(self, index: int, buffer: tirx.Buffer) -> Tensor:
        """T.alloc_global outside T.Kernel: DRAM between the launches of a function."""
        dtype = self.dtype(buffer, location_of(buffer))
        tensor = Tensor(self.unique(str(buffer.name)), index, dtype, tuple(buffer.shape), workspace=True)
        self.tensors[buffer] = tensor
        self.reshape_tensor(buffer, tensor)
        return tensor

    def dtype(self, buffer: tirx.Buffer, location: Location | None) -> str:
        dtype = SAME_TYPE.get(str(buffer.dtype), str(buffer.dtype))
        unused = str(buffer.scope()) == "global" and buffer.data not in self.accessed
        if dtype not in DTYPES and not unused:
            raise unsupported_dtype(str(buffer.name), dtype, location)
        return dtype

    def allocate(self, buffer: tirx.Buffer) -> None:
        scope, location = str(buffer.scope()), location_of(buffer)
        if buffer in self.computed:
            self.buffers[buffer] = block = Buffer(self.unique(str(buffer.name)), "int32", (), Memory.FRAGMENT, location)
            self.partly_written[block] = None
            return
        if buffer in self.steering or (scope == "local.var" and not str(buffer.dtype).startswith("float")):
            self.cells[buffer] = cell = tirx.Var(self.unique(str(buffer.name)), "int32")
            self.signed.add(cell)
            return
        if scope not in _MEMORY:
            raise unsupported_scope(buffer)
        axes = tuple(extent for extent in constant_shape(buffer) if extent != 1)  # the others have nothing to say
        dtype = self.dtype(buffer, location)
        self.buffers[buffer] = block = Buffer(self.unique(str(buffer.name)), dtype, axes, _MEMORY[scope], location)
        self.reshape_block(buffer, block)

    # --- T.reshape, T.view ------------------------------------------------------------------------

    def other_shapes(self, owner: tirx.Buffer) -> list[tirx.Buffer]:
        """Buffers that are the elements of another one, in the same order."""
        others = [buffer for buffer in self.accessed.get(owner.data, ()) if not buffer.same_as(owner)]
        return [buffer for buffer in others if buffer.dtype == owner.dtype and _same_order(buffer, owner)]

    def reshape_tensor(self, buffer: tirx.Buffer, tensor: Tensor) -> None:
        for other in self.other_shapes(buffer):
            shape = tuple(other.shape)
            if same_shape(shape, tensor.shape):
                self.tensor_views[other] = tensor
            else:
                name, location = self.unique(str(other.name)), location_of(other)
                self.tensor_views[other] = replace(tensor, name=name, shape=shape, location=location)

    def reshape_block(self, buffer: tirx.Buffer, block: Buffer) -> None:
        for other in self.other_shapes(buffer):
            shape = tuple(int(extent) for extent in other.shape if int(extent) != 1)
            if shape == block.shape:
                self.buffers[other] = block
            else:
                name, location = self.unique(str(other.name)), location_of(other)
                self.buffers[other] = view = replace(block, name=name, shape=shape, location=location)
                self.views[view] = block

    def temporary(
        self, like: str, dtype: str, shape: tuple[int, ...], location: Location | None, suffix: str = "tile"
    ) -> Buffer:
        """A block the user did not name."""
        buffer = Buffer(self.unique(f"{like}_{suffix}"), dtype, shape, Memory.SHARED, location)
        self.buffers[buffer] = buffer
        return buffer

    def each(self, variable: tirx.Buffer, axes: Sequence[Axis], location: Location | None) -> Buffer:
        """A block with an element of a variable for every iteration."""
        shape = tuple(axis.extent for axis in axes)
        block = Buffer(
            self.unique(str(variable.name)), self.dtype(variable, location), shape, Memory.FRAGMENT, location
        )
        self.buffers[block] = block
        return block

    def declared(self, like: str, dtype: str, shape: tuple[int, ...], location: Location | None) -> tirx.Buffer:
        """A block the user did not name, for TIR."""
        block = self.temporary(like, dtype, tuple(extent for extent in shape if extent != 1), location)
        key = tirx.decl_buffer(shape, dtype, block.name)
        self.buffers[key] = self.buffers.pop(block)
        return key

    def source(self, buffer: tirx.Buffer, location: Location | None) -> Tensor | Buffer:
        """Where a block of numbers is."""
        for known in (self.tensors, self.tensor_views, self.buffers):
            if buffer in known:
                return known[buffer]
        raise UnsupportedError(
            "TT116",
            f"'{buffer.name}' is a view or alias of another buffer",
            location=location,
            help="use the buffer itself",
        )

    # --- numbers ----------------------------------------------------------------------------------

    def expr(self, expr: tirx.PrimExpr, location: Location | None) -> Expr:
        """A scalar of the program, with shifted loop variables made explicit."""
        result = scalar.substitute(expr, self.values) if self.values else scalar.simplify(expr)
        result = scalar.replace_loads(result, lambda load: self.element(load, location))
        if not scalar_text.supported(result):
            raise not_arithmetic(result, location)
        return result

    @contextmanager
    def loop(self, stmt: tirx.Stmt, location: Location | None) -> Iterator[Expr]:
        """The number of rounds; inside, the loop's variable counts from where the user let it start."""
        minimum = self.expr(stmt.min, location)
        if scalar.int_value(minimum) != 0:
            self.values[stmt.loop_var] = stmt.loop_var + minimum
        yield scalar.at_least_zero(self.expr(stmt.extent, location), self.signed)
        self.values.pop(stmt.loop_var, None)

    @contextmanager
    def reads(self) -> Iterator[list[Read]]:
        """Elements of tables that what is lifted inside needs."""
        outer, self.pending = self.pending, []
        yield self.pending
        self.pending = outer

    def element(self, load: tirx.BufferLoad, location: Location | None) -> Var:
        """The variable that holds an element which steers: it is looked up before the statement being lifted."""
        if self.is_cell(load.buffer):
            return self.cells[load.buffer]
        access = self.access(load.buffer, load.indices, location)
        source = access.source
        number = row_major_number(access.indices, source.shape)
        if isinstance(source, Buffer) and source.dtype not in INTEGERS:
            raise computed_on_the_chip(source, location)
        table = source if isinstance(source, Buffer) else self.table(source)
        for read in self.pending:
            if read.source is table and scalar.same_form(read.index, number):
                return read.var
        dtype = "float32" if "float" in source.dtype else "int32"
        var = scalar.typed_var(self.unique(f"{source.name}_value"), dtype)
        self.signed.add(var)
        self.pending.append(Read(var, table, number, location))
        return var

    def table(self, tensor: Tensor) -> Tensor:
        if tensor.param not in self.tables:
            owner = next(one for one in self.tensors.values() if one.param == tensor.param)
            self.tables[tensor.param] = replace(owner, name=self.unique(f"{owner.name}_table"))
        return self.tables[tensor.param]

    def access(self, buffer: tirx.Buffer, indices: Sequence[tirx.PrimExpr], location: Location | None) -> Access:
        """An element of a tensor or block; axes of length 1 of a block are not there."""
        if buffer in self.own:
            return self.own[buffer]
        source = self.source(buffer, location)
        pairs = zip(buffer.shape, indices, strict=True)
        kept = [index for extent, index in pairs if isinstance(source, Tensor) or scalar.int_value(extent) != 1]
        return Access(source, tuple(self.expr(index, location) for index in kept))

    def guarded(self, access: Access) -> ElementExpr:
        """An element that is read; past the end of a tensor what T.annotate_safe_value says."""
        if access.source not in self.safe:
            return access
        shape: tuple[Expr | int, ...] = access.source.shape
        ends = zip(access.indices, shape, strict=True)
        tests = [test for index, extent in ends for test in (index >= 0, index < extent) if not scalar.always(test)]
        inside = reduce(scalar.both, tests, scalar.true())
        return apply("where", Scalar(inside, "bool"), access, self.safe[access.source])

    def safe_values(self, annotation: Mapping[Var, tirx.PrimExpr]) -> dict[Tensor | Buffer, Number]:
        """What T.annotate_safe_value says, tensor by tensor."""
        found, tensors = dict(annotation.items()), (self.tensors | self.tensor_views).items()
        values = {tensor: constant(found[buffer.data]) for buffer, tensor in tensors if buffer.data in found}
        return {one: numeral(value, value_type(one.dtype)) for one, value in values.items() if value is not None}

    def is_cell(self, buffer: tirx.Buffer) -> bool:
        """Whether a buffer is a whole number of the program that every kernel knows."""
        return buffer in self.cells and buffer not in self.own


def name_of(func: tirx.PrimFunc) -> str:
    """The name of a function as a word: it becomes part of file names and of generated code, whatever it holds."""
    return identifier(str(func.attrs["global_symbol"])) if "global_symbol" in func.attrs else "main"


def numbered(launches: list[Launch]) -> list[Launch]:
    """Give the launches of one function different names."""
    if len(launches) == 1:
        return launches
    return [replace(launch, name=f"{launch.name}_{number}") for number, launch in enumerate(launches)]


def check_strides(func: tirx.PrimFunc, buffer: tirx.Buffer) -> None:
    """The host knows how a tensor lies (T.StridedTensor); kernels see its elements, and no strides."""
    sizes = {var for other in func.buffer_map.values() for extent in other.shape for var in scalar.variables(extent)}
    strides = {var for stride in buffer.strides for var in scalar.variables(stride)} - sizes - set(func.params)
    used = [var for var in _used_variables(func.body) if var in strides]
    if used:
        raise UnsupportedError(
            "TT105",
            f"the kernel computes with '{used[0].name}', a stride of '{buffer.name}'",
            location=location_of(buffer),
            help="index the tensor by its axes, or pass the number as a parameter of its own",
        )


def unsupported_dtype(name: str, dtype: str, location: Location | None) -> UnsupportedError:
    return UnsupportedError(
        "TT110",
        f"'{name}' has dtype {dtype}, which this version does not support",
        location=location,
        help=_INSTEAD_OF_DTYPE.get(dtype, f"use one of {', '.join(DTYPES)}"),
    )


def computed_on_the_chip(block: Buffer, location: Location | None) -> UnsupportedError:
    return UnsupportedError(
        "TT138",
        f"an element of '{block.name}' controls an index, a bound or a branch, but is computed on the chip",
        location=location,
        help="read the number from a tensor parameter",
    )


def _used_variables(body: tirx.Stmt) -> list[Var]:
    """Variables of statements, without what TileLang itself assumes of them."""

    def without_assumption(stmt: tirx.AttrStmt) -> tirx.Stmt | None:
        return stmt.body if str(stmt.attr_key) == "tl.assume" else None

    return scalar.variables(tirx.stmt_functor.ir_transform(body, None, without_assumption, ["tirx.AttrStmt"]))


def _accessed(body: tirx.Stmt) -> dict[Var, dict[tirx.Buffer, None]]:
    """Buffers of which elements are read or written, by the memory they lie in."""
    found: dict[Var, dict[tirx.Buffer, None]] = {}
    for access in scalar.nodes(body, tirx.BufferLoad, tirx.BufferStore):
        found.setdefault(access.buffer.data, {})[access.buffer] = None
    return found


def _same_order(one: tirx.Buffer, other: tirx.Buffer) -> bool:
    plain = not len(one.strides) and not len(other.strides)
    return (plain and same_shape(tuple(one.shape), tuple(other.shape))) or (_compact(one) and _compact(other))


def _compact(buffer: tirx.Buffer) -> bool:
    """Whether elements lie in row-major order without gaps, sizes behind the first axis being known."""
    sizes = [scalar.int_value(extent) for extent in buffer.shape[1:]]
    steps = [prod(size or 0 for size in sizes[axis:]) for axis in range(len(buffer.shape))]
    return 0 not in steps and all(map(scalar.equal, buffer.strides, steps))
