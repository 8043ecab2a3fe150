"""Kernels that want more of integers than casts and element-wise arithmetic in floats."""

from typing import Any

import tilelang.language as T
from refusals import refused

INSTEAD = "make it a float32 block; T.copy casts it from and to integers"


@refused(
    "TT140",
    "'Y' has dtype int32; this version computes sums and products in float32",
    help=INSTEAD,
)
def product_of_integers() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "int16"), B: T.Tensor((32, 32), "int32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "int16")
            Y = T.alloc_fragment((32, 32), "int32")
            T.copy(A, X)
            T.gemm(X, X, Y, clear_accum=True)  # refused
            T.copy(Y, B)

    return main


@refused(
    "TT140",
    "'Y' has dtype int8; this version computes sums and products in float32",
    help=INSTEAD,
)
def sum_of_bytes() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "int8"), B: T.Tensor((32,), "int8")):
        with T.Kernel(1, threads=128):
            X = T.alloc_fragment((32, 32), "int8")
            Y = T.alloc_fragment((32,), "int8")
            T.copy(A, X)
            T.reduce_sum(X, Y, dim=1)  # refused
            T.copy(Y, B)

    return main


@refused(
    "TT141",
    "T.copy from int32 to uint32: this version does not wrap integers",
    help="declare 'B' as int32",
)
def wrapping_copy() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "int32"), B: T.Tensor((32, 32), "uint32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "int32")
            T.copy(A, X)
            T.copy(X, B)  # refused

    return main


@refused(
    "TT142",
    "'X' has dtype int16, which a 16-bit DST cannot hold",
    help="leave out target option fp32_acc=false",
    options={"fp32_acc": False},
)
def integers_in_a_narrow_dst() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "int16"), B: T.Tensor((32, 32), "int16")):
        with T.Kernel(1, threads=128):
            X = T.alloc_fragment((32, 32), "int16")  # refused
            T.copy(A, X)
            T.copy(X, B)

    return main
