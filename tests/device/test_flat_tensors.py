"""Flat tensors: elements one after the other in the bytes of their type, stored by cores one at a time."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from reports import category_of, code_line

from tilelang_tt.diagnostics import DeviceError
from tilelang_tt.formats import FLAT_PAGE_BYTES, INTEGER_FORMATS, element_bits, flat_format
from tilelang_tt.runtime.bind import as_float32
from tilelang_tt.runtime.formats import decode, encode
from tilelang_tt.runtime.plan import (
    CbPlan,
    CompileArg,
    KernelPlan,
    LaunchPlan,
    Param,
    Plan,
    RuntimeArg,
    SemaphorePlan,
    TensorPlan,
)
from tilelang_tt.runtime.runner import SEED_VARIABLE
from tilelang_tt.runtime.virtual import launch

DTYPES = (
    *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2"),
    *("float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn_x2"),
)


def random_bits(dtype: torch.dtype, *shape: int, seed: int = 0) -> torch.Tensor:
    """Every bit pattern may occur; of truth values, the two."""
    high = 2 if dtype is torch.bool else 256
    last = shape[-1] * dtype.itemsize
    data = torch.randint(0, high, (*shape[:-1], last), generator=torch.Generator().manual_seed(seed))
    return data.to(torch.uint8).view(dtype)


def raw(tensor: torch.Tensor) -> bytes:
    """The bytes of the elements in row-major order, one element at a time."""
    bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]
    size = tensor.element_size()
    values = tensor.view(bits).flatten().tolist()
    return b"".join((value % (1 << 8 * size)).to_bytes(size, "little") for value in values)


def flat_plan(name: str, index: int, dtype: str, pages: int | str, form: str = "") -> TensorPlan:
    form = form or flat_format(dtype)
    return TensorPlan(name, index, form, FLAT_PAGE_BYTES, None, None, pages, 1, 1, flat=True)


VIEWS = {
    "whole": lambda tensor: tensor,
    "turned": lambda tensor: tensor.transpose(0, 2)[:, ::2],
    "a column": lambda tensor: tensor[3, :, 2],
    "an element": lambda tensor: tensor[3, 4, 2],
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", DTYPES)
def test_the_bytes_of_every_type_go_there_and_back(name: str, view: str) -> None:
    dtype = getattr(torch, name)
    tensor = VIEWS[view](random_bits(dtype, 7, 190, 5))
    whole = random_bits(dtype, 7, 190, 5, seed=1)
    back, before = VIEWS[view](whole), raw(whole)
    count = -(-tensor.nbytes // FLAT_PAGE_BYTES)
    plan = flat_plan("t", 0, "uint8", count)
    pages = torch.full((count, FLAT_PAGE_BYTES), 0xEE, dtype=torch.uint8)
    encode(tensor, plan, pages)
    assert bytes(pages.flatten().tolist()) == raw(tensor).ljust(count * FLAT_PAGE_BYTES, b"\0")
    written = torch.zeros(count, dtype=torch.bool)  # pages are written in part, so nothing is left out
    decode(pages, plan, back, written)
    assert raw(back) == raw(tensor)
    encode(VIEWS[view](random_bits(dtype, 7, 190, 5, seed=1)), plan, pages)
    decode(pages, plan, back)
    assert raw(whole) == before  # nothing beside the view was touched


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (4096,), (4097,)])
def test_sizes_of_their_own(shape: tuple[int, ...]) -> None:
    tensor = torch.ones(shape, dtype=torch.uint8)
    pages = torch.zeros(-(-tensor.numel() // FLAT_PAGE_BYTES), FLAT_PAGE_BYTES, dtype=torch.uint8)
    encode(tensor, flat_plan("t", 0, "uint8", len(pages)), pages)
    assert int(pages.sum()) == tensor.numel()
    back = torch.zeros_like(tensor)
    decode(pages, flat_plan("t", 0, "uint8", len(pages)), back)
    assert torch.equal(back, tensor)


def test_words_that_stand_for_a_type() -> None:
    forms = {name: flat_format(name) for name in ("bool", "float8_e8m0fnu", "float4_e2m1fn", "bfloat16", "int64")}
    assert list(forms.values()) == ["UInt8", "UInt8", "UInt8", "UInt16", "UInt32"]
    assert element_bits("float4_e2m1fn") == 4


# Core c of n stores elements c, c + n, c + 2 n ... of B: 1 more than those of A, or of both the same.
KERNEL = """
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
    using Element = ELEMENT;
    constexpr uint32_t page_bytes = 4096, line = 64;
    constexpr auto a_args = TensorAccessorArgs<0>();
    constexpr auto b_args = TensorAccessorArgs<a_args.next_compile_time_args_offset()>();
    const TensorAccessor a(a_args, get_arg_val<uint32_t>(0));
    const TensorAccessor b(b_args, get_arg_val<uint32_t>(1));
    const uint32_t first = get_arg_val<uint32_t>(2), step = get_arg_val<uint32_t>(3), count = get_arg_val<uint32_t>(4);
    cb_reserve_back(0, 1);
    const uint32_t lines = get_write_ptr(0);
    const uint32_t out = lines + line;
    for (uint32_t i = FIRST; i < count; i += step) {
        const uint32_t at = i * sizeof(Element);
        const uint32_t page = at / page_bytes, offset = at % page_bytes;
        noc_async_read(a.get_noc_addr(page, offset / line * line), lines, line);
        noc_async_read_barrier();
        const Element value = *reinterpret_cast<volatile Element*>(lines + offset % line);
        *reinterpret_cast<volatile Element*>(out + offset % 16) = value + 1;
        noc_async_write(out + offset % 16, b.get_noc_addr(page, offset), sizeof(Element));
        noc_async_write_barrier();
    }
}
"""
COUNT = 3001  # elements
CTYPES = {"uint8": "uint8_t", "int16": "int16_t", "float32": "float", "int64": "int64_t"}


def alternating(dtype: str, arch: str, *, in_place: bool = False) -> Plan:
    pages = -(-COUNT * element_bits(dtype) // 8 // FLAT_PAGE_BYTES)
    b = "A" if in_place else "B"
    reader = KernelPlan(
        "reader",
        "reader.cpp",
        (CompileArg("a", accessor="A"), CompileArg("b", accessor=b)),
        (
            RuntimeArg("a", address="A"),
            RuntimeArg("b", address=b),
            RuntimeArg("first", work="start"),
            RuntimeArg("step", size=4),
            RuntimeArg("count", size=COUNT),
        ),
    )
    cbs = (CbPlan(0, "lines", "UInt32", 4096, 1, "reader", "reader"),)
    one = LaunchPlan("one", (2, 2), 4, "contiguous", (reader,), cbs)
    params = (Param("A", "tensor", dtype, (COUNT,)), Param("B", "tensor", dtype, (COUNT,), "write"))
    tensors = (flat_plan("A", 0, dtype, pages), flat_plan("B", 1, dtype, pages))
    return Plan("flat", arch, "0.77", "fast", "virtual", (), params, tensors, (one,), "test")


def text(dtype: str, first: str = "first") -> dict[str, str]:
    return {"reader.cpp": KERNEL.replace("ELEMENT", CTYPES[dtype]).replace("FIRST", first)}


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
@pytest.mark.parametrize("dtype", CTYPES)
def test_cores_store_alternate_elements_of_a_page(dtype: str, arch: str) -> None:
    """Of 1, 2, 4 and 8 bytes; among the values are those of L1 that was never written (0xa5)."""
    if dtype == "float32":
        a = torch.arange(COUNT, dtype=torch.float32) - 1000
    else:
        a = random_bits(getattr(torch, dtype), COUNT)
    b = torch.zeros_like(a)
    for numerics in ("fast", "exact", "chip"):
        b.zero_()
        launch(alternating(dtype, arch), text(dtype), {"A": a, "B": b}, {}, numerics=numerics)
        assert torch.equal(b, a + 1)


@pytest.mark.parametrize("scalar", [False, True])
@pytest.mark.parametrize("dtype", CTYPES)
def test_values_that_look_like_l1_that_was_never_written(dtype: str, scalar: bool) -> None:
    """All bytes are 0xa5: in lines that are read, and in what a kernel keeps in L1 and loads again."""
    a = torch.full((COUNT * getattr(torch, dtype).itemsize,), 0xA5, dtype=torch.uint8).view(getattr(torch, dtype))
    b = torch.zeros_like(a)
    kernel = text(dtype)["reader.cpp"].replace("= value + 1;", "= value;")
    kept = "        if (*reinterpret_cast<volatile Element*>(out + offset % 16) != value) continue;\n"
    place = kernel.index("        noc_async_write(out")
    sources = {"reader.cpp": kernel[:place] + kept + kernel[place:]}
    plan = alternating(dtype, "wormhole_b0")
    (one,) = plan.launches
    kernels = tuple(replace(item, scalar=scalar) for item in one.kernels)  # stores of scalar code are not seen
    launch(replace(plan, launches=(replace(one, kernels=kernels),)), sources, {"A": a, "B": b}, {})
    assert raw(b) == raw(a)


def test_elements_that_no_core_stores_stay() -> None:
    a, b = torch.zeros(COUNT, dtype=torch.int16), torch.full((COUNT,), 7, dtype=torch.int16)
    launch(alternating("int16", "wormhole_b0"), text("int16", "first + 4"), {"A": a, "B": b}, {})
    assert b[:4].tolist() == [7] * 4
    assert bool((b[4:] == 1).all())


def test_lines_hold_elements_that_other_cores_store() -> None:
    a = torch.arange(COUNT, dtype=torch.int64)
    want = a + 1
    launch(alternating("int64", "wormhole_b0", in_place=True), text("int64"), {"A": a, "B": a.clone()}, {})
    assert torch.equal(a, want)


def test_stores_of_one_element_by_two_cores() -> None:
    a = torch.zeros(COUNT, dtype=torch.int16)
    for first in ("first / 2", "first == 0 ? 2999 : 2996 + first"):
        with pytest.raises(DeviceError) as caught:
            launch(alternating("int16", "wormhole_b0"), text("int16", first), {"A": a, "B": a.clone()}, {})
        assert category_of(caught.value) == "dram-race"
        assert "of tensor 'B' is written here and by core (" in caught.value.message
        assert "noc_async_write(" in code_line(caught.value)


def connected(plan: Plan) -> Plan:
    """Cores that could talk to each other run in another way."""
    (one,) = plan.launches
    return replace(plan, launches=(replace(one, semaphores=(SemaphorePlan(0),)),))


@pytest.mark.parametrize("seed", range(3))
def test_cores_that_could_talk_to_each_other(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SEED_VARIABLE, str(seed))
    a = random_bits(torch.int16, COUNT)
    want = a + 1
    launch(connected(alternating("int16", "wormhole_b0", in_place=True)), text("int16"), {"A": a, "B": a.clone()}, {})
    assert torch.equal(a, want)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("talk", [False, True])
def test_an_element_that_another_core_stored_long_ago(talk: bool, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Core 0 comes round to the elements of the others, when they have stored many more."""
    monkeypatch.setenv(SEED_VARIABLE, str(seed))
    sources = text("int16")
    step = "i += step"
    sources["reader.cpp"] = sources["reader.cpp"].replace(step, "i = first == 0 && i == 2000 ? 1 : i + step")
    plan = alternating("int16", "wormhole_b0")
    a = torch.zeros(COUNT, dtype=torch.int16)
    with pytest.raises(DeviceError) as caught:
        launch(connected(plan) if talk else plan, sources, {"A": a, "B": a.clone()}, {})
    assert category_of(caught.value) == "dram-race"


def test_a_later_launch_may_store_what_another_core_stored() -> None:
    plan = alternating("uint8", "wormhole_b0")
    (one,) = plan.launches
    (kernel,) = one.kernels
    turned = replace(one, kernels=(replace(kernel, source="turned.cpp"),))
    sources = {**text("uint8"), "turned.cpp": text("uint8", "3 - first")["reader.cpp"]}
    a, b = random_bits(torch.uint8, COUNT), torch.zeros(COUNT, dtype=torch.uint8)
    launch(replace(plan, launches=(one, turned)), sources, {"A": a, "B": b}, {})
    assert torch.equal(b, a + 1)


def test_an_element_that_was_never_put_into_l1() -> None:
    kernel = text("int16")["reader.cpp"]
    start, end = kernel.index("        noc_async_read("), kernel.index("        noc_async_write(")
    a = torch.zeros(COUNT, dtype=torch.int16)
    with pytest.raises(DeviceError) as caught:
        launch(alternating("int16", "wormhole_b0"), {"reader.cpp": kernel[:start] + kernel[end:]}, {"A": a, "B": a}, {})
    assert category_of(caught.value) == "l1-uninitialised"


def test_an_element_of_another_place_in_l1() -> None:
    """The page was stored to, but not the bytes that are sent, nor those that are loaded."""
    kernel = text("int16")["reader.cpp"]
    a = torch.zeros(COUNT, dtype=torch.int16)
    for old, new in (("noc_async_write(out", "noc_async_write(16 + out"), ("(lines + offset", "(96 + lines + offset")):
        assert old in kernel
        changed = {"reader.cpp": kernel.replace(old, new)}
        with pytest.raises(DeviceError) as caught:
            launch(alternating("int16", "wormhole_b0"), changed, {"A": a, "B": a.clone()}, {})
        assert category_of(caught.value) == "l1-uninitialised"


@pytest.mark.parametrize(
    ("old", "new", "arch", "rule"),
    [
        ("out + offset % 16, b.", "out, b.", "wormhole_b0", "differ modulo 16 bytes"),
        ("offset / line * line), lines", "offset / 32 * 32), lines", "blackhole", "differ modulo 64 bytes"),
        ("offset / line * line), lines", "offset / 16 * 16), lines", "wormhole_b0", "differ modulo 32 bytes"),
    ],
)
def test_addresses_of_small_transfers_agree_modulo_the_alignment(old: str, new: str, arch: str, rule: str) -> None:
    a = torch.zeros(COUNT, dtype=torch.int16)
    kernel = text("int16")["reader.cpp"]
    assert old in kernel
    with pytest.raises(DeviceError) as caught:
        launch(alternating("int16", arch), {"reader.cpp": kernel.replace(old, new)}, {"A": a, "B": a.clone()}, {})
    assert category_of(caught.value) == "noc-alignment"
    assert rule in caught.value.message


def test_exact_numerics_leave_flat_tensors_and_their_buffers_alone() -> None:
    for dtype in CTYPES:
        plan = alternating(dtype, "wormhole_b0")
        assert as_float32(plan) == plan
        assert {item.format for item in plan.tensors} <= INTEGER_FORMATS


def test_the_plan_survives_its_text() -> None:
    plan = alternating("float32", "wormhole_b0")
    assert Plan.from_json(plan.to_json()) == plan
