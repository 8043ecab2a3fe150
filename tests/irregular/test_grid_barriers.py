"""T.sync_grid: what blocks of the grid write before it, all of them read behind it."""

from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch

N, M = 6, 64


def run(func: Any, *tensors: torch.Tensor) -> None:
    tilelang.compile(func, target="tenstorrent")(*tensors)


@T.prim_func
def neighbours(A: T.Tensor((N, M), "float32"), B: T.Tensor((N, M), "float32"), C: T.Tensor((N, M), "float32")):
    with T.Kernel(N, threads=64) as bx:
        x = T.alloc_fragment((M,), "float32")
        other = (bx + 1) % N
        T.copy(A[bx, 0:M], x)
        for i in T.Parallel(M):
            x[i] = x[i] * 2.0
        T.copy(x, B[bx, 0:M])
        T.sync_grid()
        T.copy(B[other, 0:M], x)
        T.copy(x, C[bx, 0:M])


def test_a_block_reads_what_another_wrote() -> None:
    a, b, c = torch.randn(N, M), torch.zeros(N, M), torch.zeros(N, M)
    run(neighbours, a, b, c)
    assert torch.equal(c, (2 * a).roll(-1, 0))


@T.prim_func
def softmax_over_blocks(
    A: T.Tensor((N, 32, M), "float32"), S: T.Tensor((N, 32), "float32"), C: T.Tensor((N, 32, M), "float32")
):
    with T.Kernel(N, threads=64) as bx:
        x = T.alloc_shared((32, M), "float32")
        s = T.alloc_fragment((32,), "float32")
        one = T.alloc_fragment((32,), "float32")
        T.copy(A[bx, 0:32, 0:M], x)
        T.reduce_sum(x, s, dim=1)
        T.copy(s, S[bx, 0:32])
        T.sync_grid()
        T.clear(s)
        for b in T.serial(N):
            T.copy(S[b, 0:32], one)
            for i in T.Parallel(32):
                s[i] += one[i]
        for i, j in T.Parallel(32, M):
            x[i, j] = x[i, j] / s[i]
        T.copy(x, C[bx, 0:32, 0:M])


def test_a_block_keeps_its_state() -> None:
    a, s, c = torch.rand(N, 32, M) + 0.5, torch.zeros(N, 32), torch.zeros(N, 32, M)
    run(softmax_over_blocks, a, s, c)
    torch.testing.assert_close(c, a / a.sum((0, 2))[None, :, None], rtol=2e-3, atol=0)


@T.prim_func
def rounds(A: T.Tensor((2, N), "int32"), C: T.Tensor((N,), "int32")):
    with T.Kernel(N, threads=1) as bx:
        total = T.alloc_var("int32")
        total = 0
        for r in T.serial(4):
            A[(r + 1) % 2, bx] = A[r % 2, (bx + 1) % N] + A[r % 2, bx]
            T.sync_grid()
            total = total + A[(r + 1) % 2, (bx + 2) % N]
        C[bx] = total


def test_a_loop_around_a_barrier() -> None:
    start = torch.randint(0, 9, (N,), dtype=torch.int32)
    a, c = torch.stack([start, torch.zeros_like(start)]), torch.zeros(N, dtype=torch.int32)
    run(rounds, a, c)
    total, now = torch.zeros_like(start), start
    for _ in range(4):
        now = now.roll(-1) + now
        total = total + now.roll(-2)
    assert torch.equal(c, total)


@T.prim_func
def threads_keep_values(A: T.Tensor((N, M), "int32"), B: T.Tensor((N, M), "int32"), C: T.Tensor((N, M), "int32")):
    with T.Kernel(N, threads=M) as bx:
        tx = T.get_thread_binding()
        own = T.alloc_local((2,), "int32")
        own[0] = A[bx, tx] * 3
        own[1] = tx
        B[bx, tx] = own[0]
        T.sync_grid()
        C[bx, tx] = own[0] + own[1] + B[(bx + 1) % N, M - 1 - tx]


def test_threads_keep_their_own() -> None:
    a = torch.randint(0, 100, (N, M), dtype=torch.int32)
    b, c = torch.zeros_like(a), torch.zeros_like(a)
    run(threads_keep_values, a, b, c)
    assert torch.equal(c, 3 * a + torch.arange(M, dtype=torch.int32) + (3 * a).roll(-1, 0).flip(1))


@T.prim_func
def for_large_sizes(
    A: T.Tensor((N, M), "float32"), B: T.Tensor((N, M), "float32"), C: T.Tensor((N, M), "float32"), n: T.int32
):
    """The same condition for all blocks of the grid, with barriers in both arms, and a block kept across them."""
    with T.Kernel(N, threads=64) as bx:
        x = T.alloc_fragment((M,), "float32")
        y = T.alloc_fragment((M,), "float32")
        T.copy(A[bx, 0:M], x)
        if n > 4:
            T.copy(x, B[bx, 0:M])
            T.sync_grid()
            T.copy(B[(bx + 1) % N, 0:M], y)
            for i in T.Parallel(M):
                x[i] = x[i] + y[i]
        else:
            for i in T.Parallel(M):
                x[i] = x[i] * 3.0
            T.copy(x, B[bx, 0:M])
            T.sync_grid()
            T.copy(B[(bx + 2) % N, 0:M], x)
        for i in T.Parallel(M):
            x[i] = x[i] * 2.0
        T.copy(x, C[bx, 0:M])


@pytest.mark.parametrize("n", [3, 5])
def test_under_a_condition_that_all_blocks_share(n: int) -> None:
    a, b, c = torch.randint(-9, 9, (N, M)).float(), torch.zeros(N, M), torch.zeros(N, M)
    tilelang.compile(for_large_sizes, target="tenstorrent -numerics=exact")(a, b, c, n)
    assert torch.equal(c, 2 * (a + a.roll(-1, 0)) if n > 4 else 6 * a.roll(-2, 0))


@T.prim_func
def in_some_rounds(A: T.Tensor((2, N), "int32"), C: T.Tensor((N,), "int32")):
    """A loop is written out, so its number decides the condition."""
    with T.Kernel(N, threads=1) as bx:
        total = T.alloc_var("int32")
        total = 0
        for r in T.serial(4):
            total = total + A[r // 2, (bx + r) % N]
            if r == 1:
                A[1, bx] = total
                T.sync_grid()
        C[bx] = total


def test_in_a_round_of_a_loop() -> None:
    start = torch.randint(0, 9, (N,), dtype=torch.int32)
    a, c = torch.stack([start, torch.zeros_like(start)]), torch.zeros(N, dtype=torch.int32)
    run(in_some_rounds, a, c)
    first = start + start.roll(-1)
    assert torch.equal(c, first + first.roll(-2) + first.roll(-3))


@T.prim_func
def under_a_condition(A: T.Tensor((N, M), "int32")):
    with T.Kernel(N, threads=M) as bx:
        if bx < 2:
            A[bx, 0] = 1
            T.sync_grid()


def test_under_a_condition_it_is_refused() -> None:
    with pytest.raises(Exception, match="sync_grid is a barrier of the whole grid"):
        tilelang.compile(under_a_condition, target="tenstorrent")
