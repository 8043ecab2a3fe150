"""C load_less: of tiles whose rows are all equal one row is read, where compute can spread it."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import tilelang.language as T

from tilelang_tt import costs
from tilelang_tt.ir.layout import Engine
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.passes.c_tile.load_less import load_less
from tilelang_tt.passes.c_tile.schedule_sections import schedule_sections
from tilelang_tt.pipeline import KERNEL_PASSES

from .kernels import small_integers
from .stages import after, before, body, keeps_meaning, kernels_after, numbers, with_numbers

SHAPES = {"A": (64, 64), "V": (64,), "W": (64,)}


def kernel(value: Callable[..., Any], dtypes: tuple[str, str] = ("bfloat16", "bfloat16")) -> Any:
    """C = value(a, v, w), element by element, with the type of the blocks and that of the vectors."""
    dtype, vector = dtypes

    @T.prim_func
    def main(
        A: T.Tensor((64, 64), dtype),
        V: T.Tensor((64,), vector),
        W: T.Tensor((64,), vector),
        C: T.Tensor((64, 64), dtype),
    ):
        with T.Kernel(2, threads=128) as bx:
            a = T.alloc_shared((32, 64), dtype)
            v = T.alloc_shared((64,), vector)
            w = T.alloc_shared((64,), vector)
            c = T.alloc_fragment((32, 64), dtype)
            T.copy(A[bx * 32, 0], a)
            T.copy(V, v)
            T.copy(W, w)
            for i, j in T.Parallel(32, 64):
                c[i, j] = value(a[i, j], v[j], w[j])
            T.copy(c, C[bx * 32, 0])

    return main


def rows_of(program: TileProgram) -> list[str]:
    layouts = program.launches[0].layouts
    return [buffer.name for buffer, layout in layouts.items() if layout.first_row]


def has_zeros(program: TileProgram) -> bool:
    return any(buffer.name == "zeros" for buffer in program.launches[0].constants)


def result_of(program: TileProgram) -> str:
    return next(line.strip() for line in body(program).splitlines() if "Map" in line)


CASES: dict[str, tuple[Callable[..., Any], str, bool]] = {
    "spread on the way to DST": (lambda a, v, w: T.max(a, v) - w, "max(a, v[j]) - w[j]", True),
    "second operand": (lambda a, v, w: T.max(a - v, a * w), "max(sub_tiles(a, v[j]), mul_tiles(a, w[j]))", False),
    "first one of a sum": (lambda a, v, w: T.max(v + a, w * a), "max(add_tiles(a, v[j]), mul_tiles(a, w[j]))", False),
    "first one of a difference": (lambda a, v, w: T.max(v - a, a + w), "max(v[j] - a, add_tiles(a, w[j]))", True),
    "both operands": (lambda a, v, w: T.max(v * w, a), "max(v[j] * w[j], a)", True),
    "a square": (lambda a, v, w: T.max(v * v, a + w), "max(v[j] * v[j], add_tiles(a, w[j]))", True),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_where_the_matrix_engine_spreads_rows(case: str) -> None:
    value, text, zeros = CASES[case]
    func = kernel(value)
    program = after(schedule_sections, func)
    assert rows_of(program) == ["v", "w"]
    assert result_of(program) == f"Map c = {text}"
    assert has_zeros(program) is zeros
    assert keeps_meaning(schedule_sections, func, small_integers(SHAPES))


def test_a_wider_operand_stays_second() -> None:
    """A product counts one bit more of its second operand, so a float32 block takes that place."""
    program = after(schedule_sections, product_with_a_row())
    assert result_of(program) == "Map c = a * v[j]"
    assert rows_of(program) == ["v"]


def product_with_a_row() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 64), "float32"), V: T.Tensor((64,), "bfloat16"), C: T.Tensor((32, 64), "bfloat16")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((32, 64), "float32")
            v = T.alloc_shared((64,), "bfloat16")
            c = T.alloc_fragment((32, 64), "bfloat16")
            T.copy(A, a)
            T.copy(V, v)
            for i, j in T.Parallel(32, 64):
                c[i, j] = a[i, j] * v[j]
            T.copy(c, C)

    return main


def test_what_is_read_and_said() -> None:
    kernels = kernels_after(KERNEL_PASSES[-1].run, kernel(CASES["both operands"][0]))
    blocks, vectors = 2 * 2 * 2048, 2 * 2 * 2 * 64  # two blocks of two tiles; two vectors, a row of each tile
    assert costs.of(kernels).dram_read == blocks + vectors
    text = next(d.text for d in kernels.program.decisions if d.stage == "load_less" and d.subject == "v")
    assert text == "64 B are read of each tile, not 2048 B: its rows are all equal"


def with_product(a: Any, v: Any, w: Any) -> Any:
    return a * v * w


def gemm_with_a_row() -> Any:
    """`v` is an operand of the matrix engine, `w` is added to the result."""

    @T.prim_func
    def main(
        B: T.Tensor((64, 64), "bfloat16"),
        V: T.Tensor((64,), "bfloat16"),
        W: T.Tensor((64,), "bfloat16"),
        C: T.Tensor((64,), "float32"),
    ):
        with T.Kernel(1, threads=128):
            b = T.alloc_shared((64, 64), "bfloat16")
            v = T.alloc_shared((64,), "bfloat16")
            w = T.alloc_shared((64,), "bfloat16")
            c = T.alloc_fragment((64, 64), "float32")
            s = T.alloc_fragment((64,), "float32")
            T.copy(B, b)
            T.copy(V, v)
            T.copy(W, w)
            for i, j in T.Parallel(64, 64):
                c[i, j] = T.exp(b[i, j]) * w[j]
            T.reduce_sum(c, s, dim=0)
            for j in T.Parallel(64):
                s[j] = s[j] + v[j]
            T.copy(s, C)

    return main


def test_vectors_of_compute_stay_whole() -> None:
    assert rows_of(after(load_less, gemm_with_a_row())) == ["v", "w"]


@pytest.mark.parametrize("dtypes", [*itertools.product(("bfloat16", "float32"), repeat=2)])
def test_the_vector_unit_spreads_what_keeps_32_bits(dtypes: tuple[str, str]) -> None:
    """Where the result shows 32 bits, a float32 vector is unpacked straight to DST."""
    program = after(schedule_sections, kernel(with_product, dtypes))
    layouts = program.launches[0].layouts
    wide = dtypes == ("float32", "float32")
    engine = Engine.VECTOR if wide else Engine.MATRIX
    assert {b.name: layout.first_row for b, layout in layouts.items() if layout.first_row} == {"v": engine, "w": engine}
    assert not (wide and has_zeros(program))


def test_without_room_in_dst_a_vector_of_32_bits_stays_whole() -> None:
    """Spreading `w` takes a second tile while the other operand is in DST, which here leaves no room for it."""

    def tree(a: Any, depth: int) -> Any:
        """Needs as many tiles of DST as it is deep."""
        return T.max(tree(a + depth, depth - 1), tree(a - depth, depth - 1)) if depth > 1 else T.exp(a)

    def narrow(a: Any, v: Any, w: Any) -> Any:
        return tree(a * v, 4) - (tree(a, 3) - T.max(tree(a, 2), w))

    def roomy(a: Any, v: Any, w: Any) -> Any:
        return tree(a * v, 3) - T.max(tree(a, 2), w)

    for value, rows in ((narrow, ["v"]), (roomy, ["v", "w"])):
        func = kernel(value, ("float32", "float32"))
        assert rows_of(after(load_less, func)) == rows


def test_a_value_per_row_stays_whole() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), V: T.Tensor((64,), "bfloat16"), C: T.Tensor((64, 64), "bfloat16")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "bfloat16")
            v = T.alloc_shared((64,), "bfloat16")
            T.copy(A, a)
            T.copy(V, v)
            for i, j in T.Parallel(64, 64):
                a[i, j] = T.max(a[i, j], v[i])
            T.copy(a, C)

    assert rows_of(after(load_less, main)) == []


def test_a_vector_that_is_also_reduced_stays_whole() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), V: T.Tensor((64,), "bfloat16"), C: T.Tensor((64, 64), "bfloat16")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "bfloat16")
            v = T.alloc_shared((64,), "bfloat16")
            s = T.alloc_fragment((1,), "float32")
            T.copy(A, a)
            T.copy(V, v)
            T.reduce_sum(v, s, dim=0)
            for i, j in T.Parallel(64, 64):
                a[i, j] = T.max(a[i, j], v[j]) * s[0]
            T.copy(a, C)

    assert rows_of(after(load_less, main)) == []


def test_without_room_for_zeros_tiles_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    program = before(load_less, kernel(CASES["both operands"][0]))
    with_numbers(monkeypatch, numbers(program.launches[0]))
    assert load_less(program).launches == program.launches
