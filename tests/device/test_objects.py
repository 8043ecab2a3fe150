"""The object style of the SDK: Noc, CircularBuffer, DataflowBuffer, Semaphore, endpoints, CoreLocalMem."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from core_programs import DRAM, TILE_BYTES, Cores, Kernel, address, random_pages
from reports import category_of, code_line

from tilelang_tt.arch import ARCHS
from tilelang_tt.diagnostics import DeviceError
from tilelang_tt.runtime.formats import decode, encode
from tilelang_tt.runtime.plan import TensorPlan

KERNELS = Path(__file__).parent / "kernels"
ACCESSOR = (DRAM, TILE_BYTES)
BF16_ROUNDING = 0.0018  # relative error of rounding a result once to bf16


def tile_plan(rows: int, cols: int) -> TensorPlan:
    return TensorPlan("t", 0, "Float16_b", TILE_BYTES, 0, 1, rows, cols, 1)


def grid_gemm(grid: tuple[int, int], inner: int, arch: str, seed: int = 0) -> float:
    """Relative error of a matmul with one output tile per core, operands multicast along rows and columns."""
    cols, rows = grid
    tensors = {"a": rows * inner, "b": inner * cols, "c": rows * cols}
    base = {name: address(tensors, name, arch) for name in tensors}
    noc = ARCHS[arch].noc_coordinates

    def reader(x: int, y: int) -> tuple[int, ...]:
        row = (*noc(0, y), *noc(min(1, cols - 1), y), *noc(cols - 1, y))
        col = (*noc(x, 0), *noc(x, min(1, rows - 1)), *noc(x, rows - 1))
        return base["a"], base["b"], *row, *col

    texts = {role: (KERNELS / f"grid_gemm_{role}.cpp").read_text() for role in ("reader", "compute", "writer")}
    kernels = {
        "reader": Kernel(texts["reader"], reader, (cols, rows, inner, *ACCESSOR, *ACCESSOR)),
        "compute": Kernel(texts["compute"], compile_args=(inner,)),
        "writer": Kernel(texts["writer"], lambda x, y: (base["c"], y * cols + x), ACCESSOR, 1),
    }
    generator = torch.Generator().manual_seed(3)
    a = torch.randn(rows * 32, inner * 32, generator=generator).bfloat16()
    b = torch.randn(inner * 32, cols * 32, generator=generator).bfloat16()
    pages = {"a": torch.zeros(rows * inner, TILE_BYTES, dtype=torch.uint8)}
    pages["b"] = torch.zeros(inner * cols, TILE_BYTES, dtype=torch.uint8)
    encode(a, tile_plan(rows, inner), pages["a"])
    encode(b, tile_plan(inner, cols), pages["b"])
    program = Cores(
        kernels,  # type: ignore[arg-type]
        tensors,
        grid,
        buffers=((0, 2), (1, 2), (16, 1)),
        semaphores=dict.fromkeys(range(4), 0),
        arch=arch,
        seed=seed,
    )
    c = torch.zeros(rows * 32, cols * 32, dtype=torch.bfloat16)
    decode(program.run(**pages)["c"], tile_plan(rows, cols), c, None)
    reference = a.double() @ b.double()
    return float((c.double() - reference).norm() / reference.norm())


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
@pytest.mark.parametrize("grid", [(1, 1), (4, 1), (1, 3), (3, 4)])
def test_matmul_with_multicast_in_two_directions(grid: tuple[int, int], arch: str) -> None:
    assert grid_gemm(grid, 3, arch) < BF16_ROUNDING


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
def test_matmul_is_the_same_under_every_schedule(arch: str) -> None:
    assert len({grid_gemm((3, 2), 4, arch, seed) for seed in range(20)}) == 1


PIPE = """
#include <cstdint>
#include "api/core_local_mem.h"
#include "api/dataflow/circular_buffer.h"
#include "api/dataflow/dataflow_buffer.h"
#include "api/dataflow/endpoints.h"
#include "api/dataflow/noc_semaphore.h"
#include "api/tensor/noc_traits.h"
#include "api/debug/dprint.h"

// Core (0,0) reads pages and writes them into CB 0 of core (1,0), which sends them to the target tensor.
void kernel_main() {
    constexpr auto layout = TensorAccessorArgs<0>();
    const TensorAccessor source(layout, get_arg_val<uint32_t>(0)), target(layout, get_arg_val<uint32_t>(1));
    const uint32_t pages = get_arg_val<uint32_t>(2);
    const uint32_t other_x = get_arg_val<uint32_t>(3), other_y = get_arg_val<uint32_t>(4);
    const bool sends = get_relative_logical_x() == 0;
    const Noc noc;
    Semaphore<> ready(0), arrived(1);
    CircularBuffer buffer(0);
    const uint32_t bytes = buffer.get_tile_size();
    for (uint32_t page = 0; page < pages; ++page) {
        buffer.reserve_back(1);
        if (sends) {
            READ
            ready.down(1);
            const CoreLocalMem<uint32_t> words(buffer.get_write_ptr());
            words[0] = words[0] + page;
            SEND
            noc.async_write_barrier();
            arrived.up(noc, other_x, other_y, 1);
            noc.async_atomic_barrier();
            DPRINT("sent page {} to ({}, {}) at {:#x}\\n", page, other_x, other_y, buffer.get_write_ptr());
        } else {
            ready.up(noc, other_x, other_y, 1);
            arrived.wait_min(page + 1);
            noc.async_write(CoreLocalMem<uint32_t>(buffer.get_write_ptr()), target, bytes, {}, {.page_id = page});
            noc.async_write_barrier();
        }
        buffer.push_back(1);
        buffer.wait_front(1);
        buffer.pop_front(1);
    }
    noc.async_full_barrier();
}
"""
READ = "noc.async_read(source, buffer, bytes, {.page_id = page}, {}); noc.async_read_barrier();"
SEND = (
    "noc.async_write(CoreLocalMem<uint32_t>(buffer.get_write_ptr()), UnicastEndpoint{}, bytes, {},"
    " {.noc_x = other_x, .noc_y = other_y, .addr = buffer.get_write_ptr()});"
)
READS = {
    "plain": READ,
    "transaction id": (
        "noc.async_read<NocOptions::TXN_ID>(source, buffer, bytes, {.page_id = page}, {}, NocOptVals{.trid = 3});"
        " noc.async_read_barrier<NocOptions::TXN_ID>(NocOptVals{.trid = 3});"
    ),
    "state": (
        "noc.set_async_read_state(source, bytes, {.page_id = page});"
        " noc.async_read_with_state(source, buffer, bytes, {.page_id = page}, {}); noc.async_read_barrier();"
    ),
    "one packet with state": (
        "noc.set_async_read_state<NocOptions::DEFAULT, 2048>(source, bytes, {.page_id = page});"
        " noc.async_read_with_state<NocOptions::DEFAULT, 2048>(source, buffer, bytes, {.page_id = page}, {});"
        " noc.async_read_barrier();"
    ),
    "page view": ("noc.async_read(PageView(source), buffer, bytes, {.page_id = page}, {}); noc.async_read_barrier();"),
    "halves": (
        "noc.async_read(source, buffer, bytes / 2, {.page_id = page}, {});"
        " noc.async_read(source, buffer, bytes / 2, {.page_id = page, .offset_bytes = bytes / 2},"
        " {.offset_bytes = bytes / 2}); noc.async_read_barrier();"
    ),
}
SENDS = {
    "plain": SEND,
    "precomposed": (
        "noc.async_write(use<CircularBuffer::AddrSelector::WRITE_PTR>(buffer), PrecomposedUnicastEndpoint{}, bytes, {},"
        " {.noc_addr = get_noc_addr(other_x, other_y, buffer.get_write_ptr())});"
    ),
    "transaction id": SEND.replace("async_write(", "async_write<NocOptions::TXN_ID>(").replace(
        "get_write_ptr()});", "get_write_ptr()}, NocOptVals{.trid = 5});"
    )
    + " noc.async_write_barrier<NocOptions::TXN_ID>(NocOptVals{.trid = 5});",
    "posted": SEND.replace("async_write(", "async_write<NocOptions::POSTED>(")
    + " noc.async_writes_flushed<NocOptions::POSTED>();",
    "word by word": (
        "for (uint32_t i = 0; i < bytes / 4; ++i) noc.inline_dw_write(UnicastEndpoint{}, words[i],"
        " {.noc_x = other_x, .noc_y = other_y, .addr = buffer.get_write_ptr() + 4 * i});"
    ),
}


def pipe(read: str = READ, send: str = SEND, *, arch: str = "wormhole_b0", seed: int = 0) -> torch.Tensor:
    tensors = {"source": 4, "target": 4}
    noc = ARCHS[arch].noc_coordinates

    def args(x: int, y: int) -> tuple[int, ...]:
        return address(tensors, "source", arch), address(tensors, "target", arch), 4, *noc(1 - x, y)

    text = PIPE.replace("READ", read).replace("SEND", send)
    program = Cores({"reader": Kernel(text, args, ACCESSOR)}, tensors, semaphores={0: 0, 1: 0}, arch=arch, seed=seed)
    return program.run(source=random_pages(4))["target"]


def expected() -> torch.Tensor:
    words = random_pages(4).view(torch.int32).clone()
    words[:, 0] += torch.arange(4, dtype=torch.int32)
    return words.view(torch.uint8)


@pytest.mark.parametrize("how", READS)
def test_reads(how: str) -> None:
    assert torch.equal(pipe(read=READS[how]), expected())


@pytest.mark.parametrize("how", SENDS)
@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
def test_writes_to_another_core(how: str, arch: str) -> None:
    for seed in (0, 1, 2):
        assert torch.equal(pipe(send=SENDS[how], arch=arch, seed=seed), expected())


BROKEN = {
    "transaction id": (
        READS["transaction id"].replace(".trid = 3}, {}", "").replace("= 3", "= 16"),
        SEND,
        "noc-trid",
        "async_read<NocOptions::TXN_ID>",
    ),
    "barrier of another id": (
        READS["transaction id"].replace(
            "NocOptVals{.trid = 3}); noc.async_read_b", "NocOptVals{.trid = 4}); noc.async_read_b"
        ),
        SEND,
        "noc-read-barrier",
        "CoreLocalMem<uint32_t> words",
    ),
    "no such core": (READ, SEND.replace("= other_x", "= other_x + 9"), "noc-bounds", "async_write("),
    "past the L1 buffer": (
        READ,
        SEND.replace("get_write_ptr()});", "get_write_ptr() + 4096});"),
        "noc-bounds",
        "async_write(",
    ),
    "a word to DRAM": (
        READ,
        "noc.inline_dw_write(source, 1, {.page_id = 0});",
        "noc-bounds",
        "inline_dw_write",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_breaches(name: str) -> None:
    read, send, category, at = BROKEN[name]
    with pytest.raises(DeviceError) as caught:
        pipe(read, send)
    assert category_of(caught.value) == category, str(caught.value)
    assert at in code_line(caught.value)


def test_a_page_that_is_sent_before_its_barrier_is_caught() -> None:
    with pytest.raises(DeviceError) as caught:
        pipe(read=READ.replace("noc.async_read_barrier();", ""))
    assert category_of(caught.value) == "noc-read-barrier"


def test_multicast_refuses_options_the_sdk_refuses() -> None:
    send = (
        "noc.async_write_multicast<NocOptions::POSTED>(buffer, MulticastEndpoint{}, bytes, 1, {},"
        " {.noc_x_start = 1, .noc_y_start = 1, .noc_x_end = 1, .noc_y_end = 1, .addr = 0});"
    )
    with pytest.raises(DeviceError, match="not supported"):
        pipe(send=send)
