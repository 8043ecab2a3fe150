"""What scalar code is lifted from: tensors, blocks, and how far variables go.

A block is an array in L1 with all of its axes, in its own type. Buffers that share the bytes of another one under
another shape or type (T.reshape, T.view) are views of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from tvm import arith, ir, tirx

from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.frontend.lift_expression import SAME_TYPE, loads
from tilelang_tt.frontend.refuse_gpu_code import location_of
from tilelang_tt.frontend.scope import check_strides, constant_shape, unsupported_scope
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Memory, Tensor, unique_name
from tilelang_tt.ir.code import Constant, Name, Place, Value
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tile import ScalarParam

_MEMORY = {
    "shared": Memory.SHARED,
    "shared.dyn": Memory.SHARED,
    "local.fragment": Memory.FRAGMENT,
    "local.reducer": Memory.FRAGMENT,
    "local": Memory.LOCAL,
    "local.var": Memory.LOCAL,
}
ASSERTION_WORDS = 8  # of a record: the number of the assertion, and values
# The types that scalar code knows.
TYPES = frozenset(
    """
    bool int2 uint2 int4 uint4 int8 uint8 int16 uint16 int32 uint32 int64 uint64
    float4_e2m1fn float8_e4m3 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu
    float16 bfloat16 float32 float64
    """.split()  # noqa: SIM905
)


class Declarations:
    """Tensors of a function, and blocks of the launch being lifted."""

    def __init__(self, func: tirx.PrimFunc) -> None:
        self.func = func
        self.tensors: dict[tirx.Buffer, Tensor] = {}
        self.names: set[str] = set()
        self.owners: dict[Var, Tensor | Buffer] = {}  # the tensor or block whose bytes a TIR pointer means
        self.grid: tuple[tuple[Var, Expr], ...] = ()  # of the launch
        self.record: Tensor | None = None  # of assertions in it
        self.blocks: dict[tirx.Buffer, Buffer] = {}
        self.views: dict[Buffer, Buffer] = {}
        self.in_bytes: set[Var] = set()  # the data of blocks whose 4-bit floats have a byte each on a GPU
        self.own: set[Var] = set()  # the data of fragments that each thread has for itself
        self.known = arith.Analyzer()  # how far variables go

    def unique(self, name: str) -> str:
        """A C++ identifier near `name` that nothing else in the program has."""
        base = "".join(c if c.isalnum() or c == "_" else "_" for c in name) or "block"
        found = unique_name(base if not base[0].isdigit() else f"_{base}", self.names)
        self.names.add(found)
        return found

    # --- tensors ----------------------------------------------------------------------------------

    def param(self, index: int, var: tirx.Var) -> Tensor | ScalarParam:
        if var not in self.func.buffer_map:
            return ScalarParam(self.unique(str(var.name)), str(var.dtype), var)
        check_strides(self.func, self.func.buffer_map[var])
        return self.tensor(self.func.buffer_map[var], index)

    def tensor(self, buffer: tirx.Buffer, index: int, *, workspace: bool = False) -> Tensor:
        if _is_unpacked(buffer):
            raise _no_bytes(f"'{buffer.name}' is a tensor", location_of(buffer))
        dtype, location = element_type(buffer), location_of(buffer)
        name = self.unique(str(buffer.name))
        tensor = Tensor(name, index, dtype, tuple(buffer.shape), workspace=workspace, location=location)
        self.know(buffer, tensor)
        return tensor

    def know(self, buffer: tirx.Buffer, tensor: Tensor) -> None:
        self.tensors[buffer] = tensor
        self.owners[buffer.data] = tensor
        for var in (extent for extent in buffer.shape if scalar.is_var(extent)):
            self.known.bind(var, ir.Range(1, tirx.max_value("int32")), allow_override=True)

    def workspace(self, buffer: tirx.Buffer) -> Tensor:
        """A tensor that every call brings along, behind the parameters."""
        others = sum(tensor.workspace for tensor in self.tensors.values())
        return self.tensor(buffer, len(self.func.params) + others, workspace=True)

    def assertions(self) -> Place:
        """Where this block of the grid tells which assertion does not hold."""
        if self.record is None:
            extents = [*(extent for _, extent in self.grid), scalar.const(ASSERTION_WORDS)]
            self.record = self.workspace(tirx.decl_buffer(extents, "int64", "assertions"))
        return Place(self.record, (*(Name(var, "int32") for var, _ in self.grid), Constant(0, "int32")))

    # --- blocks -----------------------------------------------------------------------------------

    def allocate(self, buffer: tirx.Buffer) -> None:
        scope = str(buffer.scope())
        if scope not in _MEMORY:
            raise unsupported_scope(buffer)
        memory = Memory.LOCAL if buffer.data in self.own else _MEMORY[scope]
        self.blocks[buffer] = self.owners[buffer.data] = self.block(buffer, memory)
        if _is_unpacked(buffer):
            self.in_bytes.add(buffer.data)

    def block(self, buffer: tirx.Buffer, memory: Memory) -> Buffer:
        static = constant_shape(buffer)
        count = str(buffer.dtype).partition("x")[2]
        shape_of_lanes = (*static, int(count)) if count.isdigit() else static  # of float16x2 both
        return Buffer(self.unique(str(buffer.name)), element_type(buffer), shape_of_lanes, memory, location_of(buffer))

    def temporary(self, name: str, dtype: str, shape: tuple[int, ...], memory: Memory) -> Buffer:
        """A block the user did not name."""
        block = Buffer(self.unique(name), dtype, shape, memory)
        self.blocks[tirx.decl_buffer(shape, dtype, block.name)] = block
        return block

    def source(self, buffer: tirx.Buffer, location: Location | None) -> Tensor | Buffer:
        """The tensor or block that a TIR buffer is, or a view of one."""
        found = self.tensors.get(buffer) or self.blocks.get(buffer)
        if found is not None:
            return found
        owner = self.owners.get(buffer.data)
        if owner is None or not _begins_with_it(buffer):
            raise UnsupportedError(
                "TT116",
                f"'{buffer.name}' is not a tensor, a block, or a view of one, but memory at an address",
                location=location,
                help="pass the tensor as an argument: an address of the host or of a GPU means nothing on the chip",
            )
        if _is_unpacked(buffer) != (buffer.data in self.in_bytes):
            raise _no_bytes(f"'{buffer.name}' is a view", location)
        if isinstance(owner, Tensor):
            view = Tensor(self.unique(str(buffer.name)), owner.param, element_type(buffer), tuple(buffer.shape))
            self.tensors[buffer] = view
            return view
        self.blocks[buffer] = block = self.block(buffer, owner.memory)
        self.views[block] = owner
        return block

    # --- places -----------------------------------------------------------------------------------

    def place(
        self, buffer: tirx.Buffer, indices: Sequence[tirx.PrimExpr], at: tuple[Value, ...], location: Location | None
    ) -> Place:
        """An element; along which axes it may lie outside of a tensor is what cannot be ruled out."""
        source = self.source(buffer, location)
        if isinstance(source, Buffer):
            return Place(source, at)
        pairs = enumerate(zip(indices, buffer.shape, strict=True))
        unsure = tuple(axis for axis, (index, extent) in pairs if not self.inside(index, extent))
        return Place(source, at, unsure)

    def by_number(
        self, data: Var, number: Expr, value: Callable[[tirx.PrimExpr], Value], location: Location | None
    ) -> Place:
        """The element so many places behind the start of a tensor or block."""
        owner = self.owners.get(data)
        if owner is None:
            raise UnsupportedError("TT116", f"'{data.name}' is a pointer to nothing known", location=location)
        at: list[Expr] = []
        shape = [scalar.as_expr(extent) for extent in owner.shape]
        for axis in range(len(shape)):
            place = tirx.floordiv(number, scalar.product(tuple(shape[axis + 1 :])))
            at.append(scalar.simplify(place if axis == 0 else tirx.floormod(place, shape[axis])))
        return Place(owner, tuple(map(value, at)), tuple(range(len(at))) if isinstance(owner, Tensor) else ())

    def inside(self, index: Expr, extent: Expr) -> bool:
        return bool(self.known.can_prove(tirx.And(index >= 0, index < extent)))

    @contextmanager
    def counting(self, var: Var, start: Expr, extent: Expr) -> Iterator[None]:
        """Inside, the variable of a loop is between its ends."""
        self.known.bind(var, ir.Range.from_min_extent(start, extent), allow_override=True)
        yield

    def name(self, var: Var, value: Expr) -> None:
        """A variable stands for a value from here on."""
        if scalar.is_whole(value) and not loads(value):
            self.known.bind(var, value, allow_override=True)

    @contextmanager
    def where(self, condition: Expr, *, holds: bool) -> Iterator[None]:
        """Inside, a condition holds, or does not. What elements it asks for may change, so those tell nothing."""
        with ExitStack() as known:
            for test in _conjuncts(condition) if holds else [tirx.Not(condition)]:
                if not loads(test):
                    known.enter_context(self.known.constraint_scope(test))
            yield


def _conjuncts(condition: Expr) -> Iterator[Expr]:
    if isinstance(condition, tirx.And):
        yield from (*_conjuncts(condition.a), *_conjuncts(condition.b))
    else:
        yield condition


def element_type(buffer: tirx.Buffer) -> str:
    dtype = SAME_TYPE.get(str(buffer.dtype), str(buffer.dtype))
    name, _, count = dtype.partition("x")
    dtype = name if count.isdigit() else dtype
    if dtype not in TYPES:
        raise UnsupportedError(
            "TT110",
            f"'{buffer.name}' has dtype {dtype}, which this version does not support",
            location=location_of(buffer),
            help=f"use one of {', '.join(sorted(TYPES))}",
        )
    return dtype


def _is_unpacked(buffer: tirx.Buffer) -> bool:
    """Whether 4-bit floats have a byte each, which TileLang has in shared memory alone. Here they are packed."""
    return "float4_e2m1_unpacked" in str(buffer.dtype)


def _no_bytes(what: str, location: Location | None) -> UnsupportedError:
    return UnsupportedError(
        "TT110",
        f"{what} of float4_e2m1_unpacked, whose bytes only a GPU's shared memory has",
        location=location,
        help="use float4_e2m1fn outside of shared blocks, and copy from one to the other",
    )


def _begins_with_it(buffer: tirx.Buffer) -> bool:
    """Whether a view begins where its memory does, and has no gaps."""
    steps, step = [], 1
    for extent in reversed(list(buffer.shape)):
        steps.append(step)
        step = step * extent
    compact = all(map(scalar.equal, list(buffer.strides), reversed(steps))) if len(buffer.strides) else True
    return compact and scalar.int_value(buffer.elem_offset) in (0, None)
