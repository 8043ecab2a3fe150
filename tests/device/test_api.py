"""The public device API: tensors in every memory, work splitting, and what is refused before anything runs."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hand_written import COMPUTE, DATAFLOW, ONE_CORE, READER, WRITER, cb, kernel

from tilelang_tt.device import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    BufferType,
    CBDescriptor,
    CBFormatDescriptor,
    CoreCoord,
    CoreRange,
    CoreRangeSet,
    DataMovementConfigDescriptor,
    DataMovementProcessor,
    DataType,
    Device,
    KernelDescriptor,
    Layout,
    MemoryConfig,
    ProgramDescriptor,
    RuntimeArgs,
    SemaphoreDescriptor,
    ShardOrientation,
    ShardSpec,
    TensorAccessorArgs,
    TensorMemoryLayout,
    cb_descriptor_from_sharded_tensor,
    generic_op,
    open_device,
    split_work_to_cores,
)
from tilelang_tt.diagnostics import ArgumentError, DeviceError, TenstorrentError

EMPTY = DATAFLOW + "void kernel_main() {}"
CORES = CoreRangeSet([CoreRange((0, 0), (3, 1))])
BANKS = CoreRangeSet([CoreRange((0, 0), (7, 0))])


def sharded(layout: TensorMemoryLayout, kind: BufferType, shape: tuple[int, int]) -> MemoryConfig:
    return MemoryConfig(layout, kind, ShardSpec(BANKS if kind is BufferType.DRAM else CORES, shape))


MEMORIES = {
    "dram": DRAM_MEMORY_CONFIG,
    "l1": L1_MEMORY_CONFIG,
    "dram height": sharded(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.DRAM, (32, 128)),
    "dram width": sharded(TensorMemoryLayout.WIDTH_SHARDED, BufferType.DRAM, (256, 32)),
    "l1 height": sharded(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, (64, 128)),
    "l1 width": sharded(TensorMemoryLayout.WIDTH_SHARDED, BufferType.L1, (256, 32)),
    "l1 block": sharded(TensorMemoryLayout.BLOCK_SHARDED, BufferType.L1, (128, 32)),
}


@pytest.mark.parametrize("numerics", ["fast", "exact"])
@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
@pytest.mark.parametrize("name", MEMORIES)
def test_values_come_back(name: str, arch: str, numerics: str) -> None:
    with open_device(arch, numerics=numerics) as device:
        for layout in Layout:
            for dtype in (torch.bfloat16, torch.float32, torch.uint8):
                values = (torch.randn(2, 128, 128) * 10).to(dtype)
                tensor = device.from_torch(values, layout=layout, memory_config=MEMORIES[name])
                assert torch.equal(tensor.to_torch(), values)
                tensor.deallocate()


@pytest.mark.parametrize("layout", Layout)
@pytest.mark.parametrize("shape", [(1,), (70,), (5, 70), (2, 3, 33, 1)])
def test_shapes_that_fill_no_page(shape: tuple[int, ...], layout: Layout) -> None:
    values = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
    with open_device() as device:
        tensor = device.from_torch(values, layout=layout)
        assert np.array_equal(tensor.to_numpy(), values)
        assert tensor.to_numpy().dtype == np.float32


def test_a_tensor_of_rank_1_is_one_row_and_padding() -> None:
    with open_device() as device:
        tensor = device.from_torch(torch.ones(70), layout=Layout.TILE)
        tiles = tensor._gather().view(torch.float32)
        assert tiles.shape == (3, 1024)
        assert tiles.sum() == 70


@pytest.mark.parametrize(("dtype", "error"), [(DataType.BFLOAT8_B, 2**-6), (DataType.BFLOAT4_B, 2**-2)])
def test_block_floats(dtype: DataType, error: float) -> None:
    values = torch.rand(64, 64) + 1
    with open_device() as device:
        tensor = device.from_torch(values, dtype)
        assert tensor.buffer_page_size == dtype.format.page_bytes
        assert (tensor.to_torch() - values).abs().max() <= error
    with open_device(numerics="exact") as device:
        assert torch.equal(device.from_torch(values, dtype).to_torch(), values)


def test_untouched_memory_is_poison() -> None:
    with open_device() as device:
        for config in (DRAM_MEMORY_CONFIG, L1_MEMORY_CONFIG, MEMORIES["l1 block"]):
            tensor = device.allocate_tensor((256, 128), DataType.UINT8, memory_config=config)
            assert bool((tensor.to_torch() == 0xA5).all())


def test_memory_is_given_back() -> None:
    with open_device() as device:
        first = device.allocate_tensor((32, 32 * 12 * 1024))
        address = first.buffer_address()
        second = device.allocate_tensor((32, 32))
        first.deallocate()
        assert second.buffer_address() > address
        assert device.allocate_tensor((32, 32)).buffer_address() == address
        with pytest.raises(ArgumentError, match="tensor 'tensor0' was deallocated"):
            first.to_torch()
    with pytest.raises(ArgumentError, match="the device is closed"):
        second.to_torch()


def test_tensors_in_l1_lie_at_the_end_of_it() -> None:
    with open_device() as device:
        assert device.allocate_tensor((32, 32), memory_config=L1_MEMORY_CONFIG).buffer_address() == 1464 * 1024 - 2048


def test_accessor_words_of_each_placement() -> None:
    """Words as the SDK lays them out: flags, page size; sharded also rank, banks, shapes, packed coordinates."""
    with open_device() as device:

        def accessor(config: MemoryConfig) -> list[int]:
            tensor = device.allocate_tensor((256, 128), memory_config=config)
            return TensorAccessorArgs(tensor).get_compile_time_args()

        assert accessor(DRAM_MEMORY_CONFIG) == [2, 2048]
        assert accessor(L1_MEMORY_CONFIG) == [0, 2048]
        assert accessor(MEMORIES["dram height"])[:8] == [3, 2048, 2, 8, 8, 4, 1, 4]
        assert accessor(MEMORIES["dram height"])[8:] == [0x0100 << 16, 0x0300 << 16 | 0x0200, 0x0500 << 16 | 0x0400, 0x0700 << 16 | 0x0600]  # fmt: skip  # noqa: E501
        assert accessor(MEMORIES["l1 block"])[:8] == [1, 2048, 2, 8, 8, 4, 4, 1]
        assert len(accessor(MEMORIES["l1 block"])) == 8 + 4


def test_shards_go_to_cores_in_the_order_of_the_orientation() -> None:
    grid = CoreRangeSet([CoreRange((0, 0), (1, 2))])
    by_row, by_column = (ShardSpec(grid, (32, 32), orientation).cores() for orientation in ShardOrientation)
    assert by_row[:3] == [(0, 0), (1, 0), (0, 1)]
    assert by_column[:3] == [(0, 0), (0, 1), (0, 2)]


@pytest.mark.parametrize(("units", "more", "fewer"), [(10, (2, 3), (4, 2)), (6, (6, 1), (0, 0)), (3, (3, 1), (0, 0))])
def test_split_work_to_cores(units: int, more: tuple[int, int], fewer: tuple[int, int]) -> None:
    split = split_work_to_cores(CoreCoord(3, 2), units)
    assert (
        split.core_group_1.num_cores() * split.units_per_core_group_1
        + (split.core_group_2.num_cores() * split.units_per_core_group_2)
        == units
    )
    assert split.num_cores == split.all_cores.num_cores() == min(6, units)
    if units == 10:
        assert (split.core_group_1.num_cores(), split.units_per_core_group_1) == (4, 2)
        assert (split.core_group_2.num_cores(), split.units_per_core_group_2) == (2, 1)
    else:
        assert (split.core_group_1.num_cores(), split.units_per_core_group_1) == more
        assert (split.core_group_2.num_cores(), split.units_per_core_group_2) == fewer


def test_runtime_args_by_column_and_row() -> None:
    args = RuntimeArgs()
    args[1][2] = [7, 8]
    args.append(CoreCoord(0, 0), [9])
    assert args[1][2] == [7, 8]
    assert args.of_core == {CoreCoord(1, 2): [7, 8], CoreCoord(0, 0): [9]}


def program_of(*kernels: KernelDescriptor, **more: object) -> ProgramDescriptor:
    return ProgramDescriptor(list(kernels), **more)  # type: ignore[arg-type]


def cb_of(total: int, *formats: CBFormatDescriptor, cores: CoreRangeSet = ONE_CORE) -> ProgramDescriptor:
    return program_of(kernel(EMPTY, READER), cbs=[CBDescriptor(total, cores, list(formats))])


TILES = CBFormatDescriptor(0, DataType.BFLOAT16, 2048)
OUTSIDE = CoreRangeSet([CoreRange((7, 7), (8, 7))])
ON_RISCV_1 = DataMovementConfigDescriptor(DataMovementProcessor.RISCV_1)

REFUSED_PROGRAMS: dict[str, tuple[Callable[[], ProgramDescriptor], str]] = {
    "no kernels": (lambda: program_of(), "error[TT321]: program 'program' has no kernels"),
    "missing source": (
        lambda: program_of(KernelDescriptor("nowhere.cpp", ONE_CORE, READER)),
        "error[TT321]: kernel source nowhere.cpp cannot be read: No such file or directory",
    ),
    "outside the grid": (
        lambda: program_of(kernel(EMPTY, READER, OUTSIDE)),
        "error[TT321]: kernel reader.cpp: core (8, 7) lies outside the 8 x 8 grid",
    ),
    "two on one processor": (
        lambda: program_of(kernel(EMPTY, READER), kernel(EMPTY, ON_RISCV_1)),
        "error[TT321]: kernels reader.cpp and dataflow.cpp are both on the processor RISCV_1 of core (0, 0)",
    ),
    "one NoC for both": (
        lambda: program_of(kernel(EMPTY, READER), kernel(EMPTY, DataMovementConfigDescriptor())),
        "error[TT321]: kernels reader.cpp and dataflow.cpp both use NoC 0 on core (0, 0)\n"
        "  help: each of the two data movement processors needs a NoC of its own",
    ),
    "too many arguments": (
        lambda: program_of(kernel(EMPTY, READER, args=[0] * 342)),
        "error[TT410]: runtime argument of kernel reader.cpp on core (0, 0): 342 of them; 341 is the limit",
    ),
    "too many common arguments": (
        lambda: program_of(kernel(EMPTY, READER, common_runtime_args=[0] * 342)),
        "error[TT410]: common argument of kernel reader.cpp: 342 of them; 341 is the limit",
    ),
    "an argument that is no word": (
        lambda: program_of(kernel(EMPTY, READER, args=[0, 1.5])),  # type: ignore[list-item]
        "error[TT321]: runtime argument of kernel reader.cpp on core (0, 0) 1 is 1.5: arguments are 32-bit words",
    ),
    "an argument too large": (
        lambda: program_of(kernel(EMPTY, READER, compile_args=[1 << 32])),
        "error[TT321]: compile-time argument of kernel reader.cpp 0 is 4294967296: it does not fit 32 bits",
    ),
    "arguments for another core": (
        lambda: program_of(kernel(EMPTY, READER, args={CoreCoord(1, 0): [1]})),
        "error[TT321]: kernel reader.cpp has arguments for core (1, 0), where it does not run",
    ),
    "CB id": (
        lambda: cb_of(2048, CBFormatDescriptor(32, DataType.BFLOAT16, 2048)),
        "error[TT410]: CB 32: Wormhole has buffers 0 .. 31",
    ),
    "CB twice": (
        lambda: cb_of(2048, TILES, TILES),
        "error[TT321]: CB 0 is described twice for core (0, 0)",
    ),
    "CB size": (
        lambda: cb_of(3000, TILES),
        "error[TT321]: CB 0: 3000 B are not a number of pages of 2048 B",
    ),
    "CB pages": (
        lambda: cb_of(65536 * 16, CBFormatDescriptor(0, DataType.UINT8, 16)),
        "error[TT410]: CB 0: 65536 pages; 65535 is the limit",
    ),
    "CB format": (
        lambda: cb_of(2048, CBFormatDescriptor(0, "Float8", 2048)),
        "error[TT321]: CB 0: unknown data format 'Float8'\n"
        "  help: valid: Float32, Float16, Float16_b, Bfp8_b, Bfp4_b, Int32, UInt16, UInt32, UInt8",
    ),
    "CB without format": (lambda: cb_of(2048), "error[TT321]: a CBDescriptor without format descriptors"),
    "CB outside the grid": (
        lambda: cb_of(2048, TILES, cores=OUTSIDE),
        "error[TT321]: CB 0: core (8, 7) lies outside the 8 x 8 grid",
    ),
    "L1": (
        lambda: cb_of(700 * 2048, TILES),
        "error[TT410]: circular buffers of 1,433,600 B and tensors of 0 B do not fit the L1 of a core; "
        "Wormhole has 1,393,280 B\n  note: CB 0: 1,433,600 B",
    ),
    "semaphore id": (
        lambda: program_of(kernel(EMPTY, READER), semaphores=[SemaphoreDescriptor(16, ONE_CORE)]),
        "error[TT410]: semaphore 16: ids are 0 .. 15",
    ),
    "semaphore twice": (
        lambda: program_of(kernel(EMPTY, READER), semaphores=[SemaphoreDescriptor(3, ONE_CORE)] * 2),
        "error[TT321]: semaphore 3 is described twice for core (0, 0)",
    ),
}


@pytest.mark.parametrize("name", REFUSED_PROGRAMS)
def test_refused_programs(name: str) -> None:
    program, text = REFUSED_PROGRAMS[name]
    with open_device() as device, pytest.raises(TenstorrentError) as caught:
        device.run(program())
    assert str(caught.value) == text


def test_buffers_and_tensors_share_l1() -> None:
    """Buffers grow from below, tensors from above; they must not meet."""
    with open_device() as device:
        tensor = device.allocate_tensor((32 * 600, 32), memory_config=sharded_on_one_core(600))
        assert tensor.num_pages == 600
        device.run(cb_of(80 * 2048, TILES))
        with pytest.raises(DeviceError, match=r"buffers of 167,936 B and tensors of 1,228,800 B do not fit the L1"):
            device.run(cb_of(82 * 2048, TILES))
        with pytest.raises(DeviceError, match=r"no room for tensor 'tensor1': it needs 204,800 B in every L1 bank"):
            device.allocate_tensor((32 * 100, 32), memory_config=sharded_on_one_core(100))


def sharded_on_one_core(tiles: int) -> MemoryConfig:
    return MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, ShardSpec(ONE_CORE, (32 * tiles, 32)))


def on_tensor(device: Device, **changes: object) -> CBDescriptor:
    tensor = device.allocate_tensor((64, 32), memory_config=sharded_on_one_core(2))
    return cb_descriptor_from_sharded_tensor(0, tensor, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda device: on_tensor(device, total_size=3 * 2048),
            "CB 0: 6144 B from byte 0 on do not fit the shards of tensor 'tensor0', which have 4096 B",
        ),
        (
            lambda device: on_tensor(device, address_offset=2048, total_size=2 * 2048),
            "CB 0: 4096 B from byte 2048 on do not fit the shards of tensor 'tensor0', which have 4096 B",
        ),
        (
            lambda device: cb_descriptor_from_sharded_tensor(0, device.allocate_tensor((32, 32))),
            "CB 0: tensor 'tensor0' is not sharded in L1",
        ),
    ],
)
def test_buffers_that_do_not_fit_their_tensor(make: Callable[[Device], CBDescriptor], text: str) -> None:
    with open_device() as device, pytest.raises(ArgumentError) as caught:
        device.run(program_of(kernel(EMPTY, READER), cbs=[make(device)]))
    assert str(caught.value) == f"error[TT321]: {text}"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda device: device.allocate_tensor(()), "a tensor of shape ()"),
        (lambda device: device.allocate_tensor((32, 0)), "a tensor of shape (32, 0)"),
        (
            lambda device: device.allocate_tensor((32, 32), DataType.BFLOAT8_B, Layout.ROW_MAJOR),
            "BFLOAT8_B exists in tiles only: layout must be Layout.TILE",
        ),
        (
            lambda device: device.allocate_tensor((32, 32)).copy_from(torch.zeros(32, 33)),
            "tensor 'tensor0' has shape (32, 32); the values have (32, 33)",
        ),
        (
            lambda device: device.from_torch(torch.zeros(4, dtype=torch.complex64)),
            "the device has no torch.complex64\n  help: name a dtype to convert to",
        ),
        (
            lambda device: device.allocate_tensor((64, 64), memory_config=MEMORIES["l1 height"]),
            None,
        ),
        (
            lambda device: device.allocate_tensor((1024, 128), memory_config=MEMORIES["l1 height"]),
            "16 shards of (64, 128) for 8 cores",
        ),
        (
            lambda device: device.allocate_tensor((64, 256), memory_config=MEMORIES["l1 height"]),
            "sharded by height, but the shards of (64, 128) split the other axis too",
        ),
        (
            lambda device: device.allocate_tensor((512, 128), memory_config=MEMORIES["l1 block"]),
            "4 x 4 shards do not fit 4 x 2 cores",
        ),
        (
            lambda device: device.allocate_tensor(
                (64, 64), memory_config=sharded(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, (33, 64))
            ),
            "a shard of 33 x 64 elements is not made of 32x32 tiles",
        ),
        (
            lambda device: device.allocate_tensor(
                (32, 32), memory_config=MemoryConfig(TensorMemoryLayout.BLOCK_SHARDED)
            ),
            "memory layout BLOCK_SHARDED needs a shard_spec",
        ),
        (lambda device: device.worker_core_from_logical_core((8, 0)), "core (8, 0) lies outside the 8 x 8 grid"),
    ],
)
def test_refused_tensors(make: Callable[[Device], object], text: str | None) -> None:
    with open_device() as device:
        if text is None:
            make(device)
            return
        with pytest.raises(ArgumentError) as caught:
            make(device)
    assert str(caught.value) == f"error[TT320]: {text}"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"arch": "grayskull"}, "error[TT320]: unknown arch 'grayskull'\n  help: valid: wormhole_b0, blackhole"),
        ({"numerics": "wild"}, "error[TT409]: unknown numerics 'wild'\n  help: valid: fast, exact, chip"),
        ({"grid": (9, 1)}, "error[TT320]: a grid of 9 x 1 cores: Wormhole has 8 x 8"),
    ],
)
def test_refused_devices(options: dict[str, object], text: str) -> None:
    with pytest.raises(TenstorrentError) as caught:
        open_device(**options)  # type: ignore[arg-type]
    assert str(caught.value) == text


def test_overlapping_core_ranges() -> None:
    with pytest.raises(ValueError, match="overlap"):
        CoreRangeSet([CoreRange((0, 0), (1, 1)), CoreRange((1, 1), (2, 2))])
    with pytest.raises(ValueError, match="ends before it starts"):
        CoreRange((1, 0), (0, 0))


def test_a_program_of_another_device() -> None:
    with open_device() as one, open_device() as other:
        tensors = [one.allocate_tensor((32, 32)), other.allocate_tensor((32, 32))]
        with pytest.raises(ArgumentError, match="tensor 'tensor0' lies on another device"):
            generic_op(tensors, program_of(kernel(EMPTY, READER)))


def test_the_time_limit_of_the_device() -> None:
    text = DATAFLOW + "void kernel_main() { for (volatile uint32_t i = 0;; ++i) {} }"
    with open_device(time_limit=0.5) as device:
        with pytest.raises(DeviceError, match=r"error\[TT405\]: time limit: the kernels did not end within 0.5 s"):
            device.run(program_of(kernel(text, READER)))
        device.run(program_of(kernel(EMPTY, READER)))  # the device goes on


def test_an_unknown_named_argument_is_a_compile_error() -> None:
    text = DATAFLOW + 'void kernel_main() { constexpr uint32_t n = get_named_compile_time_arg_val("n"); (void)n; }'
    with open_device() as device:
        device.run(program_of(kernel(text, READER, named_compile_time_args=[("n", 3)])))
        with pytest.raises(DeviceError, match=r"error\[TT407\]: kernel reader.cpp does not compile"):
            device.run(program_of(kernel(text, READER, named_compile_time_args=[("m", 3)])))


def test_kernels_of_all_processors_at_once() -> None:
    """The three kinds of kernel, without work: a program may be that small."""
    compute = '#include <cstdint>\n#include "api/compute/common.h"\nvoid kernel_main() {}'
    with open_device("blackhole", grid=(2, 2)) as device:
        cores = CoreRangeSet([CoreRange((0, 0), (1, 1))])
        kernels = [kernel(EMPTY, READER, cores), kernel(compute, COMPUTE, cores), kernel(EMPTY, WRITER, cores)]
        report = device.run(program_of(*kernels, cbs=[cb(63, 2, cores=cores)]))
        assert report.statistics["cores_used"] == 4
