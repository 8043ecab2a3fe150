"""Blocks of a page that say, in a comment above each, what is done with them.

<!-- new FILE -->              the block is a new file
<!-- before FILE | TEXT -->    it goes before the first line that begins with TEXT
<!-- without FILE | TEXT -->   the first line that begins with TEXT goes; there is no block
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_STEP = re.compile(r"<!-- (?!without)(\w+)(?: (\S+))?(?: \| (.*?))? -->\n```\w+\n(.*?)```", re.DOTALL)
_WITHOUT = re.compile(r"<!-- (without) (\S+) \| (.*?) -->()\n")


@dataclass(frozen=True)
class Step:
    do: str
    file: str
    anchor: str
    text: str


def recipe(page: str, title: str) -> list[Step]:
    section = page.partition(f"## {title}\n")[2].partition("\n## ")[0]
    found = sorted([*_STEP.finditer(section), *_WITHOUT.finditer(section)], key=lambda one: one.start())
    steps = [Step(*(part or "" for part in one.groups())) for one in found]
    blocks = [step for step in steps if step.do != "without"]
    assert len(blocks) == section.count("```") // 2, "every block says what is done with it"
    return steps


def edit(tree: Path, step: Step) -> None:
    """The steps that change a file."""
    path = tree / step.file
    if step.do == "new":
        path.write_text(step.text)
        return
    lines = path.read_text().splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if line.lstrip().startswith(step.anchor))
    rest = lines[place + 1 :] if step.do == "without" else lines[place:]
    path.write_text("".join([*lines[:place], step.text, *rest]))
