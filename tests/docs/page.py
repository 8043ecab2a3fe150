"""A page of the docs as a program.

    ```python title="scale.py"     a file
    ```python                      run, in the order of the page
    ```console                     commands after `$ `; what follows is what they print, where `...` stands for anything
    ```diff title="scale.py"       lines that change in that file

Other blocks are for the reader alone.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
_NOISE = re.compile(r"^(\d{4}-\d\d-\d\d .*TileLang:|building the kernels of |building the virtual device)")
_SECONDS = 300


@dataclass(frozen=True)
class Block:
    kind: str
    title: str
    text: str


def blocks(page: Path) -> list[Block]:
    return [Block(kind, title, text) for kind, title, text in _BLOCK.findall(page.read_text(encoding="utf-8"))]


def run(page: Path, folder: Path) -> None:
    """Everything that the page says to do, in `folder`."""
    names: dict[str, object] = {"__name__": "page"}
    for number, block in enumerate(blocks(page)):
        if block.kind == "python" and block.title:
            (folder / block.title).write_text(block.text)
        elif block.kind == "python":
            file = folder / f"block_{number}.py"  # TileLang reads the source of kernels
            file.write_text(block.text)
            exec(compile(block.text, str(file), "exec", dont_inherit=True), names)
        elif block.kind == "diff":
            _change(folder / block.title, block.text)
        elif block.kind == "console":
            for command, printed in commands(block.text):
                compare(command, printed, output_of(command, folder))


def commands(text: str) -> list[tuple[str, str]]:
    """Each command and what it prints."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    return [(command, printed) for command, _, printed in (part.partition("\n") for part in parts)]


def output_of(command: str, folder: Path) -> str:
    beside = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": f"{beside}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "120"}
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, text=True, timeout=_SECONDS,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    lines = done.stdout.replace(f"{folder}/", "").splitlines()
    return "\n".join(line for line in lines if not _NOISE.match(line))


def compare(command: str, expected: str, printed: str) -> None:
    pattern = re.escape(expected.strip()).replace(r"\.\.\.", ".*")
    pattern = re.sub(r"[ \\]+(?=\n|$)", "", pattern)
    trimmed = "\n".join(line.rstrip() for line in printed.strip().splitlines())
    assert re.fullmatch(pattern, trimmed, re.DOTALL), f"$ {command}\n{printed}\n--- the page says\n{expected}"


def _change(file: Path, text: str) -> None:
    lines = text.splitlines()
    old = [line[1:] for line in lines if not line.startswith("+")]
    new = [line[1:] for line in lines if not line.startswith("-")]
    before, wanted = file.read_text(), "\n".join(old)
    assert before.count(wanted) == 1, f"{file.name} has these lines {before.count(wanted)} times:\n{wanted}"
    file.write_text(before.replace(wanted, "\n".join(new)))
