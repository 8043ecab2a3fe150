"""Several T.Kernel in one function whose threads work by themselves: each has a program of its own."""

import tilelang
import tilelang.language as T
import torch

TARGET = {"kind": "tenstorrent", "grid": "2x1"}


def test_a_kernel_reads_what_the_one_before_it_wrote() -> None:
    @T.prim_func
    def main(
        A: T.Tensor((64, 64), "float16"),
        W: T.Tensor((64, 64), "float16"),
        B: T.Tensor((64, 64), "float16"),
    ):
        with T.Kernel(2, threads=64) as bx:
            tx = T.get_thread_binding()
            for i in T.serial(32):
                W[bx * 32 + i, tx] = A[bx * 32 + i, tx] * 2.0
        with T.Kernel(4, threads=64) as by:
            tx = T.get_thread_binding()
            for i in T.serial(16):
                B[by * 16 + i, tx] = W[by * 16 + i, 63 - tx]

    kernel = tilelang.compile(main, target=TARGET)
    a = torch.randn(64, 64, generator=torch.Generator().manual_seed(0)).half()
    doubled, turned = torch.zeros_like(a), torch.zeros_like(a)
    kernel(a, doubled, turned)
    assert torch.equal(doubled, a * 2)
    assert torch.equal(turned, (a * 2).flip(1))
