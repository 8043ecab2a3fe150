"""Build the runner, and the library of `chip` numerics that it loads when a run asks for them."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from tilelang_tt.diagnostics import EnvironmentProblem
from tilelang_tt.runtime.artifact import DEVICE, INCLUDE, Artifact, compile_error, tree_digest
from tilelang_tt.runtime.build_cache import digest
from tilelang_tt.runtime.toolchain import Toolchain


@dataclass(frozen=True)
class _Joined:
    """Files compiled as one: much of the time they take is headers. No files: all that no other line names."""

    flags: tuple[str, ...]
    files: tuple[str, ...] = ()
    native: bool = False  # for this processor: loops that do the arithmetic


# What takes longest comes first. Products and sums are fused in one file alone, which says so: anywhere else results
# would depend on the compiler and the processor.
_RUNNER = (
    _Joined(
        ("-O1",),
        (
            *("engine", "dst", "move", "tilize", "reduce", "binary", "matmul", "typecast", "integers", "sfpu_tiles"),
            *("welford", "random", "sfpu_reduce", "topk", "sfpi", "sfpu_unary", "sfpu_binary", "sfpu_integer"),
        ),
    ),
    _Joined(
        ("-O1",),
        (
            *("scheduler", "fiber", "grid", "kept", "circular_buffer", "page_contents", "semaphore", "tensor"),
            *("globals", "pointer", "order", "noc", "noc_flight", "noc_multicast", "noc_barrier"),
        ),
    ),
    _Joined(("-Og",)),  # what runs seldom: -O1 takes nearly twice as long to build
    _Joined(("-O3", "-ffp-contract=fast"), ("numerics",), native=True),
    _Joined(("-O3",), ("numerics_elements", "sfpu"), native=True),
)
_CHIP_LIBRARY = (
    _Joined(("-O1",)),
    _Joined(("-O3",), ("chip_matmul",), native=True),
    _Joined(("-O2",), ("chip_elements",), native=True),  # -O3 takes twice as long to build
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
    return _artifact("runner", toolchain, _RUNNER, toolchain.executable_flags())


def chip_library(toolchain: Toolchain) -> Artifact:
    """`chip` numerics, for which a user of the other two need not wait."""
    return _artifact("chip.so", toolchain, _CHIP_LIBRARY, toolchain.library_flags())


def clock_library(toolchain: Toolchain, *, for_python: bool = False) -> Artifact:
    """The clock, for runs that are timed; Python, which replays records, can load none with a sanitizer."""
    variant = () if for_python else _runner_build()
    key = digest("clock.so", toolchain.identity, *variant, tree_digest())
    return Artifact(key, "clock.so", lambda path: _compile_clock(toolchain, variant, path))


def _compile_clock(toolchain: Toolchain, variant: tuple[str, ...], target: Path) -> None:
    units = tuple(unit.stem for unit in sorted((DEVICE / "src" / "clock").glob("*.cpp")))
    joined = _join(tuple(f"clock/{unit}" for unit in units), target.parent)
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


def _artifact(name: str, toolchain: Toolchain, joined: tuple[_Joined, ...], link: tuple[str, ...]) -> Artifact:
    variant = _runner_build()
    of_chip = joined is _CHIP_LIBRARY
    files = [file.stem for file in sorted((DEVICE / "src").glob("*.cpp")) if file.name.startswith("chip_") == of_chip]
    named = {file for group in joined for file in group.files}
    rest = tuple(file for file in files if file not in named)
    groups = [group if group.files else replace(group, files=rest) for group in joined]
    key = digest(name, toolchain.identity, *toolchain.native_flags(), *variant, repr(groups), tree_digest())
    return Artifact(key, name, lambda path: _compile(toolchain, variant, groups, link, path))


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
    toolchain: Toolchain, variant: tuple[str, ...], groups: list[_Joined], link: tuple[str, ...], target: Path
) -> None:
    def compile_group(group: _Joined) -> Path:
        joined = _join(group.files, target.parent)
        result = joined.with_suffix(".o")
        flags = (*toolchain.common_flags(), *group.flags, *(toolchain.native_flags() if group.native else ()), *variant)
        done = toolchain.run(*flags, "-I", INCLUDE, "-c", joined, "-o", result)
        if done.returncode != 0:
            raise compile_error(f"the device runtime ({group.files[0]} ...)", toolchain, done.stderr)
        joined.unlink()
        return result

    with ThreadPoolExecutor(max_workers=2) as pool:
        objects = list(pool.map(compile_group, groups))
    done = toolchain.run(*objects, "-o", target, *variant, *link)
    if done.returncode != 0:
        raise compile_error("the device runtime (link)", toolchain, done.stderr)
    for item in objects:
        item.unlink()


def _join(files: tuple[str, ...], folder: Path) -> Path:
    """Several files as one: their common headers are read once."""
    path = folder / f"with_{files[0].replace('/', '_')}.cpp"
    path.write_text("".join(f'#include "{DEVICE / "src" / file}.cpp"\n' for file in files))
    return path
