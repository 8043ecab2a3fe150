"""Loops of all kinds, and threads between tile operations: what a turn leaves for the next one."""

from typing import Any

import numpy as np
import tilelang.language as T
import torch
from agreement import check, random_integers


def zeros(*shape: int, dtype: torch.dtype = torch.int32) -> torch.Tensor:
    return torch.zeros(*shape, dtype=dtype)


def directions(n: int) -> Any:
    """Backwards, with steps, of no rounds, of lengths that are known when they run."""

    @T.prim_func
    def main(N: T.Tensor((4,), "int32"), B: T.Tensor((n,), "int32"), C: T.Tensor((5,), "int32")):
        with T.Kernel(1, threads=2):
            tx = T.get_thread_binding()
            c = T.alloc_var("int32", init=0)
            if tx == 0:
                for i in T.serial(n - 1, -1, -1):
                    c = c * 3 + i
                    B[i] = c
                c = 0
                for _ in T.serial(N[0]):
                    c += 1
                C[0] = c
                for _ in T.serial(5, N[1]):
                    c += 10
                C[1] = c
                for i in T.serial(N[2], N[3], 3):
                    c += i
                C[2] = c
                for i in T.serial(10, 3, -2):
                    c = c * 2 + i
                C[3] = c
                for i in T.unroll(3):
                    for j in T.serial(i, 3):
                        c = c * 5 + i * 7 + j
                C[4] = c

    return main


def test_directions_of_loops() -> None:
    b, c, found = np.zeros(30, np.int32), 0, [0, 0]
    for i in range(29, -1, -1):
        c = c * 3 + i
        b[i] = np.int64(c % 2**32).astype(np.int32)
    c = sum(range(-4, 9, 3))
    found.append(c)
    for i in range(10, 3, -2):
        c = c * 2 + i
    found.append(c)
    for i in range(3):
        for j in range(i, 3):
            c = c * 5 + i * 7 + j
    found.append(c)
    tensors = {"N": torch.tensor([-3, 2, -4, 9], dtype=torch.int32), "B": zeros(30), "C": zeros(5)}
    check(directions(30), tensors, {"B": b, "C": found}, thorough=True)


def bounds(n: int) -> Any:
    """Bounds that are bits of a number, or a choice."""

    @T.prim_func
    def main(B: T.Tensor((n,), "int32"), C: T.Tensor((n,), "int32")):
        with T.Kernel(1, threads=n):
            tx = T.get_thread_binding()
            b = T.alloc_var("int32", init=0)
            c = T.alloc_var("int32", init=0)
            for i in T.serial(tx & 3, tx & 7):
                b = b * 10 + i
            for i in T.serial(T.if_then_else(tx % 3 == 0, 2, 4), T.if_then_else(tx % 2 == 0, 5, 7)):
                c = c * 10 + i
            B[tx] = b
            C[tx] = c

    return main


def test_bounds_of_loops() -> None:
    def digits(low: int, high: int) -> int:
        return int("0" + "".join(map(str, range(low, high))))

    b = [digits(x & 3, x & 7) for x in range(32)]
    c = [digits(2 if x % 3 == 0 else 4, 5 if x % 2 == 0 else 7) for x in range(32)]
    check(bounds(32), {"B": zeros(32), "C": zeros(32)}, {"B": b, "C": c}, thorough=True)


def wrapping(n: int) -> Any:
    """Products of small indices that pass the ends of their types; a constant that only uint64 has."""

    @T.prim_func
    def main(
        B: T.Tensor((n,), "int32"),
        C: T.Tensor((n,), "uint32"),
        D: T.Tensor((n,), "int64"),
        E: T.Tensor((n,), "int8"),
        F: T.Tensor((n,), "uint64"),
    ):
        with T.Kernel(T.ceildiv(n, 32), threads=32) as bx:
            tx = T.get_thread_binding()
            at = bx * 32 + tx
            total = T.alloc_var("int8", init=100)
            if at < n:
                B[at] = at * 100000 * 3000 + tx * 40000 * 60000
                C[at] = T.cast(tx, "uint32") - T.cast(at, "uint32") * T.uint32(3)
                D[at] = T.cast(at, "int64") * 3000000000 + T.cast(at * 50000 * 50000, "int64")
                for i in T.serial(at):
                    total += T.cast(i * 3, "int8")
                E[at] = total
                F[at] = T.uint64(2**64 - 3) - T.cast(at, "uint64")

    return main


def test_wrapping_indices() -> None:
    at = np.arange(77)
    found = {
        "B": (at * 100000 * 3000 + at % 32 * 40000 * 60000).astype(np.int32),
        "C": (at % 32 - at * 3).astype(np.uint32),
        "D": at * 3000000000 + (at * 50000 * 50000).astype(np.int32),
        "E": (100 + np.cumsum(at * 3) - at * 3).astype(np.int8),
        "F": np.uint64(2**64 - 3) - at.astype(np.uint64),
    }
    tensors = {name: torch.from_numpy(np.zeros_like(array)) for name, array in found.items()}
    check(wrapping(77), tensors, found, thorough=True)


def linked_lists(n: int) -> Any:
    """A walk along links, until bit 0 or 2 of a key is set, the list ends, or it goes round."""

    @T.prim_func
    def main(N: T.Tensor((n,), "int32"), K: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
        with T.Kernel(T.ceildiv(n, 16), threads=16) as bx:
            at = bx * 16 + T.get_thread_binding()
            node = T.alloc_var("int32")
            hops = T.alloc_var("int32", init=0)
            found = T.alloc_var("bool", init=False)
            if at < n:
                node = at
                while node >= 0:
                    for k in T.serial(3):
                        if k == 1:
                            continue
                        if (K[node] >> k) & 1 == 1:
                            found = True
                            break
                    if found or hops > n:
                        break
                    node = N[node]
                    hops += 1
                B[at] = T.if_then_else(node >= 0, hops * 1000 + node, -hops)

    return main


def test_linked_lists() -> None:
    links, keys = random_integers(50, low=-1, high=50), random_integers(50, low=0, high=256, seed=2)
    keys[:35] &= ~5
    found = []
    for at in range(50):
        node, hops = at, 0
        while node >= 0 and not keys[node] & 5 and hops <= 50:
            node, hops = int(links[node]), hops + 1
        found.append(hops * 1000 + node if node >= 0 else -hops)
    check(linked_lists(50), {"N": links, "K": keys, "B": zeros(50)}, {"B": found}, thorough=True)


def k_means(n: int, d: int, k: int) -> Any:
    """A step: the nearest centre of each point, and sums and counts for the next centres."""

    @T.prim_func
    def main(
        X: T.Tensor((n, d), "float32"),
        C: T.Tensor((k, d), "float32"),
        L: T.Tensor((n,), "int32"),
        S: T.Tensor((k, d), "float32"),
        N: T.Tensor((k,), "int32"),
    ):
        with T.Kernel(T.ceildiv(n, 32), threads=32) as bx:
            at = bx * 32 + T.get_thread_binding()
            centres = T.alloc_shared((k, d), "float32")
            best = T.alloc_var("int32", init=0)
            least = T.alloc_var("float32", init=T.infinity("float32"))
            distance = T.alloc_var("float32")
            T.copy(C, centres)
            if at < n:
                for j in T.serial(k):
                    distance = 0.0
                    for i in T.serial(d):
                        distance += (X[at, i] - centres[j, i]) * (X[at, i] - centres[j, i])
                    if distance < least:
                        least = distance
                        best = j
                L[at] = best
                T.atomic_add(N[best], 1)
                for i in T.serial(d):
                    T.atomic_add(S[best, i], X[at, i])

    return main


def test_k_means_step() -> None:
    x, c = (random_integers(n, 3, low=-20, high=20, seed=n).float() for n in (70, 5))
    nearest = ((x[:, None] - c) ** 2).sum(-1).numpy().argmin(1)
    sums = np.zeros((5, 3))
    np.add.at(sums, nearest, x.numpy())
    tensors = {"X": x, "C": c, "L": zeros(70), "S": torch.zeros(5, 3), "N": zeros(5)}
    check(k_means(70, 3, 5), tensors, {"L": nearest, "S": sums, "N": np.bincount(nearest, minlength=5)})


def tiles_between(n: int) -> Any:
    """Threads fill a shared block, tile operations work on it, threads take it away."""

    @T.prim_func
    def main(A: T.Tensor((n, n), "float32"), B: T.Tensor((n,), "float32"), C: T.Tensor((n, n), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            turned = T.alloc_shared((n, n), "float32")
            sums = T.alloc_fragment((n,), "float32")
            part = T.alloc_fragment((n, n), "float32")
            for i in T.serial(tx, n * n, 64):
                turned[i % n, i // n] = A[i // n, i % n]
            T.copy(turned, part)
            T.reduce_sum(part, sums, dim=1)
            for i, j in T.Parallel(n, n):
                part[i, j] = part[i, j] - sums[i]
            T.copy(part, turned)
            for i in T.serial(tx, n * n, 64):
                C[i // n, i % n] = turned[i // n, i % n] * 2
            T.copy(sums, B)

    return main


def test_tiles_between_threads() -> None:
    a = random_integers(20, 20, low=-9, high=9).float()
    sums = a.sum(0)
    tensors = {"A": a, "B": torch.zeros(20), "C": torch.zeros(20, 20)}
    check(tiles_between(20), tensors, {"B": sums, "C": (a.T - sums[:, None]) * 2}, thorough=True)
