"""`tilelang-tt doctor`: what is found on this machine, and what to do about what is not."""

from __future__ import annotations

import platform
import tempfile
from pathlib import Path

from tilelang_tt.cli.doctor_hardware import Finding, can_write, hardware
from tilelang_tt.diagnostics import EnvironmentProblem
from tilelang_tt.environment import installed_version
from tilelang_tt.runtime.build_cache import cache_directory
from tilelang_tt.runtime.toolchain import Toolchain, find_toolchain
from tilelang_tt.version import __version__


def examine() -> list[Finding]:
    return [
        Finding("tilelang-tt", f"{__version__}, Python {platform.python_version()}", True),
        _package("tilelang"),
        _package("torch"),
        _compiler(),
        _cache(),
        *hardware(),
    ]


def doctor(*, strict: bool = False) -> int:
    """Print the findings; status 0 when the virtual device can run and, with `strict`, device 'ttnn' can too."""
    findings = examine()
    for finding in findings:
        print(f"{finding.mark:<8} {finding.subject:<13} {finding.fact}")
        if finding.advice and not finding.found:
            print(f"{'':<8} {'':<13} -> {finding.advice}")
    virtual = _verdict("The virtual device", [finding for finding in findings if finding.needed])
    real = _verdict("Device 'ttnn'", [finding for finding in findings if not finding.needed])
    return 0 if virtual and (real or not strict) else 1


def _verdict(device: str, findings: list[Finding]) -> bool:
    missing = dict.fromkeys(finding.subject for finding in findings if not finding.found)
    if missing:
        print(f"{device} cannot run: {', '.join(missing)} missing or wrong.")
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
    directory = cache_directory()
    writable = can_write(directory)
    return Finding(
        "build cache",
        f"{directory}" if writable else f"{directory} cannot be written",
        writable,
        "set TILELANG_TT_CACHE_DIR to a directory you may write to",
    )
