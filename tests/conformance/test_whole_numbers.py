"""Products of bytes and sums of whole numbers, to the last one."""

from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch


def bytes_product(dtype: str, depth: int, transpose: bool) -> Any:
    right = (96, depth) if transpose else (depth, 96)

    @T.prim_func
    def main(A: T.Tensor((64, depth), dtype), B: T.Tensor(right, dtype), C: T.Tensor((64, 96), "int32")):
        with T.Kernel(2, threads=128) as bx:
            a = T.alloc_shared((32, 64), dtype)
            b = T.alloc_shared((96, 64) if transpose else (64, 96), dtype)
            c = T.alloc_fragment((32, 96), "int32")
            T.clear(c)
            for k in T.Pipelined(depth // 64, num_stages=2):
                T.copy(A[bx * 32, k * 64], a)
                if transpose:
                    T.copy(B[0, k * 64], b)
                else:
                    T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c, transpose_B=transpose)
            for i, j in T.Parallel(32, 96):
                c[i, j] = c[i, j] - bx
            T.copy(c, C[bx * 32, 0])

    return main


@pytest.mark.parametrize(
    ("dtype", "transpose", "numerics"), [("int8", True, "chip"), ("int8", False, "exact"), ("uint8", False, "chip")]
)
def test_products_of_bytes_are_exact(dtype: str, transpose: bool, numerics: str) -> None:
    kernel = tilelang.compile(
        bytes_product(dtype, 256, transpose), target={"kind": "tenstorrent", "grid": "2x1", "numerics": numerics}
    )
    info = torch.iinfo(getattr(torch, dtype))
    generator = torch.Generator().manual_seed(0)

    def random(*shape: int) -> torch.Tensor:
        return torch.randint(info.min, info.max + 1, shape, generator=generator, dtype=getattr(torch, dtype))

    a, b, c = random(64, 256), random(96, 256) if transpose else random(256, 96), torch.zeros(64, 96, dtype=torch.int32)
    kernel(a, b, c)
    expected = a.int() @ (b.int().T if transpose else b.int())
    expected[32:] -= 1
    assert torch.equal(c, expected)


def row_sums(dtype: str, dim: int, clear: bool) -> Any:
    left = 96 if dim else 80

    @T.prim_func
    def main(A: T.Tensor((96, 80), dtype), R: T.Tensor((left,), "int32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_fragment((96, 80), dtype)
            r = T.alloc_fragment((left,), "int32")
            T.copy(A, a)
            T.fill(r, 5)
            T.reduce_sum(a, r, dim=dim, clear=clear)
            T.copy(r, R)

    return main


@pytest.mark.parametrize(("dtype", "dim", "clear"), [("int32", 1, False), ("int32", 0, True), ("int8", 1, True)])
def test_sums_of_whole_numbers_are_exact(dtype: str, dim: int, clear: bool) -> None:
    kernel = tilelang.compile(row_sums(dtype, dim, clear), target={"kind": "tenstorrent", "numerics": "chip"})
    size = 120 if dtype == "int8" else 150_000
    generator = torch.Generator().manual_seed(0)
    a = torch.randint(-size, size, (96, 80), generator=generator, dtype=getattr(torch, dtype))
    r = torch.zeros(96 if dim else 80, dtype=torch.int32)
    kernel(a, r)
    assert torch.equal(r, a.int().sum(dim, dtype=torch.int32) + (0 if clear else 5))


def moved_elements(dtype: str) -> Any:
    """Elements of 32-bit integers at other places, and chosen: none is computed with."""

    @T.prim_func
    def main(
        A: T.Tensor((32, 40), dtype),
        B: T.Tensor((32,), dtype),
        C: T.Tensor((1280,), dtype),
        D: T.Tensor((32, 40), dtype),
        E: T.Tensor((40, 32), dtype),
    ):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 40), dtype)
            Y = T.alloc_shared((32, 40), dtype)
            T.copy(A, X)
            for i, j in T.Parallel(32, 40):
                Y[i, j] = T.if_then_else(i > j, X[i, j], X[31 - i, j])
            T.copy(Y, D)
            for j in T.Parallel(40):
                Y[3, j] = X[5, j]
            T.copy(T.reshape(Y, (1280,)), C)
            for i in T.Parallel(32):
                B[i] = X[i, 7]
            for i, j in T.Parallel(40, 32):
                E[i, j] = T.if_then_else(j < 16, X[j, i], 3)

    return main


@pytest.mark.parametrize(("dtype", "numerics"), [("int32", "chip"), ("uint32", "exact")])
def test_all_bits_of_moved_elements(dtype: str, numerics: str) -> None:
    kernel = tilelang.compile(
        moved_elements(dtype), target={"kind": "tenstorrent", "grid": "1x1", "numerics": numerics}
    )
    info, number = torch.iinfo(getattr(torch, dtype)), getattr(torch, dtype)
    a = torch.randint(info.min, info.max, (32, 40), generator=torch.Generator().manual_seed(0))
    found = [torch.zeros(shape, dtype=number) for shape in ((32,), (1280,), (32, 40), (40, 32))]
    kernel(a.to(number), *found)
    chosen = torch.where(torch.arange(32)[:, None] > torch.arange(40), a, a.flip(0))
    moved = chosen.clone()
    moved[3] = a[5]
    turned = torch.where(torch.arange(32) < 16, a.T, 3)
    for name, result, wanted in zip("BCDE", found, (a[:, 7], moved.flatten(), chosen, turned), strict=True):
        assert torch.equal(result.long(), wanted), name
