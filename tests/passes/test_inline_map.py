"""C form_sections: an element-wise statement inside the next, and readers of copies, where nothing is lost."""

import tempfile
from typing import Any

import pytest
import tilelang.language as T

from tilelang_tt.arch import DST_TILES_32BIT
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.tile import Map
from tilelang_tt.passes.c_tile.dst_program import dst_program
from tilelang_tt.passes.c_tile.form_sections import form_sections

from .kernels import gemm_relu, scale_in_place, small_integers
from .stages import after, before, body, facts, keeps_meaning
from .vector_kernels import attention


def test_before_and_after() -> None:
    assert body(before(form_sections, gemm_relu())).endswith(
        """\
Map C_l = max(C_l, 0)
Map C_l_out = C_l
Store C_l_out -> C tiles (0, bx * 2) 4 x 2
"""
    )
    program = after(form_sections, gemm_relu())
    assert body(program).endswith(
        """\
Map C_l_out = max(C_l, 0)
Store C_l_out -> C tiles (0, bx * 2) 4 x 2
"""
    )
    assert program.decisions[-1].text == (
        "computed in one pass with 'C_l_out': 'C_l' makes no trip through L1 in between"
    )
    tensors = small_integers({"A": (128, 64), "B": (64, 128)})
    assert keeps_meaning(form_sections, gemm_relu(), tensors)


def test_a_block_that_is_no_longer_used_disappears() -> None:
    program = after(form_sections, scale_in_place())
    assert (
        body(program)
        == """\
Load A tiles (bx, 0) 1 x 2 -> X_in
Map X_out = X_in * 2
Store X_out -> B tiles (bx, 0) 1 x 2
"""
    )
    assert [line.split(":")[0] for line in facts(program, "buffer")] == ["X_in", "X_out"]
    assert keeps_meaning(form_sections, scale_in_place(), small_integers({"A": (64, 64)}))


def _two_steps(first: str, second: str, reuse: bool = False):
    """Two maps through blocks of the given types; with `reuse`, the middle block is stored too."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), first)):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 64), "float32")
            Y = T.alloc_fragment((32, 64), first)
            Z = T.alloc_fragment((32, 64), second)
            T.copy(A[bx * 32, 0], X)
            for i, j in T.Parallel(32, 64):
                Y[i, j] = X[i, j] * 3.0
            for i, j in T.Parallel(32, 64):
                Z[i, j] = Y[i, j] + 1.0
            T.copy(Z, B[bx * 32, 0])
            if reuse:
                T.copy(Y, C[bx * 32, 0])

    return main


def test_a_wide_middle_block_is_fused() -> None:
    assert "Map Z = (X * 3) + 1\n" in body(after(form_sections, _two_steps("float32", "float32")))


def test_a_rounding_the_user_asked_for_stays() -> None:
    """Y is bfloat16 and Z is float32: computing Z from the unrounded product would give other numbers."""
    func = _two_steps("bfloat16", "float32")
    program = before(form_sections, func)
    assert body(form_sections(program)) == body(program)


def test_a_block_that_is_needed_later_is_kept() -> None:
    func = _two_steps("float32", "float32", reuse=True)
    text = body(after(form_sections, func))
    assert "Map Y_out = X * 3\n" in text  # what is stored of it; nothing else reads it
    assert "Map Z = (X * 3) + 1\n" in text
    assert keeps_meaning(form_sections, func, small_integers({"A": (64, 64)}))


def test_a_block_that_the_next_round_needs_is_kept() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((128, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_fragment((64, 64), "float32")
            Y = T.alloc_fragment((64, 64), "float32")
            T.copy(A, X)
            for k in T.serial(2):
                for i, j in T.Parallel(64, 64):
                    X[i, j] = X[i, j] * 2.0
                for i, j in T.Parallel(64, 64):
                    Y[i, j] = X[i, j] + 1.0
                T.copy(Y, B[k * 64, 0])

    assert "  Section\n    Map X = X * 2\n    Map Y = (X * 2) + 1\n" in body(after(form_sections, main))
    assert keeps_meaning(form_sections, main, small_integers({"A": (64, 64)}))


def test_readers_of_a_plain_copy_read_the_original() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), B: T.Tensor((64, 64), "bfloat16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((64, 64), "bfloat16")
            A_l = T.alloc_fragment((64, 64), "bfloat16")
            B_s = T.alloc_shared((64, 64), "bfloat16")
            C_l = T.alloc_fragment((64, 64), "float32")
            T.copy(A, A_s)
            T.copy(B, B_s)
            T.copy(A_s, A_l)
            T.gemm(A_l, B_s, C_l, clear_accum=True)
            T.copy(C_l, C)

    program = after(form_sections, main)
    assert (
        body(program)
        == """\
Load A tiles (0, 0) 2 x 2 -> A_s
Load B tiles (0, 0) 2 x 2 -> B_s
Gemm C_l = A_s @ B_s
Store C_l -> C tiles (0, 0) 2 x 2
"""
    )
    assert program.decisions[-1].text == "not copied: its readers use 'A_s' itself"
    assert keeps_meaning(form_sections, main, small_integers({"A": (64, 64), "B": (64, 64)}))


def test_a_copy_outlives_a_change_of_the_original() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_fragment((64, 64), "float32")
            Y = T.alloc_fragment((64, 64), "float32")
            Z = T.alloc_fragment((64, 64), "float32")
            T.copy(A, X)
            T.copy(X, Y)
            for i, j in T.Parallel(64, 64):
                X[i, j] = X[i, j] * 2.0
            for i, j in T.Parallel(64, 64):
                Z[i, j] = X[i, j] - Y[i, j]
            T.copy(Z, B)

    tensors = small_integers({"A": (64, 64)})
    assert keeps_meaning(form_sections, main, tensors)


@pytest.mark.parametrize("rounds", [2, 4, 12])
def test_a_fused_expression_fits_dst(rounds: int) -> None:
    """Squaring again and again doubles the expression each time it is put into itself: it must end."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_fragment((32, 64), "float32")
            T.copy(A[bx * 32, 0], X)
            for _ in T.unroll(rounds, explicit=True):
                for i, j in T.Parallel(32, 64):
                    X[i, j] = X[i, j] * X[i, j]
            T.copy(X, B[bx * 32, 0])

    maps = [stmt for stmt in walk(after(form_sections, main).launches[0].body) if isinstance(stmt, Map)]
    assert all(dst_program(stmt.value).slots <= DST_TILES_32BIT for stmt in maps)


def test_a_fill_goes_into_the_map_that_reads_it() -> None:
    """Behind the statements in between, where a maximum with -inf is the other operand."""
    text = body(after(form_sections, attention()))
    assert text.count("Fill largest = -inf\n") == 1  # before the loop
    assert "  Map largest = max(largest_tile, largest)\n" in text
    assert keeps_meaning(form_sections, attention(), small_integers(dict.fromkeys("QKV", (128, 32))))


def test_what_is_changed_in_between_is_not_computed_with_later() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((64, 64), "float32")
            Y = T.alloc_fragment((64, 64), "float32")
            T.copy(A, X)
            for i, j in T.Parallel(64, 64):
                Y[i, j] = X[i, j] * 2.0
            T.copy(B, X)
            for i, j in T.Parallel(64, 64):
                Y[i, j] = Y[i, j] + X[i, j]
            T.copy(Y, C)

    assert "Map Y = X * 2\n" in body(after(form_sections, main))
    assert keeps_meaning(form_sections, main, small_integers({"A": (64, 64), "B": (64, 64)}))


def _softmax_of(dtype: str) -> Any:
    """The maximum of what was loaded, then the block is overwritten."""
    source = f'''
import tilelang.language as T

@T.prim_func
def main(A: T.Tensor((64, 64), "{dtype}"), B: T.Tensor((64, 64), "bfloat16")):
    with T.Kernel(2, threads=128) as bx:
        x = T.alloc_fragment((32, 64), "float32")
        largest = T.alloc_fragment((32,), "float32")
        T.copy(A[bx * 32, 0], x)
        T.reduce_max(x, largest, dim=1)
        for i, j in T.Parallel(32, 64):
            x[i, j] = x[i, j] - largest[i]
        T.reduce_max(x, largest, dim=1)
        for i, j in T.Parallel(32, 64):
            x[i, j] = x[i, j] + largest[i]
        T.copy(x, B[bx * 32, 0])
'''
    scope: dict[str, Any] = {}
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(source)
        file.flush()
        exec(compile(source, file.name, "exec", dont_inherit=True), scope)
        return scope["main"]


@pytest.mark.parametrize(("dtype", "copied"), [("bfloat16", False), ("float32", True)])
def test_a_copy_that_only_widens_is_left_out_until_it_is_overwritten(dtype: str, copied: bool) -> None:
    func = _softmax_of(dtype)
    text = body(after(form_sections, func))
    assert ("Map x = x_in\n" in text) is copied
    assert ("Reduce largest_lane = max of x_in along j\n" in text) is not copied
    assert ("Map x = x_in - largest[i]\n" in text) is not copied
    assert "max of x along j\n" in text  # the second maximum is of the new contents
    assert keeps_meaning(form_sections, func, small_integers({"A": (64, 64)}))
