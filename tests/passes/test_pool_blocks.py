"""pool_blocks and rotate_pools: several blocks of compute's own in one circular buffer."""

from dataclasses import replace
from typing import Any

import pytest
import tilelang.language as T

from tilelang_tt.diagnostics import InternalError
from tilelang_tt.ir.cb import CbCall
from tilelang_tt.ir.engine import PackTile
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.room import stored
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.options import Options
from tilelang_tt.passes.d_split.lower_compute_tasks import lower_compute_tasks
from tilelang_tt.passes.f_verify.verify_kernels import verify_kernels
from tilelang_tt.passes.fit_l1.pool_blocks import pool_blocks
from tilelang_tt.passes.fit_l1.share_buffers import share_buffers
from tilelang_tt.pipeline import run_passes

from .edits import altered, at, find, places, removed
from .kernels import small_integers
from .stages import before, facts, kernel_body, kernels_after, numbers, same_meaning, with_numbers


def three_sums() -> Any:
    """`outer` is written once, `a` and `b` in every round; all are needed at the end."""

    @T.prim_func
    def main(X: T.Tensor((64, 32), "float32"), Y: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((32, 32), "float32")
            a = T.alloc_fragment((32, 32), "float32")
            b = T.alloc_fragment((32, 32), "float32")
            outer = T.alloc_fragment((32, 32), "float32")
            T.clear(a)
            T.clear(b)
            T.copy(X[0, 0], x)
            for i, j in T.Parallel(32, 32):
                outer[i, j] = x[i, j] + 1
            for k in T.serial(2):
                T.copy(X[k * 32, 0], x)
                for i, j in T.Parallel(32, 32):
                    a[i, j] += x[i, j]
                for i, j in T.Parallel(32, 32):
                    b[i, j] = b[i, j] * a[i, j]
            for i, j in T.Parallel(32, 32):
                b[i, j] = a[i, j] * b[i, j] + outer[i, j]
            T.copy(b, Y)

    return main


def pooling(program: TileProgram) -> TileProgram:
    launch, decisions = pool_blocks(program, program.launches[0])
    return replace(program, launches=(launch,)).with_decisions(*decisions)


def pools(program: TileProgram) -> list[str]:
    """name; at tile ... of each block that lies in a pool."""
    lines = [line for line in facts(program, "buffer") if "; at tile" in line]
    return [line.split(":")[0] + line[line.index("; at tile") :] for line in lines]


def test_a_block_has_its_own_buffer_where_they_suffice() -> None:
    program = before(share_buffers, three_sums())
    assert pooling(program) == program


def test_too_little_l1_is_no_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    program = before(share_buffers, three_sums())
    tight = replace(program.options.chip, l1_bytes=program.options.chip.l1_bytes - program.options.chip.l1_usable)
    monkeypatch.setattr(Options, "chip", property(lambda _: tight))
    assert pooling(program) == program


def test_only_as_many_as_needed_those_outside_of_loops_first(monkeypatch: pytest.MonkeyPatch) -> None:
    program = before(share_buffers, three_sums())
    count, most = len(program.launches[0].streams), numbers(program.launches[0])
    with_numbers(monkeypatch, most - 1)
    two = pooling(program)
    assert pools(two) == ["a; at tile 1 of pool_Float32", "outer; at tile 0 of pool_Float32"]
    assert [decision.text for decision in two.decisions[len(program.decisions) :]] == [
        "lies at tile 0 of 'pool_Float32', beside other blocks of compute's own",
        "lies at tile 1 of 'pool_Float32', beside other blocks of compute's own",
    ]
    with_numbers(monkeypatch, most - 2)
    three = pooling(program)
    assert len(pools(three)) == 3
    assert len(stored(three.launches[0]).streams) == count - 2
    assert same_meaning(program, three, small_integers({"X": (64, 32)}))


def test_every_section_that_writes_takes_the_pool_round(monkeypatch: pytest.MonkeyPatch) -> None:
    with_numbers(monkeypatch, 3)
    kernels = kernels_after(lower_compute_tasks, three_sums())
    text = kernel_body(kernels, "compute")
    assert text.startswith("reserve pool_Float32 3\npush pool_Float32 3\nfor unit in ")
    assert text.endswith("\nwait pool_Float32 3\npop pool_Float32 3\n")
    start, end = text.index("  for k in"), text.index("  reserve b_out")
    assert (
        text[start:end]
        == """\
  for k in 0 .. 2
    wait x_in 1
    wait pool_Float32 3
    math
      copy pool_Float32[a_at] -> DST[0]
      copy x_in[0] -> DST[1]
      sfpu add_binary_tile DST[0], DST[1] -> DST[0]
      copy pool_Float32[b_at] -> DST[1]
      sfpu mul_binary_tile DST[1], DST[0] -> DST[1]
      pop pool_Float32 3
    pack
      reserve pool_Float32 3
      pack DST[0] -> pool_Float32[a_at]
      pack DST[1] -> pool_Float32[b_at]
      push pool_Float32 3
    pop x_in 1
"""
    )


def test_the_verifier_keeps_blocks_of_a_pool_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    with_numbers(monkeypatch, 3)
    _, (kernels,) = run_passes(three_sums(), Options(), lambda *_: None)
    place = find(kernels, Role.COMPUTE, PackTile)
    beyond = at(kernels.kernel(Role.COMPUTE).body, place).index + 1
    with pytest.raises(InternalError, match=r"TT944.*tile a_at \+ 1 of 'pool_Float32' is packed"):
        verify_kernels(altered(kernels, Role.COMPUTE, place, index=beyond))


def test_no_step_of_a_round_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with_numbers(monkeypatch, 3)
    _, (kernels,) = run_passes(three_sums(), Options(), lambda *_: None)
    body = kernels.kernel(Role.COMPUTE).body
    steps = [place for place in places(body) if isinstance(at(body, place), CbCall)]
    assert len(steps) > 20
    for place in steps:
        with pytest.raises(InternalError):
            verify_kernels(removed(kernels, Role.COMPUTE, place))
