"""Blocks that differ in how much they do are dealt evenly, unless the user says how they are dealt."""

from typing import Any

import pytest
import tilelang.language as T
import torch
from placed import check, compiled, whole

HEADS, LENGTH, BLOCK = 4, 256, 32


def below(heads: int, length: int, *, uneven: bool = True) -> Any:
    """Of each block of rows the product with the sum of all blocks up to it; `uneven`: read with just these."""

    @T.prim_func
    def main(
        A: T.Tensor((heads, length, BLOCK), "bfloat16"),
        B: T.Tensor((heads, length, BLOCK), "bfloat16"),
        C: T.Tensor((heads, length, BLOCK), "float32"),
    ):
        with T.Kernel(length // BLOCK, heads, threads=128) as (bx, by):
            a = T.alloc_shared((BLOCK, BLOCK), "bfloat16")
            b = T.alloc_shared((BLOCK, BLOCK), "bfloat16")
            c = T.alloc_fragment((BLOCK, BLOCK), "float32")
            T.clear(c)
            T.copy(A[by, bx * BLOCK, 0], a)
            for k in T.serial(bx + 1 if uneven else 1):
                T.copy(B[by, k * BLOCK, 0], b)
                T.gemm(a, b, c, transpose_B=True)
            T.copy(c, C[by, bx * BLOCK, 0])

    return main


EVENED = (
    "blocks differ in how much they do, so they are dealt in turn, down the columns: the busiest core does 52 "
    "statements, not 64 as in runs; 48 on average"
)


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
def test_results_and_reason(arch: str) -> None:
    a, b = whole(HEADS, LENGTH, BLOCK, most=1), whole(HEADS, LENGTH, BLOCK, most=1, seed=1)
    sums = b.double().view(HEADS, -1, BLOCK, BLOCK).cumsum(1)
    expected = (a.double().view(HEADS, -1, BLOCK, BLOCK) @ sums.transpose(2, 3)).reshape(a.shape)
    tensors = {"A": a, "B": b, "C": torch.zeros(a.shape)}
    kernel = check(below(HEADS, LENGTH), tensors, {"C": expected}, arch=arch, grid="4x2")
    assert "so they are dealt in turn, down the columns" in kernel.explain()


def test_reason_has_figures() -> None:
    assert EVENED in compiled(below(HEADS, LENGTH), grid="4x2").explain(whole=True)


@pytest.mark.parametrize("schedule", [{"policy": "contiguous"}, {"order": "row"}, {"cores": "4x2"}])
def test_what_is_said_wins(schedule: dict[str, Any]) -> None:
    assert "blocks differ" not in compiled(below(HEADS, LENGTH), grid="4x2", schedule=schedule).explain(whole=True)


def test_even_blocks_are_left() -> None:
    assert "blocks differ" not in compiled(below(HEADS, LENGTH, uneven=False), grid="4x2").explain(whole=True)
    one_each = compiled(below(2, 128), grid="4x2").explain(whole=True)  # nothing could be dealt better
    assert "blocks differ" not in one_each


@pytest.mark.parametrize("arch", ["wormhole_b0"])  # more cores have fewer blocks each, and less to even out
def test_it_takes_less_time(arch: str) -> None:
    evened, runs = (
        compiled(below(8, 1024), arch=arch, **options).estimate().microseconds
        for options in ({}, {"schedule": {"policy": "contiguous"}})
    )
    assert evened < 0.85 * runs
