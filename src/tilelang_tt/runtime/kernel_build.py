"""Build what a run needs, kernels above all, with the host compiler, through the cache.

A kernel source is compiled unchanged. What the SDK's build passes to it (compile-time arguments, CB formats
and tile sizes, modes) arrives in a generated prefix that is included before it.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tilelang_tt.arch import TILE
from tilelang_tt.diagnostics import DeviceError
from tilelang_tt.runtime import counted
from tilelang_tt.runtime.artifact import INCLUDE, Artifact, compile_error, obtain_all, tree_digest
from tilelang_tt.runtime.build_cache import cache_directory, digest
from tilelang_tt.runtime.elf import mutable_globals, undefined_symbols
from tilelang_tt.runtime.formats import FORMATS, tile_bytes
from tilelang_tt.runtime.header_lines import renumber
from tilelang_tt.runtime.plan import Role
from tilelang_tt.runtime.program import GroupRun, KernelRun, Run
from tilelang_tt.runtime.runner_build import chip_library, clock_library, runner
from tilelang_tt.runtime.toolchain import Toolchain, find_toolchain

GDB_VARIABLE = "TILELANG_TT_GDB"  # set: kernels are built for a debugger, and the runner waits for one
_CB_SLOTS = 64
_INVALID_FORMAT = 255

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


# Of the standard library, and of printing: what the device's headers leave out if the text names nothing of it.
_WANTS_MORE = re.compile(r"\bstd::(?!u?int\d+_t|size_t)|using namespace std|PRINT|TileSlice|numeric_limits")
_CAST = re.compile(r"\b(reinterpret|bit)_cast\b|\*\s*\)")
# What the SDK has and the device has not, in messages of compilers.
_NOT_THERE = re.compile(
    r"unimplemented on the virtual device: (?P<name>[^\n\"]+)|fatal error: '?(?P<header>api/[\w/.]+)"
    r"|(?=[^\n]*(?:not declared|undeclared))[^\n]*['‘](?P<instruction>TTI?_[A-Z]\w*)['’]"
)
# What the runner, or the C library that it has, gives to a kernel.
_FROM_RUNNER = re.compile(r"vd_|__tsan_|mem(cpy|set|move|cmp)$|_GLOBAL_OFFSET_TABLE_$")


@dataclass(frozen=True)
class Built:
    runner: Path
    chip: Path | None  # the library of `chip` numerics, when the run asks for them
    clock: Path | None  # the clock's, likewise
    kernels: list[list[dict[Role, Path]]]  # per launch and group


def build_all(run: Run) -> Built:
    """What is missing is built in parallel."""
    toolchain = find_toolchain()
    found: dict[str, Artifact] = {}
    keys: list[list[dict[Role, str]]] = []
    for launch in run.launches:
        keys.append([])
        for group in launch.groups:
            artifacts = {role: _kernel(toolchain, run, group, kernel) for role, kernel in group.kernels.items()}
            found.update({artifact.key: artifact for artifact in artifacts.values()})
            keys[-1].append({role: artifact.key for role, artifact in artifacts.items()})
    libraries = [chip_library(toolchain)] if run.numerics == "chip" else []
    libraries += [clock_library(toolchain)] if run.clock else []
    runtime = [runner(toolchain), *libraries]
    paths = obtain_all([*runtime, *found.values()])
    by_key = dict(zip(found, paths[len(runtime) :], strict=True))
    return Built(
        paths[0],
        paths[1] if run.numerics == "chip" else None,
        paths[len(runtime) - 1] if run.clock else None,
        [[{role: by_key[key] for role, key in group.items()} for group in launch] for launch in keys],
    )


def _kernel(toolchain: Toolchain, run: Run, group: GroupRun, kernel: KernelRun) -> Artifact:
    prefix = kernel_prefix(run, group, kernel)
    headers = included_files(kernel)
    included = (part for path in headers for part in (path.name, path.read_bytes()))
    counts = kernel.scalar and run.clock is not None and counted.available(toolchain.is_zig) and not debugging()
    key = digest(
        "kernel-debug" if debugging() else "kernel-counted" if counts else "lean-kernel",
        *(toolchain.identity, tree_digest(), prefix, kernel.file, kernel.text, str(kernel.watched), *included),
    )
    home = cache_directory() / key
    return Artifact(key, "kernel.so", _kernel_compiler(toolchain, kernel, prefix, headers, home, counts=counts))


def debugging() -> bool:
    return bool(os.environ.get(GDB_VARIABLE))


def included_files(kernel: KernelRun) -> list[Path]:
    """The user's own headers that a kernel includes, directly or not."""
    found: list[Path] = []
    texts: list[tuple[str, tuple[Path, ...]]] = [(kernel.text, ())]
    while texts:
        text, beside = texts.pop()
        for name in re.findall(r'^\s*#\s*include\s*["<]([^">]+)[">]', text, re.MULTILINE):
            for path in (directory / name for directory in (*beside, *kernel.include_dirs)):
                if path.is_file() and path not in found:
                    found.append(path)
                    texts.append((path.read_text(errors="replace"), (path.parent,)))
    return found


def _makes_pointers(kernel: KernelRun, headers: list[Path]) -> bool:
    """Whether there is a cast by which a number could become a pointer; few compute kernels have one."""
    return any(_CAST.search(text) for text in (kernel.text, *(path.read_text(errors="replace") for path in headers)))


def _compile_flags(toolchain: Toolchain, kernel: KernelRun, headers: list[Path]) -> list[str | Path]:
    watched = kernel.watched and (kernel.role != "compute" or _makes_pointers(kernel, headers))
    return [
        *toolchain.common_flags(),
        *(("-O0", "-g") if debugging() else ("-O1" if kernel.watched else "-O2",)),
        "-fvisibility=hidden",
        "-fno-threadsafe-statics",
        "-fno-strict-aliasing",
        *(toolchain.watched_flags() if watched else ()),
    ]


def _with_header_lines(toolchain: Toolchain, flags: list[str | Path], source: Path, headers: list[Path]) -> Path | None:
    """The preprocessed kernel, whose calls inside the user's headers can be told from those of the kernel itself.

    A debugger would not find such lines.
    """
    if not headers or debugging():
        return None
    text = source.with_suffix(".ii")
    done = toolchain.run(*flags, "-E", source, "-o", text)
    if done.returncode != 0:
        return None
    text.write_text(renumber(text.read_text(errors="replace"), headers))
    return text


def _may_be_lean(kernel: KernelRun, headers: list[Path]) -> bool:
    """Whether the kernel seems to do without most of the device's headers; if it does not, it is compiled again."""
    return not headers and not debugging() and not _WANTS_MORE.search(kernel.text)


def _compile_counted(
    toolchain: Toolchain, flags: list[str | Path], source: Path, unit: Path
) -> subprocess.CompletedProcess[str]:
    text = source.with_suffix(".s")
    done = toolchain.run(*flags, *counted.FLAGS, "-S", source, "-o", text)
    if done.returncode != 0:
        return done
    text.write_text(counted.counted(text.read_text()))
    done = toolchain.run("-c", text, "-o", unit)
    text.unlink()
    return done


def _kernel_compiler(
    toolchain: Toolchain, kernel: KernelRun, prefix: str, headers: list[Path], home: Path, *, counts: bool
) -> Callable[[Path], None]:
    """`home` is where the entry will lie: there a debugger finds the source."""

    def build(target: Path) -> None:
        prefix_file, source_file = target.with_name("prefix.h"), target.with_name(kernel.file)
        unit = target.with_name("kernel.o")
        prefix_file.write_text(prefix)
        source_file.write_text(kernel.text)
        flags = [*_compile_flags(toolchain, kernel, headers), f"-fdebug-prefix-map={target.parent}={home}"]
        includes: list[str | Path] = ["-I", INCLUDE]
        includes += [flag for directory in kernel.include_dirs for flag in ("-I", directory)]
        includes += ["-include", prefix_file]
        numbered = _with_header_lines(toolchain, [*flags, *includes], source_file, headers)
        done = toolchain.run(*flags, "-c", numbered, "-o", unit) if numbered and not counts else None
        if counts:
            done = _compile_counted(toolchain, [*flags, *includes], source_file, unit)
        elif _may_be_lean(kernel, headers):
            done = toolchain.run(*flags, *includes, "-DVD_LEAN", "-c", source_file, "-o", unit)
        if done is None or done.returncode != 0:  # an error is told with the lines of the files themselves
            done = toolchain.run(*flags, *includes, "-c", source_file, "-o", unit)
        if done.returncode != 0:
            raise _kernel_error(kernel.file, toolchain, done.stderr.replace(f"{target.parent}/", ""))
        marks = ("-Wl,--defsym=vd_kernel_has_globals=1",) if mutable_globals(unit) else ()  # src/globals.cpp
        alone = all(_FROM_RUNNER.match(name) for name in undefined_symbols(unit))
        link = toolchain.lean_library_flags() if alone else toolchain.library_flags()
        done = toolchain.run(unit, "-o", target, *link, *marks)
        if done.returncode != 0:
            raise compile_error(f"kernel {kernel.file} (link)", toolchain, done.stderr)
        unit.unlink()

    return build


def kernel_prefix(run: Run, group: GroupRun, kernel: KernelRun) -> str:
    """Definitions that make launch constants usable in constant expressions of the kernel."""
    sizes, formats = [0] * _CB_SLOTS, [_INVALID_FORMAT] * _CB_SLOTS
    for cb in group.buffers:
        sizes[cb.id], formats[cb.id] = tile_bytes(cb.stored, cb.tile), FORMATS[cb.stored].number
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
        **_tile_shapes(group),
        **dict.fromkeys(_PROCESSORS[kernel.role], "1"),
        **dict(kernel.defines),
    }
    lines = [f"#define {name} {value}" for name, value in defines.items()]
    # The SDK's own build brings this header to every data movement kernel.
    header = [] if kernel.role == "compute" else ['#include "api/dataflow/dataflow_api.h"']
    entry = '__attribute__((visibility("default"))) void kernel_main();'
    return "\n".join([*lines, *header, kernel.declarations, entry, ""])


def _tile_shapes(group: GroupRun) -> dict[str, str]:
    """Rows and columns of the tiles of every buffer, where some are not 32 x 32."""
    shapes = {cb.id: cb.tile for cb in group.buffers}
    if all(shape == (TILE, TILE) for shape in shapes.values()):
        return {}
    every = [shapes.get(number, (TILE, TILE)) for number in range(_CB_SLOTS)]
    return {"VD_TILE_SHAPES": ", ".join(f"{rows}, {cols}" for rows, cols in every)}


def _kernel_error(file: str, toolchain: Toolchain, output: str) -> DeviceError:
    """What the SDK has and this device lacks is said in those words; the rest is the compiler's."""
    missing = _NOT_THERE.search(output)
    if missing:
        header, instruction = missing["header"], missing["instruction"]
        what = f"header {header}" if header else f"the instruction {instruction}" if instruction else missing["name"]
        return DeviceError("TT402", f"not implemented by the virtual device: {what}", notes=(f"used by {file}",))
    return compile_error(f"kernel {file}", toolchain, output)
