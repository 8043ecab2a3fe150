"""Loops whose end is known only when they run: walks through graphs, strings and numbers."""

import zlib
from typing import Any

import numpy as np
import tilelang.language as T
import torch
from agreement import check, random_integers


def labels(n: int, edges: int) -> Any:
    """Connected parts of a graph: threads lower labels until a round changes none."""

    @T.prim_func
    def main(A: T.Tensor((edges,), "int32"), B: T.Tensor((edges,), "int32"), L: T.Tensor((n,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            label = T.alloc_shared((n,), "int32")
            changed = T.alloc_shared((1,), "int32")
            for i in T.serial(tx, n, 64):
                label[i] = i
            if tx == 0:
                changed[0] = 1
            T.sync_threads()
            while changed[0] != 0:
                T.sync_threads()
                if tx == 0:
                    changed[0] = 0
                T.sync_threads()
                for e in T.serial(T.ceildiv(edges, 64)):
                    if e * 64 + tx < edges:
                        a = label[A[e * 64 + tx]]
                        b = label[B[e * 64 + tx]]
                        if a != b:
                            T.atomic_min(label[T.max(a, b)], T.min(a, b))
                            T.atomic_min(label[A[e * 64 + tx]], T.min(a, b))
                            T.atomic_min(label[B[e * 64 + tx]], T.min(a, b))
                            T.atomic_max(changed[0], 1)
                T.sync_threads()
            for i in T.serial(tx, n, 64):
                L[i] = label[i]

    return main


def test_labels_of_connected_parts() -> None:
    n = 90
    a, b = (random_integers(70, low=0, high=n, seed=seed) for seed in (1, 2))
    found = np.arange(n)
    for _ in range(n):
        for x, y in zip(a.tolist(), b.tolist(), strict=True):
            found[[x, y]] = min(found[x], found[y])
    check(labels(n, 70), {"A": a, "B": b, "L": torch.zeros(n, dtype=torch.int32)}, {"L": found}, thorough=True)


def union_find(n: int, edges: int) -> Any:
    """One thread, parents in shared memory, paths are halved on the way."""

    @T.prim_func
    def main(E: T.Tensor((edges, 2), "int32"), R: T.Tensor((n,), "int32"), N: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            parent = T.alloc_shared((n,), "int32")
            if tx == 0:
                count = T.alloc_var("int32", init=n)
                x = T.alloc_var("int32")
                y = T.alloc_var("int32")
                for i in T.serial(n):
                    parent[i] = i
                for e in T.serial(edges):
                    x = E[e, 0]
                    y = E[e, 1]
                    while parent[x] != x:
                        parent[x] = parent[parent[x]]
                        x = parent[x]
                    while parent[y] != y:
                        parent[y] = parent[parent[y]]
                        y = parent[y]
                    if x == y:
                        continue
                    parent[T.max(x, y)] = T.min(x, y)
                    count -= 1
                for i in T.serial(n):
                    x = i
                    while parent[x] != x:
                        x = parent[x]
                    R[i] = x
                N[0] = count

    return main


def test_union_find() -> None:
    n = 60
    edges = random_integers(45, 2, low=0, high=n)
    found = np.arange(n)
    for _ in range(n):
        for x, y in edges.tolist():
            found[[x, y]] = min(found[x], found[y])
    tensors = {"E": edges, "R": torch.zeros(n, dtype=torch.int32), "N": torch.zeros(1, dtype=torch.int32)}
    check(union_find(n, 45), tensors, {"R": found, "N": [len(set(found.tolist()))]})


def shortest_paths(n: int) -> Any:
    """Floyd and Warshall, in place: a barrier for each node between."""

    @T.prim_func
    def main(D: T.Tensor((n, n), "float32"), P: T.Tensor((n, n), "int32")):
        with T.Kernel(1, threads=(16, 4)):
            tx = T.get_thread_binding(0)
            ty = T.get_thread_binding(1)
            dist = T.alloc_shared((n, n), "float32")
            T.copy(D, dist)
            for k in T.serial(n):
                for i in T.serial(ty, n, 4):
                    for j in T.serial(tx, n, 16):
                        if dist[i, k] + dist[k, j] < dist[i, j]:
                            dist[i, j] = dist[i, k] + dist[k, j]
                            P[i, j] = k
                T.sync_threads()
            T.copy(dist, D)

    return main


def test_shortest_paths() -> None:
    n = 21
    there = torch.rand(n, n, generator=torch.Generator().manual_seed(3)) < 0.2
    d = torch.where(there, random_integers(n, n, low=1, high=50).float(), float("inf")).fill_diagonal_(0)
    found, between = d.numpy().copy(), np.full((n, n), -1)
    for k in range(n):
        way = found[:, k, None] + found[None, k]
        between[way < found] = k
        found = np.minimum(found, way)
    tensors = {"D": d, "P": torch.full((n, n), -1, dtype=torch.int32)}
    check(shortest_paths(n), tensors, {"D": found, "P": between})


def levenshtein(pairs: int, longest: int) -> Any:
    """A warp for each pair of strings that end with a zero; lane 0 goes through the table."""

    @T.prim_func
    def main(
        A: T.Tensor((pairs, longest), "uint8"), B: T.Tensor((pairs, longest), "uint8"), D: T.Tensor((pairs,), "int32")
    ):
        with T.Kernel(pairs, threads=1) as bx:
            row = T.alloc_local((longest,), "int16")
            for j in T.serial(longest):
                row[j] = j
            i = T.alloc_var("int32", init=0)
            j = T.alloc_var("int32", init=0)
            while A[bx, i] != 0:
                corner = T.alloc_var("int16", init=0)
                corner = row[0]
                row[0] = i + 1
                j = 0
                while B[bx, j] != 0:
                    above = row[j + 1]
                    change = T.if_then_else(A[bx, i] == B[bx, j], T.int16(0), T.int16(1))
                    row[j + 1] = T.min(T.min(above, row[j]) + T.int16(1), corner + change)
                    corner = above
                    j += 1
                i += 1
            j = 0
            while B[bx, j] != 0:
                j += 1
            D[bx] = row[j]

    return main


def distance(a: bytes, b: bytes) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        corner, row[0] = row[0], i + 1
        for j, y in enumerate(b):
            corner, row[j + 1] = row[j + 1], min(row[j + 1] + 1, row[j] + 1, corner + (x != y))
    return row[-1]


def test_levenshtein() -> None:
    pairs = [(b"kitten", b"sitting"), (b"", b"abc"), (b"flaw", b"lawn"), (b"", b""), (b"\xff\x80a", b"\x80\xff")]
    pairs.append((b"intention execution", b"execution intention"))
    a, b = (torch.zeros(6, 20, dtype=torch.uint8) for _ in range(2))
    for row, (x, y) in enumerate(pairs):
        a[row, : len(x)], b[row, : len(y)] = torch.tensor(list(x)), torch.tensor(list(y))
    found = [distance(x, y) for x, y in pairs]
    check(levenshtein(6, 20), {"A": a, "B": b, "D": torch.zeros(6, dtype=torch.int32)}, {"D": found}, thorough=True)


def checksums(rows: int, longest: int) -> Any:
    """CRC32 with a table that each block computes in shared memory."""

    @T.prim_func
    def main(A: T.Tensor((rows, longest), "uint8"), N: T.Tensor((rows,), "int32"), C: T.Tensor((rows,), "uint32")):
        with T.Kernel(1, threads=256):
            tx = T.get_thread_binding()
            table = T.alloc_shared((256,), "uint32")
            c = T.alloc_var("uint32")
            c = T.cast(tx, "uint32")
            for _ in T.serial(8):
                if (c & T.uint32(1)) != T.uint32(0):  # noqa: SIM108
                    c = T.uint32(0xEDB88320) ^ (c >> T.uint32(1))
                else:
                    c = c >> T.uint32(1)
            table[tx] = c
            T.sync_threads()
            if tx < rows:
                c = T.uint32(0xFFFFFFFF)
                for i in T.serial(N[tx]):
                    c = table[(c ^ T.cast(A[tx, i], "uint32")) & T.uint32(0xFF)] ^ (c >> T.uint32(8))
                C[tx] = ~c

    return main


def test_checksums() -> None:
    a = random_integers(9, 50, dtype=torch.uint8)
    lengths = torch.tensor([0, 1, 2, 3, 7, 30, 49, 50, 50], dtype=torch.int32)
    found = [zlib.crc32(bytes(row[:length].tolist())) for row, length in zip(a, lengths.tolist(), strict=True)]
    tensors = {"A": a, "N": lengths, "C": torch.zeros(9, dtype=torch.uint32)}
    check(checksums(9, 50), tensors, {"C": np.array(found, np.uint32)})


def collatz(n: int) -> Any:
    @T.prim_func
    def main(S: T.Tensor((n,), "int64"), L: T.Tensor((n,), "int32"), M: T.Tensor((n,), "int64")):
        with T.Kernel(T.ceildiv(n, 32), threads=32) as bx:
            at = bx * 32 + T.get_thread_binding()
            if at < n:
                x = T.alloc_var("int64")
                most = T.alloc_var("int64")
                steps = T.alloc_var("int32", init=0)
                x = S[at]
                most = x
                while x != 1:
                    if x % 2 == 0:  # noqa: SIM108
                        x = x // 2
                    else:
                        x = 3 * x + 1
                    most = T.max(most, x)
                    steps += 1
                L[at] = steps
                M[at] = most

    return main


def test_collatz() -> None:
    starts = torch.tensor([1, 2, 27, 97, 871, 77031, 2**31 - 1, 2**35 - 1, 63728127, 2**52, 837799], dtype=torch.int64)
    lengths, most = [], []
    for start in starts.tolist():
        way = [start]
        while way[-1] != 1:
            way.append(way[-1] // 2 if way[-1] % 2 == 0 else 3 * way[-1] + 1)
        lengths.append(len(way) - 1)
        most.append(max(way))
    tensors = {"S": starts, "L": torch.zeros(11, dtype=torch.int32), "M": torch.zeros(11, dtype=torch.int64)}
    check(collatz(11), tensors, {"L": lengths, "M": most})


def mandelbrot(height: int, width: int, rounds: int) -> Any:
    @T.prim_func
    def main(C: T.Tensor((height, width), "int32")):
        with T.Kernel(T.ceildiv(width, 8), T.ceildiv(height, 4), threads=(8, 4)) as (bx, by):
            px = bx * 8 + T.get_thread_binding(0)
            py = by * 4 + T.get_thread_binding(1)
            x = T.alloc_var("float64", init=0.0)
            y = T.alloc_var("float64", init=0.0)
            count = T.alloc_var("int32", init=0)
            if px < width and py < height:
                cx = T.cast(px, "float64") / T.float64(width) * T.float64(3) - T.float64(2.25)
                cy = T.cast(py, "float64") / T.float64(height) * T.float64(2.5) - T.float64(1.25)
                while count < rounds:
                    if x * x + y * y > T.float64(4):
                        break
                    new = x * x - y * y + cx
                    y = x * y * T.float64(2) + cy
                    x = new
                    count += 1
                C[py, px] = count

    return main


def test_mandelbrot() -> None:
    found = np.zeros((19, 27), int)
    for py, px in np.ndindex(19, 27):
        x, y, cx, cy = 0.0, 0.0, px / 27 * 3 - 2.25, py / 19 * 2.5 - 1.25
        while found[py, px] < 60 and x * x + y * y <= 4:
            x, y = x * x - y * y + cx, x * y * 2 + cy
            found[py, px] += 1
    check(mandelbrot(19, 27, 60), {"C": torch.zeros(19, 27, dtype=torch.int32)}, {"C": found}, thorough=True)
