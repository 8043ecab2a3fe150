"""Kernels as users write them for GPUs, unmodified: each runs and agrees with float64."""

from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from reference import UNIT, assert_product

TWO_CORES = {"kind": "tenstorrent", "grid": "2x1"}
CHIPS = ("wormhole_b0", "blackhole")


def on(arch: str = "wormhole_b0", **options: Any) -> dict[str, Any]:
    return {**TWO_CORES, "arch": arch, **options}


def random(*shape: int, dtype: torch.dtype = torch.bfloat16, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


@pytest.mark.parametrize("arch", CHIPS)
def test_quickstart_gemm_relu_in_eager_style(arch: str) -> None:
    @tilelang.jit(target=on(arch))
    def matmul_relu(A, B, block_m: int = 128, block_n: int = 128, block_k: int = 32):
        M, N, K = T.const("M N K")
        A: T.Tensor[[M, K], T.float16]
        B: T.Tensor[[K, N], T.float16]
        C = T.empty((M, N), T.float16)
        with T.Kernel(T.ceildiv(N, block_n), T.ceildiv(M, block_m), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_m, block_k), T.float16)
            B_shared = T.alloc_shared((block_k, block_n), T.float16)
            C_local = T.alloc_fragment((block_m, block_n), T.float32)
            T.use_swizzle(panel_size=10, enable=True)
            T.clear(C_local)
            for ko in T.Pipelined(T.ceildiv(K, block_k), num_stages=3):
                T.copy(A[by * block_m, ko * block_k], A_shared)
                T.copy(B[ko * block_k, bx * block_n], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            for i, j in T.Parallel(block_m, block_n):
                C_local[i, j] = T.max(C_local[i, j], 0)
            T.copy(C_local, C[by * block_m, bx * block_n])
        return C

    a, b = random(256, 128, dtype=torch.float16), random(128, 256, dtype=torch.float16, seed=1)
    assert_product(matmul_relu(a, b), a, b, relu=True)


def test_lazy_style_with_slices_and_a_shared_result() -> None:
    @tilelang.jit(out_idx=[-1], target=TWO_CORES)
    def matmul(M: int, N: int, K: int, block: int):
        @T.prim_func
        def main(A: T.Tensor((M, K), "float16"), B: T.Tensor((N, K), "float16"), C: T.Tensor((M, N), "float16")):
            with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), threads=128) as (bx, by):
                A_shared = T.alloc_shared((block, 32), "float16")
                B_shared = T.alloc_shared((block, 32), "float16")
                C_local = T.alloc_fragment((block, block), "float")
                C_shared = T.alloc_shared((block, block), "float16")
                T.clear(C_local)
                for k in T.Pipelined(K // 32, num_stages=2):
                    T.copy(A[by * block : (by + 1) * block, k * 32 : (k + 1) * 32], A_shared)
                    T.copy(B[bx * block : (bx + 1) * block, k * 32 : (k + 1) * 32], B_shared)
                    T.gemm(A_shared, B_shared, C_local, transpose_B=True)
                T.copy(C_local, C_shared)
                T.copy(C_shared, C[by * block : (by + 1) * block, bx * block : (bx + 1) * block])

        return main

    a, b = random(256, 64, dtype=torch.float16), random(128, 64, dtype=torch.float16, seed=1)
    assert_product(matmul(256, 128, 64, 64)(a, b), a, b.T)


@pytest.mark.parametrize("arch", CHIPS)
def test_one_dynamic_compilation_serves_every_shape(arch: str) -> None:
    m, n, k = T.dynamic("m, n, k")

    @T.prim_func
    def matmul(A: T.Tensor((m, k), "bfloat16"), B: T.Tensor((k, n), "bfloat16"), C: T.Tensor((m, n), "bfloat16")):
        with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 128), threads=128) as (bx, by):
            A_shared = T.alloc_shared((128, 32), "bfloat16")
            B_shared = T.alloc_shared((32, 64), "bfloat16")
            C_local = T.alloc_fragment((128, 64), "float32")
            T.clear(C_local)
            for ko in T.Pipelined(T.ceildiv(k, 32), num_stages=2):
                T.copy(A[by * 128, ko * 32], A_shared)
                T.copy(B[ko * 32, bx * 64], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * 128, bx * 64])

    kernel = tilelang.compile(matmul, out_idx=[-1], target=on(arch))
    for size_m, size_n, size_k in ((256, 128, 64), (1, 1, 1), (300, 77, 45), (31, 500, 129)):
        a, b = random(size_m, size_k), random(size_k, size_n, seed=1)
        assert_product(kernel(a, b), a, b)


def test_batched_gemm_over_three_grid_dimensions() -> None:
    batch, M, N, K = 3, 160, 100, 96

    @T.prim_func
    def matmul(
        A: T.Tensor((batch, M, K), "bfloat16"),
        B: T.Tensor((batch, K, N), "bfloat16"),
        C: T.Tensor((batch, M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 64), batch, threads=128) as (bx, by, bz):
            A_shared = T.alloc_shared((64, 32), "bfloat16")
            B_shared = T.alloc_shared((32, 64), "bfloat16")
            C_local = T.alloc_fragment((64, 64), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, 32), num_stages=2):
                T.copy(A[bz, by * 64, k * 32], A_shared)
                T.copy(B[bz, k * 32, bx * 64], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[bz, by * 64, bx * 64])

    a, b = random(batch, M, K), random(batch, K, N, seed=1)
    assert_product(tilelang.compile(matmul, out_idx=[-1], target=TWO_CORES)(a, b), a, b)


def test_one_dimensional_grid_with_blocks_decoded_by_hand() -> None:
    M, N, K, block = 192, 256, 128, 64
    columns = N // block

    @T.prim_func
    def matmul(A: T.Tensor((M, K), "bfloat16"), B: T.Tensor((K, N), "bfloat16"), C: T.Tensor((M, N), "bfloat16")):
        with T.Kernel(M // block * columns, threads=128) as pid:
            A_shared = T.alloc_shared((block, 32), "bfloat16")
            B_shared = T.alloc_shared((32, block), "bfloat16")
            C_local = T.alloc_fragment((block, block), "float32")
            T.clear(C_local)
            for k in T.serial(K // 32):
                T.copy(A[pid // columns * block, k * 32], A_shared)
                T.copy(B[k * 32, pid % columns * block], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[pid // columns * block, pid % columns * block])

    a, b = random(M, K), random(K, N, seed=1)
    assert_product(tilelang.compile(matmul, out_idx=[-1], target=TWO_CORES)(a, b), a, b)


def test_split_k_with_partial_sums_instead_of_atomics() -> None:
    split, M, N, K, block = 4, 128, 192, 512, 64

    @T.prim_func
    def partial(
        A: T.Tensor((M, K), "bfloat16"),
        B: T.Tensor((K, N), "bfloat16"),
        P: T.Tensor((split, M, N), "float32"),
    ):
        with T.Kernel(N // block, M // block, split, threads=128) as (bx, by, bz):
            A_shared = T.alloc_shared((block, 32), "bfloat16")
            B_shared = T.alloc_shared((32, block), "bfloat16")
            C_local = T.alloc_fragment((block, block), "float32")
            T.clear(C_local)
            for k in T.Pipelined(K // split // 32, num_stages=2):
                T.copy(A[by * block, bz * (K // split) + k * 32], A_shared)
                T.copy(B[bz * (K // split) + k * 32, bx * block], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, P[bz, by * block, bx * block])

    @T.prim_func
    def combine(P: T.Tensor((split, M, N), "float32"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(N // block, M // block, threads=128) as (bx, by):
            part = T.alloc_shared((block, block), "float32")
            total = T.alloc_fragment((block, block), "float32")
            T.clear(total)
            for s in T.serial(split):
                T.copy(P[s, by * block, bx * block], part)
                for i, j in T.Parallel(block, block):
                    total[i, j] += part[i, j]
            T.copy(total, C[by * block, bx * block])

    a, b = random(M, K), random(K, N, seed=1)
    sums = tilelang.compile(partial, out_idx=[-1], target=TWO_CORES)(a, b)
    result = tilelang.compile(combine, out_idx=[-1], target=TWO_CORES)(sums)
    assert_product(result, a, b)


@pytest.mark.parametrize("arch", CHIPS)
def test_two_kernels_in_one_function(arch: str) -> None:
    """Split-K whole: partial sums, then their sum, the tensor between them in DRAM."""
    split, M, N, K, block = 2, 128, 192, 256, 64

    @T.prim_func
    def splitk(
        A: T.Tensor((M, K), "bfloat16"),
        B: T.Tensor((K, N), "bfloat16"),
        P: T.Tensor((split, M, N), "float32"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(N // block, M // block, split, threads=128) as (bx, by, bz):
            A_shared = T.alloc_shared((block, 32), "bfloat16")
            B_shared = T.alloc_shared((32, block), "bfloat16")
            C_local = T.alloc_fragment((block, block), "float32")
            T.clear(C_local)
            for k in T.Pipelined(K // split // 32, num_stages=2):
                T.copy(A[by * block, bz * (K // split) + k * 32], A_shared)
                T.copy(B[bz * (K // split) + k * 32, bx * block], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, P[bz, by * block, bx * block])
        with T.Kernel(N // block, M // block, threads=128) as (bx, by):
            part = T.alloc_shared((block, block), "float32")
            total = T.alloc_fragment((block, block), "float32")
            T.clear(total)
            for s in T.serial(split):
                T.copy(P[s, by * block, bx * block], part)
                for i, j in T.Parallel(block, block):
                    total[i, j] += part[i, j]
            T.copy(total, C[by * block, bx * block])

    a, b = random(M, K), random(K, N, seed=1)
    parts, result = tilelang.compile(splitk, out_idx=[-2, -1], target=on(arch))(a, b)
    assert_product(result, a, b)
    assert parts.shape == (split, M, N)


@pytest.mark.parametrize("numerics", ["fast", "chip"])
@pytest.mark.parametrize("first", ["product", "gate"])
def test_both_uses_of_the_matrix_engine(first: str, numerics: str) -> None:
    """A product of matrices and one element by element take their operands in different order."""

    @T.prim_func
    def main(
        A: T.Tensor((64, 64), "bfloat16"),
        B: T.Tensor((64, 64), "bfloat16"),
        G: T.Tensor((64, 64), "bfloat16"),
        C: T.Tensor((64, 64), "bfloat16"),
    ):
        with T.Kernel(2, threads=128) as bx:
            a = T.alloc_shared((32, 64), "bfloat16")
            g = T.alloc_shared((32, 64), "bfloat16")
            gated = T.alloc_shared((32, 64), "bfloat16")
            b = T.alloc_shared((64, 64), "bfloat16")
            c = T.alloc_fragment((32, 64), "float32")
            out = T.alloc_shared((32, 64), "bfloat16")
            T.copy(A[bx * 32, 0], a)
            T.copy(G[bx * 32, 0], g)
            T.copy(B, b)
            if first == "gate":
                for i, j in T.Parallel(32, 64):
                    gated[i, j] = a[i, j] * g[i, j]
                T.gemm(gated, b, c, clear_accum=True)
                T.copy(c, out)
            else:
                T.gemm(a, b, c, clear_accum=True)
                T.copy(c, gated)
                for i, j in T.Parallel(32, 64):
                    out[i, j] = g[i, j] - gated[i, j]
            T.copy(out, C[bx * 32, 0])

    a, b, g = random(64, 64), random(64, 64, seed=1), random(64, 64, seed=2)
    found = tilelang.compile(main, out_idx=[-1], target=on(numerics=numerics))(a, b, g).double()
    left = (a * g).double() if first == "gate" else a.double()
    exact, length = left @ b.double(), left.abs() @ b.double().abs()
    exact, size = (exact, 0) if first == "gate" else (g.double() - exact, g.double().abs())
    bfloat16 = UNIT[torch.bfloat16]
    # Of every product 10 bits count; then the result is rounded, once or on both sides of the difference.
    assert ((found - exact).abs() <= 2.0**-10 * length + 2 * bfloat16 * (length + size)).all()


@pytest.mark.parametrize("block", [64, 128])
def test_persistent_blocks(block: int) -> None:
    """A fixed grid goes through all blocks in waves; in the last one some have nothing to do."""
    size, depth, cores = 384, 128, 5
    across = size // block
    waves = -(-across * across // cores)

    @T.prim_func
    def main(
        A: T.Tensor((size, depth), "bfloat16"),
        B: T.Tensor((depth, size), "bfloat16"),
        C: T.Tensor((size, size), "bfloat16"),
    ):
        with T.Kernel(cores, threads=128) as core:
            a = T.alloc_shared((block, 32), "bfloat16")
            b = T.alloc_shared((32, block), "bfloat16")
            c = T.alloc_fragment((block, block), "float32")
            c_shared = T.alloc_shared((block, block), "bfloat16")
            for wave in T.serial(waves):
                number = cores * wave + core
                bx = number % across
                by = number // across
                if by < across:
                    T.clear(c)
                    for k in T.Pipelined(depth // 32, num_stages=2):
                        T.copy(A[by * block, k * 32], a)
                        T.copy(B[k * 32, bx * block], b)
                        T.gemm(a, b, c)
                    T.copy(c, c_shared)
                    T.copy(c_shared, C[by * block, bx * block])

    a, b = random(size, depth), random(depth, size, seed=1)
    assert_product(tilelang.compile(main, out_idx=[-1], target=on())(a, b), a, b)


def test_clear_accum_and_nested_loops() -> None:
    M, N, K = 128, 128, 256

    @T.prim_func
    def matmul(A: T.Tensor((M, K), "bfloat16"), B: T.Tensor((K, N), "bfloat16"), C: T.Tensor((M, N), "bfloat16")):
        with T.Kernel(N // 64, M // 64, threads=128) as (bx, by):
            A_shared = T.alloc_shared((64, 32), "bfloat16")
            B_shared = T.alloc_shared((32, 64), "bfloat16")
            C_local = T.alloc_fragment((64, 64), "float32")
            for outer in T.serial(2):
                for inner in T.Pipelined(4, num_stages=2):
                    T.copy(A[by * 64, outer * 128 + inner * 32], A_shared)
                    T.copy(B[outer * 128 + inner * 32, bx * 64], B_shared)
                    T.gemm(A_shared, B_shared, C_local, clear_accum=outer * 4 + inner == 0)
            T.copy(C_local, C[by * 64, bx * 64])

    a, b = random(M, K), random(K, N, seed=1)
    assert_product(tilelang.compile(matmul, out_idx=[-1], target=TWO_CORES)(a, b), a, b)


def test_steps_skipped_by_a_condition_on_block_and_loop_index() -> None:
    M = N = K = 256

    @T.prim_func
    def lower(A: T.Tensor((M, K), "bfloat16"), B: T.Tensor((K, N), "bfloat16"), C: T.Tensor((M, N), "bfloat16")):
        with T.Kernel(N // 128, M // 128, threads=128) as (bx, by):
            A_shared = T.alloc_shared((128, 32), "bfloat16")
            B_shared = T.alloc_shared((32, 128), "bfloat16")
            C_local = T.alloc_fragment((128, 128), "float32")
            T.clear(C_local)
            for k in T.Pipelined(8, num_stages=2):
                if k <= by * 4 + 3:
                    T.copy(A[by * 128, k * 32], A_shared)
                    T.copy(B[k * 32, bx * 128], B_shared)
                    T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * 128, bx * 128])

    a, b = random(M, K), random(K, N, seed=1)
    masked = a.clone()
    masked[:128, 128:] = 0
    assert_product(tilelang.compile(lower, out_idx=[-1], target=TWO_CORES)(a, b), masked, b)


def test_two_products_share_an_accumulator() -> None:
    """C = A @ B + D @ E, the second loop adding onto what the first one left."""
    M, N, K = 128, 192, 96

    @T.prim_func
    def dual(
        A: T.Tensor((M, K), "bfloat16"),
        B: T.Tensor((K, N), "bfloat16"),
        D: T.Tensor((M, K), "bfloat16"),
        E: T.Tensor((K, N), "bfloat16"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(N // 96, M // 64, threads=128) as (bx, by):
            left = T.alloc_shared((64, 32), "bfloat16")
            right = T.alloc_shared((32, 96), "bfloat16")
            total = T.alloc_fragment((64, 96), "float32")
            T.clear(total)
            for k in T.Pipelined(K // 32, num_stages=2):
                T.copy(A[by * 64, k * 32], left)
                T.copy(B[k * 32, bx * 96], right)
                T.gemm(left, right, total)
            for k in T.Pipelined(K // 32, num_stages=2):
                T.copy(D[by * 64, k * 32], left)
                T.copy(E[k * 32, bx * 96], right)
                T.gemm(left, right, total)
            T.copy(total, C[by * 64, bx * 96])

    a, b, d, e = random(M, K), random(K, N, seed=1), random(M, K, seed=2), random(K, N, seed=3)
    got = tilelang.compile(dual, out_idx=[-1], target=TWO_CORES)(a, b, d, e)
    assert_product(got, torch.cat([a, d], 1), torch.cat([b, e], 0))


def test_chained_products_through_a_rounded_block() -> None:
    """(A @ B) @ C with the middle block in bfloat16, as in attention without its softmax."""
    M, K, L, N = 128, 64, 64, 96

    @T.prim_func
    def chain(
        A: T.Tensor((M, K), "bfloat16"),
        B: T.Tensor((K, L), "bfloat16"),
        C: T.Tensor((L, N), "bfloat16"),
        D: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(M // 32, threads=128) as bx:
            a = T.alloc_shared((32, K), "bfloat16")
            b = T.alloc_shared((K, L), "bfloat16")
            c = T.alloc_shared((L, N), "bfloat16")
            middle = T.alloc_fragment((32, L), "float32")
            middle_cast = T.alloc_shared((32, L), "bfloat16")
            result = T.alloc_fragment((32, N), "float32")
            T.copy(A[bx * 32, 0], a)
            T.copy(B, b)
            T.copy(C, c)
            T.gemm(a, b, middle, clear_accum=True)
            T.copy(middle, middle_cast)
            T.gemm(middle_cast, c, result, clear_accum=True)
            T.copy(result, D[bx * 32, 0])

    a, b, c = random(M, K), random(K, L, seed=1), random(L, N, seed=2)
    got = tilelang.compile(chain, out_idx=[-1], target=TWO_CORES)(a, b, c)
    middle = a.double() @ b.double()
    exact = middle @ c.double()
    rounding = (UNIT[torch.bfloat16] + 2.0**-10) * (middle.abs() @ c.double().abs())
    sums = (K + L) * UNIT[torch.float32] * (a.double().abs() @ b.double().abs() @ c.double().abs())
    assert ((got.double() - exact).abs() <= rounding + sums).all()


@pytest.mark.parametrize(("dtype", "out"), [("bfloat16", "bfloat16"), ("bfloat16", "float32"), ("float32", "bfloat16")])
def test_copy_and_cast_without_any_product(dtype: str, out: str) -> None:
    M, N = 160, 200

    @T.prim_func
    def copy(A: T.Tensor((M, N), dtype), B: T.Tensor((M, N), out)):
        with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 64), threads=128) as (bx, by):
            block = T.alloc_shared((64, 64), dtype)
            T.copy(A[by * 64, bx * 64], block)
            T.copy(block, B[by * 64, bx * 64])

    a = random(M, N, dtype=getattr(torch, dtype))
    got = tilelang.compile(copy, out_idx=[-1], target=TWO_CORES)(a)
    # Widening is exact; narrowing truncates to tf32 on the way and rounds once.
    allowed = 0.0 if out == "float32" or dtype == out else UNIT[torch.bfloat16] + 2.0**-10
    assert ((got.double() - a.double()).abs() <= allowed * a.double().abs()).all()


@pytest.mark.parametrize(("grid", "units"), [("2x2", 4), ("4x3", 4), ("1x1", 4), ("3x1", 4)])
def test_units_against_cores(grid: str, units: int) -> None:
    """As many units as cores, fewer, more, and a number that does not divide."""

    @T.prim_func
    def matmul(
        A: T.Tensor((128, 64), "bfloat16"),
        B: T.Tensor((64, 128), "bfloat16"),
        C: T.Tensor((128, 128), "bfloat16"),
    ):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            A_shared = T.alloc_shared((64, 32), "bfloat16")
            B_shared = T.alloc_shared((32, 64), "bfloat16")
            C_local = T.alloc_fragment((64, 64), "float32")
            T.clear(C_local)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[by * 64, k * 32], A_shared)
                T.copy(B[k * 32, bx * 64], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * 64, bx * 64])

    a, b = random(128, 64), random(64, 128, seed=1)
    kernel = tilelang.compile(matmul, out_idx=[-1], target={"kind": "tenstorrent", "grid": grid})
    assert_product(kernel(a, b), a, b)


@pytest.mark.parametrize("arch", CHIPS)
@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ({"fp32_acc": False}, {"fp32_acc": False}),
        ({"storage": "bfloat8_b"}, {"storage": "bfloat8_b"}),
        ({"storage": {"B": "bfloat8_b"}}, {"storage": "bfloat8_b"}),
        ({"storage": {"B": "bfloat4_b"}}, {"storage": "bfloat4_b"}),
        ({"math_fidelity": "HiFi2"}, {"fidelity": "HiFi2"}),
        ({"math_fidelity": "LoFi"}, {"fidelity": "LoFi"}),
        ({"sdk": "0.81"}, {}),
    ],
)
def test_options(arch: str, options: dict[str, Any], settings: dict[str, Any]) -> None:
    M, N, K = 128, 256, 128

    @T.prim_func
    def matmul(A: T.Tensor((M, K), "bfloat16"), B: T.Tensor((K, N), "bfloat16"), C: T.Tensor((M, N), "bfloat16")):
        with T.Kernel(N // 128, M // 64, threads=128) as (bx, by):
            A_shared = T.alloc_shared((64, 32), "bfloat16")
            B_shared = T.alloc_shared((32, 128), "bfloat16")
            C_local = T.alloc_fragment((64, 128), "float32")
            T.clear(C_local)
            for k in T.Pipelined(K // 32, num_stages=2):
                T.copy(A[by * 64, k * 32], A_shared)
                T.copy(B[k * 32, bx * 128], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * 64, bx * 128])

    a, b = random(M, K), random(K, N, seed=1)
    kernel = tilelang.compile(matmul, out_idx=[-1], target=on(arch, **options))
    assert_product(kernel(a, b), a, b, **settings)
