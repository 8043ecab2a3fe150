"""Indices computed with bits: >> << & | ^ ~ of block indices and loop variables."""

from typing import Any

import pytest
import tilelang.language as T
import torch
from three_ways import agree, whole_numbers
from tvm import tirx

from tilelang_tt.frontend.tir.index_bits_to_arithmetic import index_bits_to_arithmetic
from tilelang_tt.ir.scalar_text import evaluate


def _quarters() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(4, threads=128) as bx:
            a = T.alloc_shared((32, 32), "float32")
            T.copy(A[(bx >> 1) << 5, (bx & 1) << 5], a)
            T.copy(a, C[(bx & 1) * 32, (bx | 1) // 2 * 32])

    return main


def _rows(which: int) -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            for i, j in T.Parallel(64, 64):
                if which == 0:
                    C[i, j] = A[i >> 2, j]
                elif which == 1:
                    C[i, j] = A[i ^ 3, j]
                elif which == 2:
                    C[i, j] = A[i & ~7, j & 31]
                else:
                    C[i, j] = A[i | 8, j]

    return main


def _weighted() -> Any:
    """The variable of a loop says how far: its rounds are written one after the other."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((64, 64), "float32")
            T.clear(x)
            for s in T.serial(4):
                for i, j in T.Parallel(64, 64):
                    x[i, j] += T.if_then_else((i >> s) & 1 == 1, A[i, j] * (1 << s), 0.0)
            T.copy(x, C)

    return main


def _butterflies() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            a = T.alloc_shared((32, 64), "float32")
            b = T.alloc_shared((32, 64), "float32")
            T.copy(A[bx * 32, 0], a)
            for s in T.unroll(6):
                for i, j in T.Parallel(32, 64):
                    b[i, j] = a[i, j ^ (1 << s)] + T.if_then_else((j >> s) & 1 == 0, a[i, j], -a[i, j])
                T.copy(b, a)
            T.copy(a, C[bx * 32, 0])

    return main


KERNELS = {
    "quarters": _quarters,
    **{f"rows {which}": lambda which=which: _rows(which) for which in range(4)},
    "weighted": _weighted,
    "butterflies": _butterflies,
}


@pytest.mark.parametrize("name", KERNELS)
def test_three_ways_agree(name: str) -> None:
    tensors = {"A": whole_numbers(64, 64), "C": torch.zeros(64, 64)}
    agree(KERNELS[name](), tensors, ("C",))


@pytest.mark.parametrize("constant", [0, 1, 6, 31, 0x5A5, -1, -2, -32, ~0x5A5, 2**30 - 1, -(2**30)])
def test_the_arithmetic_of_bits(constant: int) -> None:
    n = tirx.Var("n", "int32")
    number = tirx.const(constant, "int32")
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        call = getattr(tirx, name)(n, number)
        func = index_bits_to_arithmetic(tirx.PrimFunc([n], tirx.Evaluate(call)))
        assert not isinstance(func.body.value, tirx.Call)
        for value in (*range(-70, 70), 12345, -12345):
            expected = {"bitwise_and": value & constant, "bitwise_or": value | constant}.get(name, value ^ constant)
            assert evaluate(func.body.value, {n: value}) == expected, (name, value)
