"""Types the chip has no format for: kernels move them without losing a bit, and compute with their values."""

from typing import Any

import pytest
import reference
import tilelang
import tilelang.language as T
import torch
from reference import assert_product

from tilelang_tt.diagnostics import TenstorrentError
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


CASTS = [
    ("float32", "int32"), ("float32", "uint32"), ("float32", "int16"), ("float32", "int8"), ("float32", "bool"),
    ("bfloat16", "uint8"), ("int32", "float32"), ("uint32", "float32"), ("int8", "int32"), ("uint8", "int16"),
    ("bool", "uint32"), ("int32", "bfloat16"), ("int32", "bool"),
]  # fmt: skip


@pytest.mark.parametrize("numerics", NUMERICS)
@pytest.mark.parametrize(("source", "target"), CASTS, ids=["-".join(pair) for pair in CASTS])
def test_casts_are_those_of_c(source: str, target: str, numerics: str) -> None:
    """Towards zero, for numbers that the target can hold; the copies to and from blocks cast on the way too."""

    @T.prim_func
    def main(
        A: T.Tensor((100, 70), source),
        B: T.Tensor((100, 70), target),
        C: T.Tensor((100, 70), target),
        D: T.Tensor((100, 70), target),
    ):
        with T.Kernel(T.ceildiv(70, 32), T.ceildiv(100, 64), threads=128) as (bx, by):
            X = T.alloc_shared((64, 32), source)
            Y = T.alloc_fragment((64, 32), target)
            T.copy(A[by * 64, bx * 32], X)
            T.copy(X, Y)  # block to block
            T.copy(Y, B[by * 64, bx * 32])
            T.copy(X, C[by * 64, bx * 32])  # block to tensor
            T.copy(A[by * 64, bx * 32], Y)  # tensor to block
            T.copy(Y, D[by * 64, bx * 32])

    kernel = tilelang.compile(main, target={"kind": "tenstorrent", "grid": "2x1", "numerics": numerics})
    low = 0 if "u" in (source[0], target[0]) else -120
    values = torch.rand(100, 70, generator=torch.Generator().manual_seed(0)) * (120 - low) + low
    values[0, :4] = torch.tensor([0.0, 0.75, 1.0, 119.99])
    values = values.to(getattr(torch, source))
    expected = values.to(getattr(torch, target))
    results = [torch.full_like(expected, 3) for _ in range(3)]
    kernel(values, *results)
    for result in results:
        assert torch.equal(result.double(), expected.double())


INTEGER_TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32")


@pytest.mark.parametrize("numerics", NUMERICS)
@pytest.mark.parametrize("dtype", INTEGER_TYPES)
def test_quantise_compute_and_scale_back(dtype: str, numerics: str) -> None:
    @T.prim_func
    def main(
        A: T.Tensor((100, 70), "float32"),
        S: T.Tensor((100,), "float32"),
        B: T.Tensor((100, 70), dtype),
        C: T.Tensor((100, 70), "float32"),
    ):
        with T.Kernel(T.ceildiv(70, 32), T.ceildiv(100, 64), threads=128) as (bx, by):
            X = T.alloc_shared((64, 32), "float32")
            scale = T.alloc_shared((64,), "float32")
            Q = T.alloc_fragment((64, 32), dtype)
            F = T.alloc_fragment((64, 32), dtype)
            Y = T.alloc_fragment((64, 32), "float32")
            T.copy(A[by * 64, bx * 32], X)
            T.copy(S[by * 64], scale)
            T.fill(F, 3)
            for i, j in T.Parallel(64, 32):
                Q[i, j] = T.cast(T.clamp(X[i, j] * scale[i], 0.0, 100.0), dtype)
            for i, j in T.Parallel(64, 32):
                Q[i, j] = T.min(Q[i, j] + F[i, j], T.cast(90, dtype))
            for i, j in T.Parallel(64, 32):
                Y[i, j] = T.cast(Q[i, j], "float32") * scale[i]
            T.copy(Q, B[by * 64, bx * 32])
            T.copy(Y, C[by * 64, bx * 32])

    generator = torch.Generator().manual_seed(0)
    x, scale = torch.rand(100, 70, generator=generator) * 100, torch.rand(100, generator=generator)
    wanted = getattr(torch, dtype)
    whole = ((x * scale[:, None]).clamp(0, 100).trunc() + 3).clamp(max=90)
    q, y = torch.zeros(100, 70, dtype=wanted), torch.zeros(100, 70)
    tilelang.compile(main, target={"kind": "tenstorrent", "grid": "2x1", "numerics": numerics})(x, scale, q, y)
    assert torch.equal(q.float(), whole)
    assert bool(((y - whole * scale[:, None]).abs() <= 2.0**-22 * y.abs()).all())


@pytest.mark.parametrize("numerics", NUMERICS)
def test_masks_are_truth_values(numerics: str) -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), M: T.Tensor((64, 64), "bool"), B: T.Tensor((64, 64), "bool")):
        with T.Kernel(2, threads=128) as by:
            X = T.alloc_shared((32, 64), "float32")
            mask = T.alloc_shared((32, 64), "bool")
            result = T.alloc_fragment((32, 64), "bool")
            T.copy(A[by * 32, 0], X)
            T.copy(M[by * 32, 0], mask)
            for i, j in T.Parallel(32, 64):
                result[i, j] = T.if_then_else(mask[i, j], X[i, j] > 0.5, X[i, j] < -0.5)
            T.copy(result, B[by * 32, 0])

    x, mask = any_bits(torch.float32, (64, 64)) / 30, any_bits(torch.bool, (64, 64))
    result = compiled(main, numerics=numerics)(x, mask)
    assert torch.equal(result, torch.where(mask, x > 0.5, x < -0.5))


@pytest.mark.parametrize("numerics", NUMERICS)
@pytest.mark.parametrize("dtype", ["int8", "int32", "bfloat16"])
def test_rows_that_start_anywhere(dtype: str, numerics: str) -> None:
    @T.prim_func
    def main(A: T.Tensor((100, 40), dtype), starts: T.Tensor((4,), "int32"), B: T.Tensor((100, 40), dtype)):
        with T.Kernel(3, threads=128) as bx:
            X = T.alloc_shared((32, 40), dtype)
            T.copy(A[starts[bx], 0], X)
            for i, j in T.Parallel(32, 40):
                if starts[bx] + i < starts[bx + 1]:
                    B[starts[bx] + i, j] = X[i, j]

    values = any_bits(getattr(torch, dtype), (100, 40))
    result = torch.full_like(values, 7)
    starts = torch.tensor([0, 20, 45, 77], dtype=torch.int32)
    tilelang.compile(main, target={"kind": "tenstorrent", "grid": "2x1", "numerics": numerics})(values, starts, result)
    assert torch.equal(result[:77], values[:77])
    assert bool((result[77:] == 7).all())


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


@pytest.mark.parametrize("numerics", ["fast", "exact"])
def test_product_of_int8_in_float32(numerics: str) -> None:
    """Whole numbers below 2^24, each sum of them exact but on the chip."""
    a, b = any_bits(torch.int8, (100, 130)), any_bits(torch.int8, (70, 130))
    result = compiled(gemm("int8", "int32"), numerics=numerics)(a, b)
    if reference.CHIP is None:
        assert torch.equal(result.double(), a.double() @ b.double().T)
    else:
        reference.assert_product(result.float(), a, b.T)


def test_options_narrow_no_integers() -> None:
    kernel = compiled(copy("int8", "float32"), storage="bfloat8_b")
    assert kernel.compiled.plan.tensor("A").format == "Float16_b"
    values = any_bits(torch.int8)
    assert torch.equal(kernel(values).double(), values.double())


@pytest.mark.parametrize("numerics", ["fast", "chip"])
@pytest.mark.parametrize("storage", ["bfloat8_b", "bfloat4_b"])
def test_block_floats_at_the_ends_of_the_range(storage: str, numerics: str) -> None:
    """The unpacker would make huge numbers of those below the smallest normal one."""
    a, wanted = torch.zeros(100, 70), torch.zeros(100, 70)
    a[:50, 0] = torch.arange(-149, -99).double().exp2().float()
    a[:, 1], a[:, 2] = 1e-40, -1e-40
    wanted[:50, 0] = torch.where(a[:50, 0] < torch.finfo(torch.float32).tiny, 0.0, a[:50, 0])
    a[60, 16:19] = torch.tensor([float("inf"), -float("inf"), 1.0])
    wanted[60, 16:18] = a[60, 16:18]
    a[61, 20], wanted[61, 20] = float("nan"), float("inf")
    assert torch.equal(compiled(copy("float32", "float32"), storage=storage, numerics=numerics)(a), wanted)


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
@pytest.mark.parametrize("numerics", ["fast", "chip"])
@pytest.mark.parametrize("storage", ["bfloat8_b", "bfloat4_b"])
def test_results_in_block_floats(storage: str, numerics: str, arch: str) -> None:
    """Copied: every number as the packer rounds it, beside numbers of any size, infinities and NaN."""
    generator = torch.Generator().manual_seed(5)
    a = torch.randn(100, 80, generator=generator).bfloat16()
    a[30:60] *= torch.exp2(torch.randint(-12, 12, (30, 80), generator=generator)).bfloat16()
    a[60:80] *= torch.exp2(torch.randint(-126, 127, (20, 80), generator=generator).float()).bfloat16()
    a[80, ::5], a[81, ::7], a[82, 3], a[83, 20], a[84, 40] = 0.0, -0.0, torch.inf, -torch.inf, torch.nan
    a[85] = 1.9921875  # rounds up to the next exponent

    @T.prim_func
    def main(A: T.Tensor((100, 80), "bfloat16"), B: T.Tensor((100, 80), "bfloat16")):
        with T.Kernel(T.ceildiv(80, 32), T.ceildiv(100, 64), threads=128) as (bx, by):
            a = T.alloc_shared((64, 32), "bfloat16")
            T.copy(A[by * 64, bx * 32], a)
            T.copy(a, B[by * 64, bx * 32])

    kernel = compiled(main, storage={"B": storage}, numerics=numerics, arch=arch)
    assert kernel.compiled.plan.tensor("A").format == "Float16_b"
    stored = kernel.compiled.plan.tensor("B").format
    assert stored == {"bfloat8_b": "Bfp8_b", "bfloat4_b": "Bfp4_b"}[storage]
    assert torch.equal(kernel(a).double(), reference.packed_block_floats(a, storage))


@pytest.mark.parametrize("fp32_acc", [True, False])
@pytest.mark.parametrize(("storage", "out"), [("bfloat8_b", "bfloat16"), ("bfloat4_b", "float32")])
@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
def test_products_in_block_floats(arch: str, storage: str, out: str, fp32_acc: bool) -> None:
    """Rows of any number, known at the call; with something after the product; blocks read once for several cores."""
    m = T.dynamic("m")

    @T.prim_func
    def main(A: T.Tensor((m, 96), "bfloat16"), B: T.Tensor((96, 144), "bfloat16"), C: T.Tensor((m, 144), out)):
        with T.Kernel(T.ceildiv(144, 64), T.ceildiv(m, 64), threads=128) as (bx, by):
            a = T.alloc_shared((64, 32), "bfloat16")
            b = T.alloc_shared((32, 64), "bfloat16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(3, num_stages=2):
                T.copy(A[by * 64, k * 32], a)
                T.copy(B[k * 32, bx * 64], b)
                T.gemm(a, b, c)
            for i, j in T.Parallel(64, 64):
                c[i, j] = T.max(c[i, j], 0.0)
            T.copy(c, C[by * 64, bx * 64])

    options = {"arch": arch, "grid": "3x3", "multicast": True, "fp32_acc": fp32_acc}
    kernel = compiled(main, storage={"C": storage}, **options)
    for rows in (33, 200):
        generator = torch.Generator().manual_seed(rows)
        a = torch.randn(rows, 96, generator=generator).bfloat16()
        b = torch.randn(96, 144, generator=generator).bfloat16()
        exact = (a.double() @ b.double()).clamp(min=0)
        error = (kernel(a, b).double() - exact).abs()
        bound = reference.product_bound(a, b, torch.bfloat16, fp32_acc=fp32_acc)
        assert (error <= 1.1 * bound + reference.block_step(exact + bound, storage)).all()


def test_results_are_stored_so_by_name_alone() -> None:
    kernel = compiled(copy("bfloat16", "bfloat16"), storage="bfloat8_b")
    assert kernel.compiled.plan.tensor("B").format == "Float16_b"
    refused = "'B' cannot be stored as bfloat8_b: 16 numbers share an exponent"
    with pytest.raises(TenstorrentError, match=f"target option 'storage': {refused}"):
        compiled(copy("bfloat16", "bfloat16"), storage={"B": "bfloat8_b"})


def test_the_decision_is_shown() -> None:
    text = compiled(copy("uint8", "uint8")).explain(whole=True)
    assert "uint8 is stored as Float16_b, which holds all of its values" in text
