"""T.gemm_blockscaled: groups of elements along the sum have a scale, which scalar code multiplies them with."""

import ml_dtypes
import numpy as np
import pytest
import tilelang
import tilelang.language as T
import torch

pytestmark = pytest.mark.filterwarnings("ignore:.*TT702")
M, N, K, BLOCK_K, GROUP = 128, 128, 256, 128, 16
WORD = 4 * GROUP  # elements whose scales are in a word


def fp4(rows, generator):
    """Numbers of 4 bits, packed, and what they are."""
    found = generator.integers(0, 256, (rows, K // 2), dtype=np.uint8)
    halves = np.stack([found & 15, found >> 4], -1).reshape(rows, K)
    return torch.from_numpy(found).view(torch.float4_e2m1fn_x2), halves.view(ml_dtypes.float4_e2m1fn).astype(np.float64)


def scales(rows, generator):
    """Words of four scales, and what these are: numbers without a sign, and no NaN."""
    found = generator.integers(0, 0x7F, (rows, K // GROUP), dtype=np.uint8)
    return found.view(np.uint32), found.view(ml_dtypes.float8_e4m3fn).astype(np.float64)


def by_chunks(words):
    """128 rows together, for every word along the sum; four words to a row."""
    rows, count = words.shape
    found = np.zeros(words.size, np.uint32)
    for row in range(rows):
        for word in range(count):
            found[word * 128 + row % 32 * 4 + row // 32] = words[row, word]
    return found.reshape(-1, 4)


def packed(layout):
    shape = (M, K // WORD) if layout == "rowmajor" else (M * (K // WORD) // 4, 4)

    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float4_e2m1fn"),
        B: T.Tensor((N, K), "float4_e2m1fn"),
        SA: T.Tensor(shape, "uint32"),
        SB: T.Tensor(shape, "uint32"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((M, BLOCK_K), "float4_e2m1fn")
            b = T.alloc_shared((N, BLOCK_K), "float4_e2m1fn")
            sa = T.alloc_shared(shape, "uint32")
            sb = T.alloc_shared(shape, "uint32")
            c = T.alloc_fragment((M, N), "float32")
            T.copy(SA, sa)
            T.copy(SB, sb)
            T.clear(c)
            for k in T.serial(K // BLOCK_K):
                T.copy(A[0, k * BLOCK_K], a)
                T.copy(B[0, k * BLOCK_K], b)
                T.gemm_blockscaled(
                    a,
                    b,
                    c,
                    sa,
                    sb,
                    transpose_B=True,
                    k_start=k * BLOCK_K,
                    sf_a_granularity_k=GROUP,
                    sf_b_granularity_k=GROUP,
                    sf_layout=layout,
                )
            T.copy(c, C)

    return main


@pytest.mark.parametrize("layout", ["rowmajor", "blockscaled_chunk_kmajor"])
def test_scales_in_words(layout):
    generator = np.random.default_rng(0)
    (a, left), (b, right) = fp4(M, generator), fp4(N, generator)
    (words_a, scale_a), (words_b, scale_b) = scales(M, generator), scales(N, generator)
    lie = (lambda words: words) if layout == "rowmajor" else by_chunks
    c = torch.zeros(M, N)
    tilelang.compile(packed(layout), target="tenstorrent")(
        a, b, torch.from_numpy(lie(words_a)), torch.from_numpy(lie(words_b)), c
    )
    left, right = left * scale_a.repeat(GROUP, 1), right * scale_b.repeat(GROUP, 1)
    bound = np.abs(left) @ np.abs(right).T * K * 2.0**-24
    assert (np.abs(c.numpy() - left @ right.T) <= bound).all()


def plain(group):
    @T.prim_func
    def main(
        A: T.Tensor((32, K), "float8_e4m3fn"),
        B: T.Tensor((K, 32), "float8_e5m2"),
        SA: T.Tensor((32, K // group), "float8_e8m0fnu"),
        SB: T.Tensor((32, K // group), "float8_e8m0fnu"),
        C: T.Tensor((32, 32), "float32"),
    ):
        with T.Kernel(1, threads=32):
            a = T.alloc_shared((32, K), "float8_e4m3fn")
            b = T.alloc_shared((K, 32), "float8_e5m2")
            sa = T.alloc_shared((32, K // group), "float8_e8m0fnu")
            sb = T.alloc_shared((32, K // group), "float8_e8m0fnu")
            c = T.alloc_fragment((32, 32), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.copy(SA, sa)
            T.copy(SB, sb)
            T.gemm_blockscaled(
                a, b, c, sa, sb, clear_accum=True, k_start=0, sf_a_granularity_k=group, sf_b_granularity_k=group
            )
            T.copy(c, C)

    return main


def test_a_scale_for_each_group():
    """Powers of two, one for 32 elements each; operands of different types."""
    generator = torch.Generator().manual_seed(1)
    a = torch.randint(-8, 9, (32, K), generator=generator).float().to(torch.float8_e4m3fn)
    b = torch.randint(-4, 5, (K, 32), generator=generator).float().to(torch.float8_e5m2)
    scales = [torch.randint(124, 131, (32, K // 32), dtype=torch.uint8, generator=generator) for _ in range(2)]
    c = torch.zeros(32, 32)
    tilelang.compile(plain(32), target="tenstorrent")(a, b, *(one.view(torch.float8_e8m0fnu) for one in scales), c)
    left, right = (2.0 ** (one.double() - 127).repeat_interleave(32, 1) for one in scales)
    assert torch.equal(c.double(), (a.double() * left) @ (b.double() * right.T))
