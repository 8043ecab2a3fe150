"""T.reshape of a block: the same elements under more axes."""

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
