"""TileLang's CPU backend, used as a reference elsewhere, gives what torch says in float64.

Each kernel here is one family: products, element-wise, a row-wise softmax, flash attention with a causal mask.
"""

from typing import Any

import pytest
import tilelang.language as T
import torch

from tilelang_tt.cpu.kernel import CpuKernel

EPSILON = {"float8_e4m3fn": 2.0**-4, "float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24}


def random(shape: tuple[int, ...], dtype: str, seed: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(getattr(torch, dtype))


def assert_near(got: torch.Tensor, expected: torch.Tensor, tolerance: float) -> None:
    assert torch.all((got.double() - expected).abs() <= tolerance * (1 + expected.abs()))


def gemm(M: int, N: int, K: int, dtype: str) -> Any:
    @T.prim_func
    def main(A: T.Tensor((M, K), dtype), B: T.Tensor((N, K), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 32), threads=128) as (bx, by):
            a = T.alloc_shared((32, 64), dtype)
            b = T.alloc_shared((32, 64), dtype)
            c = T.alloc_fragment((32, 32), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, 64), num_stages=2):
                T.copy(A[by * 32, k * 64], a)
                T.copy(B[bx * 32, k * 64], b)
                T.gemm(a, b, c, transpose_B=True)
            T.copy(c, C[by * 32, bx * 32])

    return main


@pytest.mark.parametrize(
    ("shape", "dtype"), [((64, 96, 128), "float16"), ((50, 40, 70), "bfloat16"), ((64, 32, 64), "float8_e4m3fn")]
)
def test_gemm(shape: tuple[int, int, int], dtype: str) -> None:
    """Also where blocks reach beyond the tensors."""
    M, N, K = shape
    a, b, c = random((M, K), dtype, 1), random((N, K), dtype, 2), torch.zeros((M, N), dtype=getattr(torch, dtype))
    CpuKernel(gemm(M, N, K, dtype))(a, b, c)
    assert_near(c, a.double() @ b.double().T, 2 * EPSILON[dtype])


def softmax(M: int, N: int) -> Any:
    @T.prim_func
    def main(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(M // 32, threads=128) as bx:
            x = T.alloc_fragment((32, N), "float32")
            top = T.alloc_fragment((32,), "float32")
            total = T.alloc_fragment((32,), "float32")
            T.copy(X[bx * 32, 0], x)
            T.reduce_max(x, top, dim=1)
            for i, j in T.Parallel(32, N):
                x[i, j] = T.exp(x[i, j] - top[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(32, N):
                x[i, j] = x[i, j] / total[i]
            T.copy(x, Y[bx * 32, 0])

    return main


def test_softmax() -> None:
    x, y = random((64, 96), "float32", 3), torch.zeros((64, 96))
    CpuKernel(softmax(64, 96))(x, y)
    assert_near(y, torch.softmax(x.double(), -1), 16 * EPSILON["float32"])


def attention(S: int, D: int, dtype: str) -> Any:
    M, N = 32, 32

    @T.prim_func
    def main(
        Q: T.Tensor((S, D), dtype), K: T.Tensor((S, D), dtype), V: T.Tensor((S, D), dtype), Y: T.Tensor((S, D), dtype)
    ):
        with T.Kernel(S // M, threads=128) as bx:
            q = T.alloc_shared((M, D), dtype)
            k = T.alloc_shared((N, D), dtype)
            v = T.alloc_shared((N, D), dtype)
            s = T.alloc_fragment((M, N), "float32")
            p = T.alloc_fragment((M, N), dtype)
            o = T.alloc_fragment((M, D), "float32")
            top = T.alloc_fragment((M,), "float32")
            before = T.alloc_fragment((M,), "float32")
            part = T.alloc_fragment((M,), "float32")
            total = T.alloc_fragment((M,), "float32")
            T.copy(Q[bx * M, 0], q)
            T.fill(o, 0)
            T.fill(total, 0)
            T.fill(top, -T.infinity("float32"))
            for n in T.Pipelined(bx + 1, num_stages=1):
                T.copy(K[n * N, 0], k)
                T.copy(V[n * N, 0], v)
                for i, j in T.Parallel(M, N):
                    s[i, j] = T.if_then_else(bx * M + i >= n * N + j, 0, -T.infinity("float32"))
                T.gemm(q, k, s, transpose_B=True)
                T.copy(top, before)
                T.reduce_max(s, top, dim=1, clear=False)
                for i, j in T.Parallel(M, N):
                    s[i, j] = T.exp(s[i, j] - top[i])
                T.reduce_sum(s, part, dim=1)
                for i in T.Parallel(M):
                    total[i] = total[i] * T.exp(before[i] - top[i]) + part[i]
                T.copy(s, p)
                for i, j in T.Parallel(M, D):
                    o[i, j] = o[i, j] * T.exp(before[i] - top[i])
                T.gemm(p, v, o)
            for i, j in T.Parallel(M, D):
                o[i, j] = o[i, j] / total[i]
            T.copy(o, Y[bx * M, 0])

    return main


def test_attention() -> None:
    q, k, v = (random((96, 64), "float16", seed) for seed in (4, 5, 6))
    got = torch.zeros((96, 64), dtype=torch.float16)
    CpuKernel(attention(96, 64, "float16"))(q, k, v, got)
    scores = (q.double() @ k.double().T).masked_fill(~torch.tril(torch.ones(96, 96, dtype=torch.bool)), float("-inf"))
    assert_near(got, torch.softmax(scores, -1) @ v.double(), 4 * EPSILON["float16"])


def test_element_wise_of_rank_three() -> None:
    @T.prim_func
    def main(A: T.Tensor((2, 3, 40), "float32"), B: T.Tensor((40,), "float32"), C: T.Tensor((2, 3, 40), "float32")):
        with T.Kernel(2, threads=32) as bx:
            for i, j in T.Parallel(3, 40):
                C[bx, i, j] = T.abs(A[bx, i, j]) * B[j] + i

    a, b, c = random((2, 3, 40), "float32", 7), random((40,), "float32", 8), torch.zeros((2, 3, 40))
    CpuKernel(main)(a, b, c)
    assert_near(c, a.double().abs() * b.double() + torch.arange(3)[:, None], 4 * EPSILON["float32"])


def test_an_annotated_layout_is_no_matter() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=32) as _:
            a = T.alloc_shared((64, 64), "float32")
            T.annotate_layout({a: T.Layout(a.shape, lambda i, j: [j, i])})
            T.copy(A, a)
            T.copy(a, C)

    a, c = random((64, 64), "float32", 9), torch.zeros((64, 64))
    CpuKernel(main)(a, c)
    assert torch.equal(a, c)


def test_what_c_has_not() -> None:
    """Parameters of truth values, numbers of 19 bits, hints to a GPU."""

    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), On: T.Tensor((2,), "bool"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((32, 32), "float32")
            b = T.alloc_fragment((32, 32), "float32")
            T.no_set_max_nreg()
            T.clear(b)
            T.copy(A, a)
            for k in T.serial(2):
                if On[k]:
                    for i, j in T.Parallel(32, 32):
                        b[i, j] += T.Cast("float32", T.Cast("custom[tfloat32]", a[i, j])) * (k + 1)
            T.copy(b, B)

    a, b = random((32, 32), "float32", 1), torch.zeros(32, 32)
    CpuKernel(main)(a, torch.tensor([False, True]), b)
    assert torch.equal(b, 2 * a)


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_blocks_round_to_their_type(dtype: str) -> None:
    """Whether they are copied to or assigned to; normal numbers, those below them, and ties."""

    @T.prim_func
    def main(A: T.Tensor((32, 64), "float32"), B: T.Tensor((2, 32, 64), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_fragment((32, 64), "float32")
            copied = T.alloc_shared((32, 64), dtype)
            assigned = T.alloc_fragment((32, 64), dtype)
            T.copy(A, a)
            T.copy(a, copied)
            for i, j in T.Parallel(32, 64):
                assigned[i, j] = a[i, j]
            for i, j in T.Parallel(32, 64):
                B[0, i, j] = copied[i, j]
                B[1, i, j] = assigned[i, j]

    scales = 2.0 ** torch.arange(-20, 8).repeat(74)[:2048].view(32, 64)
    a = random((32, 64), "float32", 1) * scales
    a[0, :8] = torch.tensor([1.0625, 1.1875, 2.0**-9 * 1.5, 2.0**-9 * 2.5, -1.125, 0.0, 300.0, 2.0**-17])
    b = torch.zeros(2, 32, 64)
    CpuKernel(main, rounds=True)(a, b)
    expected = a.to(getattr(torch, dtype)).float()
    wrong = (b[0] != expected).nonzero().tolist()
    assert not wrong, [(a[i, j].item(), b[0, i, j].item(), expected[i, j].item()) for i, j in wrong[:5]]
    assert torch.equal(b[1], expected)


@pytest.mark.parametrize("kind", ["sum", "max", "min", "absmax"])
def test_reductions_between_types(kind: str) -> None:
    """Of a part of a block, into a row of another type; the second adds to what is there."""
    reduce = getattr(T, f"reduce_{kind}")

    @T.prim_func
    def main(A: T.Tensor((64, 32), "float16"), B: T.Tensor((2, 64), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_fragment((64, 32), "float16")
            rows = T.alloc_fragment((64,), "float32")
            again = T.alloc_fragment((64, 1), "float32")
            T.copy(A, a)
            reduce(a, rows, dim=1)
            T.fill(again, 3.0)
            reduce(a, again, dim=1, clear=False)
            for i in T.Parallel(64):
                B[0, i] = rows[i]
                B[1, i] = again[i, 0]

    a, b = random((64, 32), "float16", 0), torch.zeros(2, 64)
    a[5] = float("-inf") if kind == "max" else 0
    CpuKernel(main)(a, b)
    x = a.double()
    first, after = {
        "sum": (x.sum(1), x.sum(1) + 3),
        "max": (x.amax(1), x.amax(1).clamp(min=3)),
        "min": (x.amin(1), x.amin(1).clamp(max=3)),
        "absmax": (x.abs().amax(1), x.abs().amax(1).clamp(min=3)),
    }[kind]
    torch.testing.assert_close(b.double(), torch.stack([first, after]), rtol=1e-6, atol=1e-5)


def absolute(dtype: str) -> Any:
    @T.prim_func
    def main(X: T.Tensor((32, 32), dtype), Y: T.Tensor((32, 32), dtype)):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((32, 32), dtype)
            T.copy(X, x)
            for i, j in T.Parallel(32, 32):
                x[i, j] = T.abs(x[i, j])
            T.copy(x, Y)

    return main


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_absolute_values_of_every_float(dtype: str) -> None:
    x = random((32, 32), dtype, 1)
    y = torch.zeros_like(x)
    CpuKernel(absolute(dtype))(x, y)
    assert torch.equal(y, x.abs())
