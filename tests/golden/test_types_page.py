"""docs/reference/types.md has a row for every element type, with the format the compiler chooses."""

from __future__ import annotations

import re
from pathlib import Path

from tilelang_tt.formats import DTYPES, format_of

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "types.md"


def test_the_page_says_what_the_compiler_does() -> None:
    rows = re.findall(r"^\| (`.*?`) \| (\w+) \|", PAGE.read_text().partition("## Layout")[0], re.M)
    said = {dtype: form for names, form in rows for dtype in re.findall(r"`(\w+)`", names)}
    assert said == {dtype: format_of(dtype, "float32") for dtype in DTYPES}
