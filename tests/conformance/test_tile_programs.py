"""Random programs in three ways that share no code: our generated kernels on the virtual device, the interpreter of our
tile IR, and TileLang's own CPU backend. All three must agree to the last bit.

A bounded number of fixed programs runs here; `make random COUNT=500` draws new ones.
"""

import os
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hypothesis import HealthCheck, Phase, given, note, settings, strategies
from tile_programs import PLACES, SECOND, SIZES, STORE_COLS, Program, tile_programs

from tilelang_tt.conformance.upstream_cpu import CpuKernel
from tilelang_tt.diagnostics import ResourceError, UnsupportedError
from tilelang_tt.frontend.lift import lift
from tilelang_tt.ir.interpret import interpret
from tilelang_tt.options import Options
from tilelang_tt.pipeline import compile_function
from tilelang_tt.runtime.virtual import launch

COUNT = int(os.environ.get("RANDOM_PROGRAMS", "0"))  # 0: the fixed ones
FIXED = 8
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
    """Raises when two ways differ; "refused ..." or "equal" otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        func, plain = build(program.source, Path(folder, "kernel.py")), build(program.plain, Path(folder, "plain.py"))
        tensors = inputs(seed)
        results = {
            "C": torch.full((program.rows, STORE_COLS), UNWRITTEN),
            "D": torch.full((program.length,), UNWRITTEN),
            "G": torch.full(SECOND, UNWRITTEN),
        }
        references = {name: tensor.clone() for name, tensor in results.items()}
        CpuKernel(plain)(*tensors.values(), *references.values())
        try:
            tile_program, compiled = lift(func, OPTIONS), compile_function(func, OPTIONS)
        except (UnsupportedError, ResourceError) as refusal:
            note(str(refusal))
            return f"refused {refusal.code}"
        arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
        meaning = interpret(tile_program, arrays, exact=True)
        given = {
            item.name: (tensors | results)[compiled.plan.params[item.param].name] for item in compiled.plan.tensors
        }
        launch(compiled.plan, compiled.files, given, program.sizes, numerics=NUMERICS, timeout=60)
    for name, reference in references.items():
        if name in meaning:
            np.testing.assert_array_equal(
                meaning[name], reference.numpy(), f"the interpreter and TileLang differ in {name}"
            )
        np.testing.assert_array_equal(
            results[name].numpy(), reference.numpy(), f"the device and TileLang differ in {name}"
        )
    return "equal"


def test_three_ways_agree() -> None:
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
    @given(program=tile_programs(), seed=strategies.integers(0, 2**16))
    def run(program: Program, seed: int) -> None:
        note(program.source)
        verdicts[check(program, seed)] += 1

    run()
    print(dict(verdicts))
    assert verdicts["equal"] >= 0.75 * sum(verdicts.values()), verdicts  # refusals must not hide what this is for


def test_the_programs_are_worth_it() -> None:
    """What is drawn holds every kind of statement."""
    words = ("T.gemm", "T.reduce_", "T.Parallel", "T.if_then_else", "for k", "if bx", "[i]", "[j]", "bfloat16")
    words += ("T.dynamic", "int32", "[N[i]", "if number", "(40,", "48)")
    words += ("T.alloc_reducer", "[q, i, j]", " + i, ", ", 0:32, 0:", "if count", " as by")
    seen: Counter[str] = Counter()

    @settings(max_examples=600, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(tile_programs())
    def draw(program: Program) -> None:
        seen.update(word for word in words if word in program.source)

    draw()
    missing = [word for word in words if not seen[word]]  # Hypothesis draws otherwise beside other modules
    assert not missing, seen
