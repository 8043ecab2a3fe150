"""C narrow_exact_blocks: maxima of bfloat16 numbers are kept in bfloat16."""

from typing import Any

import pytest
import tilelang.language as T

from tilelang_tt.formats import TILE_BYTES
from tilelang_tt.passes.c_tile.narrow_exact_blocks import narrow_exact_blocks

from .stages import after


def kernel(reduce: Any, dtype: str, stored: bool = False) -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 64), dtype), B: T.Tensor((32, 64), "bfloat16"), V: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((32, 64), "float32")
            v = T.alloc_fragment((32,), "float32")
            T.copy(A, x)
            reduce(x, v)
            for i, j in T.Parallel(32, 64):
                x[i, j] = T.exp(x[i, j] - v[i])
            T.copy(x, B)
            if stored:
                T.copy(v, V)

    return main


def format_of_v(func: Any) -> str:
    (launch,) = after(narrow_exact_blocks, func).launches
    (layout,) = [layout for block, layout in launch.layouts.items() if block.name == "v"]
    assert layout.page_bytes == TILE_BYTES[layout.format]
    return layout.format


def largest(x: Any, v: Any) -> Any:
    return T.reduce_max(x, v, dim=1)


def total(x: Any, v: Any) -> Any:
    return T.reduce_sum(x, v, dim=1)


@pytest.mark.parametrize(
    ("reduce", "dtype", "stored", "expected"),
    [
        (largest, "bfloat16", False, "Float16_b"),
        (largest, "float32", False, "Float32"),
        (largest, "bfloat16", True, "Float32"),  # it is a tensor's
        (total, "bfloat16", False, "Float32"),
    ],
)
def test_only_maxima_of_short_numbers(reduce: Any, dtype: str, stored: bool, expected: str) -> None:
    assert format_of_v(kernel(reduce, dtype, stored)) == expected
