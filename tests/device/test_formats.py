"""Host encoding: tensors to tile bytes and back."""

from __future__ import annotations

import pytest
import torch

from tilelang_tt.diagnostics import InternalError
from tilelang_tt.runtime.formats import FORMATS, decode, encode, page_bytes, tile_shape
from tilelang_tt.runtime.plan import TensorPlan

DTYPES = {
    "Float32": torch.float32,
    "Float16": torch.float16,
    "Float16_b": torch.bfloat16,
    "Int32": torch.int32,
    "UInt16": torch.uint16,
    "UInt8": torch.uint8,
}


def plan(form: str, row_axis: int | None = 0, col_axis: int = 1) -> TensorPlan:
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
    [((3, 40, 50), 1, 2), ((2, 40, 3, 50), 1, 3), ((50, 3, 40), 2, 0), ((100,), None, 0)],
)
def test_any_two_axes_may_be_tiled(shape: tuple[int, ...], row: int | None, col: int) -> None:
    x = torch.randn(shape)
    item = plan("Float32", row, col)
    pages = pages_for(x, item)
    encode(x, item, pages)
    back = torch.zeros_like(x)
    decode(pages, item, back)
    assert torch.equal(back, x)
    others = [axis for axis in range(len(shape)) if axis not in (row, col)]
    first = x.permute(*others, *([] if row is None else [row]), col).reshape(
        -1, 1 if row is None else shape[row], shape[col]
    )[0]
    rows, cols = min(16, first.shape[0]), min(16, first.shape[1])
    face = pages.view(torch.float32)[0][:256].view(16, 16)
    assert torch.equal(face[:rows, :cols], first[:rows, :cols])


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
