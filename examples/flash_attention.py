"""Causal flash attention, forward: batch, sequence, heads, dimension.

python examples/flash_attention.py
"""

import tilelang
import tilelang.language as T
import torch

import tilelang_tt  # noqa: F401  (makes the target known)


@tilelang.jit(out_idx=[-1], target="tenstorrent", pass_configs={tilelang.PassConfigKey.TL_ENABLE_FAST_MATH: True})
def flash_attention(batch, heads, length, dim, block_M, block_N, dtype="bfloat16"):
    shape = (batch, length, heads, dim)
    scale = dim**-0.5 * 1.44269504  # exp2 instead of exp

    @T.prim_func
    def kernel(
        Q: T.Tensor(shape, dtype), K: T.Tensor(shape, dtype), V: T.Tensor(shape, dtype), Out: T.Tensor(shape, dtype)
    ):
        with T.Kernel(T.ceildiv(length, block_M), heads, batch, threads=128) as (bx, by, bz):
            q = T.alloc_shared((block_M, dim), dtype)
            k = T.alloc_shared((block_N, dim), dtype)
            v = T.alloc_shared((block_N, dim), dtype)
            scores = T.alloc_fragment((block_M, block_N), "float32")
            weights = T.alloc_fragment((block_M, block_N), dtype)
            out = T.alloc_fragment((block_M, dim), "float32")
            largest = T.alloc_fragment((block_M,), "float32")
            before = T.alloc_fragment((block_M,), "float32")
            factor = T.alloc_fragment((block_M,), "float32")
            part = T.alloc_fragment((block_M,), "float32")
            total = T.alloc_fragment((block_M,), "float32")
            T.copy(Q[bz, bx * block_M : (bx + 1) * block_M, by, :], q)
            T.fill(out, 0)
            T.fill(total, 0)
            T.fill(largest, -T.infinity("float32"))
            for n in T.Pipelined(T.ceildiv((bx + 1) * block_M, block_N), num_stages=1):
                T.copy(K[bz, n * block_N : (n + 1) * block_N, by, :], k)
                for i, j in T.Parallel(block_M, block_N):
                    below = bx * block_M + i >= n * block_N + j
                    scores[i, j] = T.if_then_else(below, 0, -T.infinity("float32"))
                T.gemm(q, k, scores, transpose_B=True)
                T.copy(largest, before)
                T.reduce_max(scores, largest, dim=1, clear=False)
                for i in T.Parallel(block_M):
                    factor[i] = T.exp2((before[i] - largest[i]) * scale)
                for i, j in T.Parallel(block_M, block_N):
                    scores[i, j] = T.exp2((scores[i, j] - largest[i]) * scale)
                T.reduce_sum(scores, part, dim=1)
                for i in T.Parallel(block_M):
                    total[i] = total[i] * factor[i] + part[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(block_M, dim):
                    out[i, j] *= factor[i]
                T.copy(V[bz, n * block_N : (n + 1) * block_N, by, :], v)
                T.gemm(weights, v, out)
            for i, j in T.Parallel(block_M, dim):
                out[i, j] /= total[i]
            T.copy(out, Out[bz, bx * block_M : (bx + 1) * block_M, by, :])

    return kernel


def main():
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 128, 2, 64, dtype=torch.bfloat16) for _ in range(3))
    o = flash_attention(1, 2, 128, 64, 64, 64)(q, k, v)
    wide = (x.double().transpose(1, 2) for x in (q, k, v))
    expected = torch.nn.functional.scaled_dot_product_attention(*wide, is_causal=True).transpose(1, 2)
    error = ((o.double() - expected).norm() / expected.norm()).item()
    print(f"causal flash attention: relative error {error:.2e}")
    assert error < 2**-7, "more than bfloat16 weights and results explain"


if __name__ == "__main__":
    main()
