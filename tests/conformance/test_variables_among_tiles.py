"""Scalar code among tile operations reads variables (T.alloc_var) that steer these: it gets their numbers."""

import pytest
import tilelang
import tilelang.language as T
import torch

from tilelang_tt.ir.tensors_of_code import codes_of, is_code
from tilelang_tt.options import Options
from tilelang_tt.pipeline import run_passes

pytestmark = pytest.mark.filterwarnings("ignore:.*TT70[24]")


def launches(func):
    """Of each launch: the pieces of scalar code in it, and whether it is nothing else."""
    program, _ = run_passes(func, Options(), lambda *_: None)
    return [(len(codes_of(launch)), is_code(launch)) for launch in program.launches]


def whole(*shape, low=-3, high=2):
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(sum(shape))).float()


def searches_from(N=64):
    """Where a search starts, and how long the loop is, changes from round to round; so does what tiles add."""

    @T.prim_func
    def main(X: T.Tensor((N, 64), "float32"), L: T.Tensor((N // 32,), "int32"), Y: T.Tensor((N, 64), "float32")):
        with T.Kernel(N // 32, threads=128) as bx:
            x = T.alloc_shared((32, 64), "float32")
            g = T.alloc_shared((64, 64), "float32")
            y = T.alloc_fragment((32, 64), "float32")
            start = T.alloc_var("int32")
            start = L[bx]
            T.copy(X[bx * 32, 0], x)
            for i, j in T.Parallel(64, 64):
                g[i, j] = T.if_then_else(i == j, 1.0, 0.0)
            T.gemm(x, g, y, clear_accum=True)
            for r in T.serial(3):
                for i in T.serial(32):
                    j = T.alloc_var("int32")
                    j = start
                    while j < 63 and y[i, j] < 1.0:
                        j = j + 1
                    y[i, start] = T.cast(j, "float32")
                start = start + r
                if start < 60:
                    for i, j in T.Parallel(32, 64):
                        y[i, j] = y[i, j] * 2.0 + start
            T.copy(y, Y[bx * 32, 0])

    return main


def searched_from(x, starts):
    found = x.clone()
    for block, start in zip(found.split(32), starts.tolist(), strict=True):
        for r in range(3):
            for row in block:
                stops = (row[start:63] >= 1.0).nonzero()
                row[start] = start + int(stops[0]) if len(stops) else 63
            start += r
            if start < 60:
                block.mul_(2.0).add_(start)
    return found


@pytest.mark.parametrize("numerics", ["fast", "exact", "chip"])
def test_a_variable_that_tiles_change(numerics):
    func, x, y = searches_from(), whole(64, 64), torch.zeros(64, 64)
    starts = torch.tensor([5, 58], dtype=torch.int32)
    assert launches(func) == [(1, False)]
    tilelang.compile(func, target={"kind": "tenstorrent", "numerics": numerics})(x, starts, y)
    assert torch.equal(y, searched_from(x, starts))


def test_a_variable_that_both_change_is_not_cut_out():
    @T.prim_func
    def main(X: T.Tensor((64, 64), "float32"), Y: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=1) as bx:
            y = T.alloc_shared((32, 64), "float32")
            start = T.alloc_var("int32")
            start = bx
            T.copy(X[bx * 32, 0], y)
            for r in T.serial(3):
                while start < 63 and y[r, start] < 1.0:
                    start = start + 1
                if start < 60:
                    for i, j in T.Parallel(32, 64):
                        y[i, j] = y[i, j] * 2.0 + start
            T.copy(y, Y[bx * 32, 0])

    x, y = whole(64, 64), torch.zeros(64, 64)
    assert launches(main) == [(1, True)]
    tilelang.compile(main, target="tenstorrent")(x, y)
    wanted = x.clone()
    for start, block in enumerate(wanted.split(32)):
        for r in range(3):
            while start < 63 and block[r, start] < 1.0:
                start += 1
            if start < 60:
                block.mul_(2.0).add_(start)
    assert torch.equal(y, wanted)
