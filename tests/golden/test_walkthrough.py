"""Excerpts of docs/compiler.md are parts of the golden files. `make golden` takes them anew.

    <!-- excerpt gemm/stages/lift.txt | Fill C_local | Gemm C_local -->

names a golden file and how the first and the last line of the excerpt begin. The block of code behind it holds these
lines and all between them, without the indentation that they share.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from textwrap import dedent

import pytest

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "compiler.md"
EXCERPT = re.compile(r"<!-- excerpt (\S+) \| ([^|\n]+) \| ([^|\n]+) -->\n```(\w+)\n(.*?)```\n", re.DOTALL)


def _starts(lines: list[str], text: str, at: int) -> int:
    found = next((number for number in range(at, len(lines)) if lines[number].strip().startswith(text)), None)
    assert found is not None, f"no line begins with '{text}'"
    return found


def _taken(match: re.Match[str]) -> str:
    """The marker and the block of code, as the golden file has it."""
    file, first, last, language, _ = match.groups()
    lines = (HERE / file).read_text(encoding="utf-8").splitlines()
    start = _starts(lines, first, 0)
    end = _starts(lines, last, start)
    text = dedent("\n".join(lines[start : end + 1]))
    return f"<!-- excerpt {file} | {first} | {last} -->\n```{language}\n{text}\n```\n"


def test_excerpts_are_taken_from_goldens() -> None:
    page = PAGE.read_text(encoding="utf-8")
    fresh = EXCERPT.sub(_taken, page)
    if os.environ.get("UPDATE_GOLDEN") == "1":
        PAGE.write_text(fresh, encoding="utf-8")
        page = fresh
    assert page == fresh


def test_every_block_of_code_is_an_excerpt() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert len(EXCERPT.findall(page)) == page.count("```") // 2 >= 10


@pytest.mark.parametrize("kernel", ["gemm", "flash_attention"])
def test_both_kernels_are_followed_to_cpp(kernel: str) -> None:
    files = [file for file, *_ in EXCERPT.findall(PAGE.read_text(encoding="utf-8")) if file.startswith(kernel + "/")]
    assert files[0] == f"{kernel}/kernel.py"
    assert files[-1].endswith(".cpp")
