"""T.Parallel bodies that are no element-wise operation on whole blocks."""

from typing import Any

import tilelang.language as T
from refusals import refused, with_scalar_code

ELEMENTS = "`tilelang-tt help operations` lists what there is: combine some of it, or compute this on the host"


@refused(
    "TT130",
    "T.Parallel extent 'n' is known only at run time",
    help="loop over a block of constant size, or over T.min of a number and such a size",
)
def parallel_of_unknown_size() -> Any:
    n = T.dynamic("n")

    @T.prim_func
    def main(A: T.Tensor((n, 32), "float32"), B: T.Tensor((n, 32), "float32")):
        with T.Kernel(1, threads=128):
            for i, j in T.Parallel(n, 32):  # refused
                B[i, j] = A[i, j]

    return main


@refused(
    "TT131",
    "tl.atomic_add_elem_op inside T.Parallel is not supported by this version",
    help="scalar code adds up in any order (it is on unless target option scalar_code=false); faster is T.reduce_sum, "
    "or a T.gemm with a block of zeros and ones that says which rows go where",
)
def atomic_addition_where_a_tensor_says() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32"), where: T.Tensor((32,), "int32")):
        with T.Kernel(4, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A, X)
            for i, j in T.Parallel(32, 32):
                T.atomic_add(B[where[i], j], X[i, j])  # refused

    return main


@refused(
    "TT131",
    "a loop inside T.Parallel runs from 0 for i rounds, not the same for every element",
    help="let it run over the full range, and put its body under a condition",
)
def loop_as_long_as_the_row() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A, X)
            for i, j in T.Parallel(32, 32):
                for _k in T.serial(i):  # refused
                    X[i, j] = X[i, j] + 1.0
            T.copy(X, B)

    return main


@refused(
    "TT137",
    "reducer 'total' is assigned something other than a sum of its element and a value",
    help="use T.reducer_update",
)
@with_scalar_code
def product_of_a_reducer() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=128):
            total = T.alloc_reducer(32, "float32", replication="all")
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A, X)
            T.clear(total)
            for i, j in T.Parallel(32, 32):
                total[i] = total[i] * X[i, j]  # refused
            T.finalize_reducer(total)
            T.copy(total, B)

    return main


@refused("TT107", "a reducer with op='bitor' is not supported by this version", help="supported: sum, max, min")
def reducer_of_bits() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "int32"), B: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=128):  # refused
            bits = T.alloc_reducer(32, "int32", op="bitor")
            X = T.alloc_shared((32, 32), "int32")
            Y = T.alloc_shared((32,), "int32")
            T.copy(A, X)
            T.reducer_init(bits)
            for i, j in T.Parallel(32, 32):
                T.reducer_update(bits[i], X[i, j])
            T.finalize_reducer(bits, Y)
            T.copy(Y, B)

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


@refused(
    "TT136",
    "several iterations of T.Parallel assign to the same element of 'X[i]'",
    help="walk each axis of the target by a variable of its own, or use T.reduce_sum or another reduction",
)
def one_element_for_a_row() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32,), "float32")
            for i, j in T.Parallel(32, 32):
                X[i] = A[i, j]  # refused
            T.copy(X, B)

    return main


@refused(
    "TT154",
    "elements 0 to 63 of axis 0 of 'X' are used; it has 32",
    help="let T.Parallel go no further than the block, or make the block as long",
)
@with_scalar_code
def more_elements_than_the_block_has() -> Any:
    @T.prim_func
    def main(A: T.Tensor((4,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_fragment((32,), "float32")
            for i in T.Parallel(64):
                X[i] = A[0]  # refused
            for i in T.Parallel(64):
                B[i] = X[i] * 2.0

    return main


@refused(
    "TT154",
    "elements 32 to 63 of axis 1 of 'X' are used; it has 32",
    help="let T.Parallel go no further than the block, or make the block as long",
)
@with_scalar_code
def elements_behind_the_block() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            Y = T.alloc_shared((32, 32), "float32")
            T.copy(A, X)
            for i, j in T.Parallel(32, 32):
                Y[i, j] = X[i, 32 + j]  # refused
            T.copy(Y, B)

    return main


@refused(
    "TT154",
    "elements 1 to 32 of axis 1 of 'rows' are used; it has 32",
    help="let T.Parallel go no further than the block, or make the block as long",
)
@with_scalar_code
def elements_behind_a_row_of_a_view() -> Any:
    @T.prim_func
    def main(A: T.Tensor((1024,), "float32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((1024,), "float32")
            Y = T.alloc_shared((32, 32), "float32")
            rows = T.reshape(X, (32, 32))
            T.copy(A, X)
            for i, j in T.Parallel(32, 32):
                Y[i, j] = rows[i, j + 1]  # refused
            T.copy(Y, B)

    return main


@refused(
    "TT154",
    "elements -32 to 31 of axis 1 of 'X' are used; it has 64",
    help="let T.Parallel go no further than the block, or make the block as long",
)
@with_scalar_code
def elements_before_the_block() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 64), "float32"), B: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 64), "float32")
            Y = T.alloc_shared((32, 64), "float32")
            T.copy(A, X)
            for i, j in T.Parallel(32, 64):
                Y[i, j] = X[i, j - 32]  # refused
            T.copy(Y, B)

    return main


@refused(
    "TT154",
    "elements 1 to 64 of axis 1 of 'X' are used; it has 64",
    help="let T.Parallel go no further than the block, or make the block as long",
)
@with_scalar_code
def a_neighbour_behind_the_block() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 64), "float32"), B: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 64), "float32")
            Y = T.alloc_shared((32, 64), "float32")
            T.copy(A, X)
            for i, j in T.Parallel(32, 64):
                Y[i, j] = X[i, j] + X[i, j + 1]  # refused
            T.copy(Y, B)

    return main


@refused(
    "TT154",
    "element 40 of axis 0 of 'X' is used; it has 32",
    help="let T.Parallel go no further than the block, or make the block as long",
)
@with_scalar_code
def a_row_the_block_has_not() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 64), "float32"), B: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 64), "float32")
            Y = T.alloc_shared((32, 64), "float32")
            T.copy(A, X)
            for i, j in T.Parallel(32, 64):
                Y[i, j] = X[40, j]  # refused
            T.copy(Y, B)

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
