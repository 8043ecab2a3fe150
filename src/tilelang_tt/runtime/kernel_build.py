"""Build the runner and the kernels of a launch with the host compiler, through the cache.

A kernel source is compiled unchanged. What the SDK's build passes to it (compile-time arguments, CB formats
and tile sizes, modes) arrives in a generated prefix that is included before it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tilelang_tt.diagnostics import DeviceError, EnvironmentProblem
from tilelang_tt.runtime.build_cache import build_cache, digest
from tilelang_tt.runtime.elf import mutable_globals
from tilelang_tt.runtime.formats import FORMATS
from tilelang_tt.runtime.plan import Role
from tilelang_tt.runtime.program import GroupRun, KernelRun, Run
from tilelang_tt.runtime.toolchain import Toolchain, find_toolchain

DEVICE = Path(__file__).resolve().parent.parent / "device"
INCLUDE = DEVICE / "include"

# Translation units whose loops do the arithmetic; the others are compiled for a quick build. Products and sums are
# fused in one file alone, which says so: anywhere else results would depend on the compiler and the processor.
_HOT_UNITS = {
    "numerics.cpp": ("-O3", "-ffp-contract=fast"),
    "numerics_elements.cpp": ("-O3",),
    "sfpu.cpp": ("-O3",),
    "chip_matmul.cpp": ("-O3",),
    "chip_elements.cpp": ("-O2",),  # -O3 takes twice as long to build
}
# Units compiled together, because most of their compile time is headers; a unit not named here is compiled alone.
_JOINED_UNITS = (
    (
        *("main", "scheduler", "fiber", "grid", "tensor", "semaphore", "kernel_view"),
        *("globals", "circular_buffer", "page_contents", "noc", "noc_flight", "noc_multicast", "noc_barrier"),
    ),
    (
        *("engine", "move", "tilize", "reduce", "binary", "matmul", "typecast", "integers", "sfpu_tiles"),
        *("welford", "random", "sfpu_reduce", "sfpi", "sfpu_binary"),
    ),
    (
        *("chip_vector", "chip_vector_exp", "chip_vector_root", "chip_vector_power", "chip_vector_gelu"),
        *("chip_vector_activation", "chip_vector_angle", "chip_vector_hyperbolic", "chip_vector_rest"),
    ),
)
# For developers: builds of the runner besides the ordinary one, chosen by an environment variable.
BUILD_VARIABLE = "TILELANG_TT_RUNNER_BUILD"
_DEBUG = ("-g1", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all")
RUNNER_BUILDS: dict[str, tuple[str, ...]] = {
    "": (),
    "address": ("-fsanitize=address,undefined", "-fno-sanitize=vptr", *_DEBUG),  # out of bounds, undefined behaviour
    "thread": ("-fsanitize=thread", *_DEBUG),  # data races
    "unchecked": ("-DVD_UNCHECKED",),  # without the contract checks; `make bench` measures what they cost
}
_PARALLEL_BUILDS = 4
_CB_SLOTS = 64
_INVALID_FORMAT = 255
_COMPILER_LINES = 12  # of a failed kernel build, shown to the user

# What the SDK's build defines for the processors of a kernel. It compiles a compute kernel once for each of three; here
# one program stands for all, so what is guarded for any of them is there.
_PROCESSORS: dict[Role, tuple[str, ...]] = {
    "reader": ("COMPILE_FOR_NCRISC",),
    "writer": ("COMPILE_FOR_BRISC",),
    "compute": (
        "COMPILE_FOR_TRISC",
        *(f"{prefix}_{thread}" for prefix in ("TRISC", "UCK_CHLKC") for thread in ("UNPACK", "MATH", "PACK")),
    ),
}

# MEM_ZEROS_BASE of dev_mem_map.h: 512 bytes of zeros that every core keeps in L1.
ZEROS_BASE = {"wormhole_b0": 13_312, "blackhole": 13_536}


@dataclass(frozen=True)
class Artifact:
    """One file of the cache and how to make it."""

    key: str
    name: str
    build: Callable[[Path], None]

    def obtain(self) -> Path:
        return build_cache().get_or_build(self.key, self.name, self.build)


def build_all(run: Run) -> tuple[Path, list[list[dict[Role, Path]]]]:
    """The runner, and for each launch and group the library of each role; what is missing is built in parallel."""
    toolchain = find_toolchain()
    found: dict[str, Artifact] = {}
    keys: list[list[dict[Role, str]]] = []
    for launch in run.launches:
        keys.append([])
        for group in launch.groups:
            artifacts = {role: _kernel(toolchain, run, group, kernel) for role, kernel in group.kernels.items()}
            found.update({artifact.key: artifact for artifact in artifacts.values()})
            keys[-1].append({role: artifact.key for role, artifact in artifacts.items()})
    paths = _obtain([runner(toolchain), *found.values()])
    by_key = dict(zip(found, paths[1:], strict=True))
    return paths[0], [[{role: by_key[key] for role, key in group.items()} for group in launch] for launch in keys]


def _obtain(artifacts: list[Artifact]) -> list[Path]:
    found = [build_cache().get(artifact.key, artifact.name) for artifact in artifacts]
    if all(found):
        return [path for path in found if path]
    with ThreadPoolExecutor(max_workers=_PARALLEL_BUILDS) as pool:
        return list(pool.map(Artifact.obtain, artifacts))


def runner(toolchain: Toolchain) -> Artifact:
    """The device runtime as an executable."""
    variant = _runner_build()
    key = digest("runner", toolchain.identity, *toolchain.native_flags(), *variant, _tree_digest())
    return Artifact(key, "runner", lambda path: _compile_runner(toolchain, variant, path))


def _runner_build() -> tuple[str, ...]:
    name = os.environ.get(BUILD_VARIABLE, "")
    if name not in RUNNER_BUILDS:
        raise EnvironmentProblem(
            "TT504",
            f"{BUILD_VARIABLE} names no build of the device runtime: {name!r}",
            help=f"valid: {', '.join(filter(None, RUNNER_BUILDS))}",
        )
    return RUNNER_BUILDS[name]


def _compile_runner(toolchain: Toolchain, variant: tuple[str, ...], target: Path) -> None:
    def compile_unit(unit: Path) -> Path:
        hot = _HOT_UNITS.get(unit.name)
        optimise = (*hot, *toolchain.native_flags()) if hot else ("-O1",)
        result = target.parent / f"{unit.stem}.o"
        flags = (*toolchain.common_flags(), *optimise, *variant)
        done = toolchain.run(*flags, "-I", INCLUDE, "-c", unit, "-o", result)
        if done.returncode != 0:
            raise _compile_error(f"the device runtime ({unit.name})", toolchain, done.stderr)
        return result

    joined = [_join(number, units, target.parent) for number, units in enumerate(_JOINED_UNITS)]
    together = {name for units in _JOINED_UNITS for name in units}
    alone = [unit for unit in sorted((DEVICE / "src").glob("*.cpp")) if unit.stem not in together]
    alone.sort(key=lambda unit: unit.name not in _HOT_UNITS)
    with ThreadPoolExecutor(max_workers=2) as pool:
        objects = list(pool.map(compile_unit, [*joined, *alone]))  # the longest first
    done = toolchain.run(*objects, "-o", target, *variant, *toolchain.executable_flags())
    if done.returncode != 0:
        raise _compile_error("the device runtime (link)", toolchain, done.stderr)
    for item in (*objects, *joined):
        item.unlink()


def _join(number: int, units: tuple[str, ...], folder: Path) -> Path:
    """Several units as one: their common headers are read once."""
    path = folder / f"joined_{number}.cpp"
    path.write_text("".join(f'#include "{DEVICE / "src" / unit}.cpp"\n' for unit in units))
    return path


def _kernel(toolchain: Toolchain, run: Run, group: GroupRun, kernel: KernelRun) -> Artifact:
    prefix = kernel_prefix(run, group, kernel)
    headers = included_files(kernel)
    included = (part for path in headers for part in (path.name, path.read_bytes()))
    key = digest("kernel", toolchain.identity, _tree_digest(), prefix, kernel.file, kernel.text, *included)
    return Artifact(key, "kernel.so", _kernel_compiler(toolchain, kernel, prefix))


def included_files(kernel: KernelRun) -> list[Path]:
    """The user's own headers that a kernel includes, directly or not."""
    found: list[Path] = []
    texts = [kernel.text]
    while texts:
        for name in re.findall(r'^\s*#\s*include\s*"([^"]+)"', texts.pop(), re.MULTILINE):
            for path in (directory / name for directory in kernel.include_dirs):
                if path.is_file() and path not in found:
                    found.append(path)
                    texts.append(path.read_text())
    return found


def _kernel_compiler(toolchain: Toolchain, kernel: KernelRun, prefix: str) -> Callable[[Path], None]:
    def build(target: Path) -> None:
        prefix_file, source_file = target.with_name("prefix.h"), target.with_name(kernel.file)
        unit = target.with_name("kernel.o")
        prefix_file.write_text(prefix)
        source_file.write_text(kernel.text)
        done = toolchain.run(
            *toolchain.common_flags(),
            "-O1",
            "-fvisibility=hidden",
            "-fno-threadsafe-statics",
            *(() if kernel.role == "compute" else toolchain.watched_flags()),
            *("-I", INCLUDE),
            *(flag for directory in kernel.include_dirs for flag in ("-I", directory)),
            *("-include", prefix_file),
            *("-c", source_file),
            *("-o", unit),
        )
        if done.returncode != 0:
            raise _kernel_error(kernel.file, toolchain, done.stderr.replace(f"{target.parent}/", ""))
        marks = ("-Wl,--defsym=vd_kernel_has_globals=1",) if mutable_globals(unit) else ()  # src/globals.cpp
        done = toolchain.run(unit, "-o", target, *toolchain.library_flags(), *marks)
        if done.returncode != 0:
            raise _compile_error(f"kernel {kernel.file} (link)", toolchain, done.stderr)
        unit.unlink()

    return build


def kernel_prefix(run: Run, group: GroupRun, kernel: KernelRun) -> str:
    """Definitions that make launch constants usable in constant expressions of the kernel."""
    sizes, formats = [0] * _CB_SLOTS, [_INVALID_FORMAT] * _CB_SLOTS
    for cb in group.buffers:
        form = FORMATS[cb.stored]
        sizes[cb.id], formats[cb.id] = form.page_bytes, form.number
    defines = {
        "KERNEL_COMPILE_TIME_ARGS": ", ".join(map(str, kernel.compile_args)),
        "VD_NAMED_COMPILE_TIME_ARGS": "".join(f'{{"{name}", {value}u}}, ' for name, value in kernel.named_args),
        "VD_TILE_SIZES": ", ".join(map(str, sizes)),
        "VD_DATA_FORMATS": ", ".join(map(str, formats)),
        "VD_MEM_ZEROS_BASE": str(ZEROS_BASE[run.arch.name]),
        "VD_NOC_INDEX": str(kernel.noc),
        "VD_FP32_DEST_ACC": str(int(group.config.fp32_dest_acc_en)),
        "VD_DST_FULL_SYNC": str(int(group.config.dst_full_sync_en)),
        "VD_MATH_APPROX": str(int(group.config.math_approx_mode)),
        "VD_MATH_FIDELITY": group.config.math_fidelity,
        f"ARCH_{run.arch.title.upper()}": "1",
        **dict.fromkeys(_PROCESSORS[kernel.role], "1"),
        **dict(kernel.defines),
    }
    lines = [f"#define {name} {value}" for name, value in defines.items()]
    # The SDK's own build brings this header to every data movement kernel.
    header = [] if kernel.role == "compute" else ['#include "api/dataflow/dataflow_api.h"']
    entry = '__attribute__((visibility("default"))) void kernel_main();'
    return "\n".join([*lines, *header, kernel.declarations, entry, ""])


@cache
def _tree_digest() -> str:
    """Changes whenever a file of the device changes."""
    files = sorted(path for path in DEVICE.rglob("*") if path.suffix in (".h", ".cpp"))
    return digest(*(part for path in files for part in (str(path.relative_to(DEVICE)), path.read_bytes())))


def _kernel_error(file: str, toolchain: Toolchain, output: str) -> DeviceError:
    """What the SDK has and this device lacks is said in those words; the rest is the compiler's."""
    missing = re.search(r"(?:unimplemented on the virtual device: ([^\n\"]+))|fatal error: '?(api/[\w/.]+)", output)
    if missing:
        what = missing[1] or f"header {missing[2]}"
        return DeviceError("TT402", f"not implemented by the virtual device: {what}", notes=(f"used by {file}",))
    return _compile_error(f"kernel {file}", toolchain, output)


def _compile_error(what: str, toolchain: Toolchain, output: str) -> DeviceError:
    lines = [line for line in output.splitlines() if not re.match(r"\s*(In file included|from )", line)]
    return DeviceError(
        "TT407",
        f"{what} does not compile",
        notes=(f"compiler: {toolchain.title}", *lines[:_COMPILER_LINES]),
    )
