"""Build the runner and the kernels of a launch with the host compiler, through the cache.

A kernel source is compiled unchanged. What the SDK's build passes to it (compile-time arguments, CB formats
and tile sizes, modes) arrives in a generated prefix that is included before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tilelang_tt.arch import ARCHS
from tilelang_tt.diagnostics import DeviceError
from tilelang_tt.runtime.build_cache import build_cache, digest
from tilelang_tt.runtime.elf import mutable_globals
from tilelang_tt.runtime.formats import FORMATS
from tilelang_tt.runtime.plan import KernelPlan, LaunchPlan, Plan, Role
from tilelang_tt.runtime.toolchain import Toolchain, find_toolchain

DEVICE = Path(__file__).resolve().parent.parent / "device"
INCLUDE = DEVICE / "include"

# Translation units whose loops do the arithmetic; the others are compiled for a quick build.
_HOT_UNITS = ("numerics.cpp", "chip_matmul.cpp", "sfpu.cpp", "numerics_elements.cpp", "chip_elements.cpp")
_PARALLEL_BUILDS = 4
_CB_SLOTS = 64
_INVALID_FORMAT = 255
_INTERLEAVED_DRAM = 2  # TensorAccessorArgs flag word: IsDram, not sharded
_NOC_OF_ROLE = {"reader": 0, "compute": 0, "writer": 1}
_COMPILER_LINES = 12  # of a failed kernel build, shown to the user

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


def build_all(plan: Plan, sources: Mapping[str, str]) -> tuple[Path, list[dict[Role, Path]]]:
    """The runner, and for each launch the library of each role; what is missing is built in parallel."""
    toolchain = find_toolchain()
    kernels = [
        (number, kernel.role, _kernel(toolchain, plan, launch, kernel, sources[kernel.source]))
        for number, launch in enumerate(plan.launches)
        for kernel in launch.kernels
    ]
    paths = _obtain([runner(toolchain), *(artifact for _, _, artifact in kernels)])
    libraries: list[dict[Role, Path]] = [{} for _ in plan.launches]
    for (number, role, _), path in zip(kernels, paths[1:], strict=True):
        libraries[number][role] = path
    return paths[0], libraries


def _obtain(artifacts: list[Artifact]) -> list[Path]:
    found = [build_cache().get(artifact.key, artifact.name) for artifact in artifacts]
    if all(found):
        return [path for path in found if path]
    with ThreadPoolExecutor(max_workers=_PARALLEL_BUILDS) as pool:
        return list(pool.map(Artifact.obtain, artifacts))


def runner(toolchain: Toolchain) -> Artifact:
    """The device runtime as an executable."""
    key = digest("runner", toolchain.identity, _tree_digest())
    return Artifact(key, "runner", lambda path: _compile_runner(toolchain, path))


def _compile_runner(toolchain: Toolchain, target: Path) -> None:
    def compile_unit(unit: Path) -> Path:
        hot = unit.name in _HOT_UNITS
        optimise = ("-O3", "-ffp-contract=fast", *toolchain.native_flags()) if hot else ("-O1",)
        result = target.parent / f"{unit.stem}.o"
        done = toolchain.run(*toolchain.common_flags(), *optimise, "-I", INCLUDE, "-c", unit, "-o", result)
        if done.returncode != 0:
            raise _compile_error(f"the device runtime ({unit.name})", toolchain, done.stderr)
        return result

    units = sorted((DEVICE / "src").glob("*.cpp"), key=lambda unit: (unit.name not in _HOT_UNITS, unit.name))
    with ThreadPoolExecutor(max_workers=2) as pool:
        objects = list(pool.map(compile_unit, units))
    done = toolchain.run(*objects, "-o", target, *toolchain.executable_flags())
    if done.returncode != 0:
        raise _compile_error("the device runtime (link)", toolchain, done.stderr)
    for item in objects:
        item.unlink()


def _kernel(toolchain: Toolchain, plan: Plan, launch: LaunchPlan, kernel: KernelPlan, source: str) -> Artifact:
    prefix = kernel_prefix(plan, launch, kernel)
    key = digest("kernel", toolchain.identity, _tree_digest(), prefix, kernel.source, source)
    return Artifact(key, "kernel.so", _kernel_compiler(toolchain, kernel, prefix, source))


def _kernel_compiler(toolchain: Toolchain, kernel: KernelPlan, prefix: str, source: str) -> Callable[[Path], None]:
    def build(target: Path) -> None:
        prefix_file, source_file = target.with_name("prefix.h"), target.with_name(kernel.source)
        unit = target.with_name("kernel.o")
        prefix_file.write_text(prefix)
        source_file.write_text(source)
        done = toolchain.run(
            *toolchain.common_flags(),
            "-O1",
            "-fvisibility=hidden",
            *("-I", INCLUDE),
            *("-include", prefix_file),
            *("-c", source_file),
            *("-o", unit),
        )
        if done.returncode != 0:
            raise _kernel_error(kernel, toolchain, done.stderr.replace(f"{target.parent}/", ""))
        _refuse_mutable_globals(kernel, unit)
        done = toolchain.run(unit, "-o", target, *toolchain.library_flags())
        if done.returncode != 0:
            raise _compile_error(f"kernel {kernel.source} (link)", toolchain, done.stderr)
        unit.unlink()

    return build


def kernel_prefix(plan: Plan, launch: LaunchPlan, kernel: KernelPlan) -> str:
    """Definitions that make launch constants usable in constant expressions of the kernel."""
    sizes, formats = [0] * _CB_SLOTS, [_INVALID_FORMAT] * _CB_SLOTS
    for cb in launch.cbs:
        sizes[cb.id], formats[cb.id] = cb.page_bytes, FORMATS[cb.format].number
    config = launch.compute_config
    defines = {
        "KERNEL_COMPILE_TIME_ARGS": ", ".join(map(str, compile_time_words(plan, kernel))),
        "VD_TILE_SIZES": ", ".join(map(str, sizes)),
        "VD_DATA_FORMATS": ", ".join(map(str, formats)),
        "VD_MEM_ZEROS_BASE": str(ZEROS_BASE[plan.arch]),
        "VD_NOC_INDEX": str(_NOC_OF_ROLE[kernel.role]),
        "VD_FP32_DEST_ACC": str(int(config.fp32_dest_acc_en)),
        "VD_MATH_APPROX": str(int(config.math_approx_mode)),
        f"ARCH_{ARCHS[plan.arch].title.upper()}": "1",
    }
    lines = [f"#define {name} {value}" for name, value in defines.items()]
    return "\n".join([*lines, '__attribute__((visibility("default"))) void kernel_main();', ""])


def compile_time_words(plan: Plan, kernel: KernelPlan) -> list[int]:
    words: list[int] = []
    for arg in kernel.compile_time_args:
        if arg.accessor is not None:
            words += [_INTERLEAVED_DRAM, plan.tensor(arg.accessor).page_bytes]
        elif arg.value is not None:
            words.append(arg.value & 0xFFFFFFFF)
    return words


@cache
def _tree_digest() -> str:
    """Changes whenever a file of the device changes."""
    files = sorted(path for path in DEVICE.rglob("*") if path.suffix in (".h", ".cpp"))
    return digest(*(part for path in files for part in (str(path.relative_to(DEVICE)), path.read_bytes())))


def _refuse_mutable_globals(kernel: KernelPlan, unit: Path) -> None:
    found = mutable_globals(unit)
    if found:
        sizes = ", ".join(f"{size} B in {section}" for section, size in found.items())
        raise DeviceError(
            "TT402",
            f"not implemented by the virtual device: mutable global variables in {kernel.source} ({sizes})",
            help="make them constexpr, or local to kernel_main",
        )


def _kernel_error(kernel: KernelPlan, toolchain: Toolchain, output: str) -> DeviceError:
    """What the SDK has and this device lacks is said in those words; the rest is the compiler's."""
    missing = re.search(r"(?:unimplemented on the virtual device: ([^\n\"]+))|fatal error: '?(api/[\w/.]+)", output)
    if missing:
        what = missing[1] or f"header {missing[2]}"
        return DeviceError(
            "TT402", f"not implemented by the virtual device: {what}", notes=(f"used by {kernel.source}",)
        )
    return _compile_error(f"kernel {kernel.source}", toolchain, output)


def _compile_error(what: str, toolchain: Toolchain, output: str) -> DeviceError:
    lines = [line for line in output.splitlines() if not re.match(r"\s*(In file included|from )", line)]
    return DeviceError(
        "TT407",
        f"{what} does not compile",
        notes=(f"compiler: {toolchain.title}", *lines[:_COMPILER_LINES]),
    )
