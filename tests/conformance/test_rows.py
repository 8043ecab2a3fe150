"""Tensors that one launch writes and another reads in another way; vectors that start anywhere."""

import pytest
import tilelang
import tilelang.language as T
import torch
from test_steering import TWO_CORES, ints, random


@pytest.mark.parametrize("heads", [64, 40])
def test_one_launch_writes_blocks_and_the_next_reads_rows_and_numbers(heads: int) -> None:
    """Split and combine: sums over heads are read number by number, blocks of heads row by row."""
    splits, D = 3, 96

    @T.prim_func
    def main(
        A: T.Tensor((splits, heads, D), "bfloat16"),
        sums: T.Tensor((heads, splits), "float32"),
        parts: T.Tensor((heads, splits, D), "float32"),
        B: T.Tensor((heads, D), "float32"),
    ):
        with T.Kernel(splits, threads=128) as bx:
            block = T.alloc_shared((heads, D), "bfloat16")
            values = T.alloc_fragment((heads, D), "float32")
            total = T.alloc_fragment((heads,), "float32")
            T.copy(A[bx, 0, 0], block)
            T.copy(block, values)
            T.reduce_sum(values, total, dim=1)
            for i in T.Parallel(heads):
                sums[i, bx] = total[i]
            for i, j in T.Parallel(heads, D):
                parts[i, bx, j] = values[i, j]
        with T.Kernel(heads, threads=128) as by:
            row = T.alloc_fragment((D,), "float32")
            result = T.alloc_fragment((D,), "float32")
            T.clear(result)
            for k in T.serial(splits):
                T.copy(parts[by, k, 0:D], row)
                for j in T.Parallel(D):
                    result[j] += row[j] * sums[by, k]
            T.copy(result, B[by, 0:D])

    a = random(splits, heads, D)
    sums, parts, b = torch.zeros(heads, splits), torch.zeros(heads, splits, D), torch.zeros(heads, D)
    tilelang.compile(main, target={**TWO_CORES, "numerics": "exact"})(a, sums, parts, b)
    a64 = a.double()
    assert torch.equal(parts, a.float().transpose(0, 1))
    torch.testing.assert_close(sums.double(), a64.sum(2).T, atol=1e-4, rtol=0)
    exact = (a64 * a64.sum(2, keepdim=True)).sum(0)
    torch.testing.assert_close(b.double(), exact, atol=1e-3, rtol=0)


def test_vectors_that_start_anywhere() -> None:
    """Along tile columns, from and to offsets of a table; a part of one is stored."""
    total, D = 100, 64

    @T.prim_func
    def main(
        A: T.Tensor((total, D), "float32"),
        V: T.Tensor((2, total), "float32"),
        starts: T.Tensor((4,), "int32"),
        W: T.Tensor((2, total), "float32"),
        S: T.Tensor((3, 2, 32, D), "float32"),
    ):
        with T.Kernel(3, 2, threads=128) as (bx, by):
            v = T.alloc_fragment((32,), "float32")
            block = T.alloc_fragment((D, 32), "float32")
            T.copy(V[by, starts[bx] : starts[bx] + 32], v)
            for j in T.Parallel(32):
                if j < starts[bx + 1] - starts[bx]:
                    W[by, starts[bx] + j] = v[j] * 2
            for i, j in T.Parallel(D, 32):
                block[i, j] = A[starts[bx] + j, i] + v[j]
            for i, j in T.Parallel(32, D):
                S[bx, by, i, j] = block[j, i]

    a, v = (10 * random(total, D)).float().round(), (10 * random(2, total)).float().round()  # a transpose keeps them
    w, s = torch.zeros(2, total), torch.zeros(3, 2, 32, D)
    tilelang.compile(main, target=TWO_CORES)(a, v, ints(0, 5, 37, 68), w, s)
    assert torch.equal(w[:, :68], 2 * v[:, :68])
    assert w[:, 68:].count_nonzero() == 0
    for unit, start in enumerate((0, 5, 37)):
        rows = slice(start, start + 32)
        assert torch.equal(s[unit], a[rows].expand(2, 32, D) + v[:, rows, None])


def test_numbers_looked_up_in_a_vector() -> None:
    @T.prim_func
    def main(V: T.Tensor((200,), "float32"), N: T.Tensor((2, 48), "int32"), W: T.Tensor((2, 48), "float32")):
        with T.Kernel(2, threads=128) as bx:
            w = T.alloc_fragment((48,), "float32")
            for j in T.Parallel(48):
                w[j] = V[N[bx, j]] + 1
            T.copy(w, W[bx, 0:48])

    v = random(200).float()
    index = torch.randint(0, 200, (2, 48), dtype=torch.int32, generator=torch.Generator().manual_seed(0))
    got = tilelang.compile(main, out_idx=[-1], target=TWO_CORES)(v, index)
    assert torch.equal(got, v[index.long()] + 1)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_the_next_launch_finds_zeros_behind_the_end_of_a_tensor(dtype: str) -> None:
    n = T.dynamic("n")

    @T.prim_func
    def main(
        A: T.Tensor((n, n), dtype),
        M: T.Tensor((n, n), dtype),
        V: T.Tensor((n,), "float32"),
        S: T.Tensor((n,), "float32"),
    ):
        with T.Kernel(T.ceildiv(n, 64), T.ceildiv(n, 64), threads=128) as (bx, by):
            block = T.alloc_shared((64, 64), dtype)
            ones = T.alloc_fragment((64,), "float32")
            T.copy(A[by * 64, bx * 64], block)
            for i, j in T.Parallel(64, 64):
                block[i, j] = block[i, j] + 5
            T.copy(block, M[by * 64, bx * 64])
            if by == 0:
                T.fill(ones, 1.0)
                T.copy(ones, V[bx * 64])
        with T.Kernel(T.ceildiv(n, 64), threads=128) as by:
            block = T.alloc_shared((64, 64), dtype)
            values = T.alloc_fragment((64, 64), "float32")
            weights = T.alloc_fragment((64,), "float32")
            total = T.alloc_fragment((64,), "float32")
            T.clear(total)
            for k in T.serial(T.ceildiv(n, 64)):
                T.copy(M[by * 64, k * 64], block)
                T.copy(V[k * 64], weights)
                for i, j in T.Parallel(64, 64):
                    values[i, j] = block[i, j] + weights[j]
                T.reduce_sum(values, total, dim=1, clear=False)
            T.copy(total, S[by * 64])

    kernel = tilelang.compile(main, target=TWO_CORES)
    for size in (100, 70, 64):
        a = torch.randint(-4, 5, (size, size), generator=torch.Generator().manual_seed(0)).to(getattr(torch, dtype))
        m, v, s = torch.zeros_like(a), torch.zeros(size), torch.zeros(size)
        kernel(a, m, v, s)
        assert torch.equal(m, a + 5)
        assert torch.equal(s, (a.float() + 6).sum(1))


def test_blocks_leave_what_lies_behind_them() -> None:
    """Blocks of 40 every 96, of 16 rows and of 64 in one tensor: nothing but them is written."""

    @T.prim_func
    def main(
        A: T.Tensor((64, 64), "float32"),
        V: T.Tensor((200,), "float32"),
        B: T.Tensor((192, 96), "float32"),
        W: T.Tensor((250,), "float32"),
    ):
        with T.Kernel(2, threads=128) as bx:
            few = T.alloc_shared((16, 32), "float32")
            many = T.alloc_shared((64, 64), "float32")
            v = T.alloc_shared((40,), "float32")
            T.copy(A[bx * 32, 0], few)
            T.copy(A, many)
            T.copy(few, B[bx * 32, 0])
            if bx == 0:
                T.copy(many, B[64, 32])
            T.copy(V[bx * 32], v)
            T.copy(v, W[bx * 96])

    a, v = random(64, 64).float(), random(200, seed=1).float()
    b, w = torch.full((192, 96), 7.0), torch.full((250,), 7.0)
    tilelang.compile(main, target=TWO_CORES)(a, v, b, w)
    expected_b, expected_w = torch.full_like(b, 7.0), torch.full_like(w, 7.0)
    for unit in range(2):
        expected_b[unit * 32 : unit * 32 + 16, :32] = a[unit * 32 : unit * 32 + 16, :32]
        expected_w[unit * 96 : unit * 96 + 40] = v[unit * 32 : unit * 32 + 40]
    expected_b[64:128, 32:96] = a
    assert torch.equal(w, expected_w)
    assert torch.equal(b, expected_b)


@pytest.mark.parametrize(
    ("block", "down", "right"),
    [
        ((32, 32), -1, 0),
        ((32, 32), 0, -2),
        ((32, 32), -1, 3),
        ((64, 32), -40, 0),
        ((16, 16), -3, -20),
        ((64, 64), -32, -32),
    ],
)
def test_blocks_that_begin_before_the_tensor(block: tuple[int, int], down: int, right: int) -> None:
    """What lies before it is zeros, and the rest of such a block is there: windows, rows and tiles."""
    M, N, (height, width) = 100, 70, block

    @T.prim_func
    def main(A: T.Tensor((M, N), "float32"), B: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, width), T.ceildiv(M, height), threads=128) as (bx, by):
            a = T.alloc_shared((height, width), "float32")
            top, left = by * height + down, bx * width + right
            T.copy(A[top : top + height, left : left + width], a)
            T.copy(a, B[by * height, bx * width])

    a = random(M, N).float()
    got = tilelang.compile(main, out_idx=[-1], target=TWO_CORES)(a)
    beyond = torch.nn.functional.pad(a, (64, 64, 64, 64))
    assert torch.equal(got, beyond[64 + down :, 64 + right :][:M, :N])


def test_conditions_on_a_size_smaller_than_the_block() -> None:
    """The host computes `n - 127` for the kernels, which is below zero here."""
    n = T.dynamic("n")

    @T.prim_func
    def main(A: T.Tensor((40, n), "float32"), S: T.Tensor((40,), "float32")):
        with T.Kernel(2, threads=128) as bx:
            a = T.alloc_fragment((32, 128), "float32")
            s = T.alloc_fragment((32,), "float32")
            T.clear(s)
            for k in T.serial(T.ceildiv(n, 128)):
                T.copy(A[bx * 32, k * 128], a)
                for i, j in T.Parallel(32, 128):
                    a[i, j] = T.if_then_else(k * 128 + j < n, a[i, j] + 1, 0)
                T.reduce_sum(a, s, dim=1, clear=False)
            T.copy(s, S[bx * 32])

    kernel = tilelang.compile(main, out_idx=[-1], target=TWO_CORES)
    for size in (1, 33, 127, 128, 300):
        a = (8 * random(40, size, dtype=torch.float32)).round()
        assert torch.equal(kernel(a), (a + 1).sum(1))
