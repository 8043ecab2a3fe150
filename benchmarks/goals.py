"""make goals: kernels that move tensors through a chip, and attention, by the clock beside what they should reach.

python -m benchmarks.goals [TEXT ...] [--chip blackhole]     rows whose name has one of the texts

Norms, softmax, chains of element-wise operations, decode: how much of the time the DRAM banks need at least, if every
tensor is moved once, at the clock's rates of reads and of writes that take turns. Attention: what of the matrix engines
is used, all cores counted. Nothing is computed but time; that the kernels are right is shown by tests.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import tilelang

from benchmarks.gqa_decode import gqa_decode
from benchmarks.kernels import addition, attention, chain, copied, scaled
from benchmarks.report import Row, print_table
from benchmarks.tile_kernels import example
from tilelang_tt.arch import ARCHS
from tilelang_tt.clock.tables import costs
from tilelang_tt.clock.timing import Timing

CHIPS = ("wormhole_b0", "blackhole")
OF_DRAM, OF_DRAM_DECODE = 0.85, 0.80  # of what the banks can move
TOKENS, WIDTH, HEADS = (2368, 9472), 128, 10
OF_MATRIX = {2368: 0.57, 9472: 0.70}  # the vendor's best


@dataclass(frozen=True)
class Goal:
    name: str
    build: Callable[[], Any]
    goal: float
    streams: bool = True  # what counts is bytes, not products
    read: int = 0  # bytes that have to be read from DRAM
    written: int = 0
    chips: Sequence[str] = CHIPS
    results: Sequence[int] = (-1,)
    fidelity: str = "HiFi4"


def _rows(name: str, vectors: int = 0) -> Goal:
    size = 4096
    build = partial(getattr(example(name), name).get_tir, size, size, 32, "bfloat16")
    return Goal(f"{name}, {size} x {size}", build, OF_DRAM, read=2 * size * (size + vectors), written=2 * size * size)


def _attention(tokens: int) -> Goal:
    name = f"attention, b1 h{HEADS} s{tokens} d{WIDTH}"
    build = partial(attention, HEADS, tokens, WIDTH)
    return Goal(name, build, OF_MATRIX[tokens], streams=False, chips=("blackhole",), fidelity="HiFi2")


def _decode(tokens: int) -> Goal:
    batch, groups, group, part, splits = 8, 8, 4, 512, 2
    build = partial(gqa_decode.get_tir, batch, groups, group, tokens, WIDTH, part, splits)
    read = 2 * 2 * batch * groups * tokens * WIDTH
    return Goal(f"decode, b8 32q/8kv d{WIDTH} cache {tokens}", build, OF_DRAM_DECODE, read=read)


GOALS = (
    Goal("copy, 4096 x 4096", partial(copied, 4096), OF_DRAM, read=2 * 4096**2, written=2 * 4096**2),
    Goal("a + b, 4096 x 4096", partial(addition, 4096), OF_DRAM, read=4 * 4096**2, written=2 * 4096**2),
    Goal("max(2 a + b, 0), 4096 x 4096", partial(scaled, 4096), OF_DRAM, read=4 * 4096**2, written=2 * 4096**2),
    Goal("(a + b) * a, relu, 4096 x 4096", partial(chain, 4096), OF_DRAM, read=4 * 4096**2, written=2 * 4096**2),
    _rows("softmax"),
    _rows("rms_norm", vectors=1),
    _rows("layer_norm", vectors=2),
    *map(_attention, TOKENS),
    _decode(8192),
)


def row(goal: Goal, chip: str) -> Row:
    target = {"kind": "tenstorrent", "arch": chip, "math_fidelity": goal.fidelity}
    kernel = tilelang.compile(goal.build(), out_idx=list(goal.results), target=target)
    timing: Timing = kernel.estimate()
    reached = of_banks(goal, timing) if goal.streams else timing.matrix_peak
    what = "of DRAM" if goal.streams else "of the matrix engines"
    return Row(
        f"{goal.name}, {ARCHS[chip].title}",
        f"{timing.microseconds:,.0f} us, {reached:.0%} {what}",
        bounds(timing),
        f"{goal.goal:.0%}",
        reached >= goal.goal,
    )


def of_banks(goal: Goal, timing: Timing) -> float:
    """What of the time the banks need for the bytes that have to be moved."""
    table, banks = costs(timing.chip.name), timing.chip.dram_banks
    needed = goal.read / table["dram.rate"].value + goal.written / table["dram.mixed_write_rate"].value
    return needed / banks / timing.cycles


def bounds(timing: Timing) -> str:
    longest = max(timing.launches, key=lambda launch: launch.cycles)
    shares = sorted(longest.shares.items(), key=lambda share: -share[1])[:3]
    return ", ".join(f"{name} {share:.0%}" for name, share in shares)


def measure() -> list[Row]:
    return [row(goal, chip) for goal in GOALS for chip in goal.chips]


def main() -> None:
    logging.getLogger("tilelang").setLevel(logging.WARNING)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="*")
    parser.add_argument("--chip", choices=CHIPS)
    said = parser.parse_args()
    chosen = [goal for goal in GOALS if not said.texts or any(text in goal.name for text in said.texts)]
    print_table([row(goal, chip) for goal in chosen for chip in goal.chips if said.chip in (None, chip)])


if __name__ == "__main__":
    main()
