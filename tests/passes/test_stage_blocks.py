"""stage_blocks: blocks from and to other kernels that are copied, where too many are needed at the same time."""

from dataclasses import replace
from typing import Any

import pytest
import tilelang.language as T

from tilelang_tt.ir.room import stored
from tilelang_tt.passes.fit_l1.share_buffers import share_buffers
from tilelang_tt.passes.fit_l1.stage_blocks import stage_blocks

from .kernels import small_integers
from .stages import before, body, facts, numbers, same_meaning, with_numbers


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


def test_nothing_is_copied_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    program = before(share_buffers, two_and_two())
    assert share_buffers(program) == program
    with_numbers(monkeypatch, numbers(program.launches[0]))
    assert share_buffers(program) == program


def test_blocks_go_through_others(monkeypatch: pytest.MonkeyPatch) -> None:
    program = before(share_buffers, two_and_two())
    *_, (launch, decisions) = stage_blocks(program, program.launches[0])
    assert [decision.subject for decision in decisions] == ["a", "b", "p", "q"]
    copied = replace(program, launches=(launch,))
    assert (
        body(copied)
        == """\
Load X tiles (0, 0) 1 x 1 -> a_in
Map a = a_in
Load X tiles (1, 0) 1 x 1 -> b_in
Map b = b_in
Section
  Map p = a * b
  Map q = a - b
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
    assert same_meaning(program, copied, small_integers({"X": (64, 32)}))


def test_they_are_copied_where_there_are_too_few_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """One from the reader, one to the writer, one for all blocks of compute's own."""
    program = before(share_buffers, two_and_two())
    with_numbers(monkeypatch, 3)
    fitting = share_buffers(program)
    assert len(stored(fitting.launches[0]).streams) == 3
    stages = [decision.stage for decision in fitting.decisions[len(program.decisions) :]]
    assert stages == ["stage_blocks"] * 4 + ["share_blocks"] * 2 + ["pool_blocks"] * 4
    assert same_meaning(program, fitting, small_integers({"X": (64, 32)}))
