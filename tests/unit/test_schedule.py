"""Schedules in plain numbers: every policy does every unit once, every order numbers every block once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tilelang_tt.core_ranges import CoreRange, cores_of
from tilelang_tt.explain_work import cells_of
from tilelang_tt.ir import scalar
from tilelang_tt.ir.scalar_text import evaluate
from tilelang_tt.passes.b_partition.number_blocks import numbered
from tilelang_tt.schedule import (
    ORDERS,
    PANEL_ORDERS,
    Order,
    Schedule,
    Share,
    ranges_of,
    shares,
    uncovered,
)
from tilelang_tt.schedule_order import place, z_order
from tilelang_tt.schedule_text import read_schedule, schedule_text

EXTENTS = st.one_of(st.integers(1, 12), st.sampled_from([13, 17, 31, 37, 64, 65]))
GRIDS = st.tuples(st.integers(1, 13), st.integers(1, 10))
PANELS = st.integers(1, 6)


def a_schedule(draw: st.DrawFn, columns: int, rows: int) -> tuple[Schedule, tuple[int, int]]:
    """Any schedule of columns x rows blocks, and its grid of cores."""
    policy = draw(st.sampled_from(["contiguous", "strided", "rectangle", "match", "list"]))
    order: Order = draw(st.sampled_from(ORDERS))
    panel = draw(PANELS) if order in PANEL_ORDERS else 0
    if policy == "match":
        blocks = draw(st.integers(1, columns)), draw(st.integers(1, rows))
        counts = -(-columns // blocks[0]), -(-rows // blocks[1])
        cores = tuple((x, y) for y in range(counts[1]) for x in range(counts[0]))
        found = Schedule.matching(blocks, counts, tuple(draw(st.permutations(cores))) if len(cores) < 40 else cores)
        return replace(found, order=order, panel=panel), counts
    grid = draw(GRIDS)
    ranges: tuple[CoreRange, ...] = ()
    if draw(st.booleans()):
        ranges = (CoreRange(*draw(GRIDS), (draw(st.integers(0, 5)), 20)),)
        ranges += (CoreRange(2, 3, (1, 1)),) if policy != "rectangle" and draw(st.booleans()) else ()
    core_order = draw(st.sampled_from(["row", "column"]))
    if policy == "list":
        cores = len(Schedule(ranges=ranges).cores(grid))
        dealt: list[list[int]] = [[] for _ in range(cores)]
        for unit in draw(st.permutations(range(columns * rows))) if columns * rows < 80 else range(columns * rows):
            dealt[unit * 7 % cores].append(unit)
        return Schedule("list", ranges=ranges, core_order=core_order, lists=tuple(map(tuple, dealt))), grid
    return Schedule(policy, order, panel, ranges, core_order), grid


@st.composite
def cases(draw: st.DrawFn) -> tuple[Schedule, tuple[int, int], int, int]:
    columns, rows = draw(EXTENTS), draw(EXTENTS)
    return (*a_schedule(draw, columns, rows), columns, rows)


@given(cases())
@settings(max_examples=400, deadline=None)
def test_every_block_is_done_once(case: tuple[Schedule, tuple[int, int], int, int]) -> None:
    """Walked block by block, apart from what `uncovered` counts."""
    schedule, grid, columns, rows = case
    given_out = shares(schedule, grid, columns, rows)
    done = [cell for share in given_out for cell in cells_of(schedule, share, len(given_out), columns, rows)]
    assert sorted(done) == [(column, row) for column in range(columns) for row in range(rows)]
    assert uncovered(schedule, given_out, columns, rows) is None
    assert len({share.core for share in given_out}) == len(given_out)


@given(cases())
@settings(max_examples=200, deadline=None)
def test_shares_are_even(case: tuple[Schedule, tuple[int, int], int, int]) -> None:
    schedule, grid, columns, rows = case
    given_out = shares(schedule, grid, columns, rows)
    if schedule.policy in ("contiguous", "strided"):
        counts = [share.count for share in given_out]
        assert max(counts) - min(counts) <= 1
    if schedule.policy == "rectangle":
        for side in ("columns", "rows"):
            extents = [getattr(share, side) for share in given_out]
            assert max(extents) - min(extents) <= 1


@given(cases())
@settings(max_examples=200, deadline=None)
def test_text_reads_back(case: tuple[Schedule, tuple[int, int], int, int]) -> None:
    assert read_schedule(schedule_text(case[0])) == case[0]


@given(st.sampled_from(ORDERS), PANELS, EXTENTS, EXTENTS)
@settings(max_examples=300, deadline=None)
@example("z", 1, 1, 1)
@example("z", 1, 64, 1)
@example("block-linear", 6, 5, 1)
def test_orders_number_every_block_once(order: Order, panel: int, columns: int, rows: int) -> None:
    found = {place(order, panel, unit, columns, rows) for unit in range(columns * rows)}
    assert found == {(column, row) for column in range(columns) for row in range(rows)}


def morton(column: int, row: int) -> int:
    return sum((column >> bit & 1) << 2 * bit | (row >> bit & 1) << 2 * bit + 1 for bit in range(8))


@given(EXTENTS, EXTENTS)
@settings(deadline=None)
def test_z_sorts_by_morton_code(columns: int, rows: int) -> None:
    blocks = [(column, row) for row in range(rows) for column in range(columns)]
    expected = [row * columns + column for column, row in sorted(blocks, key=lambda block: morton(*block))]
    assert [z_order(unit, columns, rows) for unit in range(columns * rows)] == expected


def rasterized(panel_width: int, index: int, columns: int, rows: int) -> tuple[int, int]:
    """What TileLang's rasterization2DRow does with blockIdx on a GPU."""
    size, panel_size = columns * rows, panel_width * columns
    panel, offset = index // panel_size, index % panel_size
    panels = -(-size // panel_size)
    stride = panel_width if panel + 1 < panels else (size - panel * panel_size) // columns
    column = columns - 1 - offset // stride if panel & 1 else offset // stride
    return column, offset % stride + panel * panel_width


@given(PANELS, EXTENTS, EXTENTS)
@settings(deadline=None)
def test_block_linear_is_the_swizzle_of_tilelang(panel: int, columns: int, rows: int) -> None:
    for unit in range(columns * rows):
        assert place("block-linear", panel, unit, columns, rows) == rasterized(panel, unit, columns, rows)
        turned = rasterized(panel, unit, rows, columns)
        assert place("block-linear-column", panel, unit, columns, rows) == turned[::-1]


COLUMNS, PLANES, ROWS, UNIT = (scalar.var(name) for name in ("columns", "planes", "rows", "unit"))
BOX = tuple(scalar.var(name) for name in ("first_column", "wide", "first_row", "high"))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("boxed", [False, True], ids=["whole", "box"])
@given(panel=PANELS, columns=EXTENTS, rows=st.integers(1, 9), planes=st.integers(1, 4), data=st.data())
@settings(max_examples=40, deadline=None)
def test_kernels_compute_the_same_for_symbolic_grids(
    order: Order, boxed: bool, panel: int, columns: int, rows: int, planes: int, data: st.DataObject
) -> None:
    """The expressions of `partition_work`, with sizes that are known at the call alone."""
    blocks = tuple((scalar.var(name), extent) for name, extent in (("bx", COLUMNS), ("by", ROWS), ("bz", PLANES)))
    indices = numbered(order, panel, UNIT, blocks, BOX if boxed else ())
    first, wide, top, high = 0, columns, 0, rows * planes
    if boxed:
        first, top = data.draw(st.integers(0, columns - 1)), data.draw(st.integers(0, rows * planes - 1))
        wide, high = data.draw(st.integers(1, columns - first)), data.draw(st.integers(1, rows * planes - top))
    known = {COLUMNS: columns, ROWS: rows, PLANES: planes, **dict(zip(BOX, (first, wide, top, high), strict=True))}
    for unit in range(wide * high):
        values = known | {UNIT: unit}
        for var, value in indices:
            values[var] = evaluate(value, values)
        column, row = place(order, panel, unit, wide, high)
        row += top
        assert [values[var] for var, _ in blocks] == [first + column, row % rows, row // rows]


def test_fewer_units_than_cores() -> None:
    for policy in ("contiguous", "strided", "rectangle"):
        counts = [share.count for share in shares(Schedule(policy), (8, 8), 1, 1)]
        assert counts == [1, *[0] * 63]


def test_a_line_of_blocks_uses_all_cores() -> None:
    for columns, rows in ((24, 1), (1, 24)):
        assert [share.count for share in shares(Schedule("rectangle"), (4, 3), columns, rows)] == [2] * 12


def test_core_order() -> None:
    assert Schedule(core_order="column").cores((2, 2)) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    (first, second, *_) = shares(Schedule("rectangle", core_order="column"), (2, 3), 6, 4)
    assert (first.core, first.columns, first.rows) == ((0, 0), 2, 2)
    assert (second.core, second.first_column, second.first_row) == ((0, 1), 2, 0)


def test_a_piece_beyond_the_grid_is_empty() -> None:
    found = shares(Schedule.matching((4,), (3,), ((0, 0), (5, 1), (2, 2))), (6, 3), 6, 1)
    assert [(share.core, share.first_column, share.count) for share in found] == [
        ((0, 0), 0, 4),
        ((5, 1), 4, 2),
        ((2, 2), 8, 0),
    ]


@pytest.mark.parametrize(
    ("given_out", "problem"),
    [
        ([Share((0, 0), 0, 2), Share((1, 0), 2, 3)], "unit 5 is done never"),
        ([Share((0, 0), 0, 4), Share((1, 0), 3, 3)], "unit 3 is done 2 times"),
        ([Share((0, 0), 0, 1), Share((1, 0), 3, 3)], "unit 1 is done never, as are 1 more"),
        ([Share((0, 0), 0, 7)], "core (0, 0) has 7 units that are not all among the 3 x 2 blocks"),
        ([], "unit 0 is done never, as are 5 more"),
    ],
)
def test_what_is_not_covered_is_found(given_out: list[Share], problem: str) -> None:
    assert uncovered(Schedule(), given_out, 3, 2) == problem


@pytest.mark.parametrize(
    ("boxes", "problem"),
    [
        ([(0, 2, 0, 2), (2, 1, 0, 2)], None),
        ([(0, 2, 0, 2), (2, 1, 0, 1)], "unit 5 is done never"),
        ([(0, 2, 0, 2), (1, 2, 0, 2)], "unit 1 is done 2 times, as are 1 more"),
        ([(1, 3, 0, 1)], "core (0, 0) has 3 units that are not all among the 3 x 2 blocks"),
    ],
)
def test_rectangles_that_do_not_fit_are_found(boxes: list[tuple[int, int, int, int]], problem: str | None) -> None:
    given_out = [Share((number, 0), 0, box[1] * box[3], *box) for number, box in enumerate(boxes)]
    assert uncovered(Schedule("rectangle"), given_out, 3, 2) == problem


def test_lists_that_do_not_fit_are_found() -> None:
    def problem(*lists: tuple[int, ...]) -> str | None:
        schedule = Schedule("list", lists=lists)
        return uncovered(schedule, shares(schedule, (2, 2), 2, 2), 2, 2)

    assert problem((3, 0), (), (1, 2)) is None
    assert problem((3, 0), (1, 2, 0)) == "unit 0 is done 2 times"
    assert problem((3, 0), (1,)) == "unit 2 is done never"
    assert problem((3, 0), (1, 2, 4)) == "core (1, 0) has 3 units that are not all among the 2 x 2 blocks"


@given(st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)), min_size=1))
@settings(deadline=None)
def test_rectangles_of_a_set_of_cores(cores: set[tuple[int, int]]) -> None:
    found = cores_of(ranges_of(sorted(cores)))
    assert len(found) == len(cores)
    assert set(found) == cores


@pytest.mark.parametrize(
    ("blocks", "pieces", "cores", "text"),
    [
        ((2, 2, 2), (1, 1, 1), ((0, 0),), "blocks of a piece and pieces are counted along one axis, or two"),
        ((2, 2), (2, 1), ((0, 0),), "2 x 1 pieces of 2 x 2 blocks on 1 cores"),
        ((2,), (2,), ((0, 0), (0, 0)), "two pieces lie on one core"),
        ((0,), (1,), ((0, 0),), "1 x 1 pieces of 0 x 1 blocks on 1 cores"),
    ],
)
def test_pieces_that_make_no_sense(blocks: tuple[int, ...], pieces: tuple[int, ...], cores, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Schedule.matching(blocks, pieces, cores)
