"""Whole numbers of tensors that kernels know: labels of 64 bits, blocks that steer, counts that steer nothing."""

import pytest
import tilelang
import tilelang.language as T
import torch
from test_steering import TWO_CORES, ints, random


@pytest.mark.parametrize("form", ["copied", "cast", "compared"])
def test_labels_of_64_bits(form: str) -> None:
    """As torch gives them: data to the kernel, in words of 32 bits."""
    rows, columns = 50, 96

    @T.prim_func
    def main(A: T.Tensor((rows, columns), "float32"), Y: T.Tensor((rows,), "int64"), B: T.Tensor((rows,), "float32")):
        with T.Kernel(2, threads=128) as bx:
            a = T.alloc_fragment((32, columns), "float32")
            y = T.alloc_fragment((32,), "int32")
            b = T.alloc_fragment((32,), "float32")
            T.copy(A[bx * 32, 0], a)
            if form == "copied":
                T.copy(Y[bx * 32], y)
            elif form == "cast":
                for i in T.Parallel(32):
                    y[i] = T.cast(Y[bx * 32 + i], "int32")
            for i, j in T.Parallel(32, columns):
                if form == "compared":
                    a[i, j] = T.if_then_else(T.And(Y[bx * 32 + i] == j, Y[bx * 32 + i] != 7), a[i, j], 0)
                else:
                    a[i, j] = T.if_then_else(T.And(y[i] == j, y[i] != 7), a[i, j], 0)
            T.reduce_sum(a, b, dim=1)
            T.copy(b, B[bx * 32])

    a, labels = random(rows, columns, dtype=torch.float32), torch.arange(rows) * 7 % columns
    got = tilelang.compile(main, out_idx=[-1], target=TWO_CORES)(a, labels)
    exact = a.gather(1, labels[:, None])[:, 0]
    assert torch.equal(got, torch.where(labels == 7, 0.0, exact))


@pytest.mark.parametrize("form", ["copied", "parallel", "serial"])
def test_a_block_of_numbers_steers(form: str) -> None:
    """However they came from the tensor, each kernel reads them there."""
    rounds = 4

    @T.prim_func
    def main(
        A: T.Tensor((rounds * 32, 64), "float32"),
        chosen: T.Tensor((2, rounds), "int32"),
        B: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(2, threads=128) as bx:
            a = T.alloc_shared((32, 64), "float32")
            b = T.alloc_fragment((32, 64), "float32")
            local = T.alloc_fragment((rounds,), "int32")
            T.clear(b)
            if form == "copied":
                T.copy(chosen[bx, 0:rounds], local)
            elif form == "parallel":
                for i in T.Parallel(rounds):
                    local[i] = chosen[bx, i]
            else:
                for i in T.serial(rounds):
                    local[i] = chosen[bx, i]
            for k in T.serial(rounds):
                if local[k] != 0:
                    T.copy(A[k * 32, 0], a)
                    for i, j in T.Parallel(32, 64):
                        b[i, j] += local[k] * a[i, j]
            T.copy(b, B[bx * 32, 0])

    a = random(rounds * 32, 64, dtype=torch.float32).round()
    chosen = ints(1, 0, 0, 2, 0, 3, 1, 1).view(2, rounds)
    got = tilelang.compile(main, out_idx=[-1], target=TWO_CORES)(a, chosen)
    exact = torch.einsum("bk,kij->bij", chosen.float(), a.view(rounds, 32, 64))
    assert torch.equal(got, exact.reshape(64, 64))


def test_a_number_that_is_only_counted() -> None:
    """It steers nothing: kernels that move tiles, and the one that has nothing to compute, do without it."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            a = T.alloc_shared((32, 64), "float32")
            tally = T.alloc_var("int32")
            tally = bx
            T.copy(A[bx * 32, 0], a)
            for k in T.serial(3):
                tally = tally + k
            if tally % 2 == 0:
                tally = tally + 1
            T.copy(a, B[bx * 32, 0])

    a = random(64, 64, dtype=torch.float32)
    kernel = tilelang.compile(main, out_idx=[-1], target=TWO_CORES)
    assert torch.equal(kernel(a), a)
    assert "tally" not in kernel.get_kernel_source()


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "int8"])
def test_a_copy_of_another_type_holds_other_numbers(dtype: str) -> None:
    """Only where every number stays the same may it be read from the tensor."""

    @T.prim_func
    def main(A: T.Tensor((32, 32), dtype), B: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_fragment((32, 32), "int8")
            b = T.alloc_fragment((32, 64), "float32")
            T.copy(A, a)
            T.clear(b)
            for i, j in T.Parallel(32, 32):
                b[i, 16 + j] = T.cast(a[3, j], "float32") + 1.0
            T.copy(b, B)

    values = torch.arange(32 * 32).reshape(32, 32) % 250 - (0 if dtype == "uint8" else 125)
    a = values.to(getattr(torch, dtype)) * (1000 if dtype == "int32" else 1)
    a = a + 0.5 * a.sign() if dtype == "float32" else a
    expected = torch.zeros(32, 64)
    expected[:, 16:48] = a.to(torch.int64).to(torch.int8)[3].float() + 1
    assert torch.equal(tilelang.compile(main, out_idx=[-1], target=TWO_CORES)(a), expected)
