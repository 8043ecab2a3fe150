"""Programs steered by numbers of their tensors mean the same after every stage."""

from typing import Any

import numpy as np
import pytest
import tilelang.language as T

from tilelang_tt.frontend.lift import lift
from tilelang_tt.ir.interpret import Array, interpret
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.tables import tables_of
from tilelang_tt.options import Options
from tilelang_tt.passes.c_tile.schedule_sections import schedule_sections
from tilelang_tt.pipeline import TILE_PASSES

from .stages import after, before

Tensors = dict[str, Array]


def numbers(*shape: int) -> Array:
    return np.random.default_rng(0).integers(-8, 9, shape).astype(np.float32)


def places(*shape: int, below: int) -> Array:
    return np.random.default_rng(1).integers(-1, below, shape).astype(np.float32)


def looked_up_rows() -> tuple[Any, Tensors, Tensors]:
    @T.prim_func
    def main(A: T.Tensor((50, 64), "bfloat16"), N: T.Tensor((2, 40), "int32"), B: T.Tensor((2, 40, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_fragment((40, 64), "float32")
            for i, j in T.Parallel(40, 64):
                X[i, j] = A[N[bx, i], j] * 2
            T.copy(X, B[bx, 0, 0])

    a, index = numbers(50, 64), places(2, 40, below=60)
    there = (index >= 0) & (index < 50)
    rows = a[np.where(there, index, 0).astype(int)] * 2
    return main, {"A": a, "N": index}, {"B": np.where(there[..., None], rows, 0)}


def computed_conditions() -> tuple[Any, Tensors, Tensors]:
    @T.prim_func
    def main(
        A: T.Tensor((3, 4, 32, 32), "float32"), S: T.Tensor((3, 4), "float32"), B: T.Tensor((3, 32, 32), "float32")
    ):
        with T.Kernel(3, threads=128) as bx:
            X = T.alloc_shared((32, 32), "float32")
            acc = T.alloc_fragment((32, 32), "float32")
            m = T.alloc_fragment((32,), "float32")
            s = T.alloc_var("float32")
            count = T.alloc_var("int32")
            T.clear(acc)
            count = 0
            for k in T.serial(4):
                s = S[bx, k]
                if s > 0:
                    T.copy(A[bx, k, 0, 0], X)
                    T.gemm(X, X, acc)
                    T.reduce_max(X, m, dim=1)
                    if s > 4:
                        T.fill(m, 7.0)
                    for i, j in T.Parallel(32, 32):
                        acc[i, j] += m[i]
                    count = count + 1
                else:
                    T.clear(X)
            for i, j in T.Parallel(32, 32):
                B[bx, i, j] = acc[i, j] + X[i, j] * count

    a, s = numbers(3, 4, 32, 32), numbers(3, 4)
    s[0], s[1] = -1, 5
    b = np.zeros((3, 32, 32), np.float32)
    for unit in range(3):
        block, count = np.zeros((32, 32), np.float32), 0
        for k in range(4):
            block = a[unit, k] if s[unit, k] > 0 else np.zeros_like(block)
            if s[unit, k] > 0:
                most = np.full((32, 1), 7.0) if s[unit, k] > 4 else block.max(1, keepdims=True)
                b[unit] += block @ block + most
                count += 1
        b[unit] += block * count
    return main, {"A": a, "S": s}, {"B": b}


@pytest.mark.parametrize("case", [looked_up_rows, computed_conditions], ids=lambda case: case.__name__)
def test_every_stage_computes_what_numpy_does(case: Any) -> None:
    func, tensors, expected = case()
    program, stage = lift(func, Options()), "lift"
    for tile_pass in (None, *TILE_PASSES):
        if tile_pass is not None:
            program, stage = tile_pass(program), tile_pass.name
        result = interpret(program, tensors, exact=True)
        for name, values in expected.items():
            np.testing.assert_array_equal(result[name], values, err_msg=f"{name} after {stage}")


def test_the_tables_of_each_kernel_are_the_same_before_and_after_sections_are_scheduled() -> None:
    """Compute multiplies with a number of the table: it has a copy of it, however its statement is written."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), S: T.Tensor((2,), "int32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((64, 64), "float32")
            factor = T.alloc_var("int32")
            factor = S[1]
            T.copy(A, x)
            for i, j in T.Parallel(64, 64):
                x[i, j] = x[i, j] * T.cast(factor, "float32")
            T.copy(x, C)

    for program in (before(schedule_sections, main), after(schedule_sections, main)):
        assert [table.role for table in tables_of(program, program.launches[0])] == [Role.COMPUTE]
