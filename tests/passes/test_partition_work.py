"""B partition_work: grid blocks become numbered units, shared out to cores."""

from dataclasses import replace

import numpy as np
import pytest
import tilelang.language as T

from tilelang_tt.ir.interpret import interpret
from tilelang_tt.options import Options
from tilelang_tt.passes.b_partition.partition_work import partition_work

from .kernels import batched_gemm, double_loop_gemm, dynamic_gemm, gemm, small_integers
from .stages import after, facts, keeps_meaning


@pytest.mark.parametrize(
    ("func", "units"),
    [
        (double_loop_gemm(), "2 by unit: bx = unit"),
        (batched_gemm(), "18 by unit: bx = unit % 3, by = unit % 6 // 3, bz = unit // 6"),
        (
            dynamic_gemm(),
            "(N + 63) // 64 * ((M + 63) // 64) by unit: bx = unit % ((N + 63) // 64), by = unit // ((N + 63) // 64)",
        ),
    ],
    ids=["1-D", "3-D", "symbolic"],
)
def test_dimensions(func, units: str) -> None:
    assert facts(after(partition_work, func), "units") == [f"{units}; 8 x 8 cores"]


def _numbered(x: int, y: int, z: int):
    """Block (x, y, z) adds its own number to its own tile, so that no two units may coincide."""

    @T.prim_func
    def main(A: T.Tensor((z, y * 32, x * 32), "float32"), B: T.Tensor((z, y * 32, x * 32), "float32")):
        with T.Kernel(x, y, z, threads=128) as (bx, by, bz):
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A[bz, by * 32, bx * 32], X)
            T.copy(X, B[bz, by * 32, bx * 32])

    return main


@pytest.mark.parametrize("grid", [(1, 1, 1), (3, 2, 2), (1, 5, 1), (2, 1, 3)])
def test_every_block_is_one_unit(grid: tuple[int, int, int]) -> None:
    x, y, z = grid
    program = after(partition_work, _numbered(x, y, z))
    given = small_integers({"A": (z, y * 32, x * 32)})
    np.testing.assert_array_equal(interpret(program, given)["B"], given["A"])


def test_meaning() -> None:
    sizes = {"M": 72, "N": 96, "K": 64}
    tensors = small_integers({"A": (72, 64), "B": (64, 96)})
    assert keeps_meaning(partition_work, dynamic_gemm(), tensors, sizes)


@pytest.mark.parametrize(
    ("options", "size", "cores", "why"),
    [
        (Options(), 1024, "8 x 8", "contiguous runs of at most 4 units over 8 x 8 cores, 0 idle"),
        (Options(), 512, "8 x 8", "contiguous runs of at most 1 units over 8 x 8 cores, 0 idle"),
        (Options(), 128, "8 x 8", "contiguous runs of at most 1 units over 8 x 8 cores, 60 idle"),
        (
            Options(arch="blackhole"),
            1024,
            "13 x 10",
            "contiguous runs of at most 2 units over 13 x 10 cores, 0 idle",
        ),
        (Options(grid=(2, 3)), 1024, "2 x 3", "contiguous runs of at most 43 units over 2 x 3 cores, 0 idle"),
    ],
    ids=["more units than cores", "as many", "fewer", "blackhole", "chosen grid"],
)
def test_cores(options: Options, size: int, cores: str, why: str) -> None:
    blocks = size // 64
    program = after(partition_work, gemm(size, size, 32), replace(options, multicast=False, blocks=False))
    assert facts(program, "units") == [
        f"{blocks * blocks} by unit: bx = unit % {blocks}, by = unit // {blocks}; {cores} cores"
    ]
    assert program.decisions[-1].text == why
