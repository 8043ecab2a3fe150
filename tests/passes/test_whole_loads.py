"""fit_l1: where a launch does not fit, what is loaded stays whole and results go part by part, without copies."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tilelang.language as T
from benchmarks.tile_kernels import example

from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.interpret import interpret
from tilelang_tt.ir.tile import Launch, Load, Map, Section, TileProgram, maps_of
from tilelang_tt.options import Options
from tilelang_tt.passes.b_partition.partition_work import partition_work
from tilelang_tt.passes.c_tile.forward_copy import is_plain_copy
from tilelang_tt.passes.fit_l1.block_parts import Side
from tilelang_tt.passes.fit_l1.recompute_blocks import blocks_of_their_own
from tilelang_tt.passes.fit_l1.split_blocks import split_blocks
from tilelang_tt.pipeline import run_passes

from .stages import after, body
from .test_recompute_blocks import deviations
from .test_split_blocks import placed


def norm(name: str, columns: int, dtype: str) -> Any:
    return getattr(example(name), name).get_tir(64, columns, 32, dtype)


def finished(func: Any, chip: str = "wormhole_b0") -> tuple[TileProgram, Launch]:
    program, _ = run_passes(func, Options(arch=chip), lambda *_: None)
    return program, program.launches[0]


def maps(launch: Launch) -> list[Map]:
    return [one for stmt in walk(launch.body) for one in maps_of(stmt)]


@pytest.mark.parametrize("chip", ["wormhole_b0", "blackhole"])
def test_layer_norm_loads_whole_rows_and_copies_nothing(chip: str) -> None:
    program, launch = finished(norm("layer_norm", 4096, "bfloat16"), chip)
    tried = [decision.text for decision in program.decisions if decision.stage == "fit_l1"]
    assert [text.split(" it needs")[0] for text in tried] == ["as written", "with results in parts of 8 tile columns"]
    loads = [stmt.src.cols for stmt in walk(launch.body) if isinstance(stmt, Load)]
    assert loads == [128, 128, 128]
    assert not any(is_plain_copy(one) for one in maps(launch))


def test_the_squares_and_what_is_squared_are_one_section() -> None:
    """`x - mean` is kept, part by part, in the section that squares it; it is not computed or packed twice."""
    _, launch = finished(norm("layer_norm", 4096, "bfloat16"))
    parts = [stmt for stmt in walk(launch.body) if isinstance(stmt, Section) and stmt.results[-1].part is not None]
    (section,) = parts
    assert [(one.dst.name, one.part is None) for one in section.results] == [("square", True), ("x_1", False)]
    assert section.schedule is not None
    assert [step.slot for step in section.schedule.program.steps].count(0) == 2  # brought there, and made smaller


def test_weights_of_a_norm_whose_results_go_in_parts_are_not_copied() -> None:
    _, launch = finished(example("rms_norm").rms_norm.get_tir(64, 4096, 32, "bfloat16"))
    assert not any(is_plain_copy(one) for one in maps(launch))


@pytest.mark.parametrize(("name", "columns"), [("layer_norm", 4096), ("rms_norm", 4096), ("layer_norm", 6144)])
def test_the_meaning_is_the_same(name: str, columns: int) -> None:
    func = norm(name, columns, "bfloat16")
    random = np.random.default_rng(5)
    program, _ = finished(func)
    vectors = {key: random.standard_normal(columns).astype(np.float32) for key in "WB"[: 1 + (name == "layer_norm")]}
    values = {"X": random.standard_normal((64, columns)).astype(np.float32), **vectors}
    results = [
        interpret(one, {**values, "Y": np.zeros((64, columns), np.float32)})["Y"]
        for one in (program, after(partition_work, func))
    ]
    assert np.allclose(*results, rtol=2**-7, atol=2**-9)


def test_what_is_loaded_stays_whole() -> None:
    program = placed(deviations())
    launch = blocks_of_their_own(program.launches[0])
    launch, decisions = split_blocks(program, launch, Side.COLUMNS, 2, loads_whole=True)
    assert decisions
    text = body(replace(program, launches=(launch,)))
    assert text.startswith("Load X tiles (0, 0) 1 x 4 -> x\nMap x_frag = x\nReduce m = max of x_frag along j, exact\n")
    assert "  Map q = d_part * d_part\n" in text


def updated_twice() -> Any:
    """A block that is overwritten after others were computed from it."""

    @T.prim_func
    def main(X: T.Tensor((32, 128), "float32"), Y: T.Tensor((32, 128), "float32"), Z: T.Tensor((32, 128), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((32, 128), "float32")
            y = T.alloc_fragment((32, 128), "float32")
            T.copy(X, x)
            for i, j in T.Parallel(32, 128):
                y[i, j] = x[i, j] * 2
            for i, j in T.Parallel(32, 128):
                x[i, j] = x[i, j] + y[i, j]
            for i, j in T.Parallel(32, 128):
                x[i, j] = x[i, j] * x[i, j]
            T.copy(x, Y)
            T.copy(y, Z)

    return main


@pytest.mark.parametrize("tiles", [1, 2])
def test_overwritten_blocks_in_parts(tiles: int) -> None:
    before = placed(updated_twice())
    launch = blocks_of_their_own(before.launches[0])
    launch, _ = split_blocks(before, launch, Side.COLUMNS, tiles, loads_whole=True)
    values = {name: np.arange(32 * 128, dtype=np.float32).reshape(32, 128) * (name == "X") for name in ("X", "Y", "Z")}
    found = interpret(replace(before, launches=(launch,)), values)
    x = values["X"]
    assert np.array_equal(found["Y"], (3 * x) ** 2)
    assert np.array_equal(found["Z"], 2 * x)
