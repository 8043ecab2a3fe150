"""`import tilelang_tt.ttnn as ttnn`: scripts for ttnn run on the virtual device; the rest is refused by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from hand_written import DATAFLOW

import tilelang_tt.ttnn as ttnn
from tilelang_tt.diagnostics import ArgumentError, DeviceError

READER = (
    DATAFLOW
    + """
void kernel_main() {
    const uint32_t first = get_arg_val<uint32_t>(1), count = get_arg_val<uint32_t>(2);
    constexpr auto args_a = TensorAccessorArgs<0>();
    constexpr auto args_b = TensorAccessorArgs<args_a.next_compile_time_args_offset()>();
    const auto a = TensorAccessor(args_a, get_arg_val<uint32_t>(0));
    const auto b = TensorAccessor(args_b, get_common_arg_val<uint32_t>(0));
    for (uint32_t tile = first; tile < first + count; ++tile) {
        cb_reserve_back(0, 1);
        cb_reserve_back(1, 1);
        noc_async_read_page(tile, a, get_write_ptr(0));
        noc_async_read_page(tile, b, get_write_ptr(1));
        noc_async_read_barrier();
        cb_push_back(0, 1);
        cb_push_back(1, 1);
    }
}
"""
)
COMPUTE = """
#include <cstdint>
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary.h"

void kernel_main() {
    constexpr uint32_t out = get_named_compile_time_arg_val("out");
    compute_kernel_hw_startup(0, 1, out);
    add_tiles_init(0, 1);
    for (uint32_t tile = 0; tile < get_arg_val<uint32_t>(0); ++tile) {
        cb_wait_front(0, 1);
        cb_wait_front(1, 1);
        cb_reserve_back(out, 1);
        tile_regs_acquire();
        add_tiles(0, 1, 0, 0, 0);
        tile_regs_commit();
        tile_regs_wait();
        pack_tile(0, out);
        tile_regs_release();
        cb_pop_front(0, 1);
        cb_pop_front(1, 1);
        cb_push_back(out, 1);
    }
}
"""
WRITER = (
    DATAFLOW
    + """
void kernel_main() {
    const uint32_t first = get_arg_val<uint32_t>(1), count = get_arg_val<uint32_t>(2);
    constexpr auto args = TensorAccessorArgs<0>();
    const auto out = TensorAccessor(args, get_arg_val<uint32_t>(0));
    for (uint32_t tile = first; tile < first + count; ++tile) {
        cb_wait_front(OUT, 1);
        noc_async_write_page(tile, out, get_read_ptr(OUT));
        noc_async_writes_flushed();
        cb_pop_front(OUT, 1);
    }
    noc_async_write_barrier();
}
"""
)
# A shard on the core itself: the kernel doubles its words in place and tells the next core by a semaphore.
IN_PLACE = (
    DATAFLOW
    + """
void kernel_main() {
    const uint32_t words = get_compile_time_arg_val(0), last = get_arg_val<uint32_t>(0);
    volatile tt_l1_ptr uint32_t* shard = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(get_arg_val<uint32_t>(1));
    volatile tt_l1_ptr uint32_t* turn = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(get_semaphore(0));
    noc_semaphore_wait(turn, 1);
    for (uint32_t i = 0; i < words; ++i) {
        shard[i] = 2 * shard[i];
    }
    if (!last) {
        noc_semaphore_inc(get_noc_addr(get_arg_val<uint32_t>(2), get_arg_val<uint32_t>(3), get_semaphore(0)), 1);
        noc_async_atomic_barrier();
    }
}
"""
)
CORE = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(0, 0))])
TEXT = ttnn.KernelDescriptor.SourceType.SOURCE_CODE


@pytest.fixture(params=["wormhole_b0", "blackhole"])
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ttnn.MeshDevice]:
    monkeypatch.setenv("TILELANG_TT_ARCH", request.param)
    with ttnn.manage_device(device_id=0) as opened:
        yield opened


def buffer(index: int, cores: ttnn.CoreRangeSet) -> ttnn.CBDescriptor:
    page = ttnn.CBFormatDescriptor(buffer_index=index, data_format=ttnn.bfloat16, page_size=2048)
    return ttnn.CBDescriptor(total_size=2 * 2048, core_ranges=cores, format_descriptors=[page])


def addition(a: ttnn.Tensor, b: ttnn.Tensor, out: ttnn.Tensor) -> ttnn.ProgramDescriptor:
    """A program as ttnn's documentation builds them: work split over the grid, arguments per core and common ones."""
    grid = out.device().compute_with_storage_grid_size()
    (_, cores, more, fewer, units_more, units_fewer) = ttnn.split_work_to_cores(grid, out.buffer_num_pages())
    reading, computing, writing = ttnn.RuntimeArgs(), ttnn.RuntimeArgs(), ttnn.RuntimeArgs()
    first = 0
    for group, units in ((more, units_more), (fewer, units_fewer)):
        for core in ttnn.corerange_to_cores(group):
            reading[core.x][core.y] = [a.buffer_address(), first, units]
            computing[core.x][core.y] = [units]
            writing[core.x][core.y] = [out.buffer_address(), first, units]
            first += units
    compute = ttnn.ComputeConfigDescriptor()
    compute.math_fidelity = ttnn.MathFidelity.HiFi4
    accessors = [
        *ttnn.TensorAccessorArgs(a).get_compile_time_args(),
        *ttnn.TensorAccessorArgs(b).get_compile_time_args(),
    ]
    return ttnn.ProgramDescriptor(
        kernels=[
            ttnn.KernelDescriptor(
                kernel_source=READER,
                source_type=TEXT,
                core_ranges=cores,
                compile_time_args=accessors,
                runtime_args=reading,
                common_runtime_args=[b.buffer_address()],
                config=ttnn.ReaderConfigDescriptor(),
            ),
            ttnn.KernelDescriptor(
                kernel_source=WRITER,
                source_type=TEXT,
                core_ranges=cores,
                compile_time_args=ttnn.TensorAccessorArgs(out).get_compile_time_args(),
                defines=[("OUT", "16")],
                runtime_args=writing,
                config=ttnn.WriterConfigDescriptor(),
            ),
            ttnn.KernelDescriptor(
                kernel_source=COMPUTE,
                source_type=TEXT,
                core_ranges=cores,
                named_compile_time_args=[("out", 16)],
                runtime_args=computing,
                config=compute,
            ),
        ],
        semaphores=[],
        cbs=[buffer(index, cores) for index in (0, 1, 16)],
    )


@pytest.mark.parametrize("memory", ["dram", "l1", "height shards"])
def test_a_script_runs_by_changing_the_import(device: ttnn.MeshDevice, memory: str) -> None:
    shards = ttnn.create_sharded_memory_config((160, 96), ttnn.CoreGrid(x=5, y=1), ttnn.ShardStrategy.HEIGHT)
    config = {"dram": ttnn.DRAM_MEMORY_CONFIG, "l1": ttnn.L1_MEMORY_CONFIG, "height shards": shards}[memory]
    values = torch.randint(-99, 99, (2, 1, 80, 96), generator=torch.Generator().manual_seed(1)).bfloat16()
    if memory == "height shards":
        values = values.reshape(160, 96)
    a = ttnn.from_torch(values, layout=ttnn.TILE_LAYOUT, device=device, memory_config=config)
    b = ttnn.to_device(ttnn.from_torch(values.flip(-1), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT), device)
    out = ttnn.allocate_tensor_on_device(a.shape, ttnn.bfloat16, ttnn.TILE_LAYOUT, device, config)
    result = ttnn.generic_op([a, b, out], addition(a, b, out))
    assert result is out
    assert torch.equal(ttnn.to_torch(result), values + values.flip(-1))
    assert device.report is not None
    assert device.report.statistics["cores_used"] == min(a.buffer_num_pages(), device.core_grid.num_cores)


def test_a_kernel_works_on_its_shard_in_place(device: ttnn.MeshDevice) -> None:
    cores = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(3, 0))])
    spec = ttnn.ShardSpec(cores, (1, 64), ttnn.ShardOrientation.ROW_MAJOR)
    memory = ttnn.MemoryConfig(ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.BufferType.L1, spec)
    values = torch.arange(4 * 64, dtype=torch.int32).reshape(4, 64)
    tensor = ttnn.from_torch(values, layout=ttnn.ROW_MAJOR_LAYOUT, device=device, memory_config=memory)
    neighbours = [device.worker_core_from_logical_core(ttnn.CoreCoord((x + 1) % 4, 0)) for x in range(4)]
    half = tensor.buffer_address() + 128  # the second half of each shard
    kernel = ttnn.KernelDescriptor(
        kernel_source=IN_PLACE,
        source_type=TEXT,
        core_ranges=cores,
        compile_time_args=[32],
        runtime_args=[(ttnn.CoreCoord(x, 0), [x == 3, half, to.x, to.y]) for x, to in enumerate(neighbours)],
        config=ttnn.DataMovementConfigDescriptor(processor=ttnn.DataMovementProcessor.RISCV_1, noc=ttnn.NOC.NOC_0),
    )
    first = ttnn.SemaphoreDescriptor(id=0, core_ranges=CORE, initial_value=1)
    others = ttnn.SemaphoreDescriptor(id=0, core_ranges=cores.subtract(CORE), initial_value=0)
    shard = ttnn.cb_descriptor_from_sharded_tensor(0, tensor)
    mesh = ttnn.MeshProgramDescriptor()
    everywhere = ttnn.MeshCoordinateRange(ttnn.MeshCoordinate(0, 0), ttnn.MeshCoordinate(0, 0))
    mesh[everywhere] = ttnn.ProgramDescriptor([kernel], [first, others], [shard])
    ttnn.generic_op([tensor], mesh)
    assert torch.equal(ttnn.to_torch(tensor), torch.cat([values[:, :32], 2 * values[:, 32:]], dim=1))


# Recorded from ttnn 0.77.0: grid, units, row by row -> ranges of both groups and their units.
SPLITS = [
    ((8, 8), 12, False, [((0, 0), (0, 7)), ((1, 0), (1, 3))], [], 1, 0),
    ((8, 8), 12, True, [((0, 0), (7, 0)), ((0, 1), (3, 1))], [], 1, 0),
    ((8, 8), 100, False, [((0, 0), (3, 7)), ((4, 0), (4, 3))], [((4, 4), (4, 7)), ((5, 0), (7, 7))], 2, 1),
    ((3, 2), 4, False, [((0, 0), (1, 1))], [], 1, 0),
    ((3, 2), 7, True, [((0, 0), (0, 0))], [((1, 0), (2, 0)), ((0, 1), (2, 1))], 2, 1),
    ((13, 10), 400, True, [((0, 0), (9, 0))], [((10, 0), (12, 0)), ((0, 1), (12, 9))], 4, 3),
]


@pytest.mark.parametrize(("grid", "units", "row_wise", "more", "fewer", "units_more", "units_fewer"), SPLITS)
def test_work_is_split_as_ttnn_splits_it(
    grid: tuple[int, int],
    units: int,
    row_wise: bool,
    more: list[object],
    fewer: list[object],
    units_more: int,
    units_fewer: int,
) -> None:
    split = ttnn.split_work_to_cores(ttnn.CoreCoord(*grid), units, row_wise)
    found = [[((r.start.x, r.start.y), (r.end.x, r.end.y)) for r in cores.ranges()] for cores in split[2:4]]
    assert (found, split[4:]) == ([more, fewer], (units_more, units_fewer))


def test_descriptors_are_values() -> None:
    args = ttnn.RuntimeArgs()
    args[0][0] = [1, 2]
    kernel = ttnn.KernelDescriptor(
        kernel_source="a.cpp", core_ranges=CORE, runtime_args=args, config=ttnn.ReaderConfigDescriptor()
    )
    kernel.runtime_args[0][0].append(7)
    program = ttnn.ProgramDescriptor(kernels=[kernel])
    program.kernels[0].runtime_args[0][0].append(9)
    program.kernels.append(kernel)
    assert list(args[0][0]) == [1, 2]
    assert list(kernel.runtime_args[0][0]) == [1, 2, 7]
    assert [list(one.runtime_args[0][0]) for one in program.kernels] == [[1, 2, 7, 9]]
    by_column = ttnn.KernelDescriptor(
        kernel_source="a.cpp", core_ranges=CORE, runtime_args=[[[3], []]], config=ttnn.ReaderConfigDescriptor()
    )
    assert [(core, list(words)) for core, words in by_column.runtime_args] == [(ttnn.CoreCoord(0, 0), [3])]


REFUSALS: list[tuple[str, Callable[[], object], str]] = [
    ("int8", lambda: ttnn.Tile().get_tile_size(ttnn.int8), "the number format INT8"),
    ("mesh", lambda: ttnn.open_mesh_device(ttnn.MeshShape(2, 4)), "a mesh of 2 x 4 devices"),
    (
        "dynamic NoC",
        lambda: ttnn.DataMovementConfigDescriptor(noc_mode=ttnn.NOC_MODE.DM_DYNAMIC_NOC).native(),
        "NOC_MODE.DM_DYNAMIC_NOC",
    ),
    ("bfp8", lambda: ttnn.ComputeConfigDescriptor(bfp8_pack_precise=True).native(), "bfp8_pack_precise"),
    ("L1_SMALL", lambda: ttnn.MemoryConfig(buffer_type=ttnn.BufferType.L1_SMALL).native(), "BufferType.L1_SMALL"),
]


@pytest.mark.parametrize(("call", "what"), [item[1:] for item in REFUSALS], ids=[item[0] for item in REFUSALS])
def test_what_is_not_offered_is_refused_by_name(call: Callable[[], object], what: str) -> None:
    with pytest.raises(ArgumentError) as error:
        call()
    assert str(error.value) == f"error[TT322]: tilelang_tt.ttnn does not offer {what}"


def test_other_names_of_ttnn_are_refused() -> None:
    with pytest.raises(AttributeError) as error:
        _ = ttnn.matmul
    assert str(error.value) == (
        "error[TT322]: tilelang_tt.ttnn has no 'matmul': it runs programs of your own (generic_op) on the virtual "
        "device, and has none of ttnn's operations; tilelang_tt.ttnn.__all__ lists what it has"
    )
    with pytest.raises(AttributeError, match="near: TILE_LAYOUT"):
        _ = ttnn.TILE_LAYOUTS
    with pytest.raises(AttributeError, match="no attribute 'face_geometry'"):
        ttnn.CBFormatDescriptor(0, ttnn.bfloat16, 2048).face_geometry = None
    with pytest.raises(ArgumentError, match=r"no circular buffers of transposed \(16, 32\) tiles"):
        ttnn.TileDescriptor(16, 32, True)
    short = ttnn.CBFormatDescriptor(0, ttnn.bfloat16, 1024, ttnn.TileDescriptor(16, 32))
    assert short.native().tile == (16, 32)
    with pytest.raises(ArgumentError, match=r"has no tiles of \(8, 32\); it has \(32, 32\), \(16, 32\), \(32, 16\)"):
        ttnn.Tile((8, 32))
    with pytest.raises(ArgumentError, match=r"-1 is no argument of a kernel: ttnn takes 0 \.\. 4294967295"):
        ttnn.KernelDescriptor(kernel_source="", core_ranges=CORE, compile_time_args=[-1])


def test_host_tensors_and_reserved_l1(device: ttnn.MeshDevice) -> None:
    host = ttnn.from_torch(torch.ones(3, 40))
    assert (host.layout, host.storage_type(), host.shape) == (ttnn.ROW_MAJOR_LAYOUT, ttnn.StorageType.HOST, [3, 40])
    tiled = ttnn.to_layout(ttnn.from_torch(torch.ones(3, 40), ttnn.bfloat8_b, device=device), ttnn.TILE_LAYOUT)
    assert (tiled.padded_shape, ttnn.to_torch(tiled).dtype) == ([32, 64], torch.float32)
    with pytest.raises(ArgumentError, match=r"the tensor of shape \(3, 40\) lies on the host, not on a device"):
        ttnn.generic_op([host], ttnn.ProgramDescriptor())
    small = ttnn.open_device(device_id=0, l1_small_size=1 << 20)
    with pytest.raises(DeviceError, match="no room for tensor"):
        ttnn.empty((2048, 8192), ttnn.float32, ttnn.TILE_LAYOUT, small, ttnn.L1_MEMORY_CONFIG)
    ttnn.close_device(small)
