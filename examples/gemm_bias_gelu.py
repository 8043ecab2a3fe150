"""A GEMM with a bias per column and GELU, fused.

python examples/gemm_bias_gelu.py
"""

import tilelang
import tilelang.language as T
import torch

import tilelang_tt  # noqa: F401  (makes the target known)


@tilelang.jit(out_idx=[-1], target="tenstorrent")
def gemm_bias_gelu(M, N, K, block_M, block_N, block_K, dtype):
    @T.prim_func
    def kernel(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N), dtype),
        bias: T.Tensor((N,), dtype),
        C: T.Tensor((M, N), dtype),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            a = T.alloc_shared((block_M, block_K), dtype)
            b = T.alloc_shared((block_K, block_N), dtype)
            column = T.alloc_fragment((block_N,), "float32")
            c = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                T.copy(A[by * block_M, k * block_K], a)
                T.copy(B[k * block_K, bx * block_N], b)
                T.gemm(a, b, c)
            T.copy(bias[bx * block_N], column)
            for i, j in T.Parallel(block_M, block_N):
                c[i, j] = c[i, j] + column[j]
            for i, j in T.Parallel(block_M, block_N):
                c[i, j] = 0.5 * c[i, j] * (1.0 + T.erf(c[i, j] * 0.7071067811865476))
            T.copy(c, C[by * block_M, bx * block_N])

    return kernel


def main():
    torch.manual_seed(0)
    a, b = torch.randn(128, 96, dtype=torch.bfloat16), torch.randn(96, 128, dtype=torch.bfloat16)
    bias = torch.randn(128, dtype=torch.bfloat16)
    c = gemm_bias_gelu(128, 128, 96, 64, 64, 32, "bfloat16")(a, b, bias)
    expected = torch.nn.functional.gelu(a.double() @ b.double() + bias.double())
    error = ((c.double() - expected).norm() / expected.norm()).item()
    print(f"GEMM + bias + GELU: relative error {error:.2e}")
    assert error < 2**-8, "more than a rounding to bfloat16"


if __name__ == "__main__":
    main()
