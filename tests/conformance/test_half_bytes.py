"""Types of 4 and 2 bits in scalar code: several elements to a byte, every byte, in and out; products are exact."""

import ml_dtypes
import numpy as np
import pytest
import tilelang
import tilelang.language as T
import torch
from tvm import tirx

from tilelang_tt.diagnostics import ArgumentError

pytestmark = pytest.mark.filterwarnings("ignore:.*TT702")
ROWS, COLS = 8, 64  # as many bytes as there are
DTYPES = {
    "int4": torch.int8,
    "uint4": torch.uint8,
    "float4_e2m1fn": torch.float4_e2m1fn_x2,
    "int2": torch.int8,
    "uint2": torch.uint8,
}
IN_BYTE = {dtype: 4 if dtype.endswith("2") else 2 for dtype in DTYPES}


def every_byte(dtype):
    """A matrix of ROWS rows, and the number of its elements in a row."""
    return torch.arange(256, dtype=torch.uint8).reshape(ROWS, -1).view(DTYPES[dtype]), 256 // ROWS * IN_BYTE[dtype]


def numbers_of(packed, dtype):
    """The elements of a packed tensor, the lowest bits of a byte first."""
    found, bits = packed.view(torch.uint8).numpy(), 8 // IN_BYTE[dtype]
    parts = np.stack([found >> shift & (1 << bits) - 1 for shift in range(0, 8, bits)], -1).reshape(found.shape[0], -1)
    if dtype.startswith("u"):
        return parts.astype(np.float32)
    if dtype.startswith("int"):
        sign = 1 << bits - 1
        return ((parts.astype(np.int8) ^ sign) - sign).astype(np.float32)
    return parts.view(ml_dtypes.float4_e2m1fn).astype(np.float32)


def moved(dtype, cols):
    @T.prim_func
    def main(A: T.Tensor((ROWS, cols), dtype), B: T.Tensor((ROWS, cols), "float32"), C: T.Tensor((ROWS, cols), dtype)):
        with T.Kernel(ROWS, threads=32) as bx:
            s = T.alloc_shared((cols,), dtype)
            T.copy(A[bx, 0], s)
            for j in T.serial(cols):
                B[bx, j] = T.cast(s[j], "float32") * 2.0
                C[bx, cols - 1 - j] = s[j]

    return tilelang.compile(main, target="tenstorrent")


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_byte(dtype):
    a, cols = every_byte(dtype)
    b, c = torch.zeros(ROWS, cols), torch.zeros(a.shape, dtype=torch.uint8).view(DTYPES[dtype])
    moved(dtype, cols)(a, b, c)
    wanted = numbers_of(a, dtype)
    assert np.array_equal(b.numpy(), wanted * 2)
    assert np.array_equal(numbers_of(c, dtype), wanted[:, ::-1])


@pytest.mark.parametrize("bytes_of", [torch.int8, torch.uint8, torch.float4_e2m1fn_x2])
@pytest.mark.parametrize("dtype", ["int4", "float4_e2m1fn", "uint2"])
def test_packed_tensors_are_bytes_of_any_type(dtype, bytes_of):
    a, cols = every_byte(dtype)
    b, c = torch.zeros(ROWS, cols), torch.zeros(a.shape, dtype=torch.uint8)
    moved(dtype, cols)(a.view(bytes_of), b, c.view(bytes_of))
    wanted = numbers_of(a, dtype)
    assert np.array_equal(b.numpy(), wanted * 2)
    assert np.array_equal(numbers_of(c, dtype), wanted[:, ::-1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("twice", [False, True])
def test_the_number_of_packed_elements_is_that_of_the_call(dtype, twice):
    n = T.dynamic("n")
    length = n * 2 if twice else n

    @T.prim_func
    def main(A: T.Tensor((ROWS, length), dtype), B: T.Tensor((ROWS, 2), "float32")):
        with T.Kernel(ROWS, threads=32) as bx:
            B[bx, 0] = T.cast(A[bx, length - 1], "float32")
            B[bx, 1] = T.cast(n, "float32")

    a, cols = every_byte(dtype)
    b = torch.zeros(ROWS, 2)
    tilelang.compile(main, target="tenstorrent")(a, b)
    assert np.array_equal(b[:, 0].numpy(), numbers_of(a, dtype)[:, -1])
    assert b[:, 1].tolist() == [cols // 2 if twice else cols] * ROWS


@pytest.mark.parametrize("other", [torch.bool, torch.float8_e4m3fn, torch.int16])
def test_packed_tensors_are_not_numbers_of_another_type(other):
    a, cols = every_byte("float4_e2m1fn")
    with pytest.raises(ArgumentError, match="TT303"):
        moved("float4_e2m1fn", cols)(torch.zeros(a.shape, dtype=other), torch.zeros(ROWS, cols), a.clone())


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
    b = torch.zeros(COLS // IN_BYTE[dtype], dtype=torch.uint8).view(DTYPES[dtype])
    rounded(dtype)(a, b)
    got = numbers_of(b.view(torch.uint8).reshape(1, -1), dtype)[0]
    if dtype == "float4_e2m1fn":
        wanted = a.numpy().clip(-6, 6).astype(ml_dtypes.float4_e2m1fn).astype(np.float32)
    else:
        low, high = {"int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3)}[dtype]
        wanted = np.trunc(a.numpy()).clip(low, high)
    assert np.array_equal(got, wanted)


@pytest.mark.parametrize("dtype", ["int4", "uint4", "int2", "uint2"])
def test_product(dtype):
    @T.prim_func
    def main(A: T.Tensor((32, COLS), dtype), B: T.Tensor((32, COLS), dtype), C: T.Tensor((32, 32), "int32")):
        with T.Kernel(1, threads=32):
            a = T.alloc_shared((32, COLS), dtype)
            b = T.alloc_shared((32, COLS), dtype)
            c = T.alloc_fragment((32, 32), "int32")
            T.copy(A, a)
            T.copy(B, b)
            T.clear(c)
            T.gemm(a, b, c, transpose_B=True)
            T.copy(c, C)

    shape = (32, COLS // IN_BYTE[dtype])
    a, b = (torch.randint(0, 256, shape, dtype=torch.uint8).view(DTYPES[dtype]) for _ in range(2))
    c = torch.zeros(32, 32, dtype=torch.int32)
    tilelang.compile(main, target="tenstorrent")(a, b, c)
    left, right = numbers_of(a, dtype), numbers_of(b, dtype)
    assert np.array_equal(c.numpy(), (left @ right.T).astype(np.int32))


OPERATIONS = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "or": lambda x, y: x | y,
    "max": lambda x, y: T.max(x, y) if isinstance(x, tirx.PrimExpr) else np.maximum(x, y),
    "invert": lambda x, _: ~x,
    "ones": lambda x, _: T.popcount(x),
}


@pytest.mark.parametrize("dtype", ["int4", "uint4", "int2", "uint2"])
@pytest.mark.parametrize("op", OPERATIONS)
def test_every_pair_of_numbers(dtype, op):
    """Results wrap around in the type; a popcount counts the bits of the type alone."""
    bits = 8 // IN_BYTE[dtype]
    count, compute = 1 << bits, OPERATIONS[op]

    @T.prim_func
    def main(
        A: T.Tensor((count * count,), dtype),
        B: T.Tensor((count * count,), dtype),
        C: T.Tensor((count * count,), "int32"),
    ):
        with T.Kernel(1, threads=1):
            for i in T.serial(count * count):
                C[i] = T.cast(compute(A[i], B[i]), "int32")

    numbers = np.arange(count).repeat(count), np.tile(np.arange(count), count)
    a, b = (torch.from_numpy(packed(array, bits)).view(DTYPES[dtype]) for array in numbers)
    c = torch.zeros(count * count, dtype=torch.int32)
    tilelang.compile(main, target="tenstorrent")(a, b, c)
    x, y = (numbers_of(tensor.reshape(1, -1), dtype)[0].astype(np.int64) for tensor in (a, b))
    counted = np.array([bin(number & count - 1).count("1") for number in x.tolist()])
    wanted = (counted if op == "ones" else compute(x, y)) & count - 1
    wanted = wanted if dtype.startswith("u") else (wanted ^ count // 2) - count // 2
    assert c.tolist() == wanted.tolist()


def packed(numbers, bits):
    parts = numbers.astype(np.uint8).reshape(-1, 8 // bits)
    return sum(parts[:, place] << place * bits for place in range(8 // bits)).astype(np.uint8)


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


def test_floats_that_have_a_byte_each_on_a_gpu():
    """A block of float4_e2m1_unpacked holds what was copied to it, and multiplies with floats of 8 bits."""

    @T.prim_func
    def main(
        A: T.Tensor((32, COLS), "float4_e2m1fn"),
        B: T.Tensor((32, COLS), "float8_e4m3fn"),
        C: T.Tensor((32, 32), "float32"),
    ):
        with T.Kernel(1, threads=32):
            a = T.alloc_shared((32, COLS), T.float4_e2m1_unpacked)
            b = T.alloc_shared((32, COLS), "float8_e4m3fn")
            c = T.alloc_fragment((32, 32), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.clear(c)
            T.gemm(a, b, c, transpose_B=True)
            T.copy(c, C)

    a = torch.randint(0, 256, (32, COLS // 2), dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    b, c = torch.randint(-8, 9, (32, COLS)).float(), torch.zeros(32, 32)
    tilelang.compile(main, target="tenstorrent")(a, b.to(torch.float8_e4m3fn), c)
    assert np.array_equal(c.numpy(), numbers_of(a, "float4_e2m1fn") @ b.numpy().T)
