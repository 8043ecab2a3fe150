"""Types of 4 bits in scalar code: two elements to a byte, every byte, in and out; products of them are exact."""

import ml_dtypes
import numpy as np
import pytest
import tilelang
import tilelang.language as T
import torch

pytestmark = pytest.mark.filterwarnings("ignore:.*TT702")
ROWS, COLS = 8, 64  # as many bytes as there are
DTYPES = {"int4": torch.int8, "uint4": torch.uint8, "float4_e2m1fn": torch.float4_e2m1fn_x2}


def every_byte(dtype):
    return torch.arange(256, dtype=torch.uint8).reshape(ROWS, COLS // 2).view(DTYPES[dtype])


def numbers_of(packed, dtype):
    """The elements of a packed tensor, the lower half of a byte first."""
    found = packed.view(torch.uint8).numpy()
    halves = np.stack([found & 15, found >> 4], -1).reshape(found.shape[0], -1)
    if dtype == "uint4":
        return halves.astype(np.float32)
    if dtype == "int4":
        return ((halves.astype(np.int8) ^ 8) - 8).astype(np.float32)
    return halves.view(ml_dtypes.float4_e2m1fn).astype(np.float32)


def moved(dtype):
    @T.prim_func
    def main(A: T.Tensor((ROWS, COLS), dtype), B: T.Tensor((ROWS, COLS), "float32"), C: T.Tensor((ROWS, COLS), dtype)):
        with T.Kernel(ROWS, threads=32) as bx:
            s = T.alloc_shared((COLS,), dtype)
            T.copy(A[bx, 0], s)
            for j in T.serial(COLS):
                B[bx, j] = T.cast(s[j], "float32") * 2.0
                C[bx, COLS - 1 - j] = s[j]

    return tilelang.compile(main, target="tenstorrent")


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_byte(dtype):
    a, b = every_byte(dtype), torch.zeros(ROWS, COLS)
    c = torch.zeros(ROWS, COLS // 2, dtype=torch.uint8).view(DTYPES[dtype])
    moved(dtype)(a, b, c)
    wanted = numbers_of(a, dtype)
    assert np.array_equal(b.numpy(), wanted * 2)
    assert np.array_equal(numbers_of(c, dtype), wanted[:, ::-1])


def rounded(dtype):
    @T.prim_func
    def main(A: T.Tensor((COLS,), "float32"), B: T.Tensor((COLS,), dtype)):
        with T.Kernel(1, threads=COLS):
            tx = T.get_thread_binding()
            B[tx] = T.cast(A[tx], dtype)

    return tilelang.compile(main, target="tenstorrent")


@pytest.mark.parametrize("dtype", DTYPES)
def test_floats_are_rounded(dtype):
    """Integers are cut, 4-bit floats go to the nearest, ties to even; all end at the ends of their type."""
    a = torch.cat([torch.linspace(-20, 20, 40), torch.arange(-6, 6) / 4, torch.tensor([0.25, 0.75, 1.25, 1.75] * 3)])
    b = torch.zeros(COLS // 2, dtype=torch.uint8).view(DTYPES[dtype])
    rounded(dtype)(a, b)
    got = numbers_of(b.view(torch.uint8).reshape(1, -1), dtype)[0]
    if dtype == "float4_e2m1fn":
        wanted = a.numpy().clip(-6, 6).astype(ml_dtypes.float4_e2m1fn).astype(np.float32)
    else:
        low, high = (-8, 7) if dtype == "int4" else (0, 15)
        wanted = np.trunc(a.numpy()).clip(low, high)
    assert np.array_equal(got, wanted)


def test_product_of_int4():
    @T.prim_func
    def main(A: T.Tensor((32, COLS), "int4"), B: T.Tensor((32, COLS), "int4"), C: T.Tensor((32, 32), "int32")):
        with T.Kernel(1, threads=32):
            a = T.alloc_shared((32, COLS), "int4")
            b = T.alloc_shared((32, COLS), "int4")
            c = T.alloc_fragment((32, 32), "int32")
            T.copy(A, a)
            T.copy(B, b)
            T.clear(c)
            T.gemm(a, b, c, transpose_B=True)
            T.copy(c, C)

    a, b = (torch.randint(-128, 128, (32, COLS // 2), dtype=torch.int8) for _ in range(2))
    c = torch.zeros(32, 32, dtype=torch.int32)
    tilelang.compile(main, target="tenstorrent")(a, b, c)
    left, right = numbers_of(a, "int4"), numbers_of(b, "int4")
    assert np.array_equal(c.numpy(), (left @ right.T).astype(np.int32))


def test_sums_wrap_and_a_size_may_come_first():
    """Twice 7 and twice 5 do not fit int4. The number that the grid is computed from is the first argument."""

    @T.prim_func
    def main(n: T.int32, A: T.Tensor((COLS,), "int4"), B: T.Tensor((COLS,), "float32")):
        with T.Kernel(n, threads=32) as bx:
            at = bx * 32 + T.get_thread_binding()
            B[at] = T.cast(A[at] + A[at], "float32")

    a, b = torch.full((COLS // 2,), 0x57, dtype=torch.int8), torch.zeros(COLS)
    tilelang.compile(main, target="tenstorrent")(COLS // 32, a, b)
    assert b.tolist() == [-2.0, -6.0] * (COLS // 2)
