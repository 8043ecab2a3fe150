"""Layouts, broadcasts, operands from DST, operations inside DST, the packer's ReLU."""

from __future__ import annotations

import pytest
import torch
from device_programs import TILE_READER, TileProgram

from tilelang_tt.diagnostics import DeviceError

COPY = "copy_tile_to_dst_init_short(x); copy_tile(x, 0, 0); "
COPY_BOTH = COPY + "copy_tile(y, 0, 1); "
HEADERS = (
    "eltwise_binary.h",
    "eltwise_binary_sfpu.h",
    "bcast.h",
    "sfpu_binary_bcast.h",
    "cumsum.h",
    "transpose_dest.h",
    "copy_dest_values.h",
    "compute_kernel_api.h",
)


def sample(seed: int, cols: int = 32) -> torch.Tensor:
    """Numbers that bf16 holds."""
    return torch.randn((32, cols), generator=torch.Generator().manual_seed(seed)).bfloat16().float()


def run(body: str, x: torch.Tensor, y: torch.Tensor | None = None, **options: object) -> torch.Tensor:
    return TileProgram(body, HEADERS, grid=(1, 1), **options).run(x, y)  # type: ignore[arg-type]


OPS = {"add": torch.add, "sub": torch.sub, "mul": torch.mul}


def reuse(name: str, side: str) -> str:
    kind = f"{name}_reuse_dest"
    reuse_type = f"<EltwiseBinaryReuseDestType::DEST_TO_SRC{side}>"
    return f"{kind}_init{reuse_type}(y); {kind}_tiles{reuse_type}(y, 0, 0);"


@pytest.mark.parametrize("side", ["A", "B"])
def test_dst_as_an_operand(side: str) -> None:
    x, y = sample(1, 96), sample(2, 96)
    cases = " ".join(f"case {n}: {reuse(name, side)} break;" for n, name in enumerate(OPS))
    out = run(f"{COPY} switch (tile) {{ {cases} }}", x, y, direct=False)
    for number, function in enumerate(OPS.values()):
        a, b = (item[:, 32 * number : 32 * number + 32] for item in ((x, y) if side == "A" else (y, x)))
        torch.testing.assert_close(out[:, 32 * number : 32 * number + 32], function(a, b), rtol=1e-6, atol=1e-6)


def test_dst_as_an_operand_keeps_what_the_source_register_holds() -> None:
    x = torch.full((32, 32), 1.0 + 2.0**-10)  # a bf16 register cuts it to 1
    body = "mul_init(x, y); mul_tiles(x, y, 0, 0, 0); " + reuse("add", "A")
    out = run(
        body, x.bfloat16(), torch.ones(32, 32).bfloat16(), direct=False, x_format="Float16_b", y_format="Float16_b"
    )
    assert torch.equal(out.float(), torch.full((32, 32), 2.0))


def test_products_add_up_when_the_init_says_so() -> None:
    x, y = sample(3), sample(4)
    out = run("mul_init(x, y); mul_tiles(x, y, 0, 0, 0); mul_tiles(x, y, 0, 0, 0);", x, y, direct=False)
    torch.testing.assert_close(out, 2 * x * y, rtol=1e-6, atol=1e-6)


BROADCAST = {
    "ROW": lambda y: y[:1].expand(32, 32),
    "COL": lambda y: y[:, :1].expand(32, 32),
    "SCALAR": lambda y: y[:1, :1].expand(32, 32),
}


def test_broadcasts() -> None:
    x, y = sample(5, 192), sample(6, 192)
    calls = []
    for kind in BROADCAST:
        pair = f"<EltwiseBinaryType::ELWSUB, BroadcastType::{kind}>"
        calls.append(f"bcast_init{pair}(x, y); any_tiles_bcast{pair}(x, y, 0, 0, 0);")
    for kind in BROADCAST:
        one = f"<BroadcastType::{kind}>"
        calls.append(f"unary_bcast_init{one}(y); unary_bcast{one}(y, 0, 0); unary_bcast_uninit{one}(y);")
    cases = " ".join(f"case {n}: {call} break;" for n, call in enumerate(calls))
    out = run(f"switch (tile) {{ {cases} }}", x, y, direct=False)
    for number, function in enumerate([*BROADCAST.values()] * 2):
        a, b = (item[:, 32 * number : 32 * number + 32] for item in (x, y))
        wanted = a - function(b) if number < 3 else function(b)
        torch.testing.assert_close(out[:, 32 * number : 32 * number + 32], wanted, rtol=1e-6, atol=1e-6)


WHOLE = "noc_async_read_page(page, tensor, get_write_ptr(index));"
FIRST_ROW = """
    const uint64_t from = tensor.get_noc_addr(page);
    const uint32_t to = get_write_ptr(index), face = get_tile_size(index) / 4, bytes = index == 1 ? face / 16 : face;
    for (uint32_t at = 0; at < (index == 1 ? 2 : 4) * face; at += face) noc_async_read(from + at, to + at, bytes);
"""


def first_rows(body: str) -> torch.Tensor:
    """What is added to x. Of the tiles of y only the first row arrives."""
    assert WHOLE in TILE_READER
    reader = TILE_READER.replace(WHOLE, FIRST_ROW)
    x, y = sample(7, 64), sample(8, 64)
    return run(body, x, y, direct=False, extra={"reader.cpp": reader}) - x


def test_rows_that_are_broadcast_are_all_that_must_be_there() -> None:
    expected = torch.cat([half[:1].expand(32, 32) for half in sample(8, 64).split(32, dim=1)], dim=1)
    added = first_rows("add_bcast_rows_init(x, y); add_tiles_bcast_rows(x, y, 0, 0, 0);")
    torch.testing.assert_close(added, expected, rtol=1e-5, atol=1e-5)
    alone = first_rows(
        "unary_bcast_init<BroadcastType::ROW>(y); unary_bcast<BroadcastType::ROW>(y, 0, 0); "
        "copy_tile_to_dst_init_short(x); copy_tile(x, 0, 1); add_binary_tile_init(); add_binary_tile(0, 1, 0);"
    )
    torch.testing.assert_close(alone, expected, rtol=1e-5, atol=1e-5)


SPREAD_TO_X = "sfpu_bcast_row_init(); sfpu_add_bcast_row(0, 1);"
ROWS_IN_DST = {
    "the row itself": ("", lambda row: row),
    "what is computed from it": ("mul_binary_tile_init(); mul_binary_tile(1, 1, 1);", lambda row: row * row),
    "a copy": ("copy_dest_values_init(); copy_dest_values<DataFormat::Float32>(1, 2);", lambda row: row),
    "a row spread over it": ("sfpu_bcast_row_init(); sfpu_mul_bcast_row(1, 1);", lambda row: row * row),
}


@pytest.mark.parametrize("case", ROWS_IN_DST)
def test_in_dst_the_row_that_is_spread_is_all_that_must_be_there(case: str) -> None:
    calls, value = ROWS_IN_DST[case]
    rows = torch.cat([half[:1].expand(32, 32) for half in sample(8, 64).split(32, dim=1)], dim=1)
    added = first_rows(COPY_BOTH + calls + SPREAD_TO_X)
    torch.testing.assert_close(added, value(rows), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("case", ROWS_IN_DST)
def test_other_rows_of_dst_must_not_be_packed(case: str) -> None:
    last = 2 if case == "a copy" else 1
    calls = f"{ROWS_IN_DST[case][0]} add_binary_tile_init(); add_binary_tile(0, {last}, 0);"
    with pytest.raises(DeviceError, match=r"page 0 of CB 1 .* was not wholly written since it was free, and line") as e:
        first_rows(COPY_BOTH + calls)
    assert "note: category: cb-unwritten" in str(e.value)


@pytest.mark.parametrize(
    "calls",
    [
        "transpose_dest_init<true>(); transpose_dest<true>(1);",
        "sfpu_add_bcast_col_init(); sfpu_add_bcast_col(0, 1);",
        "cumsum_tile_init(); cumsum_tile(1);",
        "add_init(x, y, true); add_tiles(x, x, 0, 0, 1);",
    ],
)
def test_other_rows_of_dst_must_not_be_moved(calls: str) -> None:
    with pytest.raises(DeviceError, match=r"cb-unwritten"):
        first_rows(COPY_BOTH + calls)


@pytest.mark.parametrize(
    "body",
    [
        "add_init(x, y); add_tiles(x, y, 0, 0, 0);",
        "add_bcast_cols_init(x, y); add_tiles_bcast_cols(x, y, 0, 0, 0);",
        "add_bcast_rows_init(x, y); add_tiles_bcast_rows(x, y, 0, 0, 0, 16);",
    ],
)
def test_other_rows_must_be_there(body: str) -> None:
    with pytest.raises(DeviceError, match=r"cb-unwritten"):
        first_rows(body)


def test_a_row_of_16_bits_has_no_place_in_a_32_bit_dst() -> None:
    body = "unary_bcast_init<BroadcastType::ROW>(x); unary_bcast<BroadcastType::ROW>(x, 0, 0);"
    x = torch.ones(32, 32).bfloat16()
    with pytest.raises(DeviceError, match=r"unary_bcast<ROW> of Float16_b to a 32-bit DST") as caught:
        run(body, x, direct=False, x_format="Float16_b", out_format="Float16_b")
    assert caught.value.code == "TT403"
    forms = {"x_format": "Float16_b", "y_format": "Float16_b", "out_format": "Float16_b"}
    assert torch.equal(run(body, x, direct=False, fp32_dest=False, **forms), x)


IN_DST = {
    "sfpu_sub_bcast_col_init(); sfpu_sub_bcast_col(0, 1);": lambda x, y: x - y[:, :1],
    "sfpu_mul_bcast_row_init(); sfpu_mul_bcast_row(0, 1);": lambda x, y: x * y[:1],
    "cumsum_tile_init(); cumsum_tile(0);": lambda x, _y: x.cumsum(0),
    "transpose_dest_init<true>(); transpose_dest<true>(0);": lambda x, _y: x.t(),
    "copy_dest_values_init(); copy_dest_values<DataFormat::Float32>(1, 0);": lambda _x, y: y,
}


def test_inside_dst() -> None:
    cols = 32 * len(IN_DST)
    x, y = sample(7, cols), sample(8, cols)
    cases = " ".join(f"case {n}: {call} break;" for n, call in enumerate(IN_DST))
    out = run(f"{COPY_BOTH} switch (tile) {{ {cases} }}", x, y)
    for number, function in enumerate(IN_DST.values()):
        a, b = (item[:, 32 * number : 32 * number + 32] for item in (x, y))
        torch.testing.assert_close(out[:, 32 * number : 32 * number + 32], function(a, b), rtol=1e-5, atol=1e-5)


def test_relu_of_the_packer() -> None:
    x = sample(9)
    on = "PACK((pack_relu_config(ReluConfig::zero()))); "
    off = (
        "tile_regs_commit(); tile_regs_wait(); pack_tile(0, out); pack_relu_config(ReluConfig::none());"
        "tile_regs_release(); cb_push_back(out, 1); cb_pop_front(x, 1); cb_pop_front(y, 1); continue;"
    )
    assert torch.equal(run(COPY + on + off, x), x.relu())
    assert torch.equal(run(COPY + on, x), x.relu())  # the next kernel's start-up sets it anew


def layout_kernel(calls: str) -> dict[str, str]:
    names = ("common.h", "tile_move_copy.h", "tilize.h", "untilize.h", "pack_untilize.h", "eltwise_binary.h")
    includes = "".join(f'#include "api/compute/{name}"\n' for name in names)
    text = f"""
#include <cstdint>
{includes}
void kernel_main() {{
    constexpr uint32_t x = 0, y = 1, out = 16;
    compute_kernel_hw_startup(x, y, out);
    cb_wait_front(x, 2);
    cb_wait_front(y, 2);
    cb_reserve_back(out, 2);
    {calls}
    cb_push_back(out, 2);
    cb_pop_front(x, 2);
    cb_pop_front(y, 2);
}}
"""
    return {"compute.cpp": text}


def faces(x: torch.Tensor) -> torch.Tensor:
    """The numbers in the order in which pages hold them."""
    return x.reshape(2, 16, x.shape[1] // 32, 2, 16).permute(2, 0, 3, 1, 4).reshape(-1)


def from_faces(numbers: torch.Tensor) -> torch.Tensor:
    return numbers.reshape(-1, 2, 2, 16, 16).permute(1, 3, 0, 2, 4).reshape(32, -1)


DST_FORM = """
    copy_tile_to_dst_init_short(x);
    pack_untilize_dest_init<2>(out);
    tile_regs_acquire();
    copy_tile(x, 0, 0);
    copy_tile(x, 1, 1);
    tile_regs_commit();
    tile_regs_wait();
    pack_untilize_dest<2>(out);
    tile_regs_release();
    pack_untilize_uninit(out);
"""
LAYOUTS = {
    "tilize": ("tilize_init(x, 2, out); tilize_block(x, 2, out); tilize_uninit(x, out);", True),
    "pack_untilize": (
        "pack_untilize_init<2>(x, out); pack_untilize_block<2>(x, 1, out); pack_untilize_uninit(out);",
        False,
    ),
    "pack_untilize_dest": (DST_FORM, False),
    "untilize": ("untilize_init(x); untilize_block(x, 2, out); untilize_uninit(x);", False),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layout(name: str) -> None:
    calls, to_tiles = LAYOUTS[name]
    x = torch.arange(2048.0).reshape(32, 64)
    out = TileProgram("", grid=(1, 1), extra=layout_kernel(calls)).run(x)
    wanted = faces(x).reshape(32, 64) if to_tiles else from_faces(x.reshape(-1))
    assert torch.equal(out, wanted)


UNINIT = {
    "tilize_uninit is missing": ("tilize_init(x, 2, out); tilize_block(x, 2, out); copy_tile_to_dst_init_short(x);",),
    "pack_untilize_uninit is missing": (
        "copy_tile_to_dst_init_short(x); pack_untilize_dest_init<2>(out); tile_regs_acquire(); copy_tile(x, 0, 0);"
        "tile_regs_commit(); tile_regs_wait(); pack_tile(0, out);",
    ),
    "tilize_block of 2 tiles after tilize_init for 1": ("tilize_init(x, 1, out); tilize_block(x, 2, out);",),
    "tilize_block without tilize_init": ("tilize_block(x, 2, out);",),
    "tilize_block acquires and releases DST itself": (
        "tilize_init(x, 2, out); tile_regs_acquire(); tilize_block(x, 2, out);",
    ),
    "DST tile 1, which nothing has written": (DST_FORM.replace("copy_tile(x, 1, 1);", ""),),
}


@pytest.mark.parametrize("message", UNINIT)
def test_contracts_of_layouts(message: str) -> None:
    with pytest.raises(DeviceError, match=message) as caught:
        TileProgram("", grid=(1, 1), extra=layout_kernel(UNINIT[message][0])).run(torch.ones(32, 64))
    assert caught.value.code == "TT401"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            COPY + "add_reuse_dest_init<EltwiseBinaryReuseDestType::DEST_TO_SRCA>(y);"
            "sub_reuse_dest_tiles<EltwiseBinaryReuseDestType::DEST_TO_SRCA>(y, 0, 0);",
            r"sub_reuse_dest_tiles<DEST_TO_SRCA> after the init of add_reuse_dest_tiles<DEST_TO_SRCA>",
        ),
        (
            COPY_BOTH + "sfpu_mul_bcast_row_init(); sfpu_mul_bcast_col(0, 1);",
            r"sfpu_\*_bcast_col without its init",
        ),
        (
            "unary_bcast_init<BroadcastType::ROW>(x); unary_bcast<BroadcastType::COL>(x, 0, 0);",
            r"unary_bcast of another broadcast type than its init",
        ),
    ],
)
def test_contracts(body: str, message: str) -> None:
    with pytest.raises(DeviceError, match=message) as caught:
        run(body, torch.ones(32, 32), direct=False)
    assert caught.value.code == "TT401"
