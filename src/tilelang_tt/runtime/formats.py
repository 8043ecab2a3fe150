"""Tensors as tile bytes: 32x32 tiles of four 16x16 faces, or halves of these, one per page, in the device's formats.

    row-major [batch, rows, cols]   <->   pages [batch * row_tiles * col_tiles, page_bytes]

Rows and columns beyond the tensor are zero. A tensor without an axis of rows has the same values in all 32 rows
of a tile, one without an axis of columns in all 32 columns. Conversions run in torch, vectorised over the whole tensor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from tilelang_tt.arch import FACE, TILE
from tilelang_tt.diagnostics import InternalError
from tilelang_tt.formats import FLAT_PAGE_BYTES
from tilelang_tt.runtime.plan import TensorPlan, WindowPlan

BFP_EXPONENTS = 64  # bytes of shared exponents at the start of a block floating point page
_ELEMENTS = TILE * TILE
_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}  # by bytes of an element


@dataclass(frozen=True)
class Format:
    """A device number format. `element` is its torch storage type; None for block floating point."""

    name: str
    number: int  # tt::DataFormat
    page_bytes: int
    element: torch.dtype | None
    magnitude_bits: int = 0


FORMATS: dict[str, Format] = {
    item.name: item
    for item in (
        Format("Float32", 0, 4 * _ELEMENTS, torch.float32),
        Format("Float16", 1, 2 * _ELEMENTS, torch.float16),
        Format("Float16_b", 5, 2 * _ELEMENTS, torch.bfloat16),
        Format("Bfp8_b", 6, BFP_EXPONENTS + _ELEMENTS, None, magnitude_bits=7),
        Format("Bfp4_b", 7, BFP_EXPONENTS + _ELEMENTS // 2, None, magnitude_bits=3),
        Format("Int32", 8, 4 * _ELEMENTS, torch.int32),
        Format("UInt16", 9, 2 * _ELEMENTS, torch.uint16),
        Format("UInt32", 24, 4 * _ELEMENTS, torch.uint32),
        Format("UInt8", 30, _ELEMENTS, torch.uint8),
    )
}


def page_bytes(name: str) -> int:
    """Bytes of one 32x32 tile in this format."""
    return FORMATS[name].page_bytes


def tile_bytes(name: str, tile: tuple[int, int]) -> int:
    """Bytes of a tile of any shape; the exponents of a block format fill whole words of 16 bytes."""
    form, elements = FORMATS[name], tile[0] * tile[1]
    if form.element is not None:
        return form.page_bytes * elements // _ELEMENTS
    exponents = -(-elements // FACE // 16) * 16
    return exponents + (form.page_bytes - BFP_EXPONENTS) * elements // _ELEMENTS


@dataclass(frozen=True)
class TileShape:
    """A tensor seen as [batch, rows, cols], and how many of each a tile holds.

    `height` is that of `tile` where the tensor has an axis of rows, and 1 where it has none: then all rows of a tile
    are the same one row. `width` likewise for columns.
    """

    batch: int
    rows: int
    cols: int
    height: int = TILE
    width: int = TILE
    tile: tuple[int, int] = (TILE, TILE)

    @property
    def elements(self) -> int:
        """Of a page."""
        return self.tile[0] * self.tile[1]

    @property
    def row_tiles(self) -> int:
        return -(-self.rows // self.height)

    @property
    def col_tiles(self) -> int:
        return -(-self.cols // self.width)

    @property
    def pages(self) -> int:
        return self.batch * self.row_tiles * self.col_tiles

    @property
    def padded(self) -> tuple[int, int, int]:
        return self.batch, self.row_tiles * self.height, self.col_tiles * self.width

    @property
    def aligned(self) -> bool:
        return self.padded == (self.batch, self.rows, self.cols)


def tile_shape(plan: TensorPlan, shape: tuple[int, ...]) -> TileShape:
    others = [size for axis, size in enumerate(shape) if axis not in (plan.row_axis, plan.col_axis)]
    high, wide = plan.tile
    rows, height = (1, 1) if plan.row_axis is None else (_length(shape[plan.row_axis], plan.row_window), high)
    cols, width = (1, 1) if plan.col_axis is None else (_length(shape[plan.col_axis], plan.col_window), wide)
    return TileShape(math.prod(others), rows, cols, height, width, plan.tile)


def folded(tensor: torch.Tensor, plan: TensorPlan) -> torch.Tensor:
    """The tensor with the axes that the plan numbers: a view."""
    for fold in plan.fold or ():
        axis, width, shape, strides = fold.axis, fold.width, list(tensor.shape), list(tensor.stride())
        if shape[axis] % width:
            tensor = _filled_up(tensor, axis, width)
            shape, strides = list(tensor.shape), list(tensor.stride())
        shape[axis : axis + 1] = [shape[axis] // width, width]
        strides[axis : axis + 1] = [strides[axis] * width, strides[axis]]
        tensor = tensor.as_strided(shape, strides)
    return tensor


def _filled_up(tensor: torch.Tensor, axis: int, width: int) -> torch.Tensor:
    """A copy with zeros behind the end of an axis: of inputs, since nothing would come back from it."""
    shape = list(tensor.shape)
    shape[axis] = -(-shape[axis] // width) * width
    bits = _BITS[tensor.element_size()]
    result = torch.zeros(shape, dtype=bits)
    result.narrow(axis, 0, tensor.shape[axis]).copy_(tensor.view(bits))
    return result.view(tensor.dtype)


def _length(extent: int, window: WindowPlan | None) -> int:
    """Elements along an axis as stored: windows fill whole tiles."""
    if window is None:
        return extent
    return (window.before + -(-extent // window.step)) * -(-window.extent // TILE) * TILE


def _spread(matrices: torch.Tensor, dim: int, window: WindowPlan) -> torch.Tensor:
    """The windows of an axis one after the other, zeros between them."""
    extent = matrices.shape[dim]
    padded = -(-window.extent // TILE) * TILE
    inside = torch.arange(padded)
    places = torch.arange(-window.before * window.step, extent, window.step)[:, None] + inside
    outside = (inside >= window.extent) | (places < 0) | (places >= extent)
    # As bits, because torch computes with fewer types than there are; a zero is all zeros in every type.
    bits = matrices.view(_BITS[matrices.element_size()])
    result = bits.index_select(dim, places.clamp(0, extent - 1).flatten())
    shape = [1, 1, 1]
    shape[dim] = -1
    return result.masked_fill_(outside.reshape(shape), 0).view(matrices.dtype)


def _gather(matrices: torch.Tensor, dim: int, window: WindowPlan, extent: int) -> torch.Tensor:
    """An axis put together again from its windows."""
    places = torch.arange(extent)
    padded = -(-window.extent // TILE) * TILE
    return matrices.index_select(dim, places // window.step * padded + (places % window.step).clamp(max=padded - 1))


def _covered(plan: TensorPlan, shape: tuple[int, ...]) -> torch.Tensor | None:
    """Which elements of [batch, rows, cols] lie in a window; None: all."""
    result = None
    for dim, window in _windows(plan):
        if window.extent < window.step:
            inside = torch.arange(shape[dim]) % window.step < window.extent
            inside = inside.view([-1 if other == dim else 1 for other in range(3)]).expand(shape)
            result = inside if result is None else result & inside
    return result


def _windows(plan: TensorPlan) -> list[tuple[int, WindowPlan]]:
    return [(dim, window) for dim, window in ((1, plan.row_window), (2, plan.col_window)) if window is not None]


def _axes(plan: TensorPlan, rank: int) -> list[int]:
    """Axis order that puts batch first, then rows, then columns."""
    last = [axis for axis in (plan.row_axis, plan.col_axis) if axis is not None]
    return [axis for axis in range(rank) if axis not in last] + last


def _as_matrices(tensor: torch.Tensor, plan: TensorPlan, shape: TileShape) -> torch.Tensor:
    """[batch, rows, cols], a view where strides allow."""
    moved = tensor.permute(_axes(plan, tensor.dim()))
    extents = [1 if axis is None else tensor.shape[axis] for axis in (plan.row_axis, plan.col_axis)]
    result = moved.reshape(shape.batch, *extents)
    for dim, window in _windows(plan):
        result = _spread(result, dim, window)
    return result


def _faces(extent: int) -> tuple[int, int]:
    """A tile's rows (columns) as faces, and rows of a face; a single row is the first of the first face."""
    return (extent // FACE, FACE) if extent > 1 else (1, 1)


def _in_faces(shape: TileShape) -> tuple[int, ...]:
    """Pages in the order of their bytes."""
    return shape.batch, shape.row_tiles, shape.col_tiles, shape.tile[0] // FACE, shape.tile[1] // FACE, FACE, FACE


def _own(values: torch.Tensor, shape: TileShape) -> torch.Tensor:
    """Of pages `_in_faces`, the values that are not copies of others."""
    (face_rows, rows), (face_cols, cols) = _faces(shape.height), _faces(shape.width)
    return values[..., :face_rows, :face_cols, :rows, :cols]


def _tiled(matrices: torch.Tensor, shape: TileShape) -> torch.Tensor:
    """View of padded [batch, rows, cols] in the order of tile bytes, each value once."""
    rows, cols = (shape.row_tiles, *_faces(shape.height)), (shape.col_tiles, *_faces(shape.width))
    return matrices.view(shape.batch, *rows, *cols).permute(0, 1, 4, 2, 5, 3, 6)


def _padded(matrices: torch.Tensor, shape: TileShape) -> torch.Tensor:
    if shape.aligned and matrices.is_contiguous():
        return matrices
    full = matrices.new_zeros(shape.padded)
    full[:, : shape.rows, : shape.cols] = matrices
    return full


def encode(tensor: torch.Tensor, plan: TensorPlan, pages: torch.Tensor) -> None:
    """Write `tensor` into `pages`, uint8 [pages, page_bytes], in the plan's format."""
    tensor = folded(tensor, plan)
    if plan.flat:
        _encode_flat(tensor, plan, pages)
        return
    if plan.table:
        _encode_table(tensor, plan, pages)
        return
    if plan.by_rows:
        _encode_rows(tensor, plan, pages)
        return
    shape = tile_shape(plan, tuple(tensor.shape))
    _check(plan, shape.pages, pages, page_bytes(plan.format) * shape.elements // _ELEMENTS)
    if shape.pages == 0:
        return
    source = _tiled(_padded(_as_matrices(tensor, plan, shape), shape), shape)
    form = FORMATS[plan.format]
    if form.element is None:
        values = source.expand(_in_faces(shape)).reshape(shape.pages, _ELEMENTS)
        _encode_bfp(values.to(torch.float32), form, pages)
    else:
        pages.view(form.element).view(_in_faces(shape)).copy_(source)


def decode(pages: torch.Tensor, plan: TensorPlan, tensor: torch.Tensor, written: torch.Tensor | None = None) -> None:
    """Read `pages` back into `tensor`, in place; only the pages marked in `written`, when given.

    A flat tensor comes back whole: kernels write parts of its pages, and the rest is what was sent.
    """
    if plan.view:
        raise InternalError("TT901", f"'{plan.name}' is one more view of an input; nothing is read back from it")
    tensor = folded(tensor, plan)
    if plan.flat:
        _decode_flat(pages, plan, tensor)
        return
    if plan.by_rows:
        _decode_rows(pages, plan, tensor, written)
        return
    shape = tile_shape(plan, tuple(tensor.shape))
    _check(plan, shape.pages, pages, page_bytes(plan.format) * shape.elements // _ELEMENTS)
    if shape.pages == 0:
        return
    form = FORMATS[plan.format]
    values = _decode_bfp(pages, form) if form.element is None else pages.view(form.element)
    values = _own(values.view(_in_faces(shape)), shape)
    matrices = tensor.permute(_axes(plan, tensor.dim()))
    if written is None and shape.aligned and matrices.is_contiguous() and not _windows(plan):
        _tiled(matrices.view(shape.padded), shape).copy_(_as_wanted(values, tensor.dtype))
        return
    full = values.new_empty(shape.padded)
    _tiled(full, shape).copy_(values)
    full = _put_together(full[:, : shape.rows, : shape.cols], plan, tensor)
    result = _as_wanted(full.reshape(matrices.shape), tensor.dtype).to(tensor.dtype)
    meant = _covered(plan, tuple(full.shape))
    if written is not None:
        mask = written.view(shape.batch, shape.row_tiles, shape.col_tiles)
        mask = mask.repeat_interleave(shape.height, 1).repeat_interleave(shape.width, 2)
        mask = _put_together(mask[:, : shape.rows, : shape.cols], plan, tensor)
        meant = mask if meant is None else mask & meant
    if meant is not None:
        result = _merged(meant.reshape(matrices.shape), result, matrices)
    matrices.copy_(result)


def _put_together(matrices: torch.Tensor, plan: TensorPlan, tensor: torch.Tensor) -> torch.Tensor:
    for dim, window in _windows(plan):
        axis = plan.row_axis if dim == 1 else plan.col_axis
        assert axis is not None
        matrices = _gather(matrices, dim, window, tensor.shape[axis])
    return matrices


def _as_wanted(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Floats that stand for integers, as integers: to the nearest, wrapped to the type's range by the copy after it.

    A kernel leaves whole numbers here, since its casts truncate; rounding only heals what arithmetic in floats may
    have lost. Truth values are what is not 0, and floats are rounded by the copy itself.
    """
    if dtype is torch.float8_e4m3fn:  # has no infinity; the packer made it of a NaN, which torch would make 448
        return torch.where(values.isinf(), torch.nan, values)
    whole = not dtype.is_floating_point and dtype is not torch.bool
    return values.float().round().to(torch.int64) if whole and values.is_floating_point() else values


def _encode_table(tensor: torch.Tensor, plan: TensorPlan, pages: torch.Tensor) -> None:
    """Words in row-major order: float32, or 32-bit integers."""
    _check(plan, -(-tensor.numel() // _ELEMENTS), pages)
    words = torch.float32 if tensor.is_floating_point() else torch.int32
    pages.view(words).flatten()[: tensor.numel()] = tensor.reshape(-1).to(words)


def _encode_flat(tensor: torch.Tensor, plan: TensorPlan, pages: torch.Tensor) -> None:
    """The bytes of the elements in row-major order; as bits, because torch copies fewer types than there are."""
    _check(plan, -(-tensor.nbytes // FLAT_PAGE_BYTES), pages, FLAT_PAGE_BYTES)
    found = tensor.view(_BITS[tensor.element_size()]).contiguous().view(-1).view(torch.uint8)
    data = pages.view(-1)
    data[: len(found)] = found
    data[len(found) :] = 0


def _decode_flat(pages: torch.Tensor, plan: TensorPlan, tensor: torch.Tensor) -> None:
    _check(plan, -(-tensor.nbytes // FLAT_PAGE_BYTES), pages, FLAT_PAGE_BYTES)
    bits = _BITS[tensor.element_size()]
    tensor.view(bits).copy_(pages.view(-1)[: tensor.nbytes].view(bits).view(tensor.shape))


def _encode_rows(tensor: torch.Tensor, plan: TensorPlan, pages: torch.Tensor) -> None:
    """A page for every row; without an axis of columns a row is one value 32 times."""
    width = 1 if plan.col_axis is None else tensor.shape[plan.col_axis]
    rows = tensor.permute(_axes(plan, tensor.dim())).reshape(-1, width)
    words = _words(pages, plan)
    if plan.col_axis is None:
        words.copy_(rows)
    else:
        words[:, :width] = rows
        words[:, width:] = 0


def _decode_rows(pages: torch.Tensor, plan: TensorPlan, tensor: torch.Tensor, written: torch.Tensor | None) -> None:
    width = 1 if plan.col_axis is None else tensor.shape[plan.col_axis]
    matrices = tensor.permute(_axes(plan, tensor.dim()))
    found = _words(pages, plan)[:, :width].reshape(matrices.shape)
    result = _as_wanted(found, tensor.dtype).to(tensor.dtype)
    if written is not None:
        mask = written.view(-1, 1).expand(-1, width).reshape(matrices.shape)
        result = _merged(mask, result, matrices)
    matrices.copy_(result)


def _words(pages: torch.Tensor, plan: TensorPlan) -> torch.Tensor:
    element = FORMATS[plan.format].element
    assert element is not None  # rows are no block floating point
    return pages.view(element)


def _merged(mask: torch.Tensor, new: torch.Tensor, old: torch.Tensor) -> torch.Tensor:
    """`new` where the mask says so; as bits, because torch.where knows fewer types than there are."""
    bits = _BITS[old.element_size()]
    return torch.where(mask, new.view(bits), old.view(bits)).view(old.dtype)


def _check(plan: TensorPlan, count: int, pages: torch.Tensor, size: int | None = None) -> None:
    expected = (count, page_bytes(plan.format) if size is None else size)
    if tuple(pages.shape) != expected:
        raise InternalError(
            "TT901", f"tensor '{plan.name}' needs pages {expected}, the plan gives {tuple(pages.shape)}"
        )


def _encode_bfp(values: torch.Tensor, form: Format, pages: torch.Tensor) -> None:
    """Sixteen datums share their largest exponent; magnitudes round to nearest even.

    What is smaller than a normal number becomes zero, and a NaN becomes an infinity, as the engine's packer has it.
    """
    bits = form.magnitude_bits
    groups = values.view(len(values), BFP_EXPONENTS, FACE)
    raw = groups.view(torch.int32)
    exponents = ((raw >> 23) & 0xFF).amax(dim=2)
    leading = 1 << (bits - 1)
    # Beside an infinity finite numbers stay finite.
    limit = torch.where(exponents == 0xFF, leading - 1, 2 * leading - 1).unsqueeze(2)
    # magnitude = |x| / 2^(exponent - 127) * 2^(bits - 1), rounded to even and kept below 2^bits
    scale = torch.ldexp(torch.ones_like(exponents, dtype=torch.float64), 127 + bits - 1 - exponents)
    magnitude = (groups.abs().to(torch.float64) * scale.unsqueeze(2)).round().nan_to_num().minimum(limit)
    # The unpacker moves the leading bit to its place and lowers the exponent, which must not pass 1.
    lowest = torch.ldexp(torch.ones_like(exponents, dtype=torch.float64), bits - exponents)
    magnitude = torch.where(magnitude < lowest.unsqueeze(2), 0, magnitude).to(torch.uint8)
    magnitude = torch.where((raw >> 23) & 0xFF == 0xFF, leading, magnitude)
    datums = torch.where((raw < 0) & (magnitude > 0), magnitude | (1 << bits), magnitude)
    datums = datums.view(len(values), _ELEMENTS)
    pages[:, :BFP_EXPONENTS] = exponents.to(torch.uint8)
    pages[:, BFP_EXPONENTS:] = datums if bits == 7 else datums[:, 0::2] | (datums[:, 1::2] << 4)


def _decode_bfp(pages: torch.Tensor, form: Format) -> torch.Tensor:
    bits = form.magnitude_bits
    datums = pages[:, BFP_EXPONENTS:]
    if bits == 3:
        datums = torch.stack((datums & 15, datums >> 4), dim=2).reshape(len(pages), _ELEMENTS)
    groups = datums.reshape(len(pages), BFP_EXPONENTS, FACE)
    magnitude = (groups & ((1 << bits) - 1)).to(torch.float32)
    signed = torch.where(groups >> bits > 0, -magnitude, magnitude)
    exponents = pages[:, :BFP_EXPONENTS].to(torch.int32) - 127 - (bits - 1)
    return torch.ldexp(signed, exponents.unsqueeze(2)).view(len(pages), _ELEMENTS)
