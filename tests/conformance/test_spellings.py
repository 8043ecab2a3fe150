"""Tile kernels in the ways people write them: loops of every kind, variables, slices, operations on tensors."""

from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from three_ways import agree, raised, whole_numbers

from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.tile import Gemm, Loop


def nested(outer: Any, inner: Any) -> Any:
    """A product as three loops, and a scaling of its rows."""

    @T.prim_func
    def main(A: T.Tensor((32, 4), "float32"), B: T.Tensor((4, 64), "float32"), C: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((32, 4), "float32")
            b = T.alloc_shared((4, 64), "float32")
            c = T.alloc_fragment((32, 64), "float32")
            r = T.alloc_fragment((32,), "float32")
            T.copy(A, a)
            T.copy(B, b)
            for i in outer(32):
                r[i] = i + 1
                for j in inner(64):
                    c[i, j] = 0
            for i in outer(32):
                for j in inner(64):
                    for k in T.serial(4):
                        c[i, j] += a[i, k] * b[k, j]
                for j in inner(64):
                    c[i, j] = c[i, j] * r[i]
            T.copy(c, C)

    return main


@pytest.mark.parametrize("inner", [T.serial, T.Parallel, T.vectorized, T.unroll])
def test_independent_rounds(inner: Any) -> None:
    a, b = whole_numbers(32, 4), whole_numbers(4, 64)
    found = (a @ b) * torch.arange(1, 33)[:, None]
    kernel = nested(T.serial, inner)
    agree(kernel, {"A": a, "B": b, "C": torch.zeros(32, 64)}, ("C",), reference={"C": found})
    body = list(walk(raised(kernel).body))
    assert not any(isinstance(stmt, Loop) for stmt in body)
    assert sum(isinstance(stmt, Gemm) for stmt in body) == 3  # of float32 in pieces


def by_eights() -> Any:
    @T.prim_func
    def main(A: T.Tensor((512,), "float32"), B: T.Tensor((512,), "float32")):
        with T.Kernel(2, threads=128) as bx:
            for i in T.Parallel(32):
                for v in T.vectorized(8):
                    at = bx * 256 + i * 8 + v
                    B[at] = T.round(A[at] / 4, "ties-away-from-zero")

    return main


def test_two_loops_that_are_one() -> None:
    a = whole_numbers(512, low=-20, high=20)
    found = torch.trunc(a / 4 + torch.sign(a) / 2)
    agree(by_eights(), {"A": a, "B": torch.zeros(512)}, ("B",), reference={"B": found})
    launch = raised(by_eights())
    assert not any(isinstance(stmt, Loop) for stmt in walk(launch.body))


def row_by_row(count: int) -> Any:
    @T.prim_func
    def main(A: T.Tensor((count, 32, 64), "float32"), B: T.Tensor((count, 32, 64), "float32")):
        with T.Kernel(1, threads=128):
            for n in T.serial(count):
                for i, j in T.Parallel(32, 64):
                    B[n, i, j] = A[n, i, j] * 2

    return main


def test_a_loop_over_matrices_needs_one_at_a_time() -> None:
    launch = raised(row_by_row(400))
    assert {buffer.shape for buffer in launch.buffers} == {(32, 64)}


def running(step: int) -> Any:
    @T.prim_func
    def main(A: T.Tensor((8, 64), "float32"), B: T.Tensor((8, 64), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((8, 64), "float32")
            T.copy(A, a)
            for i in T.serial(8 - step):
                for j in T.Parallel(64):
                    a[i + step, j] = a[i + step, j] + a[i, j]
            T.copy(a, B)

    return main


def test_rounds_that_see_each_other_stay_in_order() -> None:
    agree(running(1), {"A": whole_numbers(8, 64), "B": torch.zeros(8, 64)}, ("B",))


def first_few(count: int) -> Any:
    @T.prim_func
    def main(A: T.Tensor((128,), "float32"), N: T.Tensor((1,), "int32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            v = T.alloc_var("float32")
            k = T.alloc_var("int32")
            at = T.alloc_local((1,), "int32")
            at[0] = N[0]
            T.fill(B, 7)
            for i in T.Parallel(T.min(at[0], count)):
                v = A[i] * 2
                k = i
                if v > 0:
                    v = v + k
                T.device_assert(i < count)
                B[i] = v + 1

    return main


def test_variables_of_iterations_and_extents_known_at_run_time() -> None:
    a = whole_numbers(128)
    doubled = a * 2
    found = torch.where(doubled > 0, doubled + torch.arange(128), doubled) + 1
    found[50:] = 7
    tensors = {"A": a, "N": torch.tensor([50], dtype=torch.int32), "B": torch.zeros(128)}
    agree(first_few(128), tensors, ("B",), reference={"B": found})


def where_any() -> Any:
    @T.prim_func
    def main(
        M: T.Tensor((4, 3), "bool"),
        P: T.Tensor((4,), "int32"),
        A: T.Tensor((128, 32), "float32"),
        B: T.Tensor((128, 32), "float32"),
    ):
        with T.Kernel(4, threads=128) as bx:
            X = T.alloc_shared((32, 32), "float32")
            at = T.alloc_local((1,), "int32")
            T.fill(X, bx + 1)
            at[0] = P[bx]
            if T.any_of(M[bx, 0:3]):
                T.copy(A[at[0] * 32, 0], X)
            if T.all_of(M[bx, 0:2]):
                for i, j in T.Parallel(32, 32):
                    X[i, j] += 1
            T.copy(X, B[bx * 32, 0])

    return main


def test_tests_of_several_elements() -> None:
    mask = torch.tensor([[1, 1, 0], [0, 0, 0], [0, 0, 1], [0, 1, 1]], dtype=torch.bool)
    places = torch.tensor([2, 0, 3, 1], dtype=torch.int32)
    a = whole_numbers(128, 32)
    found = torch.cat(
        [
            a[p * 32 :][:32] if m.any() else torch.full((32, 32), n + 1.0)
            for n, (p, m) in enumerate(zip(places, mask, strict=True))
        ]
    )
    found[:32] += 1
    tensors = {"M": mask, "P": places, "A": a, "B": torch.zeros(128, 32)}
    agree(where_any(), tensors, ("B",), reference={"B": found})


def of_tensors() -> Any:
    """Operations on boxes of tensors, and a slice that is assigned."""

    @T.prim_func
    def main(
        A: T.Tensor((64, 96), "float32"),
        B: T.Tensor((96, 64), "float32"),
        C: T.Tensor((64, 64), "float32"),
        D: T.Tensor((64,), "float32"),
    ):
        with T.Kernel():
            T.transpose(A, B)
            T.gemm(A[0:64, 32:96], A[0:64, 0:64], C, clear_accum=True)
            row = A[3, 32:96]
            D[0:64] = row

    return main


def test_operations_on_tensors() -> None:
    a = whole_numbers(64, 96)
    found = {"B": a.T, "C": a[:, 32:] @ a[:, :64], "D": a[3, 32:]}
    tensors = {"A": a, "B": torch.zeros(96, 64), "C": torch.zeros(64, 64), "D": torch.zeros(64)}
    agree(of_tensors(), tensors, ("B", "C", "D"), reference=found)


def padded() -> Any:
    @T.prim_func
    def main(A: T.Tensor((70, 75), "float32"), B: T.Tensor((96, 96), "float32"), C: T.Tensor((96, 96), "float32")):
        with T.Kernel(3, 3, threads=128) as (bx, by):
            T.annotate_safe_value({A: -9})
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], X)
            T.copy(X, B[by * 32, bx * 32])
            for i, j in T.Parallel(32, 32):
                C[by * 32 + i, bx * 32 + j] = A[by * 32 + i, bx * 32 + j] + 1

    return main


def test_what_lies_beyond_a_tensor_is_said() -> None:
    a = whole_numbers(70, 75)
    found = torch.full((96, 96), -9.0)
    found[:70, :75] = a
    tensors = {"A": a, "B": torch.zeros(96, 96), "C": torch.zeros(96, 96)}
    agree(padded(), tensors, ("B", "C"), reference={"B": found, "C": found + 1})


def strided(columns: Any) -> Any:
    @T.prim_func
    def main(A: T.StridedTensor((64, 96), (columns, 1), "float32"), B: T.StridedTensor((64, 96), (1, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 96), "float32")
            T.copy(A[bx * 32, 0], X)
            T.copy(X, B[bx * 32, 0])

    return main


@pytest.mark.parametrize("columns", [128, None])
def test_tensors_that_lie_with_strides(columns: int | None) -> None:
    kernel = tilelang.compile(strided(columns or T.dynamic("columns")), target="tenstorrent")
    a, b = whole_numbers(64, 128), torch.zeros(96, 64)
    kernel(a[:, :96], b.T)
    assert torch.equal(b.T, a[:, :96])


def counted() -> Any:
    @T.prim_func
    def main(N: T.Tensor((4, 8), "int32")):
        with T.Kernel(4, 8, threads=128) as (bx, by):
            N[bx, by] += 1

    return main


def test_a_whole_number_of_a_tensor_is_counted_up() -> None:
    numbers = whole_numbers(4, 8, dtype=torch.int32)
    agree(counted(), {"N": numbers}, ("N",), reference={"N": numbers + 1})
