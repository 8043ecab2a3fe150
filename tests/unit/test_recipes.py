"""docs/adding.md, followed word for word in a copy of the repository.

A comment above each of its blocks says what is done with it, as in `recipe_steps.py` or:

    <!-- becomes FILE -->          its lines end what `make golden` makes of a text test
    <!-- run -->                   a program that must end well
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from recipe_steps import Step, edit, recipe

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for folder in ("src", "tests/conformance", "tests/passes"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "tests/conftest.py"):
        shutil.copy(ROOT / file, tmp_path / file)
    return tmp_path


def run(tree: Path, *command: str, **environment: str) -> None:
    known = {**os.environ, "PYTHONPATH": str(tree / "src"), **environment}
    done = subprocess.run([sys.executable, *command], cwd=tree, env=known, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def follow(tree: Path, step: Step) -> None:
    path = tree / step.file
    if step.do in ("new", "before"):
        edit(tree, step)
    elif step.do == "becomes":
        run(tree, "-m", "pytest", "tests/passes/test_texts.py", "-k", path.stem, "-n", "0", UPDATE_GOLDEN="1")
        assert path.read_text().partition("--- after\n")[2].endswith(step.text)
    else:
        assert step.do == "run"
        (tree / "recipe.py").write_text(step.text)
        run(tree, "recipe.py")


def test_add_an_operation(tree: Path) -> None:
    for step in recipe(PAGE, "Add an operation"):
        follow(tree, step)
    # The new rows are held to their accuracy, as all others are, and each has a case.
    chosen = "functions-wormhole_b0-chip-float32 or test_every_operation_has_a_case"
    run(tree, "-m", "pytest", "tests/conformance/test_elements.py", "-k", chosen, "-n", "0")


def test_add_a_pass(tree: Path) -> None:
    for step in recipe(PAGE, "Add a pass"):
        follow(tree, step)
