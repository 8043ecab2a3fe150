"""Choosing: searches, ranks, the largest few, beams, boxes, intervals."""

from typing import Any

import numpy as np
import tilelang.language as T
import torch
from agreement import check, random_floats, random_integers


def search(n: int, count: int) -> Any:
    """Binary search: the first place where a key could go, and the last."""

    @T.prim_func
    def main(
        S: T.Tensor((n,), "uint64"),
        K: T.Tensor((count,), "uint64"),
        L: T.Tensor((count,), "int32"),
        R: T.Tensor((count,), "int32"),
    ):
        with T.Kernel(T.ceildiv(count, 32), threads=32) as bx:
            at = bx * 32 + T.get_thread_binding()
            if at < count:
                low = T.alloc_var("int32", init=0)
                high = T.alloc_var("int32", init=n)
                while low < high:
                    middle = (low + high) // 2
                    if S[middle] < K[at]:
                        low = middle + 1
                    else:
                        high = middle
                L[at] = low
                high = n
                while low < high:
                    middle = (low + high) // 2
                    if S[middle] <= K[at]:
                        low = middle + 1
                    else:
                        high = middle
                R[at] = low

    return main


def test_search() -> None:
    s = random_integers(70, dtype=torch.uint64).numpy()
    s[:5], s[5:9] = 2**63, 2**64 - 1
    s.sort()
    keys = np.concatenate([random_integers(40, seed=1, dtype=torch.uint64).numpy(), s[::3], [0, 2**63]]).astype(
        np.uint64
    )
    n = len(keys)
    tensors = {"S": torch.from_numpy(s), "K": torch.from_numpy(keys)}
    tensors |= {name: torch.zeros(n, dtype=torch.int32) for name in "LR"}
    found = {"L": np.searchsorted(s, keys), "R": np.searchsorted(s, keys, "right")}
    check(search(70, n), tensors, found, thorough=True)


def ranks(n: int) -> Any:
    """A stable argsort by counting what is smaller: quadratic, with blocks of keys in shared memory."""

    @T.prim_func
    def main(A: T.Tensor((n,), "int8"), P: T.Tensor((n,), "int32")):
        with T.Kernel(T.ceildiv(n, 32), threads=32) as bx:
            tx = T.get_thread_binding()
            keys = T.alloc_shared((32,), "int8")
            rank = T.alloc_var("int32", init=0)
            at = bx * 32 + tx
            mine = A[T.min(at, n - 1)]
            for b in T.serial(T.ceildiv(n, 32)):
                T.sync_threads()
                if b * 32 + tx < n:
                    keys[tx] = A[b * 32 + tx]
                T.sync_threads()
                for i in T.serial(T.min(32, n - b * 32)):
                    if keys[i] < mine or (keys[i] == mine and b * 32 + i < at):
                        rank += 1
            if at < n:
                P[rank] = at

    return main


def test_ranks() -> None:
    a = random_integers(101, dtype=torch.int8)
    a[::4] = -128
    check(ranks(101), {"A": a, "P": torch.zeros(101, dtype=torch.int32)}, {"P": np.argsort(a.numpy(), kind="stable")})


def top_k(rows: int, cols: int, k: int) -> Any:
    """Selection: the largest that was not taken yet, k times; marks in a mask of bits."""

    @T.prim_func
    def main(
        A: T.Tensor((rows, cols), "bfloat16"), V: T.Tensor((rows, k), "bfloat16"), P: T.Tensor((rows, k), "int32")
    ):
        with T.Kernel(T.ceildiv(rows, 8), threads=8) as bx:
            row = bx * 8 + T.get_thread_binding()
            taken = T.alloc_local((T.ceildiv(cols, 32),), "uint32")
            if row >= rows:
                T.thread_return()
            for i in T.serial(T.ceildiv(cols, 32)):
                taken[i] = T.uint32(0)
            for i in T.serial(k):
                best = T.alloc_var("int32", init=-1)
                best = -1
                for j in T.serial(cols):
                    bit = (taken[j // 32] >> T.cast(j % 32, "uint32")) & T.uint32(1)
                    if bit == T.uint32(0) and (best < 0 or A[row, j] > A[row, T.max(best, 0)]):
                        best = j
                taken[best // 32] = taken[best // 32] | (T.uint32(1) << T.cast(best % 32, "uint32"))
                V[row, i] = A[row, best]
                P[row, i] = best

    return main


def test_top_k() -> None:
    a = random_floats(11, 50, dtype=torch.bfloat16)
    a[3, 31], a[3, 32], a[4] = float("inf"), float("-inf"), -0.0
    order = np.argsort(-a.float().numpy(), axis=1, kind="stable")[:, :7]
    tensors = {"A": a, "V": torch.zeros(11, 7, dtype=torch.bfloat16), "P": torch.zeros(11, 7, dtype=torch.int32)}
    check(top_k(11, 50, 7), tensors, {"V": np.take_along_axis(a.float().numpy(), order, 1), "P": order})


def beam_step(beams: int, words: int) -> Any:
    """Of all beams with all words, the best: warps choose by shuffles, as often as there are beams."""

    @T.prim_func
    def main(
        S: T.Tensor((beams,), "float32"),
        L: T.Tensor((beams, words), "float32"),
        B: T.Tensor((beams,), "float32"),
        F: T.Tensor((beams,), "int32"),
        W: T.Tensor((beams,), "int32"),
    ):
        with T.Kernel(1, threads=32):
            lane = T.get_thread_binding()
            scores = T.alloc_shared((beams * words,), "float32")
            for i in T.serial(lane, beams * words, 32):
                scores[i] = S[i // words] + L[i // words, i % words]
            best = T.alloc_var("float32")
            place = T.alloc_var("int32")
            for beam in T.serial(beams):
                best = -T.infinity("float32")
                place = beams * words
                for i in T.serial(lane, beams * words, 32):
                    if scores[i] > best:
                        best = scores[i]
                        place = i
                for k in T.serial(5):
                    other = T.shfl_xor(best, 16 >> k)
                    there = T.shfl_xor(place, 16 >> k)
                    if other > best or (other == best and there < place):
                        best = other
                        place = there
                if lane == 0:
                    B[beam] = best
                    F[beam] = place // words
                    W[beam] = place % words
                    scores[place] = -T.infinity("float32")
                T.sync_threads()

    return main


def test_beam_step() -> None:
    s, logits = random_floats(5), random_floats(5, 37, seed=1)
    logits[1, 4] = float("nan")
    every = (s[:, None] + logits).numpy().ravel()
    order = np.argsort(-np.where(np.isnan(every), -np.inf, every), kind="stable")[:5]
    tensors = {"S": s, "L": logits, "B": torch.zeros(5)}
    tensors |= {name: torch.zeros(5, dtype=torch.int32) for name in "FW"}
    found = {"B": every[order], "F": order // 37, "W": order % 37}
    check(beam_step(5, 37), tensors, found, thorough=True)


def boxes_kept(n: int) -> Any:
    """Non-maximum suppression: boxes by falling score; one that is kept strikes out what it overlaps."""

    @T.prim_func
    def main(B: T.Tensor((n, 4), "float32"), K: T.Tensor((n,), "bool")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            out = T.alloc_shared((n,), "bool")
            for i in T.serial(tx, n, 64):
                out[i] = False
            for i in T.serial(n):
                T.sync_threads()
                if not out[i]:
                    for j in T.serial(T.ceildiv(n, 64)):
                        other = j * 64 + tx
                        if other > i and other < n:
                            w = T.min(B[i, 2], B[other, 2]) - T.max(B[i, 0], B[other, 0])
                            h = T.min(B[i, 3], B[other, 3]) - T.max(B[i, 1], B[other, 1])
                            both = T.max(w, 0.0) * T.max(h, 0.0)
                            one = (B[i, 2] - B[i, 0]) * (B[i, 3] - B[i, 1])
                            two = (B[other, 2] - B[other, 0]) * (B[other, 3] - B[other, 1])
                            if both * 2 > one + two - both:
                                out[other] = True
            T.sync_threads()
            for i in T.serial(tx, n, 64):
                K[i] = not out[i]

    return main


def test_non_maximum_suppression() -> None:
    corner, size = (random_integers(80, 2, low=low, high=20, seed=low).float() for low in (0, 4))
    boxes = torch.cat([corner, corner + size], 1)
    b, kept = boxes.double().numpy(), np.ones(80, bool)
    for i in range(80):
        w, h = (np.clip(np.minimum(b[i, k + 2], b[:, k + 2]) - np.maximum(b[i, k], b[:, k]), 0, None) for k in (0, 1))
        area = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
        struck = (w * h * 2 > area[i] + area - w * h) & (np.arange(80) > i)
        kept &= ~struck if kept[i] else True
    assert 20 < kept.sum() < 70
    check(boxes_kept(80), {"B": boxes, "K": torch.zeros(80, dtype=torch.bool)}, {"K": kept})


def intervals(n: int) -> Any:
    """The union of intervals that are sorted by where they begin."""

    @T.prim_func
    def main(A: T.Tensor((n, 2), "int32"), B: T.Tensor((n, 2), "int32"), N: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=1):
            count = T.alloc_var("int32", init=0)
            start = T.alloc_var("int32")
            stop = T.alloc_var("int32")
            start = A[0, 0]
            stop = A[0, 1]
            for i in T.serial(1, n):
                if A[i, 0] <= stop:
                    stop = T.max(stop, A[i, 1])
                    continue
                B[count, 0] = start
                B[count, 1] = stop
                count += 1
                start = A[i, 0]
                stop = A[i, 1]
            B[count, 0] = start
            B[count, 1] = stop
            N[0] = count + 1

    return main


def test_union_of_intervals() -> None:
    starts = random_integers(60, low=-(2**31), high=2**31 - 2**26).sort().values
    pairs = torch.stack([starts, starts + random_integers(60, low=1, high=2**26, seed=1)], 1)
    merged: list[list[int]] = []
    for low, high in pairs.tolist():
        if merged and low <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], high)
        else:
            merged.append([low, high])
    found = np.zeros((60, 2), np.int32)
    found[: len(merged)] = merged
    tensors = {"A": pairs, "B": torch.zeros(60, 2, dtype=torch.int32), "N": torch.zeros(1, dtype=torch.int32)}
    check(intervals(60), tensors, {"B": found, "N": [len(merged)]}, thorough=True)
