"""What `pipeline.py` says about passes: one row each, by stages, and no stage imports from a later one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tilelang_tt.passes
from tilelang_tt.passes.a_metadata.keep_last_bits import keep_last_bits
from tilelang_tt.passes.f_verify.verify_program import KNOWN_BUFFERS, LAYOUTS
from tilelang_tt.passes.record import Pass, Stage, holding
from tilelang_tt.pipeline import KERNEL_PASSES, TILE_PASSES

ROWS = (*TILE_PASSES, *KERNEL_PASSES)
FOLDER = Path(tilelang_tt.passes.__path__[0])
STAGES = list(dict.fromkeys(row.run.__module__.split(".")[-2] for row in ROWS))  # folders, in order


def test_stages_follow_each_other() -> None:
    stages = [row.stage for row in ROWS]
    assert stages == sorted(stages, key=list(Stage).index)


def test_every_pass_has_one_row_and_a_file_of_its_own() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert all(row.run.__module__.endswith(f".{row.name}") for row in ROWS)


def test_what_kernel_passes_need_is_ensured_before() -> None:
    assert set(holding(KERNEL_PASSES, ())) == {row.name for row in KERNEL_PASSES}


def test_a_pass_that_needs_too_much_is_refused() -> None:
    wrong = Pass(keep_last_bits, Stage.A, needs=(LAYOUTS,))
    with pytest.raises(ValueError, match="'keep_last_bits' needs 'layouts', which no pass before it ensures"):
        holding((wrong,), (KNOWN_BUFFERS,))


def _imported(file: Path) -> set[str]:
    """Folders of passes that a file imports from."""
    tree = ast.parse(file.read_text())
    modules = [str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {name.split(".")[2] for name in modules if name.startswith("tilelang_tt.passes.")}


@pytest.mark.parametrize("stage", STAGES)
def test_no_stage_imports_from_a_later_one(stage: str) -> None:
    later = {*STAGES[STAGES.index(stage) + 1 :], "f_verify"}
    found = {str(file.name): _imported(file) & later for file in (FOLDER / stage).glob("*.py")}
    assert {file: names for file, names in found.items() if names} == {}
