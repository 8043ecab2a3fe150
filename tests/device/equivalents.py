"""Mutants that are the same program: by rule, and the rest by name with a reason each."""

from __future__ import annotations

import re

from mutator import Mutant

# Calls that may be made twice, and why.
_TWICE = (
    (r"(cb_)?(wait_front|reserve_back)|noc_semaphore_wait|wait|wait_min", "asks again for what is granted already"),
    (r"(?!compute_kernel)\w*(_init(_\w+)?|_uninit|reconfig\w*|set_state|set_trid)", "configures the same again"),
    (r"(noc_)?async_\w*(barrier\w*|flushed)", "nothing is under way any more"),
    (r"(noc_)?async_(read|write)\w*", "the same bytes to the same place"),
    (r"noc_semaphore_set|set", "the same value again"),
)


def by_rule(mutant: Mutant) -> str:
    """Why a mutant is the same program, or nothing."""
    if mutant.unbound:
        return ""
    if mutant.kind == "swap":
        return "the two have nothing in common" if mutant.independent else ""
    if mutant.kind == "drop":
        return ""
    name = name_of(mutant.call)
    return next((why for pattern, why in _TWICE if re.fullmatch(pattern, name)), "")


def name_of(call: str) -> str:
    """Of the function or method: `if (x) object.name<T>(...)` -> name."""
    call = re.sub(r"^if \(.*?\) (?=[\w.]+[<(])", "", call)
    return re.split(r"[<(]", call, maxsplit=1)[0].rsplit(".", 1)[-1]


def reason_of(program: str, mutant: Mutant) -> str:
    """Why a mutant of this program is the same program; nothing when it must be detected."""
    return NAMED.get(program, {}).get(mutant.name, "") or by_rule(mutant)


def why_twice() -> list[str]:
    return [f"- `{pattern}`: {why}" for pattern, why in _TWICE]


NAMED: dict[str, dict[str, str]] = {}
