"""The catalogue of errors in the package: a page for every code, as `tilelang-tt help TT131` shows it."""

from __future__ import annotations

import re
from pathlib import Path

PAGES = Path(__file__).parent / "errors"
INTERNAL = "TT9xx"  # broken invariants of the compiler share a page


def error_page(code: str) -> str | None:
    """The page of a code, in Markdown; None if there is no such code."""
    code = code.upper()
    if code.startswith("TT9"):
        return _internal(code)
    path = PAGES / f"{code}.md"
    return path.read_text() if re.fullmatch(r"TT\d{3}", code) and path.is_file() else None


def all_codes() -> dict[str, str]:
    """What each code means, in a line."""
    found = {}
    for path in sorted(PAGES.glob("TT???.md")):
        code, _, title = path.read_text().partition("\n")[0].removeprefix("# ").partition(": ")
        if path.stem != INTERNAL:
            found[code] = title
    return found


def internal_page() -> str:
    return (PAGES / f"{INTERNAL}.md").read_text()


def codes_in(text: str) -> list[str]:
    return re.findall(r"^\| (TT\d{3}) \|", text, re.MULTILINE)


def _internal(code: str) -> str | None:
    text = internal_page()
    if code == INTERNAL.upper():
        return text
    row = re.search(rf"^\| {code} \| (.*) \|$", text, re.MULTILINE)
    head = text.partition("\n| code |")[0].partition("\n\n")[2]
    return f"# {code}: {row[1]}\n\n{head.strip()}\n" if row else None
