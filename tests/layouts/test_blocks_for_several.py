"""Blocks that one core reads for several: results stay the same under every schedule, and DRAM is read less."""

import itertools
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from layout_kernels import CASES, Case, gemm
from layout_names import POLICIES
from placed import ALL

from tilelang_tt.core_ranges import CoreRange
from tilelang_tt.deliveries import Delivery, deliveries
from tilelang_tt.runtime.runner import SEED_VARIABLE
from tilelang_tt.schedule import ORDERS, Schedule, numbers_of, shares

CHIPS = ("wormhole_b0", "blackhole")
GRIDS = ("8x8", "3x5", "1x8", "7x1")


def compiled(func: Any, **options: Any) -> Any:
    return tilelang.compile(func, out_idx=[-1], target={"kind": "tenstorrent", "multicast": True, **options})


# --- results --------------------------------------------------------------------------------------


def combinations() -> list[tuple[Case, str, str, str]]:
    every = list(itertools.product(CASES, POLICIES, CHIPS, GRIDS))
    return every if ALL else every[:: len(every) // 24 - 1]


@pytest.mark.parametrize(
    ("case", "policy", "arch", "grid"),
    combinations(),
    ids=lambda value: value.name if isinstance(value, Case) else value,
)
def test_result(case: Case, policy: str, arch: str, grid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = POLICIES[policy]
    options: dict[str, Any] = {} if schedule is None or "cores" in schedule else {"schedule": schedule}
    kernel = compiled(case.build(), arch=arch, grid=grid, **options)
    inputs = case.inputs()
    for seed in range(20 if ALL else 2):
        monkeypatch.setenv(SEED_VARIABLE, str(seed))
        case.check(kernel(*inputs), inputs)


def several_heads(batch: int, heads: int, groups: int, length: int, width: int, block: int) -> Any:
    """Products of queries with keys: heads of a group have the same keys."""

    @T.prim_func
    def main(
        Q: T.Tensor((batch, heads, length, width), "bfloat16"),
        K: T.Tensor((batch, groups, length, width), "bfloat16"),
        S: T.Tensor((batch, heads, length, length), "bfloat16"),
    ):
        with T.Kernel(T.ceildiv(length, block), heads, batch, threads=128) as (bx, by, bz):
            q = T.alloc_shared((block, width), "bfloat16")
            k = T.alloc_shared((block, width), "bfloat16")
            s = T.alloc_fragment((block, block), "float32")
            T.copy(Q[bz, by, bx * block, 0], q)
            for n in T.Pipelined(length // block, num_stages=2):
                T.copy(K[bz, by // (heads // groups), n * block, 0], k)
                T.gemm(q, k, s, transpose_B=True, clear_accum=True)
                T.copy(s, S[bz, by, bx * block, n * block])

    return main


def dynamic(block: int) -> Any:
    m, n, k = T.dynamic("m"), T.dynamic("n"), T.dynamic("k")

    @T.prim_func
    def main(A: T.Tensor((m, k), "bfloat16"), B: T.Tensor((k, n), "bfloat16"), C: T.Tensor((m, n), "bfloat16")):
        with T.Kernel(T.ceildiv(n, block), T.ceildiv(m, block), threads=128) as (bx, by):
            A_s = T.alloc_shared((block, 32), "bfloat16")
            B_s = T.alloc_shared((32, block), "bfloat16")
            C_l = T.alloc_fragment((block, block), "float32")
            T.clear(C_l)
            for ko in T.Pipelined(T.ceildiv(k, 32), num_stages=2):
                T.copy(A[by * block, ko * 32], A_s)
                T.copy(B[ko * 32, bx * block], B_s)
                T.gemm(A_s, B_s, C_l)
            T.copy(C_l, C[by * block, bx * block])

    return main


def small(*shape: int) -> torch.Tensor:
    return torch.randint(-2, 3, shape, generator=torch.Generator().manual_seed(3)).bfloat16()


def test_heads_that_share_keys() -> None:
    q, k = small(2, 4, 128, 64), small(2, 2, 128, 64)
    kernel = compiled(several_heads(2, 4, 2, 128, 64, 32))
    expected = q.double() @ k.double().repeat_interleave(2, 1).transpose(2, 3)
    assert torch.equal(kernel(q, k).double(), expected.bfloat16().double())
    least = 2 * (q.numel() + k.numel())
    assert kernel.last_report.statistics["noc_read_bytes"] <= 3 * least


@pytest.mark.parametrize("policy", [None, "rectangle", "strided"])
def test_sizes_of_the_call(policy: str | None) -> None:
    kernel = compiled(dynamic(32), **({"schedule": {"policy": policy}} if policy else {}))
    for m, n, k in ((256, 256, 64), (33, 200, 40), (320, 96, 1), (32, 32, 32)):
        a, b = small(m, k), small(k, n)
        assert torch.equal(kernel(a, b).double(), (a.double() @ b.double()).bfloat16().double())


@pytest.mark.parametrize(
    ("m", "n", "grid", "policy"),
    [
        (96, 160, "8x8", None),  # most cores have nothing to do
        (160, 96, "4x4", "contiguous"),  # some have a block, one has none
        (224, 96, "3x3", "strided"),  # two or three blocks
    ],
)
def test_cores_without_blocks(m: int, n: int, grid: str, policy: str | None) -> None:
    kernel = compiled(gemm(m, n, 96, (32, 32, 32)), grid=grid, **({"schedule": {"policy": policy}} if policy else {}))
    assert "need the same blocks" in kernel.explain(whole=True)
    a, b = small(m, 96), small(96, n)
    assert torch.equal(kernel(a, b).double(), (a.double() @ b.double()).bfloat16().double())


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_rows_of_blocks_that_are_no_products(dtype: str) -> None:
    """Each block of B is what all blocks below each other need."""

    @T.prim_func
    def main(A: T.Tensor((128, 64), dtype), B: T.Tensor((32, 64), dtype), C: T.Tensor((128, 64), dtype)):
        with T.Kernel(2, 4, threads=128) as (bx, by):
            a = T.alloc_shared((32, 32), dtype)
            b = T.alloc_shared((32, 32), dtype)
            c = T.alloc_fragment((32, 32), dtype)
            T.copy(A[by * 32, bx * 32], a)
            T.copy(B[0, bx * 32], b)
            for i, j in T.Parallel(32, 32):
                c[i, j] = a[i, j] * b[i, j] + a[i, j]
            T.copy(c, C[by * 32, bx * 32])

    kernel = compiled(main)
    assert "b: cores that agree on bx need the same blocks" in kernel.explain(whole=True)
    generator, kind = torch.Generator().manual_seed(1), getattr(torch, dtype)
    a = torch.randint(-99, 99, (128, 64), generator=generator).to(kind)
    b = torch.randint(-99, 99, (32, 64), generator=generator).to(kind)
    assert torch.equal(kernel(a, b), a * b.repeat(4, 1) + a)


# --- bytes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "grid", "times"),
    [
        ((256, 256, 96), "8x8", 1),  # 8 x 8 blocks: a row of A and a column of B are read once
        ((512, 512, 64), "8x8", 2),  # 2 x 2 blocks a core: twice, as it has room for one
        ((256, 32, 64), "8x1", 1),  # all cores need the same B
        ((288, 288, 32), "8x8", None),  # 9 x 9 blocks: runs that differ, so less is shared
    ],
)
def test_reads(sizes: tuple[int, int, int], grid: str, times: int | None) -> None:
    m, n, k = sizes
    kernel = compiled(gemm(m, n, k, (32, 32, 32)), grid=grid)
    a, b = small(m, k), small(k, n)
    assert torch.equal(kernel(a, b).double(), (a.double() @ b.double()).bfloat16().double())
    read, least = kernel.last_report.statistics["noc_read_bytes"], 2 * k * (m + n)
    assert read == times * least if times else least < read < 2 * k * (m + n) * 9


def test_explain_says_who_reads() -> None:
    kernel = compiled(gemm(256, 256, 64, (32, 32, 32)))
    assert "A_s: cores that agree on by need the same blocks: one reads each of them for the others" in kernel.explain(
        whole=True
    )
    assert "B_s: cores that agree on bx need the same blocks" in kernel.explain(whole=True)


# --- who sends to whom ----------------------------------------------------------------------------


def units(schedule: Schedule, grid: tuple[int, int], columns: int, rows: int) -> dict[tuple[int, int], list[int]]:
    given = shares(schedule, grid, columns, rows)
    return {one.core: numbers_of(schedule, one, len(given), columns).tolist() for one in given}


@pytest.mark.parametrize("policy", ["contiguous", "strided", "rectangle"])
@pytest.mark.parametrize(("columns", "rows"), [(8, 8), (16, 16), (10, 10), (1, 7), (13, 1), (3, 5), (24, 9)])
@pytest.mark.parametrize("axes", [(), (0,), (1,), (0, 1)])
def test_groups(policy: Any, columns: int, rows: int, axes: tuple[int, ...]) -> None:
    """Counted afresh: who receives needs just what its sender needs, and every rectangle holds its receivers alone."""
    for grid, order in itertools.product(((8, 8), (3, 5), (1, 4)), ORDERS):
        schedule = Schedule(policy, order, 4 if "block" in order else 0)
        found = deliveries(schedule, shares(schedule, grid, columns, rows), (columns, rows), axes)
        blocks = units(schedule, grid, columns, rows)
        assert found.keys() == blocks.keys()
        needed = {
            core: [tuple(divmod(block, columns)[::-1][axis] for axis in axes) for block in own]
            for core, own in blocks.items()
        }
        for core, one in found.items():
            if one.sender is not None:
                assert order == "row" or policy == "rectangle"
                assert needed[core] == needed[one.sender]
                assert core in found[one.sender].group.cores()  # type: ignore[union-attr]
                assert one == Delivery(one.sender)
            if one.group is not None:
                members = one.group.cores()
                assert all(found[other].sender == core for other in members if other != core)
                assert one.receivers == len(members) - 1 > 0


def test_a_row_and_a_column_of_cores() -> None:
    given = shares(Schedule("rectangle"), (8, 8), 16, 16)
    rows = deliveries(Schedule("rectangle"), given, (16, 16), (1,))
    assert rows[3, 3] == Delivery(None, 7, CoreRange(8, 1, (0, 3)))
    assert rows[5, 3] == Delivery((3, 3))
    columns = deliveries(Schedule("rectangle"), given, (16, 16), (0,))
    assert columns[5, 5] == Delivery(None, 7, CoreRange(1, 8, (5, 0)))
    assert deliveries(Schedule("rectangle"), given, (16, 16), ())[0, 0] == Delivery(None, 63, CoreRange(8, 8))
