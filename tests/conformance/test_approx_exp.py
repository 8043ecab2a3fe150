"""Target option `approx_exp`: exponentials right to 3.2 %, in a softmax and in attention over many rounds."""

from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch

import tilelang_tt  # noqa: F401

ERROR = 0.032  # of each exponential


def exponentials(rows: int, cols: int, dtype: str) -> Any:
    @T.prim_func
    def main(A: T.Tensor((rows, cols), dtype), B: T.Tensor((rows, cols), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((rows, cols), dtype)
            y = T.alloc_fragment((rows, cols), "float32")
            T.copy(A, x)
            for i, j in T.Parallel(rows, cols):
                y[i, j] = T.exp2(x[i, j] * 1.5)
            T.copy(y, B)

    return main


def target(arch: str, **options: Any) -> dict[str, Any]:
    return {"kind": "tenstorrent", "arch": arch, "numerics": "chip", "approx_exp": True, **options}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
def test_each_exponential(arch: str, dtype: str) -> None:
    a = torch.linspace(-80, 80, 50 * 70).reshape(50, 70).to(getattr(torch, dtype))
    a[0, :3] = torch.tensor([0.0, -torch.inf, -1e30])
    found = tilelang.compile(exponentials(50, 70, dtype), out_idx=[-1], target=target(arch))(a)
    exact = torch.exp2(a.double() * 1.5)
    assert found[0, 1] == 0
    assert found[0, 2] == 0
    assert bool(((found - exact).abs() <= ERROR * exact + 2.0**-126).all())


def test_a_number_between_two_steps() -> None:
    """The chip multiplies its constants by the factor, not the number; ttsim gave this result."""
    a = torch.full((32, 32), -48.631038665771484)
    found = tilelang.compile(exponentials(32, 32, "float32"), out_idx=[-1], target=target("blackhole"))(a)
    assert bool((found == 1.0711988932561708e-22).all())


def attention(length: int, keys: int, dim: int, block: int) -> Any:
    scale = dim**-0.5 * 1.44269504

    @T.prim_func
    def main(
        Q: T.Tensor((length, dim), "bfloat16"),
        K: T.Tensor((keys, dim), "bfloat16"),
        V: T.Tensor((keys, dim), "bfloat16"),
        Out: T.Tensor((length, dim), "bfloat16"),
    ):
        with T.Kernel(T.ceildiv(length, block), threads=128) as bx:
            q = T.alloc_shared((block, dim), "bfloat16")
            k = T.alloc_shared((block, dim), "bfloat16")
            v = T.alloc_shared((block, dim), "bfloat16")
            scores = T.alloc_fragment((block, block), "float32")
            weights = T.alloc_fragment((block, block), "bfloat16")
            out = T.alloc_fragment((block, dim), "float32")
            largest = T.alloc_fragment((block,), "float32")
            before = T.alloc_fragment((block,), "float32")
            factor = T.alloc_fragment((block,), "float32")
            part = T.alloc_fragment((block,), "float32")
            total = T.alloc_fragment((block,), "float32")
            T.copy(Q[bx * block, 0], q)
            T.fill(out, 0)
            T.fill(total, 0)
            T.fill(largest, -T.infinity("float32"))
            for n in T.Pipelined(T.ceildiv(keys, block), num_stages=2):
                T.copy(K[n * block, 0], k)
                for i, j in T.Parallel(block, block):
                    scores[i, j] = T.if_then_else(n * block + j >= keys, -T.infinity("float32"), 0)
                T.gemm(q, k, scores, transpose_B=True)
                T.copy(largest, before)
                T.reduce_max(scores, largest, dim=1, clear=False)
                for i in T.Parallel(block):
                    factor[i] = T.exp2(before[i] * scale - largest[i] * scale)
                for i, j in T.Parallel(block, block):
                    scores[i, j] = T.exp2(scores[i, j] * scale - largest[i] * scale)
                T.reduce_sum(scores, part, dim=1)
                for i in T.Parallel(block):
                    total[i] = total[i] * factor[i] + part[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(block, dim):
                    out[i, j] *= factor[i]
                T.copy(V[n * block, 0], v)
                T.gemm(weights, v, out)
            for i, j in T.Parallel(block, dim):
                out[i, j] /= total[i]
            T.copy(out, Out[bx * block, 0])

    return main


@pytest.mark.parametrize("fp32_acc", [True, False])
@pytest.mark.parametrize("fast_math", [True, False])
@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
def test_attention_over_many_rounds(arch: str, fast_math: bool, fp32_acc: bool) -> None:
    """Weights are right to 3.2 % each, before and behind the division by their sum, whatever the number of rounds."""
    length, keys, dim = 64, 1200, 64
    random = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(rows, dim, generator=random).bfloat16() for rows in (length, keys, keys))
    v = v.abs()  # so that errors of weights that grow with the rounds would show, and none cancel
    options = target(arch, fp32_acc=fp32_acc)
    configs = {"tl.enable_fast_math": fast_math}
    kernel = tilelang.compile(attention(length, keys, dim, 32), out_idx=[-1], target=options, pass_configs=configs)
    exact = torch.softmax(q.double() @ k.double().T * dim**-0.5, dim=1) @ v.double()
    rounding = 2.0**-8 if fp32_acc else 4 * 2.0**-8  # of the result; and of sums, scores and factors in a 16-bit DST
    assert bool(((kernel(q, k, v) - exact).abs() <= (2 * ERROR + 4 * rounding) * exact).all())
