"""`tilelang-tt doctor`: what is found on this machine, and what to do about what is not."""

from __future__ import annotations

import os
import platform
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tilelang_tt.diagnostics import EnvironmentProblem
from tilelang_tt.environment import installed_version
from tilelang_tt.runtime.build_cache import cache_directory
from tilelang_tt.runtime.toolchain import Toolchain, find_toolchain
from tilelang_tt.version import __version__

# Where the kernel driver of Tenstorrent cards (tt-kmd) puts one file per card.
CARD_DIRECTORY = Path("/dev/tenstorrent")


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    subject: str
    fact: str
    found: bool
    advice: str | None = None
    needed: bool = True  # without it the virtual device does not run

    @property
    def mark(self) -> str:
        if self.found:
            return "ok"
        return "MISSING" if self.needed else "none"


def examine() -> list[Finding]:
    return [
        Finding("tilelang-tt", f"{__version__}, Python {platform.python_version()}", True),
        _package("tilelang"),
        _package("torch"),
        _compiler(),
        _cache(),
        _ttnn(),
        _card(),
    ]


def doctor() -> int:
    """Print the findings; status 0 when kernels can be compiled and run on the virtual device."""
    findings = examine()
    for finding in findings:
        print(f"{finding.mark:<8} {finding.subject:<13} {finding.fact}")
        if finding.advice and not finding.found:
            print(f"{'':<8} {'':<13} -> {finding.advice}")
    missing = [finding.subject for finding in findings if finding.needed and not finding.found]
    if missing:
        print(f"The virtual device cannot run: {', '.join(missing)} missing.")
        return 1
    print("The virtual device can run.")
    return 0


def _package(name: str) -> Finding:
    version = installed_version(name)
    return Finding(name, version or "not installed", version is not None, f"pip install {name}")


def _compiler() -> Finding:
    try:
        toolchain = find_toolchain()
    except EnvironmentProblem as problem:
        return Finding("C++ compiler", problem.message, False, problem.help)
    version = toolchain.run("--version").stdout.partition("\n")[0]
    works = _compiles(toolchain)
    return Finding(
        "C++ compiler",
        f"{toolchain.title}: {version if works else 'cannot compile C++17'}",
        works,
        "set CXX to a C++17 compiler that works",
    )


def _compiles(toolchain: Toolchain) -> bool:
    """Whether a program that includes the standard library becomes an object file."""
    with tempfile.TemporaryDirectory() as directory:
        source, compiled = Path(directory, "trial.cpp"), Path(directory, "trial.o")
        source.write_text("#include <vector>\nint main() { return int(std::vector<int>().size()); }\n")
        done = toolchain.run("-std=c++17", "-c", source, "-o", compiled)
        return done.returncode == 0 and compiled.is_file()


def _cache() -> Finding:
    """The directory, or the nearest one above it that exists, must take files."""
    directory = cache_directory()
    nearest = next(path for path in (directory, *directory.parents) if path.exists())
    writable = nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)
    return Finding(
        "build cache",
        f"{directory}" if writable else f"{directory} cannot be written",
        writable,
        "set TILELANG_TT_CACHE_DIR to a directory you may write to",
    )


def _ttnn() -> Finding:
    version = installed_version("ttnn")
    return Finding(
        "ttnn",
        f"{version}, not used by this version" if version else "not installed",
        version is not None,
        "not needed: this version runs kernels on the virtual device only",
        needed=False,
    )


def _card() -> Finding:
    cards = sorted(CARD_DIRECTORY.iterdir()) if CARD_DIRECTORY.is_dir() else []
    return Finding(
        "card",
        f"{len(cards)} in {CARD_DIRECTORY}, not used by this version" if cards else "no Tenstorrent card",
        bool(cards),
        "not needed: kernel.export(...) writes sources to build on a machine with a card",
        needed=False,
    )
