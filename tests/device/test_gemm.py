"""GEMM on the virtual device against float64: shapes, tails, grids, formats, numerics."""

from __future__ import annotations

import pytest
import torch
from device_programs import Gemm

# Relative Frobenius error of rounding a result once: half a unit in the last place, uniform, is about
# 2^-p / sqrt(3) / sqrt(2) of a value; 0.0017 for bf16 (8 significant bits).
BF16_ROUNDING = 0.0018


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
@pytest.mark.parametrize("numerics", ["fast", "exact"])
def test_two_blocks_per_core_with_sums_in_l1(arch: str, numerics: str) -> None:
    result = Gemm(arch=arch, grid=(2, 1)).run(128, 256, 128, numerics=numerics)
    assert result.relative_error < BF16_ROUNDING
    assert result.report.numerics == numerics
    assert result.report.statistics["tile_products"] == 4 * 8 * 4


@pytest.mark.parametrize(("m", "k", "n"), [(33, 17, 65), (100, 70, 130), (160, 96, 192), (1, 1, 1), (31, 200, 97)])
@pytest.mark.parametrize("numerics", ["fast", "exact"])
def test_tails(m: int, k: int, n: int, numerics: str) -> None:
    result = Gemm(grid=(2, 2)).run(m, k, n, numerics=numerics)
    # A single element rounds by up to half a unit in the last place: 2^-9 relative.
    assert result.relative_error < (BF16_ROUNDING if m * n > 1 else 2**-8)


@pytest.mark.parametrize("grid", [(1, 1), (2, 2), (4, 1), (8, 8)])
def test_more_units_than_cores_as_many_and_fewer(grid: tuple[int, int]) -> None:
    result = Gemm(grid=grid).run(128, 64, 128)
    assert result.relative_error < BF16_ROUNDING


@pytest.mark.parametrize(
    ("block", "sub"),
    [((1, 1, 1), (1, 1)), ((4, 4, 2), (2, 2)), ((4, 2, 1), (4, 1)), ((2, 4, 4), (1, 4)), ((8, 8, 1), (2, 2))],
)
def test_blocks_and_sub_blocks(block: tuple[int, int, int], sub: tuple[int, int]) -> None:
    result = Gemm(block=block, sub=sub, grid=(2, 1)).run(320, 192, 288)
    assert result.relative_error < BF16_ROUNDING


@pytest.mark.parametrize("numerics", ["fast", "exact"])
def test_transposed_b(numerics: str) -> None:
    result = Gemm(transpose_b=True, grid=(2, 1)).run(100, 130, 150, numerics=numerics)
    assert result.relative_error < BF16_ROUNDING


def test_exact_numerics_round_only_the_result() -> None:
    """The stored bf16 result is the float64 result rounded once, but for sums that fp32 cannot hold."""
    result = Gemm().run(128, 256, 128, numerics="exact")
    assert (result.c == result.reference.to(torch.bfloat16)).double().mean() > 0.999


def test_fast_numerics_cut_float32_operands_to_tf32() -> None:
    """Without cutting, fp32 sums would agree to 1e-6; tf32 operands lose 13 bits, biased toward zero."""
    gemm = Gemm(formats=("Float32", "Float32", "Float32"))
    fast = gemm.run(64, 128, 64).relative_error
    exact = gemm.run(64, 128, 64, numerics="exact").relative_error
    assert 2e-4 < fast < 2e-3
    assert exact < 1e-6


def test_sums_through_a_source_register_lose_bits() -> None:
    """Partial sums copied through SrcA keep 10 mantissa bits; unpacked straight to DST they keep all."""
    formats = ("Float16_b", "Float16_b", "Float32")
    direct = Gemm(formats=formats).run(64, 256, 64).relative_error
    through_source = Gemm(formats=formats, direct_sums=False).run(64, 256, 64).relative_error
    assert direct < 1e-6
    assert 1e-4 < through_source < 1e-3


def test_16bit_dst_accumulates_in_bf16() -> None:
    gemm = Gemm(fp32_dest=False, direct_sums=False, sum_format="Float16_b", sub=(2, 2))
    assert 0.003 < gemm.run(128, 512, 128).relative_error < 0.03


def test_16bit_dst_holds_eight_tiles() -> None:
    gemm = Gemm(fp32_dest=False, direct_sums=False, block=(2, 4, 2), sub=(2, 4))
    assert gemm.run(64, 64, 256).relative_error < 0.03


@pytest.mark.parametrize("formats", [("Float16", "Float16", "Float16"), ("Float16", "Float16_b", "Float32")])
def test_float16_keeps_ten_mantissa_bits(formats: tuple[str, str, str]) -> None:
    result = Gemm(formats=formats).run(64, 96, 64)
    assert result.relative_error < (3e-4 if formats[2] == "Float16" else 1e-6)


@pytest.mark.parametrize(("form", "bound"), [("Bfp8_b", 0.02), ("Bfp4_b", 0.35)])
def test_block_floating_point_inputs(form: str, bound: float) -> None:
    """7 (3) magnitude bits shared by 16 datums: far from bf16, but no worse than its step."""
    result = Gemm(formats=(form, form, "Float16_b")).run(128, 128, 128)
    assert BF16_ROUNDING < result.relative_error < bound
    assert Gemm(formats=(form, form, "Float16_b")).run(128, 128, 128, numerics="exact").relative_error < BF16_ROUNDING


def test_block_floating_point_output() -> None:
    assert Gemm(formats=("Float16_b", "Float16_b", "Bfp8_b")).run(128, 128, 128).relative_error < 0.01


def test_one_compilation_serves_every_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    Gemm().run(64, 64, 64)

    def compile_again(*_: object) -> None:
        pytest.fail("a kernel was compiled for another shape")

    monkeypatch.setattr("tilelang_tt.runtime.toolchain.Toolchain.run", compile_again)
    assert Gemm().run(96, 160, 224).relative_error < BF16_ROUNDING


def test_results_do_not_depend_on_the_run() -> None:
    first, second = (Gemm(grid=(4, 2)).run(256, 128, 256).c for _ in range(2))
    assert torch.equal(first, second)
