"""A block that only the end of a loop's round fills is zeros in the first, and the user is told."""

import pytest
import tilelang
import tilelang.language as T
import torch

from tilelang_tt.cpu.kernel import CpuKernel
from tilelang_tt.diagnostics import TenstorrentWarning
from tilelang_tt.frontend.lift import lift
from tilelang_tt.ir.tile import Fill, Loop
from tilelang_tt.options import Options
from tilelang_tt.passes.raise_elements.fill_before_use import fill_before_use
from tilelang_tt.passes.raise_elements.raise_to_tiles import raise_to_tiles


def running_sums(rows: int):
    """H is the sum of all rounds before this one; its first value is nobody's."""

    @T.prim_func
    def main(A: T.Tensor((rows * 32, 64), "float32"), B: T.Tensor((rows * 32, 64), "float32")):
        with T.Kernel(1, threads=128):
            H = T.alloc_shared((32, 64), "float32")
            S = T.alloc_fragment((32, 64), "float32")
            X = T.alloc_shared((32, 64), "float32")
            T.clear(S)
            for k in T.serial(rows):
                T.copy(H, B[k * 32, 0])  # too early
                T.copy(A[k * 32, 0], X)
                for i, j in T.Parallel(32, 64):
                    S[i, j] += X[i, j]
                T.copy(S, H)

    return main


def test_the_user_is_told() -> None:
    with pytest.warns(TenstorrentWarning) as warnings:
        program = fill_before_use(raise_to_tiles(lift(running_sums(3), Options())))
    zeros, clear, loop = program.launches[0].body
    assert [type(stmt) for stmt in (zeros, clear, loop)] == [Fill, Fill, Loop]
    assert (zeros.dst.name, zeros.value, clear.dst.name) == ("H", 0.0, "S")
    (warning,) = warnings
    assert str(warning.message).partition(": ")[2] == (
        "warning[TT701]: a loop reads 'H' in its first round and fills it only afterwards; it starts as zeros\n"
        "    T.copy(H, B[k * 32, 0])  # too early\n"
        "  help: T.clear it before the loop to say so"
    )
    assert [(decision.subject, decision.text) for decision in program.decisions[-1:]] == [
        ("H", "TT701: starts as zeros")
    ]


@pytest.mark.filterwarnings("ignore:.*TT701")
def test_device_and_reference_start_with_zeros() -> None:
    a = torch.arange(4 * 32 * 64, dtype=torch.float32).reshape(128, 64) % 13
    rounds = a.reshape(4, 32, 64)
    expected = (rounds.cumsum(0) - rounds).reshape(128, 64)
    func, b = running_sums(4), torch.empty_like(a)
    torch.testing.assert_close(tilelang.compile(func, out_idx=[-1], target="tenstorrent")(a), expected, rtol=0, atol=0)
    CpuKernel(func)(a, b)
    torch.testing.assert_close(b, expected, rtol=0, atol=0)


def test_blocks_that_are_filled_or_added_to_first_are_left_alone() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 64), "float32")
            Y = T.alloc_fragment((32, 64), "float32")
            T.copy(A[0, 0], X)
            for k in T.serial(2):
                for i, j in T.Parallel(32, 64):
                    Y[i, j] = X[i, j] * 2.0
                T.copy(Y, B[k * 32, 0])
                T.copy(A[k * 32, 0], X)

    program = fill_before_use(raise_to_tiles(lift(main, Options())))
    assert not any(isinstance(stmt, Fill) for stmt in program.launches[0].body)
