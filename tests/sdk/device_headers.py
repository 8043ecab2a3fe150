"""What the virtual device's headers offer to kernels, read the way a compiler sees them: macros expanded."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

from tilelang_tt.runtime.artifact import INCLUDE
from tilelang_tt.runtime.toolchain import find_toolchain
from tilelang_tt.sdk.declarations import read_declarations
from tilelang_tt.sdk.table import Function

DEFINES = ("KERNEL_COMPILE_TIME_ARGS=0", "VD_NAMED_COMPILE_TIME_ARGS=", "VD_TILE_SIZES=0", "VD_DATA_FORMATS=0")
MODES = (
    "VD_MEM_ZEROS_BASE=0",
    "VD_NOC_INDEX=0",
    "VD_FP32_DEST_ACC=0",
    "VD_MATH_APPROX=0",
    "VD_DST_FULL_SYNC=0",
    "VD_MATH_FIDELITY=LoFi",
    "ARCH_WORMHOLE=1",
)
PRIVATE = ("vd", "detail")  # namespaces that are not for kernels
LINE = "Line"  # the invisible last parameter that tells the device where it was called
_MARKER = re.compile(r'^# \d+ "([^"]*)"[^\n]*$', re.MULTILINE)
_MISSING = re.compile(r"\bVD_MISSING(?:_METHOD)?\((\w+)\)")


def headers() -> list[str]:
    return sorted(str(path.relative_to(INCLUDE)) for path in (INCLUDE / "api").rglob("*.h*"))


@cache
def offered() -> tuple[Function, ...]:
    """Functions and methods that kernels can call and that the device carries out."""
    compute = [header for header in headers() if header.startswith("api/compute/")]
    found = {*_read(compute), *_read([header for header in headers() if header not in compute])}
    missing = names_without_meaning()
    return tuple(f for f in sorted(found, key=repr) if f.name not in missing and not f.name.startswith(("vd_", "_")))


@cache
def names_without_meaning() -> frozenset[str]:
    """Names the device declares only to stop by name when they are called."""
    texts = [path.read_text() for path in INCLUDE.rglob("*.h*")]
    return frozenset(name for text in texts for name in _MISSING.findall(text)) - {"NAME"}


def _read(included: list[str]) -> list[Function]:
    unit = "".join(f'#include "{header}"\n' for header in included)
    macros = [f"-D{define}" for define in (*DEFINES, *MODES)]
    command = [*find_toolchain().command, "-std=c++17", "-E", "-x", "c++", *macros, "-I", str(INCLUDE), "-"]
    done = subprocess.run(command, input=unit, capture_output=True, text=True, check=True)
    parts = _MARKER.split(done.stdout)
    own = [text for file, text in zip(parts[1::2], parts[2::2], strict=True) if Path(file).is_relative_to(INCLUDE)]
    text = re.sub(r"^#.*$", "", "".join(own), flags=re.MULTILINE).replace("= vd::Line::here()", "= 0")
    text = re.sub(r"\benum\s*:\s*\w+\s*\{", "enum {", text)  # a form the grammar does not know
    read = read_declarations("", text, PRIVATE)
    lines = text.split("\n")
    unread = [lines[int(place.split(":")[0]) - 1] for place in read.unread]
    assert not unread, "\n".join(unread)
    return [_visible(f) for f in read.functions]


def _visible(function: Function) -> Function:
    parameters = tuple(p for p in function.parameters if p.kind != LINE)
    return Function(function.name, "", function.owner, function.template, parameters, function.returns)
