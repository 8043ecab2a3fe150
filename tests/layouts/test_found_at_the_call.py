"""Sizes known at the call, blocks in loops or narrower than shards: compute finds them in the shard where it can."""

import itertools
from random import Random
from typing import Any

import pytest
import tilelang.language as T
import torch
from layout_kernels import chain, gemm
from placed import compiled, moved, whole

from tilelang_tt.compiled import PLAN_FILE
from tilelang_tt.ir.text_kernel import kernel_text, parse_kernels
from tilelang_tt.ir.text_program import parse_tile, tile_text
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.layout_hints import parse_hints
from tilelang_tt.options import Options
from tilelang_tt.pipeline import State, run_passes
from tilelang_tt.runtime.plan import LaunchPlan, Plan
from tilelang_tt.runtime.settle import settled
from tilelang_tt.schedule_request import requests_of

M, N = T.dynamic("m"), T.dynamic("n")
TILE_BYTES = 2048  # of bfloat16


def by(kind: Any, grid: str, **more: Any) -> dict[str, Any]:
    return {"memory": "L1", "shard": kind, "grid": grid, **more}


def call_product(kernel: Any, rows: int, inner: int, cols: int) -> tuple[int, int]:
    """Small whole numbers, every bit of the product; the bytes over the NoC."""
    a, b = whole(rows, inner, most=1), whole(inner, cols, most=1, seed=1)
    c = torch.full((rows, cols), 7, dtype=torch.bfloat16)
    kernel(a, b, c)
    assert torch.equal(c.double(), a.double() @ b.double()), rows
    return moved(kernel)


@pytest.mark.parametrize(("arch", "numerics"), [("wormhole_b0", "fast"), ("blackhole", "chip")])
def test_rows_of_a_product_stay(arch: str, numerics: str) -> None:
    """Of A and C by rows nothing moves, however many blocks a shard has; where it does not fit, all is right."""
    height = by("height", "3x1+1+2")
    layout, options = {"A": height, "C": height}, {"schedule": {"match": "C"}, "multicast": False}
    kernel = compiled(gemm(M, 128, 64, (32, 64, 32)), layout, arch=arch, numerics=numerics, **options)
    for rows, stays in ((96, True), (288, True), (64, True), (32, True), (50, True), (192, True), (224, True)):
        read, wrote = call_product(kernel, rows, 64, 128)
        assert (wrote == 0) == stays, rows
        assert bool(kernel.last_report.notes) != stays
        of_b = 64 * 128 * 2
        assert read % of_b == 0, "only B is read"
    told = kernel.explain()
    assert "A_s: nothing is moved in calls where the blocks of each core lie in its part of 'A'; in others" in told


def test_what_does_not_fit_is_moved() -> None:
    """Blocks of two tiles: shards of an odd number of them are cut through, and 33 rows are no whole block."""
    height = by("height", "2x1")
    options = {"schedule": {"match": "C"}, "multicast": False}
    kernel = compiled(gemm(M, 64, 64, (64, 32, 32)), {"A": height, "C": height}, **options)
    for rows, why in (
        (256, None),
        (192, "core (0, 0) needs parts of it that lie on other cores"),
        (128, None),
        (96, "blocks may reach beyond its end"),
        (33, "core (0, 0) needs parts of it that lie on other cores"),
        (480, "blocks may reach beyond its end"),
    ):
        _, wrote = call_product(kernel, rows, 64, 64)
        assert (wrote == 0) == (why is None), rows
        notes = [note for note in kernel.last_report.notes if note.startswith("'A'")]
        assert notes == ([] if why is None else [f"'A' was moved over the NoC: {why}"]), rows


def test_beside_blocks_that_are_sent() -> None:
    """One core reads B for all; of A too, in calls that move it."""
    height = by("height", "4x1")
    layout = {"A": height, "C": height}
    kernel = compiled(gemm(M, 128, 64, (32, 64, 32)), layout, schedule={"match": "C"}, multicast=True)
    assert call_product(kernel, 256, 64, 128)[0] == 2 * 2 * 64 * 128 * 2 // 2
    wide = compiled(gemm(M, 128, 64, (64, 64, 32)), layout, multicast=True)
    for rows in (128, 256, 40):
        call_product(wide, rows, 64, 128)


@pytest.mark.parametrize("order", ["row", "column"])
def test_blocks_narrower_than_shards(order: str) -> None:
    """Both sides are known at the call; rectangles are walked in any order."""
    layout = dict.fromkeys("ABC", by("block", "2x2"))
    kernel = compiled(chain(M, N, (32, 32)), layout, schedule={"match": "C", "order": order})
    for rows, cols, stays in ((128, 128, True), (64, 192, True), (96, 160, True), (40, 70, True), (256, 32, True)):
        a, b = whole(rows, cols), whole(rows, cols, seed=1)
        c = torch.full_like(a, 7)
        kernel(a, b, c)
        assert torch.equal(c, a * b + a - 1), (rows, cols)
        assert (moved(kernel) == (0, 0)) == stays, (rows, cols)


def test_loops_that_differ_from_block_to_block() -> None:
    """Sums of the tiles left of the diagonal, of full-range integers; the longest row decides how wide A is."""

    @T.prim_func
    def main(A: T.Tensor((M, M), "int32"), C: T.Tensor((M, 32), "int32")):
        with T.Kernel(T.ceildiv(M, 32), threads=128) as row:
            a = T.alloc_shared((32, 32), "int32")
            c = T.alloc_fragment((32, 32), "int32")
            T.clear(c)
            for k in T.serial(row + 1):
                T.copy(A[row * 32, k * 32], a)
                for i, j in T.Parallel(32, 32):
                    c[i, j] = c[i, j] + a[i, j]
            T.copy(c, C[row * 32, 0])

    kernel = compiled(main, dict.fromkeys("AC", by("height", "2x1")), schedule={"match": "C"})
    limits = torch.iinfo(torch.int32)
    for rows in (128, 64, 96, 45, 1):
        a = torch.randint(limits.min, limits.max, (rows, rows), generator=torch.Generator().manual_seed(rows)).int()
        wide = torch.zeros(-(-rows // 32) * 32, -(-rows // 32) * 32, dtype=torch.int64)
        wide[:rows, :rows] = a
        expected = torch.zeros(wide.shape[0], 32, dtype=torch.int64)
        for row, k in itertools.combinations_with_replacement(range(len(wide) // 32), 2):
            expected[k * 32 : k * 32 + 32] += wide[k * 32 : k * 32 + 32, row * 32 : row * 32 + 32]
        c = torch.full((rows, 32), 7, dtype=torch.int32)
        kernel(a, c)
        assert torch.equal(c, expected[:rows].int()), rows
        assert moved(kernel) == (0, 0), rows


def test_updates_of_parts() -> None:
    """The blocks that are loaded and the ones that are stored lie in one shard, side by side."""

    @T.prim_func
    def main(A: T.Tensor((M, 128), "float32")):
        with T.Kernel(4, T.ceildiv(M, 32), threads=128) as (column, row):
            old = T.alloc_shared((32, 32), "float32")
            new = T.alloc_fragment((32, 32), "float32")
            T.copy(A[row * 32, column * 32], old)
            for i, j in T.Parallel(32, 32):
                new[i, j] = old[i, j] * 2 - 1
            T.copy(new, A[row * 32, column * 32])

    kernel = compiled(main, {"A": by("height", "2x1")}, schedule={"match": "A"}, arch="blackhole")
    for rows in (128, 64, 96, 33):
        a = whole(rows, 128, dtype=torch.float32, most=500)
        given = a.clone()
        kernel(given)
        assert torch.equal(given, a * 2 - 1)
        assert moved(kernel) == (0, 0), rows


def test_matrices_below_each_other() -> None:
    """Three axes, the first two known at the call: shards by height go over the borders of matrices."""

    @T.prim_func
    def main(A: T.Tensor((N, M, 64), "bfloat16"), C: T.Tensor((N, M, 64), "bfloat16")):
        with T.Kernel(2, T.ceildiv(M, 32), N, threads=128) as (column, row, matrix):
            a = T.alloc_shared((32, 32), "bfloat16")
            T.copy(A[matrix, row * 32, column * 32], a)
            for i, j in T.Parallel(32, 32):
                a[i, j] = -a[i, j]
            T.copy(a, C[matrix, row * 32, column * 32])

    kernel = compiled(main, dict.fromkeys("AC", by("height", "4x1")), schedule={"match": "C"})
    for matrices, rows in ((4, 64), (2, 128), (3, 64), (1, 32), (5, 40)):
        a = torch.randn(matrices, rows, 64, generator=torch.Generator().manual_seed(rows)).bfloat16()
        a[0, 0, :3] = torch.tensor([float("inf"), float("-inf"), -0.0])
        c = torch.zeros_like(a)
        kernel(a, c)
        assert torch.equal(c.view(torch.int16), (-a).view(torch.int16)), (matrices, rows)
        assert moved(kernel) == (0, 0), (matrices, rows)


def told(launch: LaunchPlan) -> list[Any]:
    return [(cb.tensor, cb.pages if cb.tensor else None) for cb in launch.cbs]


@pytest.mark.parametrize("kind", ["height", "block"])
def test_as_if_the_sizes_were_known(kind: str) -> None:
    """For sizes drawn at random the call settles what the compiler settles where it knows them."""
    rng, found = Random(16), set[bool]()
    layout = dict.fromkeys("AC", by(kind, "4x1" if kind == "height" else "2x2"))
    schedule = {"policy": "rectangle", "cores": "4x1" if kind == "height" else "2x2"}
    options = {"multicast": False, "blocks": False, "schedule": schedule}
    open_plan = Plan.from_json(compiled(gemm(M, N, 128, (32, 64, 64)), layout, **options).files[PLAN_FILE])
    for _ in range(12):
        rows, cols = rng.choice((32, 64, 96, 128, 256, 50)), rng.choice((64, 128, 256))
        known = compiled(gemm(rows, cols, 128, (32, 64, 64)), layout, **options)
        (one,), (other,) = settled(open_plan, {"m": rows, "n": cols}).plan.launches, known.compiled.plan.launches
        assert told(one) == told(other), (rows, cols)
        assert one.shares({"m": rows, "n": cols}) == other.shares({})
        found.add(any(cb.tensor == "A" for cb in one.cbs))
    assert found == ({True, False} if kind == "height" else {False})


def test_the_plan_and_every_stage_read_back() -> None:
    layout = parse_hints(dict.fromkeys("AC", by("height", "4x1")))
    options = Options(layout=layout, schedule=requests_of({"match": "C"}))
    states: list[State] = []
    run_passes(gemm(M, 64, 64, (32, 32, 32)), options, lambda _, state: states.append(state))
    programs = [state for state in states if isinstance(state, TileProgram)]
    for program in programs:
        text = tile_text(program)
        assert tile_text(parse_tile(text)) == text
    for state in (state for state in states if not isinstance(state, TileProgram)):
        text = "\n".join(map(kernel_text, state))
        assert "\n".join(map(kernel_text, parse_kernels(text, programs[-1]))) == text
    kernel = compiled(gemm(M, 64, 64, (32, 32, 32)), dict.fromkeys("AC", by("height", "4x1")))
    plan = Plan.from_json(kernel.files[PLAN_FILE])
    assert Plan.from_json(plan.to_json()) == plan
    blocks = {cb.name: cb.block for cb in plan.launches[0].cbs if cb.block is not None}
    assert [(name, block.found, block.in_order) for name, block in blocks.items()] == [
        ("A_s", True, False),
        ("C_l_out", True, True),
    ]
