"""Host encoding: tensors to tile bytes and back."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tilelang_tt.diagnostics import InternalError
from tilelang_tt.runtime.formats import FORMATS, decode, encode, page_bytes, tile_shape
from tilelang_tt.runtime.plan import TensorPlan, WindowPlan

DTYPES = {
    "Float32": torch.float32,
    "Float16": torch.float16,
    "Float16_b": torch.bfloat16,
    "Int32": torch.int32,
    "UInt16": torch.uint16,
    "UInt8": torch.uint8,
}


def plan(form: str, row_axis: int | None = 0, col_axis: int | None = 1) -> TensorPlan:
    return TensorPlan("t", 0, form, page_bytes(form), row_axis, col_axis, 0, 0, 0)


def pages_for(tensor: torch.Tensor, item: TensorPlan) -> torch.Tensor:
    shape = tile_shape(item, tuple(tensor.shape))
    return torch.full((shape.pages, item.page_bytes), 0xEE, dtype=torch.uint8)


@pytest.mark.parametrize(("form", "size"), [("Float16_b", 2048), ("Float32", 4096), ("Bfp8_b", 1088), ("Bfp4_b", 576)])
def test_page_sizes(form: str, size: int) -> None:
    assert page_bytes(form) == size


def test_face_order_of_one_tile() -> None:
    x = torch.arange(1024, dtype=torch.int32).view(32, 32)
    item = plan("Int32")
    pages = pages_for(x, item)
    encode(x, item, pages)
    words = pages.view(torch.int32)[0].tolist()
    assert words[0] == 0
    assert words[16] == 32, "second row of the top-left face"
    assert words[256] == 16, "top-right face"
    assert words[512] == 16 * 32, "bottom-left face"
    assert words[768] == 16 * 32 + 16, "bottom-right face"


@pytest.mark.parametrize("form", sorted(DTYPES))
@pytest.mark.parametrize("shape", [(32, 32), (64, 96), (33, 65), (1, 1), (5, 200)])
def test_round_trip(form: str, shape: tuple[int, int]) -> None:
    x = torch.randint(0, 200, shape, generator=torch.Generator().manual_seed(0)).to(DTYPES[form])
    item = plan(form)
    pages = pages_for(x, item)
    encode(x, item, pages)
    back = torch.zeros_like(x)
    decode(pages, item, back)
    assert torch.equal(back.to(torch.float64), x.to(torch.float64))


def test_padding_is_zero() -> None:
    x = torch.ones(33, 40)
    item = plan("Float32")
    pages = pages_for(x, item)
    encode(x, item, pages)
    assert pages.view(torch.float32).sum() == 33 * 40


@pytest.mark.parametrize(
    ("shape", "row", "col"),
    [((3, 40, 50), 1, 2), ((2, 40, 3, 50), 1, 3), ((50, 3, 40), 2, 0)],
)
def test_any_two_axes_may_be_tiled(shape: tuple[int, ...], row: int, col: int) -> None:
    x = torch.randn(shape)
    item = plan("Float32", row, col)
    pages = pages_for(x, item)
    encode(x, item, pages)
    back = torch.zeros_like(x)
    decode(pages, item, back)
    assert torch.equal(back, x)
    others = [axis for axis in range(len(shape)) if axis not in (row, col)]
    first = x.permute(*others, row, col).reshape(-1, shape[row], shape[col])[0]
    face = pages.view(torch.float32)[0][:256].view(16, 16)
    assert torch.equal(face, first[:16, :16])


def in_tile(page: torch.Tensor, row: int, col: int) -> float:
    """The element of a tile, by the definition of faces."""
    return float(page[(row // 16 * 2 + col // 16) * 256 + row % 16 * 16 + col % 16])


REPLICATED = [
    # shape, axis of rows, axis of columns, (batch, row tiles, column tiles)
    ((70,), None, 0, (1, 1, 3)),
    ((64,), None, 0, (1, 1, 2)),
    ((70,), 0, None, (1, 3, 1)),
    ((2, 3, 40), 2, None, (6, 2, 1)),
    ((2, 40, 3), 1, None, (6, 2, 1)),
    ((5, 32), None, 1, (5, 1, 1)),
    ((2, 3), None, None, (6, 1, 1)),
    ((), None, None, (1, 1, 1)),
]


@pytest.mark.parametrize(("shape", "row_axis", "col_axis", "tiles"), REPLICATED)
def test_without_an_axis_of_rows_or_columns_all_of_a_tiles_are_the_same(
    shape: tuple[int, ...], row_axis: int | None, col_axis: int | None, tiles: tuple[int, int, int]
) -> None:
    x, item = torch.randn(shape), plan("Float32", row_axis, col_axis)
    pages = pages_for(x, item)
    assert len(pages) == tiles[0] * tiles[1] * tiles[2]
    encode(x, item, pages)
    others = [axis for axis in range(len(shape)) if axis not in (row_axis, col_axis)]
    tile_axes = [axis for axis in (row_axis, col_axis) if axis is not None]
    matrices = x.permute([*others, *tile_axes]).reshape(tiles[0], -1).tolist()
    extent = len(matrices[0])  # of the one axis that is tiled
    for number, page in enumerate(pages.view(torch.float32)):
        batch, place = divmod(number, tiles[1] * tiles[2])
        for row, col in ((0, 0), (1, 0), (0, 1), (5, 17), (16, 3), (31, 31), (20, 9)):
            along = row if row_axis is not None else col if col_axis is not None else 0
            at = 32 * place + along
            assert in_tile(page, row, col) == (matrices[batch][at] if at < extent else 0)
    back = torch.zeros_like(x)
    decode(pages, item, back)
    assert torch.equal(back, x)


@pytest.mark.parametrize("form", ["Float16_b", "Bfp8_b", "Int32"])
def test_replicated_values_in_other_formats(form: str) -> None:
    x, item = torch.arange(40).to(DTYPES.get(form, torch.float32)), plan(form, 0, None)
    pages = pages_for(x, item)
    encode(x, item, pages)
    back = torch.zeros_like(x)
    decode(pages, item, back)
    assert torch.equal(back, x)  # sixteen equal numbers lose nothing to a shared exponent
    matrix = torch.zeros(40, 32, dtype=x.dtype)
    decode(pages, plan(form, 0, 1), matrix)
    assert torch.equal(matrix, x.unsqueeze(1).expand(40, 32))


def test_replicated_values_are_read_from_the_first_row_and_column() -> None:
    for item, first in ((plan("Int32", None, 0), range(32)), (plan("Int32", 0, None), range(0, 1024, 32))):
        full = torch.arange(1024, dtype=torch.int32).view(32, 32)
        pages = pages_for(full, plan("Int32"))
        encode(full, plan("Int32"), pages)
        back = torch.zeros(32, dtype=torch.int32)
        decode(pages, item, back)
        assert back.tolist() == list(first)


@pytest.mark.parametrize(("row_axis", "col_axis"), [(1, None), (None, 1)])
def test_only_written_pages_of_replicated_values_come_back(row_axis: int | None, col_axis: int | None) -> None:
    x, item = torch.randn(2, 40), plan("Float32", row_axis, col_axis)
    pages = pages_for(x, item)
    encode(x + 100, item, pages)
    back = x.clone()
    decode(pages, item, back, torch.tensor([False, True, True, False]))
    assert torch.equal(back[0, :32], x[0, :32])
    assert torch.equal(back[0, 32:], x[0, 32:] + 100)
    assert torch.equal(back[1, :32], x[1, :32] + 100)
    assert torch.equal(back[1, 32:], x[1, 32:])


WINDOWS = [
    # length, step, extent, windows each element lies in
    (70, 16, 16, 1),
    (70, 48, 48, 1),
    (70, 8, 40, 5),
    (64, 20, 32, 2),
    (1, 16, 16, 1),
]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(("length", "step", "extent", "times"), WINDOWS)
def test_windows_lie_in_tiles_of_their_own(length: int, step: int, extent: int, times: int, axis: int) -> None:
    x = torch.arange(1, 3 * length + 1, dtype=torch.int32).view(3, length)
    x = x if axis == 1 else x.T.contiguous()
    item = replace(plan("Int32"), **{("row_window", "col_window")[axis]: WindowPlan(step, extent)})  # type: ignore[arg-type]
    pages = pages_for(x, item)
    encode(x, item, pages)
    padded, pieces = -(-extent // 32) * 32, -(-length // step)
    assert len(pages) == pieces * padded // 32
    full = torch.zeros((3, pieces * padded) if axis == 1 else (pieces * padded, 3), dtype=torch.int32)
    decode(pages, plan("Int32"), full)
    stored = full if axis == 1 else full.T
    values = x if axis == 1 else x.T
    for piece in range(pieces):
        for place in range(padded):
            at = piece * step + place
            inside = place < extent and at < length
            assert stored[:, piece * padded + place].tolist() == (values[:, at].tolist() if inside else [0, 0, 0])
    assert int((stored > 0).sum()) <= times * x.numel()
    back = torch.zeros_like(x)
    decode(pages, item, back)
    assert torch.equal(back, x)


def test_only_written_windows_come_back() -> None:
    x, item = torch.randn(3, 40), replace(plan("Float32"), col_window=WindowPlan(16, 16))
    pages = pages_for(x, item)
    encode(x + 100, item, pages)
    back = x.clone()
    decode(pages, item, back, torch.tensor([True, False, True]))
    assert torch.equal(back[:, :16], x[:, :16] + 100)
    assert torch.equal(back[:, 16:32], x[:, 16:32])
    assert torch.equal(back[:, 32:], x[:, 32:] + 100)


ROWS = [
    # shape, axis of rows, axis of columns, elements of a page
    ((5, 40), 0, 1, 64),
    ((40, 2, 5), 2, 0, 64),
    ((2, 7), 1, None, 32),
]


@pytest.mark.parametrize("dtype", [torch.int32, torch.bfloat16, torch.uint8, torch.float8_e5m2])
@pytest.mark.parametrize(("shape", "row_axis", "col_axis", "width"), ROWS)
def test_pages_of_rows(
    shape: tuple[int, ...], row_axis: int, col_axis: int | None, width: int, dtype: torch.dtype
) -> None:
    form = "Int32" if dtype is torch.int32 else "Float32"
    item = replace(plan(form, row_axis, col_axis), page_bytes=4 * width, by_rows=True)
    x = (torch.rand(shape) * 100).to(dtype)
    others = [axis for axis in range(len(shape)) if axis not in (row_axis, col_axis)]
    rows = x.double().permute([*others, row_axis, *([] if col_axis is None else [col_axis])])
    rows = rows.reshape(-1, 1 if col_axis is None else shape[col_axis])
    pages = torch.full((len(rows), 4 * width), 0xEE, dtype=torch.uint8)
    encode(x, item, pages)
    stored = pages.view(FORMATS[form].element).double()
    if col_axis is None:
        assert torch.equal(stored, rows.expand(-1, 32))
    else:
        assert torch.equal(stored[:, : shape[col_axis]], rows)
        assert not bool(stored[:, shape[col_axis] :].any())
    back = torch.zeros(shape).to(dtype)
    decode(pages, item, back)
    assert torch.equal(back.double(), x.double())
    back = torch.zeros(shape).to(dtype)
    decode(pages, item, back, torch.arange(len(rows)) == 1)
    kept = back.double().permute([*others, row_axis, *([] if col_axis is None else [col_axis])]).reshape(rows.shape)
    assert torch.equal(kept[1], rows[1])
    assert not bool(kept[2:].any())


def test_tables_are_words_in_row_major_order() -> None:
    item = replace(plan("UInt32", None, None), table=True, view=True)
    for values, words in (
        (torch.arange(1500, dtype=torch.int32).view(30, 50), torch.int32),
        (torch.tensor([[1, 0], [0, 1]], dtype=torch.bool), torch.int32),
        (torch.tensor([2**32 - 1, 7], dtype=torch.uint32), torch.uint32),
        (torch.tensor([-1.5, 0.25]).bfloat16(), torch.float32),
    ):
        pages = torch.zeros(-(-values.numel() // 1024), 4096, dtype=torch.uint8)
        encode(values, item, pages)
        assert pages.view(words).flatten()[: values.numel()].tolist() == values.flatten().tolist()
        with pytest.raises(InternalError, match="nothing is read back"):
            decode(pages, item, values)
    with pytest.raises(InternalError, match="TT901"):
        encode(torch.zeros(1025), item, torch.zeros(1, 4096, dtype=torch.uint8))


def test_a_tensor_with_strides_comes_back_in_place() -> None:
    base = torch.zeros(3, 40, 2)
    x, item = torch.randn(40, 3), plan("Float32", 0, None)
    pages = pages_for(x, item)
    encode(x, item, pages)
    decode(pages, item, base[:, :, 1].T)
    assert torch.equal(base[:, :, 1].T, x)
    assert not bool(base[:, :, 0].any())


def test_only_written_pages_come_back() -> None:
    x, item = torch.randn(64, 40), plan("Float32")
    pages = pages_for(x, item)
    encode(x + 100, item, pages)
    back = x.clone()
    decode(pages, item, back, torch.tensor([True, False, False, True]))
    assert torch.equal(back[:32, :32], x[:32, :32] + 100)
    assert torch.equal(back[:32, 32:], x[:32, 32:])
    assert torch.equal(back[32:, :32], x[32:, :32])
    assert torch.equal(back[32:, 32:], x[32:, 32:] + 100)


@pytest.mark.parametrize(("form", "bits"), [("Bfp8_b", 7), ("Bfp4_b", 3)])
def test_block_floating_point_error_is_half_a_step_of_the_largest(form: str, bits: int) -> None:
    x, item = torch.randn(64, 64), plan(form)
    pages = pages_for(x, item)
    encode(x, item, pages)
    back = torch.zeros_like(x)
    decode(pages, item, back)
    groups, errors = x.view(64, 4, 16), (back - x).view(64, 4, 16).abs()
    step = torch.exp2(groups.abs().amax(-1).log2().floor() - (bits - 1))
    # The largest magnitude saturates instead of raising the exponent: up to a whole step there.
    assert bool((errors <= step.unsqueeze(-1)).all())
    assert float((errors / step.unsqueeze(-1)).mean()) < 0.27


def test_block_floating_point_bytes() -> None:
    x = torch.zeros(32, 32)
    x[0, :4] = torch.tensor([1.0, -0.5, 1.5 / 64, 2.5 / 64])  # the last two are ties: to even
    item = plan("Bfp8_b")
    pages = pages_for(x, item)
    encode(x, item, pages)
    assert pages[0, 0] == 127
    assert pages[0, 64:68].tolist() == [64, 0x80 | 32, 2, 2]


@pytest.mark.parametrize(("form", "bits"), [("Bfp8_b", 7), ("Bfp4_b", 3)])
def test_block_floats_at_the_ends_of_the_range(form: str, bits: int) -> None:
    """What has no normal number is zero, a NaN an infinity."""
    tiny, inf = torch.finfo(torch.float32).tiny, float("inf")
    rows = {
        (1e-40, -1e-40, 0.0, -0.0): (0.0, 0.0, 0.0, 0.0),
        (tiny, -tiny, tiny / 2, 0.0): (tiny, -tiny, 0.0, 0.0),
        (4 * tiny, 2 * tiny, tiny, -tiny): (4 * tiny, 2 * tiny, tiny, -tiny),
        (2.0**60 * tiny, tiny, 1.0, 0.0): (0.0, 0.0, 1.0, 0.0),
        (inf, -inf, float("nan"), 1.0): (inf, -inf, inf, 0.0),
        (inf, 2.0**127, -(2.0**126), 0.0): (inf, 2.0**127, -(2.0**126), 0.0),
    }
    x, wanted = torch.zeros(32, 32), torch.zeros(32, 32)
    for at, (given, kept) in enumerate(rows.items()):
        x[at, :4], wanted[at, :4] = torch.tensor(given), torch.tensor(kept)
    x[10, 0], wanted[10, 0] = torch.finfo(torch.float32).max, (2 - 2.0 ** (1 - bits)) * 2.0**127
    x[11, :2] = torch.tensor([inf, torch.finfo(torch.float32).max])
    wanted[11, :2] = torch.tensor([inf, (2 - 2.0 ** (2 - bits)) * 2.0**127])
    item = plan(form)
    pages = pages_for(x, item)
    encode(x, item, pages)
    back = torch.full_like(x, 7.0)
    decode(pages, item, back)
    assert torch.equal(back, wanted)


def test_zero_size() -> None:
    x, item = torch.zeros(0, 64), plan("Float32")
    pages = torch.zeros(0, 4096, dtype=torch.uint8)
    encode(x, item, pages)
    decode(pages, item, x)


def test_wrong_number_of_pages() -> None:
    with pytest.raises(InternalError, match="TT901"):
        encode(torch.zeros(64, 64), plan("Float32"), torch.zeros(3, 4096, dtype=torch.uint8))


def test_every_format_of_the_schema_is_known() -> None:
    import json
    from importlib import resources

    schema = json.loads(resources.files("tilelang_tt.runtime").joinpath("plan.schema.json").read_text())
    named = schema["properties"]["tensors"]["items"]["properties"]["format"]["enum"]
    assert sorted(named) == sorted(FORMATS)
