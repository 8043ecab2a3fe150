"""Kernels steered by numbers of their tensors and arguments: lengths, offsets, index lists."""

import math
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch

from tilelang_tt.diagnostics import ArgumentError

TWO_CORES = {"kind": "tenstorrent", "grid": "2x1"}


def random(*shape: int, dtype: torch.dtype = torch.bfloat16, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def ints(*values: Any) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


def test_an_argument_sizes_the_grid() -> None:
    total, heads, D = 150, 2, 64

    @T.prim_func
    def scaled(
        A: T.Tensor((total, heads, D), "bfloat16"),
        starts: T.Tensor((4,), "int32"),
        longest: T.int32,
        B: T.Tensor((total, heads, D), "float32"),
    ):
        with T.Kernel(T.ceildiv(longest, 32), heads, 3, threads=128) as (bx, by, bz):
            block = T.alloc_shared((32, D), "bfloat16")
            start = starts[bz]
            length = starts[bz + 1] - start
            T.copy(A[start + bx * 32 : start + bx * 32 + 32, by, :], block)
            for i, j in T.Parallel(32, D):
                if bx * 32 + i < length:
                    B[start + bx * 32 + i, by, j] = block[i, j] * longest

    kernel = tilelang.compile(scaled, target=TWO_CORES)
    a, starts, b = random(total, heads, D), ints(0, 30, 37, 150), torch.full((total, heads, D), 5.0)
    kernel(a, starts, 113, b)
    assert torch.equal(b, a.float() * 113)
    b = torch.full((total, heads, D), 5.0)
    kernel(a, starts, 20, b)  # one block of each sequence
    expected = torch.full_like(b, 5.0)
    for start, end in ((0, 30), (30, 37), (37, 69)):
        expected[start:end] = a[start:end].float() * 20
    assert torch.equal(b, expected)
    with pytest.raises(ArgumentError) as caught:
        kernel(a, starts, 0, b)
    assert str(caught.value) == (
        "error[TT314]: argument 3 ('longest') of kernel 'scaled' is 0; the kernel takes it for a size, which is at "
        "least 1\n  help: where there is nothing to compute, leave out the call"
    )


@pytest.mark.parametrize("block", [64, 40])
def test_rows_looked_up_in_a_table(block: int) -> None:
    """Rows, repeated rows, and rows that are not there; the same table as numbers."""
    rows, D, count = 70, 96, 2 * block

    @T.prim_func
    def gather(
        A: T.Tensor((2, rows, D), "bfloat16"),
        places: T.Tensor((2, count), "int32"),
        B: T.Tensor((2, count, D), "float32"),
    ):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            values = T.alloc_fragment((block, 32), "float32")
            known = T.alloc_fragment((block,), "bool")
            for i in T.Parallel(block):
                known[i] = places[by, bx * block + i] >= 0
            for k in T.serial(D // 32):
                for i, j in T.Parallel(block, 32):
                    values[i, j] = A[by, places[by, bx * block + i], k * 32 + j]
                for i, j in T.Parallel(block, 32):
                    values[i, j] = T.if_then_else(known[i], values[i, j], -1.0)
                T.copy(values, B[by, bx * block, k * 32])

    a = random(2, rows, D)
    places = torch.randint(-1, rows, (2, count), generator=torch.Generator().manual_seed(3), dtype=torch.int32)
    places[0, :3] = ints(5, 5, -1)
    got = tilelang.compile(gather, out_idx=[-1], target=TWO_CORES)(a, places)
    found = torch.stack([a[n, places[n].long().clamp(min=0)] for n in range(2)]).float()
    assert torch.equal(got, torch.where(places.unsqueeze(-1) >= 0, found, -1.0))


def test_rows_by_arithmetic_and_by_pages() -> None:
    """A row number may be any whole-number expression of its place: strides, repeats, a page table."""
    D, page, pages = 64, 8, 12

    @T.prim_func
    def paged(
        A: T.Tensor((page * pages, D), "float32"),
        table: T.Tensor((2, 8), "int32"),
        B: T.Tensor((2, 64, D), "float32"),
        C: T.Tensor((32, D), "float32"),
    ):
        with T.Kernel(2, threads=128) as bx:
            block = T.alloc_shared((64, D), "float32")
            for i, j in T.Parallel(64, D):
                block[i, j] = A[table[bx, i // page] * page + i % page, j]
            T.copy(block, B[bx, 0, 0])
            if bx == 0:
                for i, j in T.Parallel(32, D):
                    C[i, j] = A[i * 3, j] + A[i // 4, j]

    a = random(page * pages, D, dtype=torch.float32)
    table = ints([3, 0, 11, 7, 7, 1, 2, 4], [5, 6, 8, 9, 10, 0, 0, 3])
    b, c = tilelang.compile(paged, out_idx=[-2, -1], target=TWO_CORES)(a, table)
    assert torch.equal(b, a.reshape(pages, page, D)[table.long()].reshape(2, 64, D))
    assert torch.equal(c, a[torch.arange(32) * 3] + a[torch.arange(32) // 4])


def test_rows_wider_than_what_is_left_of_the_tensor() -> None:
    """Blocks of 64 columns of tensors that have 96, at rows that are looked up, and from row 3 on."""

    @T.prim_func
    def wide(
        A: T.Tensor((40, 96), "float32"),
        places: T.Tensor((32,), "int32"),
        B: T.Tensor((32, 96), "float32"),
        C: T.Tensor((40, 96), "float32"),
    ):
        with T.Kernel(3, threads=128) as bx:
            block = T.alloc_shared((32, 64), "float32")
            for i, j in T.Parallel(32, 64):
                block[i, j] = A[places[i], bx * 64 + j]
            T.copy(block, B[0, bx * 64])
            for i, j in T.Parallel(32, 64):
                if i < places[0]:
                    C[places[1] + i, bx * 64 + j] = block[i, j]

    a, places = random(40, 96, dtype=torch.float32), ints(*reversed(range(7, 39)))
    b, c = torch.zeros(32, 96), torch.zeros(40, 96)
    places[0:2] = ints(5, 3)
    tilelang.compile(wide, target=TWO_CORES)(a, places, b, c)
    assert torch.equal(b, a[places.long()])
    assert torch.equal(c[3:8], b[:5])
    assert c[:3].count_nonzero() == c[8:].count_nonzero() == 0


def test_tables_of_any_size() -> None:
    """Lengths of a number that only the call knows, and places in a table of 40 pages: all three kernels use them."""
    n, D = T.dynamic("n"), 32

    @T.prim_func
    def sums(
        A: T.Tensor((96, D), "float32"),
        lengths: T.Tensor((n,), "int32"),
        places: T.Tensor((n, 5000), "int32"),
        B: T.Tensor((8 * n, 32, D), "float32"),
    ):
        with T.Kernel(n, threads=128) as bx:
            block = T.alloc_shared((32, D), "float32")
            total = T.alloc_fragment((32, D), "float32")
            T.clear(total)
            for k in T.serial(lengths[bx]):
                if places[bx, 1500 * k] >= 0:
                    T.copy(A[places[bx, 1500 * k] * 32, 0], block)
                    for i, j in T.Parallel(32, D):
                        total[i, j] += block[i, j] * places[bx, 1500 * k + 1]
            for i, j in T.Parallel(32, D):
                total[i, j] += A[places[bx, 1020 + i], j]  # across pages
            T.copy(total, B[places[bx, 4999], 0, 0])

    kernel = tilelang.compile(sums, target=TWO_CORES)
    for count in (1, 3, 8):
        a = random(96, D, dtype=torch.float32)
        lengths = torch.arange(count, dtype=torch.int32) % 4
        places = torch.randint(-1, 3, (count, 5000), generator=torch.Generator().manual_seed(1), dtype=torch.int32)
        places[:, 1020:1052] = ints(*range(40, 72))
        places[:, 4999] = torch.arange(count, dtype=torch.int32) * 5 % (8 * count)
        b = torch.zeros(8 * count, 32, D)
        kernel(a, lengths, places, b)
        expected = torch.zeros_like(b)
        for unit in range(count):
            where = places[unit].tolist()
            total = torch.zeros(32, D)
            for k in range(int(lengths[unit])):
                if where[1500 * k] >= 0:
                    total += a[where[1500 * k] * 32 :][:32] * where[1500 * k + 1]
            expected[where[4999]] = total + a[40:72]
        assert torch.equal(b, expected), count


def test_one_number_inside_another_and_beside_it() -> None:
    """`token` is part of an index of another table, and compared with what is found there."""

    @T.prim_func
    def main(
        A: T.Tensor((4, 32, 32), "float32"),
        tokens: T.Tensor((4, 2), "int32"),
        blocks: T.Tensor((8,), "int32"),
        B: T.Tensor((4, 32, 32), "float32"),
    ):
        with T.Kernel(4, threads=128) as bx:
            tile = T.alloc_shared((32, 32), "float32")
            first, token = tokens[bx, 0], tokens[bx, 1]
            block = blocks[first + token] * 2
            if block <= token and block >= 0:
                T.copy(A[bx, 0, 0], tile)
            else:
                T.fill(tile, 1.0)
            T.copy(tile, B[bx, 0, 0])

    a = random(4, 32, 32, dtype=torch.float32)
    tokens, blocks = ints([0, 4], [1, 3], [2, 2], [3, 4]), ints(0, 0, 0, 0, 2, 7, 0, -1)
    got = tilelang.compile(main, out_idx=[-1], target=TWO_CORES)(a, tokens, blocks)
    expected = torch.ones_like(a)
    for unit, (first, token) in enumerate(tokens.tolist()):
        if 0 <= blocks[first + token] * 2 <= token:
            expected[unit] = a[unit]
    assert (expected != 1).any()
    assert torch.equal(got, expected)


@pytest.mark.parametrize("numerics", ["fast", "exact"])
def test_conditions_on_computed_numbers(numerics: str) -> None:
    """The combination of split attention: empty splits have no sum, and the last one that is there ends the rounds."""
    splits, D, heads = 5, 64, 3

    @T.prim_func
    def combine(
        lse: T.Tensor((heads, splits), "float32"),
        parts: T.Tensor((heads, splits, D), "float32"),
        out: T.Tensor((heads, D), "float32"),
        last: T.Tensor((heads,), "int32"),
        flags: T.Tensor((heads, D), "float32"),
    ):
        with T.Kernel(heads, threads=128) as bx:
            part = T.alloc_fragment((D,), "float32")
            result = T.alloc_fragment((D,), "float32")
            one = T.alloc_var("float32")
            total = T.alloc_var("float32")
            largest = T.alloc_var("float32")
            last_split = T.alloc_var("int32")
            T.clear(total)
            T.clear(result)
            largest = -T.infinity("float32")
            for k in T.serial(splits):
                one = lse[bx, k]
                if one != 0:
                    last_split = k
                    largest = T.max(largest, one)
            for k in T.serial(splits):
                if k <= last_split:
                    one = lse[bx, k]
                    total += T.exp2(one - largest)
            for k in T.serial(splits):
                if k <= last_split:
                    T.copy(parts[bx, k, 0:D], part)
                    for i in T.Parallel(D):
                        result[i] += part[i] * T.exp2(lse[bx, k] - largest) / total
            T.copy(result, out[bx, 0:D])
            if last_split == splits - 1:
                T.clear(part)
            else:
                T.copy(part, flags[bx, 0:D])
            for _ in T.Parallel(1):
                last[bx] = last_split

    lse = random(heads, splits, dtype=torch.float32)
    lse[0, 3:], lse[2, 1:] = 0, 0
    parts = random(heads, splits, D, dtype=torch.float32, seed=1)
    output, last, flags = torch.zeros(heads, D), torch.zeros(heads, dtype=torch.int32), torch.ones(heads, D)
    kernel = tilelang.compile(combine, target={**TWO_CORES, "numerics": numerics})
    kernel(lse, parts, output, last, flags)
    for head, count in enumerate((3, 5, 1)):
        weights = torch.exp2(lse[head, :count].double())
        exact = (weights[:, None] * parts[head, :count].double()).sum(0) / weights.sum()
        assert ((output[head].double() - exact).abs() <= 2**-7).all()
    assert last.tolist() == [2, 4, 0]
    assert torch.equal(flags, torch.stack([parts[0, 2], torch.ones(D), parts[2, 0]]))


def test_attention_over_chosen_blocks() -> None:
    """Causal flash attention that skips blocks by a mask: what a block of scores starts from depends on its place."""
    heads, N, D = 2, 256, 64

    @T.prim_func
    def attention(
        Q: T.Tensor((heads, N, D), "bfloat16"),
        K: T.Tensor((heads, N, D), "bfloat16"),
        V: T.Tensor((heads, N, D), "bfloat16"),
        chosen: T.Tensor((heads, 4, 4), "int8"),
        out: T.Tensor((heads, N, D), "float32"),
    ):
        with T.Kernel(4, heads, threads=128) as (bx, by):
            q = T.alloc_shared((64, D), "bfloat16")
            k = T.alloc_shared((64, D), "bfloat16")
            v = T.alloc_shared((64, D), "bfloat16")
            scores = T.alloc_fragment((64, 64), "float32")
            weights = T.alloc_fragment((64, 64), "bfloat16")
            acc = T.alloc_fragment((64, D), "float32")
            most = T.alloc_fragment((64,), "float32")
            before = T.alloc_fragment((64,), "float32")
            total = T.alloc_fragment((64,), "float32")
            part = T.alloc_fragment((64,), "float32")
            mask = T.alloc_local((4,), "int8")
            T.copy(Q[by, bx * 64, 0], q)
            T.clear(acc)
            T.clear(total)
            T.fill(most, -T.infinity("float32"))
            T.copy(chosen[by, bx, :], mask)
            for n in T.Pipelined(bx + 1, num_stages=1):
                if mask[n] != 0:
                    T.copy(K[by, n * 64, 0], k)
                    for i, j in T.Parallel(64, 64):
                        scores[i, j] = T.if_then_else(bx * 64 + i >= n * 64 + j, 0, -T.infinity("float32"))
                    T.gemm(q, k, scores, transpose_B=True)
                    T.copy(most, before)
                    T.reduce_max(scores, most, dim=1, clear=False)
                    for i in T.Parallel(64):
                        before[i] = T.exp2((before[i] - most[i]) * 0.125)
                    for i, j in T.Parallel(64, 64):
                        scores[i, j] = T.exp2((scores[i, j] - most[i]) * 0.125)
                    T.reduce_sum(scores, part, dim=1)
                    for i in T.Parallel(64):
                        total[i] = total[i] * before[i] + part[i]
                    T.copy(scores, weights)
                    for i, j in T.Parallel(64, D):
                        acc[i, j] *= before[i]
                    T.copy(V[by, n * 64, 0], v)
                    T.gemm(weights, v, acc)
            for i, j in T.Parallel(64, D):
                acc[i, j] /= total[i]
            T.copy(acc, out[by, bx * 64, 0])

    q, k, v = (random(heads, N, D, seed=seed) for seed in range(3))
    chosen = torch.ones(heads, 4, 4, dtype=torch.int8)
    chosen[0, 2, 1] = chosen[0, 3, 0] = chosen[1, 3, 1] = chosen[1, 3, 2] = 0
    got = tilelang.compile(attention, out_idx=[-1], target=TWO_CORES)(q, k, v, chosen)
    seen = chosen.bool().repeat_interleave(64, 1).repeat_interleave(64, 2) & torch.ones(N, N, dtype=torch.bool).tril()
    scores = (q.double() @ k.double().transpose(1, 2)) * 0.125 * math.log(2)
    exact = scores.masked_fill(~seen, -math.inf).softmax(2) @ v.double()
    assert ((got.double() - exact).abs() <= 2**-6 * v.double().abs().amax()).all()


def test_indices_of_64_bits() -> None:
    """As torch.topk gives them: places of blocks, and of rows looked up one by one."""
    rows, D = 128, 64

    @T.prim_func
    def picked(
        A: T.Tensor((rows, D), "bfloat16"),
        blocks: T.Tensor((2, 2), "int64"),
        places: T.Tensor((32,), "int64"),
        B: T.Tensor((2, 2, 32, D), "float32"),
        C: T.Tensor((32, D), "bfloat16"),
    ):
        with T.Kernel(2, threads=128) as bx:
            block = T.alloc_shared((32, D), "bfloat16")
            for n in T.serial(2):
                first = T.cast(blocks[bx, n], "int32") * 32
                T.copy(A[first, 0], block)
                for i, j in T.Parallel(32, D):
                    B[bx, n, i, j] = T.if_then_else(blocks[bx, n] * 32 + i < 100, block[i, j], -1.0)
            if bx == 0:
                for i, j in T.Parallel(32, D):
                    block[i, j] = A[places[i], j]
                T.copy(block, C)

    kernel = tilelang.compile(picked, target=TWO_CORES)
    a, blocks = random(rows, D), torch.tensor([[3, 0], [2, 3]])
    places = torch.randperm(rows, generator=torch.Generator().manual_seed(1))[:32]
    b, c = torch.zeros(2, 2, 32, D), torch.zeros(32, D, dtype=torch.bfloat16)
    kernel(a, blocks, places, b, c)
    known = torch.where(torch.arange(rows)[:, None] < 100, a.float(), torch.tensor(-1.0)).view(4, 32, D)
    assert torch.equal(b, known[blocks])
    assert torch.equal(c, a[places])
    with pytest.raises(ArgumentError) as caught:
        kernel(a, blocks + 2**33, places, b, c)
    assert str(caught.value) == (
        "error[TT315]: argument 2 ('blocks') of kernel 'picked' holds 8589934592 to 8589934595; the kernel takes it "
        "for indices of 32 bits\n  help: pass indices from -2**31 to 2**31 - 1"
    )


def test_a_table_beside_blocks_that_fill_l1() -> None:
    """Two of them would take 1,392,640 B of 1,393,280: the second is given up for the table's 16,384 B."""
    rows, D = 160, 1088

    @T.prim_func
    def chosen(
        A: T.Tensor((4, rows, D), "float32"), N: T.Tensor((4096,), "int32"), B: T.Tensor((2, rows, D), "float32")
    ):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((rows, D), "float32")
            T.copy(A[N[bx], 0, 0], X)
            T.copy(X, B[bx, 0, 0])

    kernel = tilelang.compile(chosen, out_idx=[-1], target=TWO_CORES)
    a, n = random(4, rows, D, dtype=torch.float32), torch.zeros(4096, dtype=torch.int32)
    n[0], n[1] = 3, 1
    assert torch.equal(kernel(a, n), a[[3, 1]])


def test_the_length_of_a_loop_is_taken_once() -> None:
    """A loop that changes what its length was computed from makes as many rounds as it would have made."""

    @T.prim_func
    def main(X: T.Tensor((32, 32), "float32"), Y: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            left = T.alloc_var("int32", init=4)
            x = T.alloc_shared((32, 32), "float32")
            T.copy(X, x)
            for _ in T.serial(left):
                left = left - 1
                for i, j in T.Parallel(32, 32):
                    x[i, j] = x[i, j] + T.cast(left, "float32")
            T.copy(x, Y)

    x, y = torch.zeros(32, 32), torch.zeros(32, 32)
    tilelang.compile(main, target="tenstorrent")(x, y)
    assert torch.equal(y, torch.full((32, 32), 6.0))
