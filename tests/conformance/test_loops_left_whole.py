"""Loops in which a sum is a part of what is done stay loops: nothing is kept for every round of them."""

from typing import Any

import tilelang.language as T
import torch
from three_ways import TWO_CORES, agree, whole_numbers

from tilelang_tt.pipeline import run_passes


def combined(parts: int = 6) -> Any:
    """What the combining kernel of a split attention does, without exponentials."""

    @T.prim_func
    def main(
        P: T.Tensor((parts, 64, 64), "float32"), W: T.Tensor((parts, 64), "float32"), C: T.Tensor((64, 64), "float32")
    ):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            part = T.alloc_shared((32, 32), "float32")
            weight = T.alloc_shared((32,), "float32")
            twice = T.alloc_fragment((32,), "float32")
            total = T.alloc_fragment((32, 32), "float32")
            share = T.alloc_fragment((32,), "float32")
            T.clear(total)
            T.clear(share)
            for s in T.Pipelined(parts, num_stages=2):
                T.copy(W[s, by * 32 : by * 32 + 32], weight)
                T.copy(P[s, by * 32 : by * 32 + 32, bx * 32 : bx * 32 + 32], part)
                for i in T.Parallel(32):
                    twice[i] = weight[i] * 2
                for i in T.Parallel(32):
                    share[i] += twice[i]
                for i, j in T.Parallel(32, 32):
                    total[i, j] += part[i, j] * twice[i]
            for i, j in T.Parallel(32, 32):
                total[i, j] += share[i]
            T.copy(total, C[by * 32, bx * 32])

    return main


def test_a_sum_beside_other_statements_keeps_its_loop() -> None:
    program, (kernels,) = run_passes(combined(), TWO_CORES, lambda *_: None)
    assert not any(decision.stage == "raise_products" for decision in program.decisions)
    assert {cb.name for cb in kernels.cbs.values()}.isdisjoint({"weight_each", "part_each", "twice_each"})
    given = {"P": whole_numbers(6, 64, 64), "W": whole_numbers(6, 64), "C": torch.zeros(64, 64)}
    weights = 2 * given["W"].double()
    total = (given["P"].double() * weights[:, :, None]).sum(0) + weights.sum(0)[:, None]
    agree(combined(), given, ("C",), reference={"C": total.float()})
