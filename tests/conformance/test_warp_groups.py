"""Kernels of thread groups that meet at barriers, as written for GPUs: each runs and agrees with torch."""

from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch

from tilelang_tt.diagnostics import UnsupportedError

TWO_CORES = {"kind": "tenstorrent", "grid": "2x1"}
TILES_ALONE = {**TWO_CORES, "scalar_code": False}
PRODUCT = 2**-8  # of sums of bfloat16 products, relative to the largest


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).bfloat16()


def assert_products(func: Any, depth: int, target: dict[str, Any] = TILES_ALONE) -> str:
    """C = A @ B of 64 x 64 blocks; the decisions that were made."""
    a, b, c = random(64, depth), random(depth, 64, seed=1), torch.zeros(64, 64)
    kernel = tilelang.compile(func, target=target)
    kernel(a, b, c)
    expected = a.float() @ b.float()
    assert (c - expected).abs().max() <= PRODUCT * expected.abs().max()
    return "\n".join(str(decision) for decision in kernel.adapter.compiled.decisions)


def ring(stages: int, rounds: int, *, apart: bool, arrivals: int = 128) -> Any:
    """One group copies into a ring of blocks, one multiplies; `apart`: each has a loop of its own."""

    @T.prim_func
    def together(
        A: T.Tensor((64, rounds * 32), "bfloat16"),
        B: T.Tensor((rounds * 32, 64), "bfloat16"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=256):
            a = T.alloc_shared((stages, 64, 32), "bfloat16")
            b = T.alloc_shared((stages, 32, 64), "bfloat16")
            c = T.alloc_fragment((64, 64), "float32")
            full = T.alloc_barrier([arrivals] * stages)
            free = T.alloc_barrier([128] * stages)
            with T.ws(0):
                T.clear(c)
            for k in T.serial(rounds):
                with T.ws(1):
                    T.mbarrier_wait_parity(free[k % stages], k // stages % 2 ^ 1)
                    T.tma_copy(A[:, k * 32 : k * 32 + 32], a[k % stages, :, :], barrier=full[k % stages])
                    T.tma_copy(B[k * 32 : k * 32 + 32, :], b[k % stages, :, :], barrier=full[k % stages])
                    T.barrier_arrive(full[k % stages])
                with T.ws(0):
                    T.mbarrier_wait_parity(full[k % stages], k // stages % 2)
                    T.wgmma_gemm(a[k % stages, :, :], b[k % stages, :, :], c)
                    T.wait_wgmma(0)
                    T.barrier_arrive(free[k % stages])
            with T.ws(0):
                T.copy(c, C)

    @T.prim_func
    def each_alone(
        A: T.Tensor((64, rounds * 32), "bfloat16"),
        B: T.Tensor((rounds * 32, 64), "bfloat16"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=256):
            a = T.alloc_shared((stages, 64, 32), "bfloat16")
            b = T.alloc_shared((stages, 32, 64), "bfloat16")
            c = T.alloc_fragment((64, 64), "float32")
            full = T.alloc_barrier([arrivals] * stages)
            free = T.alloc_barrier([128] * stages)
            with T.ws(0):
                T.set_max_nreg(240, 1)
                T.clear(c)
                for k in T.serial(rounds):
                    T.mbarrier_wait_parity(full[k % stages], k // stages % 2)
                    T.gemm(a[k % stages, :, :], b[k % stages, :, :], c)
                    T.barrier_arrive(free[k % stages])
                T.copy(c, C)
            with T.ws(1):
                T.set_max_nreg(40, 0)
                for i in T.serial(rounds):
                    T.mbarrier_wait_parity(free[i % stages], i // stages % 2 ^ 1)
                    T.tma_copy(A[:, i * 32 : i * 32 + 32], a[i % stages, :, :], barrier=full[i % stages])
                    T.tma_copy(B[i * 32 : i * 32 + 32, :], b[i % stages, :, :], barrier=full[i % stages])
                    T.barrier_arrive(full[i % stages])

    return each_alone if apart else together


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_a_ring_of_barriers(stages: int, rounds: int) -> None:
    decisions = assert_products(ring(stages, rounds, apart=False), rounds * 32)
    assert "in the order of the text" in decisions


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_groups_with_loops_of_their_own(stages: int, rounds: int) -> None:
    decisions = assert_products(ring(stages, rounds, apart=True), rounds * 32)
    assert "round by round" in decisions


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("arrivals", [64, 256])
def test_a_wrong_number_of_arrivals_is_refused(arrivals: int, apart: bool) -> None:
    with pytest.raises(UnsupportedError, match=r"TT170.*completes barrier 'full'"):
        tilelang.compile(ring(2, 4, apart=apart, arrivals=arrivals), target=TWO_CORES)


def test_rounds_that_only_the_caller_knows() -> None:
    """The ring comes back to where it was after four rounds: what passes for up to seven rounds passes for more."""
    depth = T.dynamic("depth")

    @T.prim_func
    def main(
        A: T.Tensor((64, depth), "bfloat16"),
        B: T.Tensor((depth, 64), "bfloat16"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=256):
            a = T.alloc_shared((2, 64, 32), "bfloat16")
            b = T.alloc_shared((2, 32, 64), "bfloat16")
            c = T.alloc_fragment((64, 64), "float32")
            full = T.alloc_barrier([128] * 2)
            free = T.alloc_barrier([128] * 2)
            with T.ws(0):
                T.clear(c)
                for k in T.serial(T.ceildiv(depth, 32)):
                    T.barrier_wait(full[k % 2], k // 2 % 2)
                    T.gemm(a[k % 2, :, :], b[k % 2, :, :], c)
                    T.barrier_arrive(free[k % 2])
                T.copy(c, C)
            with T.ws(1):
                for k in T.serial(T.ceildiv(depth, 32)):
                    T.barrier_wait(free[k % 2], k // 2 % 2 ^ 1)
                    T.tma_copy(A[:, k * 32 : k * 32 + 32], a[k % 2, :, :], barrier=full[k % 2])
                    T.tma_copy(B[k * 32 : k * 32 + 32, :], b[k % 2, :, :], barrier=full[k % 2])
                    T.barrier_arrive(full[k % 2])

    for rounds in (1, 5, 9):
        assert_products(main, rounds * 32)


def softmax_of_products() -> Any:
    """Three groups: one copies, one makes scores and their maxima, one sums up values. Conditions on the index."""

    @T.prim_func
    def main(
        Q: T.Tensor((64, 64), "bfloat16"),
        K: T.Tensor((4, 64, 64), "bfloat16"),
        V: T.Tensor((4, 64, 64), "bfloat16"),
        Out: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=384):
            q = T.alloc_shared((64, 64), "bfloat16")
            k = T.alloc_shared((64, 64), "bfloat16")
            v = T.alloc_shared((64, 64), "bfloat16")
            p = T.alloc_shared((64, 64), "bfloat16")
            scale = T.alloc_shared((64,), "float32")
            total = T.alloc_shared((64,), "float32")
            scores = T.alloc_fragment((64, 64), "float32")
            most = T.alloc_fragment((64,), "float32")
            before = T.alloc_fragment((64,), "float32")
            sums = T.alloc_fragment((64,), "float32")
            part = T.alloc_fragment((64,), "float32")
            out = T.alloc_fragment((64, 64), "float32")
            loaded = T.alloc_barrier(128)
            used = T.alloc_barrier(256)
            ready = T.alloc_barrier(128)
            taken = T.alloc_barrier(128)
            done = T.alloc_barrier(128)
            tx = T.get_thread_binding()
            T.copy(Q, q)
            if tx < 128:
                T.fill(most, -1e30)
                T.fill(sums, 0)
                for n in T.serial(4):
                    T.barrier_wait(loaded, n & 1)
                    T.clear(scores)
                    T.wgmma_gemm(q, k, scores, transpose_B=True)
                    T.wait_wgmma(0)
                    T.copy(most, before)
                    T.reduce_max(scores, most, dim=1, clear=False)
                    for i, j in T.Parallel(64, 64):
                        scores[i, j] = T.exp(scores[i, j] - most[i])
                    T.reduce_sum(scores, part, dim=1)
                    for i in T.Parallel(64):
                        sums[i] = sums[i] * T.exp(before[i] - most[i]) + part[i]
                    if n > 0:
                        T.barrier_wait(taken, (n + 1) & 1)
                    T.copy(scores, p)
                    for i in T.Parallel(64):
                        scale[i] = T.exp(before[i] - most[i])
                    T.fence_proxy_async()
                    T.barrier_arrive(ready)
                    T.barrier_arrive(used)
                T.copy(sums, total)
                T.barrier_arrive(done)
            elif tx < 256:
                T.fill(out, 0)
                for n in T.serial(4):
                    T.barrier_wait(ready, n & 1)
                    for i, j in T.Parallel(64, 64):
                        out[i, j] *= scale[i]
                    T.gemm(p, v, out)
                    T.barrier_arrive(taken)
                    T.barrier_arrive(used)
                T.barrier_wait(done, 0)
                for i, j in T.Parallel(64, 64):
                    out[i, j] /= total[i]
                T.copy(out, Out)
            else:
                for n in T.serial(4):
                    T.barrier_wait(used, (n & 1) ^ 1)
                    T.tma_copy(K[n, :, :], k, barrier=loaded)
                    T.tma_copy(V[n, :, :], v, barrier=loaded)
                    T.barrier_arrive(loaded)

    return main


def test_a_pipeline_of_three_groups() -> None:
    q, k, v = random(64, 64) / 8, random(4, 64, 64, seed=1), random(4, 64, 64, seed=2)
    out = torch.zeros(64, 64)
    tilelang.compile(softmax_of_products(), target=TILES_ALONE)(q, k, v, out)
    expected = (q.float() @ k.float().reshape(256, 64).T).softmax(1) @ v.float().reshape(256, 64)
    assert (out - expected).abs().max() <= 2**-7 * expected.abs().max()


def test_registers_are_of_each_group() -> None:
    """Both groups use the same fragment; neither sees what the other one writes."""

    @T.prim_func
    def main(A: T.Tensor((2, 32, 32), "float32"), B: T.Tensor((2, 32, 32), "float32")):
        with T.Kernel(1, threads=256):
            x = T.alloc_fragment((32, 32), "float32")
            written = T.alloc_barrier(128)
            with T.ws(0):
                T.copy(A[0, :, :], x)
            with T.ws(1):
                T.copy(A[1, :, :], x)
                T.barrier_arrive(written)
            with T.ws(0):
                T.barrier_wait(written, 0)
                T.copy(x, B[0, :, :])
            with T.ws(1):
                T.copy(x, B[1, :, :])

    a, b = torch.randn(2, 32, 32), torch.zeros(2, 32, 32)
    tilelang.compile(main, target=TILES_ALONE)(a, b)
    assert torch.equal(a, b)


def test_rounds_that_a_tensor_counts() -> None:
    """All threads read how many rounds there are; the loops of both groups are of that length."""

    @T.prim_func
    def main(A: T.Tensor((4, 32, 64), "float32"), N: T.Tensor((2,), "int32"), B: T.Tensor((2, 32, 64), "float32")):
        with T.Kernel(2, threads=256) as bx:
            x = T.alloc_shared((2, 32, 64), "float32")
            total = T.alloc_fragment((32, 64), "float32")
            full = T.alloc_barrier([128] * 2)
            free = T.alloc_barrier([128] * 2)
            rounds = T.alloc_var("int32")
            rounds = N[bx]
            with T.ws(1):
                for k in T.serial(rounds):
                    T.barrier_wait(free[k % 2], ((k & 3) >> 1) ^ 1)
                    T.tma_copy(A[k, :, :], x[k % 2, :, :], barrier=full[k % 2])
                    T.barrier_arrive(full[k % 2])
            with T.ws(0):
                T.clear(total)
                for k in T.serial(rounds):
                    T.barrier_wait(full[k % 2], (k & 3) >> 1)
                    for i, j in T.Parallel(32, 64):
                        total[i, j] += x[k % 2, i, j]
                    T.barrier_arrive(free[k % 2])
                T.copy(total, B[bx, :, :])

    a, n, b = torch.randint(-9, 9, (4, 32, 64)).float(), torch.tensor([4, 1], dtype=torch.int32), torch.zeros(2, 32, 64)
    tilelang.compile(main, target=TILES_ALONE)(a, n, b)
    assert torch.equal(b, torch.stack([a.sum(0), a[0]]))


def test_named_barriers_and_elected_threads() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=256):
            x = T.alloc_shared((64, 32), "float32")
            y = T.alloc_fragment((64, 32), "float32")
            loaded = T.alloc_barrier(1)
            with T.ws(0):
                T.sync_threads(1, 256)
                T.copy(x, y)
                T.copy(y, B)
            with T.ws(1):
                T.tma_copy(A, x, barrier=loaded)
                if T.shuffle_elect(128):
                    T.barrier_arrive(loaded)
                T.barrier_wait(loaded, 0)
                T.sync_threads(1, 256)

    a, b = torch.randn(64, 32), torch.zeros(64, 32)
    tilelang.compile(main, target=TILES_ALONE)(a, b)
    assert torch.equal(a, b)


def test_a_phase_that_a_variable_counts() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 160), "bfloat16"), B: T.Tensor((160, 64), "bfloat16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 32), "bfloat16")
            b = T.alloc_shared((32, 64), "bfloat16")
            c = T.alloc_fragment((64, 64), "float32")
            loaded = T.alloc_barrier(128)
            phase = T.alloc_var("int32")
            phase = 0
            T.clear(c)
            for k in T.serial(5):
                T.tma_copy(A[0, k * 32], a, barrier=loaded)
                T.tma_copy(B[k * 32, 0], b, barrier=loaded)
                T.barrier_arrive(loaded)
                T.barrier_wait(loaded, phase)
                phase = phase ^ 1
                T.gemm(a, b, c)
            T.copy(c, C)

    assert_products(main, 160)


def test_copies_of_cp_async_by_threads() -> None:
    """A group copies with its thread index: one T.Parallel."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), B: T.Tensor((64, 64), "bfloat16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=256):
            a = T.alloc_shared((64, 64), "bfloat16")
            b = T.alloc_shared((64, 64), "bfloat16")
            c = T.alloc_fragment((64, 64), "float32")
            loaded = T.alloc_barrier(128)
            tx = T.get_thread_binding()
            if tx >= 128:
                for r in T.serial(4):
                    row = r * 16 + (tx - 128) // 8
                    column = (tx - 128) % 8 * 8
                    T.ptx_cp_async(T.access_ptr(a[row, column], "w", 8), T.access_ptr(A[row, column], "r", 8), 8)
                    T.ptx_cp_async(T.access_ptr(b[row, column], "w", 8), T.access_ptr(B[row, column], "r", 8), 8)
                T.cp_async_barrier_noinc(loaded)
            else:
                T.barrier_wait(loaded, 0)
                T.clear(c)
                T.gemm(a, b, c)
                T.copy(c, C)

    assert_products(main, 64)


@pytest.mark.parametrize("expected", [512, 256])
def test_copies_of_four_rows(expected: int) -> None:
    """T.tma_gather4 brings as many bytes as the program expects, and otherwise the wait never ends."""

    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), N: T.Tensor((4,), "int32"), B: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((4, 32), "float32")
            loaded = T.alloc_barrier(1)
            first = N[0]
            second = N[1]
            if T.shuffle_elect(128):
                T.mbarrier_expect_tx(loaded, expected)
                T.tma_gather4(A, x, 0, [first, second, N[2], N[3]], barrier=loaded)
                T.barrier_arrive(loaded)
            T.barrier_wait(loaded, 0)
            if T.shuffle_elect(128):
                T.tma_scatter4(x, B, 0, [second, first, 40, 41])
                T.tma_store_arrive()
            T.tma_store_wait(0)

    if expected == 256:
        with pytest.raises(UnsupportedError, match="TT170"):
            tilelang.compile(main, target=TWO_CORES)
        return
    a, n, b = torch.randn(64, 32), torch.tensor([5, 17, 42, 9], dtype=torch.int32), torch.zeros(64, 32)
    tilelang.compile(main, target=TILES_ALONE)(a, n, b)
    there = torch.zeros(64, 32)
    there[[17, 5, 40, 41]] = a[n.long()]
    assert torch.equal(b, there)


def test_spellings_of_copies_and_products() -> None:
    """Without groups: asynchronous copies, TMA stores, wgmma and what waits for them."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), B: T.Tensor((64, 64), "bfloat16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "bfloat16")
            b = T.alloc_shared((64, 64), "bfloat16")
            out = T.alloc_shared((64, 64), "float32")
            c = T.alloc_fragment((64, 64), "float32")
            T.async_copy(A, a)
            T.async_copy(B, b)
            T.ptx_commit_group()
            T.ptx_wait_group(0)
            T.sync_threads()
            T.wgmma_gemm(a, b, c, clear_accum=True)
            T.warpgroup_arrive()
            T.warpgroup_commit_batch()
            T.warpgroup_wait(0)
            T.wait_wgmma(0)
            T.copy(c, out)
            T.fence_proxy_async()
            T.tma_copy(out, C)
            T.tma_store_arrive()
            T.tma_store_wait()

    decisions = assert_products(main, 64)
    assert "products are done where they stand" in decisions
    assert "copies are done where they stand" in decisions


def test_two_sums_that_are_scaled_in_every_round() -> None:
    """The packer adds to one buffer, then to another that was filled before: it is switched on for each."""

    @T.prim_func
    def main(
        A: T.Tensor((4, 64, 64), "bfloat16"),
        B: T.Tensor((4, 64, 128), "bfloat16"),
        D: T.Tensor((4, 64), "float32"),
        C: T.Tensor((64, 128), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "bfloat16")
            b = T.alloc_shared((64, 128), "bfloat16")
            d = T.alloc_fragment((64,), "float32")
            left = T.alloc_fragment((64, 64), "float32")
            right = T.alloc_fragment((64, 64), "float32")
            T.clear(left)
            T.clear(right)
            for k in T.serial(4):
                T.copy(A[k, :, :], a)
                T.copy(B[k, :, :], b)
                T.copy(D[k, :], d)
                for i, j in T.Parallel(64, 64):
                    left[i, j] *= d[i]
                T.gemm(a, b[:, :64], left)
                for i, j in T.Parallel(64, 64):
                    right[i, j] *= d[i]
                T.gemm(a, b[:, 64:], right)
            T.copy(left, C[0, 0])
            T.copy(right, C[0, 64])

    a, b, d = random(4, 64, 64), random(4, 64, 128, seed=1), torch.rand(4, 64)
    c, expected = torch.zeros(64, 128), torch.zeros(64, 128)
    tilelang.compile(main, target=TILES_ALONE)(a, b, d, c)
    for k in range(4):
        expected = expected * d[k][:, None] + a[k].float() @ b[k].float()
    assert (c - expected).abs().max() <= PRODUCT * expected.abs().max()
