"""Vectors of threads: names for them, functions of both lanes, atomic sums that return what was there."""

import pytest
import tilelang.language as T
import torch
from agreement import check, random_floats, random_integers

pytestmark = pytest.mark.filterwarnings("ignore:.*TT702")


def test_previous_values_of_pairs():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), P: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            P[tx * 2 : tx * 2 + 2] = T.atomic_addx2(A[tx * 2], B[tx * 2], return_prev=True)

    a, b = random_floats(64, seed=1), random_floats(64, seed=2)
    check(main, {"A": a, "B": b, "P": torch.zeros(64)}, {"A": a + b, "P": a}, thorough=True)


def test_previous_values_of_four():
    """Threads add to the same four, one after the other."""

    @T.prim_func
    def main(A: T.Tensor((4,), "float32"), B: T.Tensor((32,), "float32"), P: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=8):
            tx = T.get_thread_binding()
            P[tx * 4 : tx * 4 + 4] = T.atomic_addx4(A[0], B[tx * 4], return_prev=True)

    a, b = random_floats(4, seed=1), random_floats(32, seed=2)
    sums = [a]
    for part in b.view(8, 4):
        sums.append(sums[-1] + part)
    check(main, {"A": a, "B": b, "P": torch.zeros(32)}, {"A": sums[-1], "P": torch.cat(sums[:-1])})


def test_functions_of_pairs():
    @T.prim_func
    def main(A: T.Tensor((64,), "float16"), B: T.Tensor((64,), "float16"), C: T.Tensor((4, 64), "float16")):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            x = A[tx * 2 : tx * 2 + 2]
            y = B[tx * 2 : tx * 2 + 2]
            C[0, tx * 2 : tx * 2 + 2] = T.sub2(T.add2(x, y), T.mul2(x, y))
            C[1, tx * 2 : tx * 2 + 2] = T.max2(T.abs2(x), T.min2(x, y))
            C[2, tx * 2 : tx * 2 + 2] = T.fma2(x, y, y)
            C[3, tx * 2 : tx * 2 + 2] = T.sqrt(T.abs2(x))

    a, b = random_floats(64, seed=1, dtype=torch.float16), random_floats(64, seed=2, dtype=torch.float16)
    wide = (a.double() * b.double() + b.double()).half()
    rows = [(a + b) - a * b, torch.maximum(a.abs(), torch.minimum(a, b)), wide, a.abs().double().sqrt().half()]
    check(main, {"A": a, "B": b, "C": torch.zeros(4, 64).half()}, {"C": torch.stack(rows)}, thorough=True)


def test_vector_keeps_what_it_was_named_for():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=16):
            tx = T.get_thread_binding()
            before = A[tx * 4 : tx * 4 + 4]
            A[tx * 4 : tx * 4 + 4] = B[tx * 4 : tx * 4 + 4]
            C[tx * 4 : tx * 4 + 4] = before

    a, b = random_floats(64, seed=1), random_floats(64, seed=2)
    check(main, {"A": a, "B": b, "C": torch.zeros(64)}, {"A": b, "C": a}, thorough=True)


def test_products_of_four_bytes():
    @T.prim_func
    def main(A: T.Tensor((64,), "int8"), B: T.Tensor((64,), "int8"), C: T.Tensor((16,), "int32")):
        with T.Kernel(1, threads=16):
            tx = T.get_thread_binding()
            T.dp4a(A[tx * 4], B[tx * 4], C[tx])

    a, b = (random_integers(64, seed=seed, dtype=torch.int8) for seed in (1, 2))
    c = random_integers(16, seed=3, low=-100, high=100)
    wanted = c + (a.int() * b.int()).view(16, 4).sum(1).int()
    check(main, {"A": a, "B": b, "C": c}, {"C": wanted}, thorough=True)


def test_clamped_nan_stays_nan():
    @T.prim_func
    def main(A: T.Tensor((32,), "float32"), L: T.Tensor((32,), "float32"), C: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            C[tx] = T.clamp(A[tx], L[tx], 0.5)

    a, low = random_floats(32, seed=1), random_floats(32, seed=2) - 1
    a[3], low[5] = torch.nan, torch.nan
    check(main, {"A": a, "L": low, "C": torch.zeros(32)}, {"C": torch.clamp(a, low, torch.full((32,), 0.5))})


def test_names_of_the_compiler_are_free():
    """Variables may have the names of functions that scalar code calls."""

    @T.prim_func
    def main(A: T.Tensor((32,), "float32"), cut: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=32):
            larger = T.get_thread_binding()
            round_up = T.alloc_local((1,), "float32")
            round_up[0] = T.max(A[larger], 0.5)
            cut[larger] = T.cast(T.ieee_add(round_up[0], 1e-20, "ru") * 1e7, "int32")

    a = random_floats(32, seed=1)
    up = torch.nextafter(torch.clamp(a, min=0.5), torch.tensor(torch.inf))
    check(main, {"A": a, "cut": torch.zeros(32).int()}, {"cut": (up * 1e7).int()})


def test_slice_keeps_what_it_was_named_for():
    """The same without a thread index."""

    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            before = A[0:64]
            A[0:64] = B[0:64]
            C[0:64] = before

    a, b = random_floats(64, seed=1), random_floats(64, seed=2)
    check(main, {"A": a, "B": b, "C": torch.zeros(64)}, {"A": b, "C": a})


def test_vector_from_before_the_start():
    """Lanes below zero count from the end, and so does an index that is known to be negative."""

    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((5, 4), "float32")):
        with T.Kernel(1, threads=1):
            for t in T.serial(4):
                B[t, 0:4] = A[T.Ramp(t - 2, 1, 4)]
            for t in T.serial(4):
                B[4, t] = A[t - 8]

    a = random_floats(64, seed=1)
    places = torch.arange(4)[:, None] - 2 + torch.arange(4)
    rows = torch.cat([a[places], a[None, 56:60]])
    check(main, {"A": a, "B": torch.zeros(5, 4)}, {"B": rows})


def test_another_name_for_a_thread_index():
    @T.prim_func
    def main(A: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.launch_thread("threadIdx.x", 64)
            A[63 - tx] = tx

    check(main, {"A": torch.zeros(64).int()}, {"A": torch.arange(63, -1, -1).int()})
