"""C form_sections: a common factor of both parts of a sum or difference is applied once."""

from typing import Any

import tilelang.language as T

from tilelang_tt.passes.c_tile.form_sections import form_sections

from .stages import after, body


def difference(a: float, b: float) -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((64, 64), "float32")
            largest = T.alloc_fragment((64,), "float32")
            T.copy(A, x)
            T.reduce_max(x, largest, dim=1)
            for i, j in T.Parallel(64, 64):
                x[i, j] = x[i, j] * a - largest[i] * b
            T.copy(x, B)

    return main


def test_different_factors_stay() -> None:
    assert "Map x_out = (x_in * 0.5) - (largest[i] * 0.25)\n" in body(after(form_sections, difference(0.5, 0.25)))
