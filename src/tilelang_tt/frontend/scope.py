"""What is known of a function while it is lifted: tensors, blocks, names, and the numbers that control flow depends on.

A : TIR buffer of a parameter      -> Tensor
A_shared : TIR buffer of a block   -> Buffer
table[bx] in an index              -> a variable, and a Read of it before the statement
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from tvm import tirx

from tilelang_tt.compiled import Decision
from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.formats import DTYPES, INTEGERS, STEERING_DTYPES
from tilelang_tt.frontend.lift_expression import SAME_TYPE, operator
from tilelang_tt.frontend.refuse_gpu_code import DROP_BARRIER, location_of
from tilelang_tt.ir import scalar, scalar_text
from tilelang_tt.ir.buffers import Buffer, Memory, Read, Region, Tensor
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tile import ScalarParam, unique_name
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

# What to declare instead of an element type the chip has no room for.
_INSTEAD_OF_DTYPE = {
    "int64": "the chip has no 64-bit numbers: declare int32, and pass tensor.to(torch.int32)",
    "uint64": "the chip has no 64-bit numbers: declare uint32, and pass tensor.to(torch.uint32)",
    "float64": "the chip has no 64-bit numbers: declare float32, and pass tensor.to(torch.float32)",
}


class Scope:
    def __init__(self, func: tirx.PrimFunc, options: Options, short: dict[Any, Any]) -> None:
        self.func = func
        self.options = options
        self.short = short  # TIR buffers of 32-bit words -> those of 64 bits that they are
        self.words: dict[Tensor, Tensor] = {}  # tensor of 64-bit integers -> the view of it in words
        self.tensors: dict[Any, Tensor] = {}  # TIR buffer -> tensor
        self.buffers: dict[Any, Buffer] = {}  # TIR buffer -> on-chip buffer, of the launch being lifted
        self.names: set[str] = set()
        self.values: dict[Var, Expr] = {}  # loop variables that start elsewhere than 0
        self.decisions: list[Decision] = []
        self.location: Location | None = None  # of the statement being lifted
        self.signed: set[Var] = set()  # scalar parameters, and elements of tables
        self.tables: dict[Tensor, Tensor] = {}  # tensor -> the view of it as a table
        self.cells: dict[Any, Var] = {}  # T.alloc_var of whole numbers -> its variable
        self.computed: set[Any] = set()  # those of them that only the chip knows: blocks
        self.copies: dict[Any, Region] = {}  # on-chip integers -> the box of a tensor they are a copy of
        self.partly_written: dict[Buffer, None] = {}  # blocks that hold zeros at first
        self.selected: dict[Buffer, None] = {}  # blocks of which some assignment changes only chosen elements
        # Boxes of tensors that the T.Parallel being lifted has stored, along which of its axes, and from which blocks.
        self.stored: list[tuple[Region, tuple[int, ...], Buffer]] = []
        self.reducers: dict[Var, str] = {}  # data of a T.alloc_reducer -> how it combines
        self.pending: list[Read] = []  # elements of tables that the statement being lifted needs

    # --- declarations -----------------------------------------------------------------------------

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
        dtype = str(buffer.dtype)
        dtype = dtype if dtype in STEERING_DTYPES else self.dtype(buffer, location_of(buffer))
        tensor = Tensor(self.unique(str(buffer.name)), index, dtype, tuple(buffer.shape))
        self.check_strides(buffer)
        self.tensors[buffer] = tensor
        self.tensors.update((words, tensor) for words, long in self.short.items() if long.same_as(buffer))
        return tensor

    def workspace(self, index: int, buffer: Any) -> Tensor:
        """T.alloc_global outside T.Kernel: DRAM between the launches of a function."""
        dtype = self.dtype(buffer, location_of(buffer))
        tensor = Tensor(self.unique(str(buffer.name)), index, dtype, tuple(buffer.shape), workspace=True)
        self.tensors[buffer] = tensor
        return tensor

    def check_strides(self, buffer: Any) -> None:
        """The host knows how a tensor lies (T.StridedTensor); kernels see its elements, and no strides."""
        sizes = {
            var for other in self.func.buffer_map.values() for extent in other.shape for var in scalar.variables(extent)
        }
        strides = {var for stride in buffer.strides for var in scalar.variables(stride)} - sizes - set(self.func.params)
        used = [var for var in _used_variables(self.func.body) if var in strides]
        if used:
            raise UnsupportedError(
                "TT105",
                f"the kernel computes with '{used[0].name}', a stride of '{buffer.name}'",
                location=location_of(buffer),
                help="index the tensor by its axes, or pass the number as a parameter of its own",
            )

    def dtype(self, buffer: Any, location: Location | None) -> str:
        dtype = SAME_TYPE.get(str(buffer.dtype), str(buffer.dtype))
        if dtype not in DTYPES:
            raise UnsupportedError(
                "TT110",
                f"'{buffer.name}' has dtype {dtype}, which this version does not support",
                location=location,
                help=_INSTEAD_OF_DTYPE.get(dtype, f"use one of {', '.join(DTYPES)}"),
            )
        return dtype

    def allocate(self, buffer: Any) -> None:
        scope, location = str(buffer.scope()), location_of(buffer)
        if buffer in self.computed:
            self.buffers[buffer] = block = Buffer(self.unique(str(buffer.name)), "int32", (), Memory.FRAGMENT, location)
            self.partly_written[block] = None
            return
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
        dtype = self.dtype(buffer, location)
        self.buffers[buffer] = Buffer(self.unique(str(buffer.name)), dtype, axes, _MEMORY[scope], location)

    def temporary(
        self, like: str, dtype: str, shape: tuple[int, ...], location: Location | None, suffix: str = "tile"
    ) -> Buffer:
        """A block the user did not name."""
        buffer = Buffer(self.unique(f"{like}_{suffix}"), dtype, shape, Memory.SHARED, location)
        self.buffers[buffer] = buffer
        return buffer

    def declared(self, like: Any, shape: tuple[int, ...], location: Location | None) -> tuple[Any, Buffer]:
        """A temporary block that TIR can name, of the element type of another one."""
        axes = tuple(extent for extent in shape if extent != 1)
        block = self.temporary(self.buffers[like].name, self.buffers[like].dtype, axes, location)
        key = tirx.decl_buffer(shape, like.dtype, block.name)
        self.buffers[key] = self.buffers.pop(block)
        return key, block

    def source(self, buffer: Any, location: Location | None) -> Tensor | Buffer:
        """Where a block of numbers is."""
        if buffer in self.short:
            tensor = self.tensors[buffer]
            name = self.unique(f"{tensor.name}_words") if tensor not in self.words else ""
            return self.words.setdefault(tensor, replace(tensor, name=name, dtype=str(buffer.dtype)))
        if buffer in self.tensors:
            self.dtype(buffer, location_of(buffer))
            return self.tensors[buffer]
        if buffer in self.buffers:
            return self.buffers[buffer]
        raise UnsupportedError(
            "TT116",
            f"'{buffer.name}' is a view or alias of another buffer",
            location=location,
            help="use the buffer itself",
        )

    # --- numbers ----------------------------------------------------------------------------------

    def expr(self, expr: Any, location: Location | None) -> Expr:
        """A scalar of the program, with shifted loop variables made explicit."""
        result = scalar.substitute(expr, self.values) if self.values else scalar.simplify(expr)
        result = scalar.replace_loads(result, lambda load: self.element(load, location))
        if not scalar_text.supported(result):
            raise UnsupportedError(
                "TT112",
                f"index or condition '{result}' is not integer arithmetic on known values",
                location=location,
                help="use + - * // % min max, comparisons, and bits with constants, "
                "of block indices, loop variables and sizes",
            )
        return result

    @contextmanager
    def loop(self, stmt: Any, location: Location | None) -> Iterator[Expr]:
        """The number of rounds; inside, the loop's variable counts from where the user let it start."""
        minimum = self.expr(stmt.min, location)
        if scalar.int_value(minimum) != 0:
            self.values[stmt.loop_var] = stmt.loop_var + minimum
        yield scalar.at_least_zero(self.expr(stmt.extent, location), self.signed)
        self.values.pop(stmt.loop_var, None)
        self.copies = {
            buffer: region
            for buffer, region in self.copies.items()
            if not any(stmt.loop_var in scalar.variables(low) for low in region.mins)
        }

    @contextmanager
    def apart(self, known: Iterable[tuple[Region, tuple[int, ...], Buffer]] = ()) -> Iterator[None]:
        """Lift a body that may run many times or never. What it stores is unknown outside; inside, `known` is known."""
        self.stored = list(known)
        yield
        self.stored = []

    @contextmanager
    def reads(self) -> Iterator[list[Read]]:
        """Elements of tables that what is lifted inside needs."""
        outer, self.pending = self.pending, []
        yield self.pending
        self.pending = outer

    def is_number(self, buffer: Any) -> bool:
        """Whether elements of a buffer are numbers that every kernel can know: tensors, copies of them, T.alloc_var."""
        return buffer in self.tensors or buffer in self.cells or buffer in self.copies

    def remember_copy(self, buffer: Any, region: Region) -> None:
        """Elements of a block can steer if they are those of a tensor, now and whenever they are used."""
        changing = set(self.cells.values())
        if str(buffer.dtype) not in INTEGERS:
            return
        if self.written_once(buffer) and not any(changing & set(scalar.variables(low)) for low in region.mins):
            self.copies[buffer] = region

    def written_once(self, buffer: Any) -> bool:
        """Whether one statement alone writes to a block."""
        return self.writes_to(buffer) == 1

    def writes_to(self, buffer: Any) -> int:
        """How many statements write to a block or tensor."""
        body = self.func.body
        stores = [store for store in scalar.nodes(body, tirx.BufferStore) if store.buffer.same_as(buffer)]
        regions = [call for call in scalar.nodes(body, tirx.Call) if operator(call) == "tl.region"]
        written = [node for node in regions if int(node.args[1]) & 2 and node.args[0].buffer.same_as(buffer)]
        return len(stores) + len(written)

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
        source = self.tensors[load.buffer] if load.buffer in self.tensors else self.source(load.buffer, location)
        if isinstance(source, Buffer):
            raise UnsupportedError(
                "TT138",
                f"an element of '{source.name}' controls an index, a bound or a branch, but is computed on the chip",
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
        var: Var = tirx.Var(self.unique(f"{source.name}_value"), dtype)
        self.signed.add(var)
        self.pending.append(Read(var, table, number, location))
        return var


def _used_variables(body: Any) -> list[Var]:
    """Variables of statements, without what TileLang itself assumes of them."""

    def without_assumption(stmt: Any) -> Any:
        return stmt.body if str(stmt.attr_key) == "tl.assume" else None

    return scalar.variables(tirx.stmt_functor.ir_transform(body, None, without_assumption, ["tirx.AttrStmt"]))
