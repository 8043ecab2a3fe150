"""The tile program: what the user's kernel means, before any protocol.

    program    = params, launches
    launch     = grid block variables, on-chip buffers, body
    statement  = Loop | Branch                                       control
               | Read | Set                                          numbers that steer
               | Each                                                elements, as lifted from TileLang
               | Code                                                what no tile operation says (`ir/code.py`)
               | Copy | Fill | Gemm | Reduce                         tile operations, as lifted from TileLang
               | Map                                                 Each after `raise_to_tiles`
               | Load | Store                                        Copy after `attach_tensor_accessors`
               | Section                                             from `form_sections`, `schedule_sections`
               | Transpose                                           from `fit_products`
               | Await                                               from `order_transfers`
               | Publish                                             from `publish_blocks`

One body, no roles, no circular-buffer calls. `ir/interpret.py` gives every statement its meaning.
Tensors and buffers are compared by identity; their names are for people.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tilelang_tt.compiled import Decision
from tilelang_tt.diagnostics import Location
from tilelang_tt.ir import fields
from tilelang_tt.ir.buffers import Buffer, Part, Read, Region, Tensor, TileAccess
from tilelang_tt.ir.code import Code
from tilelang_tt.ir.elements import Access, ElementExpr, accesses
from tilelang_tt.ir.fields import BODY, DEFINES, READ, WRITE, Mark, walk
from tilelang_tt.ir.layout import BufferLayout, Constant, Mask, Pool, Stream, TensorLayout, Work
from tilelang_tt.ir.scalar import Expr, Var, int_value, is_var, variables
from tilelang_tt.ir.section import Schedule, Start, SubBlock
from tilelang_tt.options import Options
from tilelang_tt.schedule_request import Said

# --- statements -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Loop:
    """`for var in range(extent)`; `stages` is T.Pipelined's num_stages (0: a serial loop)."""

    var: Var = field(metadata=DEFINES)
    extent: Expr
    body: tuple[Stmt, ...] = field(metadata=BODY)
    stages: int = 0
    location: Location | None = None


@dataclass(frozen=True)
class Branch:
    condition: Expr
    then: tuple[Stmt, ...] = field(metadata=BODY)
    otherwise: tuple[Stmt, ...] = field(default=(), metadata=BODY)
    location: Location | None = None


@dataclass(frozen=True)
class Set:
    """var = value, a whole number of the program that changes (T.alloc_var)."""

    var: Var = field(metadata=DEFINES)
    value: Expr
    location: Location | None = None


@dataclass(frozen=True)
class Axis:
    """An iteration variable: it counts from zero to `extent`."""

    var: Var = field(metadata=DEFINES)
    extent: int


@dataclass(frozen=True)
class Each:
    """The generic statement: for every iteration in which `guard` holds, target = value.

    Iterations are independent of each other, and `reads` are looked up in each. With `combine` ("sum", "max", "min")
    the target is combined with the value instead. Axes that the target does not depend on are reductions then.
    """

    axes: tuple[Axis, ...]
    target: Access = field(metadata=WRITE)
    value: ElementExpr = field(metadata=READ)
    guard: ElementExpr | None = field(default=None, metadata=READ)
    reads: tuple[Read, ...] = ()
    combine: str | None = None
    location: Location | None = None

    @property
    def extents(self) -> dict[Var, int]:
        return {axis.var: axis.extent for axis in self.axes}

    @property
    def accesses(self) -> tuple[Access, ...]:
        """The target, and every element that is read."""
        return (self.target, *accesses(self.value), *accesses(self.guard))

    def depends_on(self, index: Expr) -> set[Var]:
        """Variables of an index, and of the numbers that are looked up for it."""
        found = set(variables(index))
        return found.union(*(self.depends_on(read.index) for read in self.reads if read.var in found))

    @property
    def keeps(self) -> bool:
        """Whether something of what the target held before stays there."""
        if self.guard is not None or self.combine is not None:
            return True
        extents, walking = self.extents, [index for index in self.target.indices if is_var(index)]
        lengths = [extents.get(var) for var in dict.fromkeys(walking)]
        return lengths != [int_value(extent) for extent in self.target.source.shape]


@dataclass(frozen=True)
class Copy:
    """T.copy as written; the element type changes if the two differ."""

    src: Region = field(metadata=READ)
    dst: Region = field(metadata=WRITE)
    location: Location | None = None


@dataclass(frozen=True)
class Fill:
    dst: Buffer = field(metadata=WRITE)
    value: float
    location: Location | None = None


@dataclass(frozen=True)
class Gemm:
    """c = op(a) @ op(b) where `clear` holds, c += op(a) @ op(b) elsewhere; c = start + op(a) @ op(b).

    With an `origin`, (row, column) in tiles, `c` is a part of the product, which begins there.
    """

    a: Buffer = field(metadata=READ)
    b: Buffer = field(metadata=READ)
    c: Buffer = field(metadata=WRITE)
    transpose_a: bool
    transpose_b: bool
    clear: Expr
    sub_block: SubBlock | None = None
    location: Location | None = None
    start: Start | None = None
    origin: tuple[Expr, ...] | None = None

    @property
    def keeps(self) -> bool:
        """Whether what `c` held before may be added to."""
        return not int_value(self.clear)


@dataclass(frozen=True)
class Map:
    """dst[i, j] = value, for every element of the block, or of a part of it.

    A part keeps its place along axes that are not walked: those of extent 1.
    """

    dst: Buffer = field(metadata=WRITE)
    value: ElementExpr
    location: Location | None = None
    part: Part | None = None

    @property
    def keeps(self) -> bool:
        """Whether something of what `dst` held before stays there."""
        return self.part is not None and not self.part.is_first

    @property
    def shape(self) -> tuple[int, ...]:
        """Of what is computed."""
        return self.dst.shape if self.part is None else tuple(e for e in self.part.extents if e != 1)

    @property
    def axes(self) -> list[int]:
        """The axis of the target behind each axis of what is computed."""
        extents = self.dst.shape if self.part is None else self.part.extents
        return [axis for axis, extent in enumerate(extents) if self.part is None or extent != 1]


@dataclass(frozen=True)
class Section:
    """Blocks of equal tiles, computed in one pass through DST from what every block held before.

    `sums` are products that are added up in DST, where the results find them under the name `held`: either one product
    of which a group of tiles is computed at a time, or a loop over products of the whole block.
    """

    results: tuple[Map, ...]  # of whole blocks, if there are several
    sums: tuple[Stmt, ...] = field(default=(), metadata=BODY)
    held: Buffer | None = None
    schedule: Schedule | None = None
    location: Location | None = None

    @property
    def product(self) -> Gemm | None:
        """What is added up in DST."""
        return next((stmt for stmt in walk(self.sums) if isinstance(stmt, Gemm)), None)

    @property
    def over_rounds(self) -> bool:
        """Whether sums of a whole block stay in DST from one round of a loop to the next."""
        return any(not isinstance(stmt, Gemm) for stmt in self.sums)


@dataclass(frozen=True)
class Reduce:
    """dst = `op` ("sum" or "max") of src along `axis`; without `clear` what dst holds is taken in.

    dst lacks the axis. `lower_reductions` leaves those that are `exact`, which the vector unit does, and the matrix
    engine's maxima, into blocks that have the axis, one tile long: the maximum at its start, zeros behind.
    """

    op: str
    src: Buffer = field(metadata=READ)
    dst: Buffer = field(metadata=WRITE)
    axis: int
    clear: bool = True
    location: Location | None = None
    exact: bool = False  # 32-bit floats are taken in with all their bits


@dataclass(frozen=True)
class Transpose:
    """dst = src transposed: the axes of a matrix exchanged, or a vector laid the other way."""

    src: Buffer = field(metadata=READ)
    dst: Buffer = field(metadata=WRITE)
    location: Location | None = None
    exact: bool = False  # 32-bit floats keep all their bits


@dataclass(frozen=True)
class Load:
    """dst = the tiles of `src`; tiles outside the tensor are zero."""

    src: TileAccess
    dst: Buffer = field(metadata=WRITE)
    location: Location | None = None


@dataclass(frozen=True)
class Store:
    """The tiles of `dst` = src; tiles outside the tensor are dropped."""

    src: Buffer = field(metadata=READ)
    dst: TileAccess
    location: Location | None = None


@dataclass(frozen=True)
class Publish:
    """`buffer` is complete: its consumer may take it. Changes no value."""

    buffer: Buffer
    location: Location | None = None


@dataclass(frozen=True)
class Await:
    """One kernel goes on when another one says by `word` that its transfers before are done. Changes no value."""

    word: Buffer
    location: Location | None = None


Lifted = Loop | Branch | Read | Set | Code | Each | Copy | Fill | Gemm | Reduce
Stmt = Lifted | Map | Section | Transpose | Load | Store | Await | Publish


@dataclass(frozen=True)
class Launch:
    """One T.Kernel."""

    name: str
    blocks: tuple[tuple[Var, Expr], ...]  # (block variable, extent), innermost first (x, y, z)
    buffers: tuple[Buffer, ...]
    body: tuple[Stmt, ...]
    location: Location | None = None
    hints: tuple[tuple[str, str], ...] = ()  # (hint, what became of it)
    constants: dict[Buffer, Constant | Mask] = field(default_factory=dict)
    layouts: dict[Buffer, BufferLayout] = field(default_factory=dict)
    streams: dict[Buffer, Stream] = field(default_factory=dict)
    work: Work | None = None
    pools: tuple[Pool, ...] = ()
    tensor_names: frozenset[str] = frozenset()
    views: dict[Buffer, Buffer] = field(default_factory=dict)  # the elements of a block in another shape -> the block
    asked: tuple[Said, ...] = ()  # what the kernel says of its schedule
    updated: frozenset[int] = frozenset()  # parameters that blocks of the grid change together, by atomic updates

    @property
    def names(self) -> set[str]:
        """Names that a new buffer must not take."""
        return {buffer.name for buffer in (*self.buffers, *self.layouts, *self.views)} | self.tensor_names


@dataclass(frozen=True)
class ScalarParam:
    name: str
    dtype: str
    var: Var


@dataclass(frozen=True)
class TileProgram:
    name: str
    params: tuple[Tensor | ScalarParam, ...]
    sizes: tuple[Var, ...]  # symbolic dimensions
    launches: tuple[Launch, ...]
    options: Options
    layouts: dict[Tensor, TensorLayout] = field(default_factory=dict)
    decisions: tuple[Decision, ...] = ()
    views: tuple[Tensor, ...] = ()  # parameters again, in another shape or laid in another way

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return tuple(param for param in self.params if isinstance(param, Tensor))

    @property
    def tensors_by_param(self) -> dict[int, Tensor]:
        return {tensor.param: tensor for tensor in self.tensors}

    @property
    def names(self) -> set[str]:
        """Names of parameters, views and blocks."""
        names = {thing.name for thing in (*self.params, *self.views)}
        return names.union(*(launch.names for launch in self.launches))

    @property
    def read_vars(self) -> set[Var]:
        """Variables that hold elements of tables: they may be anything."""
        stmts = [stmt for launch in self.launches for stmt in walk(launch.body)]
        changing = {stmt.var for stmt in stmts if isinstance(stmt, Set)}
        return changing | {read.var for stmt in stmts for read in table_reads(stmt)}

    @property
    def signed(self) -> set[Var]:
        """Variables that may be below zero: scalar parameters, and what holds elements of tables."""
        return self.read_vars | {param.var for param in self.params if isinstance(param, ScalarParam)}

    def with_decisions(self, *decisions: Decision) -> TileProgram:
        return replace(self, decisions=self.decisions + decisions)


# --- what statements read and write ---------------------------------------------------------------


def table_reads(stmt: Stmt) -> tuple[Read, ...]:
    """What a statement itself reads from tables."""
    if isinstance(stmt, Read):
        return (stmt,)
    if isinstance(stmt, Each):
        return stmt.reads
    gather = stmt.src.gather if isinstance(stmt, Copy | Load) else None
    return gather.reads if gather is not None else ()


def maps_of(stmt: Stmt) -> tuple[Map, ...]:
    """The blocks that a statement computes element by element, each as a statement of its own."""
    return stmt.results if isinstance(stmt, Section) else (stmt,) if isinstance(stmt, Map) else ()


def unpacks(stmt: Stmt) -> tuple[Buffer, ...]:
    """Buffers a statement's consumer takes out of L1. An accumulator is not one: the packer adds in place."""
    operands = fields.things(stmt, Buffer, Mark.READ)
    taken_in = isinstance(stmt, Reduce) and not stmt.clear
    return (*operands, *writes(stmt)) if taken_in else operands


def reads(stmt: Stmt) -> tuple[Buffer, ...]:
    """Buffers whose old contents a statement uses (not those of nested statements)."""
    if isinstance(stmt, Section):
        return tuple(dict.fromkeys((*unpacks(stmt), *(one.dst for one in stmt.results if one.keeps))))
    if isinstance(stmt, Gemm | Map | Each) and stmt.keeps:
        return tuple(dict.fromkeys((*unpacks(stmt), *writes(stmt))))
    return unpacks(stmt)


def writes(stmt: Stmt) -> tuple[Buffer, ...]:
    """Buffers a statement changes (not those of nested statements)."""
    return fields.things(stmt, Buffer, Mark.WRITE)


def mentioned(stmt: Stmt) -> frozenset[Buffer]:
    """Buffers that a statement, or one inside it, reads or changes."""
    return fields.with_nested("_mentioned", stmt, lambda one: (*reads(one), *writes(one)))


def all_reads(stmt: Stmt) -> frozenset[Buffer]:
    return fields.with_nested("_all_reads", stmt, reads)


def all_writes(stmt: Stmt) -> frozenset[Buffer]:
    return fields.with_nested("_all_writes", stmt, writes)
