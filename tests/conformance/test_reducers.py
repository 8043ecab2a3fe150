"""T.alloc_reducer in both of its forms, and loops inside T.Parallel: three ways agree."""

from typing import Any

import pytest
import tilelang.language as T
import torch
from three_ways import agree, whole_numbers


def matrix_vector(m: int, n: int) -> Any:
    """The older form: a fragment that every iteration adds to."""

    @T.prim_func
    def main(A: T.Tensor((m, n), "bfloat16"), X: T.Tensor((n,), "bfloat16"), Y: T.Tensor((m,), "float32")):
        with T.Kernel(T.ceildiv(m, 64), threads=128) as bx:
            total = T.alloc_reducer(64, "float32", replication="all")
            T.clear(total)
            for k in T.Pipelined(T.ceildiv(n, 32), num_stages=2):
                a = T.alloc_shared((64, 32), "bfloat16")
                x = T.alloc_fragment(32, "bfloat16")
                T.copy(A[bx * 64, k * 32], a)
                T.copy(X[k * 32], x)
                for i, j in T.Parallel(64, 32):
                    total[i] += a[i, j] * x[j]
            T.finalize_reducer(total)
            T.copy(total, Y[bx * 64])

    return main


@pytest.mark.filterwarnings("ignore:alloc_reducer:DeprecationWarning")
@pytest.mark.parametrize(("m", "n"), [(128, 96), (100, 70)])
def test_a_fragment_that_every_iteration_adds_to(m: int, n: int) -> None:
    a, x = whole_numbers(m, n, dtype=torch.bfloat16), whole_numbers(n, dtype=torch.bfloat16)
    reference = {"Y": a.float() @ x.float()}
    agree(matrix_vector(m, n), {"A": a, "X": x, "Y": torch.zeros(m)}, ("Y",), reference=reference)


def extremes(op: str, limit: int) -> Any:
    @T.prim_func
    def main(A: T.Tensor((128, 96), "float32"), Y: T.Tensor((128,), "float32")):
        with T.Kernel(2, threads=128) as bx:
            found = T.alloc_reducer(64, "float32", op=op)
            result = T.alloc_fragment(64, "float32")
            a = T.alloc_shared((64, 32), "float32")
            T.reducer_init(found)
            for k in T.serial(3):
                T.copy(A[bx * 64, k * 32], a)
                for j, i in T.Parallel(32, 64):
                    if k * 32 + j < limit:
                        T.reducer_update(found[i], a[i, j])
            T.finalize_reducer(found, result)
            T.copy(result, Y[bx * 64])

    return main


@pytest.mark.parametrize(("op", "limit"), [("sum", 96), ("max", 50), ("min", 96)])
def test_the_newer_form_under_a_condition(op: str, limit: int) -> None:
    a = whole_numbers(128, 96)
    kept = a[:, :limit]
    found = {"sum": kept.sum(1), "max": kept.amax(1), "min": kept.amin(1)}[op]
    agree(extremes(op, limit), {"A": a, "Y": torch.zeros(128)}, ("Y",), reference={"Y": found})


def powers() -> Any:
    """A loop inside T.Parallel: every element goes its own rounds."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32"), C: T.Tensor((3, 64), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "float32")
            total = T.alloc_fragment((64, 64), "float32")
            power = T.alloc_fragment((64, 64), "float32")
            T.copy(A, a)
            for i, j in T.Parallel(64, 64):
                total[i, j] = 0
                power[i, j] = 1
                for k in T.serial(1, 4):
                    power[i, j] *= a[i, j]
                    if j < 16 * k:
                        total[i, j] += k * power[i, j] + C[k - 1, j]
            T.copy(total, B)

    return main


def test_a_loop_inside_parallel() -> None:
    tensors = {"A": whole_numbers(64, 64), "B": torch.zeros(64, 64), "C": whole_numbers(3, 64)}
    agree(powers(), tensors, ("B",))


def scaled_rows() -> Any:
    """A store of one element outside T.Parallel."""

    @T.prim_func
    def main(
        A: T.Tensor((4, 64, 64), "float32"), B: T.Tensor((4, 64, 64), "float32"), Largest: T.Tensor((4,), "float32")
    ):
        with T.Kernel(4, threads=128) as bx:
            a = T.alloc_shared((64, 64), "float32")
            rows = T.alloc_fragment((64,), "float32")
            top = T.alloc_fragment((1,), "float32")
            T.copy(A[bx, 0, 0], a)
            T.reduce_absmax(a, rows, dim=1)
            T.reduce_max(rows, top, dim=0)
            for i, j in T.Parallel(64, 64):
                B[bx, i, j] = a[i, j] * top[0]
            Largest[bx] = T.max(top[0], 2.5)

    return main


def test_one_element_stored_outside_parallel() -> None:
    tensors = {"A": whole_numbers(4, 64, 64), "B": torch.zeros(4, 64, 64), "Largest": torch.zeros(4)}
    agree(scaled_rows(), tensors, ("B", "Largest"))


def outer_products(n: int, *, parallel: bool) -> Any:
    """A reducer that more than two loops walk, or that serial loops around T.Parallel do, and one that starts later."""
    around = T.Parallel if parallel else T.serial

    @T.prim_func
    def main(
        A: T.Tensor((4, n), "float32"),
        B: T.Tensor((3, n), "float32"),
        P: T.Tensor((4, 3), "float32"),
        S: T.Tensor((5,), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_fragment((4, n), "float32")
            b = T.alloc_fragment((3, n), "float32")
            product = T.alloc_reducer((4, 3), "float32", op="sum")
            sums = T.alloc_reducer(5, "float32", op="sum")
            p = T.alloc_fragment((4, 3), "float32")
            s = T.alloc_fragment(5, "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.reducer_init(product)
            T.reducer_init(sums)
            for i in around(4):
                for j in around(3):
                    for k in T.Parallel(n):
                        T.reducer_update(product[i, j], a[i, k] * b[j, k])
            for i, k in T.Parallel(4, n):
                T.reducer_update(sums[i + 1], a[i, k])
            T.finalize_reducer(product, p)
            T.finalize_reducer(sums, s)
            T.copy(p, P)
            T.copy(s, S)

    return main


@pytest.mark.parametrize("parallel", [True, False])
def test_a_reducer_at_any_place(parallel: bool) -> None:
    a, b = whole_numbers(4, 64), whole_numbers(3, 64)
    found = {"P": a @ b.T, "S": torch.cat([torch.zeros(1), a.sum(1)])}
    tensors = {"A": a, "B": b, "P": torch.zeros(4, 3), "S": torch.zeros(5)}
    agree(outer_products(64, parallel=parallel), tensors, ("P", "S"), reference=found)
