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
