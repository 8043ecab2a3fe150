"""A: turn copies into tile traffic.

    before   Copy A[by * 128, k * 64 : 128 x 64] -> A_shared
    after    Load A tiles (by * 4, k * 2) 4 x 2 -> A_shared

Element offsets become tile coordinates; what may reach beyond the tensor is marked to be guarded. A copy that
changes the format goes through a staging block, because the NoC moves bytes and only compute converts. A copy
between on-chip buffers is an element-wise map.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.arch import TILE
from tilelang_tt.compiled import Decision
from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.formats import TILE_BYTES
from tilelang_tt.ir import scalar, scalar_text
from tilelang_tt.ir.buffers import Buffer, Memory, Region, RowPages, Tensor, TileAccess, unique_name
from tilelang_tt.ir.elements import Element
from tilelang_tt.ir.facts import Facts
from tilelang_tt.ir.fields import children, with_children
from tilelang_tt.ir.layout import BufferLayout, TensorLayout, Window
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.tile import Copy, Launch, Load, Loop, Map, Stmt, Store, TileProgram
from tilelang_tt.passes.a_metadata.tensor_layouts import ends_with_tile


def attach_tensor_accessors(program: TileProgram) -> TileProgram:
    rewriters = [_Rewriter(program, launch) for launch in program.launches]
    launches = tuple(rewriter.run() for rewriter in rewriters)
    decisions = [decision for rewriter in rewriters for decision in rewriter.decisions]
    return replace(program, launches=launches).with_decisions(*decisions)


class _Rewriter:
    def __init__(self, program: TileProgram, launch: Launch) -> None:
        self.program = program
        self.launch = launch
        self.layouts: dict[Buffer, BufferLayout] = dict(launch.layouts)
        self.decisions: list[Decision] = []

    def run(self) -> Launch:
        body = self.body(self.launch.body, Facts(self.program.sizes, self.launch.blocks))
        return replace(self.launch, body=body, buffers=tuple(self.layouts), layouts=self.layouts)

    def body(self, body: tuple[Stmt, ...], facts: Facts) -> tuple[Stmt, ...]:
        return tuple(new for stmt in body for new in self.stmt(stmt, facts))

    def stmt(self, stmt: Stmt, facts: Facts) -> tuple[Stmt, ...]:
        if isinstance(stmt, Copy):
            return self.copy(stmt, facts)
        inner = facts.with_loop(stmt.var, stmt.extent) if isinstance(stmt, Loop) else facts
        return (with_children(stmt, tuple(self.body(nested, inner) for nested in children(stmt))),)

    def copy(self, copy: Copy, facts: Facts) -> tuple[Stmt, ...]:
        src, dst, location = copy.src.source, copy.dst.source, copy.location
        if isinstance(src, Tensor) and isinstance(dst, Buffer):
            access = self.access(copy.src, facts, location)
            if self.fits(copy.src, dst):
                return (Load(access, dst, location),)
            staging = self.staging(f"{dst.name}_in", copy.src, dst, location)
            return (Load(access, staging, location), Map(dst, Element(staging), location))
        if isinstance(src, Buffer) and isinstance(dst, Tensor):
            self.check_store(copy.dst, location)
            access = self.access(copy.dst, facts, location)
            if self.fits(copy.dst, src):
                return (Store(src, access, location),)
            staging = self.staging(f"{src.name}_out", copy.dst, src, location)
            return (Map(staging, Element(src), location), Store(staging, access, location))
        assert isinstance(src, Buffer)
        assert isinstance(dst, Buffer)
        return (Map(dst, Element(src), location),)

    def fits(self, region: Region, buffer: Buffer) -> bool:
        """Whether the tensor's tiles are the buffer's as they are."""
        there, here = self.layout(region), self.layouts[buffer]
        return there.format == here.format and self.laid_alike(region, buffer)

    def laid_alike(self, region: Region, buffer: Buffer) -> bool:
        here = self.layouts[buffer]
        return len(buffer.shape) != 1 or (self.row_axis(region) is None) == (here.row_axis is None)

    def layout(self, region: Region) -> TensorLayout:
        assert isinstance(region.source, Tensor)
        return self.program.layouts[region.source]

    def row_axis(self, region: Region) -> int | None:
        """The axis of a tensor that a block walks along its rows."""
        layout = self.layout(region)
        if not layout.by_rows:
            return layout.row_axis
        walked = [axis for axis, extent in enumerate(region.extents) if extent != 1 and axis != layout.col_axis]
        return walked[0] if walked else None

    def staging(self, name: str, region: Region, buffer: Buffer, location: Location | None) -> Buffer:
        """A block like `buffer` in the tensor's format."""
        tensor = region.source
        assert isinstance(tensor, Tensor)
        layout = self.program.layouts[tensor]
        taken = self.launch.names | {block.name for block in self.layouts}
        block = Buffer(unique_name(name, taken), tensor.dtype, buffer.shape, Memory.SHARED, location)
        here = self.layouts[buffer]
        if not self.laid_alike(region, buffer):  # `align_operands` turns it
            here = replace(here, rows=here.cols, cols=here.rows, row_axis=here.col_axis, col_axis=here.row_axis)
        self.layouts[block] = replace(here, format=layout.format, page_bytes=TILE_BYTES[layout.format])
        formats = f"{self.layouts[buffer].format} and {layout.format}"
        text = f"staging block for '{tensor.name}': compute converts between {formats}"
        self.decisions.append(Decision("attach_tensor_accessors", block.name, text, location))
        return block

    def access(self, region: Region, facts: Facts, location: Location | None) -> TileAccess:
        tensor, layout = region.source, self.layout(region)
        assert isinstance(tensor, Tensor)
        self.check_rows(region)
        if layout.by_rows:
            return self.row_access(tensor, region, facts, location)
        row, rows, height = self.tiles(region, layout.row_axis, layout.row_window, facts, location)
        col, cols, width = self.tiles(region, layout.col_axis, layout.col_window, facts, location)
        others = [axis for axis in range(len(region.mins)) if axis not in (layout.row_axis, layout.col_axis)]
        batch, guard = self.number(region, others, facts)
        return TileAccess(
            tensor,
            batch,
            row,
            col,
            rows,
            cols,
            guard_rows=not (facts.proves(row >= 0) and facts.proves(row + rows <= layout.row_tiles)),
            guard_cols=not (facts.proves(col >= 0) and facts.proves(col + cols <= layout.col_tiles)),
            guard=guard,
            height=height % (rows * TILE),
            width=width % (cols * TILE),
        )

    def row_access(self, tensor: Tensor, region: Region, facts: Facts, location: Location | None) -> TileAccess:
        """A block that is put together from rows, each a page; or one row that is repeated."""
        layout, axis, mins = self.layout(region), self.row_axis(region), list(region.mins)
        row, height, extent, step = scalar.const(0), 1, scalar.const(1), scalar.const(0)
        order = [at for at in range(len(mins)) if at not in (layout.row_axis, layout.col_axis)]
        order += [] if layout.row_axis is None else [layout.row_axis]
        if axis is not None:
            row, height, extent = mins[axis], region.extents[axis], scalar.as_expr(tensor.shape[axis])
            step = scalar.product(tensor.shape[at] for at in order[order.index(axis) + 1 :])
            mins[axis] = scalar.const(0)
        col, cols, width = self.tiles(region, layout.col_axis, None, facts, location)
        page, guard = self.number(replace(region, mins=tuple(mins)), order, facts)
        inside = region.gather is None and facts.proves(row >= 0) and facts.proves(row + height <= extent)
        return TileAccess(
            tensor,
            page,
            row if region.gather is None else region.gather.index,
            col,
            -(-height // TILE),
            cols,
            guard_rows=not inside,
            # A page has room behind the end of its row: a block has only to begin inside.
            guard_cols=not (facts.proves(col >= 0) and facts.proves(col < layout.row_width)),
            guard=guard,
            limit=region.limit and region.limit[1],
            pages=RowPages(axis, step, extent),
            gather=region.gather,
            height=height,
            width=width,
        )

    def check_store(self, region: Region, location: Location | None) -> None:
        """Whole tiles are stored, or whole rows of them: nothing else may lie in the last one."""
        tensor, layout = region.source, self.layout(region)
        assert isinstance(tensor, Tensor)
        sides = ((None if layout.by_rows else layout.row_axis, layout.row_window), (layout.col_axis, layout.col_window))
        for axis, window in sides:
            if axis is not None and window is None and not ends_with_tile(tensor, axis, region):
                raise UnsupportedError(
                    "TT153",
                    f"{region.extents[axis]} elements along axis {axis} of '{tensor.name}' are stored here, and "
                    "a different number elsewhere: the elements behind them would be overwritten",
                    location=location,
                    help="store blocks of one size, or blocks that end at multiples of 32",
                )

    def check_rows(self, region: Region) -> None:
        """Single rows can be left out or looked up; nothing smaller can: the frontend asks for nothing else."""
        axis = self.row_axis(region)
        assert region.gather is None or region.gather.axis == axis
        assert region.limit is None or region.limit[0] == axis

    def tiles(
        self, region: Region, axis: int | None, window: Window | None, facts: Facts, location: Location | None
    ) -> tuple[Expr, int, int]:
        """First tile, number of tiles and of elements along a side."""
        if axis is None:
            return scalar.const(0), 1, 1
        start, extent = region.mins[axis], region.extents[axis]
        count = -(-extent // TILE)
        if window is not None:
            number = scalar.floordiv(start, window.step) + window.before
            return scalar.simplify(number * window.tiles), count, extent
        if not facts.divisible(start, TILE):
            raise UnsupportedError(
                "TT124",
                f"block of '{region.source.name}' starts at element {scalar_text.to_python(start)} of axis {axis}, "
                "which is not always the start of a 32x32 tile",
                location=location,
                help="let blocks start at multiples of 32, or at multiples of their own size everywhere",
            )
        return scalar.simplify(scalar.floordiv(start, TILE)), count, extent

    def number(self, region: Region, axes: list[int], facts: Facts) -> tuple[Expr, Expr | None]:
        """Row-major number of a place along some axes, and the condition that it exists."""
        number, guard = scalar.const(0), None
        for axis in axes:
            start, extent = region.mins[axis], region.source.shape[axis]
            number = number * extent + start
            if not facts.proves(start >= 0):
                guard = scalar.both(guard, start >= 0)
            if not facts.proves(start < extent):
                guard = scalar.both(guard, start < scalar.as_expr(extent))
        return scalar.simplify(number), guard
