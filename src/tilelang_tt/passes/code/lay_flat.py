"""A: say how tensors lie whose elements scalar code uses: flat, unless the tile engines use them too.

before   A : float16[1000, 33], used by scalar code alone      C : in 4 x 2 tiles, used by a product, too
after    A : flat, 17 pages of 4096 B                          C : in 4 x 2 tiles

Flat means: elements in row-major order, in the bytes of their own type. Where tiles do not have every element in one
place, an input is there twice: in tiles, and flat.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.formats import FLAT_PAGE_BYTES, element_bits, flat_format
from tilelang_tt.ir import scalar, scalar_text
from tilelang_tt.ir.buffers import Region, Tensor, unique_name
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.layout import TensorLayout
from tilelang_tt.ir.tensors_of_code import serves_elements, used_by_code
from tilelang_tt.ir.tile import Copy, TileProgram


def lay_flat(program: TileProgram) -> TileProgram:
    in_tiles = _in_tiles(program)
    params = dict.fromkeys(tensor.param for tensor in used_by_code(program))
    lying = [_lying(program, in_tiles, program.tensors_by_param[param]) for param in params]
    known = {tensor.param for tensor in (*program.layouts, *lying)}
    lying += [tensor for tensor in program.tensors if tensor.param not in known]  # that nothing uses
    flat = {tensor: _flat(tensor) for tensor in lying if tensor not in program.layouts}
    more = [tensor for tensor in flat if tensor not in program.tensors]
    decisions = [
        Decision("lay_flat", tensor.name, f"flat, {scalar_text.to_python(layout.row_tiles)} pages of 4096 B")
        for tensor, layout in flat.items()
    ]
    program = replace(program, layouts=program.layouts | flat, views=(*program.views, *more))
    return program.with_decisions(*decisions)


def _lying(program: TileProgram, in_tiles: dict[Tensor, bool], tensor: Tensor) -> Tensor:
    """The tensor, or a view of it, in whose layout scalar code finds its elements."""
    shared = [one for one in in_tiles if one.param == tensor.param]
    seen = {one: written for one, written in used_by_code(program).items() if one.param == tensor.param}
    written = any(in_tiles[one] for one in shared) or any(seen.values())
    typed = all(one.dtype == tensor.dtype for one in seen)
    serving = [one for one in shared if typed and serves_elements(program, one)]
    if not shared:
        return tensor
    if serving and not (written and (len(shared) > 1 or _overlaps(program.layouts[shared[0]]))):
        return serving[0]
    if written:
        raise UnsupportedError(
            "TT123",
            f"'{tensor.name}' lies in tiles in which scalar code does not find every element",
            help="write it in a function of its own",
        )
    return replace(tensor, name=unique_name(f"{tensor.name}_flat", program.names))


def _in_tiles(program: TileProgram) -> dict[Tensor, bool]:
    """Tensors of which blocks are copied; whether some are written."""
    found: dict[Tensor, bool] = {}

    def add(region: Region, *, written: bool) -> None:
        if isinstance(region.source, Tensor):
            found[region.source] = found.get(region.source, False) or written

    for copy in (stmt for launch in program.launches for stmt in walk(launch.body) if isinstance(stmt, Copy)):
        add(copy.src, written=False)
        add(copy.dst, written=True)
    return found


def _overlaps(layout: TensorLayout) -> bool:
    """Whether an element may be there several times."""
    windows = (layout.row_window, layout.col_window)
    return any(window.extent > window.step for window in windows if window is not None)


def _flat(tensor: Tensor) -> TensorLayout:
    one = scalar.const(1)
    pages = scalar.ceildiv(scalar.product(tensor.shape), 8 * FLAT_PAGE_BYTES // element_bits(tensor.dtype))
    return TensorLayout(None, None, pages, one, one, flat_format(tensor.dtype), FLAT_PAGE_BYTES, flat=True)
