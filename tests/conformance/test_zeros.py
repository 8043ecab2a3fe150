"""0.0 and -0.0 in one kernel are two numbers, though Python says that they are equal."""

import tilelang
import tilelang.language as T
import torch


@T.prim_func
def two_zeros(X: T.Tensor((32, 32), "float32"), Y: T.Tensor((32, 32), "float32")):
    with T.Kernel(1, threads=32):
        x = T.alloc_fragment((32, 32), "float32")
        y = T.alloc_fragment((32, 32), "float32")
        T.copy(X, x)
        for i, j in T.Parallel(32, 32):
            above = T.if_then_else(x[i, j] > 1, T.float32(0.0), x[i, j])
            below = T.if_then_else(x[i, j] > 1, T.float32(-0.0), x[i, j])
            y[i, j] = T.max(1 / above, 0) + T.min(1 / below, 0)
        T.copy(y, Y)


def test_both_zeros() -> None:
    x = torch.linspace(-4, 4, 1024).reshape(32, 32)
    kernel = tilelang.compile(two_zeros, out_idx=[-1], target={"kind": "tenstorrent", "numerics": "exact"})
    above, below = torch.where(x > 1, 0.0, x), torch.where(x > 1, -0.0, x)
    expected = torch.clamp(1 / above, min=0) + torch.clamp(1 / below, max=0)
    torch.testing.assert_close(kernel(x), expected, rtol=2.0**-20, atol=0, equal_nan=True)


@T.prim_func
def least(X: T.Tensor((32, 32), "float32"), Y: T.Tensor((32, 32), "float32")):
    with T.Kernel(1, threads=32):
        x = T.alloc_fragment((32, 32), "float32")
        T.copy(X, x)
        for i, j in T.Parallel(32, 32):
            x[i, j] = 1 / T.max(x[i, j], T.float32(-0.0))
        T.copy(x, Y)


def test_the_larger_of_a_number_and_minus_zero() -> None:
    x = -torch.arange(1, 1025, dtype=torch.float32).reshape(32, 32)
    kernel = tilelang.compile(least, out_idx=[-1], target={"kind": "tenstorrent", "numerics": "exact"})
    assert torch.equal(kernel(x), torch.full_like(x, -torch.inf))
