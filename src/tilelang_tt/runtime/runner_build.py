"""Build the runner, and the library of `chip` numerics that it loads when a run asks for them."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tilelang_tt.diagnostics import EnvironmentProblem
from tilelang_tt.runtime.artifact import DEVICE, INCLUDE, Artifact, compile_error, tree_digest
from tilelang_tt.runtime.build_cache import digest
from tilelang_tt.runtime.toolchain import Toolchain

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
        *(
            "main",
            "scheduler",
            "fiber",
            "grid",
            "tensor",
            "semaphore",
            "kernel_view",
            "complaints",
            "print",
            "dump",
            "timed",
            "process",
        ),
        *("globals", "circular_buffer", "kept", "page_contents", "noc", "noc_flight", "noc_multicast"),
        "noc_barrier",
    ),
    (
        *("engine", "dst", "move", "tilize", "reduce", "binary", "matmul", "typecast", "integers", "sfpu_tiles"),
        *("welford", "random", "sfpu_reduce", "topk", "sfpi", "sfpu_unary", "sfpu_binary", "sfpu_integer", "pointer"),
        *("order", "report", "processors"),
    ),
    ("numerics_elements", "sfpu"),
)
# The same in the library of `chip` numerics, which are the units chip_*.cpp.
_JOINED_CHIP_UNITS = (
    (
        *("chip_library", "chip_vector", "chip_vector_exp", "chip_vector_root", "chip_vector_power"),
        *("chip_vector_gelu", "chip_vector_activation", "chip_vector_angle", "chip_vector_hyperbolic"),
        "chip_vector_gamma",
        "chip_vector_rest",
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


def runner(toolchain: Toolchain) -> Artifact:
    """The device runtime as an executable."""
    return _artifact("runner", toolchain, _JOINED_UNITS, toolchain.executable_flags())


def chip_library(toolchain: Toolchain) -> Artifact:
    """`chip` numerics, for which a user of the other two need not wait."""
    return _artifact("chip.so", toolchain, _JOINED_CHIP_UNITS, toolchain.library_flags())


def clock_library(toolchain: Toolchain, *, for_python: bool = False) -> Artifact:
    """The clock, for runs that are timed; Python, which replays records, can load none with a sanitizer."""
    variant = () if for_python else _runner_build()
    key = digest("clock.so", toolchain.identity, *variant, tree_digest())
    return Artifact(key, "clock.so", lambda path: _compile_clock(toolchain, variant, path))


def _compile_clock(toolchain: Toolchain, variant: tuple[str, ...], target: Path) -> None:
    units = tuple(unit.stem for unit in sorted((DEVICE / "src" / "clock").glob("*.cpp")))
    joined = _join(0, tuple(f"clock/{unit}" for unit in units), target.parent)
    flags = (*toolchain.common_flags(), "-fexceptions", "-O2", *variant)
    unit = target.with_name("clock.o")
    steps: tuple[tuple[str | Path, ...], ...] = (
        (*flags, "-c", joined, "-o", unit),
        (unit, "-o", target, *variant, *toolchain.library_flags()),
    )
    for arguments in steps:
        done = toolchain.run(*arguments)
        if done.returncode != 0:
            raise compile_error("the clock", toolchain, done.stderr)
    joined.unlink()
    unit.unlink()


def _artifact(name: str, toolchain: Toolchain, joined: tuple[tuple[str, ...], ...], link: tuple[str, ...]) -> Artifact:
    variant = _runner_build()
    of_chip = joined is _JOINED_CHIP_UNITS
    units = [unit for unit in sorted((DEVICE / "src").glob("*.cpp")) if unit.name.startswith("chip_") == of_chip]
    key = digest(name, toolchain.identity, *toolchain.native_flags(), *variant, tree_digest())
    return Artifact(key, name, lambda path: _compile(toolchain, variant, units, joined, link, path))


def _runner_build() -> tuple[str, ...]:
    name = os.environ.get(BUILD_VARIABLE, "")
    if name not in RUNNER_BUILDS:
        raise EnvironmentProblem(
            "TT504",
            f"{BUILD_VARIABLE} names no build of the device runtime: {name!r}",
            help=f"valid: {', '.join(filter(None, RUNNER_BUILDS))}",
        )
    return RUNNER_BUILDS[name]


def _compile(
    toolchain: Toolchain,
    variant: tuple[str, ...],
    units: list[Path],
    together: tuple[tuple[str, ...], ...],
    link: tuple[str, ...],
    target: Path,
) -> None:
    def compile_unit(unit: Path) -> Path:
        hot = _HOT_UNITS.get(leading.get(unit, unit.name))
        optimise = (*hot, *toolchain.native_flags()) if hot else ("-O1",)
        result = target.parent / f"{unit.stem}.o"
        flags = (*toolchain.common_flags(), *optimise, *variant)
        done = toolchain.run(*flags, "-I", INCLUDE, "-c", unit, "-o", result)
        if done.returncode != 0:
            raise compile_error(f"the device runtime ({unit.name})", toolchain, done.stderr)
        return result

    joined = [_join(number, names, target.parent) for number, names in enumerate(together)]
    leading = {unit: f"{names[0]}.cpp" for unit, names in zip(joined, together, strict=True)}  # says how it is compiled
    alone = [unit for unit in units if not any(unit.stem in names for names in together)]
    alone.sort(key=lambda unit: unit.name not in _HOT_UNITS)
    with ThreadPoolExecutor(max_workers=2) as pool:
        objects = list(pool.map(compile_unit, [*joined, *alone]))  # the longest first
    done = toolchain.run(*objects, "-o", target, *variant, *link)
    if done.returncode != 0:
        raise compile_error("the device runtime (link)", toolchain, done.stderr)
    for item in (*objects, *joined):
        item.unlink()


def _join(number: int, units: tuple[str, ...], folder: Path) -> Path:
    """Several units as one: their common headers are read once."""
    path = folder / f"joined_{number}.cpp"
    path.write_text("".join(f'#include "{DEVICE / "src" / unit}.cpp"\n' for unit in units))
    return path
