"""Kernels on ttnn tensors: used where they lie, converted on the device otherwise, never through the host.

Against the stand-in for ttnn: right calls in the right order with right numbers, NOT proof that a device runs them.
"""

from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from fake_ttnn import FakeTtnn

from tilelang_tt.diagnostics import ArgumentError, DeviceError
from tilelang_tt.runtime.formats import decode, encode
from tilelang_tt.runtime.plan import TensorPlan
from tilelang_tt.runtime.ttnn_tensors import Conversion, as_declared


def gemm(M: int, N: int, K: int, dtype: str = "bfloat16") -> Any:
    @T.prim_func
    def matmul(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 64)) as (bx, by):
            a = T.alloc_shared((64, 64), dtype)
            b = T.alloc_shared((64, 64), dtype)
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, 64), num_stages=2):
                T.copy(A[by * 64, k * 64], a)
                T.copy(B[k * 64, bx * 64], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 64, bx * 64])

    return matmul


def compiled(func: Any, out_idx: Any = (-1,), **options: Any) -> Any:
    return tilelang.compile(func, out_idx=list(out_idx), target={"kind": "tenstorrent", "grid": (2, 1), **options})


def place(
    ttnn: Any,
    device: Any,
    values: torch.Tensor,
    layout: str = "TILE",
    memory: str = "dram interleaved",
    dtype: str = "",
) -> Any:
    name = dtype or {torch.bfloat16: "BFLOAT16", torch.float32: "FLOAT32"}[values.dtype]
    return ttnn.from_torch(values, dtype=name, layout=layout, device=device, memory_config=memory)


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).bfloat16()


def assert_near(got: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> None:
    expected = a.double() @ b.double()
    assert float((got.double() - expected).norm() / expected.norm()) < 2**-8


@pytest.mark.parametrize("memory", ["dram interleaved", "l1"])
def test_used_where_they_lie(ttnn: Any, device: Any, fake: FakeTtnn, memory: str) -> None:
    kernel = compiled(gemm(128, 64, 64))
    a, b = random(128, 64), random(64, 64, seed=1)
    left, right = place(ttnn, device, a, memory=memory), place(ttnn, device, b, memory=memory)
    got = kernel(left, right)
    assert isinstance(got, ttnn.Tensor)
    assert (got.shape, got.dtype, got.layout) == ((128, 64), ttnn.bfloat16, ttnn.TILE_LAYOUT)
    assert_near(got.to_torch(), a, b)
    assert ttnn.calls == []
    (program,) = fake.programs()
    assert program["tensors"] == [left.buffer_address(), right.buffer_address(), got.buffer_address()]
    assert kernel.last_report.notes == ()
    assert kernel.last_report.statistics["tensors_converted"] == 0


def test_a_call_brings_the_room_for_parts_of_a_sum(ttnn: Any, device: Any) -> None:
    kernel = compiled(gemm(64, 64, 512), split_k=True)
    a, b = random(64, 512), random(512, 64, seed=1)
    got = kernel(place(ttnn, device, a), place(ttnn, device, b))
    assert len(kernel.estimate().launches) == 2
    assert_near(got.to_torch(), a, b)


def test_the_same_bits_as_with_torch_tensors(ttnn: Any, device: Any) -> None:
    kernel = compiled(gemm(128, 64, 64))
    a, b = random(128, 64), random(64, 64, seed=1)
    assert torch.equal(kernel(place(ttnn, device, a), place(ttnn, device, b)).to_torch(), kernel(a, b))


@pytest.mark.parametrize(
    ("how", "calls", "note"),
    [
        ({"layout": "ROW_MAJOR"}, ["to_layout"], "'A' was tilized on the device: 16,384 B"),
        (
            {"layout": "ROW_MAJOR", "memory": "sharded"},
            ["to_memory_config", "to_layout"],
            "'A' was unsharded, tilized on the device: 16,384 B",
        ),
    ],
)
def test_converted_on_the_device(ttnn: Any, device: Any, how: dict[str, str], calls: list[str], note: str) -> None:
    kernel = compiled(gemm(128, 64, 64))
    a, b = random(128, 64), random(64, 64, seed=1)
    got = kernel(place(ttnn, device, a, **how), place(ttnn, device, b))
    assert_near(got.to_torch(), a, b)
    assert ttnn.calls == calls
    assert kernel.last_report.notes[0] == note
    said = kernel.explain(whole=True)
    assert "ttnn tensors are used where they lie if they are as follows, and converted there if not\n" in said
    assert "  A: bfloat16, TILE_LAYOUT, any memory\n" in said
    assert f"latest call\n  {note}\n" in said


@pytest.mark.parametrize("storage", ["bfloat8_b", "bfloat4_b"])
def test_storage_of_another_dtype(ttnn: Any, device: Any, storage: str) -> None:
    kernel = compiled(gemm(64, 64, 64), storage={"B": storage})
    a, b = random(64, 64), random(64, 64, seed=1)
    stored = kernel(place(ttnn, device, a), place(ttnn, device, b, dtype=storage.upper()))
    assert ttnn.calls == []
    cast = kernel(place(ttnn, device, a), place(ttnn, device, b))
    assert ttnn.calls == ["typecast"]
    assert kernel.last_report.notes[0].startswith("'B' was cast on the device: ")
    assert torch.equal(stored.to_torch(), cast.to_torch())


def test_results_in_block_floats(ttnn: Any, device: Any) -> None:
    """A result is made on the device in the format that the kernel stores."""
    a, b = random(64, 64), random(64, 64, seed=1)
    got = compiled(gemm(64, 64, 64), storage={"C": "bfloat8_b"})(place(ttnn, device, a), place(ttnn, device, b))
    assert str(got.dtype).upper().endswith("BFLOAT8_B")
    wanted = compiled(gemm(64, 64, 64), storage={"C": "bfloat8_b"})(a, b)
    assert torch.equal(got.to_torch().float(), wanted.float())


def test_tails_are_zeroed_before_they_are_read(ttnn: Any, device: Any) -> None:
    kernel = compiled(gemm(100, 70, 40))
    a, b = random(100, 40), random(40, 70, seed=1)
    got = kernel(place(ttnn, device, a), place(ttnn, device, b))
    assert got.shape == (100, 70)
    assert_near(got.to_torch(), a, b)
    assert ttnn.calls == ["fill_implicit_tile_padding"] * 2


def test_a_result_with_a_tail_is_summed_by_the_next_kernel(ttnn: Any, device: Any) -> None:
    """What the first leaves behind the end of a row is one, and the second takes it for zero."""
    M, N = 64, 40

    @T.prim_func
    def add_one(A: T.Tensor((M, N), "bfloat16"), B: T.Tensor((M, N), "bfloat16")):
        with T.Kernel(1):
            block = T.alloc_fragment((M, N), "float32")
            T.copy(A, block)
            for i, j in T.Parallel(M, N):
                block[i, j] += 1
            T.copy(block, B)

    @T.prim_func
    def row_sums(B: T.Tensor((M, N), "bfloat16"), S: T.Tensor((M,), "float32")):
        with T.Kernel(1):
            block = T.alloc_fragment((M, N), "float32")
            total = T.alloc_fragment((M,), "float32")
            T.copy(B, block)
            T.reduce_sum(block, total, dim=1)
            T.copy(total, S)

    between = compiled(add_one)(place(ttnn, device, torch.zeros(M, N).bfloat16()))
    sums = compiled(row_sums)(between)
    assert torch.equal(sums.to_torch(), torch.full((M,), float(N)))
    assert ttnn.calls.count("fill_implicit_tile_padding") == 2


def test_axes_in_another_order(ttnn: Any, device: Any) -> None:
    """Heads between sequence and features: tiles lie over the first and last axis."""
    S, H, D = 64, 3, 64

    @T.prim_func
    def copy(A: T.Tensor((S, H, D), "bfloat16"), B: T.Tensor((S, H, D), "bfloat16")):
        with T.Kernel(H) as h:
            block = T.alloc_shared((S, D), "bfloat16")
            T.copy(A[0:S, h, 0:D], block)
            T.copy(block, B[0:S, h, 0:D])

    kernel = compiled(copy)
    a = random(S, H, D)
    assert torch.equal(kernel(a), a)
    got = kernel(place(ttnn, device, a))
    assert torch.equal(got.to_torch(), a)
    assert ttnn.calls == ["permute", "permute"]
    assert "  A: bfloat16, TILE_LAYOUT, any memory, axes in the order (1, 0, 2)\n" in kernel.explain(whole=True)


@pytest.mark.parametrize(
    ("shape", "rows", "columns", "lying", "calls"),
    [
        ((64,), None, 0, (32, 64), ["reshape", "repeat"]),
        ((3, 40), None, 1, (3, 32, 40), ["reshape", "repeat", "fill_implicit_tile_padding"]),
        ((2, 64), 1, None, (2, 64, 32), ["reshape", "repeat"]),
        ((64, 2), 0, None, (2, 64, 32), ["permute", "reshape", "repeat"]),
        ((5,), None, None, (5, 32, 32), ["reshape", "repeat"]),
    ],
)
def test_tiles_of_equal_rows_or_columns(
    ttnn: Any, device: Any, shape: tuple[int, ...], rows: Any, columns: Any, lying: tuple[int, ...], calls: list[str]
) -> None:
    """The pages are those the host would have sent, and a result of that layout comes back in its own shape."""
    plan = TensorPlan("v", 0, "Float16_b", 2048, rows, columns, 1, 1, 1)
    values = random(*shape)
    tensor = place(ttnn, device, values)
    converted = Conversion.of(ttnn, plan, tensor).run(ttnn, plan, tensor)
    assert (converted.shape, ttnn.calls) == (lying, calls)
    pages = torch.zeros(converted.buffer_num_pages(), 2048, dtype=torch.uint8)
    encode(values, plan, pages)
    on_device = torch.from_numpy(converted.placed.to_torch().float().numpy()).bfloat16()
    sent = torch.zeros(on_device.shape, dtype=torch.bfloat16)
    whole = TensorPlan("w", 0, "Float16_b", 2048, sent.dim() - 2, sent.dim() - 1, 1, 1, 1)
    decode(pages, whole, sent)
    assert torch.equal(on_device, sent)
    assert torch.equal(as_declared(ttnn, plan, converted, shape).to_torch(), values)


def test_written_in_place(ttnn: Any, device: Any) -> None:
    kernel = compiled(gemm(128, 64, 64), out_idx=())
    a, b = random(128, 64), random(64, 64, seed=1)
    c = place(ttnn, device, torch.zeros(128, 64).bfloat16())
    address = c.buffer_address()
    assert kernel(place(ttnn, device, a), place(ttnn, device, b), c) is None
    assert_near(c.to_torch(), a, b)
    assert c.buffer_address() == address


def refused(kernel: Any, *args: Any, error: type[Exception] = ArgumentError) -> str:
    with pytest.raises(error) as caught:
        kernel(*args)
    return str(caught.value)


def test_a_written_tensor_is_not_converted(ttnn: Any, device: Any) -> None:
    kernel = compiled(gemm(128, 64, 64), out_idx=())
    a, b = place(ttnn, device, random(128, 64)), place(ttnn, device, random(64, 64))
    c = place(ttnn, device, torch.zeros(128, 64).bfloat16(), layout="ROW_MAJOR")
    assert refused(kernel, a, b, c) == (
        "error[TT313]: argument 3 ('C') of kernel 'matmul' is written where it lies, but would have to be tilized\n"
        "  help: pass a tensor that is bfloat16, TILE_LAYOUT, any memory, with sizes that are multiples of 32 if the "
        "kernel reads it too; or let the call return it (out_idx)"
    )


def test_a_written_tensor_is_nothing_else(ttnn: Any, device: Any) -> None:
    kernel = compiled(gemm(64, 64, 64), out_idx=())
    a, b = place(ttnn, device, random(64, 64)), place(ttnn, device, random(64, 64))
    assert refused(kernel, a, b, b) == (
        "error[TT308]: argument 3 ('C') of kernel 'matmul' is written, but shares memory with 'B'\n"
        "  help: pass ttnn.clone(B)"
    )


def test_mixed_with_torch_tensors(ttnn: Any, device: Any) -> None:
    a = place(ttnn, device, random(64, 64))
    assert refused(compiled(gemm(64, 64, 64)), a, random(64, 64)) == (
        "error[TT302]: argument 2 ('B') of kernel 'matmul' is a Tensor; other arguments of this call are ttnn tensors\n"
        "  help: pass all tensors as ttnn tensors, or all as torch tensors"
    )


def test_wrong_dtype_shape_and_rank(ttnn: Any, device: Any) -> None:
    kernel = compiled(gemm(64, 64, 64))
    b = place(ttnn, device, random(64, 64))
    assert refused(kernel, place(ttnn, device, random(64, 64).float()), b) == (
        "error[TT303]: argument 1 ('A') of kernel 'matmul' has dtype float32; the kernel takes bfloat16\n"
        "  help: pass ttnn.typecast(A, ttnn.bfloat16)"
    )
    assert refused(kernel, place(ttnn, device, random(64, 96)), b) == (
        "error[TT305]: argument 1 ('A') of kernel 'matmul' has shape (64, 96); the kernel takes (64, 64)\n"
        "  help: compile the kernel for this shape; a size of T.dynamic is one that calls decide"
    )
    assert refused(kernel, place(ttnn, device, random(1, 64, 64)), b) == (
        "error[TT304]: argument 1 ('A') of kernel 'matmul' has 3 dimensions; the kernel takes (64, 64)"
    )


def test_another_device(ttnn: Any, device: Any) -> None:
    other = ttnn.open_device(device_id=0)
    a, b = place(ttnn, device, random(64, 64)), place(ttnn, other, random(64, 64))
    assert refused(compiled(gemm(64, 64, 64)), a, b) == (
        "error[TT307]: argument 2 ('B') of kernel 'matmul' is on another device than the arguments before it"
    )
    ttnn.close_device(other)


def test_another_chip(ttnn: Any, device: Any) -> None:
    kernel = compiled(gemm(64, 64, 64), arch="blackhole")
    a = place(ttnn, device, random(64, 64))
    b = place(ttnn, device, random(64, 64))
    assert "error[TT413]: kernel 'matmul' is compiled for blackhole; the device is wormhole_b0" in refused(
        kernel, a, b, error=DeviceError
    )
