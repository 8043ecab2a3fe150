"""The virtual device against torch's float32 matmul on the same cores, taking turns; and peak memory."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import tilelang
import torch

import tilelang_tt  # noqa: F401
from benchmarks.kernels import gemm
from benchmarks.report import Row

SIZES = (1024, 2048)
ROUNDS = 7
GOALS = {1024: 1 / 3, 2048: 0.8}  # of torch's rate


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure() -> list[Row]:
    rows = []
    for size in SIZES:
        kernel = tilelang.compile(gemm(size), out_idx=[-1], target="tenstorrent")
        a, b = torch.randn(size, size).bfloat16(), torch.randn(size, size).bfloat16()
        wide_a, wide_b = a.float(), b.float()
        kernel(a, b)
        ours, theirs = [], []
        for _ in range(ROUNDS):
            ours.append(timed(partial(kernel, a, b)))
            theirs.append(timed(partial(torch.matmul, wide_a, wide_b)))
        rows.append(_row(size, statistics.median(ours), statistics.median(theirs)))
        peak = kernel.last_report.statistics["peak_bytes"] / 2**20
        tensors = 3 * size * size * 2 / 2**20
        rows.append(Row("  peak memory of the device", f"{peak:.0f} MiB", f"tensors {tensors:.0f} MiB", "", None))
    return rows


def _row(size: int, ours: float, theirs: float) -> Row:
    work = 2 * size**3 / 1e9
    return Row(
        f"virtual device, {size}^3 bf16",
        f"{work / ours:.0f} GFLOP/s ({ours * 1e3:.0f} ms)",
        f"torch fp32 {work / theirs:.0f} GFLOP/s; {theirs / ours:.2f} of it",
        f"{GOALS[size]:.2f} of torch",
        theirs / ours >= GOALS[size],
    )
