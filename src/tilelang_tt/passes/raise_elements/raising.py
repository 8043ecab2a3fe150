"""What is known of a launch while it is raised to tiles, and what is added to it: blocks, tables, looked-up numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.diagnostics import Location
from tilelang_tt.formats import DTYPES, INTEGERS
from tilelang_tt.frontend.scope import computed_on_the_chip, unsupported_dtype
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Memory, Read, Region, Tensor, unique_name
from tilelang_tt.ir.elements import Access
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.ranges import fits, type_range
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.scalar_forms import row_major, row_major_number
from tilelang_tt.ir.tile import Copy, Each, Launch, Set, TileProgram, table_reads, writes

Stored = tuple[Region, tuple[int, ...], Buffer]  # a box of a tensor, along which axes, and the block it was stored from


class Raising:
    def __init__(self, program: TileProgram, launch: Launch, names: set[str], tables: dict[int, Tensor]) -> None:
        self.program = program
        self.options = program.options
        self.names = names  # that are taken
        self.tables = tables  # views of parameters as tables, by the number of the parameter
        self.buffers = list(launch.buffers)
        self.decisions: list[Decision] = []
        self.pending: list[Read] = []  # numbers that the statement being raised needs
        self.copies: dict[Buffer, Region] = {}  # blocks of integers -> the box of a tensor they are a copy of
        self.stored: list[Stored] = []  # by statements of the same T.Parallel before this one
        self.partly_written: dict[Buffer, None] = {}  # blocks that hold zeros at first
        self.selected: dict[Buffer, None] = {}  # blocks of which some assignment changes only chosen elements
        self.changing = {stmt.var for stmt in walk(launch.body) if isinstance(stmt, Set)}
        self.writers = _writers(program, launch)

    # --- blocks -----------------------------------------------------------------------------------

    def unique(self, name: str) -> str:
        name = unique_name(name, self.names)
        self.names.add(name)
        return name

    def temporary(
        self, like: str, dtype: str, shape: tuple[int, ...], location: Location | None, suffix: str = "tile"
    ) -> Buffer:
        """A block the user did not name."""
        buffer = Buffer(self.unique(f"{like}_{suffix}"), dtype, shape, Memory.SHARED, location)
        self.buffers.append(buffer)
        return buffer

    def supported(self, tensor: Tensor) -> Tensor:
        """A tensor whose elements are data."""
        if tensor.dtype not in DTYPES:
            raise unsupported_dtype(tensor.name, tensor.dtype, tensor.location)
        return tensor

    def decide(self, subject: str, text: str, location: Location | None) -> None:
        self.decisions.append(Decision("raise_to_tiles", subject, text, location))

    # --- numbers that are looked up ---------------------------------------------------------------

    @contextmanager
    def reads(self) -> Iterator[list[Read]]:
        """Numbers that what is raised inside needs."""
        outer, self.pending = self.pending, []
        yield self.pending
        self.pending = outer

    def is_number(self, access: Access) -> bool:
        """Whether every kernel can know an element: one of a tensor that nothing writes, or of a copy of a part of one.

        Floats are data.
        """
        source = access.source
        known = not self.writers[source] if isinstance(source, Tensor) else source in self.copies
        return known and not source.dtype.startswith(("float", "bfloat"))

    def number(self, access: Access, location: Location | None) -> Var:
        """The variable that holds an element which every kernel knows."""
        source, indices = access.source, access.indices
        if isinstance(source, Buffer):
            region, places = self.copies[source], iter(indices)
            source, extents = region.source, zip(region.mins, region.extents, strict=True)
            indices = tuple(low if extent == 1 else low + next(places) for low, extent in extents)
        assert isinstance(source, Tensor)
        return self.look_up(source, row_major_number(indices, source.shape), location)

    def look_up(self, tensor: Tensor, index: Expr, location: Location | None) -> Var:
        table = self.table(tensor)
        for read in self.pending:
            if read.source is table and scalar.same_form(read.index, index):
                return read.var
        dtype = "float32" if "float" in tensor.dtype else "int32"
        var = scalar.typed_var(self.unique(f"{self.program.params[tensor.param].name}_value"), dtype)
        self.pending.append(Read(var, table, index, location))
        return var

    def table(self, tensor: Tensor) -> Tensor:
        if tensor.param not in self.tables:
            owner = self.program.tensors_by_param[tensor.param]
            self.tables[tensor.param] = replace(owner, name=self.unique(f"{owner.name}_table"))
        return self.tables[tensor.param]

    def of_tensor(self, read: Read) -> Read:
        """A number of a tensor, in place of one of a block that is a copy of it."""
        block = read.source
        if isinstance(block, Tensor):
            return read
        if block not in self.copies:
            raise computed_on_the_chip(block, read.location)
        with self.reads() as found:
            self.number(Access(block, row_major(read.index, block.shape)), read.location)
        return replace(found[0], var=read.var)

    def remember_copy(self, block: Buffer, region: Region) -> None:
        """Elements of a block can steer if they are those of a tensor, now and whenever they are used."""
        moving = any(self.changing & set(scalar.variables(low)) for low in region.mins)
        if self.writers[block] == 1 and not moving and _same_numbers(region.source.dtype, block.dtype):
            self.copies[block] = region


def _same_numbers(source: str, target: str) -> bool:
    """Whether whole numbers of one type are the same numbers in another one."""
    return {source, target} <= INTEGERS and fits(type_range(source), type_range(target))


def _writers(program: TileProgram, launch: Launch) -> Counter[Tensor | Buffer]:
    """How many statements write to each block of the launch, and to each tensor in any launch."""
    found: Counter[Tensor | Buffer] = Counter(buffer for stmt in walk(launch.body) for buffer in writes(stmt))
    for stmt in (stmt for one in program.launches for stmt in walk(one.body)):
        target = stmt.dst.source if isinstance(stmt, Copy) else stmt.target.source if isinstance(stmt, Each) else None
        if isinstance(target, Tensor):
            found[program.tensors_by_param[target.param]] += 1
    for view in program.views:
        found[view] = found[program.tensors_by_param[view.param]]
    return found


def known_tables(program: TileProgram) -> dict[int, Tensor]:
    """Views of parameters that are tables already, by the number of the parameter."""
    stmts = (stmt for launch in program.launches for stmt in walk(launch.body))
    tables = (read.source for stmt in stmts for read in table_reads(stmt))
    return {table.param: table for table in tables if isinstance(table, Tensor)}
