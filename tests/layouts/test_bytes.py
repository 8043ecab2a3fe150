"""Bytes over the NoC by layout: the table of docs/layouts_and_schedules.md, measured. UPDATE_GOLDEN=1 rewrites it."""

import os
from pathlib import Path
from typing import Any

import pytest
import tilelang
import torch
from layout_kernels import attention, chain, gemm, rms_norm, softmax
from placed import compiled, moved

PAGE = Path(__file__).parents[2] / "docs" / "layouts_and_schedules.md"
BEGIN, END = "<!-- bytes moved: begin -->", "<!-- bytes moved: end -->"
SIZE = 256  # of every matrix: 8 x 8 tiles, 131,072 B in bfloat16
BYTES = SIZE * SIZE * 2

SENT = "with `multicast`"
INTERLEAVED = {"memory": "L1"}
HEIGHT = {"memory": "L1", "shard": "height", "grid": (4, 1)}
BLOCK = {"memory": "L1", "shard": "block", "grid": (4, 4)}
HALVES, IN_ROWS = {"tile": (16, 32)}, {"pages": "row"}
HEIGHT_16 = {"memory": "L1", "shard": "height", "grid": "4x4"}
ROWS: tuple[tuple[str, str, Any, dict[str, Any], int], ...] = (  # name, layout in words, kernel, layouts, inputs
    ("three operations on elements", "all in DRAM", chain(SIZE, SIZE, (64, 64)), {}, 2),
    ("", "all in L1, interleaved", chain(SIZE, SIZE, (64, 64)), dict.fromkeys("ABC", INTERLEAVED), 2),
    ("", "A, C block-sharded", chain(SIZE, SIZE, (64, 64)), {"A": BLOCK, "C": BLOCK}, 2),
    ("", "all block-sharded", chain(SIZE, SIZE, (64, 64)), dict.fromkeys("ABC", BLOCK), 2),
    ("", "all in tiles of 16 x 32", chain(SIZE, SIZE, (64, 64)), dict.fromkeys("ABC", HALVES), 2),
    ("", "all in rows, taken apart in L1", chain(SIZE, SIZE, (64, 64)), dict.fromkeys("ABC", IN_ROWS), 2),
    ("product", "all in DRAM", gemm(SIZE, SIZE, SIZE, (64, 64, 64)), {}, 2),
    ("", "A, C block-sharded, B interleaved", gemm(SIZE, SIZE, SIZE, (64, 64, 64)), {"A": BLOCK, "C": BLOCK}, 2),
    ("", "all block-sharded", gemm(SIZE, SIZE, SIZE, (64, 64, 64)), dict.fromkeys("ABC", BLOCK), 2),
    ("", f"all in DRAM, {SENT}", gemm(SIZE, SIZE, SIZE, (64, 64, 64)), {}, 2),
    ("", f"A, C block-sharded, {SENT}", gemm(SIZE, SIZE, SIZE, (64, 64, 64)), {"A": BLOCK, "C": BLOCK}, 2),
    ("", f"all block-sharded, {SENT}", gemm(SIZE, SIZE, SIZE, (64, 64, 64)), dict.fromkeys("ABC", BLOCK), 2),
    ("", "A, C height-sharded, B interleaved", gemm(SIZE, SIZE, SIZE, (64, 256, 64)), {"A": HEIGHT, "C": HEIGHT}, 2),
    ("softmax of rows", "all in DRAM", softmax(SIZE, SIZE, 64), {}, 1),
    ("", "all height-sharded", softmax(SIZE, SIZE, 64), dict.fromkeys("AC", HEIGHT), 1),
    ("RMS norm of rows", "all in DRAM", rms_norm(SIZE, SIZE, 64), {}, 1),
    ("", "A, C height-sharded", rms_norm(SIZE, SIZE, 64), dict.fromkeys("AC", HEIGHT), 1),
    ("attention", "all in DRAM", attention(SIZE, SIZE, 64), {}, 3),
    ("", "queries and results height-sharded", attention(SIZE, SIZE, 64), dict.fromkeys("AC", HEIGHT), 3),
)


def measured(func: Any, layouts: dict[str, Any], inputs: int, *, multicast: bool) -> tuple[int, int]:
    kernel = compiled(func, layouts, multicast=multicast)
    tensors = [torch.ones(SIZE, SIZE, dtype=torch.bfloat16) for _ in range(inputs)]
    if len(kernel.params) == inputs + 2:  # the weights of the norm
        tensors.append(torch.ones(SIZE, dtype=torch.bfloat16))
    kernel(*tensors, torch.zeros(SIZE, SIZE, dtype=torch.bfloat16))
    return moved(kernel)


def test_table() -> None:
    lines = ["| kernel | layouts | bytes read | bytes written |", "|---|---|---:|---:|"]
    found: dict[tuple[str, str], tuple[int, int]] = {}
    kernel = ""
    for name, words, func, layouts, inputs in ROWS:
        kernel = name or kernel
        found[kernel, words] = read, written = measured(func, layouts, inputs, multicast=SENT in words)
        lines.append(f"| {name} | {words} | {read:,} | {written:,} |")
    assert found["three operations on elements", "all block-sharded"] == (0, 0)
    assert found["three operations on elements", "A, C block-sharded"] == (BYTES, 0)
    assert found["three operations on elements", "all in DRAM"] == (2 * BYTES, BYTES)
    assert found["softmax of rows", "all height-sharded"] == (0, 0)
    # 4 x 4 blocks: each needs four blocks of A and of B, and C stays.
    assert found["product", "all in DRAM"] == (8 * BYTES, BYTES)
    assert found["product", "A, C block-sharded, B interleaved"] == (8 * BYTES, 0)
    # Cores send their own blocks, to three others each: none of a sharded tensor is read.
    assert found["product", f"A, C block-sharded, {SENT}"][0] == BYTES
    assert found["product", f"all block-sharded, {SENT}"][0] == 0
    # A core has all rows of A that it needs, in the order of rows, and reads B.
    assert found["product", "A, C height-sharded, B interleaved"] == (4 * BYTES, 0)
    table = "\n".join(lines)
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    new = f"{before}{BEGIN}\n{table}\n{END}{after}"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        PAGE.write_text(new)
    assert PAGE.read_text() == new


@pytest.mark.parametrize("chip", ["wormhole_b0", "blackhole"])
def test_a_block_sharded_chain_moves_nothing(chip: str) -> None:
    """Also with several blocks in a shard, cores from an origin on, and shards by columns of cores."""
    layouts: list[tuple[dict[str, Any], tuple[int, int]]] = [
        ({"memory": "L1", "shard": "block", "grid": "4x4+2+1"}, (64, 64)),
        ({"memory": "L1", "shard": "block", "grid": "2x4+1+0", "order": "column"}, (128, 64)),
        ({"memory": "L1", "shard": "block", "grid": (4, 4)}, (32, 64)),  # two blocks in a shard, below each other
        ({"memory": "L1", "shard": (64, 256), "cores": "2x1,2x1+3+3"}, (32, 256)),
    ]
    for layout, block in layouts:
        kernel = compiled(chain(SIZE, SIZE, block), dict.fromkeys("ABC", layout), arch=chip)
        a, b = (torch.randint(-3, 4, (SIZE, SIZE)).bfloat16() for _ in range(2))
        c = torch.zeros_like(a)
        kernel(a, b, c)
        assert torch.equal(c, a * b + a - 1)
        assert moved(kernel) == (0, 0), layout


def test_explain_says_what_is_moved_and_why() -> None:
    kernel = compiled(gemm(SIZE, SIZE, SIZE, (64, 64, 64)), {"A": BLOCK, "C": HEIGHT_16})
    told = kernel.explain(whole=True)
    assert "L1, shards of 2 x 2 tiles over 16 cores, 8,192 B of each" in told
    assert "'C' is moved over the NoC: " in told
    assert (
        tilelang.compile(gemm(SIZE, SIZE, SIZE, (64, 64, 64)), target="tenstorrent").explain(whole=True).count("NoC")
        == 0
    )
