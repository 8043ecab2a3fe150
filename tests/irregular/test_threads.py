"""Threads that work together: scans, sorts and reductions through shared memory and between the lanes of a warp."""

from typing import Any

import numpy as np
import tilelang.language as T
import torch
from agreement import check, random_floats, random_integers


def scan(n: int, dtype: str) -> Any:
    """Hillis and Steele: as many rounds as n has bits, two barriers each."""

    @T.prim_func
    def main(A: T.Tensor((3, n), dtype), B: T.Tensor((3, n), dtype)):
        with T.Kernel(3, threads=n) as bx:
            tx = T.get_thread_binding()
            sums = T.alloc_shared((n,), dtype)
            step = T.alloc_var("int32", init=1)
            sums[tx] = A[bx, tx]
            T.sync_threads()
            while step < n:
                other = T.if_then_else(tx >= step, sums[T.max(tx - step, 0)], T.cast(0, dtype))
                T.sync_threads()
                sums[tx] = sums[tx] + other
                T.sync_threads()
                step = step * 2
            B[bx, tx] = sums[tx]

    return main


def test_scan_of_integers_that_overflow() -> None:
    a = random_integers(3, 100, dtype=torch.int64)
    with np.errstate(over="ignore"):
        found = np.cumsum(a.numpy(), axis=1)
    check(scan(100, "int64"), {"A": a, "B": torch.zeros_like(a)}, {"B": found}, thorough=True)


def bitonic_sort(n: int) -> Any:
    """A value and where it was, in shared memory: an argsort of floats, each thread has a pair."""

    @T.prim_func
    def main(A: T.Tensor((2, n), "float32"), B: T.Tensor((2, n), "float32"), P: T.Tensor((2, n), "int32")):
        with T.Kernel(2, threads=n) as bx:
            tx = T.get_thread_binding()
            keys = T.alloc_shared((n,), "float32")
            places = T.alloc_shared((n,), "int32")
            keys[tx] = A[bx, tx]
            places[tx] = tx
            T.sync_threads()
            for k in T.serial(1, n.bit_length()):
                for j in T.serial(k):
                    other = tx ^ (1 << (k - 1 - j))
                    if other > tx:
                        up = (tx & (1 << k)) == 0
                        if (keys[tx] > keys[other]) == up and keys[tx] != keys[other]:
                            key = keys[tx]
                            keys[tx] = keys[other]
                            keys[other] = key
                            place = places[tx]
                            places[tx] = places[other]
                            places[other] = place
                    T.sync_threads()
            B[bx, tx] = keys[tx]
            P[bx, tx] = places[tx]

    return main


def test_bitonic_sort() -> None:
    a = random_floats(2, 64)
    a[0, 5], a[0, 6], a[1, 7] = float("inf"), float("-inf"), 1e-42
    keys, places = a.sort(dim=1)
    tensors = {"A": a, "B": torch.zeros(2, 64), "P": torch.zeros(2, 64, dtype=torch.int32)}
    check(bitonic_sort(64), tensors, {"B": keys, "P": places.int()})


def warp_sums(rows: int, cols: int) -> Any:
    """A sum of each row by shuffles: lanes 16, 8, 4, 2, 1 apart, then those of the warps through shared memory."""

    @T.prim_func
    def main(A: T.Tensor((rows, cols), "float32"), B: T.Tensor((rows,), "float32")):
        with T.Kernel(rows, threads=128) as bx:
            tx = T.get_thread_binding()
            of_warps = T.alloc_shared((4,), "float32")
            x = T.alloc_var("float32", init=0.0)
            for i in T.serial(T.ceildiv(cols, 128)):
                if i * 128 + tx < cols:
                    x += A[bx, i * 128 + tx]
            for k in T.unroll(5):
                x += T.shfl_xor(x, 16 >> k)
            if tx % 32 == 0:
                of_warps[tx // 32] = x
            T.sync_threads()
            if tx < 4:
                x = of_warps[tx]
                x += T.shfl_down(x, 2, width=4)
                x += T.shfl_down(x, 1, width=4)
                if tx == 0:
                    B[bx] = x

    return main


def test_warp_sums() -> None:
    a = random_floats(7, 333)
    a[3, 5], a[4, 6], a[5] = float("inf"), float("nan"), -0.0
    exact = a.double()
    found, size = exact.sum(1), exact.abs().nan_to_num().sum(1)
    check(warp_sums(7, 333), {"A": a, "B": torch.zeros(7)}, {"B": found}, roundings=20, magnitude=size, thorough=True)


def block_argmax(rows: int, cols: int) -> Any:
    """The largest element and its first place, halving the number of threads in shared memory."""

    @T.prim_func
    def main(A: T.Tensor((rows, cols), "float16"), V: T.Tensor((rows,), "float16"), P: T.Tensor((rows,), "int64")):
        with T.Kernel(rows, threads=64) as bx:
            tx = T.get_thread_binding()
            value = T.alloc_shared((64,), "float16")
            place = T.alloc_shared((64,), "int64")
            value[tx] = -T.infinity("float16")
            place[tx] = cols
            for i in T.serial(tx, cols, 64):
                if A[bx, i] > value[tx]:
                    value[tx] = A[bx, i]
                    place[tx] = i
            for k in T.serial(6):
                T.sync_threads()
                half = 32 >> k
                if tx < half and (
                    value[tx + half] > value[tx] or (value[tx + half] == value[tx] and place[tx + half] < place[tx])
                ):
                    value[tx] = value[tx + half]
                    place[tx] = place[tx + half]
            if tx == 0:
                V[bx] = value[0]
                P[bx] = place[0]

    return main


def test_block_argmax() -> None:
    a = random_floats(5, 201, dtype=torch.float16)
    a[1, 150] = a[1, 200] = a[1, 33] = 60000.0
    a[2, 17] = float("inf")
    a[3] = -0.0
    places = torch.from_numpy(a.float().numpy().argmax(1))
    tensors = {"A": a, "V": torch.zeros(5, dtype=torch.float16), "P": torch.zeros(5, dtype=torch.int64)}
    check(block_argmax(5, 201), tensors, {"V": a.gather(1, places[:, None])[:, 0], "P": places})


def transpose(rows: int, cols: int) -> Any:
    """By 16 x 8 threads and a block with a column to spare, as banks of shared memory want it."""

    @T.prim_func
    def main(A: T.Tensor((rows, cols), "int16"), B: T.Tensor((cols, rows), "int16")):
        with T.Kernel(T.ceildiv(cols, 16), T.ceildiv(rows, 16), threads=(16, 8)) as (bx, by):
            tx = T.get_thread_binding(0)
            ty = T.get_thread_binding(1)
            tile = T.alloc_shared((16, 17), "int16")
            for k in T.serial(0, 16, 8):
                if by * 16 + ty + k < rows and bx * 16 + tx < cols:
                    tile[ty + k, tx] = A[by * 16 + ty + k, bx * 16 + tx]
            T.sync_threads()
            for k in T.serial(0, 16, 8):
                if bx * 16 + ty + k < cols and by * 16 + tx < rows:
                    B[bx * 16 + ty + k, by * 16 + tx] = tile[tx, ty + k]

    return main


def test_transpose() -> None:
    a = random_integers(43, 29, dtype=torch.int16)
    b = torch.zeros(29, 43, dtype=torch.int16)
    check(transpose(43, 29), {"A": a, "B": b}, {"B": a.T}, thorough=True)


def softmax(rows: int, cols: int) -> Any:
    """A warp for each row; the largest and the sum by reductions of a warp."""

    @T.prim_func
    def main(A: T.Tensor((rows, cols), "float32"), B: T.Tensor((rows, cols), "float32")):
        with T.Kernel(T.ceildiv(rows, 4), threads=(32, 4)) as bx:
            lane = T.get_thread_binding(0)
            row = bx * 4 + T.get_thread_binding(1)
            most = T.alloc_var("float32", init=-T.infinity("float32"))
            total = T.alloc_var("float32", init=0.0)
            if row < rows:
                for j in T.serial(lane, cols, 32):
                    most = T.max(most, A[row, j])
            most = T.warp_reduce_max(most)
            if row < rows:
                for j in T.serial(lane, cols, 32):
                    total += T.exp(A[row, j] - most)
            total = T.warp_reduce_sum(total)
            if row < rows:
                for j in T.serial(lane, cols, 32):
                    B[row, j] = T.exp(A[row, j] - most) / total

    return main


def test_softmax() -> None:
    a = random_floats(10, 51) * 20
    a[2, :50], a[3, 7], a[9] = float("-inf"), float("-inf"), 3e38
    found = a.double().softmax(1)
    check(softmax(10, 51), {"A": a, "B": torch.zeros(10, 51)}, {"B": found}, roundings=70, magnitude=found)


def matches(n: int) -> Any:
    """Equal keys of a warp find each other; the first lane of each adds the count of all."""

    @T.prim_func
    def main(K: T.Tensor((n,), "int32"), C: T.Tensor((16,), "int32"), L: T.Tensor((n,), "int32")):
        with T.Kernel(T.ceildiv(n, 64), threads=64) as bx:
            tx = T.get_thread_binding()
            at = bx * 64 + tx
            key = T.if_then_else(at < n, K[at], -1)
            alike = T.match_any_sync(key)
            mine = T.uint64(1) << T.cast(T.get_lane_idx(), "uint64")
            if at < n:
                L[at] = T.cast(T.popcount(alike), "int32")
                if (alike & (mine - T.uint64(1))) == T.uint64(0):
                    T.atomic_add(C[key], T.cast(T.popcount(alike), "int32"))

    return main


def test_matches_in_a_warp() -> None:
    n = 150
    keys = random_integers(n, low=0, high=16)
    found = [int((keys[i // 32 * 32 : i // 32 * 32 + 32] == keys[i]).sum()) for i in range(n)]
    counts = np.bincount(keys.numpy(), minlength=16)
    tensors = {"K": keys, "C": torch.zeros(16, dtype=torch.int32), "L": torch.zeros(n, dtype=torch.int32)}
    check(matches(n), tensors, {"C": counts, "L": found})


def rows_fetched_ahead() -> Any:
    """Each thread keeps the numbers of the next rows in a fragment that nothing but its own loops uses."""

    @T.prim_func
    def main(A: T.Tensor((50, 8), "int32"), P: T.Tensor((3, 4, 16), "int32"), B: T.Tensor((3, 4, 16, 8), "int32")):
        with T.Kernel(1, threads=128) as _:
            tx = T.get_thread_binding()
            rows = T.alloc_fragment((4,), "int32")
            held = T.alloc_shared((4, 16, 8), "int32")
            for r in T.serial(4):
                rows[r] = P[0, r, tx // 8]
            for k in T.serial(3):
                for r in T.serial(4):
                    held[r, tx // 8, tx % 8] = A[rows[r], tx % 8]
                    if k < 2:
                        rows[r] = P[k + 1, r, tx // 8]
                T.copy(held, B[k, 0, 0, 0])

    return main


def test_a_fragment_that_each_thread_fills_for_itself() -> None:
    a, p = random_integers(50, 8), random_integers(3, 4, 16, low=0, high=50, seed=1)
    b = torch.zeros(3, 4, 16, 8, dtype=torch.int32)
    check(rows_fetched_ahead(), {"A": a, "P": p, "B": b}, {"B": a.numpy()[p.numpy()]}, thorough=True)
