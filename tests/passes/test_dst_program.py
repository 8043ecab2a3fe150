"""dst_program: which instructions an expression becomes, in which tiles of DST."""

from tilelang_tt.ir import scalar
from tilelang_tt.ir.tile import Apply, Buffer, Element, ElementExpr, Memory, Number, Scalar
from tilelang_tt.ops.derived import DERIVED
from tilelang_tt.passes.c_tile.dst_program import Compute, Fetch, dst_program

X = Element(Buffer("X", "float32", (32, 32), Memory.SHARED))


def calls(value: ElementExpr) -> list[str]:
    steps = dst_program(value).steps
    return [step.instruction.call.partition("(")[0] for step in steps if isinstance(step, Compute)]


def test_a_part_that_occurs_twice_is_computed_once() -> None:
    """exp(X) * sigmoid(exp(X)): sigmoid works in place, so that it gets a copy."""
    part = Apply("exp", (X,))
    value = Apply("mul", (part, Apply("sigmoid", (part,))))
    assert calls(value) == ["exp_tile", "copy_dest_values<{format}>", "sigmoid_tile", "mul_binary_tile"]
    assert dst_program(value).slots == 2


def test_a_part_is_computed_again_where_dst_has_no_room_for_it() -> None:
    """A balanced tree of eight leaves fills a 32-bit DST; its first leaf is needed once more at the end."""

    def tree(depth: int, first: ElementExpr) -> ElementExpr:
        if depth == 0:
            return first
        other = Element(Buffer("Y", "float32", (32, 32), Memory.SHARED))
        return Apply("add", (tree(depth - 1, first), tree(depth - 1, other)))

    part = Apply("exp", (X,))
    value = Apply("mul", (tree(3, part), part))
    assert dst_program(value).slots == 4
    assert calls(value).count("exp_tile") == 2


def test_one_tile_times_itself_needs_one_slot() -> None:
    program = dst_program(Apply("mul", (X, X)))
    assert program.slots == 1
    assert [type(step) for step in program.steps] == [Fetch, Compute]


def test_the_instruction_depends_on_the_numbers() -> None:
    n = Scalar(scalar.var("n"))
    assert calls(Apply("max", (Number(0.0), X))) == ["relu_tile"]
    assert calls(Apply("max", (X, Number(1.0)))) == ["unary_max_tile"]
    assert calls(Apply("lt", (Number(0.0), X))) == ["gtz_tile"]
    assert calls(Apply("lt", (Number(2.0), X))) == ["unary_gt_tile"]
    assert calls(Apply("mul", (n, X))) == ["mul_unary_tile"]
    assert calls(Apply("div", (X, n))) == ["div_binary_tile"]  # nobody takes its reciprocal at run time


def test_views_of_bits_need_no_instruction() -> None:
    exponent = DERIVED["shift_right_uint32"].tree(Apply("bits_of", (X,)), Number(23.0))
    assert calls(exponent) == ["right_shift_tile<DataFormat::Int32>", "bitwise_and_tile<DataFormat::Int32>"]
