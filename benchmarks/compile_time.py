"""Lowering and code generation against TileLang's own for CUDA, on the same kernel, taking turns."""

from __future__ import annotations

import statistics
import time

from tilelang.engine.lower import lower
from tvm.target import Target

import tilelang_tt  # noqa: F401
from benchmarks.kernels import gemm
from benchmarks.report import Row

SIZES = (1024, 16384)
ROUNDS = 9


TARGETS = {"tenstorrent": Target("tenstorrent"), "cuda": Target({"kind": "cuda", "arch": "sm_80"})}


def seconds(size: int, target: str) -> float:
    """From the kernel as written to its sources; neither side compiles them."""
    func = gemm(size)
    start = time.perf_counter()
    with TARGETS[target]:
        lower(func, target=TARGETS[target])
    return time.perf_counter() - start


def measure() -> list[Row]:
    for target in ("tenstorrent", "cuda"):
        seconds(SIZES[0], target)  # imports and registries
    times: dict[tuple[int, str], list[float]] = {}
    for _ in range(ROUNDS):
        for size in SIZES:
            for target in ("tenstorrent", "cuda"):
                times.setdefault((size, target), []).append(seconds(size, target))
    ours = {size: statistics.median(times[size, "tenstorrent"]) for size in SIZES}
    theirs = {size: statistics.median(times[size, "cuda"]) for size in SIZES}
    rows = [
        Row(
            f"lower + codegen, {size}^3",
            f"{ours[size] * 1e3:.0f} ms",
            f"CUDA {theirs[size] * 1e3:.0f} ms",
            "not slower",
            ours[size] <= theirs[size],
        )
        for size in SIZES
    ]
    ratio = ours[SIZES[1]] / ours[SIZES[0]]
    rows.append(Row("the same, 16384^3 / 1024^3", f"{ratio:.2f}", "", "flat: below 1.25", ratio < 1.25))
    return rows
