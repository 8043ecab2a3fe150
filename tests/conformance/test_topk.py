"""Maxima that are compared with what they were found in: to the last bit, on the chip, too."""

from typing import Any

import pytest
import tilelang.language as T
import torch
from three_ways import agree


def largest(m: int, n: int, count: int) -> Any:
    """The largest numbers of every row and where they are: each is found, looked for, and struck out."""

    @T.prim_func
    def main(X: T.Tensor((m, n), "float32"), V: T.Tensor((m, count), "float32"), P: T.Tensor((m, count), "int32")):
        with T.Kernel(m // 32, threads=128) as bx:
            x = T.alloc_fragment((32, n), "float32")
            top = T.alloc_fragment((32,), "float32")
            places = T.alloc_fragment((32, n), "int32")
            place = T.alloc_fragment((32,), "int32")
            T.copy(X[bx * 32, 0], x)
            for k in T.serial(count):
                T.fill(places, -1)
                T.reduce_max(x, top, dim=1)
                for i, j in T.Parallel(32, n):
                    places[i, j] = T.if_then_else(top[i] == x[i, j], j, places[i, j])
                T.reduce_max(places, place, dim=1)
                for i, j in T.Parallel(32, n):
                    x[i, j] = T.if_then_else(top[i] == x[i, j], -10000.0, x[i, j])
                for i in T.Parallel(32):
                    V[bx * 32 + i, k] = top[i]
                    P[bx * 32 + i, k] = place[i]

    return main


@pytest.mark.parametrize("numerics", ["exact", "fast", "chip"])
def test_top_k(numerics: str) -> None:
    x = torch.randn(64, 320, generator=torch.Generator().manual_seed(3))
    x[5] += 1000  # close together
    x[6] *= 1e-30
    x[7, 300] = torch.inf
    values, places = x.topk(3, dim=1)
    tensors = {"X": x, "V": torch.zeros(64, 3), "P": torch.zeros(64, 3, dtype=torch.int32)}
    agree(largest(64, 320, 3), tensors, ("V", "P"), reference={"V": values, "P": places}, numerics=numerics)
