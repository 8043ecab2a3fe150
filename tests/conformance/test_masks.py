"""Masks by position, before and after a product, in blocks that the border crosses in every way: three ways agree."""

from typing import Any

import pytest
import tilelang.language as T
import torch
from three_ways import agree, whole_numbers

LENGTH = 192
BORDERS = {
    "causal": lambda row, col: row >= col,
    "strictly below": lambda row, col: row > col,
    "window": lambda row, col: row - col < 100,
    "both": lambda row, col: T.And(row >= col, row - col < 40),
    "columns": lambda row, col: col < 77,
    "steep": lambda row, col: 3 * row >= 2 * col + 17,
}


def masked_scores(border: str, block_m: int, block_n: int, fill: float, *, afterwards: bool) -> Any:
    holds = BORDERS[border]

    @T.prim_func
    def main(
        Q: T.Tensor((LENGTH, 32), "bfloat16"),
        K: T.Tensor((LENGTH, 32), "bfloat16"),
        S: T.Tensor((LENGTH, LENGTH), "float32"),
    ):
        with T.Kernel(T.ceildiv(LENGTH, block_n), T.ceildiv(LENGTH, block_m), threads=128) as (bx, by):
            q = T.alloc_shared((block_m, 32), "bfloat16")
            k = T.alloc_shared((block_n, 32), "bfloat16")
            s = T.alloc_fragment((block_m, block_n), "float32")
            T.copy(Q[by * block_m, 0], q)
            T.copy(K[bx * block_n, 0], k)
            if afterwards:
                T.gemm(q, k, s, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(block_m, block_n):
                    s[i, j] = T.if_then_else(holds(by * block_m + i, bx * block_n + j), s[i, j], T.float32(fill))
            else:
                for i, j in T.Parallel(block_m, block_n):
                    s[i, j] = T.if_then_else(holds(by * block_m + i, bx * block_n + j), 0.0, T.float32(fill))
                T.gemm(q, k, s, transpose_B=True)
            T.copy(s, S[by * block_m, bx * block_n])

    return main


@pytest.mark.parametrize("afterwards", [False, True])
@pytest.mark.parametrize(("block_m", "block_n"), [(64, 64), (32, 96), (48, 64)])
@pytest.mark.parametrize("border", BORDERS)
def test_masked_scores(border: str, block_m: int, block_n: int, afterwards: bool) -> None:
    tensors = {
        "Q": whole_numbers(LENGTH, 32, dtype=torch.bfloat16),
        "K": whole_numbers(LENGTH, 32, low=-2, high=3, dtype=torch.bfloat16),
        "S": torch.zeros(LENGTH, LENGTH),
    }
    rows, cols = torch.meshgrid(torch.arange(LENGTH), torch.arange(LENGTH), indexing="ij")
    holds = (rows >= cols) & (rows - cols < 40) if border == "both" else BORDERS[border](rows, cols)
    scores = tensors["Q"].float() @ tensors["K"].float().T
    fill = -1024.0 if block_m == 64 else -100001.0  # the second one has more bits than a bfloat16
    expected = torch.where(holds, scores, torch.tensor(fill) + (0 if afterwards else scores))
    func = masked_scores(border, block_m, block_n, fill, afterwards=afterwards)
    agree(func, tensors, ("S",), reference={**tensors, "S": expected})
