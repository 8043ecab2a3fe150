"""Kernels that do more with integers than moving them."""

from typing import Any

import tilelang.language as T
from refusals import refused


@refused(
    "TT140",
    "'X' has dtype int8; this version copies integers, it does not compute with them",
    help="T.copy it to a float32 block and compute there",
)
def sum_of_integers() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "int8"), B: T.Tensor((32, 32), "int8")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "int8")
            T.copy(A, X)
            for i, j in T.Parallel(32, 32):
                X[i, j] = X[i, j] + X[i, j]  # refused
            T.copy(X, B)

    return main


@refused(
    "TT140",
    "'X' has dtype int32; this version copies integers, it does not compute with them",
    help="T.copy it to a float32 block and compute there",
)
def fill_with_an_integer() -> Any:
    @T.prim_func
    def main(B: T.Tensor((32, 32), "int32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "int32")
            T.fill(X, 7)  # refused
            T.copy(X, B)

    return main


@refused(
    "TT140",
    "'X' has dtype int8; this version copies integers, it does not compute with them",
    help="T.copy it to a float32 block and compute there",
)
def product_of_integers() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "int8"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "int8")
            Y = T.alloc_fragment((32, 32), "float32")
            T.copy(A, X)
            T.gemm(X, X, Y, clear_accum=True)  # refused
            T.copy(Y, B)

    return main


@refused(
    "TT141",
    "T.copy from float32 to int8: this version has no such cast",
    help="make 'B' a float32 block",
)
def float_to_integer() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "int8")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A, X)
            T.copy(X, B)  # refused

    return main


@refused(
    "TT141",
    "T.copy from int32 to float32: this version has no such cast",
    help="integers of 8 and 16 bits can be copied to floats",
)
def wide_integer_to_float() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "int32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A, X)  # refused
            T.copy(X, B)

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
