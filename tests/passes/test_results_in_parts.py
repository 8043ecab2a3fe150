"""fit_l1: long results are stored part by part where a core could not do something else meanwhile."""

from typing import Any

import numpy as np
import tilelang.language as T

from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.interpret import Array, interpret
from tilelang_tt.ir.room import room
from tilelang_tt.ir.tile import Launch, Loop, Store, TileProgram
from tilelang_tt.options import Options
from tilelang_tt.passes.b_partition.partition_work import partition_work
from tilelang_tt.pipeline import run_passes

from .stages import after


def scaled(rows: int, cols: int) -> Any:
    """Rows of tiles, one for a unit of work, divided by their sums."""

    @T.prim_func
    def main(X: T.Tensor((rows, cols), "bfloat16"), Y: T.Tensor((rows, cols), "bfloat16")):
        with T.Kernel(rows // 32, threads=128) as bx:
            x = T.alloc_fragment((32, cols), "float32")
            s = T.alloc_fragment((32,), "float32")
            T.copy(X[bx * 32, 0], x)
            for i, j in T.Parallel(32, cols):
                x[i, j] = T.exp(x[i, j])
            T.reduce_sum(x, s, dim=1)
            for i, j in T.Parallel(32, cols):
                x[i, j] = x[i, j] / s[i]
            T.copy(x, Y[bx * 32, 0])

    return main


def finished(func: Any) -> tuple[TileProgram, Launch]:
    program, _ = run_passes(func, Options(), lambda *_: None)
    return program, program.launches[0]


def parts_of_stores(launch: Launch) -> list[int]:
    """Tiles of what is stored at a time, of stores in loops."""
    loops = [stmt for stmt in walk(launch.body) if isinstance(stmt, Loop)]
    return [stmt.dst.cols for loop in loops for stmt in loop.body if isinstance(stmt, Store)]


def test_one_unit_for_a_core() -> None:
    _, launch = finished(scaled(64 * 32, 2048))
    assert parts_of_stores(launch) == [16]


def test_with_further_units_whole_results_leave_compute_free() -> None:
    _, launch = finished(scaled(256 * 32, 2048))
    assert parts_of_stores(launch) == []


def test_room_for_a_second_block_of_what_is_loaded() -> None:
    """128 tiles: 256 KB twice in and twice out, and 512 KB as float32, are too much; only one would come at a time."""
    program, launch = finished(scaled(256 * 32, 4096))
    assert parts_of_stores(launch) == [16]
    assert all(room(program, launch).depths[b] == stream.depth for b, stream in launch.streams.items())


def test_short_results_stay_whole() -> None:
    _, launch = finished(scaled(64 * 32, 512))
    assert parts_of_stores(launch) == []


def test_the_meaning_is_the_same() -> None:
    func = scaled(64, 2048)
    x = np.random.default_rng(3).standard_normal((64, 2048)).astype(np.float32)
    program, launch = finished(func)
    assert parts_of_stores(launch) == [16]
    assert np.allclose(_result(program, x), _result(after(partition_work, func), x), rtol=2**-8)


def _result(program: TileProgram, x: Array) -> Array:
    return interpret(program, {"X": x, "Y": np.zeros_like(x)})["Y"]
