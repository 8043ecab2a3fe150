"""One step of decoding with grouped queries: cores share the keys (split-KV), and then what they found is combined."""

import tilelang
import tilelang.language as T
import torch

import tilelang_tt  # noqa: F401  (makes the target known)


@tilelang.jit(out_idx=[-1], target="tenstorrent")
def gqa_decode(batch, groups, group, length, dim, part, splits, dtype="bfloat16"):
    """A group of heads has `splits` cores, which take `part` keys at a time."""
    heads, rounds, scale = groups * group, length // splits // part, dim**-0.5
    columns = min(dim, 32)  # of the result, for each core that combines

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
            before = T.alloc_fragment((group,), "float32")
            factor = T.alloc_fragment((group,), "float32")
            total = T.alloc_fragment((group,), "float32")
            some = T.alloc_fragment((group,), "float32")
            T.copy(Q[b, g * group : (g + 1) * group, :], q)
            T.clear(out)
            T.clear(total)
            T.fill(largest, -T.infinity("float32"))
            for n in T.Pipelined(rounds, num_stages=2):
                first = (s * rounds + n) * part
                T.copy(K[b, first : first + part, g, :], k)
                T.copy(V[b, first : first + part, g, :], v)
                T.gemm(q, k, scores, transpose_B=True, clear_accum=True)
                T.copy(largest, before)
                T.reduce_max(scores, largest, dim=1, clear=False)
                for i in T.Parallel(group):
                    factor[i] = T.exp((before[i] - largest[i]) * scale)
                for i, j in T.Parallel(group, part):
                    weights[i, j] = T.exp((scores[i, j] - largest[i]) * scale)
                T.reduce_sum(weights, some, dim=1)
                for i in T.Parallel(group):
                    total[i] = total[i] * factor[i] + some[i]
                for i, j in T.Parallel(group, dim):
                    out[i, j] *= factor[i]
                T.gemm(weights, v, out)
            for i, j in T.Parallel(group, dim):
                out[i, j] /= total[i]
            for i in T.Parallel(group):
                total[i] = T.log(total[i]) + largest[i] * scale
            T.copy(out, Parts[b, s, g * group : (g + 1) * group, :])
            T.copy(total, Logs[b, s, g * group : (g + 1) * group])
        with T.Kernel(dim // columns, groups, batch, threads=128) as (c, g, b):
            result = T.alloc_fragment((group, columns), "float32")
            some = T.alloc_shared((group, columns), "float32")
            log = T.alloc_shared((group,), "float32")
            weight = T.alloc_fragment((group,), "float32")
            share = T.alloc_fragment((group,), "float32")
            T.clear(result)
            T.clear(share)
            for s in T.Pipelined(splits, num_stages=4):
                T.copy(Logs[b, s, g * group : (g + 1) * group], log)
                T.copy(Parts[b, s, g * group : (g + 1) * group, c * columns : (c + 1) * columns], some)
                for i in T.Parallel(group):
                    weight[i] = T.exp(log[i])
                for i in T.Parallel(group):
                    share[i] += weight[i]
                for i, j in T.Parallel(group, columns):
                    result[i, j] += some[i, j] * weight[i]
            for i, j in T.Parallel(group, columns):
                result[i, j] /= share[i]
            T.copy(result, Out[b, g * group : (g + 1) * group, c * columns : (c + 1) * columns])

    return kernel


def main():
    torch.manual_seed(0)
    q = torch.randn(1, 64, 64, dtype=torch.bfloat16)
    k, v = (torch.randn(1, 256, 2, 64, dtype=torch.bfloat16) for _ in range(2))
    out = gqa_decode(1, 2, 32, 256, 64, 32, 4)(q, k, v, torch.empty(1, 4, 64, 64), torch.empty(1, 4, 64))
    wide = (q.double().unsqueeze(2), *(x.double().transpose(1, 2) for x in (k, v)))
    expected = torch.nn.functional.scaled_dot_product_attention(*wide, enable_gqa=True).squeeze(2)
    error = ((out.double() - expected).norm() / expected.norm()).item()
    print(f"GQA decode: relative error {error:.2e}")
    assert error < 2**-7, "more than bfloat16 weights and results explain"


if __name__ == "__main__":
    main()
