"""What one launch of a function hands on to the next stays in L1 where the user says so, and is not moved."""

import tilelang
import tilelang.language as T
import torch

import tilelang_tt.language as TT

SIZE, BLOCK = 256, 64
BYTES = SIZE * SIZE * 4


@T.prim_func
def in_two_steps(A: T.Tensor((SIZE, SIZE), "float32"), C: T.Tensor((SIZE, SIZE), "float32")):
    between = T.alloc_global((SIZE, SIZE), "float32")
    with T.Kernel(SIZE // BLOCK, SIZE // BLOCK, threads=128) as (bx, by):
        TT.layout(between, memory="L1", shard="block", grid=(4, 4))
        a = T.alloc_shared((BLOCK, BLOCK), "float32")
        T.copy(A[by * BLOCK, bx * BLOCK], a)
        for i, j in T.Parallel(BLOCK, BLOCK):
            a[i, j] = a[i, j] * 2
        T.copy(a, between[by * BLOCK, bx * BLOCK])
    with T.Kernel(SIZE // BLOCK, SIZE // BLOCK, threads=128) as (bx, by):
        b = T.alloc_shared((BLOCK, BLOCK), "float32")
        T.copy(between[by * BLOCK, bx * BLOCK], b)
        for i, j in T.Parallel(BLOCK, BLOCK):
            b[i, j] = b[i, j] + 1
        T.copy(b, C[by * BLOCK, bx * BLOCK])


def test_a_workspace_in_l1() -> None:
    kernel = tilelang.compile(in_two_steps, out_idx=[1], target="tenstorrent")
    values = torch.randint(-1000, 1000, (SIZE, SIZE)).float()
    assert torch.equal(kernel(values), values * 2 + 1)
    counts = kernel.last_report.statistics
    assert (counts["noc_read_bytes"], counts["noc_write_bytes"]) == (BYTES, BYTES)
