"""Numbers of tiles that generated kernels call by name."""

import re
from typing import Any

import pytest
import tilelang.language as T

from tilelang_tt.codegen.cpp import Printer
from tilelang_tt.ir import scalar
from tilelang_tt.ir.extents import Extent, Side, extent, whole
from tilelang_tt.ir.scalar_extents import extent_of
from tilelang_tt.options import Options
from tilelang_tt.pipeline import compile_function

from .kernels import batched_gemm, gemm

COLS = extent(4, 3, Side.COLS)


def named(number: Any) -> tuple[int, Side] | None:
    found = extent_of(scalar.as_expr(number))
    return None if found is None else found.key


def test_an_extent_is_a_number() -> None:
    assert COLS == 4
    assert named(COLS) == (3, Side.COLS)
    assert named(scalar.const(4)) is None
    assert whole(4, COLS) is COLS
    assert not isinstance(whole(2, COLS), Extent)


def test_what_is_computed_is_a_plain_number() -> None:
    assert not isinstance(COLS * 2, Extent)
    assert named(scalar.as_expr(COLS) + scalar.const(1)) is None
    assert named(scalar.simplify(scalar.as_expr(COLS) + scalar.const(0))) is None


def test_one_tile_needs_no_name() -> None:
    assert not isinstance(extent(1, 3, Side.COLS), Extent)


def test_simplifying_never_hands_a_name_on() -> None:
    """TVM remembers expressions by their form, and the two here have the same."""
    i, j = scalar.var("i"), scalar.var("j")
    of_rows, of_cols = (scalar.as_expr(extent(4, 3, side)) for side in (Side.ROWS, Side.COLS))
    for factor in (of_rows, of_cols, scalar.const(4)):
        simple = scalar.simplify(i * factor + j)
        assert named(simple.a.b) == named(factor)  # type: ignore[attr-defined]
    merged = scalar.simplify(i * of_rows + j * of_cols + i)
    assert all(extent_of(node) is None for node in scalar.nodes(merged))


def main_of(text: str) -> str:
    return text.partition("void kernel_main")[2]


def product(k: int, *, transposed: bool) -> Any:
    return gemm(256, 256, 2 * k, (64, 64, k), transpose_B=transposed)


@pytest.mark.parametrize("transposed", [False, True])
def test_names_say_what_is_meant(transposed: bool) -> None:
    """With all sides of blocks equal, the kernels use the same names as with different ones."""
    equal, different = (
        compile_function(product(k, transposed=transposed), Options(blocks=False)).files for k in (64, 160)
    )
    for file in ("reader.cpp", "compute.cpp", "writer.cpp"):
        assert re.sub(r"\b\d+\b", "", main_of(equal[file])) == re.sub(r"\b\d+\b", "", main_of(different[file]))


def test_the_constants_are_the_sides() -> None:
    text = compile_function(product(160, transposed=False), Options(blocks=False)).files["compute.cpp"]
    assert "constexpr uint32_t A_s_rows = 2, A_s_cols = 5, A_s_tiles = A_s_rows * A_s_cols;\n" in text
    assert "constexpr uint32_t B_s_rows = 5, B_s_cols = 2, B_s_tiles = B_s_rows * B_s_cols;\n" in text
    assert "for (uint32_t kk = 0; kk < B_s_rows; ++kk)" in text
    assert "kk * B_s_cols" in text


@pytest.mark.parametrize("transposed", [False, True])
def test_names_of_tensors_do_not_depend_on_their_sizes(transposed: bool) -> None:
    equal, different = (
        compile_function(gemm(256, n, k, (64, 64, 64), transpose_B=transposed), Options(blocks=False)).files
        for n, k in ((256, 256), (384, 320))
    )
    for file in ("reader.cpp", "writer.cpp"):
        assert re.sub(r"\b\d+\b", "", main_of(equal[file])) == re.sub(r"\b\d+\b", "", main_of(different[file]))
        assert "_tile_cols + " in main_of(equal[file])


def test_tiles_of_matrices_that_follow_each_other() -> None:
    files = compile_function(batched_gemm(2, 64, 96, 160), Options(blocks=False)).files
    assert "constexpr uint32_t A_tile_rows = 2, A_tile_cols = 5;  // tensor A, in tiles\n" in files["reader.cpp"]
    assert "constexpr uint32_t B_tile_rows = 5, B_tile_cols = 3;  // tensor B, in tiles\n" in files["reader.cpp"]
    assert "(bz * A_tile_rows + by) * A_tile_cols + k" in files["reader.cpp"]
    assert "(bz * C_tile_rows + by) * C_tile_cols + bx" in files["writer.cpp"]


def test_a_tail_ends_where_the_tensor_does() -> None:
    files = compile_function(gemm(100, 70, 64, (64, 64, 32)), Options(blocks=False)).files
    assert "constexpr uint32_t C_tile_cols = 3;" in files["writer.cpp"]
    assert "bx * C_l_out_cols + j < C_tile_cols" in files["writer.cpp"]


def test_two_tensors_of_one_name_have_names_of_their_own() -> None:
    """And those of one size share it, which is right for both."""
    printer = Printer("reader.cpp")
    sides = [extent(tiles, "X", Side.TILE_COLS) for tiles in (4, 2, 4)]
    assert [printer.expr(scalar.as_expr(side)) for side in sides] == ["X_tile_cols", "X_tile_cols_1", "X_tile_cols"]
    assert [extent_of(scalar.as_expr(side)) for side in sides] == [4, 2, 4]
    printer.extent_constants()
    assert printer.lines == ["constexpr uint32_t X_tile_cols = 4, X_tile_cols_1 = 2;  // tensor X, in tiles"]


def test_a_name_of_the_users_stays_apart() -> None:
    @T.prim_func
    def main(X: T.Tensor((64, 64), "float32"), Y: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((64, 64), "float32")
            x_tiles = T.alloc_shared((64, 64), "float32")
            T.copy(X, x)
            for i, j in T.Parallel(64, 64):
                x_tiles[i, j] = x[i, j] + 1
            T.copy(x_tiles, Y)

    for text in compile_function(main, Options()).files.values():
        declared = re.findall(r"^(?:constexpr uint32_t|    ) ?(\w+) = ", text, re.MULTILINE)
        assert len(declared) == len(set(declared))
