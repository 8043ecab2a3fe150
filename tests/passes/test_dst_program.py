"""dst_program: which instructions an expression becomes, in which tiles of DST."""

from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Memory
from tilelang_tt.ir.elements import TILE_COL, Element, ElementExpr, Number, Scalar
from tilelang_tt.ir.layout import Engine
from tilelang_tt.ir.section import Compute, DstProgram, Fetch
from tilelang_tt.ops.expressions import apply, bitcast
from tilelang_tt.passes.c_tile.dst_program import dst_program

X = Element(Buffer("X", "float32", (32, 32), Memory.SHARED))


def calls(value: ElementExpr) -> list[str]:
    steps = dst_program(value).steps
    return [step.instruction.call.partition("(")[0] for step in steps if isinstance(step, Compute)]


def test_a_part_that_occurs_twice_is_computed_once() -> None:
    """exp(X) * sigmoid(exp(X)): sigmoid works in place, so that it gets a copy."""
    part = apply("exp", X)
    value = apply("mul", part, apply("sigmoid", part))
    assert calls(value) == ["exp_tile", "copy_dest_values<{words}>", "sigmoid_tile", "mul_binary_tile"]
    assert dst_program(value).slots == 2


def test_a_part_is_computed_again_where_dst_has_no_room_for_it() -> None:
    """A balanced tree of eight leaves fills a 32-bit DST; its first leaf is needed once more at the end."""

    def tree(depth: int, first: ElementExpr) -> ElementExpr:
        if depth == 0:
            return first
        other = Element(Buffer("Y", "float32", (32, 32), Memory.SHARED))
        return apply("add", tree(depth - 1, first), tree(depth - 1, other))

    part = apply("exp", X)
    value = apply("mul", tree(3, part), part)
    assert dst_program(value).slots == 4
    assert calls(value).count("exp_tile") == 2


def test_one_tile_times_itself_needs_one_slot() -> None:
    program = dst_program(apply("mul", X, X))
    assert program.slots == 1
    assert [type(step) for step in program.steps] == [Fetch, Compute]


def test_the_instruction_depends_on_the_numbers() -> None:
    n = Scalar(scalar.var("n"), "float32")
    assert calls(apply("max", Number(0.0), X)) == ["relu_tile"]
    assert calls(apply("max", X, Number(1.0))) == ["unary_max_tile"]
    assert calls(apply("lt", Number(0.0), X)) == ["gtz_tile"]
    assert calls(apply("lt", Number(2.0), X)) == ["unary_gt_tile"]
    assert calls(apply("mul", n, X)) == ["mul_unary_tile"]
    assert calls(apply("div", X, n)) == ["div_binary_tile"]  # nobody takes its reciprocal at run time


def test_views_of_bits_need_no_instruction() -> None:
    exponent = apply("shift_right", bitcast(X, "int32"), Number(23, "int32"))
    assert calls(bitcast(exponent, "float32")) == ["right_shift_tile<DataFormat::Int32>"]


V = Element(Buffer("V", "float32", (32,), Memory.SHARED), (0,))


def text(*values: ElementExpr) -> list[str]:
    """The steps of a program for a row of tiles that all meet the same tile of V: `*` is done once for the row."""
    return lines_of(dst_program(*values, repeats={V.buffer}))


def lines_of(program: DstProgram) -> list[str]:
    lines = []
    for step in program.steps:
        mark = "*" if program.is_common(step) else ""
        if isinstance(step, Compute):
            name = step.instruction.call.partition("(")[0].partition("<")[0]
            lines.append(f"{mark}{step.slot} = {name} {' '.join(map(str, step.operands))}")
        else:
            what = step.buffer.name if isinstance(step, Fetch) else step.value
            lines.append(f"{mark}{step.slot} = {what}")
    return [*lines, f"results {program.results}, {program.slots} slots and {program.common}"]


def test_what_repeats_along_a_row_is_there_once() -> None:
    assert text(apply("exp", apply("sub", X, apply("mul", V, Number(2.0))))) == [
        "0 = X",
        "*1 = V",
        "*1 = mul_unary_tile 1",
        "0 = sub_binary_tile 0 1",
        "0 = exp_tile 0",
        "results (0,), 1 slots and 1",
    ]


def test_numbers_in_place_of_tiles_are_there_once() -> None:
    assert text(apply("where", apply("le", X, Number(0.0)), Number(0.0), Number(-1.0))) == [
        "0 = X",
        "0 = lez_tile 0",
        "*1 = 0.0",
        "*2 = -1.0",
        "0 = where_tile 0 1 2",
        "results (0,), 1 slots and 2",
    ]


def test_what_is_changed_or_packed_each_tile_has_for_itself() -> None:
    assert text(V) == ["0 = V", "results (0,), 1 slots and 0"]
    assert text(apply("exp", V)) == [
        "*1 = V",
        "*1 = exp_tile 1",
        "0 = copy_dest_values 1",
        "results (0,), 1 slots and 1",
    ]
    shifted = apply("add", V, Scalar(TILE_COL, "float32"))  # a number that differs from tile to tile
    assert text(shifted) == ["0 = V", "0 = add_unary_tile 0", "results (0,), 1 slots and 0"]


def test_several_results_share_their_parts() -> None:
    """A maximum, and the exponential of how far it is from one operand, which is in DST beforehand."""
    held = Element(Buffer("H", "float32", (32, 32), Memory.SHARED))
    largest = apply("max", held, X)
    program = dst_program(largest, apply("exp", apply("sub", X, largest)), held=held.buffer)
    assert program.steps[0] == Fetch(held.buffer, 0)
    assert (program.slots, program.results) == (2, (0, 1))
    assert len(program.steps) == 5  # two operands, one maximum, one difference, one exponential


def of_rows(*values: ElementExpr) -> list[str]:
    """The steps where of V's tiles the first row alone is there, and the vector unit spreads it."""
    return lines_of(dst_program(*values, rows={V.buffer: Engine.VECTOR}))


def test_an_instruction_spreads_the_row_it_takes() -> None:
    assert of_rows(apply("sub", apply("mul", V, X), V)) == [
        "0 = X",
        "1 = V",
        "0 = sfpu_mul_bcast_row 0 1",
        "0 = sfpu_sub_bcast_row 0 1",
        "results (0,), 2 slots and 0",
    ]


def test_what_is_computed_from_rows_is_a_row() -> None:
    assert of_rows(apply("mul", X, apply("add", V, Number(1.0)))) == [
        "0 = X",
        "1 = V",
        "1 = add_unary_tile 1",
        "0 = sfpu_mul_bcast_row 0 1",
        "results (0,), 2 slots and 0",
    ]


def test_a_row_is_spread_before_it_meets_what_takes_whole_tiles() -> None:
    """-0 + -0 is -0, and -0 + 0 is 0: no sign is lost. The row comes first, when its second slot costs nothing."""
    assert of_rows(apply("max", X, V)) == [
        "1 = V",
        "0 = -0.0",
        "0 = sfpu_add_bcast_row 0 1",
        "1 = X",
        "1 = binary_max_tile 1 0",
        "results (1,), 2 slots and 0",
    ]
    assert of_rows(V) == ["1 = V", "0 = -0.0", "0 = sfpu_add_bcast_row 0 1", "results (0,), 2 slots and 0"]


def test_a_row_that_is_spread_anywhere_is_a_tile_everywhere() -> None:
    assert of_rows(apply("mul", apply("max", X, V), V))[-3:] == [
        "1 = binary_max_tile 1 0",
        "1 = mul_binary_tile 1 0",
        "results (1,), 2 slots and 0",
    ]
