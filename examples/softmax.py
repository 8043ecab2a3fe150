"""Softmax over the rows of a matrix.

python examples/softmax.py
"""

import tilelang
import tilelang.language as T
import torch

import tilelang_tt  # noqa: F401  (makes the target known)


@tilelang.jit(out_idx=[-1], target="tenstorrent")
def softmax(M, N, block_M, dtype):
    @T.prim_func
    def kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(M, block_M), threads=128) as bx:
            x = T.alloc_fragment((block_M, N), "float32")
            largest = T.alloc_fragment((block_M,), "float32")
            total = T.alloc_fragment((block_M,), "float32")
            T.copy(X[bx * block_M, 0], x)
            T.reduce_max(x, largest, dim=1)
            for i, j in T.Parallel(block_M, N):
                x[i, j] = T.exp(x[i, j] - largest[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(block_M, N):
                x[i, j] = x[i, j] / total[i]
            T.copy(x, Y[bx * block_M, 0])

    return kernel


def main():
    torch.manual_seed(0)
    x = torch.randn(128, 256, dtype=torch.bfloat16)
    y = softmax(128, 256, 32, "bfloat16")(x)
    error = (y.double() - torch.softmax(x.double(), 1)).abs().max().item()
    print(f"softmax: largest error {error:.2e}")
    assert error < 2**-9, "more than a rounding of probabilities below 1/2 to bfloat16"


if __name__ == "__main__":
    main()
