"""C lower_positions: what depends on the place is a constant tile and a number; masks of whole blocks are decided."""

from typing import Any

import tilelang.language as T

from tilelang_tt.ir import scalar
from tilelang_tt.ir.elements import Apply
from tilelang_tt.ir.facts import Facts
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.tile import Map
from tilelang_tt.passes.c_tile.lower_positions import lower_positions

from .kernels import small_integers
from .stages import after, body, keeps_meaning
from .vector_kernels import attention, band


def test_a_causal_mask_is_computed_on_the_diagonal_alone() -> None:
    """Blocks above the diagonal have no case: the loop ends before them."""
    assert """\
  Branch n < bx
    Fill scores = 0
  Else
    Map scores = mask[tile 0]
  Gemm scores += q @ k^T
""" in body(after(lower_positions, attention()))
    assert keeps_meaning(lower_positions, attention(), small_integers(dict.fromkeys("QKV", (128, 32))))


def test_two_conditions_and_nothing_to_do() -> None:
    """Three blocks along each side: none is more than 64 columns right of the diagonal."""
    assert (
        body(after(lower_positions, band()))
        == """\
Load A tiles (by, bx) 1 x 1 -> x
Branch by < bx
  Branch by < bx
    Map x = where(mask_1[tile (0 if by + tile_row + 2 < bx + tile_col else (1 if by + tile_row + 1 < bx + \
tile_col else (2 if by + tile_row < bx + tile_col else 3)))], x, 0)
Else
  Branch bx + 1 < by
    Fill x = 0
  Else
    Map x = where(and(mask[tile (0 if bx + tile_col + 1 < by + tile_row else (1 if bx + tile_col < by + tile_row \
else (2 if bx + tile_col < by + tile_row + 1 else 3)))], mask_1[tile (0 if by + tile_row + 2 < bx + tile_col else \
(1 if by + tile_row + 1 < bx + tile_col else (2 if by + tile_row < bx + tile_col else 3)))]), x, 0)
Store x -> B tiles (by, bx) 1 x 1
"""
    )
    assert keeps_meaning(lower_positions, band(), small_integers({"A": (96, 96)}))


def squares_of_some_rows() -> Any:
    @T.prim_func
    def main(A: T.Tensor((96, 32), "float32"), B: T.Tensor((96, 32), "float32"), n: T.int32):
        with T.Kernel(3, threads=128) as by:
            x = T.alloc_fragment((32, 32), "float32")
            T.copy(A[by * 32, 0], x)
            for i, j in T.Parallel(32, 32):
                x[i, j] = T.if_then_else(by * 32 + i < n, x[i, j], 1) * T.if_then_else(by * 32 + i < n, x[i, j], 1)
            T.copy(x, B[by * 32, 0])

    return main


def test_a_position_that_occurs_twice_is_computed_once() -> None:
    (launch,) = after(lower_positions, squares_of_some_rows()).launches
    maps = [stmt.value for stmt in walk(launch.body) if isinstance(stmt, Map)]
    squares = [value for value in maps if isinstance(value, Apply) and isinstance(value.args[0], Apply)]
    assert [square.op for square in squares] == ["mul"]
    assert squares[0].args[0] == squares[0].args[1]


def test_blocks_of_a_size_begin_inside_it() -> None:
    """So a tail's mask is computed where a block ends behind the size, and no case is left for one beyond it."""
    size, block = scalar.var("n"), scalar.var("k")
    known = Facts()
    known.positive(size)
    known.add(block, scalar.ceildiv(size, 128))
    assert known.proves(block * 128 < size)
    assert not known.proves(block * 128 + 1 < size)
    assert known.with_loop(scalar.var("i"), scalar.const(4)).proves(block * 128 < size)
