"""Counting and moving by value: histograms, sorting by digits, compaction, runs of equal elements."""

from typing import Any

import numpy as np
import tilelang.language as T
import torch
from agreement import check, random_floats, random_integers


def histogram(n: int, bins: int) -> Any:
    """Counts in shared memory, one atomic to the result for each bin of a block."""

    @T.prim_func
    def main(A: T.Tensor((n,), "uint8"), H: T.Tensor((bins,), "int32")):
        with T.Kernel(T.ceildiv(n, 128), threads=64) as bx:
            tx = T.get_thread_binding()
            counts = T.alloc_shared((bins,), "int32")
            for i in T.serial(T.ceildiv(bins, 64)):
                if i * 64 + tx < bins:
                    counts[i * 64 + tx] = 0
            T.sync_threads()
            for i in T.serial(2):
                at = bx * 128 + i * 64 + tx
                if at < n:
                    T.atomic_add(counts[T.cast(A[at], "int32") * bins // 256], 1)
            T.sync_threads()
            for i in T.serial(T.ceildiv(bins, 64)):
                if i * 64 + tx < bins:
                    T.atomic_add(H[i * 64 + tx], counts[i * 64 + tx])

    return main


def test_histogram() -> None:
    a = random_integers(517, dtype=torch.uint8)
    found = np.bincount(a.numpy().astype(int) * 100 // 256, minlength=100)
    check(histogram(517, 100), {"A": a, "H": torch.zeros(100, dtype=torch.int32)}, {"H": found}, thorough=True)


def equalisation(n: int) -> Any:
    """Of an image with 256 grey values: a histogram, its running sum, and a lookup."""

    @T.prim_func
    def main(A: T.Tensor((n,), "uint8"), B: T.Tensor((n,), "uint8")):
        with T.Kernel(1, threads=256):
            tx = T.get_thread_binding()
            counts = T.alloc_shared((256,), "int32")
            sums = T.alloc_shared((256,), "int32")
            counts[tx] = 0
            T.sync_threads()
            for i in T.serial(tx, n, 256):
                T.atomic_add(counts[A[i]], 1)
            T.sync_threads()
            if tx == 0:
                sums[0] = counts[0]
                for i in T.serial(1, 256):
                    sums[i] = sums[i - 1] + counts[i]
            T.sync_threads()
            first = T.alloc_var("int32", init=0)
            while sums[first] == 0:
                first = first + 1
            for i in T.serial(T.ceildiv(n, 256)):
                at = i * 256 + tx
                if at < n:
                    above = sums[A[at]] - sums[first]
                    B[at] = T.cast(above * 255 // (n - sums[first]), "uint8")

    return main


def test_equalisation() -> None:
    a = random_integers(600, low=60, high=130, dtype=torch.uint8)
    sums = np.cumsum(np.bincount(a.numpy(), minlength=256))
    least = sums[a.numpy().min()]
    found = ((sums[a.numpy()] - least) * 255 // (600 - least)).astype(np.uint8)
    check(equalisation(600), {"A": a, "B": torch.zeros_like(a)}, {"B": found}, thorough=True)


def radix_pass(n: int, shift: int) -> Any:
    """A stable pass of a radix sort over four bits: ranks by prefix sums over threads, in shared memory."""

    @T.prim_func
    def main(A: T.Tensor((n,), "uint32"), B: T.Tensor((n,), "uint32")):
        with T.Kernel(1, threads=n):
            tx = T.get_thread_binding()
            ones = T.alloc_shared((16, n), "int32")
            starts = T.alloc_shared((16,), "int32")
            key = A[tx]
            digit = T.cast((key >> shift) & T.uint32(15), "int32")
            for d in T.serial(16):
                ones[d, tx] = T.if_then_else(digit == d, 1, 0)
            T.sync_threads()
            if tx < 16:
                for i in T.serial(1, n):
                    ones[tx, i] += ones[tx, i - 1]
            T.sync_threads()
            if tx == 0:
                starts[0] = 0
                for d in T.serial(1, 16):
                    starts[d] = starts[d - 1] + ones[d - 1, n - 1]
            T.sync_threads()
            B[starts[digit] + ones[digit, tx] - 1] = key

    return main


def test_radix_pass() -> None:
    a = random_integers(75, dtype=torch.uint32)
    keys = a.numpy()
    found = keys[np.argsort(keys >> 28 & 15, kind="stable")]
    check(radix_pass(75, 28), {"A": a, "B": torch.zeros_like(a)}, {"B": found})


def compaction(n: int) -> Any:
    """What is no NaN, in order: lanes vote, and count the votes of those before them."""

    @T.prim_func
    def main(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32"), N: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=32):
            lane = T.get_thread_binding()
            total = T.alloc_var("int32", init=0)
            for i in T.serial(T.ceildiv(n, 32)):
                at = i * 32 + lane
                x = T.if_then_else(at < n, A[at], T.float32(0))
                keep = at < n and not T.isnan(x)
                mask = T.ballot_sync(keep)
                before = T.cast(mask, "uint32") & ((T.uint32(1) << T.cast(lane, "uint32")) - T.uint32(1))
                if keep:
                    B[total + T.popcount(before)] = x
                total = total + T.popcount(T.cast(mask, "uint32"))
            if lane == 0:
                N[0] = total

    return main


def test_compaction() -> None:
    a = random_floats(119)
    a[[0, 3, 4, 50, 64, 65, 66, 118]] = float("nan")
    a[[1, 7]], a[9] = float("inf"), -0.0
    kept = a[~a.isnan()]
    found = torch.full((119,), 7.0)
    found[: len(kept)] = kept
    tensors = {"A": a, "B": torch.full((119,), 7.0), "N": torch.zeros(1, dtype=torch.int32)}
    check(compaction(119), tensors, {"B": found, "N": [len(kept)]}, thorough=True)


def run_lengths(n: int) -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((n,), "int64"), V: T.Tensor((n,), "int64"), L: T.Tensor((n,), "int32"), N: T.Tensor((1,), "int32")
    ):
        with T.Kernel(1, threads=1):
            runs = T.alloc_var("int32", init=0)
            i = T.alloc_var("int32", init=0)
            while i < n:
                length = T.alloc_var("int32", init=1)
                length = 1
                while i + length < n and A[i + length] == A[i]:
                    length += 1
                V[runs] = A[i]
                L[runs] = length
                runs += 1
                i += length
            N[0] = runs

    return main


def test_run_lengths() -> None:
    values = random_integers(40, dtype=torch.int64)
    values[:2] = torch.tensor([2**63 - 1, -(2**63)])
    counts = random_integers(40, low=1, high=6)
    a = values.repeat_interleave(counts)
    n = len(a)
    v, lengths = torch.zeros(n, dtype=torch.int64), torch.zeros(n, dtype=torch.int32)
    found_v, found_l = v.clone(), lengths.clone()
    found_v[:40], found_l[:40] = values, counts
    tensors = {"A": a, "V": v, "L": lengths, "N": torch.zeros(1, dtype=torch.int32)}
    check(run_lengths(n), tensors, {"V": found_v, "L": found_l, "N": [40]})
