"""Parts of long sums, made by cores of their own and added up: right numbers, the same bits under every schedule."""

from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from layout_kernels import attention
from placed import ALL

from tilelang_tt.runtime.runner import SEED_VARIABLE

CHIPS = ("wormhole_b0", "blackhole")
SPLIT = {"kind": "tenstorrent", "split_k": True}


def compiled(func: Any, **options: Any) -> Any:
    return tilelang.compile(func, out_idx=[-1], target={**SPLIT, **options})


def launches(kernel: Any) -> int:
    return len(kernel.estimate().launches)


def numbers(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


def product(
    m: int, n: int, k: int, block: tuple[int, int, int], epilogue: str = "", out: str = "float32", turned: bool = False
) -> Any:
    """C = A @ B, then bias and ReLU, or begun with what R holds; A transposed if `turned`."""
    rows, cols, deep = block

    @T.prim_func
    def main(
        A: T.Tensor((k, m) if turned else (m, k), "bfloat16"),
        B: T.Tensor((k, n), "bfloat16"),
        bias: T.Tensor((n,), "float32"),
        R: T.Tensor((m, n), "float32"),
        C: T.Tensor((m, n), out),
    ):
        with T.Kernel(T.ceildiv(n, cols), T.ceildiv(m, rows), threads=128) as (bx, by):
            a = T.alloc_shared((deep, rows) if turned else (rows, deep), "bfloat16")
            b = T.alloc_shared((deep, cols), "bfloat16")
            c = T.alloc_fragment((rows, cols), "float32")
            more = T.alloc_shared((cols,), "float32")
            if epilogue == "begun":
                T.copy(R[by * rows, bx * cols], c)
            else:
                T.clear(c)
            if epilogue == "bias":
                T.copy(bias[bx * cols], more)
            for step in T.Pipelined(T.ceildiv(k, deep), num_stages=2):
                if turned:
                    T.copy(A[step * deep, by * rows], a)
                else:
                    T.copy(A[by * rows, step * deep], a)
                T.copy(B[step * deep, bx * cols], b)
                T.gemm(a, b, c, transpose_A=turned)
            if epilogue == "bias":
                for i, j in T.Parallel(rows, cols):
                    c[i, j] = T.max(c[i, j] + more[j], 0.0)
            T.copy(c, C[by * rows, bx * cols])

    return main


CASES = {
    "one block": ((32, 128, 2048), (32, 128, 64), "", "bfloat16", False),
    "odd sizes, bias and ReLU": ((100, 70, 1000), (64, 64, 64), "bias", "float32", False),
    "rounds that do not divide, begun": ((64, 96, 1184), (64, 64, 32), "begun", "float32", False),
    "transposed": ((33, 65, 1056), (32, 32, 32), "", "float32", True),
}


@pytest.mark.parametrize("arch", CHIPS)
@pytest.mark.parametrize("name", CASES)
def test_numbers(name: str, arch: str) -> None:
    (m, n, k), block, epilogue, out, turned = CASES[name]
    a, b = numbers(k, m) if turned else numbers(m, k), numbers(k, n)
    bias, begun = numbers(n, dtype=torch.float32), numbers(m, n, dtype=torch.float32)
    for numerics in ("fast", "exact", "chip"):
        kernel = compiled(product(m, n, k, block, epilogue, out, turned), arch=arch, numerics=numerics)
        assert launches(kernel) == 2
        left, right = (a.T if turned else a).double(), b.double()
        wanted = left @ right
        wanted = (wanted + bias).clamp(min=0) if epilogue == "bias" else wanted
        wanted = wanted + begun if epilogue == "begun" else wanted
        total = left.abs() @ right.abs() + 4
        # Float32 sums; a product of the chip is right to 10 bits. Then what the result's format keeps.
        bound = total * (2**-10 if numerics == "chip" else k * 2**-24) + wanted.abs() * (
            2**-8 if out != "float32" else 0
        )
        assert ((kernel(a, b, bias, begun).double() - wanted).abs() <= bound).all()


@pytest.mark.parametrize("arch", CHIPS)
def test_bits_do_not_depend_on_the_schedule(arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = numbers(96, 1024), numbers(1024, 64)
    a[5, 7], b[3, 9] = float("inf"), float("nan")
    none = torch.zeros(64), torch.zeros(96, 64)
    kernel = compiled(product(96, 64, 1024, (32, 32, 64)), arch=arch, grid="4x4")
    found = []
    for seed in range(200 if ALL else 6):
        monkeypatch.setenv(SEED_VARIABLE, str(seed))
        found.append(kernel(a, b, *none).view(torch.int32))
    assert all(torch.equal(one, found[0]) for one in found)
    result = found[0].view(torch.float32)
    assert not result[5].isfinite().any()
    assert not result[:, 9].isfinite().any()


def test_parts_keep_32_bits_on_the_way_to_a_narrow_result() -> None:
    """Large partial sums that cancel: rounded to 10 bits, they would leave nothing of the small ones."""
    a, b = torch.ones(32, 2048).bfloat16(), torch.ones(2048, 32).bfloat16()
    b[:1024] *= 4096
    b[1024:] *= -4096
    b[0] += 32
    none = torch.zeros(32), torch.zeros(32, 32)
    kernel = compiled(product(32, 32, 2048, (32, 32, 64), out="bfloat16"))
    assert launches(kernel) == 2
    assert (kernel(a, b, *none) == 32).all()


def batched(batch: int) -> Any:
    """Two sums over one loop, for each matrix of a batch."""

    @T.prim_func
    def main(
        A: T.Tensor((batch, 32, 1024), "bfloat16"),
        B: T.Tensor((batch, 1024, 64), "bfloat16"),
        D: T.Tensor((1024, 64), "bfloat16"),
        C: T.Tensor((batch, 32, 64), "float32"),
    ):
        with T.Kernel(2, batch, threads=128) as (bx, by):
            a = T.alloc_shared((32, 64), "bfloat16")
            b = T.alloc_shared((64, 32), "bfloat16")
            d = T.alloc_shared((64, 32), "bfloat16")
            first = T.alloc_fragment((32, 32), "float32")
            second = T.alloc_fragment((32, 32), "float32")
            T.clear(first)
            T.clear(second)
            for step in T.Pipelined(16, num_stages=2):
                T.copy(A[by, 0, step * 64], a)
                T.copy(B[by, step * 64, bx * 32], b)
                T.copy(D[step * 64, bx * 32], d)
                T.gemm(a, b, first)
                T.gemm(a, d, second)
            for i, j in T.Parallel(32, 32):
                first[i, j] = first[i, j] * second[i, j]
            T.copy(first, C[by, 0, bx * 32])

    return main


@pytest.mark.parametrize("arch", CHIPS)
def test_two_sums_of_a_batch(arch: str) -> None:
    a, b, d = (torch.randint(-2, 3, shape).bfloat16() for shape in ((3, 32, 1024), (3, 1024, 64), (1024, 64)))
    kernel = compiled(batched(3), arch=arch)
    assert launches(kernel) == 2
    assert torch.equal(kernel(a, b, d).double(), (a.double() @ b.double()) * (a.double() @ d.double()))


def test_what_is_not_split() -> None:
    func = product(32, 32, 2048, (32, 32, 64))
    asked = {"schedule": {"policy": "strided"}}
    placed = {"layout": {"A": {"memory": "L1"}}}
    for options in ({"fp32_acc": False}, {"split_k": False}, asked, placed):
        assert launches(compiled(func, **options)) == 1
    deep = product(32, 32, 8192, (32, 32, 64))
    assert launches(tilelang.compile(deep, out_idx=[-1], target="tenstorrent")) == 2, "the estimate chooses it"
    wide = product(1024, 1024, 1024, (128, 128, 64))
    assert launches(tilelang.compile(wide, out_idx=[-1], target="tenstorrent")) == 1


@pytest.mark.parametrize("fast_math", [True, False])
def test_sums_under_a_running_maximum_are_no_parts(fast_math: bool) -> None:
    """What rounds of attention leave behind is scaled by a maximum that later rounds may raise."""
    configs = {"tl.enable_fast_math": fast_math}
    kernel = tilelang.compile(attention(32, 64, 32), out_idx=[-1], target=SPLIT, pass_configs=configs)
    assert launches(kernel) == 1
    long = tilelang.compile(attention(4096, 64, 32), out_idx=[-1], target=SPLIT, pass_configs=configs)
    assert launches(long) == 1
