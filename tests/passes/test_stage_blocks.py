"""C stage_blocks: blocks from and to other kernels that are copied, where too many are needed at the same time."""

from typing import Any

import pytest
import tilelang.language as T

from tilelang_tt.ir.tile import Launch
from tilelang_tt.passes.c_tile import pool_blocks, share_blocks
from tilelang_tt.passes.c_tile import stage_blocks as module
from tilelang_tt.passes.c_tile.stage_blocks import stage_blocks

from .kernels import small_integers
from .stages import before, body, facts, keeps_meaning


def two_and_two() -> Any:
    """Both blocks come before either is used, both results go after both were computed."""

    @T.prim_func
    def main(X: T.Tensor((64, 32), "float32"), Y: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((32, 32), "float32")
            b = T.alloc_shared((32, 32), "float32")
            p = T.alloc_fragment((32, 32), "float32")
            q = T.alloc_fragment((32, 32), "float32")
            T.copy(X[0, 0], a)
            T.copy(X[32, 0], b)
            for i, j in T.Parallel(32, 32):
                p[i, j] = a[i, j] * b[i, j]
            for i, j in T.Parallel(32, 32):
                q[i, j] = a[i, j] - b[i, j]
            T.copy(p, Y[0, 0])
            T.copy(q, Y[32, 0])

    return main


def numbers(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """As if the chip had `most` circular buffers."""

    def fits(launch: Launch, *_: object) -> bool:
        return sum(1 + stream.second_view for stream in launch.streams.values()) <= most

    monkeypatch.setattr(module, "few_enough", fits)
    monkeypatch.setattr(share_blocks, "fits", fits)
    monkeypatch.setattr(pool_blocks, "few_enough", fits)


def test_nothing_is_copied_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    program = before(stage_blocks, two_and_two())
    assert stage_blocks(program) == program
    numbers(monkeypatch, len(program.launches[0].streams))
    assert stage_blocks(program) == program


def test_blocks_go_through_others(monkeypatch: pytest.MonkeyPatch) -> None:
    program = before(stage_blocks, two_and_two())
    numbers(monkeypatch, 3)  # one from the reader, one to the writer, one for all blocks of compute's own
    copied = stage_blocks(program)
    assert (
        body(copied)
        == """\
Load X tiles (0, 0) 1 x 1 -> a_in
Map a = a_in
Load X tiles (1, 0) 1 x 1 -> b_in
Map b = b_in
Maps p = a * b; q = a - b
Map p_out = p
Store p_out -> Y tiles (0, 0) 1 x 1
Map q_out = q
Store q_out -> Y tiles (1, 0) 1 x 1
"""
    )
    ends = {line.split(":")[0]: line.split("; ")[2].split(",")[0] for line in facts(copied, "buffer")}
    assert ends == {
        **dict.fromkeys(("a", "b", "p", "q"), "compute -> compute"),
        **dict.fromkeys(("a_in", "b_in"), "reader -> compute"),
        **dict.fromkeys(("p_out", "q_out"), "compute -> writer"),
    }
    assert keeps_meaning(stage_blocks, two_and_two(), small_integers({"X": (64, 32)}))
