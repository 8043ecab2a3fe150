"""Every printed stage of every golden reads back as the program it was printed from.

The text of what was read is the same, and what the remaining passes make of it are the same files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from test_golden import HERE, KERNELS, load
from tilelang.backend.target import determine_target

from tilelang_tt.ir.kernel import KernelSet
from tilelang_tt.ir.text_kernel import kernel_text, parse_kernels
from tilelang_tt.ir.text_program import parse_tile, tile_text
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.passes.d_split.split_device_kernel import split_device_kernel
from tilelang_tt.passes.fit_l1.fit_l1 import fit_l1
from tilelang_tt.passes.record import Pass
from tilelang_tt.pipeline import (
    BLOCK_PASSES,
    ENGINE_PASSES,
    KERNEL_PASSES,
    TILE_PASSES,
    kinds_of,
    print_files,
    run_passes,
)
from tilelang_tt.target import options_of

Sets = tuple[KernelSet, ...]


def stages(name: str) -> list[tuple[str, TileProgram | Sets]]:
    """The program after each pass, and the finished one at the end."""
    func, module = load(name)
    found: list[tuple[str, TileProgram | Sets]] = []
    options = options_of(determine_target(module.TARGET, return_object=True))
    run_passes(func, options, lambda stage, state: found.append((stage, state)))
    return found


def finished(program: TileProgram, sets: Sets | None, after: str) -> dict[str, str]:
    """The files, from the program (or its kernels) as a pass leaves it."""
    kinds = {kind for launch in program.launches for kind in kinds_of(launch)}

    def through(steps: Sequence[Pass[TileProgram]], program: TileProgram, *, done: bool) -> TileProgram:
        for step in steps:
            program = step(program) if done and not kinds.isdisjoint(step.of) else program
            done = done or step.name == after
        return program

    if sets is None:
        first = TILE_PASSES.index(BLOCK_PASSES[0])
        rest = [step.name for step in TILE_PASSES[first:]]
        if after not in (*rest, "fit_l1"):  # what fits L1 is not settled yet
            program = through(TILE_PASSES[:first], program, done=after in ("lift", "lift_code"))
            program = fit_l1(program, lambda way: through(BLOCK_PASSES, way, done=True))
            program = through(ENGINE_PASSES, program, done=True)
        else:
            program = through(TILE_PASSES[first:], program, done=after == "fit_l1")
    done = sets is None or after == "split_device_kernel"
    sets = split_device_kernel(program) if sets is None else sets
    for kernel_step in KERNEL_PASSES:
        sets = tuple(map(kernel_step, sets)) if done and not kinds.isdisjoint(kernel_step.of) else sets
        done = done or kernel_step.name == after
    return print_files(program, sets)


def read_back(name: str) -> Iterator[tuple[str, str, str, TileProgram, Sets | None]]:
    """Of every stage its name, its text, the text of what was read, and that itself."""
    files = {"kernel.py": str(HERE / name / "kernel.py")}
    program: TileProgram | None = None
    for stage, state in stages(name):
        if isinstance(state, TileProgram):
            text = tile_text(state)
            program = parse_tile(text, files)
            yield stage, text, tile_text(program), program, None
        else:
            assert program is not None
            text = "\n".join(map(kernel_text, state))
            sets = parse_kernels(text, program, files)
            yield stage, text, "\n".join(map(kernel_text, sets)), program, sets


@pytest.mark.parametrize("name", KERNELS)
def test_text_reads_back(name: str) -> None:
    files = {path.name: path.read_text() for path in (HERE / name).iterdir() if path.suffix in (".cpp", ".json")}
    known = ""
    for stage, text, again, program, sets in read_back(name):
        assert again == text, stage
        if text != known:  # a pass that changed nothing leaves nothing new to finish
            found = {file: made.replace(f"{HERE / name}/", "") for file, made in finished(program, sets, stage).items()}
            assert found == files, stage
        known = text
