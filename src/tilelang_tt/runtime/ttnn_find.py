"""Where ttnn and a device for it are: settings, interpreters, cards. Nothing of ttnn is imported here."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tilelang_tt.diagnostics import EnvironmentProblem
from tilelang_tt.runtime.build_cache import cache_directory

PYTHON_VARIABLE = "TILELANG_TT_TTNN_PYTHON"
SIMULATOR_VARIABLE = "TT_METAL_SIMULATOR"

SIMULATOR_DESCRIPTOR = "soc_descriptor.yaml"  # the chip's description, beside the simulator's library

# Where the kernel driver of Tenstorrent cards (tt-kmd) puts one file per card.
CARD_DIRECTORY = Path("/dev/tenstorrent")

# Where it shows each card's PCI device, and which chip that is (tt-kmd, module.c).
CARD_CLASS = Path("/sys/class/tenstorrent")
PCI_DEVICES = {"0x401e": "wormhole_b0", "0xb140": "blackhole"}

# Releases whose bindings and device API this package is written for.
OLDEST = (0, 77)
NEWEST = (0, 81)

# Pythons that it has wheels for.
WHEELS = ((3, 10), (3, 12))

# What the simulator cannot run without: it has no dispatch cores, and one vector instruction is missing.
SIMULATOR_SETTINGS = {"TT_METAL_SLOW_DISPATCH_MODE": "1", "TT_METAL_DISABLE_SFPLOADMACRO": "1"}

# What the SDK needs to show what kernels print; the file it goes to comes with them.
PRINT_SETTINGS = {"TT_METAL_DPRINT_CORES": "worker", "TT_METAL_DPRINT_PREPEND_DEVICE_CORE_RISC": "1"}
PRINT_FILE_VARIABLE = "TT_METAL_DPRINT_FILE"

_LOOK = """
import importlib.metadata, importlib.util, json, platform
spec = importlib.util.find_spec("ttnn")
try:
    version = importlib.metadata.version("ttnn")
except importlib.metadata.PackageNotFoundError:
    version = None
found = spec is not None and spec.origin is not None
folder = list(spec.submodule_search_locations or [])[:1] if found else []
print(json.dumps({"found": found, "version": version, "folder": folder, "python": platform.python_version()}))
"""
_LOOK_SECONDS = 60.0


@dataclass(frozen=True)
class Ttnn:
    """An interpreter with ttnn in it."""

    python: str
    python_version: str
    version: str | None  # None: installed without metadata
    folder: Path | None

    @property
    def release(self) -> tuple[int, int] | None:
        return release_of(self.version)


def release_of(version: str | None) -> tuple[int, int] | None:
    """(0, 77) of 0.77.0; None when it does not read like that."""
    parts = (version or "").split(".")
    if len(parts) < 2 or not (parts[0].isdecimal() and parts[1].isdecimal()):
        return None
    return int(parts[0]), int(parts[1])


def cards() -> list[Path]:
    return sorted(CARD_DIRECTORY.iterdir()) if CARD_DIRECTORY.is_dir() else []


def card_arch() -> str | None:
    """Which chip the first card has, as the kernel driver shows its PCI device; None: no driver says so."""
    for file in sorted(CARD_CLASS.glob("*/device/device")) if CARD_CLASS.is_dir() else []:
        found = PCI_DEVICES.get(file.read_text().strip().lower())
        if found is not None:
            return found
    return None


def simulator() -> str | None:
    return os.environ.get(SIMULATOR_VARIABLE) or None


def device_problem() -> tuple[str, str] | None:
    """Why no device can be opened and what helps, as far as files tell; None when one may be there."""
    chosen = simulator()
    if chosen is None:
        advice = f"install the driver tt-kmd for a card, or set {SIMULATOR_VARIABLE} to the simulator's library"
        return None if cards() else ("no Tenstorrent card, no simulator", advice)
    if not Path(chosen).exists():
        advice = f"set {SIMULATOR_VARIABLE} to the simulator's library, or unset it to use a card"
        return f"{SIMULATOR_VARIABLE} names {chosen}, which is not there", advice
    descriptor = Path(chosen).parent / SIMULATOR_DESCRIPTOR
    if not descriptor.is_file():
        fact = f"simulator {chosen}, without {SIMULATOR_DESCRIPTOR} beside it"
        return fact, f"copy the chip's file of ttnn's tt_metal/soc_descriptors to {descriptor}"
    return None


def find_python() -> str:
    """The interpreter that runs ttnn: the one a user names, or this one when it has ttnn."""
    named = os.environ.get(PYTHON_VARIABLE)
    if named:
        path = shutil.which(named)
        if path is None:
            raise EnvironmentProblem(
                "TT507",
                f"the interpreter named by ${PYTHON_VARIABLE} is not there: {named}",
                help=f"set {PYTHON_VARIABLE} to a Python that has ttnn",
            )
        return path
    spec = find_spec("ttnn")
    if spec is None or spec.origin is None:  # a folder of that name is not ttnn
        raise EnvironmentProblem(
            "TT507",
            "device 'ttnn' needs ttnn, and this Python does not have it",
            help=install_help(sys.executable, platform.python_version()),
        )
    return sys.executable


def install_help(python: str, python_version: str) -> str:
    """How to get ttnn: in this interpreter, if there is a wheel for it, or in another one beside it."""
    package = f"ttnn=={OLDEST[0]}.{OLDEST[1]}.0"
    if release_of(python_version) in WHEELS:
        return f"{python} -m pip install {package}"
    newest = ".".join(map(str, WHEELS[-1]))
    return (
        f"ttnn has wheels for Python {' and '.join(f'{a}.{b}' for a, b in WHEELS)}, this is {python_version}: "
        f"python{newest} -m venv ttnn-venv; ttnn-venv/bin/pip install {package}; "
        f"export {PYTHON_VARIABLE}=$PWD/ttnn-venv/bin/python"
    )


def find_ttnn() -> Ttnn:
    """Ask the interpreter what it has, without importing ttnn."""
    python = find_python()
    try:
        done = subprocess.run(
            [python, "-c", _LOOK],
            capture_output=True,
            text=True,
            timeout=_LOOK_SECONDS,
            env=worker_environment(python),
            check=False,
        )
        answer = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        raise EnvironmentProblem(
            "TT507",
            f"{python} does not run as a Python",
            help=f"set {PYTHON_VARIABLE} to a Python that has ttnn",
        ) from None
    if not answer["found"]:
        raise EnvironmentProblem("TT507", f"{python} does not have ttnn", help=install_help(python, answer["python"]))
    folder = Path(answer["folder"][0]) if answer["folder"] else None
    return Ttnn(python, answer["python"], answer["version"], folder)


def prints_itself() -> bool:
    """Whether the environment already says where the SDK shows what kernels print."""
    return any(os.environ.get(name) for name in (*PRINT_SETTINGS, PRINT_FILE_VARIABLE))


def worker_environment(python: str, print_file: str | None = None) -> dict[str, str]:
    """The environment of the worker; modules on this Python's PYTHONPATH are not made for another Python."""
    variables = dict(os.environ)
    if print_file is not None:
        variables |= {**PRINT_SETTINGS, PRINT_FILE_VARIABLE: print_file}
    # The SDK writes reports on every run, into the working directory unless told otherwise.
    variables.setdefault("TT_METAL_LOGS_PATH", str(cache_directory() / "ttnn"))
    if Path(python) != Path(sys.executable):
        variables.pop("PYTHONPATH", None)
    if variables.get(SIMULATOR_VARIABLE):
        for name, value in SIMULATOR_SETTINGS.items():
            variables.setdefault(name, value)
    return variables
