"""A keep_last_bits: the vector unit reduces where the last bits of a float32 show."""

from typing import Any

import pytest
import tilelang.language as T

from tilelang_tt.options import Options
from tilelang_tt.passes.a_metadata.keep_last_bits import keep_last_bits

from .stages import after, body
from .vector_kernels import attention, softmax


def reductions(source: str, result: str) -> Any:
    """A maximum of what was loaded, a sum of its squares, and a maximum of them that is compared."""

    @T.prim_func
    def main(A: T.Tensor((32, 64), source), M: T.Tensor((32,), result), S: T.Tensor((32,), result)):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((32, 64), "float32")
            largest = T.alloc_fragment((32,), "float32")
            top = T.alloc_fragment((32,), "float32")
            total = T.alloc_fragment((32,), "float32")
            T.copy(A, x)
            T.reduce_max(x, largest, dim=1)
            T.copy(largest, M)
            for i, j in T.Parallel(32, 64):
                x[i, j] = x[i, j] * x[i, j]
            T.reduce_max(x, top, dim=1)
            for i, j in T.Parallel(32, 64):
                x[i, j] = T.if_then_else(x[i, j] == top[i], 0.0, x[i, j])
            T.reduce_sum(x, total, dim=1)
            T.copy(total, S)

    return main


@pytest.mark.parametrize(
    ("source", "result", "exact"),
    [
        ("float32", "float32", {"largest", "top", "total"}),
        ("float32", "bfloat16", {"top"}),  # rounded to 8 bits
        ("float16", "float16", {"largest", "top", "total"}),
    ],
)
def test_only_what_shows(source: str, result: str, exact: set[str]) -> None:
    text = body(after(keep_last_bits, reductions(source, result)))
    lines = [line.split() for line in text.splitlines() if line.startswith("Reduce")]
    assert {line[1].removesuffix("_tile") for line in lines if line[-1] == "exact"} == exact


def test_what_the_matrix_engine_made_has_no_more_bits() -> None:
    assert ", exact" not in body(after(keep_last_bits, attention()))


def test_a_16_bit_dst_has_nothing_to_keep() -> None:
    assert ", exact" not in body(after(keep_last_bits, softmax(), Options(fp32_acc=False)))
