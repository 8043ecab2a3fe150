"""Four products in a row whose blocks do not fit L1 together: later ones take the places of earlier ones."""

import tilelang.language as T

TARGET = "tenstorrent"
SIZE = 256


@T.prim_func
def four_products(
    A: T.Tensor((SIZE, SIZE), "float32"), B: T.Tensor((SIZE, SIZE), "float32"), C: T.Tensor((SIZE, SIZE), "float32")
):
    with T.Kernel(1, threads=128):
        a = T.alloc_shared((SIZE, SIZE), "float32")
        b = T.alloc_shared((SIZE, SIZE), "float32")
        first = T.alloc_fragment((SIZE, SIZE), "float32")
        second = T.alloc_fragment((SIZE, SIZE), "float32")
        third = T.alloc_fragment((SIZE, SIZE), "float32")
        fourth = T.alloc_fragment((SIZE, SIZE), "float32")
        T.copy(A, a)
        T.copy(B, b)
        T.gemm(a, b, first, clear_accum=True)
        T.gemm(first, b, second, clear_accum=True)
        T.gemm(second, b, third, clear_accum=True)
        T.gemm(third, b, fourth, clear_accum=True)
        T.copy(fourth, C)
