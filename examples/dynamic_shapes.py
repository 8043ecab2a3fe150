"""One compiled kernel for matrices of any size: a row-wise normalisation by the largest magnitude.

python examples/dynamic_shapes.py
"""

import tilelang
import tilelang.language as T
import torch

import tilelang_tt  # noqa: F401  (makes the target known)


@tilelang.jit(out_idx=[-1], target="tenstorrent")
def scale_rows(block_M, block_N):
    M, N = T.dynamic("M"), T.dynamic("N")

    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(M, block_M), threads=128) as bx:
            x = T.alloc_shared((block_M, block_N), "float32")
            largest = T.alloc_fragment((block_M,), "float32")
            part = T.alloc_fragment((block_M,), "float32")
            T.fill(largest, 1.0)
            for k in T.serial(T.ceildiv(N, block_N)):
                T.copy(X[bx * block_M, k * block_N], x)
                T.reduce_absmax(x, part, dim=1)
                for i in T.Parallel(block_M):
                    largest[i] = T.max(largest[i], part[i])
            for k in T.serial(T.ceildiv(N, block_N)):
                T.copy(X[bx * block_M, k * block_N], x)
                for i, j in T.Parallel(block_M, block_N):
                    x[i, j] = x[i, j] / largest[i]
                T.copy(x, Y[bx * block_M, k * block_N])

    return kernel


def main():
    torch.manual_seed(0)
    kernel = scale_rows(32, 64)
    for shape in ((64, 128), (100, 70), (1, 1)):
        x = torch.randn(shape) * 5
        wide = x.double()
        expected = wide / wide.abs().amax(1, keepdim=True).clamp(min=1)
        error = (kernel(x).double() - expected).abs().max().item()
        print(f"{shape}: largest error {error:.2e}")
        assert error < 2**-7 + 2**-9, "more than a maximum loses: the chip's engine keeps bfloat16's bits of it"


if __name__ == "__main__":
    main()
