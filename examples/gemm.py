"""A bf16 GEMM on the virtual Wormhole: compile, run, compare with torch, show what was decided.

python examples/gemm.py [--size 1024] [--target tenstorrent] [--output build/gemm]
"""

import argparse
import logging
import time

import tilelang
import tilelang.language as T
import torch

import tilelang_tt  # noqa: F401  (makes the target known)


def gemm(target):
    @tilelang.jit(out_idx=[-1], target=target)
    def build(M, N, K, block_M=128, block_N=128, block_K=64):
        @T.prim_func
        def matmul(
            A: T.Tensor((M, K), "bfloat16"),
            B: T.Tensor((K, N), "bfloat16"),
            C: T.Tensor((M, N), "bfloat16"),
        ):
            with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
                A_shared = T.alloc_shared((block_M, block_K), "bfloat16")
                B_shared = T.alloc_shared((block_K, block_N), "bfloat16")
                C_local = T.alloc_fragment((block_M, block_N), "float32")
                T.clear(C_local)
                for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                    T.copy(A[by * block_M, k * block_K], A_shared)
                    T.copy(B[k * block_K, bx * block_N], B_shared)
                    T.gemm(A_shared, B_shared, C_local)
                T.copy(C_local, C[by * block_M, bx * block_N])

        return matmul

    return build


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--target", default="tenstorrent")
    parser.add_argument("--output", default="build/gemm")
    options = parser.parse_args()
    logging.getLogger("tilelang").setLevel(logging.WARNING)

    size = options.size
    kernel = gemm(options.target)(size, size, size)

    torch.manual_seed(0)
    a = torch.randn(size, size, dtype=torch.bfloat16)
    b = torch.randn(size, size, dtype=torch.bfloat16)
    started = time.perf_counter()
    c = kernel(a, b)
    seconds = time.perf_counter() - started

    print(kernel.explain())
    # One rounding of the result to bfloat16's 8 bits, and K roundings of fp32 sums. A chip's matrix engine adds eight
    # products at a time, each rounded to 10 fraction bits of the largest: eight times 2^-11 of that one.
    expected = a.double() @ b.double()
    rounding = size * 2**-24 if kernel.last_report.numerics in ("fast", "exact") else 2**-8
    bound = expected.abs() * 2**-8 + rounding * (a.abs().double() @ b.abs().double())
    error = (c.double() - expected).abs()
    print(f"ran {size}x{size}x{size} in {seconds:.2f} s, numerics {kernel.last_report.numerics}")
    print(f"largest error against torch in float64: {(error / bound).max():.2f} of its bound")
    assert (error <= bound).all(), "the result is wrong"
    print("check passed: every element is within its bound")

    directory = kernel.export(options.output, overwrite=True)
    print("files:", *(f"  {directory / name}" for name in kernel.files), sep="\n")


if __name__ == "__main__":
    main()
