"""Blocks that lie in shards of the cores that need them: each is sent by the core that holds it, and none is read."""

from typing import Any

import pytest
import torch
from layout_kernels import gemm
from placed import ALL, check, compiled, moved, whole

from tilelang_tt.compiled import PLAN_FILE
from tilelang_tt.ir.text_kernel import kernel_text, parse_kernels
from tilelang_tt.ir.text_program import parse_tile, tile_text
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.layout_hints import parse_hints
from tilelang_tt.options import Options
from tilelang_tt.pipeline import State, run_passes
from tilelang_tt.runtime.plan import Plan
from tilelang_tt.runtime.runner import SEED_VARIABLE

M, N, K = 128, 256, 256
SENT = "are sent by the core that holds them, from its shard: none is read"


def by(kind: Any, grid: str, **more: Any) -> dict[str, Any]:
    return {"memory": "L1", "shard": kind, "grid": grid, **more}


def product(layouts: dict[str, Any], block: tuple[int, int, int], **options: Any) -> Any:
    a, b = whole(M, K, most=1), whole(K, N, most=1, seed=1)
    tensors = {"A": a, "B": b, "C": torch.zeros(M, N, dtype=torch.bfloat16)}
    expected = {"C": a.double() @ b.double()}
    return check(gemm(M, N, K, block), tensors, expected, layouts, multicast=True, **options)


BLOCK = by("block", "4x2")
DOWN = by("block", "2x4", order="column")  # rows of tiles over columns of cores
CASES: tuple[tuple[dict[str, Any], tuple[int, int, int], str], ...] = (  # layouts, blocks, tensors that are sent
    ({"A": BLOCK, "C": BLOCK}, (64, 64, 64), "A"),
    ({"A": BLOCK, "C": BLOCK}, (64, 64, 32), "A"),  # two blocks in a shard, beside each other
    ({"A": by("block", "4x2+1+3"), "C": by("block", "4x2+1+3")}, (64, 64, 32), "A"),
    ({"A": DOWN, "C": DOWN}, (64, 64, 64), "A"),
    ({"B": BLOCK, "C": BLOCK}, (64, 64, 128), "B"),
    ({"A": BLOCK, "B": BLOCK, "C": BLOCK}, (64, 64, 64), "AB"),
    ({"A": by("width", "8x1"), "C": by("width", "8x1")}, (128, 32, 32), "A"),  # all cores need all of A
    ({"A": by("block", "2x2"), "C": BLOCK}, (64, 64, 64), "A"),  # two of the four cores hold all that they need
    ({"A": by((64, 64), "4x2"), "C": BLOCK}, (32, 64, 64), "A"),  # two blocks of rows on a core
)


@pytest.mark.parametrize("number", range(len(CASES)))
def test_owners_send(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    layouts, block, sent = CASES[number]
    chips = ("wormhole_b0", "blackhole") if ALL else (("wormhole_b0", "blackhole")[number % 2],)
    for arch in chips:
        for seed in range(10 if ALL else 2):
            monkeypatch.setenv(SEED_VARIABLE, str(seed))
            kernel = product(layouts, block, arch=arch, numerics=("fast", "chip", "exact")[number % 3])
            told = kernel.explain()
            assert [name for name in "AB" if f"'{name}' {SENT}" in told] == list(sent)


def test_bytes() -> None:
    """B is read once by the chip, A not at all."""
    kernel = product({"A": BLOCK, "C": BLOCK}, (64, 64, 64))
    assert moved(kernel)[0] == K * N * 2
    kernel = product({"A": BLOCK, "B": BLOCK, "C": BLOCK}, (64, 64, 64))
    assert moved(kernel)[0] == 0


@pytest.mark.parametrize(
    "layouts",
    [
        {"A": by("block", "4x2+4+4"), "C": BLOCK},  # other cores
        {"A": by((64, 32), "4x2"), "C": BLOCK},  # two shards on a core
        {"A": by("height", "2x1"), "B": by("block", "8x2"), "C": by("block", "4x2")},
    ],
)
def test_what_others_hold_is_read(layouts: dict[str, Any]) -> None:
    kernel = product(layouts, (64, 64, 64))
    assert SENT not in kernel.explain()
    assert moved(kernel)[0] >= M * K * 2


def test_blocks_of_two_shards_are_read() -> None:
    """The second row of tiles of each block is the begin of the next core's shard, which that core does not send."""
    a, b = whole(64, 64, most=1), whole(64, N, most=1, seed=1)
    tensors = {"A": a, "B": b, "C": torch.zeros(64, N, dtype=torch.bfloat16)}
    layout = {"A": by("block", "1x2")}
    options = {"multicast": True, "schedule": {"policy": "rectangle", "cores": "4x1"}}
    kernel = check(gemm(64, N, 64, (64, 64, 64)), tensors, {"C": a.double() @ b.double()}, layout, **options)
    assert SENT not in kernel.explain()


def test_generated_code() -> None:
    kernel = compiled(gemm(M, N, K, (64, 64, 32)), {"A": BLOCK, "C": BLOCK}, multicast=True)
    reader = " ".join(kernel.files["reader.cpp"].split())
    assert "const ShardDelivery<4> A_s_delivery(/*first argument*/ 2, /*semaphores*/ 0, 1);" in reader
    assert "A_s_delivery.ask(ko / 2);" in reader
    assert (
        "A_s_delivery.send(ko / 2, A_addr + (ko % 2) * A_s_tile_bytes, A_s_l1, /*rows*/ 2, 1 * A_s_tile_bytes, "
        "2 * A_s_tile_bytes);"
    ) in reader
    plan = Plan.from_json(kernel.files[PLAN_FILE])
    assert Plan.from_json(plan.to_json()) == plan
    one = next(one for one in plan.launches[0].deliveries if one.buffer == "A_s")
    assert (one.tensor, one.holders) == ("A", tuple((x, y) for y in range(2) for x in range(4)))


def test_every_stage_reads_back() -> None:
    options = Options(layout=parse_hints({"A": BLOCK, "C": BLOCK}), multicast=True)
    states: list[State] = []
    run_passes(gemm(M, N, K, (64, 64, 32)), options, lambda _, state: states.append(state))
    programs = [state for state in states if isinstance(state, TileProgram)]
    for program in programs:
        text = tile_text(program)
        assert tile_text(parse_tile(text)) == text
    for state in (state for state in states if not isinstance(state, TileProgram)):
        text = "\n".join(map(kernel_text, state))
        assert "\n".join(map(kernel_text, parse_kernels(text, programs[-1]))) == text
