"""Kernels that use parts of TileLang this backend cannot compile."""

from typing import Any

import tilelang.language as T
from refusals import refused, with_scalar_code

from tilelang_tt.formats import DTYPES

SCALARS = "use + - * // % min max, comparisons, and bits with constants, of block indices, loop variables and sizes"


# --- functions and launches -----------------------------------------------------------------------


@refused("TT103", "function 'main' has no T.Kernel", help="add one: with T.Kernel(...) as ...")
@with_scalar_code
def empty_function() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        pass

    return main


@refused(
    "TT105",
    "the kernel computes with 'ld', a stride of 'A'",
    help="index the tensor by its axes, or pass the number as a parameter of its own",
)
@with_scalar_code
def stride_as_a_number() -> Any:
    ld = T.dynamic("ld")

    @T.prim_func
    def main(
        A: T.StridedTensor((32, 32), (ld, 1), "float32"),  # refused
        B: T.Tensor((32, 32), "float32"),
    ):
        with T.Kernel(1, threads=128):
            for i, j in T.Parallel(32, 32):
                B[i, j] = A[i, j] + ld

    return main


@refused("TT106", "For outside a T.Kernel", help="move the statement into the T.Kernel block")
@with_scalar_code
def loop_around_the_launch() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")):
        for _ in T.serial(2):  # refused
            with T.Kernel(1, threads=128):
                X = T.alloc_shared((32, 32), "float32")
                T.copy(A, X)
                T.copy(X, B)

    return main


@refused("TT107", "annotation 'tl.non_restrict_params' is not known to this backend", help="remove it")
def unknown_annotation() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):  # refused
            X = T.alloc_shared((32, 32), "float32")
            T.annotate_restrict_buffers(A, B)
            T.copy(A, X)
            T.copy(X, B)

    return main


# --- buffers --------------------------------------------------------------------------------------


@refused("TT108", "'G' has scope 'global', which this version does not support", help="pass it as a tensor parameter")
@with_scalar_code
def scratch_in_dram() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            G = T.alloc_global((32, 32), "float32")  # refused
            T.copy(A, G)

    return main


@refused("TT109", "'X' has a shape known only at run time: [n, 32]", help="on-chip buffers need constant shapes")
@with_scalar_code
def buffer_of_unknown_size() -> Any:
    n = T.dynamic("n")

    @T.prim_func
    def main(A: T.Tensor((n, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((n, 32), "float32")  # refused
            T.copy(A, X)

    return main


@refused(
    "TT109",
    "'X' has no elements: its shape is [32, 0]",
    help="give every axis an element at least; where there is nothing to do, leave the block and its use out",
)
@with_scalar_code
def buffer_without_elements() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 0), "float32")  # refused
            T.copy(A[0:32, 0:0], X)

    return main


UNPACKED = "use float4_e2m1fn outside of shared blocks, and copy from one to the other"


@refused(
    "TT110",
    "'A' is a tensor of float4_e2m1_unpacked, whose bytes only a GPU's shared memory has",
    help=UNPACKED,
    scalar_code=True,
)
def tensor_of_unpacked_floats() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), T.float4_e2m1_unpacked), C: T.Tensor((32, 32), "float32")):  # refused
        with T.Kernel(1, threads=32):
            for i, j in T.Parallel(32, 32):
                C[i, j] = T.cast(A[i, j], "float32")

    return main


@refused(
    "TT110",
    "'v' is a view of float4_e2m1_unpacked, whose bytes only a GPU's shared memory has",
    help=UNPACKED,
    scalar_code=True,
)
def view_of_unpacked_floats() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float4_e2m1fn"), C: T.Tensor((32, 32), "uint8")):
        with T.Kernel(1, threads=32):
            a = T.alloc_shared((32, 32), T.float4_e2m1_unpacked)
            T.copy(A, a)
            v = T.view(a, (32, 32), "uint8")
            T.copy(v, C)  # refused

    return main


@refused(
    "TT110",
    "'A' has dtype int64, which this version does not support",
    help="the chip has no 64-bit numbers: declare int32, and pass tensor.to(torch.int32)",
)
def dtype_of_a_tensor() -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((32, 32), "int64"),  # refused
        B: T.Tensor((32, 32), "float32"),
    ):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            for i, j in T.Parallel(32, 32):
                X[i, j] = A[i, j] * A[i, j]
            T.copy(X, B)

    return main


@refused(
    "TT110",
    "'X' has dtype float8_e8m0fnu, which this version does not support",
    help=f"use one of {', '.join(DTYPES)}",
)
def dtype_of_a_buffer() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float8_e8m0fnu")  # refused
            T.copy(A, X)

    return main


@refused("TT116", "'Y' is a view or alias of another buffer", help="use the buffer itself")
def view_as_another_type() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 128), "float16")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((64, 64), "float32")
            Y = T.view(X, (64, 128), dtype="float16")
            T.copy(A, X)
            T.copy(Y, B)  # refused

    return main


@refused("TT116", "'Y' is a view or alias of another buffer", help="use the buffer itself")
def view_with_strides() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((64, 64), "float32")
            Y = T.view(X, (64, 64), strides=(1, 64))
            T.copy(A, X)
            T.copy(Y, B)  # refused

    return main


# --- statements -----------------------------------------------------------------------------------


@refused(
    "TT111",
    "a while loop is not supported by this version",
    help="write T.serial over the largest possible number of rounds, with an if on the condition inside",
)
def while_loop() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A, X)
            while X[0, 0] > 0.0:  # refused
                T.copy(X, B)

    return main


@refused(
    "TT138",
    "an element of 'X' controls an index, a bound or a branch, but is computed on the chip",
    help="read the number from a tensor parameter",
)
def condition_on_data() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A, X)
            if X[0, 0] > 0.0:  # refused
                T.copy(X, B)

    return main


@refused(
    "TT138",
    "an element of 'n' controls an index, a bound or a branch, but is computed on the chip",
    help="read the number from a tensor parameter",
)
def condition_on_a_copy_that_changes() -> Any:
    @T.prim_func
    def main(N: T.Tensor((32,), "int32"), A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            n = T.alloc_shared((32,), "int32")
            X = T.alloc_shared((32, 32), "float32")
            T.copy(N, n)
            T.copy(A, X)
            for i in T.Parallel(32):
                n[i] = n[i] - 1
            if n[0] > 0:  # refused
                T.copy(X, B)

    return main


@refused(
    "TT138",
    "an element of 'n' controls an index, a bound or a branch, but is computed on the chip",
    help="read the number from a tensor parameter",
)
def condition_on_a_copy_from_a_place_that_changes() -> Any:
    @T.prim_func
    def main(N: T.Tensor((4, 32), "int32"), A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            n = T.alloc_shared((32,), "int32")
            X = T.alloc_shared((32, 32), "float32")
            row = T.alloc_var("int32")
            row = 1
            T.copy(N[row, 0:32], n)
            row = 2
            T.copy(A, X)
            if n[0] > 0:  # refused
                T.copy(X, B)

    return main


@refused(
    "TT112",
    "index or condition 'T.bitwise_xor(bx, by) * 32' is not integer arithmetic on known values",
    help=SCALARS,
)
def swizzled_index() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64, 32), "float32")):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A[(bx ^ by) * 32, 0], X)  # refused
            T.copy(X, B[bx * 32, 0])

    return main


@refused(
    "TT113",
    "tirx.break_loop is not supported by this version",
    help="put what follows it in the loop under the opposite condition",
)
def early_exit() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=128) as bx:
            X = T.alloc_shared((32, 32), "float32")
            for k in T.serial(2):
                if k > bx:
                    break  # refused
                T.copy(A[k * 32, 0], X)
                T.copy(X, B[k * 32, 0])

    return main


@refused(
    "TT115",
    "region of 'A' has an extent known only at run time",
    help="copy blocks of constant size; tails are cut by the tensor's bounds",
)
def copy_of_unknown_size() -> Any:
    n = T.dynamic("n")

    @T.prim_func
    def main(A: T.Tensor((n, 32), "float32"), B: T.Tensor((n, 32), "float32")):
        with T.Kernel(1, threads=128):
            T.copy(A, B)  # refused

    return main


@refused(
    "TT119",
    "T.copy between boxes of different shape: 64x32 to 32x32",
    help="make the shapes equal; T.reshape sees a block in another one",
)
@with_scalar_code
def copy_to_a_smaller_shape() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A[0:64, 0:32], X[0:32, 0:32])  # refused

    return main


@refused(
    "TT119",
    "T.copy between boxes of different shape: 1x32x64 to 2048",
    help="make the shapes equal; T.reshape sees a block in another one",
)
@with_scalar_code
def copy_to_fewer_axes() -> Any:
    @T.prim_func
    def main(A: T.Tensor((2, 32, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((2048,), "float32")
            T.copy(A[1, 0:32, 0:64], X)  # refused

    return main


@refused("TT120", "T.gemm needs 2-D operands", help="allocate them without unit axes")
def product_of_one_row() -> Any:
    @T.prim_func
    def main(A: T.Tensor((1, 32), "float32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((1, 32), "float32")
            Y = T.alloc_shared((32, 32), "float32")
            C = T.alloc_fragment((1, 32), "float32")
            T.copy(A, X)
            T.copy(B, Y)
            T.clear(C)
            T.gemm(X, Y, C)  # refused
            T.copy(C, A)

    return main


@refused(
    "TT121",
    "T.gemm adds to 'X', which is also one of its operands",
    help="give it an accumulator of its own",
)
@with_scalar_code
def product_onto_its_operand() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            Y = T.alloc_shared((32, 32), "float32")
            T.copy(A, X)
            T.copy(A, Y)
            T.gemm(X, Y, X)  # refused
            T.copy(X, B)

    return main


@refused(
    "TT150",
    "elements of 'N' control indices, bounds or branches, and this function writes 'N'",
    help="write it in a function of its own, and call that one first",
)
def table_written_by_the_function() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), M: T.Tensor((32,), "int32"), N: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=128):
            numbers = T.alloc_shared((32,), "int32")
            T.copy(M, numbers)
            T.copy(numbers, N)
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            for k in T.serial(N[0]):  # refused
                T.copy(A[k * 32, 0], X)
                T.copy(X, A[k * 32, 0])

    return main
