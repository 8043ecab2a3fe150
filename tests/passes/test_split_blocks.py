"""split_blocks: statements on blocks that are too large, in loops over parts of them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tilelang.language as T

from tilelang_tt.ir.interpret import interpret
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.options import Options
from tilelang_tt.passes.c_tile.separate_roles import separate_roles
from tilelang_tt.passes.fit_l1.block_parts import Side
from tilelang_tt.passes.fit_l1.split_blocks import split_blocks
from tilelang_tt.pipeline import PLACING_PASSES, run_passes

from .kernels import CASES, Case, small_integers
from .stages import body, facts, raised
from .vector_kernels import VECTOR_CASES

M, N = 64, 256


def placed(func: Any) -> TileProgram:
    """The program as `split_blocks` gets it."""
    program = raised(func)
    for step in PLACING_PASSES:
        program = step(program)
    return separate_roles(program)


def in_parts(program: TileProgram, side: Side, tiles: int) -> TileProgram:
    launches = tuple(split_blocks(program, launch, side, tiles)[0] for launch in program.launches)
    return replace(program, launches=launches)


def rms_norm() -> Any:
    @T.prim_func
    def main(X: T.Tensor((M, N), "float32"), W: T.Tensor((N,), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((M, N), "float32")
            w = T.alloc_shared((N,), "float32")
            q = T.alloc_fragment((M, N), "float32")
            s = T.alloc_fragment((M,), "float32")
            y = T.alloc_fragment((M, N), "float32")
            T.copy(W, w)
            T.copy(X, x)
            for i, j in T.Parallel(M, N):
                q[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(q, s, dim=1)
            for i, j in T.Parallel(M, N):
                y[i, j] = x[i, j] * s[i] * w[j]
            T.copy(y, Y)

    return main


def test_by_columns() -> None:
    """What both loops use stays whole; the weight is loaded where it is used; the sum goes over all parts."""
    program = in_parts(placed(rms_norm()), Side.COLUMNS, 2)
    assert body(program) == (
        "Load X tiles (0, 0) 2 x 8 -> x\n"
        "Fill s = 0\n"
        "Loop part < 4\n"
        "  Map q = x[i, j + part * 64] * x[i, j + part * 64]\n"
        "  Reduce s sum= sum of q along j, exact\n"
        "Loop part < 4\n"
        "  Load W tiles (0, part * 2) 1 x 2, 1 x all elements -> w\n"
        "  Map y = (x[i, j + part * 64] * s[i]) * w[j]\n"
        "  Store y -> Y tiles (0, part * 2) 2 x 2\n"
    )
    assert [fact.partition(";")[0] for fact in facts(program, "buffer")] == [
        "x: shared float32[64, 256]",
        "s: fragment float32[64]",
        "q: fragment float32[64, 64]",
        "w: shared float32[64]",
        "y: fragment float32[64, 64]",
    ]


def test_by_rows() -> None:
    """Rows of a norm do not see each other: nothing but the weight stays whole."""
    assert body(in_parts(placed(rms_norm()), Side.ROWS, 1)) == (
        "Load W tiles (0, 0) 1 x 8, 1 x all elements -> w\n"
        "Loop part < 2\n"
        "  Load X tiles (part, 0) 1 x 8 -> x\n"
        "  Map q = x * x\n"
        "  Reduce s = sum of q along j, exact\n"
        "  Map y = (x * s[i]) * w[j]\n"
        "  Store y -> Y tiles (part, 0) 1 x 8\n"
    )


def softmax() -> Any:
    @T.prim_func
    def main(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((M, N), "float32")
            m = T.alloc_fragment((M,), "float32")
            s = T.alloc_fragment((M,), "float32")
            T.copy(X, x)
            T.reduce_max(x, m, dim=1)
            for i, j in T.Parallel(M, N):
                x[i, j] = T.exp(x[i, j] - m[i])
            T.reduce_sum(x, s, dim=1)
            for i, j in T.Parallel(M, N):
                x[i, j] = x[i, j] / s[i]
            T.copy(x, Y)

    return main


def test_a_block_that_is_updated_stays_whole() -> None:
    """Parts are computed beside it and put in if they are needed later. A loop that saves nothing is not made."""
    assert body(in_parts(placed(softmax()), Side.COLUMNS, 4)) == (
        "Fill x = 0\n"
        "Fill m = -inf\n"
        "Loop part < 2\n"
        "  Load X tiles (0, part * 4) 2 x 4 -> x_in\n"
        "  Map x_part = x_in\n"
        "  Map x[0, part * 128 : 64 x 128] = x_part\n"
        "  Reduce m_part = max of x_part along j, exact\n"
        "  Map m = max(m, m_part)\n"
        "Map x = exp(x - m[i])\n"
        "Reduce s = sum of x along j, exact\n"
        "Loop part < 2\n"
        "  Map x_part_1 = x[i, j + part * 128] / s[i]\n"
        "  Map x_out = x_part_1\n"
        "  Store x_out -> Y tiles (0, part * 4) 2 x 4\n"
    )


def moved(steer: bool) -> Any:
    """A row of blocks is added up. With `steer` which one comes is a number that changes after the copy."""

    @T.prim_func
    def main(X: T.Tensor((M, 2 * N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((M, N), "float32")
            y = T.alloc_fragment((M, N), "float32")
            at = T.alloc_var("int32")
            at = 0
            T.copy(X[0, at * N], x)
            if steer:
                at = 1
            T.clear(y)
            for i, j in T.Parallel(M, N):
                y[i, j] = x[i, j] + 2 * at
            T.copy(y, Y)

    return main


def test_a_load_stays_before_what_changes_its_place() -> None:
    assert "Load X tiles (0, at * 8 + part * 2)" in body(in_parts(placed(moved(False)), Side.COLUMNS, 2))
    kept = body(in_parts(placed(moved(True)), Side.COLUMNS, 2)).splitlines()
    assert next(n for n, line in enumerate(kept) if "Load X" in line) < next(
        n for n, line in enumerate(kept) if line.startswith("Set at = 1")
    )


def rounded_sum() -> Any:
    """A sum that is kept in bfloat16 would be rounded after every part."""

    @T.prim_func
    def main(X: T.Tensor((M, N), "bfloat16"), Y: T.Tensor((M,), "bfloat16")):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((M, N), "bfloat16")
            q = T.alloc_fragment((M, N), "bfloat16")
            s = T.alloc_fragment((M,), "bfloat16")
            T.copy(X, x)
            for i, j in T.Parallel(M, N):
                q[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(q, s, dim=1)
            T.copy(s, Y)

    return main


def test_a_sum_that_is_rounded_is_made_at_once() -> None:
    assert "Loop" not in body(in_parts(placed(rounded_sum()), Side.COLUMNS, 2)).partition("Reduce")[2]
    assert "Reduce s = sum of q along j" in body(in_parts(placed(rounded_sum()), Side.COLUMNS, 2))


def twice_stored() -> Any:
    """The second store overwrites half of the first."""

    @T.prim_func
    def main(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, 2 * N), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((M, N), "float32")
            y = T.alloc_fragment((M, N), "float32")
            z = T.alloc_fragment((M, N), "float32")
            T.copy(X, x)
            for i, j in T.Parallel(M, N):
                y[i, j] = x[i, j] + 1
            T.copy(y, Y[0, 0])
            for i, j in T.Parallel(M, N):
                z[i, j] = x[i, j] + 2
            T.copy(z, Y[0, N // 2])

    return main


KERNELS = {function.__name__: function for function in (rms_norm, rounded_sum, twice_stored)}


@pytest.mark.parametrize("side", Side)
@pytest.mark.parametrize("name", KERNELS)
def test_what_is_computed_stays(name: str, side: Side) -> None:
    program = placed(KERNELS[name]())
    tensors = small_integers({param.name: tuple(map(int, param.shape)) for param in program.tensors})
    expected = interpret(program, tensors, exact=True)
    found = interpret(in_parts(program, side, 1), tensors, exact=True)
    for tensor, values in expected.items():
        np.testing.assert_array_equal(found[tensor], values)


@pytest.mark.parametrize("case", [*CASES, *VECTOR_CASES], ids=lambda case: case.name)
def test_any_kernel_computes_the_same_in_parts(case: Case) -> None:
    tensors = small_integers(case.inputs)
    expected = case.meaning(tensors)
    program = placed(case.build())
    ways: tuple[Callable[[TileProgram], TileProgram], ...] = (
        lambda whole: in_parts(whole, Side.COLUMNS, 1),
        lambda whole: in_parts(in_parts(whole, Side.ROWS, 1), Side.COLUMNS, 2),
    )
    close = 1e-6 if case.rtol else 0.0
    for way in ways:
        result = interpret(way(program), tensors, dict(case.sizes), exact=True)
        np.testing.assert_allclose(result[case.output], expected, case.rtol, close)


def test_a_kernel_that_fits_is_left_alone() -> None:
    stages: list[str] = []
    run_passes(rms_norm(), Options(), lambda stage, _: stages.append(stage))
    assert "fit_l1" not in stages


def updated() -> Any:
    """The second half becomes the first: what is loaded must be what was there before any store."""

    @T.prim_func
    def main(X: T.Tensor((M, 2 * N), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((M, N), "float32")
            y = T.alloc_fragment((M, N), "float32")
            T.copy(X[0, 0], x)
            for i, j in T.Parallel(M, N):
                y[i, j] = x[i, j] + 1
            T.copy(y, X[0, N])

    return main


def test_kernels_that_load_what_they_store_are_left_alone() -> None:
    program = placed(updated())
    assert in_parts(program, Side.COLUMNS, 1) == program
