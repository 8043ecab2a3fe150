"""T.cumsum and T.cummax, along either axis, in either direction, in place or not."""

from typing import Any

import pytest
import tilelang.language as T
import torch
from three_ways import agree, whole_numbers


def scanned(shape: tuple[int, ...], dtype: str, kind: str, dim: int, reverse: bool, in_place: bool) -> Any:
    scan = getattr(T, kind)

    @T.prim_func
    def main(A: T.Tensor(shape, dtype), B: T.Tensor(shape, dtype)):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared(shape, dtype)
            b = T.alloc_fragment(shape, dtype)
            T.copy(A, a)
            if in_place:
                scan(a, dim=dim, reverse=reverse)
                T.copy(a, B)
            else:
                scan(a, b, dim=dim, reverse=reverse)
                T.copy(b, B)

    return main


@pytest.mark.parametrize(
    ("shape", "dtype", "kind", "dim", "reverse", "in_place"),
    [
        ((100,), "float32", "cumsum", 0, False, True),
        ((32, 40), "float32", "cumsum", 1, False, False),
        ((40, 32), "float32", "cumsum", 0, True, True),
        ((2, 16, 32), "int32", "cumsum", -1, False, False),
        ((32, 32), "bfloat16", "cummax", 1, True, False),
    ],
)
def test_scan(shape: tuple[int, ...], dtype: str, kind: str, dim: int, reverse: bool, in_place: bool) -> None:
    a = whole_numbers(*shape, dtype=getattr(torch, dtype))
    ahead = a.flip(dim) if reverse else a
    found = ahead.cumsum(dim) if kind == "cumsum" else ahead.cummax(dim).values
    tensors = {"A": a, "B": torch.zeros_like(a)}
    reference = {"B": found.flip(dim) if reverse else found}
    agree(scanned(shape, dtype, kind, dim, reverse, in_place), tensors, ("B",), reference=reference)
