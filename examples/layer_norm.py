"""LayerNorm with weight and bias per column.

python examples/layer_norm.py
"""

import tilelang
import tilelang.language as T
import torch

import tilelang_tt  # noqa: F401  (makes the target known)


@tilelang.jit(out_idx=[-1], target="tenstorrent")
def layer_norm(M, N, block_M, dtype, epsilon=1e-5):
    @T.prim_func
    def kernel(
        X: T.Tensor((M, N), dtype),
        W: T.Tensor((N,), dtype),
        B: T.Tensor((N,), dtype),
        Y: T.Tensor((M, N), dtype),
    ):
        with T.Kernel(T.ceildiv(M, block_M), threads=128) as bx:
            x = T.alloc_fragment((block_M, N), "float32")
            square = T.alloc_fragment((block_M, N), "float32")
            weight = T.alloc_fragment((N,), "float32")
            bias = T.alloc_fragment((N,), "float32")
            mean = T.alloc_fragment((block_M,), "float32")
            scale = T.alloc_fragment((block_M,), "float32")
            T.copy(W, weight)
            T.copy(B, bias)
            T.copy(X[bx * block_M, 0], x)
            T.reduce_sum(x, mean, dim=1)
            for i, j in T.Parallel(block_M, N):
                x[i, j] = x[i, j] - mean[i] / N
            for i, j in T.Parallel(block_M, N):
                square[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(square, scale, dim=1)
            for i in T.Parallel(block_M):
                scale[i] = T.rsqrt(scale[i] / N + epsilon)
            for i, j in T.Parallel(block_M, N):
                x[i, j] = x[i, j] * scale[i] * weight[j] + bias[j]
            T.copy(x, Y[bx * block_M, 0])

    return kernel


def main():
    torch.manual_seed(0)
    x = torch.randn(96, 128, dtype=torch.bfloat16) + 1
    w, b = (torch.randn(128, dtype=torch.bfloat16) for _ in range(2))
    y = layer_norm(96, 128, 32, "bfloat16")(x, w, b)
    expected = torch.nn.functional.layer_norm(x.double(), (128,), w.double(), b.double())
    error = ((y.double() - expected).norm() / expected.norm()).item()
    print(f"LayerNorm: relative error {error:.2e}")
    assert error < 2**-8, "more than a rounding to bfloat16"


if __name__ == "__main__":
    main()
