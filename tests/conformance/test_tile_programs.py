"""Random programs in three ways that share no code: our generated kernels on the virtual device, the interpreter of our
tile IR, and TileLang's own CPU backend. All three must agree to the last bit.

A bounded number of fixed programs runs here; `make random COUNT=500` draws new ones.
"""

import os
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, Phase, given, note, settings, strategies
from tile_programs import PLACES, SECOND, SIZES, STORE_COLS, Program, programs_with_searches, tile_programs

from tilelang_tt.compiled import PLAN_FILE
from tilelang_tt.cpu.kernel import CpuKernel
from tilelang_tt.diagnostics import ResourceError, UnsupportedError
from tilelang_tt.ir.interpret import interpret
from tilelang_tt.ir.tensors_of_code import codes_of, is_code
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.options import Options
from tilelang_tt.pipeline import print_files, run_passes
from tilelang_tt.runtime.plan import Plan
from tilelang_tt.runtime.virtual import launch

COUNT = int(os.environ.get("RANDOM_PROGRAMS", "0"))  # 0: the fixed ones
FIXED = {tile_programs: 8, programs_with_searches: 12}
OPTIONS = Options(grid=(2, 1))
UNWRITTEN = float("nan")
NUMERICS = "exact"


def build(source: str, path: Path) -> Any:
    """TileLang reads a kernel's source from its file."""
    path.write_text(source)
    scope: dict[str, Any] = {"__file__": str(path)}
    exec(compile(source, str(path), "exec", dont_inherit=True), scope)
    return scope["main"]


def inputs(seed: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    tensors = {name: torch.randint(-2, 3, shape, generator=generator).float() for name, shape in SIZES.items()}
    return tensors | {"N": torch.randint(0, 90, PLACES, generator=generator, dtype=torch.int32)}


def check(program: Program, seed: int) -> str:
    """Raises when two ways differ; "refused ...", or otherwise what became of it."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        func, plain = build(program.source, Path(folder, "kernel.py")), build(program.plain, Path(folder, "plain.py"))
        tensors = inputs(seed)
        results = {
            "C": torch.full((program.rows, STORE_COLS), UNWRITTEN),
            "D": torch.full((program.length,), UNWRITTEN),
            "G": torch.full(SECOND, UNWRITTEN),
        }
        references = {name: tensor.clone() for name, tensor in results.items()}
        CpuKernel(plain)(*tensors.values(), *references.values())
        states: dict[str, Any] = {}
        try:
            tile_program, sets = run_passes(func, OPTIONS, states.setdefault)
        except (UnsupportedError, ResourceError) as refusal:
            note(str(refusal))
            return f"refused {refusal.code}"
        arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
        lifted = next(iter(states.values()))
        # TileLang's own barriers between threads are not there before this pass.
        meaning = interpret(states.get("run_threads_in_turn", lifted), arrays, exact=True)
        files = print_files(tile_program, sets)
        plan = Plan.from_json(files[PLAN_FILE])
        given = on_device(plan, tensors | results)
        launch(plan, files, given, program.sizes, numerics=NUMERICS, timeout=60)
    for name, reference in references.items():
        if name in meaning:
            np.testing.assert_array_equal(
                meaning[name], reference.numpy(), f"the interpreter and TileLang differ in {name}"
            )
        np.testing.assert_array_equal(
            results[name].numpy(), reference.numpy(), f"the device and TileLang differ in {name}"
        )
    return what_became(tile_program)


def on_device(plan: Plan, tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Tensors by their names in the plan, with those that launches hand over to each other."""
    made = {
        param.name: torch.empty(tuple(map(int, param.shape)), dtype=getattr(torch, param.dtype))
        for param in plan.params
        if param.workspace
    }
    return {item.name: (tensors | made)[plan.params[item.param].name] for item in plan.tensors}


def what_became(program: TileProgram) -> str:
    if not any(codes_of(launch) for launch in program.launches):
        return "equal, tiles"
    mixed = any(codes_of(launch) and not is_code(launch) for launch in program.launches)
    return "equal, scalar code among tiles" if mixed else "equal, scalar code"


@pytest.mark.parametrize("programs", FIXED, ids=lambda programs: programs.__name__)
def test_three_ways_agree(programs: Any) -> None:
    verdicts: Counter[str] = Counter()

    @settings(
        max_examples=COUNT or FIXED[programs],
        derandomize=not COUNT,
        database=None,
        deadline=None,
        print_blob=True,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(program=programs(), seed=strategies.integers(0, 2**16))
    def run(program: Program, seed: int) -> None:
        note(program.source)
        verdicts[check(program, seed)] += 1

    run()
    print(dict(verdicts))
    equal = sum(count for verdict, count in verdicts.items() if verdict.startswith("equal"))
    assert equal >= 0.75 * sum(verdicts.values()), verdicts  # refusals must not hide what this is for


def test_the_programs_are_worth_it() -> None:
    """What is drawn holds every kind of statement."""
    words = ("T.gemm", "T.reduce_", "T.Parallel", "T.if_then_else", "for k", "if bx", "[i]", "[j]", "bfloat16")
    words += ("T.dynamic", "int32", "[N[i]", "if number", "(40,", "48)")
    words += ("T.alloc_reducer", "[q, i, j]", " + i, ", ", 0:32, 0:", "if count", " as by")
    seen: Counter[str] = Counter()
    words += ("while p1", "break", "], b", "T.abs(v", " % 9")

    @settings(max_examples=600, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(tile_programs() | programs_with_searches())
    def draw(program: Program) -> None:
        seen.update(word for word in words if word in program.source)

    draw()
    missing = [word for word in words if not seen[word]]  # Hypothesis draws otherwise beside other modules
    assert not missing, seen
