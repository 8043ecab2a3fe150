"""Where elements lie: tensors of many pages, views of tensors, what is stored and read again, who may store where."""

from typing import Any

import numpy as np
import pytest
import tilelang.language as T
import torch
from agreement import check, random_floats, random_integers


def zeros(*shape: int, dtype: torch.dtype = torch.int32) -> torch.Tensor:
    return torch.zeros(*shape, dtype=dtype)


def through_a_tensor(n: int) -> Any:
    """Threads hand values to each other through a tensor."""

    @T.prim_func
    def main(A: T.Tensor((n,), "int32"), W: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
        with T.Kernel(1, threads=n):
            tx = T.get_thread_binding()
            W[tx] = A[tx] * 2
            T.sync_threads()
            for _ in T.serial(3):
                x = W[(tx + 1) % n]
                T.sync_threads()
                W[tx] = x + W[tx]
                T.sync_threads()
            B[tx] = W[n - 1 - tx]

    return main


def test_values_through_a_tensor() -> None:
    a = random_integers(100)
    w = a.numpy() * np.int32(2)
    for _ in range(3):
        w = np.roll(w, -1) + w
    tensors = {"A": a, "W": zeros(100), "B": zeros(100)}
    check(through_a_tensor(100), tensors, {"W": w, "B": w[::-1]}, thorough=True)


def sieve(n: int) -> Any:
    """Of Eratosthenes, in a tensor of several pages; what it finds goes to another one."""

    @T.prim_func
    def main(P: T.Tensor((n,), "uint8"), N: T.Tensor((1,), "int32"), L: T.Tensor((n,), "int64")):
        with T.Kernel(1, threads=4):
            tx = T.get_thread_binding()
            if tx == 0:
                i = T.alloc_var("int32", init=2)
                j = T.alloc_var("int32")
                count = T.alloc_var("int32", init=0)
                while i < n:
                    if P[i] == 0:
                        L[count] = T.cast(i, "int64") * 4294967297
                        count += 1
                        j = i + i
                        while j < n:
                            P[j] = 1
                            j += i
                    i += 1
                N[0] = count

    return main


def test_sieve() -> None:
    n, marks = 5003, np.zeros(5003, np.uint8)
    for i in range(2, n):
        marks[2 * i :: i] |= marks[i] == 0
    primes = np.flatnonzero(marks[2:] == 0) + 2
    found = np.zeros(n, np.int64)
    found[: len(primes)] = primes * 4294967297
    tensors = {"P": zeros(n, dtype=torch.uint8), "N": zeros(1), "L": zeros(n, dtype=torch.int64)}
    check(sieve(n), tensors, {"P": marks, "N": [len(primes)], "L": found})


def sortable_bits(n: int) -> Any:
    """Floats as unsigned numbers that sort alike, by views of two tensors in other types."""

    @T.prim_func
    def main(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 32), threads=32) as bx:
            at = bx * 32 + T.get_thread_binding()
            bits = T.view(A, (n,), dtype="uint32")
            halves = T.view(B, (2 * n,), dtype="uint16")
            if at < n:
                x = bits[at]
                turned = T.if_then_else(x >> T.uint32(31) != T.uint32(0), ~x, x ^ T.uint32(0x80000000))
                halves[at * 2] = T.cast(turned & T.uint32(0xFFFF), "uint16")
                halves[at * 2 + 1] = T.cast(turned >> T.uint32(16), "uint16")
                if T.isnan(B[at]):
                    bits[at] = T.uint32(7)

    return main


def test_sortable_bits() -> None:
    a = random_floats(77)
    a[:5] = torch.tensor([0.0, -0.0, float("inf"), float("nan"), 1e-42])
    x = a.numpy().view(np.uint32)
    turned = np.where(x >> 31, ~x, x ^ 0x80000000).astype(np.uint32).view(np.float32)
    left = np.where(np.isnan(turned), 7, x).astype(np.uint32).view(np.float32)
    check(sortable_bits(77), {"A": a, "B": torch.zeros(77)}, {"A": left, "B": turned}, thorough=True)


def changing_lengths(n: int) -> Any:
    """Loops change what their length was taken from."""

    @T.prim_func
    def main(N: T.Tensor((1,), "int32"), B: T.Tensor((n,), "int32")):
        with T.Kernel(1, threads=1):
            left = T.alloc_var("int32", init=4)
            for i in T.serial(N[0]):
                N[0] = N[0] + 1
                B[i] = i + 1
            for i in T.serial(left):
                left = left - 1
                B[i + 10] = left

    return main


def test_changing_lengths() -> None:
    found = [1, 2, 3, 4, 5, *[0] * 5, 3, 2, 1, 0, *[0] * 6]
    tensors = {"N": torch.tensor([5], dtype=torch.int32), "B": zeros(20)}
    check(changing_lengths(20), tensors, {"N": [10], "B": found}, thorough=True)


def atomics(n: int, dtype: str) -> Any:
    @T.prim_func
    def main(A: T.Tensor((n,), dtype), S: T.Tensor((4,), dtype), M: T.Tensor((2,), dtype)):
        with T.Kernel(T.ceildiv(n, 32), threads=32) as bx:
            tx = T.get_thread_binding()
            if bx * 32 + tx < n:
                T.atomic_add(S[tx % 4], A[bx * 32 + tx])
                T.atomic_max(M[0], A[bx * 32 + tx])
                T.atomic_min(M[1], A[bx * 32 + tx])

    return main


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int64", "uint32"])
def test_atomics(dtype: str) -> None:
    kind = getattr(torch, dtype)
    a = random_integers(60, low=0, high=4).to(kind) if kind.is_floating_point else random_integers(60, dtype=kind)
    numbers = a.double().numpy() if kind.is_floating_point else a.numpy()
    sums = [numbers[np.arange(60) % 32 % 4 == k].sum(dtype=numbers.dtype) for k in range(4)]
    tensors = {"A": a, "S": torch.zeros(4, dtype=kind), "M": a[:2].clone()}
    check(atomics(60, dtype), tensors, {"S": np.array(sums), "M": np.array([numbers.max(), numbers.min()])})


def shared_places(n: int) -> Any:
    """Some elements are stored by several blocks of the grid, others by one that is found by dividing."""

    @T.prim_func
    def main(B: T.Tensor((n,), "int32"), C: T.Tensor((n // 4, 4), "int32")):
        with T.Kernel(n, threads=32) as bx:
            tx = T.get_thread_binding()
            if tx == 0:
                B[bx // 2] = 5
                B[n - 1 - bx % 3] = 6
                C[bx // 4, bx % 4] = bx

    return main


def test_places_of_several_blocks() -> None:
    tensors = {"B": zeros(20), "C": zeros(5, 4)}
    found = {"B": [*[5] * 10, *[0] * 7, *[6] * 3], "C": np.arange(20).reshape(5, 4)}
    check(shared_places(20), tensors, found)
