"""C lower_positions: what depends on the place is a constant tile and a number; masks of whole blocks are decided."""

from tilelang_tt.ir import scalar
from tilelang_tt.ir.facts import Facts
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


def test_blocks_of_a_size_begin_inside_it() -> None:
    """So a tail's mask is computed where a block ends behind the size, and no case is left for one beyond it."""
    size, block = scalar.var("n"), scalar.var("k")
    known = Facts()
    known.positive(size)
    known.add(block, scalar.ceildiv(size, 128))
    assert known.proves(block * 128 < size)
    assert not known.proves(block * 128 + 1 < size)
    assert known.with_loop(scalar.var("i"), scalar.const(4)).proves(block * 128 < size)
