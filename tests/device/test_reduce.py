"""Reductions: values, the packer's mask, the scaler tile, and every way to use them wrongly."""

from __future__ import annotations

import pytest
import torch
from device_programs import TileProgram

from tilelang_tt.diagnostics import DeviceError

HEADERS = ("reduce.h", "reduce_custom.h", "eltwise_unary/exp.h", "eltwise_binary_sfpu.h", "bcast.h", "matmul.h")


def compute(pool: str, dim: str, *, before: str = "", after: str = "reduce_uninit();", tiles: int = 2) -> str:
    """Two tiles of x reduced into one of out. The scaler is the tile of y."""
    order = "y, x" if dim == "REDUCE_ROW" and pool != "MAX" else "x, y"
    kind = f"PoolType::{pool}, ReduceDim::{dim}"
    includes = "".join(f'#include "api/compute/{name}"\n' for name in ("common.h", "tile_move_copy.h", *HEADERS))
    return f"""
#include <cstdint>
{includes}
void kernel_main() {{
    constexpr uint32_t x = 0, y = 1, out = 16, tiles = {tiles};
    compute_kernel_hw_startup({order}, out);
    {before}
    reduce_init<{kind}>(x, y, out);
    cb_wait_front(x, tiles);
    cb_wait_front(y, tiles);
    tile_regs_acquire();
    for (uint32_t t = 0; t < tiles; ++t) {{
        reduce_tile<{kind}>(x, y, t, 0, 0);
    }}
    tile_regs_commit();
    tile_regs_wait();
    cb_reserve_back(out, tiles);
    pack_tile(0, out);
    tile_regs_release();
    {after}
    tile_regs_acquire();
    copy_tile_to_dst_init_short(x);
    copy_tile(x, 0, 0);
    tile_regs_commit();
    tile_regs_wait();
    pack_tile(0, out);
    tile_regs_release();
    cb_push_back(out, tiles);
    cb_pop_front(x, tiles);
    cb_pop_front(y, tiles);
}}
"""


def program(text: str, **options: object) -> TileProgram:
    base = {"x_format": "Float16_b", "y_format": "Float16_b", "grid": (1, 1), "direct": False}
    return TileProgram("", extra={"compute.cpp": text}, **{**base, **options})  # type: ignore[arg-type]


def scaler_tile(factor: float) -> torch.Tensor:
    """The factor in row 0 of each face."""
    tile = torch.zeros(32, 32)
    tile[0], tile[16] = factor, factor
    return tile


def tensors(factor: float, seed: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn((32, 64), generator=torch.Generator().manual_seed(seed)).bfloat16()
    return x, scaler_tile(factor).repeat(1, 2).bfloat16()


def reference(pool: str, dim: str, x: torch.Tensor, factor: float) -> torch.Tensor:
    """Both tiles reduced into one place; the rest is zero."""
    halves = torch.stack([x[:, :32], x[:, 32:]]).double()
    axes = {"REDUCE_ROW": (0, 2), "REDUCE_COL": (0, 1), "REDUCE_SCALAR": (0, 1, 2)}[dim]
    value = halves.amax(axes) if pool == "MAX" else halves.sum(axes) * factor * (factor if len(axes) == 3 else 1)
    out = torch.zeros(32, 32, dtype=torch.float64)
    if dim == "REDUCE_ROW":
        out[:, 0] = value
    elif dim == "REDUCE_COL":
        out[0] = value
    else:
        out[0, 0] = value
    return out


@pytest.mark.parametrize("dim", ["REDUCE_ROW", "REDUCE_COL", "REDUCE_SCALAR"])
@pytest.mark.parametrize(("pool", "factor"), [("SUM", 1.0), ("AVG", 0.125), ("MAX", 1.0)])
def test_reduce(pool: str, dim: str, factor: float) -> None:
    x, scaler = tensors(factor)
    out = torch.full((32, 64), 777.0)
    program(compute(pool, dim)).run_into(x, scaler, out)
    torch.testing.assert_close(out[:, :32].double(), reference(pool, dim, x, factor), rtol=1e-5, atol=1e-5)
    assert torch.equal(out[:, 32:], x[:, :32].float())  # after the uninit whole tiles are packed again


def test_sums_over_rows_in_a_16_bit_dst() -> None:
    x, scaler = tensors(1.0)
    out = torch.zeros((32, 64))
    program(compute("SUM", "REDUCE_ROW"), fp32_dest=False).run_into(x, scaler, out)
    wanted = reference("SUM", "REDUCE_ROW", x, 1.0)
    assert torch.equal(out[:, :32], out[:, :32].bfloat16().float())
    torch.testing.assert_close(out[:, :32].double(), wanted, rtol=2.0**-7, atol=2.0**-5)


def test_maxima_below_zero_are_kept() -> None:
    x, scaler = tensors(1.0)
    x = -x.abs() - 1
    out = torch.zeros((32, 64))
    program(compute("MAX", "REDUCE_ROW")).run_into(x, scaler, out)
    assert torch.equal(out[:, :32].double(), reference("MAX", "REDUCE_ROW", x, 1.0))


BLOCK = (
    compute("MAX", "REDUCE_ROW")
    .replace("reduce_init<PoolType::MAX, ReduceDim::REDUCE_ROW>(x, y, out)", "reduce_block_max_row_init<tiles>(out)")
    .replace("for (uint32_t t = 0; t < tiles; ++t)", "")
    .replace(
        "reduce_tile<PoolType::MAX, ReduceDim::REDUCE_ROW>(x, y, t, 0, 0)", "reduce_block_max_row<tiles>(x, y, 0, 0)"
    )
    .replace("reduce_uninit()", "reduce_block_max_row_uninit(x)")
)


def test_row_maximum_of_a_block() -> None:
    x, scaler = tensors(1.0)
    out = torch.zeros((32, 64))
    program(BLOCK).run_into(x, scaler, out)
    assert torch.equal(out[:, :32].double(), reference("MAX", "REDUCE_ROW", x, 1.0))


def refused(text: str, scaler: torch.Tensor | None = None, **options: object) -> DeviceError:
    x, ones = tensors(1.0)
    y = ones if scaler is None else scaler.repeat(1, 2).bfloat16()
    with pytest.raises(DeviceError) as caught:
        program(text, **options).run_into(x, y, torch.zeros((32, 64)))
    return caught.value


def test_mask_left_on() -> None:
    error = refused(compute("MAX", "REDUCE_ROW", after=""))
    assert error.code == "TT401"
    assert "the packer still has the mask of REDUCE_ROW" in str(error)
    assert "reduce_uninit is missing" in str(error)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    reduce_init<PoolType::SUM, ReduceDim::REDUCE_ROW>(x, y, out);", "", "reduce_tile without reduce_init"),
        (
            "reduce_init<PoolType::SUM, ReduceDim::REDUCE_ROW>",
            "reduce_init<PoolType::SUM, ReduceDim::REDUCE_COL>",
            "reduce_tile<SUM, REDUCE_ROW> after reduce_init<SUM, REDUCE_COL>",
        ),
        ("tile_regs_acquire();\n    for", "for", "reduce_tile while DST is released; it must be acquired"),
        ("(x, y, t, 0, 0)", "(x, y, t, 0, 9)", "DST tile 9: 4 tiles are there"),
        ("(x, y, t, 0, 0)", "(x, y, t + 2, 0, 0)", "tile 2 of CB 0 'x' is read, but cb_wait_front has granted 2"),
    ],
)
def test_contracts(old: str, new: str, message: str) -> None:
    text = compute("SUM", "REDUCE_ROW")
    assert old in text
    error = refused(text.replace(old, new, 1))
    assert error.code == "TT401"
    assert message in str(error)


@pytest.mark.parametrize(("pool", "register"), [("SUM", "SrcB"), ("MAX", "SrcA")])
def test_sums_over_rows_take_their_operands_in_the_other_order(pool: str, register: str) -> None:
    text = compute(pool, "REDUCE_ROW")
    order = ("y, x", "x, y") if pool == "SUM" else ("x, y", "y, x")
    swapped = text.replace(f"hw_startup({order[0]}, out)", f"hw_startup({order[1]}, out)")
    error = refused(swapped, x_format="Float32")
    assert f"through {register}" in str(error) or "through Src" in str(error)
    assert "data-format" in str(error)


def test_scaler_tile_must_be_filled_in_every_face() -> None:
    half = scaler_tile(1.0)
    half[16] = 0
    error = refused(compute("SUM", "REDUCE_ROW"), half)
    assert "row 0 of face 2 of the scaler tile in CB 1 'y' holds a zero at column 0" in str(error)
    assert refused(compute("MAX", "REDUCE_ROW"), scaler_tile(0.5)).code == "TT402"


def test_buffer_that_unpacks_to_dst_is_refused() -> None:
    error = refused(compute("MAX", "REDUCE_ROW"), x_format="Float32", direct=True)
    assert "reads CB 0 'x', which unpacks to DST: only copy_tile may read it" in str(error)


RELOAD = """
    reduce_init<PoolType::MAX, ReduceDim::REDUCE_ROW>(x, y, out);
    cb_wait_front(x, 2);
    cb_wait_front(y, 2);
    cb_reserve_back(out, 2);
    tile_regs_acquire();
    copy_tile_to_dst_init_short(x, 0, WITHIN);
    copy_tile(x, 0, 0);
    MATH((llk_math_reduce_init<PoolType::MAX, ReduceDim::REDUCE_ROW, DST_ACCUM_MODE, MATH_FIDELITY>(x, y)));
    UNPACK((llk_unpack_AB_reduce_init<PoolType::MAX, ReduceDim::REDUCE_ROW>(x, y)));
    reduce_tile<PoolType::MAX, ReduceDim::REDUCE_ROW>(x, y, 1, 0, 0);
    tile_regs_commit();
    tile_regs_wait();
    pack_tile(0, out);
    pack_tile(0, out);
    tile_regs_release();
    reduce_uninit();
    cb_push_back(out, 2);
    cb_pop_front(x, 2);
    cb_pop_front(y, 2);
"""


@pytest.mark.parametrize("within", [0, 1])
def test_a_running_maximum_of_rows_is_taken_from_row_0_of_the_faces(within: int) -> None:
    """A tile with maxima in column 0 carries on only if the copy transposes inside the faces."""
    includes = "".join(f'#include "api/compute/{name}"\n' for name in ("common.h", "tile_move_copy.h", "reduce.h"))
    body = RELOAD.replace("WITHIN", str(within))
    start = "constexpr uint32_t x = 0, y = 1, out = 16; compute_kernel_hw_startup(x, y, out);"
    text = f"#include <cstdint>\n{includes}\nvoid kernel_main() {{ {start} {body} }}"
    x, scaler = tensors(1.0)
    x[:, :32] = 0
    x[:, 0] = torch.linspace(-3, 3, 32).bfloat16()
    out = program(text).run(x, scaler, numerics="chip")
    seen = x[:, 0] if within else torch.zeros(32)
    seen = seen.clone()
    if not within:  # row 0 of the copied tile holds one number that is not zero
        seen[0], seen[16] = x[0, 0], x[16, 0]
    assert torch.equal(out[:, 0].double(), torch.maximum(seen.double(), x[:, 32:].double().amax(1)))


@pytest.mark.parametrize("numerics", ["fast", "chip"])
@pytest.mark.parametrize("valid", [1, 7, 16, 23, 31])
@pytest.mark.parametrize("dim", ["REDUCE_ROW", "REDUCE_COL"])
def test_a_scaler_that_ends_early_leaves_the_rest_out(dim: str, valid: int, numerics: str) -> None:
    """As for the last tile of a tensor that is no multiple of 32 wide or high."""
    x, scaler = tensors(1.0)
    scaler.zero_()
    for face in range(4):
        first = 16 * (face % 2 if dim == "REDUCE_ROW" else face // 2)
        count = min(max(valid - first, 0), 16)
        scaler[16 * (face // 2), 16 * (face % 2) : 16 * (face % 2) + count] = 1.0
    out = program(compute("SUM", dim)).run(x, scaler, numerics=numerics)
    kept = x.clone()
    for tile in (kept[:, :32], kept[:, 32:]):
        (tile[:, valid:] if dim == "REDUCE_ROW" else tile[valid:]).zero_()
    torch.testing.assert_close(out[:, :32].double(), reference("SUM", dim, kept, 1.0), rtol=2**-8, atol=1e-2)
