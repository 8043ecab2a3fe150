"""What `tilelang-tt doctor` finds for device 'ttnn': ttnn, its compiler, a card with its firmware or a simulator,
and the settings that change what they do. Nothing is opened and nothing is imported: files and versions alone."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tilelang_tt.diagnostics import EnvironmentProblem
from tilelang_tt.runtime.ttnn_find import (
    CARD_DIRECTORY,
    NEWEST,
    OLDEST,
    PYTHON_VARIABLE,
    SIMULATOR_DESCRIPTOR,
    SIMULATOR_VARIABLE,
    Ttnn,
    cards,
    device_problem,
    find_ttnn,
    install_help,
    simulator,
)

# Where the SDK looks for the compiler of the chip's cores: beside ttnn's own files, then system-wide.
SFPI_IN_TTNN = Path("runtime", "sfpi")
SFPI_OF_SYSTEM = Path("/opt/tenstorrent/sfpi")
SFPI_COMPILER = Path("compiler", "bin", "riscv-tt-elf-g++")
SFPI_VERSION_IN_TTNN = Path("tt_metal", "sfpi-version")  # the release that this ttnn is made for

# What the kernel driver tells about itself and about card N, in the folder `tenstorrent!N`.
DRIVER_VERSION = Path("/sys/module/tenstorrent/version")
CARD_FACTS = Path("/sys/class/tenstorrent")

WRITTEN_TO = ("TT_METAL_CACHE", "TT_METAL_LOGS_PATH")  # settings that name a folder of the SDK's own files


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
        return "MISSING" if self.needed else "no"


def hardware() -> list[Finding]:
    """What device 'ttnn' needs, in the order in which it is needed."""
    found, ttnn = _ttnn()
    return [ttnn, _sfpi(found), *_devices(), *_settings()]


def _finding(subject: str, fact: str, found: bool, advice: str | None = None) -> Finding:
    return Finding(subject, fact, found, advice, needed=False)


def _ttnn() -> tuple[Ttnn | None, Finding]:
    span = f"{OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}"
    try:
        found = find_ttnn()
    except EnvironmentProblem as problem:
        return None, _finding("ttnn", problem.message, False, problem.help)
    release = found.release
    fits = release is not None and OLDEST <= release <= NEWEST
    fact = f"{found.version or 'unknown version'} in {found.python} (Python {found.python_version})"
    advice = f"releases {span} are supported: {install_help(found.python, found.python_version)}"
    return found, _finding("ttnn", fact, fits, advice)


def _sfpi(ttnn: Ttnn | None) -> Finding:
    """The compiler must be there, run, and be the release that ttnn is made for where both say what they are."""
    places = [SFPI_OF_SYSTEM]
    wanted = None
    if ttnn is not None and ttnn.folder is not None:
        places.insert(0, ttnn.folder / SFPI_IN_TTNN)
        wanted = _wanted_sfpi(ttnn.folder / SFPI_VERSION_IN_TTNN)
    release = f"sfpi {wanted}" if wanted else "the release that ttnn names"
    advice = f"install {release} into {SFPI_OF_SYSTEM}: https://github.com/tenstorrent/sfpi/releases has packages"
    for place in places:
        if not (place / SFPI_COMPILER).exists():
            continue
        version = _said_by(place / SFPI_COMPILER)
        if version is None:
            return _finding("sfpi", f"{place / SFPI_COMPILER} does not run", False, advice)
        there = re.search(r"sfpi[^: ]*:(\d+\.\d+\.\d+)", version)
        if wanted and there and there[1] != wanted:
            return _finding("sfpi", f"{there[1]} in {place}; this ttnn is made for {wanted}", False, advice)
        return _finding("sfpi", f"{there[1] if there else 'unknown version'} in {place}", True)
    fact = f"the compiler for the chip's cores is not in {' or '.join(str(place) for place in places)}"
    return _finding("sfpi", fact, False, advice)


def _wanted_sfpi(file: Path) -> str | None:
    found = re.search(r"^sfpi_version='([^']+)'", file.read_text(), re.MULTILINE) if file.is_file() else None
    return found[1] if found else None


def _said_by(compiler: Path) -> str | None:
    """The first line of its --version; None when it does not run here."""
    try:
        done = subprocess.run([compiler, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.partition("\n")[0] if done.returncode == 0 else None


def _devices() -> list[Finding]:
    if problem := device_problem():
        return [_finding("device", problem[0], False, problem[1])]
    if chosen := simulator():
        description = Path(chosen).parent.joinpath(SIMULATOR_DESCRIPTOR).read_text()
        chip = re.search(r"^arch_name: *(\w+)", description, re.MULTILINE)
        return [_finding("device", f"simulator {chosen}, {chip[1].lower() if chip else 'of an unknown chip'}", True)]
    driver = _content(DRIVER_VERSION)
    return [
        _finding("driver", f"tt-kmd {driver or 'of unknown version'}", True),
        *(_card(path) for path in cards()),
    ]


def _card(path: Path) -> Finding:
    """A card that this user may open; its kind and firmware, where the driver tells them."""
    facts = CARD_FACTS / f"tenstorrent!{path.name}"
    kind, firmware = _content(facts / "tt_card_type"), _content(facts / "tt_fw_bundle_ver")
    said = ", ".join([kind or "unknown kind", f"firmware {firmware or 'unknown (an older driver does not tell)'}"])
    usable = os.access(path, os.R_OK | os.W_OK)
    fact = f"{path}: {said}" + ("" if usable else "; it may not be opened by this user")
    return _finding("device", fact, usable, f"add this user to the group that owns {CARD_DIRECTORY}")


def _content(file: Path) -> str | None:
    try:
        return file.read_text().strip() or None
    except OSError:
        return None


def _settings() -> list[Finding]:
    """Every TT_METAL_* variable, because each changes what the SDK does; wrong ones stand out."""
    names = sorted(name for name in os.environ if name.startswith("TT_METAL_") and name != SIMULATOR_VARIABLE)
    findings = [_setting(name, os.environ[name]) for name in names]
    if os.environ.get(PYTHON_VARIABLE):
        findings.append(_finding("setting", f"{PYTHON_VARIABLE}={os.environ[PYTHON_VARIABLE]}", True))
    return findings


def _setting(name: str, value: str) -> Finding:
    fact = f"{name}={value}"
    if name == "TT_METAL_DISABLE_SFPLOADMACRO" and simulator() and not value.startswith("1"):
        return _finding("setting", fact, False, f"the simulator needs {name}=1; unset, it is set for you")
    if name == "TT_METAL_SLOW_DISPATCH_MODE" and not simulator():
        return _finding("setting", f"{fact}: slow dispatch, whatever the value; unset it for fast dispatch", True)
    if name == "TT_METAL_RUNTIME_ROOT" and not Path(value, "tt_metal").is_dir():
        return _finding("setting", f"{fact} holds no tt_metal", False, f"unset {name}: ttnn knows its own files")
    if name in WRITTEN_TO and not can_write(Path(value)):
        return _finding(
            "setting", f"{fact} cannot be written", False, f"unset {name}, or name a folder you may write to"
        )
    return _finding("setting", fact, True)


def can_write(directory: Path) -> bool:
    """The directory, or the nearest one above it that exists, must take files."""
    absolute = directory.absolute()
    nearest = next(path for path in (absolute, *absolute.parents) if path.exists())
    return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)
