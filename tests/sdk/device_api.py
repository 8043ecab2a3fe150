"""Which declarations of the SDK's headers the virtual device has: the page docs/reference/device-api.md."""

from __future__ import annotations

import re
import subprocess
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

from device_headers import DEFINES, MODES, headers, names_without_meaning, offered

from tilelang_tt.runtime.artifact import INCLUDE
from tilelang_tt.runtime.toolchain import find_toolchain
from tilelang_tt.sdk import load

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "device-api.md"
WORKS, STOPS, NO_HEADER, ABSENT = "works", "stops", "no header", "absent"
MEANING = {
    WORKS: "is carried out",
    STOPS: "compiles and stops the run when it is called: TT402, not implemented, with its name",
    NO_HEADER: "stands in a header that is not there: a kernel that includes it is refused with TT402 and its name",
    ABSENT: "is not declared: a kernel that uses it does not compile (TT407)",
}
_AREAS = (
    ("Compute, experimental", "api/compute/experimental/"),
    ("Compute, checks of the SDK's own", "api/compute/sentinel/"),
    ("Compute", "api/compute/"),
    ("Debugging and profiling", "api/debug/"),
    ("Tensors", "api/tensor/"),
    ("Dataflow", "api/dataflow/"),
    ("Inside the SDK's dataflow", "internal/"),
    ("Other", ""),
)


@cache
def macros() -> frozenset[str]:
    """Macros that the device's headers define."""
    unit = "".join(f'#include "{header}"\n' for header in headers())
    flags = [f"-D{define}" for define in (*DEFINES, *MODES)]
    command = [*find_toolchain().command, "-std=c++17", "-dM", "-E", "-x", "c++", *flags, "-I", str(INCLUDE), "-"]
    done = subprocess.run(command, input=unit, capture_output=True, text=True, check=True)
    return frozenset(re.findall(r"^#define (\w+)", done.stdout, re.MULTILINE))


@cache
def status() -> dict[tuple[str, str], str]:
    """(header, name of a function or Class::method) -> what a kernel that uses it meets."""
    have = {(function.owner, function.name) for function in offered()}
    there, missing = set(headers()), names_without_meaning()
    found: dict[tuple[str, str], str] = {}
    for release in load().values():
        for function in (f for same in release.functions.values() for f in same):
            name = f"{function.owner}::{function.name}" if function.owner else function.name
            if (function.owner, function.name) in have or function.name in macros():
                found[function.header, name] = WORKS
            elif function.name in missing:
                found[function.header, name] = STOPS
            elif function.header.startswith("api/") and function.header not in there:
                found[function.header, name] = NO_HEADER
            else:
                found[function.header, name] = ABSENT
    return found


def area_of(header: str) -> str:
    return next(area for area, prefix in _AREAS if header.startswith(prefix))


def page() -> str:
    releases = " and ".join(load())
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    by_header: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for (header, name), state in sorted(status().items()):
        counts[area_of(header)][state] += 1
        by_header[header][state].append(name)
    total = sum(counts.values(), Counter[str]())
    rows = [
        f"| {area} | {sum(counts[area].values())} | " + " | ".join(str(counts[area][state]) for state in MEANING) + " |"
        for area, _ in _AREAS
    ]
    rows.append(f"| all | {total.total()} | " + " | ".join(str(total[state]) for state in MEANING) + " |")
    lists: list[str] = []
    for area, _ in _AREAS:
        lists += ["", f"## {area}"]
        for header, states in by_header.items():
            if area_of(header) == area:
                lists += ["", _header_text(header, states)]
    return "\n".join(
        [
            "# The SDK's device API on the virtual device",
            "",
            "Written by the tests (`make golden`); do not edit.",
            "",
            f"Functions, methods and function-like macros that the headers of ttnn {releases} declare; one that",
            "several releases or overloads share counts once.",
            "",
            *(f"- **{state}**: {meaning}." for state, meaning in MEANING.items()),
            "",
            f"| | declared | {' | '.join(MEANING)} |",
            f"|---|---|{'---|' * len(MEANING)}",
            *rows,
            *lists,
            "",
        ]
    )


def _header_text(header: str, states: dict[str, list[str]]) -> str:
    declared = sum(map(len, states.values()))
    works = len(states.get(WORKS, ()))
    text = f"`{header}`: {works} of {declared}"
    for state in (STOPS, ABSENT):
        if states.get(state):
            text += f"; {state}: " + ", ".join(f"`{name}`" for name in states[state])
    return text + ("; no header" if states.get(NO_HEADER) else "")
