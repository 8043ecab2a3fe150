"""ops.csv: moving a tensor to shards, changing its format, adding two, and norms, with the vendor's own kernels.

What a row does not say is taken as: all cores of the card (8 x 8), HiFi4, a 16-bit DST; "bf16/bfp8" of the Llama rows:
from bfloat16 to bfp8 where a format changes, bfp8 where two tensors are added.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import tilelang_tt.device as tt
from benchmarks.timing.figures import Figure, LeftOut
from benchmarks.timing.unary import Unary
from benchmarks.timing.vendor_scripts import script, wheel

Build = Callable[[tt.Device], tt.ProgramDescriptor]
TILE = 32
CARD = (8, 8)  # cores of the card that was measured
FORMATS = {"fp32": tt.DataType.FLOAT32, "bf16": tt.DataType.BFLOAT16, "bfp8": tt.DataType.BFLOAT8_B}
FORMATS["bfp4"] = tt.DataType.BFLOAT4_B
TYPECAST = ("SFPU_OP_TYPECAST_INCLUDE", "typecast_tile_init<5u, 6u>(); typecast_tile<5u, 6u>(0);")  # bfloat16, bfp8
MOVERS = "data_movement/sharded/device/kernels/dataflow"
BINARY = "eltwise/binary_ng/device"


def workload(figure: Figure) -> Build:
    op, shape = figure.fields["op"], figure.fields["shape"]
    if op == "InterleavedToSharded":
        return _to_shards(sizes_of(shape), figure.fields["dtype"])
    if op == "UnaryDeviceOperation" and shape.startswith("typecast"):
        return lambda device: _typecast(device, _tiles(shape))
    if op == "BinaryNgDeviceOperation" and shape.startswith("add"):
        return lambda device: _add(device, _tiles(shape))
    if op == "RMSNorm":
        return lambda device: _rms_norm(device, sizes_of(shape))
    if op.startswith("GroupNorm"):
        raise LeftOut("the vendor's kernel packs past the end of a buffer with these groups: the device stops it")
    raise LeftOut("no host code for this operation's kernels here")


def sizes_of(shape: str) -> list[int]:
    found = re.search(r"\d+(x\d+)+", shape)
    if found is None:
        raise LeftOut(f"the row does not say a size: '{shape}'")
    sizes = [int(size) for size in found[0].split("x")]
    if 0 in sizes:
        raise LeftOut(f"a size of 0: '{shape}'")
    return sizes


def _tiles(shape: str) -> int:
    return math.prod(sizes_of(shape)) // TILE**2


def _to_shards(sizes: list[int], dtype: str) -> Build:
    if dtype not in FORMATS:
        raise LeftOut(f"no workload for {dtype}")
    if sizes[0] % (CARD[1] * TILE) or sizes[1] % (CARD[0] * TILE):
        raise LeftOut(f"{sizes[0]} x {sizes[1]} cannot be shared by {CARD[0]} x {CARD[1]} cores in whole tiles")
    return lambda device: _shards_program(device, sizes, FORMATS[dtype])


def _shards_program(device: tt.Device, sizes: list[int], dtype: tt.DataType) -> tt.ProgramDescriptor:
    """Every core reads its block of the tensor into its shard."""
    builder = script("builder")
    x, y = device.grid
    rows, cols = sizes[0] // TILE // y, sizes[1] // TILE // x
    program = builder.Program(device, wheel(), "to_shards", builder.grid(x, y))
    spec = tt.ShardSpec(program.cores, (rows * TILE, cols * TILE))
    place = tt.MemoryConfig(tt.TensorMemoryLayout.BLOCK_SHARDED, tt.BufferType.L1, spec)
    source = device.allocate_tensor(sizes, dtype, name="source")
    target = device.allocate_tensor(sizes, dtype, memory_config=place, name="target")
    program.buffer(0, rows * cols, dtype, on=target)
    wide = sizes[1] // TILE
    reads = {
        core: [source.buffer_address(), rows, cols, 0, wide, rows * cols, 0, core.y * rows * wide + core.x * cols]
        for core in program.cores
    }
    static = [0, x * y, *builder.accessor(source)]
    name = f"{MOVERS}/reader_unary_sharded_blocks_interleaved_start_id.cpp"
    program.kernel(name, tt.ReaderConfigDescriptor(), static, reads)
    pops = {core: [rows * cols] for core in program.cores}
    program.kernel(f"{MOVERS}/writer_unary_sharded.cpp", tt.WriterConfigDescriptor(), [0], pops)
    return program.descriptor()


def _typecast(device: tt.Device, tiles: int) -> tt.ProgramDescriptor:
    dram, formats = tt.DRAM_MEMORY_CONFIG, (tt.DataType.BFLOAT16, tt.DataType.BFLOAT8_B)
    return Unary(tiles, formats, (dram, dram), *TYPECAST).program(device)


def _add(device: tt.Device, tiles: int) -> tt.ProgramDescriptor:
    """Two tensors of the same shape, a tile at a time; the SDK's kernels walk five axes, of which one is used."""
    builder = script("builder")
    dtype = tt.DataType.BFLOAT8_B
    program = builder.Program(device, wheel(), "add", builder.grid(*device.grid))
    a, b, out = (device.allocate_tensor((TILE, tiles * TILE), dtype, name=name) for name in ("a", "b", "out"))
    for number in range(3):
        program.buffer(number, 2, dtype)
    split = tt.split_work_to_cores(program.cores, tiles, row_wise=True)
    shares, first = {}, 0
    few = set(split.core_group_2)
    for core in split.all_cores:
        count = split.units_per_core_group_2 if core in few else split.units_per_core_group_1
        shares[core] = (first, count)
        first += count
    axes = [1, 1, 1, 1, tiles, 1]  # D, N, C, Ht, Wt, what is beyond five axes
    reads = {
        core: [a.buffer_address(), first, 0, count, 0, 0, 0, 0, 0, *axes, b.buffer_address(), 0, 0, 0, 0, 0]
        for core, (first, count) in shares.items()
    }
    writes = {core: [out.buffer_address(), first, count, 0, *axes] for core, (first, count) in shares.items()}
    flags = {"SRC_SHARDED": 0, "SRC_SHARDED_B": 0, "DST_SHARDED": 0}
    reader = [*builder.accessor(a), *builder.accessor(b), 0]
    moves = f"{BINARY}/kernels_ng/dataflow"
    program.kernel(
        f"{moves}/reader_interleaved_no_bcast.cpp", tt.ReaderConfigDescriptor(), reader, reads, defines=flags
    )
    writer = [*builder.accessor(out), 0]
    program.kernel(
        f"{moves}/writer_interleaved_no_bcast.cpp", tt.WriterConfigDescriptor(), writer, writes, defines=flags
    )
    nothing = {f"PROCESS_{side}_ACTIVATIONS(i)": "" for side in ("LHS", "RHS", "POST")}
    chosen = {"BINARY_OP": "add_tiles", "BINARY_OP_TYPE": "EltwiseBinaryType::ELWADD", **nothing}
    compute = {core: [count] for core, (_, count) in shares.items()}
    name = f"{BINARY}/kernels/compute/eltwise_binary_no_bcast.cpp"
    program.kernel(name, tt.ComputeConfigDescriptor(), [1], compute, defines=chosen)
    return program.descriptor()


def _rms_norm(device: tt.Device, sizes: list[int]) -> tt.ProgramDescriptor:
    norm = script("norm")
    case = norm.Norm(rows=sizes[0], columns=sizes[1], rms=True, beta=False, fp32_dest=False, cores=device.grid)
    x, out = (device.allocate_tensor(sizes, name=name) for name in ("x", "out"))
    gamma = device.allocate_tensor((1, sizes[1]), name="gamma")
    return norm.NormProgram(device, wheel(), case, norm.Tensors(x, out, None, gamma, None, None)).build()
