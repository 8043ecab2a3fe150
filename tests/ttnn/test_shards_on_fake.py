"""Sharded tensors through the ttnn launcher and the stand-in: placed as the plan says, and taken as they lie."""

from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from fake_ttnn import FakeTtnn

from tilelang_tt.compiled import PLAN_FILE
from tilelang_tt.execution.kernel import TenstorrentKernel
from tilelang_tt.runtime.plan import Plan

M, N, BLOCK = 128, 256, 64
CUBE = (3, 64, 96)


@T.prim_func
def double(A: T.Tensor((M, N), "bfloat16"), C: T.Tensor((M, N), "bfloat16")):
    with T.Kernel(N // BLOCK, M // BLOCK) as (bx, by):
        block = T.alloc_shared((BLOCK, BLOCK), "bfloat16")
        T.copy(A[by * BLOCK, bx * BLOCK], block)
        for i, j in T.Parallel(BLOCK, BLOCK):
            block[i, j] = block[i, j] * 2
        T.copy(block, C[by * BLOCK, bx * BLOCK])


LAYOUTS: dict[str, dict[str, Any]] = {
    "l1": {"memory": "L1"},
    "height": {"memory": "L1", "shard": "height", "grid": "2x1"},
    "width": {"memory": "L1", "shard": "width", "cores": "1x4+3+1"},
    "block": {"memory": "L1", "shard": "block", "grid": "4x2+1+1"},
    "columns": {"memory": "L1", "shard": "block", "grid": "2x4", "order": "column"},
    "boxes": {"memory": "L1", "shard": (32, 64), "grid": "3x1"},
    "banks": {"shard": "height", "cores": "4x1"},
}


def compiled(a: str, c: str) -> TenstorrentKernel:
    layout = {"A": LAYOUTS[a], "C": LAYOUTS[c]}
    return tilelang.compile(double, out_idx=[-1], target={"kind": "tenstorrent", "device": "ttnn", "layout": layout})


@pytest.mark.parametrize(("a", "c"), [(name, name) for name in LAYOUTS] + [("height", "block"), ("l1", "columns")])
def test_torch_tensors(fake: FakeTtnn, a: str, c: str) -> None:
    values = torch.randn(M, N).bfloat16()
    assert torch.equal(compiled(a, c)(values), values * 2)


def test_shards_in_place_have_no_buffers_of_their_own(fake: FakeTtnn) -> None:
    kernel = compiled("block", "block")
    plan = Plan.from_json(kernel.files[PLAN_FILE])
    assert [cb.tensor for cb in plan.launches[0].cbs] == ["A", "C"]
    values = torch.randn(M, N).bfloat16()
    assert torch.equal(kernel(values), values * 2)


def test_a_sharded_tensor_is_taken_as_it_lies(ttnn: Any, device: Any) -> None:
    plain = tilelang.compile(double, out_idx=[-1], target={"kind": "tenstorrent", "device": "ttnn"})
    values = torch.randn(M, N).bfloat16()
    given = ttnn.from_torch(
        values, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device, memory_config="sharded"
    )
    assert torch.equal(plain(given).to_torch(), values * 2)
    assert ttnn.calls == []
    assert plain.last_report.notes == ()


def placed(ttnn: Any, device: Any, values: torch.Tensor) -> Any:
    """In tiles, interleaved in DRAM."""
    memory = ttnn.DRAM_MEMORY_CONFIG
    return ttnn.from_torch(values, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device, memory_config=memory)


def test_a_tensor_is_sharded_for_a_kernel_that_uses_shards_in_place(ttnn: Any, device: Any) -> None:
    kernel = compiled("block", "block")
    values = torch.randn(M, N).bfloat16()
    result = kernel(placed(ttnn, device, values))
    assert torch.equal(result.to_torch(), values * 2)
    assert ttnn.calls == ["to_memory_config"]
    assert kernel.last_report.notes[0] == f"'A' was sharded on the device: {M * N * 2:,} B"
    again = kernel(result)  # it lies as the kernel wants its input
    assert torch.equal(again.to_torch(), values * 4)
    assert ttnn.calls == ["to_memory_config"]


@pytest.mark.parametrize("shard", ["height", (64, 32)])
def test_results_whose_rows_are_known_at_the_call(ttnn: Any, device: Any, shard: Any) -> None:
    m = T.dynamic("m")

    @T.prim_func
    def triple(A: T.Tensor((m, 64), "bfloat16"), C: T.Tensor((m, 64), "bfloat16")):
        with T.Kernel(2, T.ceildiv(m, 32)) as (bx, by):
            block = T.alloc_shared((32, 32), "bfloat16")
            T.copy(A[by * 32, bx * 32], block)
            for i, j in T.Parallel(32, 32):
                block[i, j] = block[i, j] * 3
            T.copy(block, C[by * 32, bx * 32])

    layout = {"C": {"memory": "L1", "shard": shard, "grid": (3, 1)}}
    kernel = tilelang.compile(triple, out_idx=[-1], target={"kind": "tenstorrent", "device": "ttnn", "layout": layout})
    for rows in (64, 192):
        values = torch.randint(-5, 6, (rows, 64)).bfloat16()
        assert torch.equal(kernel(placed(ttnn, device, values)).to_torch(), values * 3)


@pytest.mark.parametrize(
    ("shard", "cores"),
    [("height", "6x1"), ("width", "3x1+1+1"), ("block", "3x2"), ((1, 64, 96), "3x1"), ((2, 32, 64), "2x2")],
)
def test_results_of_three_axes(ttnn: Any, device: Any, shard: Any, cores: str) -> None:
    @T.prim_func
    def negative(A: T.Tensor(CUBE, "bfloat16"), C: T.Tensor(CUBE, "bfloat16")):
        with T.Kernel(3, 2, 3) as (bx, by, bz):
            block = T.alloc_shared((32, 32), "bfloat16")
            T.copy(A[bz, by * 32, bx * 32], block)
            for i, j in T.Parallel(32, 32):
                block[i, j] = -block[i, j]
            T.copy(block, C[bz, by * 32, bx * 32])

    layout = {"C": {"memory": "L1", "shard": shard, "grid": cores}}
    kernel = tilelang.compile(
        negative, out_idx=[-1], target={"kind": "tenstorrent", "device": "ttnn", "layout": layout}
    )
    values = torch.randn(*CUBE).bfloat16()
    assert torch.equal(kernel(placed(ttnn, device, values)).to_torch(), -values)


@pytest.mark.parametrize(("rows", "stays"), [(256, True), (512, True), (96, False), (320, False)])
def test_sizes_at_the_call(fake: FakeTtnn, rows: int, stays: bool) -> None:
    """The circular buffers are the shards in one call, and have pages of their own in the next."""
    kernel = tilelang.compile(_by_rows(), out_idx=[-1], target=_target("4x1"))
    values = torch.randn(rows, N).bfloat16()
    assert torch.equal(kernel(values), values * 2)
    assert (kernel.last_report.notes == ()) == stays


def test_a_tensor_is_sharded_where_the_sizes_of_the_call_let_it(ttnn: Any, device: Any) -> None:
    kernel = tilelang.compile(_by_rows(), out_idx=[-1], target=_target("4x1"))
    for rows, stays in ((256, True), (96, False), (512, True)):
        ttnn.calls.clear()
        values = torch.randn(rows, N).bfloat16()
        result = kernel(placed(ttnn, device, values))
        assert torch.equal(result.to_torch(), values * 2)
        assert ttnn.calls == (["to_memory_config"] if stays else [])
        again = kernel(result)
        assert torch.equal(again.to_torch(), values * 4)
        assert ttnn.calls == (["to_memory_config"] if stays else [])


def _by_rows() -> Any:
    m = T.dynamic("m")

    @T.prim_func
    def rows_doubled(A: T.Tensor((m, N), "bfloat16"), C: T.Tensor((m, N), "bfloat16")):
        with T.Kernel(T.ceildiv(m, 64)) as by:
            block = T.alloc_shared((64, N), "bfloat16")
            T.copy(A[by * 64, 0], block)
            for i, j in T.Parallel(64, N):
                block[i, j] = block[i, j] * 2
            T.copy(block, C[by * 64, 0])

    return rows_doubled


def _target(grid: str) -> dict[str, Any]:
    layout = {name: {"memory": "L1", "shard": "height", "grid": grid} for name in ("A", "C")}
    return {"kind": "tenstorrent", "device": "ttnn", "layout": layout}


@T.prim_func
def product(A: T.Tensor((M, M), "bfloat16"), B: T.Tensor((M, N), "bfloat16"), C: T.Tensor((M, N), "bfloat16")):
    with T.Kernel(N // BLOCK, M // BLOCK) as (bx, by):
        a = T.alloc_shared((BLOCK, 32), "bfloat16")
        b = T.alloc_shared((32, BLOCK), "bfloat16")
        c = T.alloc_fragment((BLOCK, BLOCK), "float32")
        T.clear(c)
        for k in T.Pipelined(M // 32, num_stages=2):
            T.copy(A[by * BLOCK, k * 32], a)
            T.copy(B[k * 32, bx * BLOCK], b)
            T.gemm(a, b, c)
        T.copy(c, C[by * BLOCK, bx * BLOCK])


def test_shards_that_are_sent_lie_as_the_plan_says(ttnn: Any, device: Any) -> None:
    """A tensor in any other memory is sharded first: the core whose turn it is sends what lies in its own L1."""
    block = {"memory": "L1", "shard": "block", "grid": "4x2"}
    target = {"kind": "tenstorrent", "device": "ttnn", "multicast": True, "layout": {"A": block, "C": block}}
    kernel = tilelang.compile(product, out_idx=[-1], target=target)
    assert "ShardDelivery<4>" in kernel.files["reader.cpp"]
    a, b = torch.randint(-1, 2, (M, M)).bfloat16(), torch.randint(-1, 2, (M, N)).bfloat16()
    assert torch.equal(kernel(a, b).double(), a.double() @ b.double())
    result = kernel(placed(ttnn, device, a), placed(ttnn, device, b))
    assert torch.equal(result.to_torch().double(), a.double() @ b.double())
    assert kernel.last_report.notes[0] == f"'A' was sharded on the device: {M * M * 2:,} B"
    sharded = ttnn.from_torch(a, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device, memory_config="sharded")
    assert torch.equal(kernel(sharded, placed(ttnn, device, b)).to_torch().double(), a.double() @ b.double())
    assert kernel.last_report.notes[0].startswith("'A' was ")
