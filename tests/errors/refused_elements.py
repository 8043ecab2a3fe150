"""T.Parallel bodies that are no element-wise operation on whole blocks."""

from typing import Any

import tilelang.language as T
from refusals import refused

ELEMENTS = "docs/reference/operations.md lists the operations there are"
SAME_PLACE = "this version computes block[i, j] from other blocks at [i, j], over their whole shape"


@refused("TT130", "T.Parallel extent 'n' is known only at run time", help="loop over a block of constant size")
def parallel_of_unknown_size() -> Any:
    n = T.dynamic("n")

    @T.prim_func
    def main(A: T.Tensor((n, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            for i, j in T.Parallel(n, 32):  # refused
                X[i, j] = A[i, j]

    return main


@refused(
    "TT131",
    "IfThenElse inside T.Parallel is not supported by this version",
    help="assign elements of a block, without conditions",
)
def condition_per_element() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            for i, j in T.Parallel(32, 32):
                if i > j:  # refused
                    X[i, j] = A[i, j]

    return main


@refused(
    "TT131",
    "tl.atomic_add_elem_op inside T.Parallel is not supported by this version",
    help="assign elements of a block, without conditions",
)
def atomic_addition_per_element() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(4, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A, X)
            for i, j in T.Parallel(32, 32):
                T.atomic_add(B[i, j], X[i, j])  # refused

    return main


@refused("TT132", "'Y[j, i]' is not the element being computed", help=SAME_PLACE)
def transposed_access() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            Y = T.alloc_shared((32, 32), "float32")
            T.copy(A, Y)
            for i, j in T.Parallel(32, 32):
                X[i, j] = Y[j, i]  # refused

    return main


@refused("TT132", "'X[i, j]' is not the element being computed", help=SAME_PLACE)
def half_of_a_block() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((64, 32), "float32")
            for i, j in T.Parallel(32, 32):
                X[i, j] = 1.0  # refused
            T.copy(X, A)

    return main


@refused(
    "TT133",
    "'A[j, i]' does not walk a box of the tensor in order",
    help="index each axis by base + loop variable, axes in the order of T.Parallel",
)
def transposed_walk() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            for i, j in T.Parallel(32, 32):
                X[i, j] = A[j, i]  # refused

    return main


@refused("TT134", "'T.nextafter(X[i, j], T.float32(0.0))' has no element-wise form in this version", help=ELEMENTS)
def next_number() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A, X)
            for i, j in T.Parallel(32, 32):
                X[i, j] = T.nextafter(X[i, j], 0.0)  # refused

    return main


@refused("TT134", "'i' has no element-wise form in this version", help=ELEMENTS)
def position_as_a_value() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            for i, j in T.Parallel(32, 32):
                X[i, j] = X[i, j] + i  # refused
            T.copy(X, A)

    return main


@refused(
    "TT135",
    "cast from float32 to float8_e4m3fnuz inside an expression",
    help="assign to a float8_e4m3fnuz block first: storing rounds",
)
def narrowing_inside_an_expression() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A, X)
            for i, j in T.Parallel(32, 32):
                X[i, j] = T.cast(T.cast(X[i, j], "float8_e4m3fnuz"), "float32") * 2.0  # refused

    return main
