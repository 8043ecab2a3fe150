"""The clock of the virtual device: times follow from events and costs, and from nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tilelang_tt.clock import ClockReport, ClockRequest, load_record
from tilelang_tt.device import (
    CBDescriptor,
    CBFormatDescriptor,
    ComputeConfigDescriptor,
    CoreRange,
    CoreRangeSet,
    DataType,
    Device,
    KernelDescriptor,
    ProgramDescriptor,
    ReaderConfigDescriptor,
    SemaphoreDescriptor,
    Tensor,
    TensorAccessorArgs,
    WriterConfigDescriptor,
    open_device,
)
from tilelang_tt.diagnostics import DeviceError
from tilelang_tt.runtime import runner

TEXT = KernelDescriptor.SourceType.SOURCE_CODE
TILES = 6  # of each core
CORES = CoreRangeSet([CoreRange((0, 0), (3, 1))])

READER = r"""
#include "api/dataflow/dataflow_api.h"
void kernel_main() {
    const uint32_t first = get_arg_val<uint32_t>(1), count = get_arg_val<uint32_t>(2);
    const auto source = TensorAccessor(TensorAccessorArgs<0>(), get_arg_val<uint32_t>(0));
    for (uint32_t tile = first; tile < first + count; ++tile) {
        cb_reserve_back(0, 1);
        noc_async_read_page(tile, source, get_write_ptr(0));
        noc_async_read_barrier();
        LOOK
        cb_push_back(0, 1);
    }
}
"""
COMPUTE = r"""
#include "api/compute/common.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/tile_move_copy.h"
void kernel_main() {
    compute_kernel_hw_startup(0, 0, 16);
    copy_tile_to_dst_init_short(0);
    for (uint32_t tile = 0; tile < get_arg_val<uint32_t>(0); ++tile) {
        cb_wait_front(0, 1);
        cb_reserve_back(16, 1);
        tile_regs_acquire();
        copy_tile(0, 0, 0);
        tile_regs_commit();
        tile_regs_wait();
        pack_tile(0, 16);
        tile_regs_release();
        cb_pop_front(0, 1);
        cb_push_back(16, 1);
    }
}
"""
WRITER = r"""
#include "api/dataflow/dataflow_api.h"
void kernel_main() {
    const uint32_t first = get_arg_val<uint32_t>(1), count = get_arg_val<uint32_t>(2);
    const auto out = TensorAccessor(TensorAccessorArgs<0>(), get_arg_val<uint32_t>(0));
    for (uint32_t tile = first; tile < first + count; ++tile) {
        cb_wait_front(16, 1);
        noc_async_write_page(tile, out, get_read_ptr(16));
        noc_async_writes_flushed();
        cb_pop_front(16, 1);
    }
    noc_async_write_barrier();
}
"""


def copies(source: Tensor, out: Tensor, look: str = "") -> ProgramDescriptor:
    share = {core: [TILES * (4 * core.y + core.x), TILES] for core in CORES}
    movers = ((READER.replace("LOOK", look), source, ReaderConfigDescriptor()), (WRITER, out, WriterConfigDescriptor()))
    kernels = [
        KernelDescriptor(
            text,
            CORES,
            config,
            TEXT,
            compile_time_args=TensorAccessorArgs(tensor).get_compile_time_args(),
            runtime_args=[(core, [tensor.buffer_address(), *share[core]]) for core in CORES],
        )
        for text, tensor, config in movers
    ]
    args = [(core, [TILES]) for core in CORES]
    kernels.append(KernelDescriptor(COMPUTE, CORES, ComputeConfigDescriptor(), TEXT, runtime_args=args))
    buffers = [CBDescriptor(2 * 2048, CORES, [CBFormatDescriptor(cb, DataType.BFLOAT16, 2048)]) for cb in (0, 16)]
    return ProgramDescriptor(kernels=kernels, cbs=buffers)


def tensors(device: Device) -> tuple[Tensor, Tensor]:
    shape = (32, 32 * 8 * TILES)
    if device.numerics == "none":
        return device.allocate_tensor(shape), device.allocate_tensor(shape)
    return device.from_torch(torch.zeros(shape).bfloat16()), device.allocate_tensor(shape)


def clock_of(chip: str = "wormhole_b0", numerics: str = "fast", seed: int = 0, look: str = "") -> ClockReport:
    with open_device(chip, numerics=numerics, seed=seed, clock=True) as device:
        report = device.run(copies(*tensors(device), look))
    assert report.clock is not None
    return report.clock


@pytest.mark.parametrize("chip", ["wormhole_b0", "blackhole"])
def test_times_depend_on_neither_numbers_nor_schedule_nor_threads(chip: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = clock_of(chip)
    assert expected.cycles > 0
    assert expected.guessed == ()
    assert clock_of(chip, numerics="none") == expected
    assert clock_of(chip, numerics="chip") == expected
    assert clock_of(chip, seed=7) == expected
    for threads in (1, 3):
        monkeypatch.setattr(runner, "_threads", lambda _, threads=threads: threads)
        assert clock_of(chip) == expected


def test_a_record_is_replayed_with_other_costs(tmp_path: Path) -> None:
    path = tmp_path / "run.record"
    with open_device("blackhole", numerics="none", clock=ClockRequest(record=path)) as device:
        clock = device.run(copies(*tensors(device))).clock
    with load_record(path) as record:
        assert record.replay() == clock
        assert record.replay({"dram.read": 100_000.0}).cycles > TILES * 100_000
        assert record.replay({"dram.read": 0.0}).cycles < clock.cycles
        assert record.replay() == clock


def test_waiting_has_a_cause_and_a_line() -> None:
    lanes = clock_of().launches[0].lanes
    (slow,) = [wait for wait in lanes["reader"].waits if wait.cause == "noc_read_barrier"]
    assert READER.splitlines()[slow.line - 1].strip() == "noc_async_read_barrier();"
    assert {(wait.cause, wait.id) for wait in lanes["writer"].waits} >= {("cb_wait_front", 16)}
    assert {wait.cause for wait in lanes["pack"].waits} >= {"dst"}


def test_what_depends_on_data_is_not_timed_without() -> None:
    look = "if (*reinterpret_cast<volatile uint32_t*>(get_write_ptr(0)) == 1) return;"
    assert clock_of(look=look).cycles > 0
    with pytest.raises(DeviceError) as caught:
        clock_of(numerics="none", look=look)
    assert caught.value.code == "TT420"
    assert "loads from CB 0" in str(caught.value)
    assert "kernel.time(*tensors)" in str(caught.value)


COMPUTE_ALONE = r"""
#include "api/compute/common.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/tile_move_copy.h"
#include "tools/profiler/kernel_profiler.hpp"
void kernel_main() {
    compute_kernel_hw_startup(0, 0, 0);
    copy_tile_to_dst_init_short(0);
    cb_reserve_back(0, 8);
    tile_regs_acquire();
    tile_regs_commit();
    tile_regs_wait();
    tile_regs_release();
    cb_push_back(0, 8);
    cb_wait_front(0, 8);
    DeviceZoneScopedN("copies");
    for (uint32_t section = 0; section < 10; ++section) {
        tile_regs_acquire();
        for (uint32_t tile = 0; tile < TILES_OF_SECTION; ++tile) copy_tile(0, tile, tile);
        tile_regs_commit();
        tile_regs_wait();
        tile_regs_release();
    }
    cb_pop_front(0, 8);
}
"""


@pytest.mark.parametrize(("unpack", "math"), [(40, 19), (19, 40)])
def test_unpack_and_math_overlap_and_the_slower_one_counts(unpack: int, math: int) -> None:
    """Ten sections of eight copies: 80 times the slower processor, once the faster one, and nothing else."""
    free = dict.fromkeys(
        (
            "unpack.section",
            "call.pack.dst.release",
            "math.dst.acquire",
            "math.dst.commit",
            "unpack.cb_pop",
            "profiler.zone",
        ),
        0,
    )
    free |= dict.fromkeys(("pack.dst.wait", "pack.dst.release", "cb.latency", "unpack.cb_wait", "pack.cb_push"), 0)
    costs = {**free, "unpack.copy": unpack, "math.copy": math, "unpack.copy.Float16_b": unpack}
    costs |= {"math.copy.dst16": math, "call.unpack.copy": 0, "call.math.copy": 0}
    core = CoreRangeSet([CoreRange((0, 0), (0, 0))])
    with open_device("blackhole", numerics="none", clock=costs, strict=False) as device:
        text = COMPUTE_ALONE.replace("TILES_OF_SECTION", "8")
        program = ProgramDescriptor(
            kernels=[KernelDescriptor(text, core, ComputeConfigDescriptor(), TEXT)],
            cbs=[CBDescriptor(8 * 2048, core, [CBFormatDescriptor(0, DataType.BFLOAT16, 2048)])],
        )
        with pytest.warns(UserWarning, match="TT705"):
            clock = device.run(program).clock
    start = min(zone.start for zone in clock.zones if zone.lane == "unpack")
    end = max(zone.end for zone in clock.zones if zone.lane == "math")
    assert end - start == pytest.approx(80 * max(unpack, math) + min(unpack, math), abs=2)


SIGNAL = r"""
#include "api/dataflow/dataflow_api.h"
void kernel_main() {
    const uint32_t semaphore = get_semaphore(0);
    auto* here = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(semaphore);
    const bool first = get_arg_val<uint32_t>(0) != 0;
    for (uint32_t turn = 0; turn < 20; ++turn) {
        if (!first) { noc_semaphore_wait(here, 1); noc_semaphore_set(here, 0); }
        noc_semaphore_inc(get_noc_addr(get_arg_val<uint32_t>(1), get_arg_val<uint32_t>(2), semaphore), 1);
        noc_async_atomic_barrier();
        if (first) { noc_semaphore_wait(here, 1); noc_semaphore_set(here, 0); }
    }
}
"""


def ping_pong(other: tuple[int, int], hop: float) -> float:
    pair = [(0, 0), other]
    cores = CoreRangeSet([CoreRange(core, core) for core in pair])
    with open_device("wormhole_b0", numerics="none", clock={"noc.hop": hop}) as device:
        reach = [tuple(device.worker_core_from_logical_core(core)) for core in pair]
        args = [(core, [int(core == (0, 0)), *reach[1 - i]]) for i, core in enumerate(pair)]
        kernel = KernelDescriptor(SIGNAL, cores, ReaderConfigDescriptor(), TEXT, runtime_args=args)
        clock = device.run(ProgramDescriptor(kernels=[kernel], semaphores=[SemaphoreDescriptor(0, cores, 0)])).clock
    return clock.cycles


def test_signals_take_the_way_round_the_chip() -> None:
    """There and back is once round the ring of ten columns, whichever column the other core is in.

    The last signal alone is answered over a part of it.
    """
    ring = 10 * 9.0
    assert ping_pong((1, 0), 9.0) == pytest.approx(ping_pong((5, 0), 9.0), abs=ring)
    assert ping_pong((1, 0), 19.0) - ping_pong((1, 0), 9.0) == pytest.approx(20 * 10 * 10, rel=0.1)


POLL = r"""
#include "api/dataflow/dataflow_api.h"
#include "tools/profiler/kernel_profiler.hpp"
void kernel_main() {
    const uint64_t arrived = get_noc_addr(get_arg_val<uint32_t>(1), get_arg_val<uint32_t>(2), get_semaphore(0));
    const uint32_t scratch = get_write_ptr(0);
    if (get_arg_val<uint32_t>(0)) {
        for (uint32_t i = 0; i < 50; ++i) {
            noc_semaphore_inc(get_noc_addr(get_arg_val<uint32_t>(1), get_arg_val<uint32_t>(2), get_semaphore(1)), 1);
            noc_async_atomic_barrier();
        }
        DeviceZoneScopedN("late");
    }
    noc_semaphore_inc(arrived, 1);
    noc_async_atomic_barrier();
    auto* seen = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(scratch);
    *seen = 0;
    while (*seen < 8) {
        noc_async_read(arrived, scratch, 4);
        noc_async_read_barrier();
    }
    DeviceZoneScopedN("go");
}
"""


def polled(numerics: str, seed: int = 0) -> ClockReport:
    with open_device("wormhole_b0", numerics=numerics, seed=seed, clock=True) as device:
        leader = device.worker_core_from_logical_core((0, 0))
        args = [(core, [int(core.x == 3 and core.y == 1), *leader]) for core in CORES]
        kernel = KernelDescriptor(POLL, CORES, ReaderConfigDescriptor(), TEXT, runtime_args=args)
        buffers = [CBDescriptor(64, CORES, [CBFormatDescriptor(0, DataType.UINT32, 64)])]
        semaphores = [SemaphoreDescriptor(index, CORES, 0) for index in (0, 1)]
        program = ProgramDescriptor(kernels=[kernel], semaphores=semaphores, cbs=buffers)
        report = device.run(program)
    assert report.clock is not None
    return report.clock


def test_a_core_that_polls_asks_until_the_last_one_has_come() -> None:
    """How often a run asks is up to its schedule; the time is not."""
    expected = polled("none")
    assert polled("fast") == polled("chip", seed=3) == polled("fast", seed=11) == expected
    zones = expected.launches[0].zones
    late = next(zone.start for zone in zones if zone.name == "late")
    go = [zone.start for zone in zones if zone.name == "go"]
    assert len(go) == 8
    assert min(go) > late
    assert max(go) - min(go) > 7 * 6  # one after the other reads the word
    waits = expected.launches[0].lanes["reader"].waits
    assert any(wait.cause == "semaphore" and wait.cycles > late / 2 for wait in waits)
