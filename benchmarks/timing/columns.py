"""What a column of a file of figures may hold, and what to say of a row that holds something else."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

Check = Callable[[str], str]  # what is wrong with a value; nothing: ""


def ANY(text: str) -> str:  # noqa: N802
    return "" if text else "has no value"


def NUMBER(text: str) -> str:  # noqa: N802
    """Greater than 0: sizes, times, shares."""
    try:
        value = float(text)
    except ValueError:
        return f"'{text}' is no number" if text else "has no value"
    return "" if value > 0 and math.isfinite(value) else f"{text} is not greater than 0"


def COUNT(text: str) -> str:  # noqa: N802
    return "" if text.isdigit() else f"'{text}' is no whole number" if text else "has no value"


def SIZE(text: str) -> str:  # noqa: N802
    return COUNT(text) or ("" if int(text) else "0 is not greater than 0")


def PAIR(text: str) -> str:  # noqa: N802
    """Columns and rows of a grid."""
    found = re.fullmatch(r"\(\s*(\d+)\s*,\s*(\d+)\s*\)", text)
    return "" if found and int(found[1]) * int(found[2]) else f"'{text}' is no grid such as (8,8)"


def one_of(*words: str) -> Check:
    return lambda text: "" if text in words else f"'{text}' is none of {', '.join(words)}"


CHIP = one_of("wormhole_b0", "blackhole")
FLAG = one_of("0", "1")


def problem_of(row: Mapping[str, str], columns: Mapping[str, Check]) -> str:
    """The first column that holds what it may not, or is not there."""
    for name, check in columns.items():
        if name not in row:
            return f"there is no column '{name}'"
        if wrong := check(row[name]):
            return f"column '{name}': {wrong}"
    return ""
