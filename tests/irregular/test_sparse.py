"""Rows that are looked up and elements that are scattered: sparse matrices, experts, pages of a cache."""

from typing import Any

import numpy as np
import tilelang.language as T
import torch
from agreement import check, random_floats, random_integers


def csr_product(rows: int, cols: int, count: int) -> Any:
    """A warp for each row of a sparse matrix, of which only the lengths of rows are known when it runs."""

    @T.prim_func
    def main(
        S: T.Tensor((rows + 1,), "int32"),
        C: T.Tensor((count,), "int32"),
        V: T.Tensor((count,), "float32"),
        X: T.Tensor((cols,), "float32"),
        Y: T.Tensor((rows,), "float32"),
    ):
        with T.Kernel(rows, threads=32) as row:
            lane = T.get_thread_binding()
            total = T.alloc_local((1,), "float32")
            at = T.alloc_local((1,), "int32")
            total[0] = 0
            at[0] = S[row] + lane
            while at[0] < S[row + 1]:
                total[0] += V[at[0]] * X[C[at[0]]]
                at[0] += 32
            offset = T.alloc_var("int32", init=16)
            while offset > 0:
                total[0] += T.shfl_down(total[0], offset)
                offset = offset // 2
            if lane == 0:
                Y[row] = total[0]

    return main


def test_csr_product() -> None:
    dense = np.where(np.random.default_rng(0).random((23, 90)) < 0.5, random_floats(23, 90).numpy(), 0)
    dense[4], dense[22] = 0, 0
    dense[5, 3] = np.inf
    x = random_floats(90, seed=1)
    rows, cols = np.nonzero(dense)
    starts = np.searchsorted(rows, np.arange(24)).astype(np.int32)
    tensors = {
        "S": torch.from_numpy(starts),
        "C": torch.from_numpy(cols.astype(np.int32)),
        "V": torch.from_numpy(dense[rows, cols].astype(np.float32)),
        "X": x,
        "Y": torch.full((23,), 7.0),
    }
    found = np.zeros(23)
    np.add.at(found, rows, dense[rows, cols].astype(np.float64) * x.numpy()[cols])
    size = np.abs(np.where(np.isinf(dense), 0, dense)) @ np.abs(x.numpy())
    check(csr_product(23, 90, len(rows)), tensors, {"Y": found}, roundings=10, magnitude=size, thorough=True)


def coo_sum(rows: int, cols: int, count: int) -> Any:
    @T.prim_func
    def main(
        R: T.Tensor((count,), "int64"),
        C: T.Tensor((count,), "int64"),
        V: T.Tensor((count,), "int32"),
        D: T.Tensor((rows, cols), "int32"),
    ):
        with T.Kernel(T.ceildiv(count, 64), threads=64) as bx:
            for i in T.Parallel(64):
                if bx * 64 + i < count:
                    T.atomic_add(D[R[bx * 64 + i], C[bx * 64 + i]], V[bx * 64 + i])

    return main


def test_coo_sum() -> None:
    r, c = (random_integers(301, low=0, high=n, seed=n, dtype=torch.int64) for n in (9, 7))
    v, d = random_integers(301), random_integers(9, 7, seed=5)
    found = d.numpy().copy()
    np.add.at(found, (r.numpy(), c.numpy()), v.numpy())
    check(coo_sum(9, 7, 301), {"R": r, "C": c, "V": v, "D": d}, {"D": found})


def segment_sum(n: int, segments: int) -> Any:
    """Sorted keys: a thread adds up a run, and one atomic for each of its ends suffices."""

    @T.prim_func
    def main(K: T.Tensor((n,), "int32"), X: T.Tensor((n,), "float32"), Y: T.Tensor((segments,), "float32")):
        with T.Kernel(T.ceildiv(n, 8 * 16), threads=16) as bx:
            tx = T.get_thread_binding()
            first = (bx * 16 + tx) * 8
            total = T.alloc_var("float32", init=0.0)
            for i in T.serial(8):
                at = first + i
                if at >= n:
                    break
                total += X[at]
                if at == n - 1 or i == 7 or K[T.min(at + 1, n - 1)] != K[at]:
                    T.atomic_add(Y[K[at]], total)
                    total = 0.0

    return main


def test_segment_sum() -> None:
    keys = random_integers(277, low=0, high=20).sort().values
    x = random_floats(277)
    x[100] = float("nan")
    found, size = np.zeros(20), np.zeros(20)
    np.add.at(found, keys.numpy(), x.double().numpy())
    np.add.at(size, keys.numpy(), x.double().abs().nan_to_num().numpy())
    tensors = {"K": keys, "X": x, "Y": torch.zeros(20)}
    check(segment_sum(277, 20), tensors, {"Y": found}, roundings=30, magnitude=size, thorough=True)


def embedding_backward(tokens: int, width: int, words: int, padding: int) -> Any:
    @T.prim_func
    def main(
        Ids: T.Tensor((tokens,), "int64"),
        G: T.Tensor((tokens, width), "bfloat16"),
        W: T.Tensor((words, width), "float32"),
    ):
        with T.Kernel(tokens, threads=32) as bx:
            tx = T.get_thread_binding()
            if Ids[bx] != padding:
                for j in T.serial(T.ceildiv(width, 32)):
                    if j * 32 + tx < width:
                        T.atomic_add(W[Ids[bx], j * 32 + tx], T.cast(G[bx, j * 32 + tx], "float32"))

    return main


def test_embedding_backward() -> None:
    ids = random_integers(30, low=0, high=6, dtype=torch.int64)
    grad = random_integers(30, 45, low=-50, high=50).to(torch.bfloat16)  # sums are exact
    found = torch.zeros(6, 45).index_add(0, ids[ids != 2], grad[ids != 2].float())
    check(embedding_backward(30, 45, 6, 2), {"Ids": ids, "G": grad, "W": torch.zeros(6, 45)}, {"W": found})


def routing(tokens: int, experts: int, capacity: int) -> Any:
    """Of each token the best expert, a place there by an atomic, and none if the expert is full."""

    @T.prim_func
    def main(
        L: T.Tensor((tokens, experts), "float16"),
        N: T.Tensor((experts,), "int32"),
        E: T.Tensor((tokens,), "int32"),
        P: T.Tensor((tokens,), "int32"),
        S: T.Tensor((experts, capacity), "int32"),
    ):
        with T.Kernel(T.ceildiv(tokens, 32), threads=32) as bx:
            token = bx * 32 + T.get_thread_binding()
            if token < tokens:
                best = T.alloc_var("int32", init=0)
                for e in T.serial(1, experts):
                    if L[token, e] > L[token, best]:
                        best = e
                place = T.atomic_add(N[best], 1, return_prev=True)
                E[token] = best
                P[token] = T.if_then_else(place < capacity, place, -1)
                if place < capacity:
                    S[best, place] = token

    return main


def test_routing_with_capacity() -> None:
    logits = random_floats(75, 6, dtype=torch.float16)
    logits[:, 4] += 1
    best = logits.float().numpy().argmax(1)
    counts, places, slots = np.zeros(6, int), np.zeros(75, int), np.full((6, 12), -1)
    for token, expert in enumerate(best):  # a core does the blocks of the grid, and their threads, in order
        place = counts[expert]
        counts[expert] += 1
        places[token] = place if place < 12 else -1
        if place < 12:
            slots[expert, place] = token
    whole = dict.fromkeys(("N", "E", "P"))
    tensors = {"L": logits, **{name: torch.zeros(6 if name == "N" else 75, dtype=torch.int32) for name in whole}}
    tensors["S"] = torch.full((6, 12), -1, dtype=torch.int32)
    check(routing(75, 6, 12), tensors, {"N": counts, "E": best, "P": places, "S": slots}, thorough=True)


def paged_attention(heads: int, width: int, page: int, pages: int, longest: int) -> Any:
    """One query for each sequence; keys and values are found by a table of pages, online softmax."""

    @T.prim_func
    def main(
        Q: T.Tensor((3, heads, width), "float32"),
        K: T.Tensor((pages, page, heads, width), "float16"),
        V: T.Tensor((pages, page, heads, width), "float16"),
        B: T.Tensor((3, longest), "int32"),
        N: T.Tensor((3,), "int32"),
        Out: T.Tensor((3, heads, width), "float32"),
    ):
        with T.Kernel(heads, 3, threads=width) as (h, b):
            tx = T.get_thread_binding()
            parts = T.alloc_shared((width,), "float32")
            most = T.alloc_var("float32", init=-T.infinity("float32"))
            total = T.alloc_var("float32", init=0.0)
            out = T.alloc_var("float32", init=0.0)
            for t in T.serial(N[b]):
                block = B[b, t // page]
                parts[tx] = Q[b, h, tx] * T.cast(K[block, t % page, h, tx], "float32")
                T.sync_threads()
                score = T.alloc_var("float32", init=0.0)
                score = 0.0
                for d in T.serial(width):
                    score += parts[d]
                new = T.max(most, score)
                scale = T.exp(most - new)
                weight = T.exp(score - new)
                total = total * scale + weight
                out = out * scale + weight * T.cast(V[block, t % page, h, tx], "float32")
                most = new
                T.sync_threads()
            Out[b, h, tx] = T.if_then_else(total > 0, out / total, T.float32(0))

    return main


def test_paged_attention() -> None:
    q = random_floats(3, 2, 20)
    k, v = (random_floats(9, 4, 2, 20, seed=seed, dtype=torch.float16) for seed in (1, 2))
    table = torch.tensor([[7, 0, 3], [8, 1, -1], [-1, -1, -1]], dtype=torch.int32)
    lengths = torch.tensor([11, 5, 0], dtype=torch.int32)
    found = torch.zeros(3, 2, 20, dtype=torch.float64)
    for b in range(2):
        at = [int(table[b, t // 4]) * 4 + t % 4 for t in range(int(lengths[b]))]
        keys, values = (cache.double().view(36, 2, 20)[at] for cache in (k, v))
        found[b] = torch.einsum("ht,thd->hd", torch.einsum("hd,thd->ht", q[b].double(), keys).softmax(1), values)
    tensors = {"Q": q, "K": k, "V": v, "B": table, "N": lengths, "Out": torch.zeros(3, 2, 20)}
    size = found.abs() + 4
    check(paged_attention(2, 20, 4, 9, 3), tensors, {"Out": found}, roundings=60, magnitude=size)
