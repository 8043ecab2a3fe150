"""Lanes of a warp where not all of them take part: branches, loops of different lengths, half a warp."""

from typing import Any

import numpy as np
import tilelang.language as T
import torch
from agreement import check, random_integers


def votes_in_branches(n: int) -> Any:
    """Twelve lanes vote on one thing, the others on another one."""

    @T.prim_func
    def main(
        A: T.Tensor((n,), "int32"),
        B: T.Tensor((n,), "uint64"),
        C: T.Tensor((n,), "int32"),
        D: T.Tensor((n,), "uint32"),
    ):
        with T.Kernel(T.ceildiv(n, 64), threads=64) as bx:
            tx = T.get_thread_binding()
            at = bx * 64 + tx
            if tx % 32 < 12:
                B[at] = T.ballot_sync(A[at] > 0, 0xFFF)
                C[at] = T.any_sync(A[at] > 900, 0xFFF)
                D[at] = T.cast(T.all_sync(A[at] > -500, 0xFFF), "uint32")
            else:
                B[at] = T.ballot_sync(A[at] < 0, 0xFFFFF000)
                C[at] = T.all_sync(A[at] < 900, 0xFFFFF000)
                D[at] = T.match_any_sync(A[at] // 100, 0xFFFFF000)

    return main


def test_votes_in_branches() -> None:
    a = random_integers(128, low=-999, high=1000)
    rows = a.numpy().reshape(-1, 32)
    b, c, d = np.zeros((4, 32), np.uint64), np.zeros((4, 32), int), np.zeros((4, 32), np.uint32)
    for warp, row in enumerate(rows):
        some, others = row[:12], row[12:]
        b[warp, :12] = sum(1 << i for i in range(12) if row[i] > 0)
        b[warp, 12:] = sum(1 << i for i in range(12, 32) if row[i] < 0)
        c[warp, :12], c[warp, 12:] = (some > 900).any(), (others < 900).all()
        d[warp, :12] = (some > -500).all()
        for i in range(12, 32):
            d[warp, i] = sum(1 << j for j in range(12, 32) if row[j] // 100 == row[i] // 100)
    tensors = {"A": a, "B": torch.zeros(128, dtype=torch.uint64), "C": torch.zeros_like(a)}
    tensors["D"] = torch.zeros(128, dtype=torch.uint32)
    check(votes_in_branches(128), tensors, {"B": b.ravel(), "C": c.ravel(), "D": d.ravel()}, thorough=True)


def active_lanes(n: int) -> Any:
    """In branches by data, also in a loop; the last warp is half a one."""

    @T.prim_func
    def main(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "uint64"), C: T.Tensor((n,), "uint64")):
        with T.Kernel(1, threads=n):
            tx = T.get_thread_binding()
            for k in T.serial(3):
                if A[tx] > k:
                    B[tx] = T.activemask()
            if A[tx] != -2:
                C[tx] = T.ballot(A[tx] % 2 == 0)

    return main


def test_active_lanes() -> None:
    a = random_integers(48, low=-3, high=5)
    b, c = np.zeros(48, np.uint64), np.zeros(48, np.uint64)
    x = a.numpy()
    for i in range(48):
        warp = range(i // 32 * 32, min(i // 32 * 32 + 32, 48))
        if x[i] > 0:
            b[i] = sum(1 << j % 32 for j in warp if x[j] > min(x[i] - 1, 2))
        if x[i] != -2:
            c[i] = sum(1 << j % 32 for j in warp if x[j] % 2 == 0 and x[j] != -2)
    tensors = {"A": a, "B": torch.zeros(48, dtype=torch.uint64), "C": torch.zeros(48, dtype=torch.uint64)}
    check(active_lanes(48), tensors, {"B": b, "C": c})


def admitted(n: int, capacity: int) -> Any:
    """An atomic behind `and`, and one in a choice: it is done only where the condition before it holds."""

    @T.prim_func
    def main(A: T.Tensor((n,), "int32"), N: T.Tensor((2,), "int32"), B: T.Tensor((n,), "int32")):
        with T.Kernel(T.ceildiv(n, 32), threads=32) as bx:
            at = bx * 32 + T.get_thread_binding()
            if at < n and A[at] > 0 and T.atomic_add(N[0], 1, return_prev=True) < capacity:
                B[at] = 1
            elif at < n:
                B[at] = T.if_then_else(A[at] < -5, T.atomic_add(N[1], 2, return_prev=True), -1)

    return main


def test_atomics_behind_conditions() -> None:
    a = random_integers(75, low=-20, high=20)
    found, entered, low = [], 0, 0
    for x in a.tolist():
        entered += x > 0
        if x > 0 and entered <= 20:
            found.append(1)
        else:
            found.append(low if x < -5 else -1)
            low += 2 * (x < -5)
    tensors = {"A": a, "N": torch.zeros(2, dtype=torch.int32), "B": torch.zeros_like(a)}
    check(admitted(75, 20), tensors, {"N": [entered, low], "B": found}, thorough=True)


def rows_of_warps(rows: int, count: int) -> Any:
    """Three warps, a row for each: a row is done when its sum is negative, and some parts of it are left out."""

    @T.prim_func
    def main(S: T.Tensor((rows + 1,), "int32"), V: T.Tensor((count,), "int32"), Y: T.Tensor((rows,), "int32")):
        with T.Kernel(T.ceildiv(rows, 3), threads=(32, 3)) as bx:
            lane = T.get_thread_binding(0)
            row = bx * 3 + T.get_thread_binding(1)
            at = T.alloc_var("int32", init=0)
            stop = T.alloc_var("int32", init=0)
            total = T.alloc_var("int32", init=0)
            x = T.alloc_var("int32", init=0)
            offset = T.alloc_var("int32", init=0)
            if row < rows:
                at = S[row]
                stop = S[row + 1]
            while at < stop:
                x = 0
                if at + lane < stop:
                    x = V[at + lane]
                at += 32
                if T.any_sync(x == 7) != 0:
                    continue
                offset = 16
                while offset > 0:
                    x += T.shfl_down(x, offset)
                    offset = offset // 2
                total += T.shfl_sync(x, 0)
                if total < 0:
                    break
            if row < rows and lane == 0:
                Y[row] = total

    return main


def test_rows_of_warps() -> None:
    lengths = np.array([0, 40, 100, 5, 64, 33, 200, 1, 0, 170])
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    v = random_integers(int(starts[-1]), low=-30, high=45)
    v[70:] = v[70:].where(v[70:] != 7, 8)
    v[450] = 7
    found = []
    for row in range(10):
        total = 0
        for at in range(starts[row], starts[row + 1], 32):
            part = v.numpy()[at : min(at + 32, starts[row + 1])]
            if 7 not in part:
                total += part.sum()
            if total < 0:
                break
        found.append(total)
    tensors = {"S": torch.from_numpy(starts), "V": v, "Y": torch.zeros(10, dtype=torch.int32)}
    check(rows_of_warps(10, len(v)), tensors, {"Y": found}, thorough=True)


def votes_on_loops(n: int) -> Any:
    """Each warp halves its numbers until all are zero; then each does as many rounds as its first lane says."""

    @T.prim_func
    def main(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32"), C: T.Tensor((n,), "int32")):
        with T.Kernel(1, threads=n):
            tx = T.get_thread_binding()
            x = T.alloc_var("int32")
            rounds = T.alloc_var("int32", init=0)
            x = A[tx]
            while T.any_sync(x > 0) != 0:
                x = x // 2
                rounds += 1
            B[tx] = rounds
            for i in T.serial(A[tx // 32 * 32]):
                x += T.shfl_sync(A[tx], i % 32)
            C[tx] = x

    return main


def test_votes_on_loops() -> None:
    a = random_integers(96, low=0, high=10)
    a[:32].clamp_(max=1)
    a[40], a[80], a[32], a[64] = 1000, 100, 35, 0
    rows = a.numpy().reshape(3, 32)
    rounds = np.repeat([int(row.max()).bit_length() for row in rows], 32)
    sums = np.repeat([sum(int(row[i % 32]) for i in range(row[0])) for row in rows], 32)
    tensors = {"A": a, "B": torch.zeros_like(a), "C": torch.zeros_like(a)}
    check(votes_on_loops(96), tensors, {"B": rounds, "C": sums}, thorough=True)


def loops_in_branches(n: int) -> Any:
    """One warp has a loop with shuffles, the other another one; their lengths are looked up."""

    @T.prim_func
    def main(N: T.Tensor((1,), "int32"), A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
        with T.Kernel(1, threads=n):
            tx = T.get_thread_binding()
            x = T.alloc_var("int32")
            i = T.alloc_var("int32", init=0)
            x = A[tx]
            if tx < 32:
                while i < N[0]:
                    x += T.shfl_xor(x, 1 << (i % 5))
                    i += 1
            else:
                for j in T.serial(N[0]):
                    x = x * 2 + T.shfl_sync(x, j)
            B[tx] = x

    return main


def test_loops_in_branches() -> None:
    a = random_integers(64, low=-9, high=9)
    x, y = a.numpy()[:32], a.numpy()[32:]
    for i in range(7):
        x, y = x + x[np.arange(32) ^ 1 << i % 5], y * 2 + y[i]
    tensors = {"N": torch.tensor([7], dtype=torch.int32), "A": a, "B": torch.zeros_like(a)}
    check(loops_in_branches(64), tensors, {"B": np.concatenate([x, y])}, thorough=True)


def loops_in_loops(n: int) -> Any:
    """Loops of warps in loops of warps, with votes that end them; then all meet, several times."""

    @T.prim_func
    def main(N: T.Tensor((4,), "int32"), A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
        with T.Kernel(1, threads=n):
            tx = T.get_thread_binding()
            held = T.alloc_shared((n,), "int32")
            x = T.alloc_var("int32")
            i = T.alloc_var("int32")
            k = T.alloc_var("int32")
            x = A[tx]
            for r in T.serial(3):
                i = N[tx // 32] + r
                while i > 0:
                    k = i + tx // 32
                    while k > 0:
                        x = (x * 3 + T.shfl_xor(x, k % 32)) % 1009
                        k -= 2
                        if T.any_sync(x < 8) != 0:
                            break
                    i -= 1
                held[tx] = x
                T.sync_threads()
                x = held[n - 1 - tx]
                T.sync_threads()
            B[tx] = x

    return main


def test_loops_in_loops() -> None:
    a, rounds = random_integers(128, low=0, high=999), [0, 9, 4, 13]
    x = a.numpy().reshape(4, 32).copy()
    for r in range(3):
        for warp in range(4):
            for i in range(rounds[warp] + r, 0, -1):
                for k in range(i + warp, 0, -2):
                    x[warp] = (x[warp] * 3 + x[warp][np.arange(32) ^ k % 32]) % 1009
                    if (x[warp] < 8).any():
                        break
        x = x.ravel()[::-1].reshape(4, 32).copy()
    tensors = {"N": torch.tensor(rounds, dtype=torch.int32), "A": a, "B": torch.zeros_like(a)}
    check(loops_in_loops(128), tensors, {"B": x.ravel()}, thorough=True)


def ending_threads(n: int) -> Any:
    """Whole blocks end before a barrier, single threads behind it."""

    @T.prim_func
    def main(F: T.Tensor((4,), "int32"), A: T.Tensor((4, n), "int32"), B: T.Tensor((4, n), "int32")):
        with T.Kernel(4, threads=n) as bx:
            tx = T.get_thread_binding()
            held = T.alloc_shared((n,), "int32")
            if F[bx] == 0:
                T.thread_return()
            held[tx] = A[bx, tx]
            T.sync_threads()
            if tx % 3 == 0:
                T.thread_return()
            B[bx, tx] = held[n - 1 - tx]

    return main


def test_ending_threads() -> None:
    a = random_integers(4, 40)
    found = a.flip(1)
    found[:, ::3], found[[0, 2]] = 0, 0
    tensors = {"F": torch.tensor([0, 1, 0, 5], dtype=torch.int32), "A": a, "B": torch.zeros_like(a)}
    check(ending_threads(40), tensors, {"B": found}, thorough=True)


def ending_early(n: int) -> Any:
    """Threads end before the others meet, because of where they are or of what they hold."""

    @T.prim_func
    def main(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32"), C: T.Tensor((n,), "uint64")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            held = T.alloc_shared((64,), "int32")
            x = T.alloc_var("int32")
            held[tx] = 0
            T.sync_threads()
            if tx >= n:
                T.thread_return()
            x = A[tx]
            if x < 0:
                B[tx] = 77
                T.thread_return()
            held[tx] = x
            T.sync_threads()
            C[tx] = T.ballot(x > 3)
            B[tx] = held[n - 1 - tx] + 1

    return main


def test_ending_early() -> None:
    a = random_integers(50, low=-9, high=9)
    x, held = a.numpy(), a.numpy().clip(0)
    warps = [range(at // 32 * 32, min(50, at // 32 * 32 + 32)) for at in range(50)]
    votes = [sum(1 << j % 32 for j in warp if x[j] > 3) for warp in warps]
    tensors = {"A": a, "B": torch.zeros_like(a), "C": torch.zeros(50, dtype=torch.uint64)}
    found = {"B": np.where(x < 0, 77, held[::-1] + 1), "C": np.where(x < 0, 0, votes)}
    check(ending_early(50), tensors, found, thorough=True)
