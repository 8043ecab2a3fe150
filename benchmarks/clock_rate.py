"""How long the clock takes: products timed without numbers, and a call with numbers beside the same call untimed."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time

import tilelang
import torch

import tilelang_tt  # noqa: F401
from benchmarks.device_rate import timed
from benchmarks.kernels import gemm
from benchmarks.report import Row

ROUNDS = 5
TIMED_LIMIT = 1.5  # of the untimed call
# Sizes, rows and columns of a block, and the goals: seconds and MB.
ESTIMATES = ((1024, 128, 1.0, 500), (16384, 256, 20.0, 500))


def measure() -> list[Row]:
    return [*(_estimate(*row) for row in ESTIMATES), _with_numbers(1024)]


def _estimate(size: int, block: int, seconds: float, megabytes: int) -> Row:
    """In a process of its own, because the peak of memory is the process's; the second call, so nothing is built."""
    command = [sys.executable, "-m", "benchmarks.clock_rate", str(size), str(block)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    took, peak, estimated = (float(word) for word in done.stdout.split()[-3:])
    return Row(
        f"kernel.estimate, {size}^3 bf16, blocks of {block}",
        f"{took:.2f} s, {peak:.0f} MB",
        f"estimated {estimated:,.0f} us on the chip",
        f"{seconds:g} s, {megabytes} MB",
        took <= seconds and peak <= megabytes,
    )


def _with_numbers(size: int) -> Row:
    kernel = tilelang.compile(gemm(size), out_idx=[-1], target="tenstorrent")
    a, b = torch.randn(size, size).bfloat16(), torch.randn(size, size).bfloat16()
    kernel(a, b)
    kernel.time(a, b)
    plain, clocked = [], []
    for _ in range(ROUNDS):
        plain.append(timed(lambda: kernel(a, b)))
        clocked.append(timed(lambda: kernel.time(a, b)))
    ratio = statistics.median(clocked) / statistics.median(plain)
    return Row(
        f"kernel.time, {size}^3 bf16, with numbers",
        f"{statistics.median(clocked) * 1e3:.0f} ms",
        f"untimed {statistics.median(plain) * 1e3:.0f} ms; {ratio:.2f} times that",
        f"{TIMED_LIMIT} times the untimed call",
        ratio <= TIMED_LIMIT,
    )


def main() -> None:
    size, block = (int(word) for word in sys.argv[1:])
    target = f"tenstorrent -multicast={'true' if block > 128 else 'false'}"
    kernel = tilelang.compile(gemm(size, block=block), out_idx=[-1], target=target)
    kernel.estimate()
    start = time.perf_counter()
    estimated = kernel.estimate().microseconds
    took = time.perf_counter() - start
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024
    print(took, peak, estimated)


if __name__ == "__main__":
    main()
