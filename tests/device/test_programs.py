"""Hand-written programs in the manner of the SDK's examples, through the public API."""

from __future__ import annotations

import math
import re
import runpy
from pathlib import Path

import pytest
import torch
from hand_written import (
    COMPUTE,
    COMPUTE_HEADERS,
    DATAFLOW,
    ONE_CORE,
    READER,
    STREAM_IN,
    STREAM_OUT,
    WRITER,
    cb,
    copy_program,
    kernel,
    random,
    relative_error,
    words,
)

from tilelang_tt.device import (
    L1_MEMORY_CONFIG,
    NOC,
    CBDescriptor,
    CBFormatDescriptor,
    ComputeConfigDescriptor,
    CoreCoord,
    CoreRange,
    CoreRangeSet,
    DataMovementConfigDescriptor,
    DataMovementProcessor,
    DataType,
    Device,
    ProgramDescriptor,
    SemaphoreDescriptor,
    Tensor,
    UnpackToDestMode,
    generic_op,
    open_device,
    split_work_to_cores,
)
from tilelang_tt.diagnostics import DeviceError

ARCHS = ("wormhole_b0", "blackhole")
KERNELS = Path(__file__).parent / "kernels"
EXAMPLES = Path(__file__).parents[2] / "examples"
DOCS = Path(__file__).parents[2] / "docs"


def test_vector_add_example(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "vector_add" / "vector_add.py"), run_name="__main__")
    assert capsys.readouterr().out == "vector_add of 409600 numbers on 64 cores: largest error 0.0156\n"


def run_tutorial() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "device.md").read_text(), re.DOTALL)
    exec("\n".join(blocks), {})


def test_the_tutorial_is_a_program_that_runs(capsys: pytest.CaptureFixture[str]) -> None:
    run_tutorial()
    shown = re.findall(r"```\n(error.*?)```", (DOCS / "device.md").read_text(), re.DOTALL)
    # All four cores break the rule; one is first.
    printed = re.sub(r"core \([0-3],0\)", "core (0,0)", capsys.readouterr().out)
    assert printed == f"32768 4\n{shown[0]}"


@pytest.mark.parametrize("arch", ARCHS)
def test_loopback_through_a_buffer_in_l1(arch: str) -> None:
    """DRAM -> L1 tensor -> DRAM by one data movement kernel, with addresses as arguments."""
    text = (
        DATAFLOW
        + """
void kernel_main() {
    const uint32_t l1 = get_arg_val<uint32_t>(0);
    constexpr auto in_args = TensorAccessorArgs<0>();
    constexpr auto out_args = TensorAccessorArgs<in_args.next_compile_time_args_offset()>();
    const auto in = TensorAccessor(in_args, get_arg_val<uint32_t>(1));
    const auto out = TensorAccessor(out_args, get_arg_val<uint32_t>(2));
    for (uint32_t page = 0; page < get_arg_val<uint32_t>(3); ++page) {
        noc_async_read_page(page, in, l1);
        noc_async_read_barrier();
        *reinterpret_cast<volatile tt_l1_ptr uint32_t*>(l1) += 1;  // the processor reaches the same bytes
        noc_async_write_page(page, out, l1);
        noc_async_write_barrier();
    }
}
"""
    )
    values = torch.arange(4 * 1024, dtype=torch.int32).reshape(128, 32)
    with open_device(arch) as device:
        source, out = device.from_torch(values), device.allocate_tensor((128, 32), DataType.INT32)
        room = device.allocate_tensor((32, 32), DataType.INT32, memory_config=L1_MEMORY_CONFIG)
        addresses = [room.buffer_address(), source.buffer_address(), out.buffer_address()]
        config = DataMovementConfigDescriptor(DataMovementProcessor.RISCV_0, NOC.NOC_0)
        program = ProgramDescriptor([kernel(text, config, args=[*addresses, 4], compile_args=words(source, out))])
        report = device.run(program)
        expected = values.clone()
        expected[::32, 0] += 1
        assert torch.equal(out.to_torch(), expected)
    assert report.statistics["noc_read_bytes"] == report.statistics["noc_write_bytes"] == 4 * 4096
    assert report.statistics["cores_used"] == 1


SOFTPLUS = (
    COMPUTE_HEADERS
    + """
#include "api/compute/compute_kernel_api.h"
#include "api/compute/eltwise_unary/binop_with_scalar.h"
#include "api/compute/eltwise_unary/eltwise_unary.h"
#include "api/compute/eltwise_unary/exp.h"

void kernel_main() {
    compute_kernel_hw_startup(0, 0, 16);
    copy_tile_to_dst_init_short(0);
    for (uint32_t tile = 0; tile < get_common_arg_val<uint32_t>(0); ++tile) {
        cb_wait_front(0, 1);
        cb_reserve_back(16, 1);
        tile_regs_acquire();
        copy_tile(0, 0, 0);
        exp_tile_init();
        exp_tile(0);
        binop_with_scalar_tile_init();
        add_unary_tile(0, ONE);
        log_tile_init();
        log_tile(0);
        tile_regs_commit();
        tile_regs_wait();
        pack_tile(0, 16);
        tile_regs_release();
        cb_pop_front(0, 1);
        cb_push_back(16, 1);
    }
}
"""
)


@pytest.mark.parametrize("numerics", ["fast", "exact"])
@pytest.mark.parametrize("arch", ARCHS)
def test_sfpu_chain(arch: str, numerics: str) -> None:
    """log(1 + exp(x)) without leaving DST; the tile count is a common argument, the constant a define."""
    values = random(64, 96).float()
    config = ComputeConfigDescriptor(fp32_dest_acc_en=True, unpack_to_dest_mode={0: UnpackToDestMode.UnpackToDestFp32})
    with open_device(arch, numerics=numerics) as device:
        source = device.from_torch(values)
        out = device.allocate_tensor(values.shape, DataType.FLOAT32)
        program = ProgramDescriptor(
            [
                kernel(STREAM_IN, READER, args=[source.buffer_address(), 0, 6], compile_args=words(source)),
                kernel(SOFTPLUS, config, common_runtime_args=[6], defines=[("ONE", "0x3f800000u")]),
                kernel(
                    STREAM_OUT,
                    WRITER,
                    args=[out.buffer_address(), 0, 6],
                    compile_args=words(out),
                    named_compile_time_args=[("cb", 16)],
                ),
            ],
            cbs=[cb(0, 2, DataType.FLOAT32), cb(16, 2, DataType.FLOAT32)],
        )
        assert generic_op([source, out], program) is out
        assert relative_error(out.to_torch(), torch.nn.functional.softplus(values)) < 1e-5


MATMUL_READER = (
    DATAFLOW
    + """
void kernel_main() {
    const uint32_t first = get_arg_val<uint32_t>(2), count = get_arg_val<uint32_t>(3);
    constexpr uint32_t Kt = get_compile_time_arg_val(0), Nt = get_compile_time_arg_val(1);
    constexpr auto a_args = TensorAccessorArgs<2>();
    constexpr auto b_args = TensorAccessorArgs<a_args.next_compile_time_args_offset()>();
    const auto a = TensorAccessor(a_args, get_arg_val<uint32_t>(0));
    const auto b = TensorAccessor(b_args, get_arg_val<uint32_t>(1));
    for (uint32_t tile = first; tile < first + count; ++tile) {
        for (uint32_t k = 0; k < Kt; ++k) {
            cb_reserve_back(0, 1);
            noc_async_read_page(tile / Nt * Kt + k, a, get_write_ptr(0));
            cb_reserve_back(1, 1);
            noc_async_read_page(k * Nt + tile % Nt, b, get_write_ptr(1));
            noc_async_read_barrier();
            cb_push_back(0, 1);
            cb_push_back(1, 1);
        }
    }
}
"""
)
MATMUL = (
    COMPUTE_HEADERS
    + """
#include "api/compute/matmul.h"

void kernel_main() {
    constexpr uint32_t Kt = get_compile_time_arg_val(0);
    compute_kernel_hw_startup<SrcOrder::Reverse>(0, 1, 16);
    matmul_init(0, 1);
    for (uint32_t tile = 0; tile < get_arg_val<uint32_t>(0); ++tile) {
        tile_regs_acquire();
        for (uint32_t k = 0; k < Kt; ++k) {
            cb_wait_front(0, 1);
            cb_wait_front(1, 1);
            matmul_tiles(0, 1, 0, 0, 0);
            cb_pop_front(0, 1);
            cb_pop_front(1, 1);
        }
        tile_regs_commit();
        tile_regs_wait();
        cb_reserve_back(16, 1);
        pack_tile(0, 16);
        cb_push_back(16, 1);
        tile_regs_release();
    }
}
"""
)


def matmul_program(a: Tensor, b: Tensor, out: Tensor, grid: CoreCoord) -> ProgramDescriptor:
    """Output tiles shared out over the cores, each summed over K in DST."""
    k_tiles, n_tiles = a.pages.cols, b.pages.cols
    split = split_work_to_cores(grid, out.num_pages)
    shares, first = {}, 0
    for core in split.all_cores:
        count = split.units_per_core_group_1 if core in set(split.core_group_1) else split.units_per_core_group_2
        shares[core] = [first, count]
        first += count
    cores = split.all_cores
    inputs = [a.buffer_address(), b.buffer_address()]
    return ProgramDescriptor(
        [
            kernel(
                MATMUL_READER,
                READER,
                cores,
                args={core: [*inputs, *share] for core, share in shares.items()},
                compile_args=[k_tiles, n_tiles, *words(a, b)],
            ),
            kernel(
                MATMUL,
                ComputeConfigDescriptor(fp32_dest_acc_en=True),
                cores,
                args={core: share[1:] for core, share in shares.items()},
                compile_args=[k_tiles],
            ),
            kernel(
                STREAM_OUT,
                WRITER,
                cores,
                args={core: [out.buffer_address(), *share] for core, share in shares.items()},
                compile_args=words(out),
                named_compile_time_args=[("cb", 16)],
            ),
        ],
        cbs=[cb(number, 2, cores=cores) for number in (0, 1, 16)],
    )


@pytest.mark.parametrize("numerics", ["fast", "exact", "chip"])
@pytest.mark.parametrize(("arch", "grid"), [("wormhole_b0", (1, 1)), ("wormhole_b0", (3, 2)), ("blackhole", (13, 10))])
def test_matmul_on_one_and_many_cores(arch: str, grid: tuple[int, int], numerics: str) -> None:
    left, right = random(160, 128), random(128, 224, seed=1)
    with open_device(arch, numerics=numerics) as device:
        a, b = device.from_torch(left), device.from_torch(right)
        out = device.allocate_tensor((160, 224))
        report = device.run(matmul_program(a, b, out, CoreCoord(*grid)))
        assert relative_error(out.to_torch(), left.double() @ right.double()) < 3e-3
    assert report.numerics == numerics
    assert report.statistics["cores_used"] == min(35, math.prod(grid))
    assert report.statistics["tile_products"] == 5 * 4 * 7


@pytest.mark.parametrize("arch", ARCHS)
def test_blocked_matmul_with_reuse(arch: str) -> None:
    """Blocks stay in L1 while they are used; partial sums live in a buffer of their own."""
    m, k, n = 8, 8, 8  # tiles
    left, right = random(32 * m, 32 * k), random(32 * k, 32 * n, seed=1)
    cores = CoreRangeSet([CoreRange((1, 1), (2, 2))])
    with open_device(arch) as device:
        a, b, out = device.from_torch(left), device.from_torch(right), device.allocate_tensor((32 * m, 32 * n))
        blocks = [2, 2, 2]
        shares = {core: [4 * number, 4] for number, core in enumerate(cores)}
        ins = [a.buffer_address(), b.buffer_address()]
        config = ComputeConfigDescriptor(
            fp32_dest_acc_en=True,
            unpack_to_dest_mode=[UnpackToDestMode.Default] * 24 + [UnpackToDestMode.UnpackToDestFp32],
        )
        program = ProgramDescriptor(
            [
                kernel(
                    (KERNELS / "gemm_reader.cpp").read_text(),
                    READER,
                    cores,
                    args={core: [*ins, *share, m, k, n] for core, share in shares.items()},
                    compile_args=[*blocks, 0, *words(a, b)],
                ),
                kernel(
                    (KERNELS / "gemm_compute.cpp").read_text(),
                    config,
                    cores,
                    args=[4, k // 2],
                    compile_args=[*blocks, 0, 2, 2],
                ),
                kernel(
                    (KERNELS / "gemm_writer.cpp").read_text(),
                    WRITER,
                    cores,
                    args={core: [out.buffer_address(), *share, m, n] for core, share in shares.items()},
                    compile_args=[2, 2, *words(out)],
                ),
            ],
            cbs=[
                cb(0, 8, cores=cores),
                cb(1, 8, cores=cores),
                cb(16, 8, cores=cores),
                cb(24, 4, DataType.FLOAT32, cores),
            ],
        )
        report = device.run(program)
        assert relative_error(out.to_torch(), left.double() @ right.double()) < 3e-3
        assert report.statistics["noc_read_bytes"] == 16 * 4 * (4 + 4) * 2048


def test_different_kernels_on_different_cores() -> None:
    """Core (0,0) doubles, core (3,1) squares, the others idle."""
    body = SOFTPLUS[: SOFTPLUS.index("exp_tile_init();")] + "OP" + SOFTPLUS[SOFTPLUS.index("tile_regs_commit();") :]
    double = body.replace("OP", "binop_with_scalar_tile_init(); mul_unary_tile(0, 0x40000000u);")
    square = body.replace("OP", "square_tile_init(); square_tile(0);")
    here, there = CoreCoord(0, 0), CoreCoord(3, 1)
    both = CoreRangeSet([CoreRange(here, here), CoreRange(there, there)])
    alone = {core: CoreRangeSet([CoreRange(core, core)]) for core in (here, there)}
    values = random(64, 32)
    with open_device() as device:
        source, out = device.from_torch(values), device.allocate_tensor((64, 32))
        shares = {here: [0, 1], there: [1, 1]}
        program = copy_program(source, out, both, shares)
        last = program.kernels[1]
        last.named_compile_time_args = [("cb", 16)]
        program.kernels = [
            *program.kernels,
            kernel(double, COMPUTE, alone[here], common_runtime_args=[1]),
            kernel(square, COMPUTE, alone[there], common_runtime_args=[1]),
        ]
        program.cbs = [*program.cbs, cb(16, 2, cores=both)]
        report = device.run(program)
        expected = torch.cat([2 * values[:32].float(), values[32:].float() ** 2])
        assert relative_error(out.to_torch(), expected) < 2**-8
        assert report.statistics["cores_used"] == 2


def test_what_nobody_wrote_is_named() -> None:
    values = random(64, 32)
    with open_device() as device:
        source, out = device.from_torch(values), device.allocate_tensor((64, 32))
        assert source.unwritten_pages() == []
        assert out.unwritten_pages() == [0, 1]
        device.run(copy_program(source, out, ONE_CORE, {CoreCoord(0, 0): [1, 1]}))
        assert out.unwritten_pages() == [0]


def test_two_buffers_over_the_same_bytes() -> None:
    """Compute fills CB 2 and hands the same tiles on as CB 3."""
    text = (
        COMPUTE_HEADERS
        + """
void kernel_main() {
    compute_kernel_hw_startup(0, 0, 2);
    copy_tile_to_dst_init_short(0);
    cb_wait_front(0, 1);
    cb_reserve_back(2, 1);
    tile_regs_acquire();
    copy_tile(0, 0, 0);
    tile_regs_commit();
    tile_regs_wait();
    pack_tile(0, 2);
    tile_regs_release();
    cb_push_back(2, 1);
    cb_wait_front(2, 1);
    cb_pop_front(2, 1);
    cb_reserve_back(3, 1);
    cb_push_back(3, 1);
    cb_pop_front(0, 1);
}
"""
    )
    values = random(32, 32)
    with open_device() as device:
        source, out = device.from_torch(values), device.allocate_tensor((32, 32))
        program = copy_program(source, out, ONE_CORE, {CoreCoord(0, 0): [0, 1]})
        program.kernels[1].named_compile_time_args = [("cb", 3)]
        program.kernels = [*program.kernels, kernel(text, COMPUTE)]
        alias = [CBFormatDescriptor(number, DataType.BFLOAT16, 2048) for number in (2, 3)]
        program.cbs = [*program.cbs, CBDescriptor(2048, ONE_CORE, alias)]
        device.run(program)
        assert torch.equal(out.to_torch(), values)


def run_pair(device: Device, reader: str, writer: str) -> None:
    semaphores = [SemaphoreDescriptor(0, ONE_CORE, 0)]
    device.run(ProgramDescriptor([kernel(reader, READER), kernel(writer, WRITER)], semaphores, [cb(0, 2)]))


EMPTY = DATAFLOW + "void kernel_main() {}"


@pytest.mark.parametrize(
    ("reader", "writer", "message"),
    [
        ("cb_reserve_back(0, 1);", "cb_reserve_back(0, 1);", "CB 0 'cb0' by the writer, but the reader is its"),
        ("cb_wait_front(0, 1);", "cb_wait_front(0, 1);", "CB 0 'cb0' by the writer, but the reader is its consumer"),
        ("cb_wait_front(0, 1);", "", "waits in cb_wait_front for 1 pages of CB 0 'cb0': 0 are there"),
        ("cb_reserve_back(5, 1);", "", "the program gives this core no CB 5"),
        ("get_arg_val<uint32_t>(0);", "", "runtime argument 0: this kernel has 0"),
        ("get_common_arg_val<uint32_t>(2);", "", "common runtime argument 2: this kernel has 0"),
        (
            "noc_async_read(get_noc_addr(get_semaphore(0)), get_write_ptr(0), 4);"
            " noc_async_read_barrier(); cb_reserve_back(0, 1);",
            "",
            "cb_reserve_back on CB 0 'cb0', which line 4 of a kernel used as plain memory",
        ),
    ],
)  # fmt: skip
def test_breaches_without_declared_roles(reader: str, writer: str, message: str) -> None:
    """Who produces and who consumes is learnt from what the kernels do."""
    texts = [DATAFLOW + f"void kernel_main() {{ {body} }}" for body in (reader, writer)]
    with open_device() as device, pytest.raises(DeviceError) as caught:
        run_pair(device, texts[0], texts[1])
    assert message in str(caught.value)
