"""Programs with typed elements, to the last bit of what their statements mean: by the interpreter after every pass, and
on the virtual device.

A share of all operations on all types runs here, and a few fixed random programs; `make random COUNT=500` runs every
operation, on the device too, and draws new programs.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, Phase, given, note, settings, strategies
from typed_cases import cases, overflows
from typed_elements import FLOATS, INTEGERS, READINGS, Binary, Element, Number, numpy_type, same
from typed_programs import GRID, Program, typed_programs
from typed_statements import Buffer, Load, Map, Reduce, State

from tilelang_tt.compiled import PLAN_FILE
from tilelang_tt.diagnostics import ResourceError, UnsupportedError
from tilelang_tt.ir.interpret import interpret
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.options import Options
from tilelang_tt.pipeline import print_files, run_passes
from tilelang_tt.runtime.plan import Plan
from tilelang_tt.runtime.virtual import launch

COUNT = int(os.environ.get("RANDOM_PROGRAMS", "0"))  # 0: the fixed ones
FIXED = 4
SHARE = 13  # one of these many operations; test_integers.py and test_integer_sums.py have all on the device
MODES = ("exact", "fast", "chip")  # integers are the same in all three
OPTIONS = Options(grid=(2, 1))


def build(source: str, path: Path) -> Any:
    """TileLang reads a kernel's source from its file."""
    path.write_text(source)
    scope: dict[str, Any] = {"__file__": str(path)}
    exec(compile(source, str(path), "exec", dont_inherit=True), scope)
    return scope["main"]


def to_torch(array: Any) -> torch.Tensor:
    if array.dtype == numpy_type("bfloat16"):
        return torch.from_numpy(array.view(np.uint16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


def to_numpy(tensor: torch.Tensor) -> Any:
    if tensor.dtype is torch.bfloat16:
        return tensor.view(torch.uint16).numpy().view(numpy_type("bfloat16"))
    return tensor.numpy()


@dataclass(frozen=True)
class Judge:
    """What a program's results must be, where that is defined."""

    program: Program
    readings: list[State]

    def judge(self, found: Mapping[str, Any], who: str) -> None:
        for buffer in self.program.buffers:
            name = f"O_{buffer.name}"
            agree = partial(same, dtype=buffer.dtype)
            wanted = self.readings[0][name]
            defined = np.logical_and.reduce([agree(reading[name], wanted) for reading in self.readings])
            right = np.logical_or.reduce([agree(found[name], reading[name]) for reading in self.readings])
            wrong = np.argwhere(defined & ~right)
            if len(wrong):
                place = tuple(wrong[0])
                raise AssertionError(
                    f"{who}: {name} differs at {len(wrong)} of {defined.size} places; "
                    f"{[int(index) for index in place]}: {found[name][place]}, should be {wanted[place]}"
                )

    def interpreted(self, tensors: State, stage: str, state: Any) -> None:
        if isinstance(state, TileProgram):
            self.judge(interpret(state, tensors), f"the interpreter after {stage}")


def check(program: Program, seed: int, *modes: str) -> str:
    """Raises when the interpreter after any pass, or the device in any of these numerics, differs; "refused ..." or
    "equal" otherwise."""
    tensors = program.tensors(seed)
    judge = Judge(program, [program.meaning(tensors, reading) for reading in READINGS])
    try:
        with tempfile.TemporaryDirectory() as folder:
            func = build(program.source(), Path(folder, "kernel.py"))
            tile, sets = run_passes(func, OPTIONS, partial(judge.interpreted, tensors))
    except (UnsupportedError, ResourceError) as refusal:
        return f"refused {refusal.code}"
    files = print_files(tile, sets)
    for numerics in modes:
        judge.judge(on_device(program, files, tensors, numerics), f"the device, {numerics}")
    return "equal"


def on_device(program: Program, files: dict[str, str], tensors: State, numerics: str) -> State:
    results = {f"O_{b.name}": np.zeros((GRID, *b.shape), numpy_type(b.dtype)) for b in program.buffers}
    values = {name: to_torch(array) for name, array in (tensors | results).items()}
    plan = Plan.from_json(files[PLAN_FILE])
    lying = {item.name: values[plan.params[item.param].name] for item in plan.tensors}
    launch(plan, files, lying, {}, numerics=numerics, timeout=60)
    return {name: to_numpy(values[name]) for name in results}


ALL = [pytest.param(*case, MODES[n % 3] if COUNT else None, id=case[0]) for n, case in enumerate(cases())]


@pytest.mark.parametrize(("name", "program", "numerics"), ALL if COUNT else ALL[::SHARE])
def test_operation(name: str, program: Program, numerics: str | None) -> None:
    assert check(program, 0, *([numerics] if numerics else [])) == "equal", name


@pytest.mark.parametrize(("name", "program"), [pytest.param(*case, id=case[0]) for case in overflows()])
def test_overflows(name: str, program: Program) -> None:
    assert check(program, 0) == "equal", name


@pytest.mark.parametrize("floats", [False, True])
def test_device_agrees(floats: bool) -> None:
    verdicts: Counter[str] = Counter()

    @settings(
        max_examples=COUNT or FIXED,
        derandomize=not COUNT,
        database=None,
        deadline=None,
        print_blob=True,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(program=typed_programs(floats), seed=strategies.integers(0, 2**16))
    def run(program: Program, seed: int) -> None:
        note(program.source())
        numerics = "exact" if floats else MODES[seed % 3]
        verdicts[check(program, seed, numerics)] += 1

    run()
    print(dict(verdicts))
    assert verdicts["equal"] >= 0.75 * sum(verdicts.values()), verdicts  # refusals must not hide what this is for


def test_a_minimum_of_a_nan_and_numbers_is_open() -> None:
    """`-inf * x + x + inf` is NaN unless x is a negative number, which such a minimum may be."""
    block, vector = (Buffer(name, shape, "float32", "fragment") for name, shape in (("b", (32, 32)), ("v", (32,))))
    x, infinity = Element("v", "i", "float32"), Number(float("inf"), "float32")
    product = Binary("*", Number(float("-inf"), "float32"), x)
    told_apart = Map(vector, Binary("+", Binary("+", product, x), infinity))
    statements = (Load(block, 0, 0), Reduce("min", block, vector, 0, True), told_apart)
    assert check(Program((block, vector), statements, True), 0, "exact") == "equal"


WORDS = (
    *(f'"{dtype}"' for dtype in (*INTEGERS, "bool")),
    *(" // ", " % ", " ^ ", " << ", " >> ", "~(", "T.cast", "T.Not", "T.reduce_sum", "T.reduce_bit", "T.gemm"),
    *("for k", "if bx"),
)
FLOAT_WORDS = (*(f'"{dtype}"' for dtype in FLOATS), "T.infinity", "T.max(", "T.abs", "T.if_then_else", " < ")


@pytest.mark.parametrize(("floats", "words"), [(False, WORDS), (True, FLOAT_WORDS)])
def test_the_programs_are_worth_it(floats: bool, words: tuple[str, ...]) -> None:
    """What is drawn holds every type and every kind of operation."""
    seen: Counter[str] = Counter()

    @settings(max_examples=400, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(typed_programs(floats))
    def draw(program: Program) -> None:
        seen.update(word for word in words if word in program.source())

    draw()
    assert all(seen[word] for word in words), seen
