"""C form_sections: what is too large for DST is computed part by part."""

from typing import Any

import numpy as np
import tilelang.language as T

from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.interpret import interpret
from tilelang_tt.ir.tile import Map
from tilelang_tt.passes.c_tile.dst_program import dst_program
from tilelang_tt.passes.c_tile.form_sections import form_sections

from .stages import after, before


def _balanced(x: Any, s: float) -> Any:
    left = (x + s) * (x - s) + (x * s) * (x / s)
    right = T.max(x, s) * T.min(x, s) - T.exp(x) * T.abs(x)
    return left * right


def _deep() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 64), "float32"), B: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_fragment((32, 64), "float32")
            Y = T.alloc_fragment((32, 64), "float32")
            T.copy(A, X)
            for i, j in T.Parallel(32, 64):
                Y[i, j] = _balanced(X[i, j], 2.0) + _balanced(X[i, j], 4.0)
            T.copy(Y, B)

    return main


def test_parts_fit_and_mean_the_same() -> None:
    old, new = before(form_sections, _deep()), after(form_sections, _deep())
    needs = [
        [dst_program(stmt.value).slots for stmt in walk(program.launches[0].body) if isinstance(stmt, Map)]
        for program in (old, new)
    ]
    assert max(needs[0]) == 5
    assert max(needs[1]) <= 4
    assert len(needs[1]) == len(needs[0]) + 1
    assert new.decisions[-1].text == "5 tiles of DST at once are too many: computed in 2 steps"
    values = {"A": np.linspace(-2, 2, 2048, dtype=np.float32).reshape(32, 64)}
    assert np.array_equal(interpret(old, values)["B"], interpret(new, values)["B"])


def test_what_fits_is_left_alone() -> None:
    @T.prim_func
    def main(A: T.Tensor((32, 64), "float32"), B: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_fragment((32, 64), "float32")
            T.copy(A, X)
            for i, j in T.Parallel(32, 64):
                X[i, j] = _balanced(X[i, j], 2.0)
            T.copy(X, B)

    maps = [stmt for stmt in walk(after(form_sections, main).launches[0].body) if isinstance(stmt, Map)]
    assert [stmt.dst.name for stmt in maps] == ["X_out"]
