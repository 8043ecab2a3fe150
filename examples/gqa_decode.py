"""One step of decoding with grouped queries: every part of the keys on its own (split-KV), then the parts combined."""

import tilelang
import tilelang.language as T
import torch

import tilelang_tt  # noqa: F401  (makes the target known)


@tilelang.jit(out_idx=[-1], target="tenstorrent")
def gqa_decode(batch, groups, group, length, dim, part, dtype="bfloat16"):
    heads, splits, scale = groups * group, length // part, dim**-0.5

    @T.prim_func
    def kernel(
        Q: T.Tensor((batch, heads, dim), dtype),
        K: T.Tensor((batch, length, groups, dim), dtype),
        V: T.Tensor((batch, length, groups, dim), dtype),
        Parts: T.Tensor((batch, splits, heads, dim), "float32"),
        Logs: T.Tensor((batch, splits, heads), "float32"),
        Out: T.Tensor((batch, heads, dim), dtype),
    ):
        with T.Kernel(splits, groups, batch, threads=128) as (s, g, b):
            q = T.alloc_shared((group, dim), dtype)
            k = T.alloc_shared((part, dim), dtype)
            v = T.alloc_shared((part, dim), dtype)
            scores = T.alloc_fragment((group, part), "float32")
            weights = T.alloc_fragment((group, part), dtype)
            out = T.alloc_fragment((group, dim), "float32")
            largest = T.alloc_fragment((group,), "float32")
            total = T.alloc_fragment((group,), "float32")
            T.copy(Q[b, g * group : (g + 1) * group, :], q)
            T.copy(K[b, s * part : (s + 1) * part, g, :], k)
            T.copy(V[b, s * part : (s + 1) * part, g, :], v)
            T.gemm(q, k, scores, transpose_B=True, clear_accum=True)
            T.reduce_max(scores, largest, dim=1)
            for i, j in T.Parallel(group, part):
                weights[i, j] = T.exp((scores[i, j] - largest[i]) * scale)
            T.reduce_sum(weights, total, dim=1)
            T.gemm(weights, v, out, clear_accum=True)
            for i, j in T.Parallel(group, dim):
                out[i, j] /= total[i]
            for i in T.Parallel(group):
                total[i] = T.log(total[i]) + largest[i] * scale
            T.copy(out, Parts[b, s, g * group : (g + 1) * group, :])
            T.copy(total, Logs[b, s, g * group : (g + 1) * group])
        with T.Kernel(groups, batch, threads=128) as (g, b):
            result = T.alloc_fragment((group, dim), "float32")
            share = T.alloc_fragment((group,), "float32")
            T.clear(result)
            T.clear(share)
            for s in T.serial(splits):
                for i in T.Parallel(group):
                    share[i] += T.exp(Logs[b, s, g * group + i])
                for i, j in T.Parallel(group, dim):
                    result[i, j] += Parts[b, s, g * group + i, j] * T.exp(Logs[b, s, g * group + i])
            for i, j in T.Parallel(group, dim):
                result[i, j] /= share[i]
            T.copy(result, Out[b, g * group : (g + 1) * group, :])

    return kernel


def main():
    torch.manual_seed(0)
    q = torch.randn(1, 64, 64, dtype=torch.bfloat16)
    k, v = (torch.randn(1, 128, 2, 64, dtype=torch.bfloat16) for _ in range(2))
    out = gqa_decode(1, 2, 32, 128, 64, 32)(q, k, v, torch.empty(1, 4, 64, 64), torch.empty(1, 4, 64))
    wide = (q.double().unsqueeze(2), *(x.double().transpose(1, 2) for x in (k, v)))
    expected = torch.nn.functional.scaled_dot_product_attention(*wide, enable_gqa=True).squeeze(2)
    error = ((out.double() - expected).norm() / expected.norm()).item()
    print(f"GQA decode: relative error {error:.2e}")
    assert error < 2**-7, "more than bfloat16 weights and results explain"


if __name__ == "__main__":
    main()
