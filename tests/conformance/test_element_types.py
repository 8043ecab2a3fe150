"""Types the chip has no format for: kernels move them without losing a bit, and compute with their values."""

from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from reference import assert_product

from tilelang_tt.formats import DTYPES

NUMERICS = ("fast", "exact", "chip")
NARROW = ("bool", "int8", "uint8", "int16", "uint16", "float8_e4m3fn", "float8_e5m2")


def compiled(func: Any, **options: Any) -> Any:
    return tilelang.compile(func, out_idx=[-1], target={"kind": "tenstorrent", "grid": "2x1", **options})


def copy(dtype: str, out: str) -> Any:
    """Through a shared and a fragment block, so that compute carries the values too."""

    @T.prim_func
    def main(A: T.Tensor((100, 70), dtype), B: T.Tensor((100, 70), out)):
        with T.Kernel(T.ceildiv(70, 32), T.ceildiv(100, 64), threads=128) as (bx, by):
            A_shared = T.alloc_shared((64, 32), dtype)
            A_local = T.alloc_fragment((64, 32), dtype)
            T.copy(A[by * 64, bx * 32], A_shared)
            T.copy(A_shared, A_local)
            T.copy(A_local, B[by * 64, bx * 32])

    return main


def any_bits(dtype: torch.dtype, shape: tuple[int, int] = (100, 70)) -> torch.Tensor:
    """Numbers of all magnitudes a type has."""
    generator = torch.Generator().manual_seed(0)
    if dtype is torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    if dtype.is_floating_point:
        return (torch.randn(shape, generator=generator) * 30).to(dtype)
    whole = torch.iinfo(dtype)
    return torch.randint(whole.min, whole.max + 1, shape, dtype=torch.int64, generator=generator).to(dtype)


@pytest.mark.parametrize("numerics", NUMERICS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_copies_keep_every_bit(dtype: str, numerics: str) -> None:
    kernel = compiled(copy(dtype, dtype), numerics=numerics)
    values = any_bits(kernel.params[0].torch_dtype())
    result = kernel(values)
    assert result.dtype is values.dtype
    assert torch.equal(result.double(), values.double())


@pytest.mark.parametrize("numerics", NUMERICS)
@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_types_become_floats(dtype: str, numerics: str) -> None:
    kernel = compiled(copy(dtype, "float32"), numerics=numerics)
    values = any_bits(kernel.params[0].torch_dtype())
    assert torch.equal(kernel(values).double(), values.double())


@pytest.mark.parametrize("numerics", NUMERICS)
def test_a_float_becomes_the_nearest_float8(numerics: str) -> None:
    values = any_bits(torch.bfloat16)  # a float32 would be rounded twice
    result = compiled(copy("bfloat16", "float8_e4m3fn"), numerics=numerics)(values)
    assert torch.equal(result.double(), values.to(torch.float8_e4m3fn).double())


def gemm(dtype: str, out: str) -> Any:
    @T.prim_func
    def main(A: T.Tensor((100, 130), dtype), B: T.Tensor((70, 130), dtype), C: T.Tensor((100, 70), out)):
        with T.Kernel(T.ceildiv(70, 64), T.ceildiv(100, 64), threads=128) as (bx, by):
            A_shared = T.alloc_shared((64, 64), dtype)
            B_shared = T.alloc_shared((64, 64), dtype)
            C_local = T.alloc_fragment((64, 64), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(130, 64), num_stages=2):
                T.copy(A[by * 64, k * 64], A_shared)
                T.copy(B[bx * 64, k * 64], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=True)
            T.copy(C_local, C[by * 64, bx * 64])

    return main


@pytest.mark.parametrize("numerics", NUMERICS)
@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_product_of_float8(dtype: str, numerics: str) -> None:
    """A float8 block is a bfloat16 block on the chip."""
    shapes = (100, 130), (70, 130)
    a, b = (any_bits(getattr(torch, dtype), shape) for shape in shapes)
    result = compiled(gemm(dtype, "float32"), numerics=numerics)(a, b)
    wide = a.bfloat16(), b.bfloat16()
    assert torch.equal(result, compiled(gemm("bfloat16", "float32"), numerics=numerics)(*wide))
    if numerics != "chip":  # whose sums round more than the bound allows
        assert_product(result, wide[0], wide[1].T)


def test_options_narrow_no_integers() -> None:
    kernel = compiled(copy("int8", "float32"), storage="bfloat8_b")
    assert kernel.compiled.plan.tensor("A").format == "Float16_b"
    values = any_bits(torch.int8)
    assert torch.equal(kernel(values).double(), values.double())


def test_the_decision_is_shown() -> None:
    text = compiled(copy("uint8", "uint8")).explain()
    assert "uint8 is stored as Float16_b, which holds all of its values" in text
