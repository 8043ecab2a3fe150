"""TT.layout and TT.schedule mean nothing to other targets: the same kernel gives the same CUDA source without them."""

import re
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from placed import moved, whole
from tvm.target import Target

import tilelang_tt.language as TT
from tilelang_tt.language import LAYOUT, SCHEDULE


def product(annotated: bool) -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((256, 256), "float16"), B: T.Tensor((256, 256), "float16"), C: T.Tensor((256, 256), "float16")
    ):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            if annotated:
                TT.layout(A, memory="L1", shard="block", grid=(2, 2))
                TT.layout(B, memory="DRAM", storage="bfloat8_b")
                TT.schedule(policy="rectangle", order="column", match=A)
            a = T.alloc_shared((128, 32), "float16")
            b = T.alloc_shared((32, 128), "float16")
            c = T.alloc_fragment((128, 128), "float32")
            T.clear(c)
            for k in T.Pipelined(8, num_stages=2):
                T.copy(A[by * 128, k * 32], a)
                T.copy(B[k * 32, bx * 128], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 128, bx * 128])

    return main


def cuda_source(arch: str, annotated: bool) -> str:
    with Target({"kind": "cuda", "arch": arch}):
        lowered = tilelang.lower(product(annotated), enable_device_compile=False)
    return str(lowered.kernel_source)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_cuda_source_is_the_same(arch: str) -> None:
    plain, annotated = cuda_source(arch, False), cuda_source(arch, True)
    assert re.search(r"__global__ void .*main_kernel", plain)
    assert "mma" in plain
    assert annotated == plain


def test_the_annotations_are_there() -> None:
    """In what other targets get, too: it is they who leave them out."""
    script = product(True).script()
    assert (script.count(LAYOUT), script.count(SCHEDULE)) == (2, 1)
    assert LAYOUT not in product(False).script()


@pytest.mark.parametrize("order", ["z", None])
def test_hints_for_gpus_count_less(order: str | None) -> None:
    """T.annotate_layout is of shared memory on a GPU, T.use_swizzle a weak wish: what TT says is done."""

    @T.prim_func
    def main(A: T.Tensor((256, 256), "bfloat16"), C: T.Tensor((256, 256), "bfloat16")):
        with T.Kernel(4, 4, threads=128) as (bx, by):
            TT.layout(A, memory="L1", shard="block", grid=(2, 2))
            TT.layout(C, memory="L1", shard="block", grid=(2, 2))
            a = T.alloc_shared((64, 64), "bfloat16")
            T.annotate_layout({a: tilelang.layout.make_swizzled_layout(a)})
            T.use_swizzle(2)
            if order is not None:
                TT.schedule(match=A, order=order)
            else:
                TT.schedule(match=A)
            T.copy(A[by * 64, bx * 64], a)
            for i, j in T.Parallel(64, 64):
                a[i, j] = a[i, j] + a[i, j]
            T.copy(a, C[by * 64, bx * 64])

    kernel = tilelang.compile(main, out_idx=[1], target="tenstorrent")
    x = whole(256, 256)
    assert torch.equal(kernel(x), x + x)
    assert moved(kernel) == (0, 0)
    launch = kernel.compiled.plan.launches[0]
    assert (launch.policy, launch.order) == ("match", order or "block-linear")
