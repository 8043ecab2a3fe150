"""The pictures and texts of docs/layouts_and_schedules.md, section Layouts, are what the compiler does."""

import re
from pathlib import Path
from typing import Any

import pytest
from layout_kernels import chain, gemm
from placed import compiled

from tilelang_tt.formats import BY_OPTION
from tilelang_tt.layout_hints import MEMORIES, ORDERS, SHARD_KINDS, parse_hint
from tilelang_tt.runtime.placing import shards_of

PAGE = (Path(__file__).parents[2] / "docs" / "layouts_and_schedules.md").read_text().split("## Schedules")[0]
LETTERS = {(x, y): "abcdefgh"[4 * y + x] for y in range(2) for x in range(4)}  # of a grid of 4 x 2 cores


def picture(**settings: Any) -> list[str]:
    """Which core holds each tile of a matrix of 4 x 8."""
    kernel = compiled(chain(128, 256, (32, 32)), {"A": {"memory": "L1", **settings}})
    (shards,) = (shards_of(tensor.shards, {}) for tensor in kernel.adapter.compiled.plan.tensors if tensor.name == "A")
    places = shards.places(range(len(shards.cores))) // shards.slots
    letters = [LETTERS[shards.cores[number]] for number in places]
    return [" ".join(letters[row * 8 : row * 8 + 8]) for row in range(4)]


@pytest.mark.parametrize(
    ("title", "settings"),
    [
        ('shard="height"', {"shard": "height", "grid": (4, 2)}),
        ('shard="width"', {"shard": "width", "grid": (4, 2)}),
        ('shard="block"', {"shard": "block", "grid": (4, 2)}),
        ('order="column"', {"shard": "block", "grid": (4, 2), "order": "column"}),
        ("shard=(64, 64)", {"shard": (64, 64), "cores": "3x1"}),
    ],
)
def test_pictures(title: str, settings: dict[str, Any]) -> None:
    lines = PAGE.splitlines()
    at = next(number for number, line in enumerate(lines) if title in line and line.startswith(("shard=", "order=")))
    start = lines[at].index(title)
    assert [line[start : start + 15] for line in lines[at + 1 : at + 5]] == picture(**settings)


def test_settings() -> None:
    """Every setting has a row, and every word that it takes stands in it."""
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", PAGE, re.MULTILINE))
    assert list(rows) == ["memory", "shard", "grid", "cores", "order", "storage", "tile", "pages"]
    for name, words in {"memory": MEMORIES, "shard": SHARD_KINDS, "order": ORDERS, "storage": BY_OPTION}.items():
        assert all(f"`{word}`" in rows[name] for word in words)
    parse_hint({"tile": (32, 32), "pages": "tile"})


def test_explain() -> None:
    block = {"memory": "L1", "shard": "block", "grid": (4, 4)}
    told = compiled(gemm(256, 256, 256, (64, 64, 64)), {"A": block, "C": block}).explain()
    told = re.sub(r" \(lines are those of .*\)", "", re.sub(r", line [\d, ]+\]", "]", told))
    shown = PAGE.split("### How to read `explain`")[1].split("```text\n")[1].split("```")[0]
    lines = [line for line in shown.splitlines() if line and line != "  ..."]
    assert len(lines) >= 8
    assert [line for line in lines if line not in told.splitlines()] == []


def test_words_of_use_shards() -> None:
    """Each reason in the table is one that the pass gives."""
    source = (Path(__file__).parents[2] / "src/tilelang_tt/passes/c_tile/use_shards.py").read_text()
    reasons = re.findall(r"^\| \.\.\. (.*?) \|", PAGE, re.MULTILINE)
    assert len(reasons) >= 8
    for reason in reasons:
        parts = [part for part in re.split(r"\(\d, \d\)|\d+|'\w+'", reason) if len(part.strip()) > 4]
        assert parts
        assert all(part.strip() in source for part in parts), reason
