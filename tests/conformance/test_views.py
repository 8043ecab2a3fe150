"""T.reshape of a block or tensor: the same elements under more axes, fewer, or others."""

from pathlib import Path
from typing import Any

import pytest
import tilelang.language as T
import torch
from three_ways import agree, whole_numbers


def heads_of(n: int, queries: int, heads: int, *, clear: bool) -> Any:
    """Scores of several queries side by side, weighted and summed by head."""

    @T.prim_func
    def main(
        A: T.Tensor((n, queries * heads), "float32"),
        W: T.Tensor((queries, heads), "float32"),
        L: T.Tensor((n, queries), "float32"),
    ):
        with T.Kernel(1, threads=128):
            scores = T.alloc_fragment((n, queries * heads), "float32")
            by_head = T.reshape(scores, (n, queries, heads))
            weights = T.alloc_fragment((queries, heads), "float32")
            logits = T.alloc_fragment((n, queries), "float32")
            T.copy(A, scores)
            T.copy(W, weights)
            T.fill(logits, 5)
            for i, q, h in T.Parallel(n, queries, heads):
                by_head[i, q, h] = T.max(by_head[i, q, h], 0) * weights[q, h]
            T.reduce_sum(by_head, logits, dim=-1, clear=clear)
            T.copy(logits, L)

    return main


@pytest.mark.parametrize(("queries", "heads", "clear"), [(3, 64, True), (4, 32, False), (2, 4, True)])
def test_weighted_sums_by_head(queries: int, heads: int, clear: bool) -> None:
    a, w = whole_numbers(40, queries * heads), whole_numbers(queries, heads)
    found = (a.view(40, queries, heads).clamp(min=0) * w).sum(2) + (0 if clear else 5)
    tensors = {"A": a, "W": w, "L": torch.zeros(40, queries)}
    agree(heads_of(40, queries, heads, clear=clear), tensors, ("L",), reference={"L": found})


# --- views that merge axes ------------------------------------------------------------------------


KERNEL = """
import tilelang.language as T

@T.prim_func
def main(A: T.Tensor({shape}, "float32"), B: T.Tensor({view}, "float32"), C: T.Tensor({shape}, "float32")):
    with T.Kernel(1, threads=128):
        X = T.alloc_shared({shape}, "float32")
        v = T.reshape(X, {view})
        T.copy(A, X)
        for {x} in T.Parallel(*{shape}):
            X[{x}] = X[{x}] + 1
        for {y} in T.Parallel(*{view}):
            v[{y}] = v[{y}] * 2
        T.copy(v, B)
        for {x} in T.Parallel(*{shape}):
            X[{x}] = X[{x}] * 3
        T.copy(X, C)
"""


def changed_through_both(path: Path, shape: tuple[int, ...], view: tuple[int, ...]) -> Any:
    """Written as it was allocated, through the view, and as it was allocated again; stored both ways."""
    x, y = (", ".join("abcd"[: len(axes)]) for axes in (shape, view))
    path.write_text(KERNEL.format(shape=shape, view=view, x=x, y=y))
    scope: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec", dont_inherit=True), scope)
    return scope["main"]


SHAPES = [
    ((64, 32), (2048,)),
    ((2048,), (64, 32)),
    ((40, 24), (960,)),  # rows that are no whole tiles
    ((2, 32, 64), (64, 64)),  # one matrix: what the block is
    ((64, 2, 32), (64, 64)),
    ((64, 32), (1, 64, 1, 32)),
    ((4, 16, 32), (2048,)),
    ((4, 6, 32), (8, 3, 32)),  # axes taken apart and merged
    ((6, 4), (4, 6)),  # nothing in common
]


@pytest.mark.parametrize(("shape", "view"), SHAPES)
def test_a_block_and_its_view_are_the_same_elements(
    tmp_path: Path, shape: tuple[int, ...], view: tuple[int, ...]
) -> None:
    a = whole_numbers(*shape)
    found = {"B": ((a + 1) * 2).view(view), "C": (a + 1) * 6}
    tensors = {"A": a, "B": torch.zeros(view), "C": torch.zeros(shape)}
    agree(changed_through_both(tmp_path / "main.py", shape, view), tensors, ("B", "C"), reference=found)


def operations() -> Any:
    """Tile operations on views: a product, a reduction along merged axes, a transpose, parts that are filled."""

    @T.prim_func
    def main(
        A: T.Tensor((4096,), "float32"),
        W: T.Tensor((64, 32), "float32"),
        P: T.Tensor((2048,), "float32"),
        R: T.Tensor((4,), "float32"),
        F: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((4096,), "float32")
            Y = T.alloc_shared((64, 64), "float32")
            weights = T.alloc_shared((64, 32), "float32")
            product = T.alloc_fragment((2048,), "float32")
            largest = T.alloc_fragment((4,), "float32")
            T.copy(A, X)
            T.copy(W, weights)
            T.clear(T.reshape(product, (64, 32)))
            T.gemm(T.reshape(X, (64, 64)), weights, T.reshape(product, (64, 32)))
            T.copy(product, P)
            T.transpose(T.reshape(X, (64, 64)), Y)
            T.reduce_max(T.reshape(Y, (4, 1024)), largest, dim=1)
            T.copy(largest, R)
            flat = T.reshape(Y, (4096,))
            T.fill(flat[100:200], 9)
            flat[7] = flat[8] + 1
            T.copy(Y, F)

    return main


def test_operations_on_views() -> None:
    a, w = whole_numbers(4096), whole_numbers(64, 32)
    x = a.view(64, 64)
    filled = x.mT.flatten()
    filled[100:200], filled[7] = 9, filled[8] + 1
    found = {"P": (x @ w).flatten(), "R": x.mT.reshape(4, 1024).amax(1), "F": filled.view(64, 64)}
    tensors = {"A": a, "W": w} | {name: torch.zeros(result.shape) for name, result in found.items()}
    agree(operations(), tensors, tuple(found), reference=found)


def tensor_views() -> Any:
    @T.prim_func
    def main(A: T.Tensor((2048,), "float32"), B: T.Tensor((2, 1024), "float32"), C: T.Tensor((64, 32), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 32), "float32")
            rows, parts = T.reshape(A, (64, 32)), T.reshape(B, (2, 32, 32))
            T.copy(rows[bx * 32, 0], X)
            T.copy(X, parts[bx, 0:32, 0:32])
            flat = T.reshape(C, (2048,))
            for i in T.Parallel(1024):
                flat[bx * 1024 + i] = A[bx * 1024 + i] * 2

    return main


def test_views_of_tensors() -> None:
    a = whole_numbers(2048)
    found = {"B": a.view(2, 1024), "C": a.view(64, 32) * 2}
    agree(tensor_views(), {"A": a, "B": torch.zeros(2, 1024), "C": torch.zeros(64, 32)}, ("B", "C"), reference=found)


def tails_of_rows() -> Any:
    """Rows of 40 in blocks of 32 columns: behind the end of a row of the view is nothing, and not the next row."""

    @T.prim_func
    def main(A: T.Tensor((320,), "float32"), B: T.Tensor((320,), "float32"), C: T.Tensor((8, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((8, 32), "float32")
            rows, results = T.reshape(A, (8, 40)), T.reshape(B, (8, 40))
            T.copy(rows[0:8, bx * 32 : bx * 32 + 32], X)
            T.copy(X, C[0:8, bx * 32 : bx * 32 + 32])
            for i, j in T.Parallel(8, 32):
                X[i, j] = X[i, j] + 1
            T.copy(X, results[0:8, bx * 32 : bx * 32 + 32])

    return main


def test_tails_of_rows_of_a_view() -> None:
    a = whole_numbers(320)
    rows = a.view(8, 40)
    found = {"B": a + 1, "C": torch.nn.functional.pad(rows, (0, 24))}
    tensors = {"A": a, "B": torch.zeros(320), "C": torch.zeros(8, 64)}
    agree(tails_of_rows(), tensors, ("B", "C"), reference=found)


def read_here_and_changed_there() -> Any:
    """Conditions and names that were read through one shape, while the other one changes."""

    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64, 32), "float32"), C: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((64, 32), "float32")
            Y = T.alloc_shared((64, 32), "float32")
            rows, flat = T.reshape(X, (2, 32, 32)), T.reshape(Y, (2048,))
            T.copy(A, X)
            T.copy(A, Y)
            for b, i, j in T.Parallel(2, 32, 32):
                if rows[b, i, j] > 0:
                    X[b * 32 + i, j] = -1
                    X[b * 32 + i, j] = X[b * 32 + i, j] - 1
            T.copy(X, B)
            for i in T.serial(3):
                old = Y[i, 1]
                flat[i * 32 + 1] = flat[i * 32 + 2]
                flat[i * 32 + 2] = old
            T.copy(Y, C)

    return main


def test_what_one_shape_changes_the_other_has_read() -> None:
    a = whole_numbers(64, 32)
    swapped = a.clone()
    swapped[:3, 1:3] = a[:3, 1:3].flip(1)
    found = {"B": torch.where(a > 0, -2, a), "C": swapped}
    tensors = {"A": a, "B": torch.zeros(64, 32), "C": torch.zeros(64, 32)}
    agree(read_here_and_changed_there(), tensors, ("B", "C"), reference=found)


def steering_views() -> Any:
    """Numbers that steer, and labels of 64 bits, through other shapes of their tensors."""

    @T.prim_func
    def main(
        N: T.Tensor((4,), "int32"),
        Y: T.Tensor((64,), "int64"),
        A: T.Tensor((64, 32), "float32"),
        B: T.Tensor((2, 32), "float32"),
        C: T.Tensor((2, 32), "int32"),
    ):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32,), "float32")
            L = T.alloc_shared((32,), "int32")
            pairs, labels = T.reshape(N, (2, 2)), T.reshape(Y, (2, 32))
            T.copy(A[pairs[bx, 1], 0:32], X)
            T.copy(X, B[bx, 0:32])
            for j in T.Parallel(32):
                L[j] = T.cast(labels[bx, j], "int32") + 1
            T.copy(L, C[bx, 0:32])

    return main


def test_views_of_tensors_that_steer() -> None:
    n, y, a = torch.tensor([0, 5, 0, 41], dtype=torch.int32), torch.arange(64) % 7, whole_numbers(64, 32)
    found = {"B": a[[5, 41]], "C": (y + 1).to(torch.int32).view(2, 32)}
    tensors = {"N": n, "Y": y, "A": a, "B": torch.zeros(2, 32), "C": torch.zeros(2, 32, dtype=torch.int32)}
    agree(steering_views(), tensors, ("B", "C"), reference=found)
