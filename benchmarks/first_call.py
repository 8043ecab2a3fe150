"""The first call of a kernel in a fresh process: with empty caches, and with everything built before."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from benchmarks.report import Row

COLD_GOAL, WARM_GOAL = 2.5, 0.05  # seconds

SCRIPT = """
import time, torch, tilelang, tilelang_tt
from benchmarks.kernels import gemm
func = gemm(256)
a, b = torch.randn(256, 256).bfloat16(), torch.randn(256, 256).bfloat16()
tilelang.disable_cache()
start = time.perf_counter()
kernel = tilelang.compile(func, out_idx=[-1], target="tenstorrent")
compiled = time.perf_counter()
kernel(a, b)
print(compiled - start, time.perf_counter() - compiled)
"""


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory() as cache:
        cold, warm = (_run(cache) for _ in range(2))
    return [
        Row(
            "first call, empty caches",
            f"{sum(cold):.2f} s",
            f"compile {cold[0] * 1e3:.0f} ms, build and run {cold[1]:.2f} s",
            f"below {COLD_GOAL} s",
            sum(cold) < COLD_GOAL,
        ),
        Row(
            "first call, built before",
            f"{warm[1] * 1e3:.0f} ms",
            f"compile {warm[0] * 1e3:.0f} ms",
            f"below {WARM_GOAL * 1e3:.0f} ms",
            warm[1] < WARM_GOAL,
        ),
    ]


def _run(cache: str) -> tuple[float, float]:
    environment = {**os.environ, "TILELANG_TT_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    compiling, calling = map(float, done.stdout.split()[-2:])
    return compiling, calling
