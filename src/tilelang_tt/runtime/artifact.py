"""What the virtual device compiles, one file of the cache each, and how a failed build is told."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tilelang_tt.diagnostics import DeviceError
from tilelang_tt.runtime.build_cache import build_cache, digest
from tilelang_tt.runtime.toolchain import Toolchain

DEVICE = Path(__file__).resolve().parent.parent / "device"
INCLUDE = DEVICE / "include"
_PARALLEL_BUILDS = 4
_COMPILER_LINES = 12  # of a failed build, shown to the user


@dataclass(frozen=True)
class Artifact:
    """One file of the cache and how to make it."""

    key: str
    name: str
    build: Callable[[Path], None]

    def obtain(self) -> Path:
        return build_cache().get_or_build(self.key, self.name, self.build)


def obtain_all(artifacts: list[Artifact]) -> list[Path]:
    found = [build_cache().get(artifact.key, artifact.name) for artifact in artifacts]
    if all(found):
        return [path for path in found if path]
    with ThreadPoolExecutor(max_workers=_PARALLEL_BUILDS) as pool:
        return list(pool.map(Artifact.obtain, artifacts))


@cache
def tree_digest() -> str:
    """Changes whenever a file of the device changes."""
    files = sorted(path for path in DEVICE.rglob("*") if path.suffix in (".h", ".cpp"))
    return digest(*(part for path in files for part in (str(path.relative_to(DEVICE)), path.read_bytes())))


_PRINTS = (
    'DPRINT("x is {}\\n", x) takes a text with a {} for each value; DPRINT << x stands alone, or inside DPRINT_MATH '
    "and its like"
)


def compile_error(what: str, toolchain: Toolchain, output: str) -> DeviceError:
    lines = [line for line in output.splitlines() if not re.match(r"\s*(In file included|from )", line)]
    return DeviceError(
        "TT407",
        f"{what} does not compile",
        notes=(f"compiler: {toolchain.title}", *lines[:_COMPILER_LINES]),
        help=_PRINTS if any("VD_PRINT" in line for line in lines) else None,
    )
