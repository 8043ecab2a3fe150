"""Reductions told to keep NaN (`nan_propagate=True`): a row with a NaN gives NaN, others their largest number."""

import pytest
import tilelang
import tilelang.language as T
import torch

pytestmark = pytest.mark.filterwarnings("ignore:.*TT702")
ROWS, COLS = 64, 40
REDUCTIONS = {
    "max": (T.reduce_max, lambda x, dim: x.amax(dim)),
    "min": (T.reduce_min, lambda x, dim: x.amin(dim)),
    "absmax": (T.reduce_absmax, lambda x, dim: x.abs().amax(dim)),
}


def special(dtype):
    """Random numbers; NaN first, in the middle, last and everywhere in a row, infinities and zeros of both signs."""
    x = torch.randn(ROWS, COLS, generator=torch.Generator().manual_seed(5))
    x[3, 0] = x[7, 20] = x[11, -1] = x[12:14] = float("nan")
    x[20, 4], x[21, 4], x[22, 5], x[22, 6] = float("inf"), float("-inf"), float("inf"), float("nan")
    x[23], x[24] = float("-inf"), -0.0
    x[40, 2] = -float("nan")
    return x.to(getattr(torch, dtype))


def reduced(kind, dtype, dim, clear=True, start=0.0):
    size = ROWS if dim == 1 else COLS

    @T.prim_func
    def main(A: T.Tensor((ROWS, COLS), dtype), B: T.Tensor((size,), dtype)):
        with T.Kernel(1, threads=32):
            a = T.alloc_fragment((ROWS, COLS), dtype)
            b = T.alloc_fragment((size,), dtype)
            T.copy(A, a)
            T.fill(b, start)
            REDUCTIONS[kind][0](a, b, dim=dim, clear=clear, nan_propagate=True)
            T.copy(b, B)

    return tilelang.compile(main, out_idx=-1, target="tenstorrent")


def assert_same(got, wanted):
    assert torch.equal(got.isnan(), wanted.isnan())
    assert torch.equal(got.nan_to_num(nan=0.5), wanted.nan_to_num(nan=0.5))


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("kind", REDUCTIONS)
def test_a_nan_is_kept(kind, dtype, dim):
    x = special(dtype)
    if dim == 0:
        x[12:14] = 0.25  # or every column had a NaN
    assert_same(reduced(kind, dtype, dim)(x), REDUCTIONS[kind][1](x.float(), dim).to(x.dtype))


@pytest.mark.parametrize("start", [-1.0, float("nan")])
@pytest.mark.parametrize("kind", REDUCTIONS)
def test_a_nan_is_kept_beside_what_was_there(kind, start):
    x = special("bfloat16")
    combine = torch.minimum if kind == "min" else torch.maximum
    wanted = combine(REDUCTIONS[kind][1](x.float(), 1), torch.full((ROWS,), start)).to(x.dtype)
    assert_same(reduced(kind, "bfloat16", 1, clear=False, start=start)(x), wanted)


def test_among_tile_operations():
    """The product stays on the matrix engine; only the reduction goes element by element."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), B: T.Tensor((64, 64), "bfloat16"), C: T.Tensor((64,), "bfloat16")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "bfloat16")
            b = T.alloc_shared((64, 64), "bfloat16")
            c = T.alloc_fragment((64, 64), "float32")
            rounded = T.alloc_fragment((64, 64), "bfloat16")
            most = T.alloc_fragment((64,), "bfloat16")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, rounded)
            T.reduce_max(rounded, most, dim=1, nan_propagate=True)
            T.copy(most, C)

    a, b = torch.randint(-3, 4, (64, 64)).bfloat16(), torch.randint(-3, 4, (64, 64)).bfloat16()
    kernel = tilelang.compile(main, out_idx=-1, target="tenstorrent")
    (launch,) = kernel.compiled.plan.launches
    assert [one.role for one in launch.kernels if not one.scalar] == ["reader", "compute"]
    assert_same(kernel(a, b), (a.float() @ b.float()).bfloat16().amax(1))
