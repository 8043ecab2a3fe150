"""Vector-unit operations that keep a state or look at a whole tile: statistics, random numbers, reductions."""

from __future__ import annotations

import struct

import pytest
import torch
from device_programs import TileProgram

from tilelang_tt.diagnostics import DeviceError

HEADERS = ("compute_kernel_api.h", "welford.h", "eltwise_unary/rand.h", "eltwise_unary/dropout.h", "transpose_dest.h")
COPY = "copy_tile_to_dst_init_short(x); copy_tile(x, 0, 0); "
TILES = 3


def bits(value: float) -> str:
    return f"0x{struct.unpack('<I', struct.pack('<f', value))[0]:08x}u"


def run(body: str, x: torch.Tensor, **options: object) -> torch.Tensor:
    return TileProgram(body, HEADERS, grid=(1, 1)).run(x, **options)


def sample(tiles: int = 1) -> torch.Tensor:
    return torch.randn((32, 32 * tiles), generator=torch.Generator().manual_seed(5)) * 3 + 1


WELFORD = """
    if (tile == 0) {{ welford_init(); }} else {{ welford_init<WelfordInitMode::PreserveStats>(); }}
    copy_tile_to_dst_init_short(x);
    copy_tile(x, 0, 2);
    welford_update<{entries}>(2, tile * 32, {table});
    {between}
    welford_finalize_to_row<{entries}>(0, tile * 32 + 31, {table});
    {after}
"""
NO_TABLE = "std::array<uint32_t, 0>{}"
TABLE = "std::array<uint32_t, 96>{" + ", ".join(f"{bits(torch.tensor(1.0 / n).item())}" for n in range(1, 97)) + "}"


@pytest.mark.parametrize("table", [NO_TABLE, TABLE])
@pytest.mark.parametrize("between", ["", "welford_save_state(0); welford_clear(); welford_restore_state(0);"])
def test_running_statistics_of_columns(table: str, between: str) -> None:
    x = sample(TILES)
    values = torch.cat([x[:, 32 * n : 32 * n + 32] for n in range(TILES)]).double()
    for after, reference in (
        ("", values.mean(0)),
        ("copy_dest_values_init(); copy_dest_values(1, 0);", values.var(0, unbiased=False)),
    ):
        body = WELFORD.format(entries=0 if table is NO_TABLE else 96, table=table, between=between, after=after)
        program = TileProgram(body, (*HEADERS, "copy_dest_values.h"), grid=(1, 1))
        torch.testing.assert_close(program.run(x)[0, -32:].double(), reference, rtol=1e-5, atol=1e-5)


def test_statistics_of_some_rows() -> None:
    x = sample()
    body = f"welford_init(); {COPY} welford_update_rows<0>(0, 0, 3, 20, {NO_TABLE}); "
    body += f"welford_finalize_to_row<0>(0, 19, {NO_TABLE});"
    torch.testing.assert_close(run(body, x)[0], x[3:23].mean(0), rtol=1e-5, atol=1e-5)


def test_statistics_need_their_init() -> None:
    with pytest.raises(DeviceError, match="welford_update without its init"):
        run(f"{COPY} welford_update<0>(0, 0, {NO_TABLE});", sample())


def test_random_numbers_fill_their_range_and_follow_their_seed() -> None:
    x = sample(8)
    body = "if (tile == 0) rand_tile_init({seed}); rand_tile(0, {low}, {width});"
    first, again, other = (
        run(body.format(seed=seed, low=bits(-2.0), width=bits(5.0)), x) for seed in ("7", "7", "8, 1")
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert -2 <= first.min() < -1.97
    assert 2.97 < first.max() <= 3
    assert abs(first.mean() - 0.5) < 5 / (12 * first.numel()) ** 0.5 * 4  # four standard deviations
    assert first.unique().numel() > 0.99 * first.numel()


def test_dropout_zeroes_its_share_and_scales_the_rest() -> None:
    x, probability = sample(8), 0.3
    chance = int(probability * (2**31 - 1))
    body = f"{COPY} if (tile == 0) dropout_kernel_init(3); dropout_tile(0, {chance}u, {bits(2.0)});"
    out = run(body, x)
    kept = out != 0
    assert torch.equal(out[kept], 2 * x[kept])
    assert abs((~kept).float().mean() - probability) < 4 * (probability * 0.7 / x.numel()) ** 0.5


POOLS = {"SUM": torch.sum, "MAX": torch.amax, "MIN": torch.amin}


@pytest.mark.parametrize("dim", ["REDUCE_ROW", "REDUCE_COL"])
@pytest.mark.parametrize("pool", sorted(POOLS))
def test_reduction_of_a_tile_in_dst(pool: str, dim: str) -> None:
    x, axis = sample(), 1 if dim == "REDUCE_ROW" else 0
    kind = f"PoolType::{pool}, DataFormat::Float32"
    out = run(f"{COPY} sfpu_reduce_init<{kind}>(); sfpu_reduce<{kind}, ReduceDim::{dim}>(0);", x)
    result = out[:, 0] if axis else out[0]
    torch.testing.assert_close(result, POOLS[pool](x, axis), rtol=1e-5, atol=1e-5)


def test_reduction_after_the_init_of_another() -> None:
    body = "sfpu_reduce_init<PoolType::MAX, DataFormat::Float32>(); sfpu_reduce<PoolType::SUM, DataFormat::Float32>(0);"
    with pytest.raises(DeviceError, match="sfpu_reduce_init of another pool or format"):
        run(COPY + body, sample())


def test_a_word_of_a_tile() -> None:
    """The last word of the second tile, read by the kernel and put back as a number."""
    x = sample(2)
    body = f"{COPY} fill_tile_init(); fill_tile_bitcast(0, read_tile_value(x, 0, 1023));"
    out = TileProgram(body, (*HEADERS, "eltwise_unary/fill.h"), grid=(1, 1)).run(x)
    assert torch.equal(out[:, :32], x[31, 31].expand(32, 32))
    assert torch.equal(out[:, 32:], x[31, 63].expand(32, 32))


def test_the_transpose_in_dst_leaves_the_vector_unit_as_it_is() -> None:
    body = "if (tile == 0) { square_tile_init(); } copy_tile_to_dst_init_short(x); copy_tile(x, 0, 0); "
    body += "transpose_dest_init<true>(); transpose_dest<true>(0); square_tile(0);"
    x = sample(2)
    out = run(body, x)
    for n in range(2):
        part = slice(32 * n, 32 * n + 32)
        assert torch.equal(out[:, part], x[:, part].t() ** 2)


def test_the_transpose_in_dst_takes_the_place_of_the_last_init() -> None:
    with pytest.raises(DeviceError, match=r"copy_tile after the init of another operation .transpose_dest."):
        run(COPY + "transpose_dest_init<true>(); transpose_dest<true>(0); copy_tile(x, 0, 0);", sample())
