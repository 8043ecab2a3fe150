"""The virtual device against torch's float32 matmul on the same cores, taking turns; and peak memory.

Launches whose cores send each other blocks run in one thread, others in one for each processor: both are shown.
"""

from __future__ import annotations

import itertools
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import tilelang
import torch

import tilelang_tt  # noqa: F401
from benchmarks.kernels import gemm
from benchmarks.report import Row

SIZES = (1024, 2048)
ROUNDS = 7
GOALS = {1024: 1 / 3, 2048: 0.8}  # of torch's rate
CHIP_SIZE, CHIP_GOAL = 512, 15.0  # GFLOP/s of one processor: five times what it was


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure() -> list[Row]:
    rows = []
    for size, multicast in itertools.product(SIZES, ("auto", False)):
        target = {"kind": "tenstorrent", "multicast": multicast}
        kernel = tilelang.compile(gemm(size), out_idx=[-1], target=target)
        a, b = torch.randn(size, size).bfloat16(), torch.randn(size, size).bfloat16()
        wide_a, wide_b = a.float(), b.float()
        kernel(a, b)
        ours, theirs = [], []
        for _ in range(ROUNDS):
            ours.append(timed(partial(kernel, a, b)))
            theirs.append(timed(partial(torch.matmul, wide_a, wide_b)))
        how = "bf16" if multicast else "bf16, no multicast"
        rows.append(_row(size, how, statistics.median(ours), statistics.median(theirs)))
        peak = kernel.last_report.statistics["peak_bytes"] / 2**20
        tensors = 3 * size * size * 2 / 2**20
        rows.append(Row("  peak memory of the device", f"{peak:.0f} MiB", f"tensors {tensors:.0f} MiB", "", None))
    return [*rows, _chip_row()]


def _chip_row() -> Row:
    """`chip` numerics: every product in the chip's own fixed point. Cores that send nothing, so with all threads."""
    target = {"kind": "tenstorrent", "numerics": "chip", "math_fidelity": "HiFi4", "multicast": False}
    kernel = tilelang.compile(gemm(CHIP_SIZE), out_idx=[-1], target=target)
    a, b = torch.randn(CHIP_SIZE, CHIP_SIZE).bfloat16(), torch.randn(CHIP_SIZE, CHIP_SIZE).bfloat16()
    kernel(a, b)
    seconds = statistics.median(_inside(kernel, a, b) for _ in range(31))
    processors = min(len(os.sched_getaffinity(0)), kernel.last_report.statistics["cores_used"])
    rate = 2 * CHIP_SIZE**3 / 1e9 / seconds / processors
    return Row(
        f"virtual device, chip numerics, {CHIP_SIZE}^3",
        f"{rate:.1f} GFLOP/s per processor",
        f"{processors} processors, median of 31",
        f"{CHIP_GOAL:.0f}",
        rate >= CHIP_GOAL,
    )


def _inside(kernel: Any, a: torch.Tensor, b: torch.Tensor) -> float:
    kernel(a, b)
    return float(kernel.last_report.device_seconds)


def _row(size: int, how: str, ours: float, theirs: float) -> Row:
    work = 2 * size**3 / 1e9
    return Row(
        f"virtual device, {size}^3 {how}",
        f"{work / ours:.0f} GFLOP/s ({ours * 1e3:.0f} ms)",
        f"torch fp32 {work / theirs:.0f} GFLOP/s; {theirs / ours:.2f} of it",
        f"{GOALS[size]:.2f} of torch",
        theirs / ours >= GOALS[size],
    )
