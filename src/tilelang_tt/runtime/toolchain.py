"""The C++ compiler that builds the virtual device and the kernels.

$CXX  ->  g++  ->  clang++  ->  ziglang from PyPI  ->  EnvironmentProblem TT501
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tilelang_tt.diagnostics import EnvironmentProblem

WARNINGS_OFF = ("-Wno-int-to-pointer-cast", "-Wno-psabi", "-Wno-unknown-warning-option", "-Wno-attributes")


@dataclass(frozen=True)
class Toolchain:
    """A compiler driver and what distinguishes its output from another's."""

    command: tuple[str, ...]
    identity: str  # changes when the compiler or the processor changes

    @property
    def title(self) -> str:
        return shlex.join(self.command)

    @property
    def is_zig(self) -> bool:
        return "ziglang" in self.command

    def common_flags(self) -> tuple[str, ...]:
        flags = ("-std=c++17", "-fPIC", "-fno-exceptions", "-fno-rtti", "-ffp-contract=off", *WARNINGS_OFF)
        # zig instruments C++ by default; the traps it inserts are not breaches of the device.
        return (*flags, "-fno-sanitize=undefined") if self.is_zig else flags

    def native_flags(self) -> tuple[str, ...]:
        """Flags of the loops that do the arithmetic: this processor, its widest vectors. Bits are the same without."""
        machine = platform.machine().lower()
        if machine in ("x86_64", "amd64"):
            return ("-march=native", "-mprefer-vector-width=512")
        return ("-mcpu=native",) if machine in ("arm64", "aarch64") else ()

    def watched_flags(self) -> tuple[str, ...]:
        """Flags of a data movement kernel: loads and stores through pointers call the device (src/pointer.cpp).

        zig insists on a sanitizer's runtime, and a kernel built with another sanitizer cannot have this one too.
        """
        sanitized = any(word.startswith("-fsanitize") for word in self.command)
        return () if self.is_zig or sanitized else ("-fsanitize=thread",)

    def executable_flags(self) -> tuple[str, ...]:
        """Link flags of the runner: it exports its functions to the kernels it loads."""
        static = () if self.is_zig else ("-static-libgcc", "-static-libstdc++")
        return ("-rdynamic", *static, "-ldl", "-pthread")

    def library_flags(self) -> tuple[str, ...]:
        """Link flags of a kernel: the functions it calls are found in the runner."""
        return ("-shared", "-Wl,--as-needed", "-Wl,-z,undefs")

    def lean_library_flags(self) -> tuple[str, ...]:
        """The same for a kernel that calls the runner alone: the linker need not look through the C++ library."""
        return self.library_flags() if self.is_zig else (*self.library_flags(), "-nostdlib")

    def run(self, *args: str | Path) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*self.command, *map(str, args)], capture_output=True, text=True, errors="replace", check=False
        )
        if done.returncode == 0 and "-o" in args and not Path(args[args.index("-o") + 1]).exists():
            raise EnvironmentProblem(
                "TT501",
                f"the C++ compiler ends without an error and without a file: {' '.join(self.command)}",
                help="set CXX to a compiler that works, or unset it to let g++, clang++ or ziglang be found",
            )
        return done


def find_toolchain() -> Toolchain:
    """The compiler to use, looked for anew when $CXX or $PATH change."""
    return _find(os.environ.get("CXX", ""), os.environ.get("PATH", ""))


@cache
def _find(cxx: str, path: str) -> Toolchain:
    if cxx.strip():
        command = shlex.split(cxx)
        found = shutil.which(command[0], path=path)
        if found is None:
            raise EnvironmentProblem(
                "TT501",
                f"the C++ compiler named by $CXX is not there: {command[0]}",
                help="set CXX to an installed compiler, or unset it to let g++, clang++ or ziglang be found",
            )
        return _toolchain((found, *command[1:]), Path(found))
    for name in ("g++", "clang++"):
        found = shutil.which(name, path=path)
        if found is not None:
            return _toolchain((found,), Path(found))
    zig = importlib.util.find_spec("ziglang")
    if zig is not None and zig.origin is not None:
        return _toolchain((sys.executable, "-m", "ziglang", "c++"), Path(zig.origin))
    raise EnvironmentProblem(
        "TT501",
        "no C++ compiler found; the virtual device compiles the generated kernels with one",
        notes=("looked for $CXX, g++, clang++ and the Python package ziglang",),
        help="install g++ or clang++ (Debian, Ubuntu: apt install g++), or run: pip install ziglang",
    )


def _toolchain(command: tuple[str, ...], executable: Path) -> Toolchain:
    real = executable.resolve()
    stat = real.stat()
    parts = (*command, str(real), str(stat.st_size), str(stat.st_mtime_ns), _processor())
    return Toolchain(command, hashlib.sha256("\0".join(parts).encode()).hexdigest())


def _processor() -> str:
    """Names this processor's instruction set, since the runtime is compiled for the machine it runs on."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith(("flags", "Features")):
                return line
    return f"{platform.machine()} {platform.processor()}"
