"""Causal linear attention in chunks: a state of keys times values is carried along the sequence.

python examples/linear_attention.py
"""

import tilelang
import tilelang.language as T
import torch

import tilelang_tt  # noqa: F401  (makes the target known)


@tilelang.jit(out_idx=[-1], target="tenstorrent")
def linear_attention(batch, length, heads, dim, chunk, dtype="bfloat16"):
    shape = (batch, length, heads, dim)

    @T.prim_func
    def kernel(
        Q: T.Tensor(shape, dtype), K: T.Tensor(shape, dtype), V: T.Tensor(shape, dtype), Out: T.Tensor(shape, dtype)
    ):
        with T.Kernel(heads, batch, threads=128) as (h, b):
            q = T.alloc_shared((chunk, dim), dtype)
            k = T.alloc_shared((chunk, dim), dtype)
            v = T.alloc_shared((chunk, dim), dtype)
            scores = T.alloc_fragment((chunk, chunk), "float32")
            weights = T.alloc_shared((chunk, chunk), dtype)
            state = T.alloc_fragment((dim, dim), "float32")
            state_in = T.alloc_shared((dim, dim), dtype)
            out = T.alloc_fragment((chunk, dim), "float32")
            T.clear(state)
            for n in T.Pipelined(T.ceildiv(length, chunk), num_stages=1):
                T.copy(Q[b, n * chunk : (n + 1) * chunk, h, :], q)
                T.copy(K[b, n * chunk : (n + 1) * chunk, h, :], k)
                T.copy(V[b, n * chunk : (n + 1) * chunk, h, :], v)
                T.gemm(q, k, scores, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(chunk, chunk):
                    weights[i, j] = T.if_then_else(i >= j, scores[i, j], 0)
                T.copy(state, state_in)
                T.gemm(weights, v, out, clear_accum=True)
                T.gemm(q, state_in, out)
                T.gemm(k, v, state, transpose_A=True)
                T.copy(out, Out[b, n * chunk : (n + 1) * chunk, h, :])

    return kernel


def main():
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 128, 2, 64, dtype=torch.bfloat16) / 4 for _ in range(3))
    o = linear_attention(1, 128, 2, 64, 32)(q, k, v)
    q, k, v = (x.double().transpose(1, 2) for x in (q, k, v))
    expected = ((q @ k.transpose(2, 3)).tril() @ v).transpose(1, 2)
    error = ((o.double() - expected).norm() / expected.norm()).item()
    print(f"chunked linear attention: relative error {error:.2e}")
    assert error < 2**-7, "more than weights, state and results in bfloat16 explain"


if __name__ == "__main__":
    main()
