"""share_blocks: blocks that are never needed at the same time, where the chip has too few circular buffers."""

from dataclasses import replace
from typing import Any

import pytest
import tilelang.language as T

from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.passes.fit_l1.share_blocks import share_blocks
from tilelang_tt.passes.fit_l1.share_buffers import share_buffers

from .kernels import small_integers
from .stages import before, body, numbers, same_meaning, with_numbers


def three_maxima() -> Any:
    """`a` and `b` follow each other; `kept` is needed after both."""

    @T.prim_func
    def main(X: T.Tensor((32, 64), "float32"), Y: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((32, 64), "float32")
            kept = T.alloc_fragment((32,), "float32")
            a = T.alloc_fragment((32,), "float32")
            b = T.alloc_fragment((32,), "float32")
            T.copy(X, x)
            T.reduce_max(x, kept, dim=1)
            T.reduce_sum(x, a, dim=1)
            for i, j in T.Parallel(32, 64):
                x[i, j] = x[i, j] * a[i]
            T.reduce_sum(x, b, dim=1)
            for i, j in T.Parallel(32, 64):
                x[i, j] = x[i, j] - b[i]
            T.reduce_sum(x, a, dim=1)
            for i in T.Parallel(32):
                a[i] = a[i] * kept[i]
            T.copy(a, Y)

    return main


def sharing(program: TileProgram) -> TileProgram:
    launch, decisions = share_blocks(program, program.launches[0])
    return replace(program, launches=(launch,)).with_decisions(*decisions)


def test_nothing_changes_where_everything_fits() -> None:
    program = before(share_buffers, three_maxima())
    assert sharing(program) == program
    assert share_buffers(program) == program


def test_blocks_that_follow_each_other_become_one(monkeypatch: pytest.MonkeyPatch) -> None:
    program = before(share_buffers, three_maxima())
    with_numbers(monkeypatch, 0)
    shared = sharing(program)
    pairs = {(decision.subject, decision.text.split("'")[1]) for decision in shared.decisions[len(program.decisions) :]}
    assert ("b", "kept") not in pairs
    assert ("a", "kept") not in pairs
    assert pairs
    assert len(shared.launches[0].streams) == len(program.launches[0].streams) - len(pairs)
    assert "kept" in body(shared)


def test_no_more_than_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    program = before(share_buffers, three_maxima())
    launch = program.launches[0]
    with_numbers(monkeypatch, numbers(launch) - 1)
    assert len(sharing(program).launches[0].streams) == len(launch.streams) - 1


def two_transfers() -> Any:
    """`a` and `b` follow each other, and so do the blocks that go out; `kept` is loaded before and read after."""

    @T.prim_func
    def main(X: T.Tensor((96, 32), "float32"), Y: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=128):
            kept = T.alloc_shared((32, 32), "float32")
            a = T.alloc_shared((32, 32), "float32")
            b = T.alloc_shared((32, 32), "float32")
            p = T.alloc_fragment((32, 32), "float32")
            q = T.alloc_fragment((32, 32), "float32")
            T.copy(X[64, 0], kept)
            T.copy(X[0, 0], a)
            for i, j in T.Parallel(32, 32):
                p[i, j] = a[i, j] * 2
            T.copy(p, Y[0, 0])
            T.copy(X[32, 0], b)
            for i, j in T.Parallel(32, 32):
                q[i, j] = b[i, j] * kept[i, j]
            T.copy(q, Y[32, 0])

    return main


def test_blocks_between_kernels_share_by_the_same_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    program = before(share_buffers, two_transfers())
    assert [buffer.name for buffer in program.launches[0].streams] == ["kept", "a", "b", "p", "q"]
    with_numbers(monkeypatch, 0)
    shared = sharing(program)
    assert [buffer.name for buffer in shared.launches[0].streams] == ["kept", "a", "p"]
    assert same_meaning(program, shared, small_integers({"X": (96, 32)}))
