"""Element types that the chip has no format for: every value survives the way to the device and back."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tilelang_tt.formats import DTYPES, INTEGERS, format_of, storage_note
from tilelang_tt.runtime.bind import as_float32
from tilelang_tt.runtime.formats import FORMATS, decode, encode, page_bytes
from tilelang_tt.runtime.plan import CbPlan, LaunchPlan, Plan, TensorPlan, WindowPlan

TORCH = {
    "float8_e4m3": torch.float8_e4m3fn,
    **{dtype: getattr(torch, dtype) for dtype in DTYPES if dtype != "float8_e4m3"},
}
EXTREMES = {
    torch.int32: [-(2**31), -(2**24) - 1, -1, 0, 1, 2**24 + 1, 2**31 - 1],
    torch.uint32: [0, 1, 2**24 + 1, 2**31, 2**32 - 1],
    torch.float32: [-3.4e38, -1.0000001, 0.0, 1e-30, 1.0000001],
}


def every_value(dtype: torch.dtype) -> torch.Tensor:
    """All of a type's values, or, of 32 bits, a choice."""
    if dtype is torch.bool:
        return torch.tensor([False, True])
    if dtype.itemsize == 4:
        return torch.tensor(EXTREMES[dtype], dtype=torch.float64).to(dtype)
    bits = torch.arange(256, dtype=torch.uint8) if dtype.itemsize == 1 else torch.arange(65536).to(torch.uint16)
    return bits.view(dtype)


def plan(form: str) -> TensorPlan:
    return TensorPlan("t", 0, form, page_bytes(form), 0, 1, 0, 0, 0)


def pages_of(values: torch.Tensor, form: str) -> torch.Tensor:
    tiles = -(-values.shape[0] // 32) * -(-values.shape[1] // 32)
    pages = torch.full((tiles, page_bytes(form)), 0xEE, dtype=torch.uint8)
    encode(values, plan(form), pages)
    return pages


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_value_survives(dtype: str, exact: bool) -> None:
    form = format_of(dtype, "float32")
    if exact and form not in ("Int32", "UInt32"):
        form = "Float32"
    values = every_value(TORCH[dtype])
    values = values.view(-1, 256) if len(values) >= 256 else values.view(1, -1)
    pages = pages_of(values, form)
    in_tile = pages[0].view(FORMATS[form].element)[: values.shape[1]][:16]  # row 0
    assert torch.equal(in_tile.double().nan_to_num(999), values[0, :16].double().nan_to_num(999))
    back = torch.zeros_like(values)
    decode(pages, plan(form), back)
    assert torch.equal(back.double().nan_to_num(999), values.double().nan_to_num(999))


@pytest.mark.parametrize("dtype", DTYPES)
def test_only_written_pages_come_back(dtype: str) -> None:
    form = format_of(dtype, "float32")
    old, new = torch.zeros(64, 40).to(TORCH[dtype]), torch.ones(64, 40).to(TORCH[dtype])
    decode(pages_of(new, form), plan(form), old, torch.tensor([False, True, True, False]))
    expected = torch.zeros(64, 40)
    expected[:32, 32:] = 1
    expected[32:, :32] = 1
    assert torch.equal(old.float(), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_windows_of_every_type(dtype: str) -> None:
    item = replace(plan(format_of(dtype, "float32")), col_window=WindowPlan(16, 16))
    values = torch.ones(3, 40).to(TORCH[dtype])
    pages = torch.full((3, item.page_bytes), 0xEE, dtype=torch.uint8)
    encode(values, item, pages)
    assert int((pages.view(FORMATS[item.format].element).float() != 0).sum()) == 3 * 40
    for written in (None, torch.tensor([True, True, True])):
        back = torch.zeros(3, 40).to(TORCH[dtype])
        decode(pages, item, back, written)
        assert torch.equal(back.float(), torch.ones(3, 40))


def test_integers_in_floats_come_back_rounded_and_wrapped() -> None:
    values = torch.tensor([[2.75, -2.75, 0.5, 1.5, 127.0, 128.0, -129.0]])
    pages = pages_of(values, "Float32")
    for dtype, expected in (
        (torch.int8, [3, -3, 0, 2, 127, -128, 127]),
        (torch.uint8, [3, 253, 0, 2, 127, 128, 127]),
        (torch.int16, [3, -3, 0, 2, 127, 128, -129]),
        (torch.bool, [1, 1, 1, 1, 1, 1, 1]),
    ):
        back = torch.zeros(1, 7, dtype=dtype)
        decode(pages, plan("Float32"), back)
        assert back.tolist() == [expected], dtype


@pytest.mark.parametrize(
    "dtype", [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz]
)
def test_narrow_floats_come_back_rounded_to_nearest(dtype: torch.dtype) -> None:
    """Against the nearest of all values of the type, by distance."""
    values = (torch.rand(40, 40, generator=torch.Generator().manual_seed(0)) * 200 - 100).bfloat16()
    back = torch.zeros(40, 40).to(dtype)
    decode(pages_of(values, "Float16_b"), plan("Float16_b"), back)
    known = every_value(dtype).double()
    known = known[known.isfinite()]
    nearest = (values.double().unsqueeze(2) - known).abs().amin(2)
    assert torch.equal((back.double() - values.double()).abs(), nearest)


def test_exact_numerics_leave_integers_alone() -> None:
    tensors = tuple(replace(plan(form), name=form) for form in ("Int32", "UInt32", "Float16_b", "Bfp8_b"))
    cbs = tuple(CbPlan(n, t.name, t.format, t.page_bytes, 2, "reader", "writer") for n, t in enumerate(tensors))
    launch = LaunchPlan("k", (1, 1), 1, "contiguous", (), cbs)
    exact = as_float32(Plan("k", "wormhole_b0", "0.77", "exact", "virtual", (), (), tensors, (launch,), "test"))
    assert [item.format for item in exact.tensors] == ["Int32", "UInt32", "Float32", "Float32"]
    assert [(cb.format, cb.page_bytes) for cb in exact.launches[0].cbs] == [
        ("Int32", 4096),
        ("UInt32", 4096),
        ("Float32", 4096),
        ("Float32", 4096),
    ]


def test_every_type_has_a_format_and_says_so() -> None:
    for dtype in DTYPES:
        form = format_of(dtype, "float32")
        assert form in FORMATS
        same = dtype in ("bfloat16", "float32", "int32", "uint32")
        assert (storage_note(dtype, form) == "") == same
    assert set(DTYPES) >= INTEGERS
    assert storage_note("int8", "Float16_b") == "int8 is stored as Float16_b, which holds all of its values"
