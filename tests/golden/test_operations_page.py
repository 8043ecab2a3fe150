"""docs/reference/operations.md says what the table of operations says. `make golden` rewrites it."""

from __future__ import annotations

import os
from pathlib import Path

from tilelang_tt.ops.operations_page import page

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "operations.md"


def test_page_is_fresh() -> None:
    if os.environ.get("UPDATE_GOLDEN") == "1":
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page()
