"""Blocks that need rows of their neighbours: those come over the NoC, or the layout is refused with what to write."""

from typing import Any

import pytest
import tilelang.language as T
import torch
from placed import check, moved, whole

from tilelang_tt.diagnostics import UnsupportedError

M, N, BLOCK = 128, 64, 32
HEIGHT = {"memory": "L1", "shard": "height", "grid": (4, 1)}
BLOCK_BYTES = BLOCK * N * 4


def three_points(distance: int) -> Any:
    """The sum of each row, the one `distance` above it and the one below; outside the tensor there are zeros."""

    @T.prim_func
    def main(A: T.Tensor((M, N), "float32"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(M // BLOCK, threads=128) as by:
            above = T.alloc_shared((BLOCK, N), "float32")
            here = T.alloc_shared((BLOCK, N), "float32")
            below = T.alloc_shared((BLOCK, N), "float32")
            T.copy(A[by * BLOCK - distance, 0], above)
            T.copy(A[by * BLOCK, 0], here)
            T.copy(A[by * BLOCK + distance, 0], below)
            for i, j in T.Parallel(BLOCK, N):
                here[i, j] = above[i, j] + here[i, j] + below[i, j]
            T.copy(here, C[by * BLOCK, 0])

    return main


def checked(distance: int, layouts: dict[str, Any]) -> Any:
    a = whole(M, N, dtype=torch.float32, most=50)
    padded = torch.nn.functional.pad(a, (0, 0, distance, distance))
    expected = padded[:M] + padded[distance : M + distance] + padded[2 * distance :]
    return check(three_points(distance), {"A": a, "C": torch.zeros(M, N)}, {"C": expected}, layouts)


def test_neighbours_are_read_from_their_cores() -> None:
    """A core keeps its own block, and reads the blocks above and below, or as many zeros."""
    kernel = checked(BLOCK, {"A": HEIGHT, "C": HEIGHT})
    assert moved(kernel) == (4 * 2 * BLOCK_BYTES, 0)
    told = kernel.explain(whole=True)
    assert "here_in: each core keeps its own part of 'A' and finds the blocks in it: nothing is moved" in told
    assert "above: 'A' is moved over the NoC: blocks may reach beyond its end" in told


def test_rows_that_begin_inside_tiles_are_refused() -> None:
    with pytest.raises(UnsupportedError) as error:
        checked(1, {"A": HEIGHT, "C": HEIGHT})
    assert str(error.value) == (
        "error[TT182]: target option 'layout': 'A' cannot be sharded: this kernel uses it in pieces that do not begin "
        "at tiles, and shards are of tiles\n  help: leave out shard=; memory='L1' alone is possible"
    )


def test_what_the_refusal_says_to_write() -> None:
    """Interleaved in L1, all three blocks are read; the result stays."""
    kernel = checked(1, {"A": {"memory": "L1"}, "C": HEIGHT})
    assert moved(kernel) == (4 * 3 * BLOCK_BYTES, 0)
