"""Run the compiler up to a pass, and cut the part of a printed program a test is about."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import takewhile
from typing import Any

import numpy as np
import pytest

from tilelang_tt.diagnostics import TenstorrentError
from tilelang_tt.frontend.lift_function import lift_function
from tilelang_tt.ir.extents import OF_BLOCK, OF_SUB_BLOCK, OF_TENSOR
from tilelang_tt.ir.interpret import Array, interpret
from tilelang_tt.ir.kernel import KernelSet
from tilelang_tt.ir.text_kernel import kernel_text
from tilelang_tt.ir.text_program import tile_text
from tilelang_tt.ir.tile import Launch, TileProgram
from tilelang_tt.options import Options
from tilelang_tt.passes.d_split.split_device_kernel import split_device_kernel
from tilelang_tt.pipeline import KERNEL_PASSES, RAISING_PASSES, TILE_PASSES

TilePass = Callable[[TileProgram], TileProgram]
KernelPass = Callable[[KernelSet], KernelSet]


def raised(func: Any, options: Options | None = None) -> TileProgram:
    """A lifted function, as operations on blocks of tiles."""
    program = lift_function(func, options or Options(), {}, {})
    for step in RAISING_PASSES:
        program = step(program)
    return program


def before(tile_pass: TilePass, func: Any, options: Options | None = None) -> TileProgram:
    """The program as `tile_pass` gets it."""
    program = lift_function(func, options or Options(), {}, {})
    for step in takewhile(lambda step: step.run is not tile_pass, TILE_PASSES):
        program = step(program)
    return program


def after(tile_pass: TilePass, func: Any, options: Options | None = None) -> TileProgram:
    return tile_pass(before(tile_pass, func, options))


def split(func: Any, options: Options | None = None) -> KernelSet:
    """The kernels as `split_device_kernel` leaves them."""
    (kernels,) = split_device_kernel(after(TILE_PASSES[-1].run, func, options))
    return kernels


def kernels_before(kernel_pass: KernelPass, func: Any, options: Options | None = None) -> KernelSet:
    kernels = split(func, options)
    for step in takewhile(lambda step: step.run is not kernel_pass, KERNEL_PASSES):
        kernels = step(kernels)
    return kernels


def kernels_after(kernel_pass: KernelPass, func: Any, options: Options | None = None) -> KernelSet:
    return kernel_pass(kernels_before(kernel_pass, func, options))


def with_numbers(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """As if chips had `most` circular buffers."""
    few = replace(Options().chip, cb_count=most)
    monkeypatch.setattr(Options, "chip", property(lambda _: few))


def numbers(launch: Launch) -> int:
    """How many circular buffers a launch would like to have."""
    return sum(1 + stream.second_view for stream in launch.streams.values())


# --- text -----------------------------------------------------------------------------------------


def plain(text: str) -> str:
    """The text without places of the user's program, which move whenever a test file is edited."""
    lines = (re.sub(r"\s*# \S+\.py:\d+$|, from \w+\.py:\d+", "", line) for line in text.splitlines())
    return "\n".join(line for line in lines if line.strip()) + "\n"


def facts(program: TileProgram, word: str) -> list[str]:
    """What follows `word` on the lines that start with it: tensor, buffer, units, blocks."""
    lines = plain(tile_text(program)).splitlines()
    return [line.strip().removeprefix(f"{word} ") for line in lines if line.strip().startswith(f"{word} ")]


def body(program: TileProgram) -> str:
    """The statements of a program's only launch, without the schedules of its sections."""
    return re.sub(r"^( *)Schedule .*\n(\1  .*\n)*", "", whole_body(program), flags=re.MULTILINE)


def whole_body(program: TileProgram) -> str:
    return _indented_below(plain(tile_text(program)).splitlines(), "body")


def kernel_body(kernels: KernelSet, role: str) -> str:
    """The statements and accessors of one kernel, in numbers; of sections their statements alone, in one line."""
    text = in_numbers(kernel_text(kernels), kernels)
    return _indented_below(_without_schedules(plain(text)).splitlines(), f"{role}(")


def in_numbers(text: str, kernels: KernelSet) -> str:
    """The text of kernels with the sides of blocks and tensors as numbers: `4` for `q.tiles`."""
    for tensor, layout in kernels.program.layouts.items():
        for side, tiles in zip(OF_TENSOR, layout.page_grid, strict=True):
            text = re.sub(rf"\b{tensor.name}\.{side.value}\b", str(tiles), text)
    for cb in kernels.all_cbs:
        for side in (*OF_BLOCK, *OF_SUB_BLOCK):
            text = re.sub(rf"\b{cb.name}\.{side.value}\b", str(int(cb.side(side))), text)
    return text


def _without_schedules(text: str) -> str:
    text = re.sub(r"^( *)Schedule .*\n(\1  .*\n)*", "", text, flags=re.MULTILINE)

    def joined(section: re.Match[str]) -> str:
        return section.group(1) + "; ".join(line.strip() for line in section.group(2).splitlines()) + "\n"

    return re.sub(r"^( *)Section.*\n((?:\1  .*\n)+)", joined, text, flags=re.MULTILINE)


def _indented_below(lines: list[str], head: str) -> str:
    start = next(index for index, line in enumerate(lines) if line.strip().startswith(head))
    depth = len(lines[start]) - len(lines[start].lstrip()) + 2
    result = []
    for line in lines[start + 1 :]:
        if not line.startswith(" " * depth):
            break
        result.append(line[depth:])
    return "\n".join(result) + "\n"


# --- meaning --------------------------------------------------------------------------------------


def keeps_meaning(
    tile_pass: TilePass,
    func: Any,
    tensors: dict[str, Array],
    sizes: dict[str, int] | None = None,
    options: Options | None = None,
) -> bool:
    """Whether the program computes the same before and after a pass, in exact arithmetic."""
    program = before(tile_pass, func, options)
    return same_meaning(program, tile_pass(program), tensors, sizes)


def same_meaning(
    program: TileProgram,
    changed: TileProgram,
    tensors: dict[str, Array],
    sizes: dict[str, int] | None = None,
    *,
    fills: bool = False,
) -> bool:
    """Whether two programs compute the same in exact arithmetic. `fills`: the second defines what the first leaves."""
    expected, found = (interpret(one, tensors, sizes, exact=True) for one in (program, changed))
    if fills:
        expected = {name: np.where(np.isnan(array), found[name], array) for name, array in expected.items()}
    return all(np.array_equal(expected[name], found[name], equal_nan=True) for name in expected)


# --- refusals -------------------------------------------------------------------------------------


def refusal(compile_it: Callable[[], Any]) -> str:
    """The text of the error that `compile_it` raises; places without folders and line numbers."""
    with pytest.raises(TenstorrentError) as caught:
        compile_it()
    return re.sub(r"[^\s(]*/(\w+\.py):\d+", r"\1", str(caught.value))
