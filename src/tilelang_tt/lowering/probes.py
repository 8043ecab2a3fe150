"""Three small kernels that `tilelang-tt targets` tries: of elements, of matrices, and a reduction."""

import tilelang.language as T


@T.prim_func
def elements(X: T.Tensor((64, 64), "float32"), Y: T.Tensor((64, 64), "float32")):
    with T.Kernel(2, threads=128) as bx:
        x = T.alloc_fragment((32, 64), "float32")
        T.copy(X[bx * 32, 0], x)
        for i, j in T.Parallel(32, 64):
            x[i, j] = x[i, j] * 2.0 + 1.0
        T.copy(x, Y[bx * 32, 0])


@T.prim_func
def matrices(A: T.Tensor((64, 64), "float16"), B: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32")):
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((64, 64), "float16")
        b = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.clear(c)
        T.copy(A, a)
        T.copy(B, b)
        T.gemm(a, b, c)
        T.copy(c, C)


@T.prim_func
def reductions(X: T.Tensor((64, 64), "float32"), Y: T.Tensor((64,), "float32")):
    with T.Kernel(2, threads=128) as bx:
        x = T.alloc_fragment((32, 64), "float32")
        y = T.alloc_fragment((32,), "float32")
        T.copy(X[bx * 32, 0], x)
        T.reduce_sum(x, y, dim=1)
        T.copy(y, Y[bx * 32])
