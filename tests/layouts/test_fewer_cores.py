"""Fewer cores run blocks than hold shards: the blocks behind a core's own shard lie on other cores."""

from typing import Any

import pytest
import tilelang.language as T
import torch
from layout_kernels import chain, gemm
from placed import check, compiled, whole

HEIGHT = {"memory": "L1", "shard": "height", "grid": (4, 1)}
FEWER: list[dict[str, Any]] = [
    {"cores": "1x1"},
    {"cores": "2x1"},
    {"policy": "strided", "cores": "2x1"},
    {"policy": "rectangle", "cores": "1x1"},
    {"units": [[0, 1], [2], [3]]},
    {"units": [[0, 1, 2, 3]]},
]


@pytest.mark.parametrize("schedule", FEWER, ids=str)
def test_sizes_known_to_the_compiler(schedule: dict[str, Any]) -> None:
    a, b = whole(128, 32), whole(128, 32, seed=1)
    tensors = {"A": a, "B": b, "C": torch.zeros_like(a)}
    for names in ("A", "C", "ABC"):
        layout = dict.fromkeys(names, HEIGHT)
        check(chain(128, 32, (32, 32)), tensors, {"C": a * b + a - 1}, layout, schedule=schedule)


def test_products() -> None:
    a, b = whole(128, 64, most=1), whole(64, 64, most=1, seed=1)
    tensors = {"A": a, "B": b, "C": torch.zeros(128, 64, dtype=torch.bfloat16)}
    layout = dict.fromkeys("AC", HEIGHT)
    check(gemm(128, 64, 64, (32, 64, 32)), tensors, {"C": a.double() @ b.double()}, layout, schedule={"cores": "2x1"})


@pytest.mark.parametrize("schedule", FEWER[:4], ids=str)
def test_sizes_known_at_the_call(schedule: dict[str, Any]) -> None:
    layout = dict.fromkeys("ABC", HEIGHT)
    kernel = compiled(chain(T.dynamic("m"), 32, (32, 32)), layout, schedule=schedule)
    for rows in (128, 32, 64, 256):
        a, b = whole(rows, 32), whole(rows, 32, seed=1)
        c = torch.full_like(a, 7)
        kernel(a, b, c)
        assert torch.equal(c, a * b + a - 1), rows
