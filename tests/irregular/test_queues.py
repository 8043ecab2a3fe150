"""Stacks, queues and tables that threads share."""

from typing import Any

import numpy as np
import tilelang.language as T
import torch
from agreement import check, random_integers


def hashed(n: int, slots: int) -> Any:
    """Where keys go in a table: indices that are computed with and without a sign, and wrap around."""

    @T.prim_func
    def main(
        A: T.Tensor((n,), "uint32"),
        B: T.Tensor((n,), "int32"),
        H: T.Tensor((slots,), "int32"),
        D: T.Tensor((n,), "uint32"),
    ):
        with T.Kernel(T.ceildiv(n, 32), threads=32) as bx:
            at = bx * 32 + T.get_thread_binding()
            if at < n:
                x = A[at]
                T.atomic_add(H[(x ^ (x >> T.uint32(16))) % T.uint32(slots)], 1)
                T.atomic_add(H[(x + x // T.uint32(3)) % T.uint32(slots)], 1)
                T.atomic_add(H[(B[at] * 1103515245 + 12345) % slots], 1)
                D[at] = T.if_then_else(B[at] > 0, x, T.uint32(7)) // T.uint32(3) + (x & T.uint32(255)) % T.uint32(7)

    return main


def test_hashed_places() -> None:
    a, b = random_integers(90, dtype=torch.uint32), random_integers(90, seed=1)
    x, y = a.numpy(), b.numpy()
    places = [(x ^ x >> 16) % 50, (x + x // 3) % 50, (y * np.int32(1103515245) + np.int32(12345)) % 50]
    counts = sum(np.bincount(place, minlength=50) for place in places)
    quotients = np.where(y > 0, x, 7) // 3 + (x & 255) % 7
    tensors = {"A": a, "B": b, "H": torch.zeros(50, dtype=torch.int32), "D": torch.zeros_like(a)}
    check(hashed(90, 50), tensors, {"H": counts, "D": quotients}, thorough=True)


def stacks(n: int, depth: int) -> Any:
    """A walk through a tree by each thread, with a stack of its own in shared memory, interleaved with the others'."""

    @T.prim_func
    def main(A: T.Tensor((n,), "int32"), S: T.Tensor((n,), "int32")):
        with T.Kernel(1, threads=n):
            tx = T.get_thread_binding()
            stack = T.alloc_shared((depth * n,), "int32")
            top = T.alloc_var("int32", init=1)
            total = T.alloc_var("int32", init=0)
            stack[tx] = A[tx]
            while top > 0:
                top -= 1
                x = stack[top * n + tx]
                if x > 1:
                    stack[top * n + tx] = x // 2
                    stack[(top + 1) * n + tx] = x - x // 2 - 1
                    top += 2
                total += x
            S[tx] = total

    return main


def test_stacks_of_threads() -> None:
    def total(x: int) -> int:
        return x + (total(x // 2) + total(x - x // 2 - 1) if x > 1 else 0)

    a = random_integers(37, low=0, high=60)
    found = [total(x) for x in a.tolist()]
    check(stacks(37, 16), {"A": a, "S": torch.zeros(37, dtype=torch.int32)}, {"S": found}, thorough=True)


def queue(n: int) -> Any:
    """Threads take the next piece of work until there is none."""

    @T.prim_func
    def main(A: T.Tensor((n,), "int32"), Q: T.Tensor((1,), "int32"), B: T.Tensor((n,), "int32")):
        with T.Kernel(2, threads=8):
            item = T.alloc_var("int32")
            item = T.atomic_add(Q[0], 1, return_prev=True)
            while item < n:
                B[item] = A[item] * 2
                item = T.atomic_add(Q[0], 1, return_prev=True)

    return main


def test_queue() -> None:
    a = random_integers(37)
    tensors = {"A": a, "Q": torch.zeros(1, dtype=torch.int32), "B": torch.zeros_like(a)}
    check(queue(37), tensors, {"B": a * 2, "Q": [37 + 16]})


def tickets(n: int) -> Any:
    """The condition of the loop itself takes the ticket."""

    @T.prim_func
    def main(Q: T.Tensor((1,), "int32"), B: T.Tensor((n,), "int32")):
        with T.Kernel(2, threads=8) as bx:
            while T.atomic_add(Q[0], 1, return_prev=True) < n:
                if T.atomic_load(Q[0]) % 3 == 0:
                    continue
                B[T.atomic_load(Q[0]) - 1] = bx + 7

    return main


def test_tickets() -> None:
    found = [0 if (at + 1) % 3 == 0 else 7 for at in range(25)]
    tensors = {"Q": torch.zeros(1, dtype=torch.int32), "B": torch.zeros(25, dtype=torch.int32)}
    check(tickets(25), tensors, {"B": found, "Q": [25 + 16]}, thorough=True)


def table(n: int, slots: int) -> Any:
    """Keys into a hash table, one slot further while there is another: an atomic maximum finds out and takes it."""

    @T.prim_func
    def main(K: T.Tensor((n,), "int32"), H: T.Tensor((slots,), "int32"), P: T.Tensor((n,), "int32")):
        with T.Kernel(T.ceildiv(n, 16), threads=16) as bx:
            at = bx * 16 + T.get_thread_binding()
            if at < n:
                slot = T.alloc_var("int32")
                slot = K[at] * 7 % slots
                while T.atomic_max(H[slot], K[at], return_prev=True) != -1:
                    slot = (slot + 1) % slots
                P[at] = slot

    return main


def test_hash_table() -> None:
    keys = torch.randperm(40, generator=torch.Generator().manual_seed(1)).int() // 2
    held, places = np.full(64, -1), []
    for key in keys.tolist():
        slot = key * 7 % 64
        while held[slot] != -1:
            held[slot] = max(held[slot], key)
            slot = (slot + 1) % 64
        held[slot] = key
        places.append(slot)
    tensors = {"K": keys, "H": torch.full((64,), -1, dtype=torch.int32), "P": torch.zeros(40, dtype=torch.int32)}
    check(table(40, 64), tensors, {"H": held, "P": places})
