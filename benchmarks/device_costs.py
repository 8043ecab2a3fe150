"""The virtual device by processor time: rate of `chip` numerics, price of the checks; and memory of a whole grid.

Processor time of the runner, not wall-clock time: it is what a core does, also on a machine with other work.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import tilelang
import torch

from benchmarks.kernels import gemm
from benchmarks.report import Row
from tilelang_tt.arch import ARCHS
from tilelang_tt.device import (
    CBDescriptor,
    CBFormatDescriptor,
    CoreRange,
    DataType,
    KernelDescriptor,
    ProgramDescriptor,
    SemaphoreDescriptor,
    WriterConfigDescriptor,
    open_device,
)
from tilelang_tt.runtime.build_cache import DIRECTORY_VARIABLE
from tilelang_tt.runtime.runner_build import BUILD_VARIABLE, runner
from tilelang_tt.runtime.toolchain import find_toolchain

CHIP_GOAL = 15  # GFLOP/s per core: five times what was measured when the goal was set
CHECKS_GOAL = 0.25  # of the time without checks
GRID_GOAL = 1 << 30  # bytes
BUILD_GOAL = 0.2  # seconds
CHIP_SIZE, CHECKS_SIZE = 512, 1024
ROUNDS = 7


@contextmanager
def environment(name: str, value: str) -> Iterator[None]:
    former = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if former is None:
            del os.environ[name]
        else:
            os.environ[name] = former


def runner_seconds(call: partial[Any]) -> float:
    """User time of the processes that the call starts: of the runner, once everything is built."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    call()
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def matmul(size: int, numerics: str) -> partial[Any]:
    kernel = tilelang.compile(gemm(size), out_idx=[-1], target=f"tenstorrent -numerics={numerics}")
    call = partial(kernel, torch.randn(size, size).bfloat16(), torch.randn(size, size).bfloat16())
    call()
    return call


def chip_rate() -> Row:
    call = matmul(CHIP_SIZE, "chip")
    seconds = statistics.median(runner_seconds(call) for _ in range(3))
    rate = 2 * CHIP_SIZE**3 / seconds / 1e9
    what = f"`chip` numerics, {CHIP_SIZE}^3 bf16 HiFi4, per core"
    return Row(what, f"{rate:.2f} GFLOP/s", f"{seconds:.2f} s of processor time", f"{CHIP_GOAL} GFLOP/s", rate >= CHIP_GOAL)


def checks() -> Row:
    """The same launches with a runner whose checks are compiled away; what they look at is still kept."""
    call = matmul(CHECKS_SIZE, "fast")
    with environment(BUILD_VARIABLE, "unchecked"):
        call()
    on, off = [], []
    for _ in range(ROUNDS):
        on.append(runner_seconds(call))
        with environment(BUILD_VARIABLE, "unchecked"):
            off.append(runner_seconds(call))
    price = statistics.median(on) / statistics.median(off) - 1
    beside = f"{statistics.median(on) * 1e3:.0f} ms with, {statistics.median(off) * 1e3:.0f} ms without"
    return Row(f"contract checks, {CHECKS_SIZE}^3 bf16", f"{price:+.0%}", beside, "at most 25 %", price <= CHECKS_GOAL)


NEIGHBOURS = """
#include <cstdint>
#include "api/dataflow/dataflow_api.h"
void kernel_main() {
    cb_reserve_back(0, 1);
    volatile tt_l1_ptr uint32_t* words = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(get_write_ptr(0));
    for (uint32_t word = 0; word < get_compile_time_arg_val(0) / 4; ++word) words[word] = word;
    cb_push_back(0, 1);
    noc_semaphore_inc(get_noc_addr(get_arg_val<uint32_t>(0), get_arg_val<uint32_t>(1), get_semaphore(0)), 1);
    noc_async_atomic_barrier();
    noc_semaphore_wait(reinterpret_cast<volatile tt_l1_ptr uint32_t*>(get_semaphore(0)), 1);
    cb_wait_front(0, 1);
    cb_pop_front(0, 1);
}
"""


def whole_grid() -> Row:
    """Every core of a Blackhole is alive at once and fills its whole L1."""
    arch = ARCHS["blackhole"]
    width, height = arch.grid
    page = (arch.l1_usable // 4096 - 2) * 4096
    cores = CoreRange((0, 0), (width - 1, height - 1))
    with open_device("blackhole") as device:
        places = [(x, y) for y in range(height) for x in range(width)]
        ring = dict(zip(places, [*places[1:], places[0]], strict=True))
        targets = {core: device.worker_core_from_logical_core(ring[core]) for core in places}
        kernel = KernelDescriptor(
            NEIGHBOURS,
            cores,
            WriterConfigDescriptor(),
            KernelDescriptor.SourceType.SOURCE_CODE,
            compile_time_args=[page],
            runtime_args=[(core, [targets[core].x, targets[core].y]) for core in places],
        )
        buffers = CBDescriptor(page, cores, [CBFormatDescriptor(0, DataType.UINT32, page)])
        program = ProgramDescriptor([kernel], cbs=[buffers], semaphores=[SemaphoreDescriptor(0, cores, 0)])
        peak = device.run(program).statistics["peak_bytes"]
    what = f"Blackhole, all {width * height} cores with full L1"
    beside = f"L1 {width * height * arch.l1_bytes >> 20} MiB"
    return Row(what, f"{peak / 2**20:.0f} MiB", beside, "below 1 GiB", peak < GRID_GOAL)


def kernel_set() -> Row:
    """Reader, compute and writer compiled anew; the runner is there."""
    call = matmul(256, "fast")
    with tempfile.TemporaryDirectory() as cache, environment(DIRECTORY_VARIABLE, cache):
        call()
        kept = runner(find_toolchain()).key
        seconds, processor = [], []
        for _ in range(3):
            for entry in Path(cache).iterdir():
                if entry.name != kept:
                    shutil.rmtree(entry)
            processor.append(runner_seconds(call))
            seconds.append(call.func.last_report.build_seconds)
    median = statistics.median(seconds)
    beside = f"3 kernels, {statistics.median(processor):.2f} s of processor time"
    return Row("build of a kernel set, cold", f"{median:.2f} s", beside, f"{BUILD_GOAL} s", median <= BUILD_GOAL)


def measure() -> list[Row]:
    return [chip_rate(), checks(), whole_grid(), kernel_set()]
