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
from tilelang_tt.runtime.ttnn_find import (
    CARD_DIRECTORY,
    NEWEST,
    OLDEST,
    PYTHON_VARIABLE,
    SIMULATOR_SETTINGS,
    SIMULATOR_VARIABLE,
    Ttnn,
    cards,
    find_ttnn,
    simulator,
)
from tilelang_tt.version import __version__

# Where the SDK looks for the compiler of its cores: beside ttnn's own files, then system-wide.
SFPI_IN_TTNN = Path("runtime", "sfpi")
SFPI_OF_SYSTEM = Path("/opt/tenstorrent/sfpi")


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    subject: str
    fact: str
    found: bool
    advice: str | None = None
    needed: bool = True  # without it the virtual device does not run; the others are for device 'ttnn'

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
        *_hardware(),
    ]


def doctor(*, strict: bool = False) -> int:
    """Print the findings; status 0 when the virtual device can run and, with `strict`, device 'ttnn' can too."""
    findings = examine()
    for finding in findings:
        print(f"{finding.mark:<8} {finding.subject:<13} {finding.fact}")
        if finding.advice and not finding.found:
            print(f"{'':<8} {'':<13} -> {finding.advice}")
    virtual = _verdict("The virtual device", [finding for finding in findings if finding.needed])
    hardware = _verdict("Device 'ttnn'", [finding for finding in findings if not finding.needed])
    return 0 if virtual and (hardware or not strict) else 1


def _verdict(device: str, findings: list[Finding]) -> bool:
    missing = [finding.subject for finding in findings if not finding.found]
    if missing:
        print(f"{device} cannot run: {', '.join(missing)} missing.")
        return False
    print(f"{device} can run.")
    return True


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


def _hardware() -> list[Finding]:
    """What device 'ttnn' needs: ttnn, the compiler for its cores, and a card or the simulator."""
    found, ttnn = _ttnn()
    return [ttnn, _sfpi(found), _device(), *_settings()]


def _ttnn() -> tuple[Ttnn | None, Finding]:
    span = f"{OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}"
    try:
        found = find_ttnn()
    except EnvironmentProblem as problem:
        return None, Finding("ttnn", problem.message, False, problem.help, needed=False)
    release = found.release
    fits = release is not None and OLDEST <= release <= NEWEST
    fact = f"{found.version or 'unknown version'} in {found.python} (Python {found.python_version})"
    advice = f"releases {span} are supported: {found.python} -m pip install ttnn=={OLDEST[0]}.{OLDEST[1]}.*"
    return found, Finding("ttnn", fact, fits, advice, needed=False)


def _sfpi(ttnn: Ttnn | None) -> Finding:
    places = [SFPI_OF_SYSTEM]
    if ttnn is not None and ttnn.folder is not None:
        places.insert(0, ttnn.folder / SFPI_IN_TTNN)
    for place in places:
        if (place / "compiler" / "bin").is_dir():
            return Finding("sfpi", str(place), True, needed=False)
    fact = f"the compiler for the chip's cores is not in {' or '.join(str(place) for place in places)}"
    return Finding("sfpi", fact, False, f"install the release that ttnn names into {SFPI_OF_SYSTEM}", needed=False)


def _device() -> Finding:
    chosen = simulator()
    if chosen:
        there = Path(chosen).exists()
        fact = f"simulator {chosen}" if there else f"{SIMULATOR_VARIABLE} names {chosen}, which is not there"
        return Finding("device", fact, there, f"set {SIMULATOR_VARIABLE} to the simulator's library", needed=False)
    found = cards()
    fact = f"{len(found)} in {CARD_DIRECTORY}" if found else "no Tenstorrent card, no simulator"
    advice = f"install the driver tt-kmd for a card, or set {SIMULATOR_VARIABLE} to the simulator's library"
    return Finding("device", fact, bool(found), advice, needed=False)


def _settings() -> list[Finding]:
    """Every TT_METAL_* variable, because each changes what the SDK does; wrong ones for a simulator stand out."""
    findings = []
    for name, value in sorted(os.environ.items()):
        if name.startswith("TT_METAL_"):
            right = SIMULATOR_SETTINGS.get(name, value) if simulator() else value
            advice = f"the simulator needs {name}={right}"
            findings.append(Finding("setting", f"{name}={value}", value == right, advice, needed=False))
    if os.environ.get(PYTHON_VARIABLE):
        findings.append(Finding("setting", f"{PYTHON_VARIABLE}={os.environ[PYTHON_VARIABLE]}", True, needed=False))
    return findings
