"""docs/reference/every_pass.md and docs/internals.md say what runs and what is used. `make golden` rewrites them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tilelang_tt.cli.discover import function_of
from tilelang_tt.hooks_page import page as hooks_page
from tilelang_tt.lowering.passes_reference import page as passes_page

ROOT = Path(__file__).parents[2]


def every_pass() -> str:
    return passes_page(function_of(f"{ROOT / 'examples/every_target.py'}:gemm"))


@pytest.mark.parametrize(("name", "text"), [("reference/every_pass.md", every_pass), ("internals.md", hooks_page)])
def test_page_is_fresh(name, text) -> None:
    page = ROOT / "docs" / name
    if os.environ.get("UPDATE_GOLDEN") == "1":
        page.write_text(text(), encoding="utf-8")
    assert page.read_text(encoding="utf-8") == text()


def test_every_pass_of_tilelang_has_a_name_and_a_file() -> None:
    page = (ROOT / "docs/reference/every_pass.md").read_text(encoding="utf-8")
    assert "pass_fn" not in page
    assert "not in the wheel" not in page
