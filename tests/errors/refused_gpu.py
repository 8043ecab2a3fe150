"""Kernels that use what only a GPU has."""

from typing import Any

import tilelang.language as T
from refusals import refused

THREADS = "Tensix cores have no SIMT threads; write T.Parallel, T.copy or another tile operation"
BARRIER = "data movement is asynchronous by itself here: use T.copy inside T.Pipelined and drop the barrier"
TMA = "use T.copy: the reader kernel moves whole tiles over the NoC"
WARP = "use T.gemm: the matrix engine has no warps"
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


@refused("TT101", "the kernel uses the thread index 'tx'", help=THREADS)
def warp_specialisation() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            with T.ws(0):  # refused
                T.clear(X)
            T.copy(X, A)

    return main


@refused("TT102", "tl.tileop.tma_copy is a TMA operation", help=TMA)
def tma_copy() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            T.tma_copy(A, X)  # refused

    return main


@refused("TT102", "tl.tma_store_wait is a TMA operation", help=TMA)
def tma_store_wait() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            T.tma_store_wait()  # refused

    return main


@refused("TT102", "tl.tileop.async_copy is an asynchronous copy of GPUs", help=TMA)
def async_copy() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            T.async_copy(A, X)  # refused

    return main


@refused("TT102", "tirx.ptx_commit_group is an asynchronous copy of GPUs", help=BARRIER)
def commit_group() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            T.ptx_commit_group()  # refused

    return main


@refused("TT102", "tirx.ptx_arrive_barrier is an mbarrier operation", help=BARRIER)
def barrier_arrive() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            full = T.alloc_barrier(128)
            T.barrier_arrive(full)  # refused

    return main


@refused("TT102", "tl.mbarrier_wait_parity is an mbarrier operation", help=BARRIER)
def mbarrier_wait() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            full = T.alloc_barrier(128)
            T.mbarrier_wait_parity(full, 0)  # refused

    return main


@refused("TT108", "'_full' has scope 'shared.barrier', which this version does not support", help=BARRIER)
def unused_barrier() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            _full = T.alloc_barrier(128)  # refused
            X = T.alloc_shared((32, 32), "float32")
            T.clear(X)
            T.copy(X, A)

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


@refused("TT102", "tl.tileop.wgmma_gemm is a warp-group operation", help=WARP)
def wgmma() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((64, 64), "bfloat16")
            C = T.alloc_fragment((64, 64), "float32")
            T.copy(A, X)
            T.wgmma_gemm(X, X, C)  # refused

    return main


@refused("TT102", "tl.wait_wgmma is a warp-group operation", help="remove it: T.gemm waits by itself")
def wait_wgmma() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            T.wait_wgmma(0)  # refused

    return main


@refused(
    "TT102",
    "tl.sync_grid is a barrier of the whole grid",
    help="split the function: one kernel before it, one behind",
)
def grid_barrier() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(2, threads=128):
            T.sync_grid()  # refused

    return main


@refused(
    "TT102",
    "tl.cluster_sync is an operation of thread-block clusters",
    help="remove it: blocks do not wait for each other",
)
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
