"""A orient: which side of a tile every axis runs along."""

import tilelang.language as T

from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.passes.a_metadata.orient import orient

from .stages import raised
from .vector_kernels import column_sums, turned_vector


def sides(program: TileProgram) -> dict[str, str]:
    found = orient(program)
    named: dict[str, list[str]] = {}
    for (place, axis), side in sorted(found.items(), key=lambda item: item[0][1]):
        named.setdefault(place.name, []).append(f"{axis} {side.value}")
    return {name: ", ".join(axes) for name, axes in named.items()}


def test_vectors_take_the_side_of_what_they_meet() -> None:
    assert sides(raised(column_sums())) == {
        "A": "0 row, 1 column",
        "x": "0 row, 1 column",
        "R": "0 column",
        "row": "0 column",
        "C": "0 row",
        "col": "0 row",
        "total": "0 column",
        "S": "0 column",
    }


def test_of_two_uses_the_first_wins() -> None:
    """The sums lie along rows, where they come from; that they meet columns later is for `align_operands`."""
    assert sides(raised(turned_vector()))["total"] == "0 row"


def test_a_vector_that_meets_no_matrix_lies_along_columns() -> None:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((64,), "float32")
            T.copy(A, x)
            for i in T.Parallel(64):
                x[i] = x[i] * 2.0
            T.copy(x, B)

    assert sides(raised(main)) == {"x": "0 column", "A": "0 column", "B": "0 column"}
