"""docs/reference/passes.md says what the records of passes say. `make golden` rewrites it."""

from __future__ import annotations

import os
from pathlib import Path

from tilelang_tt.passes.passes_page import page
from tilelang_tt.pipeline import KERNEL_PASSES, TILE_PASSES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "passes.md"


def test_page_is_fresh() -> None:
    text = page((*TILE_PASSES, *KERNEL_PASSES))
    if os.environ.get("UPDATE_GOLDEN") == "1":
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text
