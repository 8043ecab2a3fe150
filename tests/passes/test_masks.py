"""C masks: conditions on positions as constant tiles; every element of a block sees its own condition."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tilelang_tt.arch import TILE
from tilelang_tt.ir import scalar, scalar_text
from tilelang_tt.ir.elements import TILE_COL, TILE_ROW, Index, Number
from tilelang_tt.ir.layout import BufferLayout, MaskTile
from tilelang_tt.ops.expressions import apply
from tilelang_tt.passes.c_tile.masks import MAX_TILES, Border, border_of, is_bfloat16, mask

N = scalar.var("n")
FACTORS = st.integers(-3, 3)


def layout(rows: int, cols: int) -> BufferLayout:
    return BufferLayout(rows, cols, "Float16_b", 2048)


def holds(tile: MaskTile) -> np.ndarray:
    i, j = np.indices((TILE, TILE))
    return np.where(tile.offset + tile.row * i + tile.col * j >= 0, tile.yes, tile.no) == 1


@settings(max_examples=300, deadline=None)
@given(
    FACTORS,
    FACTORS,
    st.sampled_from([0, 16, 32, 64, -96]),
    st.integers(-150, 150),
    st.integers(1, 3),
    st.integers(1, 3),
)
def test_every_element(row: int, col: int, step: int, start: int, rows: int, cols: int) -> None:
    """For every value of the base; `divided` only for those that the border goes through."""
    block = layout(rows, cols)
    border = Border(row, col, scalar.simplify(N * step + start))
    i, j = np.indices((rows * TILE, cols * TILE))
    for n in range(-8, 9):
        expected = row * i + col * j + step * n + start >= 0
        for divided in (False, True):
            found = mask(border, 1.0, 0.0, block, divided=divided)
            if found is None or (divided and expected.all() == expected.any()):
                continue
            tiles, which = found
            for place in np.ndindex(rows, cols):
                number = scalar_text.evaluate(which, {N: n, TILE_ROW: place[0], TILE_COL: place[1]})
                part = tuple(slice(at * TILE, at * TILE + TILE) for at in place)
                assert (holds(tiles.tiles[number]) == expected[part]).all()


def test_a_diagonal_of_whole_tiles_needs_three() -> None:
    found = mask(Border(1, -1, N * 64), 0.0, -np.inf, layout(2, 2), divided=True)
    assert found is not None
    assert [(tile.offset, tile.uniform) for tile in found[0].tiles] == [(0, -np.inf), (0, None), (0, 0.0)]
    assert scalar.variables(found[1]) == [TILE_ROW, TILE_COL]  # the block is on the diagonal: n is 0


def test_one_tile_needs_no_choice() -> None:
    found = mask(Border(1, -1, N * 32), 0.0, -np.inf, layout(1, 1), divided=True)
    assert found is not None
    assert (len(found[0].tiles), scalar.int_value(found[1])) == (1, 0)


def test_borders_anywhere_are_too_many() -> None:
    assert mask(Border(1, -1, N), 0.0, 1.0, layout(2, 2), divided=True) is None
    assert MAX_TILES == 4


def test_border_of() -> None:
    base = scalar.const(5)
    signs = {"ge": (2, -1, 5), "gt": (2, -1, 4), "le": (-2, 1, -5), "lt": (-2, 1, -6)}
    for op, expected in signs.items():
        border = border_of(apply(op, Index((2, -1), base), Number(0, "int32")), layout(1, 1))
        assert border is not None
        assert (border.row, border.col, scalar.int_value(scalar.simplify(border.base))) == expected
    outer = Index((1, 0, 0), base)
    stack = BufferLayout(1, 1, "Float16_b", 2048, row_axis=1, col_axis=2, outer=(2,))
    assert border_of(apply("ge", outer, Number(0, "int32")), stack) is None


def test_numbers_of_a_mask() -> None:
    assert all(map(is_bfloat16, (0.0, 1.0, -np.inf, -1024.0)))
    assert not any(map(is_bfloat16, (-1e30, 0.1, -10000.0)))
