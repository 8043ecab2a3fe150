"""Kernels for threads that scalar code refuses: they mean nothing on a GPU either, or need what no core has."""

from typing import Any

import tilelang.language as T
from refusals import refused

BARRIERS = "put conditions on what single threads do between barriers, not on the barriers"
EACH = "use T.serial and T.alloc_local for what each thread does for itself, and T.Parallel for what they share"
AS_LONG = "let threads and loops go no further than the block, or make the block as long"
FILL = "T.copy, T.clear or T.fill it first"
MATRIX = "use T.gemm: the matrix engine has no warps"
ROOM = "use smaller blocks, or fewer threads: what a thread has for itself is there once for each of them"


@refused(
    "TT160",
    "a barrier in a loop whose length differs from thread to thread",
    help=BARRIERS,
    notes=("the loop: {file}:{loop}",),
    scalar_code=True,
)
def barrier_in_a_loop_of_each_thread() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            S = T.alloc_shared((64,), "int32")
            for i in T.serial(tx):  # line: loop
                S[tx] = i
                T.sync_threads()  # refused
            A[tx] = S[63 - tx]

    return main


@refused(
    "TT160",
    "a barrier in a loop whose length differs from thread to thread",
    help=BARRIERS,
    notes=("the loop: {file}:{loop}",),
    scalar_code=True,
)
def barrier_until_each_thread_is_done() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            S = T.alloc_shared((64,), "int32")
            S[tx] = A[tx]
            T.sync_threads()
            while S[tx] > 0:  # line: loop
                S[tx] = S[tx] - 1
                T.sync_threads()  # refused
            A[tx] = S[63 - tx]

    return main


@refused(
    "TT160",
    "an operation of all threads under a condition that differs from thread to thread",
    help=BARRIERS,
    notes=("the condition: {file}:{condition}",),
    scalar_code=True,
)
def copy_by_some_threads() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "int32"), B: T.Tensor((64, 32), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            S = T.alloc_shared((32, 32), "int32")
            if A[tx, 0] > 0:  # line: condition
                T.copy(A[0, 0], S)  # refused
            T.copy(S, B[0, 0])

    return main


@refused(
    "TT161",
    "what the threads do together depends on what differs from thread to thread",
    help=EACH,
    scalar_code=True,
)
def parallel_loop_by_the_thread_index() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            for i in T.Parallel(32):
                A[tx, i] = i  # refused

    return main


@refused(
    "TT161",
    "what the threads do together depends on what differs from thread to thread",
    help=EACH,
    scalar_code=True,
)
def element_of_a_fragment_by_the_thread_index() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            F = T.alloc_fragment((64,), "float32")
            F[tx] = A[tx]  # refused
            T.copy(F, A)

    return main


@refused("TT125", "'S' is read, but nothing fills it before", help=FILL, scalar_code=True)
def shared_block_that_no_thread_fills() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            S = T.alloc_shared((64,), "float32")
            A[tx] = S[63 - tx]  # refused

    return main


@refused(
    "TT131",
    "an exchange between threads inside T.Parallel, whose rounds all threads share",
    help="move it out of T.Parallel",
    scalar_code=True,
)
def shuffle_inside_a_parallel_loop() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            F = T.alloc_fragment((64,), "float32")
            T.copy(A, F)
            for i in T.Parallel(64):
                F[i] = T.shfl_xor(F[i], 1)  # refused
            T.copy(F, A)

    return main


@refused(
    "TT113",
    "a random number inside T.Parallel, where it is not known which thread draws it, is not supported by this version",
    help="draw it outside T.Parallel, into an element that the thread index says",
    scalar_code=True,
)
def random_number_of_any_thread() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            T.rng_init(7, tx, 0)
            for i in T.Parallel(64):
                A[i] = T.rng_rand_float()  # refused

    return main


@refused("TT102", "tl.ptx_ldmatrix is a PTX instruction", help=MATRIX, scalar_code=True)
def matrix_load() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32,), "float16")):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            S = T.alloc_shared((32, 32), "float16")
            X = T.alloc_local((8,), "float16")
            T.ptx_ldmatrix(T.bool(False), T.int32(4), S.access_ptr("r"), X.access_ptr("w"))  # refused
            A[tx] = X[0]

    return main


@refused(
    "TT108",
    "'X' has scope 'shared.tmem', tensor memory, which only GPUs have",
    help="use T.alloc_fragment for accumulators",
    scalar_code=True,
)
def tensor_memory() -> Any:
    @T.prim_func
    def main(A: T.Tensor((128, 128), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_tmem([128, 128], "float32")  # refused
            T.copy(X, A)

    return main


@refused(
    "TT102",
    "tirx.call_extern is a call of external GPU code",
    help="express it with tile operations",
    scalar_code=True,
)
def external_function_of_an_element() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            A[tx] = T.call_extern("float32", "__expf", A[tx])  # refused

    return main


@refused(
    "TT204",
    "the blocks of kernel 'main' need 2,097,472 B of L1; Wormhole has 1,393,280 B",
    help=ROOM,
    notes=("X: [256, 2048] float32",),
    scalar_code=True,
)
def arrays_of_threads_that_do_not_fit() -> Any:
    @T.prim_func
    def main(A: T.Tensor((256,), "float32")):
        with T.Kernel(1, threads=256):  # refused
            tx = T.get_thread_binding()
            X = T.alloc_local((2048,), "float32")
            for i in T.serial(2048):
                X[i] = A[tx]
            T.sync_threads()
            A[255 - tx] = X[tx]

    return main


@refused("TT154", "elements 0 to 63 of 'X' are used; it has 32", help=AS_LONG, scalar_code=True)
def more_threads_than_elements() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            X = T.alloc_shared((32,), "float32")
            X[tx] = A[tx]  # refused
            A[63 - tx] = X[tx // 2]

    return main


@refused("TT154", "elements -1 to 126 of 'X' are used, counted row by row; it has 128", help=AS_LONG, scalar_code=True)
def element_before_the_block_of_threads() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            X = T.alloc_shared((2, 64), "float32")
            for i in T.serial(2):
                X[i, tx] = A[tx]
            for i in T.serial(2):
                A[tx] = A[tx] + X[i, tx - 1]  # refused

    return main


@refused(
    "TT161",
    "all threads together update 'X', but each thread has its own",
    help="use T.alloc_shared or T.alloc_fragment, or update the elements in T.serial",
    scalar_code=True,
)
def atomic_update_of_a_block_of_each_thread() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            X = T.alloc_local((64,), "float32")
            T.clear(X)
            T.atomic_add(X, A)  # refused
            T.copy(X, B)

    return main
