"""A: decide in which memory every tensor lies, and on which cores.

    before   A : bfloat16[512, 512], 16 x 16 tiles           TT.layout(A, memory="L1", shard="block", grid=(8, 8))
    after    A : L1, shards of 2 x 2 tiles over 8 x 8 cores

What the user says (`layout_hints`) is done, or refused with the numbers. A tensor of which nothing is said lies in
DRAM, its pages dealt to all banks in turn.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.arch import TILE, Arch
from tilelang_tt.compiled import Decision
from tilelang_tt.core_ranges import Core, CoreRanges, core_ranges_text, cores_of
from tilelang_tt.diagnostics import TargetError, TenstorrentError, UnsupportedError
from tilelang_tt.formats import BLOCK_FORMATS, INTEGERS, format_of
from tilelang_tt.ir import scalar, scalar_text
from tilelang_tt.ir.buffers import Tensor
from tilelang_tt.ir.layout import DeviceMemory, HalfTiles, Placement, TensorLayout
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.tensors_of_code import used_by_code
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.layout_hints import LayoutHint
from tilelang_tt.passes.a_metadata.block_float_results import why_not_block_floats
from tilelang_tt.passes.a_metadata.check_l1_of_tensors import check_l1_of_tensors

NO_SHARDS = "TT182"  # of tensors that are not in tiles


def place_tensors(program: TileProgram) -> TileProgram:
    hints = dict(program.options.layout)
    _check_names(program, hints)
    stored = dict(program.options.storage)
    layouts, decisions = dict(program.layouts), []
    by_code = {tensor.param for tensor in used_by_code(program)}
    for tensor, layout in program.layouts.items():
        name = program.params[tensor.param].name
        hint = replace(hints.get(name, LayoutHint()), storage=stored.get(name))
        if hint.is_empty:
            continue
        placer = _Placer(name, tensor, layout, hint, program.options.chip, "layout" if name in hints else "storage")
        placer.check_storage(program)
        placer.check_pages()
        if hint.tile is not None and hint.tile != (TILE, TILE):
            layout = layouts[tensor] = placer.layout = placer.in_halves(hint.tile, by_code=tensor.param in by_code)
            decisions.append(Decision("place_tensors", tensor.name, _describe_halves(layout), hint.location))
        if hint.memory is None and hint.shard is None:
            continue
        placement = placer.placement()
        layouts[tensor] = replace(layout, placement=placement)
        decisions.append(Decision("place_tensors", tensor.name, _describe(layout, placement), hint.location))
    program = replace(program, layouts=layouts).with_decisions(*decisions)
    check_l1_of_tensors(program)
    return program


def _check_names(program: TileProgram, hints: dict[str, LayoutHint]) -> None:
    names = [tensor.name for tensor in program.tensors]
    for name in hints:
        if name not in names:
            raise TargetError(
                "TT610",
                f"target option 'layout' names '{name}'; kernel '{program.name}' has no such tensor",
                help=f"its tensors: {', '.join(names)}",
            )


class _Placer:
    def __init__(
        self, name: str, tensor: Tensor, layout: TensorLayout, hint: LayoutHint, chip: Arch, option: str
    ) -> None:
        self.name = name  # the user's; a tensor that is used in two ways has two of its own
        self.option = option  # of the target, that says the hint if no line does
        self.tensor, self.layout, self.hint, self.chip = tensor, layout, hint, chip

    def check_storage(self, program: TileProgram) -> None:
        """A format that is asked for is refused, not left out, where it cannot be."""
        if self.hint.storage is None or self.layout.format == format_of(self.hint.storage, "float32"):
            return
        why, instead = f"this kernel uses it {self.how()}", ""
        if self.tensor.dtype in INTEGERS:
            why = f"its elements are {self.tensor.dtype}"
        elif self.layout.in_tiles:
            why, instead = why_not_block_floats(program, self.tensor, self.layout) or (why, instead)
        raise self.refuse(
            "TT188",
            f"'{self.name}' cannot be stored as {self.hint.storage}: {why}",
            help=f"{instead}, or leave out storage=" if instead else "leave out storage=",
        )

    def check_pages(self) -> None:
        """Pages that are asked for are refused, not left out, where they cannot be."""
        asked = self.hint.pages
        if asked == "row" and not self.layout.by_rows:
            why = "its blocks have one axis" if self.layout.in_tiles else f"this kernel uses it {self.how()}"
            raise self.refuse("TT189", f"pages of '{self.name}' cannot be rows: {why}", help="leave out pages=")
        if asked == "tile" and (self.layout.by_rows or self.layout.table or self.layout.flat):
            message = f"pages of '{self.name}' cannot be tiles: this kernel uses it {self.how()}"
            raise self.refuse("TT189", message, help="leave out pages=")

    def in_halves(self, tile: tuple[int, int], *, by_code: bool) -> TensorLayout:
        """The layout with pages of half tiles, where kernels move whole tiles of two axes."""
        layout, (height, width) = self.layout, tile
        why = None
        if layout.in_tiles and None in (layout.row_axis, layout.col_axis):
            why = "its blocks have one axis"
        elif not layout.in_tiles or by_code or self.tensor.folds:
            why = f"this kernel uses it {'element by element' if by_code else self.how()}"
        elif layout.format in BLOCK_FORMATS:
            why = f"it is stored as {layout.format}, where the exponents of a tile lie together"
        if why is not None:
            message = f"tiles of '{self.name}' cannot be {height}x{width}: {why}"
            raise self.refuse("TT189", message, help="leave out tile=")
        axis, size = (layout.row_axis, height) if height < TILE else (layout.col_axis, width)
        assert axis is not None
        count = scalar.ceildiv(self.tensor.shape[axis], size)
        return replace(layout, page_bytes=layout.page_bytes // 2, halves=HalfTiles(height, width, count))

    def placement(self) -> Placement:
        memory = DeviceMemory(self.hint.memory or DeviceMemory.DRAM.value)
        if self.hint.shard is None:
            return Placement(memory)
        if not self.layout.in_tiles or self.tensor.folds:
            raise self.refuse(
                NO_SHARDS,
                f"'{self.name}' cannot be sharded: this kernel uses it {self.how()}, and shards are of tiles",
                help=f"leave out shard=; memory='{memory.value}' alone is possible",
            )
        cores = self.cores(memory)
        if isinstance(self.hint.shard, tuple):
            return Placement(memory, *self.box(self.hint.shard), tuple(cores))
        high, wide = self.layout.page_grid
        rows = scalar.simplify(self.layout.batch * high)
        return self.matrix(memory, self.hint.shard, (rows, wide), cores)

    def how(self) -> str:
        if self.layout.by_rows:
            return "row by row"
        if self.layout.table or self.layout.flat:
            return "element by element"
        return "in pieces that do not begin at tiles"

    def refuse(self, code: str, message: str, help: str, notes: tuple[str, ...] = ()) -> TenstorrentError:
        if self.hint.location is None:
            message = f"target option '{self.option}': {message}"
            if code != NO_SHARDS:  # which is so for this use of the tensor; scalar code may use it otherwise
                return TargetError(code, message, notes=notes, help=help)
        return UnsupportedError(code, message, location=self.hint.location, notes=notes, help=help)

    def cores(self, memory: DeviceMemory) -> list[Core]:
        """Those that hold shards, in the order in which these are dealt."""
        banks = memory is DeviceMemory.DRAM
        grid = (self.chip.dram_banks, 1) if banks else self.chip.grid
        ranges: CoreRanges | None = self.hint.cores
        if ranges is None:
            found = [(x, y) for y in range(grid[1]) for x in range(grid[0])]
        else:
            for one in ranges:
                if not one.is_inside(grid):
                    has = f"{grid[0]} DRAM banks" if banks else f"a compute grid of {grid[0]}x{grid[1]} cores"
                    raise self.refuse(
                        "TT183",
                        f"the {'banks' if banks else 'cores'} {one} of '{self.name}' do not exist: "
                        f"{self.chip.title} has {has}",
                        help=f"the largest is {grid[0]}x{grid[1]}",
                    )
            found = cores_of(ranges)
        if self.hint.order == "column":
            found = sorted(found)
        return found

    def matrix(self, memory: DeviceMemory, kind: str, tiles: tuple[Expr, Expr], cores: list[Core]) -> Placement:
        """A matrix of tiles by height, by width or both: each core has one shard at most."""
        down, across = {"height": (len(cores), 1), "width": (1, len(cores))}.get(kind, (0, 0))
        if kind == "block":
            down, across = self.rectangle()
        shard = tuple(scalar.ceildiv(count, parts) for count, parts in zip(tiles, (down, across), strict=True))
        used = self.used(shard, tiles, (down, across), cores)
        one = scalar.const(1)
        return Placement(memory, (one, *tiles), (one, *shard), tuple(used))

    def rectangle(self) -> tuple[int, int]:
        """Shards down and across that a rectangle of cores has room for."""
        ranges = self.hint.cores or ()
        if len(ranges) != 1:
            raise self.refuse(
                "TT184",
                f"'{self.name}' is sharded in blocks over {core_ranges_text(ranges)}, which is no rectangle",
                help="give one rectangle, or shard by height or width",
            )
        wide, high = ranges[0].width, ranges[0].height
        return (wide, high) if self.hint.order == "column" else (high, wide)

    def used(
        self, shard: tuple[Expr, ...], tiles: tuple[Expr, Expr], room: tuple[int, int], cores: list[Core]
    ) -> list[Core]:
        """The cores that get a shard: with fewer tiles than cores some have none."""
        counts = []
        for part, whole, most in zip(shard, tiles, room, strict=True):
            size, length = scalar.int_value(part), scalar.int_value(whole)
            counts.append(most if size is None or length is None else max(1, -(-length // size)))
        return [cores[row * room[1] + column] for row in range(counts[0]) for column in range(counts[1])]

    def box(self, extents: tuple[int, ...]) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
        """Pages as matrices, rows and columns, and a shard of them."""
        shape, layout = self.tensor.shape, self.layout
        if len(extents) != len(shape):
            raise self.refuse(
                "TT185",
                f"a shard of {_sides(extents)} has {len(extents)} axes; '{self.name}' has {len(shape)}",
                help="give one extent for each axis of the tensor",
            )
        sides = []
        high, wide = layout.page_grid
        for axis, tiles, size in zip((layout.row_axis, layout.col_axis), (high, wide), layout.tile_shape, strict=True):
            sides.append(tiles if axis is None else self.side(extents, axis, tiles, size))
        outer = [axis for axis in range(len(shape)) if axis not in (layout.row_axis, layout.col_axis)]
        return (layout.batch, high, wide), (self.matrices(extents, outer), *sides)

    def side(self, extents: tuple[int, ...], axis: int, tiles: Expr, size: int) -> Expr:
        """Tiles of a shard along an axis that has so many, each of `size` elements."""
        extent, length = extents[axis], scalar.int_value(self.tensor.shape[axis])
        if length is not None and extent >= length:
            return tiles
        if extent % size:
            up, (high, wide) = -(-extent // size) * size, self.layout.tile_shape
            raise self.refuse(
                "TT186",
                f"a shard of {_sides(extents)} elements of '{self.name}' is not made of {high}x{wide} tiles: "
                f"axis {axis} has {extent}",
                help=f"take a multiple of {size}, for example {up}",
            )
        return scalar.const(extent // size)

    def matrices(self, extents: tuple[int, ...], outer: list[int]) -> Expr:
        """Of a shard: the outer axes as one, which must be a run of matrices."""
        count, whole = scalar.const(1), True
        for axis in reversed(outer):
            extent, length = extents[axis], self.tensor.shape[axis]
            if not whole and extent != 1:
                raise self.refuse(
                    "TT187",
                    f"a shard of {_sides(extents)} of '{self.name}' takes parts of several outer axes",
                    help=f"let the shard have all of axis {axis + 1}, or 1 of axis {axis}",
                )
            count = scalar.simplify(count * extent)
            size = scalar.int_value(length)
            whole = whole and size is not None and extent >= size
        return count


def _sides(extents: tuple[int, ...]) -> str:
    return " x ".join(map(str, extents))


def _describe_halves(layout: TensorLayout) -> str:
    high, wide = map(scalar_text.to_python, layout.page_grid)
    height, width = layout.tile_shape
    total = scalar.int_value(scalar.simplify(scalar.product((layout.batch, *layout.page_grid))))
    size = "" if total is None else f", {total * layout.page_bytes:,} B in all"
    pages = f"{high} x {wide} pages of {height} x {width} elements, {layout.page_bytes:,} B each{size}"
    return f"{pages}: reader and writer put whole tiles together from them, and take them apart"


def _describe(layout: TensorLayout, placement: Placement) -> str:
    memory = placement.memory.value
    if not placement.is_sharded:
        return f"{memory}, pages dealt to {'all banks' if memory == 'DRAM' else 'all cores'} in turn"
    one, rows, cols = (scalar_text.to_python(part) for part in placement.shard)
    box = f"{rows} x {cols}" if one == "1" else f"{one} x {rows} x {cols}"
    shards = placement.shards()
    size = "" if shards is None else f", {shards.slots * layout.page_bytes:,} B of each"
    kind = "banks" if memory == "DRAM" else "cores"
    return f"{memory}, shards of {box} tiles over {len(placement.cores)} {kind}{size}"
