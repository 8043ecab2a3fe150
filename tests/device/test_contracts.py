"""Contracts that one edited call does not show: balance at the end, several cores, limits, single operations."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from device_programs import Gemm, TileProgram, cb
from reports import category_of, code_line
from test_breaches import failure

from tilelang_tt.diagnostics import DeviceError
from tilelang_tt.runtime.plan import RuntimeArg
from tilelang_tt.runtime.virtual import launch


def test_packed_but_never_pushed() -> None:
    whole = "for (uint32_t unit = first; unit < first + count; ++unit) {"
    error = failure(
        Gemm(
            edits={
                "compute.cpp": (
                    "        cb_push_back(cb_out, block_m * block_n);",
                    "        if (unit + 1 < count) cb_push_back(cb_out, block_m * block_n);",
                ),
                "writer.cpp": (whole, "for (uint32_t unit = first; unit + 1 < first + count; ++unit) {"),
            }
        )
    )
    assert category_of(error) == "cb-unbalanced"
    assert "CB 16 'C' holds packed pages that were never pushed" in error.message


def test_pushed_but_never_popped() -> None:
    whole = "for (uint32_t unit = first; unit < first + count; ++unit) {"
    error = failure(
        Gemm(edits={"writer.cpp": (whole, "for (uint32_t unit = first; unit + 1 < first + count; ++unit) {")})
    )
    assert category_of(error) == "cb-unbalanced"
    assert "CB 16 'C' still holds 4 pages: 8 pushed, 4 popped" in error.message


def test_cores_that_write_the_same_page() -> None:
    """Every core writes the blocks of the first one: the result would depend on who comes last."""
    first = ("const uint32_t first = get_arg_val<uint32_t>(1);", "const uint32_t first = 0;")
    error = failure_on_two_cores(first)
    assert category_of(error) == "dram-race"
    assert "of tensor 'C' is written here and written by core (" in error.message
    assert "noc_async_write_page" in code_line(error)


def test_cores_that_read_what_another_one_writes() -> None:
    """The writers store into B, all of which every core reads."""
    swapped = ("out(layout, get_arg_val<uint32_t>(0));", "out(layout, get_arg_val<uint32_t>(5));")
    gemm = Gemm(grid=(2, 1), edits={"writer.cpp": swapped})
    plan = gemm.plan()
    one = plan.launches[0]
    reader, compute, writer = one.kernels
    writer = replace(writer, runtime_args=(*writer.runtime_args, RuntimeArg("b", address="B")))
    plan = replace(plan, launches=(replace(one, kernels=(reader, compute, writer)),))
    tensors = {name: torch.ones(128, 128, dtype=torch.bfloat16) for name in "ABC"}
    with pytest.raises(DeviceError) as caught:
        launch(plan, gemm.sources(), tensors, {"M": 128, "N": 128, "K": 128})
    assert category_of(caught.value) == "dram-race"
    assert "of tensor 'B'" in caught.value.message


def failure_on_two_cores(edit: tuple[str, str]) -> DeviceError:
    with pytest.raises(DeviceError) as caught:
        Gemm(grid=(2, 1), edits={"writer.cpp": edit}).run(128, 128, 64)
    return caught.value


def test_counts_that_step_past_the_wrap() -> None:
    """Blocks of 4 pages in a buffer of 6: the second push does not land on the end."""
    error = failure(Gemm(cb_changes={0: cb(0, "A", "Float16_b", 6, "reader", "compute")}))
    assert category_of(error) == "cb-wrap"
    assert "past the end of CB 0 'A'" in error.message


def test_operand_that_unpacks_to_dst() -> None:
    error = failure(
        Gemm(
            formats=("Float32", "Float16_b", "Float16_b"),
            cb_changes={0: cb(0, "A", "Float32", 8, "reader", "compute", True)},
        )
    )
    assert category_of(error) == "data-format"
    assert "only copy_tile may read it" in error.message


def test_too_much_l1_is_refused_before_the_run() -> None:
    error = failure(Gemm(cb_changes={0: cb(0, "A", "Float16_b", 1000, "reader", "compute")}))
    assert error.code == "TT410"
    assert "CB 0 'A': 1000 x 2048 B = 2,048,000 B" in error.notes


def test_blackhole_reads_need_64_byte_alignment() -> None:
    old, new = (
        "noc_async_read_page(page, tensor, to);",
        "noc_async_read(tensor.get_noc_addr(page, 32), to, 64);",
    )
    assert category_of(failure(Gemm(arch="blackhole", edits={"reader.cpp": (old, new)}))) == "noc-alignment"


SFPU = ("eltwise_unary/exp.h", "eltwise_unary/sqrt.h")
COPY = "copy_tile_to_dst_init_short(x); copy_tile(x, 0, 0); "
TILE_CASES = {
    "vector operation without init": (COPY + "exp_tile(0);", "init"),
    "another vector init": (COPY + "exp_tile_init(); sqrt_tile_init(); exp_tile(0);", "init"),
    "vector operation on an unwritten tile": (COPY + "exp_tile_init(); exp_tile(1);", "dst-uninitialised"),
    "pack of an unwritten tile": ("copy_tile_to_dst_init_short(x); copy_tile(x, 0, 1);", "dst-uninitialised"),
    "copy without init": ("copy_tile(x, 0, 0);", "init"),
    "binary without init": (COPY + "add_tiles(x, y, 0, 0, 0);", "init"),
    "binary after another init": ("sub_init(x, y); add_tiles(x, y, 0, 0, 0);", "init-mismatch"),
    "broadcast after a plain init": ("add_init(x, y); add_tiles_bcast_rows(x, y, 0, 0, 0);", "init-mismatch"),
    "matmul in regular source order": ("matmul_init(x, y); matmul_tiles(x, y, 0, 0, 0);", "source-order"),
}


@pytest.mark.parametrize("name", sorted(TILE_CASES))
def test_operation_contracts(name: str) -> None:
    body, category = TILE_CASES[name]
    program = TileProgram(body, (*SFPU, "eltwise_binary.h", "bcast.h", "matmul.h"), direct=False)
    with pytest.raises(DeviceError) as caught:
        program.run(torch.ones(32, 32))
    assert category_of(caught.value) == category, str(caught.value)


def test_undefined_and_unimplemented_have_words_of_their_own() -> None:
    twice = TileProgram(
        "mul_init(x, y, false); mul_tiles(x, y, 0, 0, 0); mul_tiles(x, y, 0, 0, 0);",
        ("eltwise_binary.h",),
        direct=False,
    )
    with pytest.raises(DeviceError, match=r"error\[TT403\]: undefined by the SDK: mul_tiles onto DST tile 0"):
        twice.run(torch.ones(32, 32))
    missing = TileProgram(COPY + "reshuffle_rows_tile_init();", ("reshuffle.h",))
    with pytest.raises(DeviceError, match=r"error\[TT402\]: .*unimplemented: reshuffle_rows_tile_init"):
        missing.run(torch.ones(32, 32))
