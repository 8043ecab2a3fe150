"""Two operations of a model with tensors in L1: activations stay on the core that needs them next.

python examples/sharded_mlp.py
"""

import tilelang
import tilelang.language as T
import torch

import tilelang_tt.language as TT

GRID = (4, 4)  # cores; each holds one shard of X and of Y


@tilelang.jit(out_idx=[-1], target="tenstorrent")
def gated(M, N, block_M, block_N):
    """Y = X * sigmoid(X) + R: every core works on its own shards."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), "bfloat16"), R: T.Tensor((M, N), "bfloat16"), Y: T.Tensor((M, N), "bfloat16")):
        with T.Kernel(N // block_N, M // block_M, threads=128) as (bx, by):
            TT.layout(X, memory="L1", shard="block", grid=GRID)
            TT.layout(R, memory="L1", shard="block", grid=GRID)
            TT.layout(Y, memory="L1", shard="block", grid=GRID)
            x = T.alloc_shared((block_M, block_N), "bfloat16")
            r = T.alloc_shared((block_M, block_N), "bfloat16")
            T.copy(X[by * block_M, bx * block_N], x)
            T.copy(R[by * block_M, bx * block_N], r)
            for i, j in T.Parallel(block_M, block_N):
                x[i, j] = x[i, j] * T.sigmoid(x[i, j]) + r[i, j]
            T.copy(x, Y[by * block_M, bx * block_N])

    return kernel


@tilelang.jit(out_idx=[-1], target="tenstorrent")
def projected(M, N, K, block_M, block_N, block_K):
    """Z = Y @ W: shards of Y come from their cores, W from DRAM, and Z stays where it is computed."""

    @T.prim_func
    def kernel(Y: T.Tensor((M, K), "bfloat16"), W: T.Tensor((K, N), "bfloat16"), Z: T.Tensor((M, N), "bfloat16")):
        with T.Kernel(N // block_N, M // block_M, threads=128) as (bx, by):
            TT.layout(Y, memory="L1", shard="block", grid=GRID)
            TT.layout(Z, memory="L1", shard="block", grid=GRID)
            y = T.alloc_shared((block_M, block_K), "bfloat16")
            w = T.alloc_shared((block_K, block_N), "bfloat16")
            z = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(z)
            for k in T.Pipelined(K // block_K, num_stages=2):
                T.copy(Y[by * block_M, k * block_K], y)
                T.copy(W[k * block_K, bx * block_N], w)
                T.gemm(y, w, z)
            T.copy(z, Z[by * block_M, bx * block_N])

    return kernel


def main():
    torch.manual_seed(0)
    x, r, w = (torch.randn(256, 256, dtype=torch.bfloat16) for _ in range(3))
    gate, project = gated(256, 256, 64, 64), projected(256, 256, 256, 64, 64, 64)
    y = gate(x, r)
    z = project(y, w)
    for name, kernel in (("gated", gate), ("projected", project)):
        counted = kernel.last_report.statistics
        print(f"{name}: {counted['noc_read_bytes']:,} B read, {counted['noc_write_bytes']:,} B written over the NoC")
    expected = torch.nn.functional.silu(x.double()) + r.double()
    error = ((y.double() - expected).norm() / expected.norm()).item()
    product = y.double() @ w.double()
    error = max(error, ((z.double() - product).norm() / product.norm()).item())
    print(f"largest relative error {error:.2e}")
    assert error < 2**-8, "more than the rounding of bfloat16"


if __name__ == "__main__":
    main()
