"""Kernels that use what only a GPU has."""

from typing import Any

import tilelang.language as T
from refusals import refused, with_scalar_code

THREADS = "Tensix cores have no SIMT threads; write T.Parallel, T.copy or another tile operation"
BARRIER = "data movement is asynchronous by itself here: use T.copy inside T.Pipelined and drop the barrier"
TMA = "use T.copy: the reader kernel moves whole tiles over the NoC"
WARP = "use T.gemm: the matrix engine has no warps"
ORDER = (
    "check the parity that is waited for and how many threads arrive; groups that wait for each other in loops must "
    "have loops of the same bounds"
)
KNOWN = (
    "use bounds and conditions that are known when the kernel is compiled, or T.copy inside T.Pipelined, which needs "
    "no barriers"
)
TILES = "express it with tile operations"


@refused("TT101", "the kernel uses the thread index 'tx'", help=THREADS)
def thread_index_as_an_index() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding(0)
            X = T.alloc_shared((32, 32), "float32")
            X[0, tx] = 1.0  # refused
            T.copy(X, A)

    return main


@refused("TT101", "the kernel uses the thread index 'tx'", help=THREADS)
def thread_index_in_a_condition() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding(0)
            X = T.alloc_shared((32, 32), "float32")
            T.clear(X)
            if tx == 0:  # refused
                T.copy(X, A)

    return main


@refused("TT101", "the kernel uses the thread index 'ty'", help=THREADS)
def second_thread_index() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=(32, 4)):
            X = T.alloc_shared((32, 32), "float32")
            T.clear(X)
            if T.get_thread_binding(1) < 2:  # refused
                T.copy(X, A)

    return main


@refused("TT101", "the kernel uses the thread index 'tx'", help=THREADS)
def warp_number_from_the_thread_index() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding(0)
            X = T.alloc_shared((32, 32), "float32")
            warp = tx // 32  # refused
            T.clear(X)
            if warp == 0:
                T.copy(X, A)

    return main


@refused("TT101", "the kernel uses the thread index 'lane'", help=THREADS)
def loop_over_threads() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            T.clear(X)
            for lane in T.thread_binding(0, 32, thread="threadIdx.x"):  # refused
                T.copy(X, A[lane * 32, 0])

    return main


@refused(
    "TT170",
    "no order of the thread groups lets this wait pass: nothing that can run before it completes barrier 'full'",
    help=ORDER,
)
@with_scalar_code
def wait_for_nobody() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            full = T.alloc_barrier(128)
            T.mbarrier_wait_parity(full, 0)  # refused

    return main


@refused(
    "TT170",
    "no order of the thread groups lets this wait pass: nothing that can run before it completes barrier 'first'",
    help=ORDER,
)
@with_scalar_code
def groups_that_wait_for_each_other() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=256):
            first = T.alloc_barrier(128)
            second = T.alloc_barrier(128)
            X = T.alloc_shared((32, 32), "float32")
            with T.ws(0):  # refused
                T.barrier_wait(first, 0)
                T.clear(X)
                T.barrier_arrive(second)
            with T.ws(1):
                T.barrier_wait(second, 0)
                T.copy(X, A)
                T.barrier_arrive(first)

    return main


@refused(
    "TT170",
    "no order of the thread groups lets this wait pass: nothing that can run before it completes a named barrier",
    help=ORDER,
)
@with_scalar_code
def named_barrier_with_too_few_threads() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=256):
            X = T.alloc_shared((32, 32), "float32")
            with T.ws(0):  # refused
                T.clear(X)
                T.sync_threads(1, 256)
            T.copy(X, A)

    return main


@refused(
    "TT171",
    "whether thread groups wait forever is not known: which barrier this is is known only when the kernel runs",
    help=KNOWN,
)
@with_scalar_code
def barrier_by_the_block_index() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(2, threads=128) as bx:
            full = T.alloc_barrier([128, 128])
            X = T.alloc_shared((32, 32), "float32")
            T.clear(X)
            T.barrier_arrive(full[bx])  # refused
            T.copy(X, A)

    return main


@refused(
    "TT172",
    "'C' is in registers, of which thread groups see only their own; some change what others use, too",
    help="give each group a fragment or variable of its own, or use T.alloc_shared",
)
@with_scalar_code
def fragment_of_all_groups() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=256):
            C = T.alloc_fragment((32, 32), "float32")  # refused
            T.clear(C)
            with T.ws(0):
                T.copy(A, C)
            with T.ws(1):
                T.copy(C, B)

    return main


@refused(
    "TT102",
    "a copy with 'cluster_mask' is a TMA load for several blocks",
    help="write a T.copy for each box that is moved",
)
@with_scalar_code
def copy_for_several_blocks() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(2, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            T.tma_copy(A, X, cluster_mask=3)  # refused

    return main


@refused("TT102", "tl.warp_reduce_sum is a warp-level operation", help=THREADS)
def warp_reduction() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            X[0, 0] = T.warp_reduce_sum(X[0, 0])  # refused

    return main


@refused("TT102", "tl.shfl_xor_sync is a warp shuffle", help=THREADS)
def warp_shuffle() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            X[0, 0] = T.shfl_xor(X[0, 0], 1)  # refused

    return main


@refused("TT102", "tl.get_lane_idx is a lane index", help=THREADS)
def lane_index() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            X[0, T.get_lane_idx()] = 0.0  # refused

    return main


@refused("TT102", "tl.tl_shuffle_elect is a warp-level operation", help=THREADS)
def elected_thread() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            T.clear(X)
            if T.shuffle_elect(128):  # refused
                T.copy(X, A)

    return main


@refused("TT102", "tl.sync_warp is a warp-level barrier", help=THREADS)
def warp_barrier() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            T.sync_warp()  # refused

    return main


@refused(
    "TT102",
    "tl.sync_grid is a barrier of the whole grid that not every block gets to",
    help="put it where every block gets to: outside of conditions, and of loops of unknown length",
)
@with_scalar_code
def grid_barrier() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(2, threads=128) as bx:
            if bx < 1:
                T.sync_grid()  # refused

    return main


@refused(
    "TT102",
    "tl.cluster_sync is an operation of thread-block clusters",
    help="remove it: blocks do not wait for each other",
)
@with_scalar_code
def cluster_barrier() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(2, threads=128):
            T.cluster_sync()  # refused

    return main


@refused("TT102", "tirx.call_extern is a call of external GPU code", help=TILES)
def external_code() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            T.call_extern("handle", "my_device_function", X.access_ptr("w"))  # refused

    return main


@refused("TT102", "tl.ieee_add is a CUDA rounding intrinsic", help="use the plain operator")
def cuda_rounding() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            X[0, 0] = T.ieee_add(X[0, 0], X[0, 0], "rz")  # refused

    return main
