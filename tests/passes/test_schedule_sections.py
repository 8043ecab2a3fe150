"""C schedule_sections: tiles at a time, slots, and engines of every section."""

from collections.abc import Callable
from typing import Any

import pytest
import tilelang.language as T

from tilelang_tt.options import Options
from tilelang_tt.passes.c_tile.schedule_sections import schedule_sections

from .stages import after, body, whole_body

SHAPES = {"A": (64, 64), "B": (64, 64), "V": (64,)}


def kernel(value: Callable[..., Any], types: str = "bbb", *, twice: bool = False) -> Any:
    """C = value(a, b, v), of blocks whose types are bfloat16 (b) or float32 (f): of a, of b and v, and of C."""
    first, second, result = ({"b": "bfloat16", "f": "float32"}[letter] for letter in types)

    @T.prim_func
    def main(
        A: T.Tensor((64, 64), first),
        B: T.Tensor((64, 64), second),
        V: T.Tensor((64,), second),
        C: T.Tensor((64, 64), result),
        D: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), first)
            b = T.alloc_shared((64, 64), second)
            v = T.alloc_shared((64,), second)
            c = T.alloc_fragment((64, 64), result)
            d = T.alloc_fragment((64, 64), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.copy(V, v)
            for i, j in T.Parallel(64, 64):
                c[i, j] = value(a[i, j], b[i, j], v[j])
            T.copy(c, C)
            if twice:
                for i, j in T.Parallel(64, 64):
                    d[i, j] = value(a[i, j], b[i, j], v[j])
                T.copy(d, D)

    return main


def result_of(program: Any) -> str:
    return next(line.strip() for line in body(program).splitlines() if "Map" in line)


TAKEN: dict[str, tuple[Callable[..., Any], str, str]] = {
    "a difference": (lambda a, b, v: a - b, "bbb", "sub_tiles(a, b)"),
    "with a vector": (lambda a, b, v: a + v, "bbb", "add_tiles(a, v[j])"),
    "a square": (lambda a, b, v: a * a, "bbb", "mul_tiles(a, a)"),
    "under what keeps relative errors": (
        lambda a, b, v: T.max(T.abs(a - b) * 2, 1),
        "bbb",
        "max(abs(sub_tiles(a, b)) * 2, 1)",
    ),
    "an exact product, whatever follows": (lambda a, b, v: T.exp2(a * b), "bbf", "exp2(mul_tiles(a, b))"),
    "a product with one float32 block": (lambda a, b, v: a * b, "fbb", "mul_tiles(b, a)"),
    "one of several": (lambda a, b, v: T.exp2(v) * (a + b), "bbb", "exp2(v[j]) * add_tiles(a, b)"),
    "one operand is in DST anyway": (lambda a, b, v: (a - b) * a, "bbb", "sub_tiles(a, b) * a"),
}

LEFT: dict[str, tuple[Callable[..., Any], str]] = {
    "a float32 result": (lambda a, b, v: a + b, "bbf"),
    "float32 operands": (lambda a, b, v: a + b, "fbb"),
    "a product of float32 blocks": (lambda a, b, v: a * b, "ffb"),
    "a float32 product": (lambda a, b, v: a * b, "fbf"),
    "an error that grows": (lambda a, b, v: T.exp2(a - b), "bbb"),
    "an error that may be all that is left": (lambda a, b, v: (a - b) - v, "bbb"),
    "a comparison": (lambda a, b, v: T.if_then_else(a + b > 1, a, b), "bbb"),
    "both operands are in DST anyway": (lambda a, b, v: (a * a) * a, "bbb"),
    "a number": (lambda a, b, v: a * 3, "bbb"),
}


# How tiles are walked, and what is in the slots of DST.
SCHEDULES: dict[str, tuple[Callable[..., Any], str]] = {
    "blocks that are alike, in one run": (
        lambda a, b, v: T.exp2(a - b),
        """\
  Schedule 1 x 4 tiles by 1 x 2, in a run; slots 2
    s0 = a
    s1 = b
    s0 = sub_binary_tile(s0, s1)
    s0 = exp2_tile(s0)
    c = s0
""",
    ),
    "something that repeats along a side, row by row": (
        lambda a, b, v: T.max(a * b, v),
        """\
  Schedule 2 x 2 tiles by 1 x 2; slots 2
    s0 = mul_tiles(a, b)
    s1 = v
    s0 = binary_max_tile(s0, s1)
    c = s0
""",
    ),
}


@pytest.mark.parametrize("case", SCHEDULES)
def test_schedule(case: str) -> None:
    value, text = SCHEDULES[case]
    assert text in whole_body(after(schedule_sections, kernel(value)))


@pytest.mark.parametrize("case", TAKEN)
def test_taken(case: str) -> None:
    value, types, text = TAKEN[case]
    assert result_of(after(schedule_sections, kernel(value, types))) == f"Map c = {text}"


@pytest.mark.parametrize("case", LEFT)
def test_left_to_the_sfpu(case: str) -> None:
    value, types = LEFT[case]
    assert "_tiles" not in body(after(schedule_sections, kernel(value, types)))


@pytest.mark.parametrize("options", [{"math_fidelity": "HiFi3"}, {"fp32_acc": False}], ids=str)
def test_products_are_exact_at_full_fidelity_only(options: dict[str, Any]) -> None:
    assert "_tiles" not in body(after(schedule_sections, kernel(lambda a, b, v: a * b), Options(**options)))
    assert "add_tiles" in body(after(schedule_sections, kernel(lambda a, b, v: a + b), Options(**options)))


def test_a_part_of_two_results_must_suit_both() -> None:
    program = after(schedule_sections, kernel(lambda a, b, v: a + b, "bbb", twice=True))
    assert "_tiles" not in body(program)
    program = after(schedule_sections, kernel(lambda a, b, v: a * b, "bbb", twice=True))
    assert body(program).count(" = mul_tiles(a, b)") == 2


def test_products_take_no_room_from_tiles() -> None:
    """Each product needs a slot that is still zero: the fifth and sixth do not get one."""

    def value(a: Any, b: Any, v: Any) -> Any:
        return T.max(T.max(T.max(a * b, a * v), T.max(b * v, a * a)), T.max(b * b, v * v))

    assert body(after(schedule_sections, kernel(value))).count("mul_tiles") == 4
    sums = kernel(lambda a, b, v: T.max(T.max(T.max(a + b, a + v), T.max(b + v, a - b)), T.max(a - v, b - v)))
    assert body(after(schedule_sections, sums)).count("_tiles") == 6
