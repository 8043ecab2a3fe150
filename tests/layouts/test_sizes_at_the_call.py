"""Shards of tensors whose sizes are known at the call: used in place where they let it, and moved where they do not."""

from typing import Any

import pytest
import tilelang.language as T
import torch
from layout_kernels import chain, gemm, softmax
from placed import compiled, moved, whole

from tilelang_tt.compiled import PLAN_FILE
from tilelang_tt.ir.text_kernel import kernel_text, parse_kernels
from tilelang_tt.ir.text_program import parse_tile, tile_text
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.layout_hints import parse_hints
from tilelang_tt.options import Options
from tilelang_tt.pipeline import State, run_passes
from tilelang_tt.runtime.plan import Plan
from tilelang_tt.runtime.settle import settled

M = T.dynamic("m")
N = 128


def by(kind: str, grid: str, **more: Any) -> dict[str, Any]:
    return {"memory": "L1", "shard": kind, "grid": grid, **more}


def run_chain(kernel: Any, rows: int) -> tuple[int, int]:
    """`A * B + A - 1`, every bit of it; the bytes over the NoC."""
    a, b = whole(rows, N), whole(rows, N, seed=1)
    c = torch.full_like(a, 7)
    kernel(a, b, c)
    assert torch.equal(c, a * b + a - 1)
    return moved(kernel)


def bytes_of(rows: int, tensors: int) -> int:
    return tensors * -(-rows // 32) * 32 * N * 2


@pytest.mark.parametrize(
    ("arch", "numerics"), [("wormhole_b0", "fast"), ("blackhole", "chip"), ("wormhole_b0", "exact")]
)
def test_blocks_where_they_lie(arch: str, numerics: str) -> None:
    """One or two blocks of a core make its shard; three would be too many, and 96 rows are no whole blocks."""
    kernel = compiled(chain(M, N, (64, 64)), dict.fromkeys("ABC", by("block", "2x4+1+2")), arch=arch, numerics=numerics)
    for rows, stays in ((256, True), (512, True), (768, False), (192, True), (96, False), (1, False), (512, True)):
        assert (run_chain(kernel, rows) == (0, 0)) == stays, rows
        assert bool(kernel.last_report.notes) != stays
    run_chain(kernel, 768)
    assert kernel.last_report.notes[:2] == (
        "blocks did not run where their part of 'C' lies: a core would run 3 blocks, not 1",
        "'A' was moved over the NoC: core (0, 0) runs blocks and holds no shard",
    )


def test_what_is_asked_for_is_followed() -> None:
    """Three blocks on a core, since the user says so. A tensor in other shards is moved, the others stay."""
    layout = {"A": by("block", "2x4"), "B": by("height", "4x1"), "C": by("block", "2x4")}
    kernel = compiled(chain(M, N, (64, 64)), layout, schedule={"match": "C"})
    for rows in (256, 512, 768):
        assert run_chain(kernel, rows) == (bytes_of(rows, 1), 0)
        assert len(kernel.last_report.notes) == 1
    told = kernel.explain()
    assert (
        "a: nothing is moved in calls where the blocks of each core lie in its part of 'A'; in others its blocks are "
        "moved over the NoC"
    ) in told
    assert "cb0   a" in told
    assert "or the shard of A" in told


@pytest.mark.parametrize(
    ("schedule", "grid", "stays"),
    [
        ({"policy": "contiguous", "cores": "4x1+1+1"}, "4x1+1+1", (256, 512, 192)),
        ({"policy": "strided", "cores": "4x1+1+1"}, "4x1+1+1", (256, 192)),
        ({"policy": "rectangle", "cores": "2x2"}, "2x2", (256, 512, 192)),
        ({"policy": "contiguous", "order": "z", "cores": "4x1"}, "4x1", ()),
    ],
)
def test_under_other_policies(schedule: Any, grid: str, stays: tuple[int, ...]) -> None:
    """One block in a row: runs of them are shards by height."""
    kernel = compiled(chain(M, N, (64, 128)), dict.fromkeys("ABC", by("height", grid)), schedule=schedule)
    for rows in (256, 512, 192, 300):
        assert (run_chain(kernel, rows) == (0, 0)) == (rows in stays), rows


def test_rows_of_softmax() -> None:
    kernel = compiled(softmax(M, N, 32), dict.fromkeys("AC", by("height", "8x1")), arch="blackhole")
    for rows in (256, 512, 77):
        a = torch.randn(rows, N, generator=torch.Generator().manual_seed(rows)).bfloat16()
        c = torch.zeros_like(a)
        kernel(a, c)
        expected = torch.softmax(a.double(), 1)
        assert (c.double() - expected).norm() <= 2.0**-8 * expected.norm()
        assert moved(kernel) == (0, 0)


def test_results_of_a_product() -> None:
    """C stays; A lies on other cores, and is moved."""
    layout = {"A": by("height", "4x1"), "C": by("block", "2x4")}
    kernel = compiled(gemm(M, N, 64, (64, 64, 32)), layout, multicast=False)
    for rows in (256, 512):
        a, b = whole(rows, 64, most=1), whole(64, N, most=1, seed=1)
        c = torch.zeros(rows, N, dtype=torch.bfloat16)
        kernel(a, b, c)
        assert torch.equal(c.double(), a.double() @ b.double())
        assert moved(kernel)[1] == 0
        why = "core (1, 0) needs parts of it that lie on other cores"
        assert kernel.last_report.notes == (f"'A' was moved over the NoC: {why}",)


@pytest.mark.parametrize("scale", [2, 3])
def test_updates(scale: int) -> None:
    """The block that is loaded and the one that is stored are the same shard, or both have buffers of their own."""

    @T.prim_func
    def main(A: T.Tensor((M, N), "int32")):
        with T.Kernel(T.ceildiv(M, 32), threads=128) as by:
            old = T.alloc_shared((32, N), "int32")
            new = T.alloc_fragment((32, N), "int32")
            T.copy(A[by * 32, 0], old)
            for i, j in T.Parallel(32, N):
                new[i, j] = old[i, j] * scale
            T.copy(new, A[by * 32, 0])

    kernel = compiled(main, {"A": by("height", "4x1")})
    limits = torch.iinfo(torch.int32)
    for rows in (128, 256, 384, 100, 33):
        a = torch.randint(limits.min, limits.max, (rows, N), generator=torch.Generator().manual_seed(rows)).int()
        given = a.clone()
        kernel(given)
        assert torch.equal(given, a * scale)
        assert (moved(kernel) == (0, 0)) == (rows != 384)


def test_a_grid_that_no_size_is_in() -> None:
    """Four blocks whatever the rows, the first one of each core's shard: the rest of C stays as it was."""

    @T.prim_func
    def main(A: T.Tensor((M, N), "float32"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(4, threads=128) as by:
            a = T.alloc_shared((32, N), "float32")
            T.copy(A[by * 32, 0], a)
            for i, j in T.Parallel(32, N):
                a[i, j] = -a[i, j]
            T.copy(a, C[by * 32, 0])

    kernel = compiled(main, dict.fromkeys("AC", by("height", "4x1")))
    for rows in (128, 160, 256, 77):
        a = torch.randn(rows, N, generator=torch.Generator().manual_seed(rows))
        a[0, :4] = torch.tensor([float("nan"), float("inf"), -0.0, 2.0**-126])  # chips make smaller ones zero
        c = torch.full_like(a, 5)
        kernel(a, c)
        expected = c.clone()
        expected[:128] = -a[:128]
        assert torch.equal(c.view(torch.int32), expected.view(torch.int32))
        assert (moved(kernel) == (0, 0)) == (rows != 77), rows


@pytest.mark.parametrize("grid", ["4x1", "2x2+1+0"])
@pytest.mark.parametrize("rows", [128, 192, 256, 100])
def test_as_if_the_size_were_known(rows: int, grid: str) -> None:
    """The call settles what `use_shards` settles where the compiler knows the size."""
    layout, schedule = dict.fromkeys("ABC", by("height", grid)), {"match": "C"}
    open_plan = Plan.from_json(compiled(chain(M, N, (32, N)), layout, schedule=schedule).files[PLAN_FILE])
    known = Plan.from_json(compiled(chain(rows, N, (32, N)), layout, schedule=schedule).files[PLAN_FILE])
    found = settled(open_plan, {"m": rows}).plan
    (one,), (other,) = found.launches, known.launches
    assert [(cb.tensor, cb.pages) for cb in one.cbs] == [(cb.tensor, cb.pages) for cb in other.cbs]
    assert (one.pieces, one.grid) == (other.pieces, other.grid)
    assert one.shares({"m": rows}) == other.shares({})


def test_the_plan_says_what_is_open() -> None:
    kernel = compiled(chain(M, N, (32, N)), dict.fromkeys("ABC", by("height", "4x1")))
    plan = Plan.from_json(kernel.files[PLAN_FILE])
    assert Plan.from_json(plan.to_json()) == plan
    (launch,) = plan.launches
    assert [cb.block.tensor for cb in launch.cbs if cb.block is not None] == ["A", "B", "C"]
    assert launch.match is not None
    assert settled(settled(plan, {"m": 128}).plan, {"m": 128}).plan == settled(plan, {"m": 128}).plan


def test_every_stage_reads_back() -> None:
    layout = parse_hints(dict.fromkeys("ABC", by("height", "4x1")))
    states: list[State] = []
    run_passes(chain(M, N, (32, N)), Options(layout=layout), lambda _, state: states.append(state))
    programs = [state for state in states if isinstance(state, TileProgram)]
    for program in programs:
        text = tile_text(program)
        assert tile_text(parse_tile(text)) == text
    for state in (state for state in states if not isinstance(state, TileProgram)):
        text = "\n".join(map(kernel_text, state))
        assert "\n".join(map(kernel_text, parse_kernels(text, programs[-1]))) == text
