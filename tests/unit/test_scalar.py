"""Scalar expressions: what is remembered about them, and what is known of their variables."""

from tvm import tirx

from tilelang_tt.ir import scalar
from tilelang_tt.ir.facts import Facts


def test_simplifying_the_same_form_twice_gives_the_same_expression() -> None:
    x = scalar.var("x")
    assert scalar.simplify(x * 2 + x).same_as(scalar.simplify(x * 2 + x))
    assert not scalar.same_form(x * 2, scalar.var("x") * 2)  # another variable of that name


def test_elements_of_tensors_that_look_alike_are_told_apart() -> None:
    x = scalar.var("x")
    first, second = (tirx.decl_buffer((4,), "int32", "table") for _ in range(2))
    simple = [scalar.simplify(table[x] + 0) for table in (first, second)]
    assert [load.buffer.same_as(table) for load, table in zip(simple, (first, second), strict=True)] == [True, True]


def test_variables_of_an_expression_in_order_of_appearance() -> None:
    x, y = scalar.var("x"), scalar.var("y")
    assert [one.name for one in scalar.variables(y * 2 + x - y)] == ["y", "x"]
    assert scalar.variables(scalar.const(3)) == []


def test_facts_of_a_loop_add_to_those_around_it() -> None:
    block, round_number, other = (scalar.var(name) for name in ("block", "round", "other"))
    around = Facts(blocks=[(block, scalar.const(4))])
    inside = around.with_loop(round_number, scalar.const(8))
    assert inside.proves(block + round_number < 11)
    assert not around.proves(block + round_number < 11)
    assert not inside.proves(block + round_number < 10)
    assert inside.proves(other * 0 == 0)
    assert not inside.proves(other >= 0)


def test_facts_of_a_loop_in_steps() -> None:
    tile = scalar.var("tile")
    inside = Facts().with_loop(tile, scalar.const(8), step=2)
    assert inside.divisible(tile, 2)
    assert not inside.divisible(tile, 4)
