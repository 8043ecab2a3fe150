"""Blocks with more than two axes: copied whole, and reduced along any of them."""

from typing import Any

import pytest
import tilelang.language as T
import torch
from three_ways import agree, whole_numbers

SHAPE = (3, 64, 40)
REDUCE = {"sum": T.reduce_sum, "max": T.reduce_max, "absmax": T.reduce_absmax}


def scaled(count: int, rows: int, columns: int, blocks: int) -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((blocks, count, rows, columns), "float32"), B: T.Tensor((blocks, count, rows, columns), "float32")
    ):
        with T.Kernel(blocks, threads=128) as bx:
            X = T.alloc_shared((count, rows, columns), "float32")
            T.copy(A[bx, 0, 0, 0], X)
            for n, i, j in T.Parallel(count, rows, columns):
                X[n, i, j] = X[n, i, j] * 2 + n
            T.copy(X, B[bx, 0, 0, 0])

    return main


def test_a_stack_of_matrices_is_copied() -> None:
    a = whole_numbers(3, 4, 64, 32)
    agree(scaled(4, 64, 32, 3), {"A": a, "B": torch.zeros(3, 4, 64, 32)}, ("B",))


def reduced(op: str, dim: int, clear: bool) -> Any:
    left = tuple(extent for axis, extent in enumerate(SHAPE) if axis != dim)

    @T.prim_func
    def main(A: T.Tensor(SHAPE, "float32"), R: T.Tensor(left, "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_fragment(SHAPE, "float32")
            r = T.alloc_fragment(left, "float32")
            T.copy(A, X)
            T.fill(r, 2)
            REDUCE[op](X, r, dim=dim, clear=clear)
            T.copy(r, R)

    return main


@pytest.mark.parametrize(
    ("op", "dim", "clear"), [("sum", 0, False), ("absmax", 0, True), ("max", 1, True), ("sum", 2, False)]
)
def test_a_stack_is_reduced_along(op: str, dim: int, clear: bool) -> None:
    a = whole_numbers(*SHAPE)
    found = {"sum": a.sum(dim), "max": a.amax(dim), "absmax": a.abs().amax(dim)}[op]
    found = found if clear else found + 2  # of the operations here, sums alone take in what was there
    agree(reduced(op, dim, clear), {"A": a, "R": torch.zeros(found.shape)}, ("R",), reference={"R": found})


# --- element-wise statements over more than two axes ------------------------------------------------

N, H, W = SHAPE
OTHERS = {"rows": (H,), "columns": (W,), "numbers": (N,), "matrix": (H, W), "sides": (N, H), "turned": (N, W, H)}


def scaled_by(other: str) -> Any:
    """A stack times what has fewer axes, or its axes in another order."""
    shape = OTHERS[other]

    @T.prim_func
    def main(A: T.Tensor(SHAPE, "float32"), V: T.Tensor(shape, "float32"), B: T.Tensor(SHAPE, "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared(SHAPE, "float32")
            v = T.alloc_shared(shape, "float32")
            T.copy(A, X)
            T.copy(V, v)
            for n, i, j in T.Parallel(N, H, W):
                if other == "rows":
                    X[n, i, j] = X[n, i, j] * v[i] + n
                elif other == "columns":
                    X[n, i, j] = T.if_then_else(v[j] > 0, X[n, i, j], i)
                elif other == "numbers":
                    X[n, i, j] = X[n, i, j] * v[n]
                elif other == "matrix":
                    X[n, i, j] = X[n, i, j] * v[i, j]
                elif other == "sides":
                    X[n, i, j] = X[n, i, j] * v[n, i]
                else:
                    X[n, i, j] = X[n, i, j] * v[n, j, i]
            T.copy(X, B)

    return main


@pytest.mark.parametrize("other", OTHERS)
def test_a_stack_meets(other: str) -> None:
    a, v = whole_numbers(*SHAPE), whole_numbers(*OTHERS[other])
    if other == "rows":
        found = a * v[:, None] + torch.arange(N)[:, None, None]
    elif other == "columns":
        found = torch.where(v > 0, a, torch.arange(H).float()[:, None])
    else:
        axes = {"numbers": "n", "matrix": "ij", "sides": "ni", "turned": "nji"}[other]
        found = torch.einsum(f"nij,{axes}->nij", a, v)
    agree(scaled_by(other), {"A": a, "V": v, "B": torch.zeros(SHAPE)}, ("B",), reference={"B": found})


def moved() -> Any:
    """Axes of blocks and tensors in any order, four of them, and matrices that are looked up."""

    @T.prim_func
    def main(
        A: T.Tensor((5, 3, 4, 40), "float32"),
        P: T.Tensor((3,), "int32"),
        B: T.Tensor((3, 4, 5, 40), "float32"),
        C: T.Tensor((40, 4, 3, 5), "float32"),
        D: T.Tensor((3, 3, 4, 40), "float32"),
    ):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((5, 3, 4, 40), "float32")
            Y = T.alloc_shared((3, 4, 5, 40), "float32")
            Z = T.alloc_shared((3, 3, 4, 40), "float32")
            T.copy(A, X)
            for a, b, c, d in T.Parallel(3, 4, 5, 40):
                Y[a, b, c, d] = X[c, a, b, d] + 1
            T.copy(Y, B)
            for a, b, c, d in T.Parallel(5, 3, 4, 40):
                C[d, c, b, a] = X[a, b, c, d]
            for a, b, c, d in T.Parallel(3, 3, 4, 40):
                Z[a, b, c, d] = A[P[a], b, c, d]
            T.copy(Z, D)

    return main


def test_axes_change_places() -> None:
    a, p = whole_numbers(5, 3, 4, 40), torch.tensor([4, 0, 2], dtype=torch.int32)
    found = {"B": a.permute(1, 2, 0, 3) + 1, "C": a.permute(3, 2, 1, 0), "D": a[p]}
    tensors = {"A": a, "P": p} | {name: torch.zeros(result.shape) for name, result in found.items()}
    agree(moved(), tensors, tuple(found), reference=found)


def some_of_a_tensor() -> Any:
    """Stores of a stack to a tensor under conditions: along tiles, along the stack, along both."""

    @T.prim_func
    def main(A: T.Tensor(SHAPE, "float32"), B: T.Tensor(SHAPE, "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared(SHAPE, "float32")
            T.copy(A, X)
            for n, i, j in T.Parallel(N, H, W):
                if n < 2 and i < 50:
                    B[n, i, j] = X[n, i, j] + n

    return main


def test_some_of_a_tensor() -> None:
    a, b = whole_numbers(*SHAPE), torch.full(SHAPE, 9.0)
    found = b.clone()
    found[:2, :50] = a[:2, :50] + torch.arange(2)[:, None, None]
    agree(some_of_a_tensor(), {"A": a, "B": b}, ("B",), reference={"B": found})


def numbered() -> Any:
    """Positions along any axis of a stack, as numbers and in conditions."""

    @T.prim_func
    def main(A: T.Tensor(SHAPE, "float32"), B: T.Tensor(SHAPE, "float32"), C: T.Tensor(SHAPE, "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared(SHAPE, "float32")
            Y = T.alloc_shared(SHAPE, "float32")
            T.copy(A, X)
            for n, i, j in T.Parallel(N, H, W):
                Y[n, i, j] = X[n, i, j] + j
            T.copy(Y, B)
            for n, i, j in T.Parallel(N, H, W):
                if i < j + 10:
                    X[n, i, j] = Y[n, i, j] * i
            T.copy(X, C)

    return main


def test_positions_in_a_stack() -> None:
    a, i, j = whole_numbers(*SHAPE), torch.arange(H)[:, None], torch.arange(W)
    found = {"B": a + j, "C": torch.where(i < j + 10, (a + j) * i, a)}
    agree(numbered(), {"A": a, "B": torch.zeros(SHAPE), "C": torch.zeros(SHAPE)}, ("B", "C"), reference=found)


def transposed(shape: tuple[int, ...]) -> Any:
    turned = (*shape[:-2], shape[-1], shape[-2])

    @T.prim_func
    def main(A: T.Tensor(shape, "float32"), B: T.Tensor(turned, "float32"), C: T.Tensor(turned, "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared(shape, "float32")
            Y = T.alloc_shared(turned, "float32")
            T.copy(A, X)
            T.transpose(X, Y)
            T.copy(Y, B)
            T.transpose(A, C)

    return main


@pytest.mark.parametrize("shape", [SHAPE, (2, 3, 5, 4), (3, 5, 1)])
def test_matrices_are_transposed(shape: tuple[int, ...]) -> None:
    a = whole_numbers(*shape)
    tensors = {"A": a, "B": torch.zeros(a.mT.shape), "C": torch.zeros(a.mT.shape)}
    agree(transposed(shape), tensors, ("B", "C"), reference={"B": a.mT, "C": a.mT})


def buffered_by_hand(stages: int) -> Any:
    """A product whose operands are fetched ahead, into the matrices of a stack in turn: the last rounds fetch none."""
    M, N, rounds = 64, 32, 5

    @T.prim_func
    def main(
        A: T.Tensor((M, rounds * 32), "bfloat16"),
        B: T.Tensor((rounds * 32, N), "bfloat16"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((stages, M, 32), "bfloat16")
            b = T.alloc_shared((stages, 32, N), "bfloat16")
            c = T.alloc_fragment((M, N), "float32")
            T.clear(c)
            for k in T.serial(stages - 1):
                T.copy(A[:, k * 32 : (k + 1) * 32], a[k, :, :])
                T.copy(B[k * 32 : (k + 1) * 32, :], b[k, :, :])
            for k in T.serial(rounds):
                if k + stages - 1 < rounds:
                    ahead = k + stages - 1
                    T.copy(A[:, ahead * 32 : (ahead + 1) * 32], a[ahead % stages, :, :])
                    T.copy(B[ahead * 32 : (ahead + 1) * 32, :], b[ahead % stages, :, :])
                T.gemm(a[k % stages, :, :], b[k % stages, :, :], c)
            T.copy(c, C)

    return main


@pytest.mark.parametrize("stages", [2, 3])
def test_a_stack_is_filled_ahead(stages: int) -> None:
    a, b = whole_numbers(64, 160, dtype=torch.bfloat16), whole_numbers(160, 32, dtype=torch.bfloat16)
    tensors = {"A": a, "B": b, "C": torch.zeros(64, 32)}
    agree(buffered_by_hand(stages), tensors, ("C",), reference={"C": a.float() @ b.float()})  # its CPU takes no parts
