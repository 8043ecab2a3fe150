"""Random kernels: the generated files, run on the virtual device, give what the interpreter says the kernel means."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from random_kernels import RandomKernel

from tilelang_tt.frontend.lift import lift
from tilelang_tt.ir.interpret import interpret
from tilelang_tt.options import Options
from tilelang_tt.pipeline import compile_function
from tilelang_tt.runtime.virtual import launch

SEEDS = range(24)
OPTIONS = Options(grid=(2, 1))


def build(seed: int, folder: Path) -> Any:
    path = folder / f"kernel_{seed}.py"
    path.write_text(RandomKernel(seed).source)
    scope: dict[str, Any] = {"__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    return scope["main"]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_kernel(seed: int, tmp_path: Path) -> None:
    func = build(seed, tmp_path)
    random = np.random.default_rng(seed)
    a, b = (random.integers(-2, 3, shape).astype(np.float32) for shape in ((100, 80), (96, 64)))
    expected = interpret(lift(func, OPTIONS), {"A": a, "B": b}, exact=True)["C"]
    compiled = compile_function(func, OPTIONS)
    got = torch.full(expected.shape, float("nan"))
    tensors = {"A": torch.tensor(a), "B": torch.tensor(b), "C": got}
    launch(compiled.plan, compiled.files, tensors, {}, numerics="exact", timeout=60)
    written = ~np.isnan(expected)
    np.testing.assert_array_equal(got.numpy()[written], expected[written])


def test_the_kernels_are_worth_it() -> None:
    """A good part of the seeds holds products, loops and branches."""
    sources = [RandomKernel(seed).source for seed in SEEDS]
    for word in ("T.gemm", "for k", "if ", "T.Parallel"):
        assert sum(word in source for source in sources) >= len(SEEDS) // 6, word
