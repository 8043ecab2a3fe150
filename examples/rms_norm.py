"""RMSNorm with a weight per column.

python examples/rms_norm.py
"""

import tilelang
import tilelang.language as T
import torch

import tilelang_tt  # noqa: F401  (makes the target known)


@tilelang.jit(out_idx=[-1], target="tenstorrent")
def rms_norm(M, N, block_M, dtype, epsilon=1e-6):
    @T.prim_func
    def kernel(X: T.Tensor((M, N), dtype), W: T.Tensor((N,), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(M, block_M), threads=128) as bx:
            x = T.alloc_fragment((block_M, N), "float32")
            square = T.alloc_fragment((block_M, N), "float32")
            weight = T.alloc_fragment((N,), "float32")
            total = T.alloc_fragment((block_M,), "float32")
            T.copy(W, weight)
            T.copy(X[bx * block_M, 0], x)
            for i, j in T.Parallel(block_M, N):
                square[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(square, total, dim=1)
            for i in T.Parallel(block_M):
                total[i] = T.rsqrt(total[i] / N + epsilon)
            for i, j in T.Parallel(block_M, N):
                x[i, j] = x[i, j] * total[i] * weight[j]
            T.copy(x, Y[bx * block_M, 0])

    return kernel


def main():
    torch.manual_seed(0)
    x, w = torch.randn(96, 256, dtype=torch.bfloat16), torch.randn(256, dtype=torch.bfloat16)
    y = rms_norm(96, 256, 32, "bfloat16")(x, w)
    wide = x.double()
    expected = wide * torch.rsqrt(wide.square().mean(1, keepdim=True) + 1e-6) * w.double()
    error = ((y.double() - expected).norm() / expected.norm()).item()
    print(f"RMSNorm: relative error {error:.2e}")
    assert error < 2**-8, "more than a rounding to bfloat16"


if __name__ == "__main__":
    main()
