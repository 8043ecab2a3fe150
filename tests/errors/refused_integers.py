"""Kernels that want more of integers than the chip has."""

from typing import Any

import tilelang.language as T
from refusals import refused


@refused(
    "TT140",
    "'X' has dtype int16; T.gemm multiplies floats, or bytes into 32-bit integers",
    help="make it a block of int8, uint8 or float32; T.copy casts it",
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
    "'Y' has dtype int8; T.gemm multiplies floats, or bytes into 32-bit integers",
    help="make it a block of int32; T.copy casts it",
)
def product_into_bytes() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "int8"), B: T.Tensor((32, 32), "int8")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "int8")
            Y = T.alloc_fragment((32, 32), "int8")
            T.copy(A, X)
            T.gemm(X, X, Y, clear_accum=True)  # refused
            T.copy(Y, B)

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


@refused(
    "TT142",
    "a 16-bit DST cannot hold integers of up to 16,384",
    help="leave out target option fp32_acc=false",
    options={"fp32_acc": False},
)
def large_integers_in_a_narrow_dst() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "int8"), B: T.Tensor((32, 32), "int8")):
        with T.Kernel(1, threads=128):
            X = T.alloc_fragment((32, 32), "int8")
            T.copy(A, X)
            for i, j in T.Parallel(32, 32):
                X[i, j] = X[i, j] * X[i, j]  # refused
            T.copy(X, B)

    return main


@refused(
    "TT143",
    "an integer of 64 bits is computed, which may not fit the chip's 32",
    help='compute in int32, with T.cast(x, "int32") around what is of 64 bits',
)
def long_products() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "int32"), B: T.Tensor((32, 32), "int32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_fragment((32, 32), "int32")
            T.copy(A, X)
            for i, j in T.Parallel(32, 32):
                X[i, j] = T.cast((T.cast(X[i, j], "int64") * T.int64(5)) >> T.int64(16), "int32")  # refused
            T.copy(X, B)

    return main
