"""Names for values that change before the name is used: they keep the old value. Packed numbers beside them."""

from typing import Any

import tilelang.language as T
import torch
from three_ways import agree, whole_numbers


def test_elements_change_places() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 96), "float32"), B: T.Tensor((64, 96), "float32"), C: T.Tensor((64, 96), "float32")):
        with T.Kernel(2, threads=128) as bx:
            x = T.alloc_fragment((32, 96), "float32")
            y = T.alloc_fragment((32, 96), "float32")
            T.copy(A[bx * 32, 0], x)
            T.copy(B[bx * 32, 0], y)
            for i, j in T.Parallel(32, 96):
                t = x[i, j]
                x[i, j] = y[i, j]
                y[i, j] = t
            for i, j in T.Parallel(32, 96):
                y[i, j] = y[i, j] * 8 + x[i, j]
            T.copy(y, C[bx * 32, 0])

    tensors = {"A": whole_numbers(64, 96), "B": whole_numbers(64, 96, low=0), "C": torch.zeros(64, 96)}
    agree(main, tensors, ("C",), reference={**tensors, "C": tensors["A"] * 8 + tensors["B"]})


def test_variables_change_places() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), S: T.Tensor((2,), "int32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((64, 64), "float32")
            a = T.alloc_var("int32")
            b = T.alloc_var("int32")
            a = S[0]
            b = S[1]
            for _ in T.serial(3):
                a, b = b, a
            T.copy(A, x)
            for i, j in T.Parallel(64, 64):
                x[i, j] = x[i, j] * T.cast(a, "float32") + T.cast(b, "float32")
            T.copy(x, C)

    tensors = {"A": whole_numbers(64, 64), "S": torch.tensor([3, 7], dtype=torch.int32), "C": torch.zeros(64, 64)}
    agree(main, tensors, ("C",), reference={**tensors, "C": tensors["A"] * 7 + 3})


def test_an_old_maximum_under_a_name() -> None:
    @T.prim_func
    def main(A: T.Tensor((96, 64), "float32"), C: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((32, 64), "float32")
            largest = T.alloc_fragment((32,), "float32")
            steps = T.alloc_fragment((32,), "float32")
            part = T.alloc_fragment((32,), "float32")
            T.fill(largest, -64.0)
            T.clear(steps)
            for k in T.serial(3):
                T.copy(A[k * 32, 0], x)
                T.reduce_max(x, part, dim=1)
                for i in T.Parallel(32):
                    old = largest[i]
                    largest[i] = T.max(old, part[i])
                    steps[i] = steps[i] * 2 + (largest[i] - old)
            T.copy(steps, C[0:32])
            T.copy(largest, C[32:64])

    a = whole_numbers(96, 64, low=-60, high=60)
    largest, steps = torch.full((32,), -64.0), torch.zeros(32)
    for part in a.view(3, 32, 64).amax(2):
        old, largest = largest, torch.maximum(largest, part)
        steps = steps * 2 + (largest - old)
    tensors = {"A": a, "C": torch.zeros(64)}
    agree(main, tensors, ("C",), reference={**tensors, "C": torch.cat([steps, largest])})


def packed_weights() -> Any:
    """Two numbers of four bits in a byte, taken apart beside the product."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), W: T.Tensor((64, 32), "uint8"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "bfloat16")
            w = T.alloc_shared((64, 32), "uint8")
            wide = T.alloc_shared((64, 64), "bfloat16")
            c = T.alloc_fragment((64, 64), "float32")
            T.copy(A, a)
            T.copy(W, w)
            for i, j in T.Parallel(64, 64):
                digit = (w[i, j // 2] >> ((j % 2) * 4)) & 0xF
                wide[i, j] = T.cast(T.cast(digit, "int32") - 8, "bfloat16")
            T.gemm(a, wide, c, transpose_B=True, clear_accum=True)
            T.copy(c, C)

    return main


def test_packed_weights() -> None:
    a = whole_numbers(64, 64, dtype=torch.bfloat16)
    packed = whole_numbers(64, 32, low=0, high=256, dtype=torch.uint8)
    digits = torch.stack([packed & 15, packed >> 4], dim=2).view(64, 64).float() - 8
    tensors = {"A": a, "W": packed, "C": torch.zeros(64, 64)}
    agree(packed_weights(), tensors, ("C",), reference={**tensors, "C": a.float() @ digits.T})
