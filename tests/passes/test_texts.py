"""Every pass as text in, text out: `texts/<pass>.txt` holds small programs before it, and what it makes of them.

No kernel is lifted and no other pass runs: the program is read from the text. `make golden` rewrites the second halves.
A tile program must mean the same before and after. Kernels are written behind the tile program they were made of.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tilelang_tt.ir.interpret import Array
from tilelang_tt.ir.scalar import int_value
from tilelang_tt.ir.text_kernel import kernel_text, parse_kernels
from tilelang_tt.ir.text_program import parse_tile, tile_text
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.pipeline import KERNEL_PASSES, TILE_PASSES

from .kernels import small_integers
from .stages import same_meaning

FOLDER = Path(__file__).parent / "texts"
BEFORE, AFTER = "--- before\n", "--- after\n"
RUNS: dict[str, Callable[[Any], Any]] = {row.name: row.run for row in (*TILE_PASSES, *KERNEL_PASSES)}
OF_KERNELS = {row.name for row in KERNEL_PASSES}


SIZE = 40  # of an axis whose length is known at run time


def inputs(program: TileProgram) -> dict[str, Array]:
    shapes = {
        tensor.name: tuple(SIZE if (known := int_value(extent)) is None else known for extent in tensor.shape)
        for tensor in program.tensors
    }
    return small_integers(shapes)


def texts(name: str, text: str) -> tuple[str, str]:
    """The program that `text` is and what a pass makes of it, printed; of kernels alone, without the tile program."""
    run = RUNS[name]
    if name not in OF_KERNELS:
        program = parse_tile(text)
        changed = run(program)
        sizes = {size.name: SIZE for size in program.sizes}
        assert same_meaning(program, changed, inputs(program), sizes, fills=name == "fill_before_use")
        return tile_text(program), tile_text(changed)
    tiles, _, kernels = text.partition("kernels ")
    sets = parse_kernels(f"kernels {kernels}", parse_tile(tiles))
    return "\n".join(map(kernel_text, sets)), "\n".join(kernel_text(run(one)) for one in sets)


def test_every_pass_has_a_text() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(RUNS)


@pytest.mark.filterwarnings("ignore:.*TT701")
@pytest.mark.parametrize("name", RUNS)
def test_text_in_text_out(name: str) -> None:
    path = FOLDER / f"{name}.txt"
    rewritten = ""
    for case in path.read_text().split(BEFORE)[1:]:
        before, _, after = case.partition(AFTER)
        unchanged, found = texts(name, before)
        assert before.endswith(unchanged)
        assert found != unchanged
        assert found == after or os.environ.get("UPDATE_GOLDEN") == "1"
        rewritten += f"{BEFORE}{before}{AFTER}{found}"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_text(rewritten)
