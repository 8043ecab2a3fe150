"""Elements of blocks at single places, and at places that are no whole tiles: three ways agree."""

from typing import Any

import pytest
import tilelang.language as T
import torch
from three_ways import TWO_CORES, agree, whole_numbers

from tilelang_tt.options import Options
from tilelang_tt.pipeline import compile_function


def last_of_a_vector(dtype: str) -> Any:
    @T.prim_func
    def main(G: T.Tensor((3, 64), dtype), A: T.Tensor((3, 64, 64), dtype), B: T.Tensor((3, 64, 64), dtype)):
        with T.Kernel(3, threads=128) as bx:
            g = T.alloc_shared((64,), dtype)
            a = T.alloc_shared((64, 64), dtype)
            b = T.alloc_fragment((64, 64), dtype)
            T.copy(G[bx, 0], g)
            T.copy(A[bx, 0, 0], a)
            last = g[63]
            for i, j in T.Parallel(64, 64):
                b[i, j] = (last - g[i]) * a[i, j]
            T.copy(b, B[bx, 0, 0])

    return main


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_one_element_of_a_vector(dtype: str) -> None:
    of = getattr(torch, dtype)
    g, a = whole_numbers(3, 64, dtype=of), whole_numbers(3, 64, 64, dtype=of)
    agree(last_of_a_vector(dtype), {"G": g, "A": a, "B": torch.zeros(3, 64, 64, dtype=of)}, ("B",))


def one_row_of_many() -> Any:
    """Rows and columns of small matrices, by the round of a loop."""

    @T.prim_func
    def main(
        A: T.Tensor((2, 4, 4), "float32"),
        B: T.Tensor((2, 4, 96), "float32"),
        C: T.Tensor((2, 4, 96), "float32"),
    ):
        with T.Kernel(2, threads=128) as bx:
            a = T.alloc_fragment((4, 4), "float32")
            b = T.alloc_fragment((4, 96), "float32")
            c = T.alloc_fragment((4, 96), "float32")
            T.copy(A[bx, 0, 0], a)
            T.copy(B[bx, 0, 0], b)
            for i, j in T.Parallel(4, 96):
                c[i, j] = b[0, j]
                for k in T.serial(4):
                    c[i, j] += a[k, i] * b[k, j]
            T.copy(c, C[bx, 0, 0])

    return main


def test_rows_and_columns_at_the_round_of_a_loop() -> None:
    tensors = {"A": whole_numbers(2, 4, 4), "B": whole_numbers(2, 4, 96), "C": torch.zeros(2, 4, 96)}
    agree(one_row_of_many(), tensors, ("C",))


def third_row() -> Any:
    @T.prim_func
    def main(A: T.Tensor((4, 96), "float32"), C: T.Tensor((96,), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((4, 96), "float32")
            c = T.alloc_fragment((96,), "float32")
            T.copy(A, a)
            for j in T.Parallel(96):
                c[j] = a[2, j]
            T.copy(c, C)

    return main


@pytest.mark.parametrize("numerics", ["fast", "chip"])
def test_all_bits_of_an_element_arrive(numerics: str) -> None:
    """Nothing of the neighbours does, be they infinite or no numbers."""
    a = torch.randn(4, 96, generator=torch.Generator().manual_seed(0))
    a[2, :4] = torch.tensor([torch.inf, -torch.inf, 3e38, -1e-30])
    a[1, 0], a[1, 1], a[0, 2] = torch.nan, torch.inf, torch.inf
    tensors = {"A": a, "C": torch.zeros(96)}
    agree(third_row(), tensors, ("C",), reference={"C": a[2]}, numerics=numerics)


def squares_by_fours() -> Any:
    """Columns `4 * k + j` of a block, added up in columns `j` of a small one."""

    @T.prim_func
    def main(A: T.Tensor((32, 24), "float32"), S: T.Tensor((32, 4), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_fragment((32, 24), "float32")
            s = T.alloc_fragment((32, 4), "float32")
            T.copy(A, a)
            T.clear(s)
            for k in T.serial(6):
                for i, j in T.Parallel(32, 4):
                    s[i, j] += a[i, k * 4 + j] * a[i, k * 4 + j]
            T.copy(s, S)

    return main


def test_columns_by_fours() -> None:
    agree(squares_by_fours(), {"A": whole_numbers(32, 24), "S": torch.zeros(32, 4)}, ("S",))
    told = [(d.subject, d.text) for d in compile_function(squares_by_fours(), TWO_CORES).decisions]
    assert ("j", "one of 4 rounds after the other: something is not walked by whole tiles of 32") in told


def turned_and_spread() -> Any:
    """A vector backwards, one value for every eight, and single elements stored."""

    @T.prim_func
    def main(D: T.Tensor((24,), "float32"), E: T.Tensor((24,), "float32")):
        with T.Kernel(1, threads=128):
            d = T.alloc_fragment((24,), "float32")
            e = T.alloc_fragment((24,), "float32")
            T.copy(D, d)
            for i in T.Parallel(24):
                e[i] = d[23 - i] + d[i // 8]
            e[7] = 100.0
            T.copy(e, E)

    return main


def test_reversals_and_repeats() -> None:
    agree(turned_and_spread(), {"D": whole_numbers(24), "E": torch.zeros(24)}, ("E",))


def other_sides() -> Any:
    """Parts of a matrix and of a vector that are used along the other side of their tiles."""

    @T.prim_func
    def main(
        A: T.Tensor((72, 128), "float32"),
        V: T.Tensor((104,), "float32"),
        B: T.Tensor((64, 40), "float32"),
    ):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((72, 128), "float32")
            v = T.alloc_shared((104,), "float32")
            Y = T.alloc_shared((64, 40), "float32")
            T.copy(A, X)
            T.copy(V, v)
            for i, j in T.Parallel(64, 40):
                Y[i, j] = X[32 + j, 64 + i] * v[32 + i] + v[64 + j]
            T.copy(Y, B)

    return main


def test_parts_along_the_other_side() -> None:
    a, v = whole_numbers(72, 128), whole_numbers(104)
    found = a[32:, 64:].mT * v[32:96, None] + v[64:]
    agree(other_sides(), {"A": a, "V": v, "B": torch.zeros(64, 40)}, ("B",), reference={"B": found})


def longer_than_asked(n: Any) -> Any:
    """Copies of boxes that differ: TileLang goes by the extents of the block, whatever is known of the other side."""

    @T.prim_func
    def main(A: T.Tensor((n, 32), "float32"), B: T.Tensor((n, 32), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((48, 32), "float32")
            T.copy(A[0:40, 0:32], X)
            T.copy(X, B[8:16, 0:32])
            T.copy(A[0:8, 0:3], C[0:8, 0:2])

    return main


def test_copies_between_boxes_that_differ() -> None:
    a = whole_numbers(64, 32)
    b, c = torch.zeros(64, 32), torch.zeros(64, 64)
    b[8:56], c[:8, :3] = a[:48], a[:8, :3]
    tensors = {"A": a, "B": torch.zeros(64, 32), "C": torch.zeros(64, 64)}
    agree(longer_than_asked(64), tensors, ("B", "C"), reference={"B": b, "C": c})


def lengths_of_tensors() -> Any:
    """Loops, fills and copies whose lengths a tensor says: no longer than the blocks."""

    @T.prim_func
    def main(
        L: T.Tensor((3,), "int32"),
        A: T.Tensor((192, 40), "float32"),
        B: T.Tensor((3, 64, 40), "float32"),
        C: T.Tensor((3, 64, 40), "float32"),
    ):
        with T.Kernel(3, threads=128) as bx:
            X = T.alloc_shared((64, 40), "float32")
            T.copy(A[bx * 64 : bx * 64 + L[bx], 0:40], X)
            T.copy(X, C[bx, 0, 0])
            T.fill(X[L[bx] : 64, 0:40], 5)
            T.clear(X[0:3, 1 : L[bx] // 2])
            for i, j in T.Parallel(L[bx], 40):
                X[i, j] = X[i, j] * 2 + i
            T.copy(X, B[bx, 0, 0])

    return main


def test_lengths_that_tensors_say() -> None:
    lengths, a = torch.tensor([0, 64, 17], dtype=torch.int32), whole_numbers(192, 40)
    tensors = {"L": lengths, "A": a, "B": torch.zeros(3, 64, 40), "C": torch.zeros(3, 64, 40)}
    found = a.view(3, 64, 40).clone()
    for block, length in zip(found, lengths.tolist(), strict=True):
        block[length:] = 5
        block[:3, 1 : length // 2] = 0
        block[:length] = block[:length] * 2 + torch.arange(length)[:, None]
    agree(lengths_of_tensors(), tensors, ("B", "C"), reference={"B": found, "C": a.view(3, 64, 40)})


def first_columns(width: int) -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 64), "float32"), N: T.Tensor((1,), "int32"), B: T.Tensor((32, 64), "float32")):
        with T.Kernel(64 // width, threads=128) as bx:
            X = T.alloc_shared((32, width), "float32")
            T.copy(A[0, bx * width], X)
            for i, j in T.Parallel(32, width):
                if bx * width + j < N[0]:
                    B[i, bx * width + j] = X[i, j]

    return main


@pytest.mark.parametrize("width", [32, 16])
def test_a_store_cut_along_columns(width: int) -> None:
    a, b, count = whole_numbers(32, 64), torch.full((32, 64), 7.0), torch.tensor([45], dtype=torch.int32)
    found = torch.where(torch.arange(64) < 45, a, b)
    agree(first_columns(width), {"A": a, "N": count, "B": b}, ("B",), reference={"B": found})


def diagonal() -> Any:
    @T.prim_func
    def main(A: T.Tensor((24, 24), "float32"), D: T.Tensor((24,), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((24, 24), "float32")
            d = T.alloc_fragment((24,), "float32")
            T.copy(A, a)
            for i in T.Parallel(24):
                d[i] = a[i, i]
            d[11] = d[11] + a[3, 2]
            T.copy(d, D)

    return main


def test_a_diagonal() -> None:
    agree(diagonal(), {"A": whole_numbers(24, 24), "D": torch.zeros(24)}, ("D",))


def copied_parts() -> Any:
    """T.copy, T.fill and T.reduce_* of parts that are no whole tiles."""

    @T.prim_func
    def main(A: T.Tensor((3, 32), "float32"), B: T.Tensor((8, 32), "float32"), S: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_fragment((3, 32), "float32")
            b = T.alloc_fragment((8, 32), "float32")
            row = T.alloc_fragment((32,), "float32")
            T.copy(A, a)
            T.fill(b, 1)
            T.copy(a[1:3, :], b[4:6, :])
            T.fill(b[7, :], 9)
            for k in T.serial(3):
                T.copy(a[k, :], row)
                for i in T.Parallel(32):
                    row[i] = row[i] * k
                T.copy(row, b[k, :])
            T.reduce_sum(b[4:8, :], row, dim=0)
            T.copy(b, B)
            T.copy(row, S)

    return main


def test_parts_of_blocks() -> None:
    a = whole_numbers(3, 32)
    b = torch.ones(8, 32)
    b[4:6], b[7], b[:3] = a[1:3], 9, a * torch.arange(3)[:, None]
    tensors = {"A": a, "B": torch.zeros(8, 32), "S": torch.zeros(32)}
    agree(copied_parts(), tensors, ("B", "S"), reference={"B": b, "S": b[4:].sum(0)})


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
def test_columns_that_start_anywhere(arch: str) -> None:
    """Blocks of four rows, whose columns begin where a table says: one row after the other."""

    @T.prim_func
    def shifted(
        A: T.Tensor((8, 100), "float32"),
        starts: T.Tensor((2,), "int32"),
        B: T.Tensor((8, 100), "float32"),
    ):
        with T.Kernel(2, threads=128) as bx:
            x = T.alloc_fragment((32, 4), "float32")
            start = starts[bx]
            for n in T.serial(2):
                for b, i in T.Parallel(4, 32):
                    x[i, b] = A[bx * 4 + b, start + n * 32 + i]
                for b, i in T.Parallel(4, 32):
                    B[bx * 4 + b, start + n * 32 + i] = x[i, b] * 2.0

    a, starts = whole_numbers(8, 100), torch.tensor([3, 61], dtype=torch.int32)
    tensors = {"A": a, "starts": starts, "B": torch.full((8, 100), 7.0)}
    result = agree(shifted, tensors, ("B",), options=Options(arch, grid=(2, 1)))["B"]
    expected = torch.full((8, 100), 7.0)
    expected[:4, 3:67] = 2 * a[:4, 3:67]
    expected[4:, 61:] = 2 * a[4:, 61:]  # what lies beyond the tensor is dropped
    assert torch.equal(result, expected)


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
def test_two_cases_fill_blocks_together(arch: str) -> None:
    """Neither case alone fills them; the second assignment of each case sees the first."""

    @T.prim_func
    def padded(A: T.Tensor((90, 64), "bfloat16"), starts: T.Tensor((3,), "int32"), B: T.Tensor((2, 64, 64), "float32")):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            a = T.alloc_fragment((32, 64), "float32")
            b = T.alloc_fragment((32, 64), "float32")
            start = starts[by]
            length = starts[by + 1] - start
            for i, j in T.Parallel(32, 64):
                if bx * 32 + i < length:
                    a[i, j] = A[start + bx * 32 + i, j]
                    b[i, j] = a[i, j] + 1.0
                else:
                    a[i, j] = -2.0
                    b[i, j] = a[i, j] * 4.0
            for i, j in T.Parallel(32, 64):
                a[i, j] = a[i, j] + b[i, j]
            T.copy(a, B[by, bx * 32, 0])

    starts = torch.tensor([0, 37, 90], dtype=torch.int32)
    tensors = {"A": whole_numbers(90, 64, dtype=torch.bfloat16), "starts": starts, "B": torch.zeros(2, 64, 64)}
    agree(padded, tensors, ("B",), options=Options(arch, grid=(2, 1)))


def halves_of_rows() -> Any:
    """Rotary embedding: both halves of a row of the result, from both halves of a row."""

    @T.prim_func
    def main(
        X: T.Tensor((64, 2, 64), "bfloat16"),
        C: T.Tensor((64, 32), "float32"),
        S: T.Tensor((64, 32), "float32"),
        Y: T.Tensor((64, 2, 64), "bfloat16"),
    ):
        with T.Kernel(2, 2, threads=128) as (bx, head):
            x = T.alloc_shared((32, 64), "bfloat16")
            c = T.alloc_shared((32, 32), "float32")
            s = T.alloc_shared((32, 32), "float32")
            y = T.alloc_fragment((32, 64), "bfloat16")
            T.copy(X[bx * 32 : (bx + 1) * 32, head, :], x)
            T.copy(C[bx * 32, 0], c)
            T.copy(S[bx * 32, 0], s)
            for i, j in T.Parallel(32, 32):
                y[i, j] = x[i, j] * c[i, j] - x[i, j + 32] * s[i, j]
                y[i, j + 32] = x[i, j] * s[i, j] + x[i, j + 32] * c[i, j]
            T.copy(y, Y[bx * 32 : (bx + 1) * 32, head, :])

    return main


def test_parts_of_a_block_that_is_stored() -> None:
    x, c, s = whole_numbers(64, 2, 64, dtype=torch.bfloat16), whole_numbers(64, 32), whole_numbers(64, 32, low=-3)
    agree(halves_of_rows(), {"X": x, "C": c, "S": s, "Y": torch.zeros(64, 2, 64, dtype=torch.bfloat16)}, ("Y",))


def cases_of_a_row() -> Any:
    """Halves of a row change places, and a part of a block goes elsewhere: conditions keep every access inside."""

    @T.prim_func
    def main(A: T.Tensor((40, 96), "float32"), B: T.Tensor((40, 96), "float32"), C: T.Tensor((40, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            a = T.alloc_shared((32, 96), "float32")
            b = T.alloc_fragment((32, 96), "float32")
            c = T.alloc_fragment((32, 64), "float32")
            T.copy(A[bx * 32, 0], a)
            T.fill(c, 1)
            for i, j in T.Parallel(32, 96):
                turned = T.if_then_else(j < 64, -a[i, j + 32], a[i, j - 64])
                b[i, j] = 3 * a[i, j] + turned
            for i, j in T.Parallel(32, 96):
                if j >= 64 and i < 20:
                    c[i, j - 32] = a[i, j]
            T.copy(b, B[bx * 32, 0])
            T.copy(c, C[bx * 32, 0])

    return main


def test_conditions_that_keep_accesses_inside_a_block() -> None:
    tensors = {"A": whole_numbers(40, 96), "B": torch.zeros(40, 96), "C": torch.zeros(40, 64)}
    agree(cases_of_a_row(), tensors, ("B", "C"))


def numbers_into_parts() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 96), "float32"), B: T.Tensor((64, 96), "float32")):
        with T.Kernel(2, threads=128) as bx:
            a = T.alloc_shared((32, 96), "float32")
            T.copy(A[bx * 32, 0], a)
            for k in T.serial(2):
                for i, j in T.Parallel(32, 32):
                    a[i, 64 * k + j] = -2.0
            for i, j in T.Parallel(32, 32):
                if bx == 1:
                    a[i, j] = 7.0
            T.copy(a, B[bx * 32, 0])

    return main


def test_a_number_is_assigned_to_a_part_of_a_block() -> None:
    agree(numbers_into_parts(), {"A": whole_numbers(64, 96), "B": torch.zeros(64, 96)}, ("B",))
