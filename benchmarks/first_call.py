"""Calls in a fresh process: the first with empty caches or with everything built, kernels built cold, a warm call."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from benchmarks.report import Row

COLD_GOAL, WARM_GOAL, KERNELS_GOAL, CALL_GOAL = 2.5, 0.05, 0.2, 0.005  # seconds

SCRIPT = """
import os, statistics, time, torch, tilelang, tilelang_tt
from benchmarks.kernels import addition, gemm
func = gemm(256)
a, b = torch.randn(256, 256).bfloat16(), torch.randn(256, 256).bfloat16()
tilelang.disable_cache()
start, used = time.perf_counter(), sum(os.times()[:4])
kernel = tilelang.compile(func, out_idx=[-1], target="tenstorrent")
compiled = time.perf_counter()
kernel(a, b)
called, used = time.perf_counter(), sum(os.times()[:4]) - used

def other(func, block):
    kernel = tilelang.compile(func, out_idx=[-1], target="tenstorrent")
    kernel(block, block)
    return kernel

built = [other(gemm(size), torch.ones(size, size).bfloat16()).last_report.build_seconds for size in (384, 512, 640)]
block = torch.ones(128, 128).bfloat16()
small, calls = other(addition(128), block), []
for _ in range(51):
    began = time.perf_counter()
    small(block, block)
    calls.append(time.perf_counter() - began)
print(compiled - start, called - compiled, used, statistics.median(built), statistics.median(calls))
"""


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory() as cache:
        cold, warm = (_run(cache) for _ in range(2))
    return [
        Row(
            "first call, empty caches",
            f"{sum(cold[:2]):.2f} s",
            f"compile {cold[0] * 1e3:.0f} ms, build and run {cold[1]:.2f} s; {cold[2]:.1f} s of processor time",
            f"below {COLD_GOAL} s",
            sum(cold[:2]) < COLD_GOAL,
        ),
        Row(
            "three kernels built cold",
            f"{cold[3] * 1e3:.0f} ms",
            "GEMM; the runner is there",
            f"{KERNELS_GOAL * 1e3:.0f} ms",
            cold[3] <= KERNELS_GOAL,
        ),
        Row(
            "first call, built before",
            f"{warm[1] * 1e3:.0f} ms",
            f"compile {warm[0] * 1e3:.0f} ms",
            f"below {WARM_GOAL * 1e3:.0f} ms",
            warm[1] < WARM_GOAL,
        ),
        Row(
            "warm call of a small kernel",
            f"{warm[4] * 1e3:.1f} ms",
            "a + b, 128 x 128, median of 51",
            f"below {CALL_GOAL * 1e3:.0f} ms",
            warm[4] < CALL_GOAL,
        ),
    ]


def _run(cache: str) -> list[float]:
    environment = {**os.environ, "TILELANG_TT_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()[-5:]]
