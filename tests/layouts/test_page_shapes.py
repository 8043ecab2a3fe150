"""Pages of half tiles and of rows: every bit is where it is with tiles of 32 x 32, whatever numbers and sizes."""

import itertools
import math
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from layout_kernels import CASES, Case, chain
from placed import check, compiled, moved, share, whole

PAGES: dict[str, dict[str, Any]] = {
    "16x32": {"tile": (16, 32)},
    "32x16": {"tile": (32, 16)},
    "32x16 in L1": {"tile": (32, 16), "memory": "L1"},
    "rows": {"pages": "row"},
    "rows in L1": {"pages": "row", "memory": "L1"},
}
DTYPES = ("bfloat16", "float32", "float16", "float8_e4m3fn")
DTYPES += ("int32", "uint32", "int16", "uint16", "int8", "uint8", "bool")
SIZES = ((1, 1), (16, 17), (17, 16), (33, 47), (47, 33), (64, 96))


def copied(shape: tuple[int, ...], block: tuple[int, int], dtype: str) -> Any:
    """Every number as it is, in blocks of the last two axes."""
    if len(shape) > 2:
        return copied_matrices(shape, block, dtype)
    (m, n), (bm, bn) = shape, block

    @T.prim_func
    def matrix(A: T.Tensor(shape, dtype), C: T.Tensor(shape, dtype)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            x = T.alloc_shared((bm, bn), dtype)
            T.copy(A[by * bm, bx * bn], x)
            T.copy(x, C[by * bm, bx * bn])

    return matrix


def copied_matrices(shape: tuple[int, ...], block: tuple[int, int], dtype: str) -> Any:
    *outer, m, n = shape
    (bm, bn), count = block, math.prod(outer)

    def box(at: Any, by: Any, bx: Any) -> tuple[Any, ...]:
        first = (at,) if len(outer) == 1 else (at // outer[1], at % outer[1])
        return (*first, slice(by * bm, by * bm + bm), slice(bx * bn, bx * bn + bn))

    @T.prim_func
    def matrices(A: T.Tensor(shape, dtype), C: T.Tensor(shape, dtype)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), count, threads=128) as (bx, by, bz):
            x = T.alloc_shared((bm, bn), dtype)
            T.copy(A[box(bz, by, bx)], x)
            T.copy(x, C[box(bz, by, bx)])

    return matrices


def any_bits(shape: tuple[int, ...], dtype: str) -> torch.Tensor:
    """Numbers of the whole range; of floats also NaN, infinities, -0 and the smallest ones."""
    kind = getattr(torch, dtype)
    if dtype == "bool":
        return torch.randint(0, 2, shape).to(kind)
    bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[kind.itemsize]
    low, high = (0, 256) if bits is torch.uint8 else (torch.iinfo(bits).min, torch.iinfo(bits).max + 1)
    found = torch.randint(low, high, shape, generator=torch.Generator().manual_seed(7)).to(bits).view(kind).clone()
    if kind.is_floating_point:
        special = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0, 2.0**-130]).to(kind)
        flat = found.view(bits).view(-1)
        flat[: len(special)] = special.view(bits)[: flat.numel()]
    return found


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8))


@pytest.mark.parametrize(
    ("pages", "dtype", "arch"), share(PAGES, DTYPES, ("wormhole_b0", "blackhole"), every=3), ids=str
)
def test_every_type(pages: str, dtype: str, arch: str) -> None:
    """Compared with tiles of 32 x 32, whose own results other tests compare with what is right."""
    shape, block = (49, 40), (32, 64)
    a = any_bits(shape, dtype)
    results = []
    for layout in ({}, dict.fromkeys("AC", PAGES[pages])):
        kernel = compiled(copied(shape, block, dtype), layout, arch=arch)
        results.append(torch.zeros_like(a))
        kernel(a, results[-1])
    assert same_bits(*results)


@pytest.mark.parametrize(("pages", "shape"), share(PAGES, SIZES, every=1), ids=str)
def test_odd_sizes(pages: str, shape: tuple[int, int]) -> None:
    arch = ("wormhole_b0", "blackhole")[sum(shape) % 2]
    a = torch.randn(shape).bfloat16()
    layout = dict.fromkeys("AC", PAGES[pages])
    check(copied(shape, (64, 32), "bfloat16"), {"A": a, "C": torch.zeros_like(a)}, {"C": a}, layout, arch=arch)


@pytest.mark.parametrize("pages", PAGES)
@pytest.mark.parametrize("shape", [(3, 17, 40), (2, 2, 40, 17)], ids=str)
def test_more_axes(pages: str, shape: tuple[int, ...]) -> None:
    a = torch.randn(shape).bfloat16()
    layout = dict.fromkeys("AC", PAGES[pages])
    check(copied(shape, (32, 32), "bfloat16"), {"A": a, "C": torch.zeros_like(a)}, {"C": a}, layout, arch="blackhole")


@pytest.mark.parametrize("pages", PAGES)
def test_sizes_of_the_call(pages: str) -> None:
    m = T.dynamic("m")
    kernel = tilelang.compile(
        copied_rows(m),
        out_idx=[-1],
        target={"kind": "tenstorrent", "arch": "blackhole", "layout": dict.fromkeys("AC", PAGES[pages])},
    )
    for rows in (1, 16, 17, 33, 64):
        a = torch.randn(rows, 40).bfloat16()
        assert torch.equal(kernel(a), a)


def copied_rows(m: Any) -> Any:
    @T.prim_func
    def main(A: T.Tensor((m, 40), "bfloat16"), C: T.Tensor((m, 40), "bfloat16")):
        with T.Kernel(T.ceildiv(m, 32), threads=128) as bx:
            x = T.alloc_shared((32, 64), "bfloat16")
            T.copy(A[bx * 32, 0], x)
            T.copy(x, C[bx * 32, 0])

    return main


@pytest.mark.parametrize(
    ("pages", "case", "arch"),
    share(PAGES, CASES, ("wormhole_b0", "blackhole"), every=3),
    ids=lambda value: getattr(value, "name", value),
)
def test_kernels(pages: str, case: Case, arch: str) -> None:
    kernel = tilelang.compile(
        case.build(),
        out_idx=[-1],
        target={"kind": "tenstorrent", "arch": arch, "layout": dict.fromkeys(case.tensors, PAGES[pages])},
    )
    inputs = case.inputs()
    case.check(kernel(*inputs), inputs)


@pytest.mark.parametrize(("pages", "numerics"), itertools.product(PAGES, ("fast", "exact", "chip")))
def test_sums_see_zeros_behind_the_end(pages: str, numerics: str) -> None:
    """17 rows and 47 columns: of the last tiles one half is missing, and a part of the other is padding."""

    @T.prim_func
    def main(A: T.Tensor((17, 47), "bfloat16"), R: T.Tensor((17,), "float32"), S: T.Tensor((47,), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((17, 47), "bfloat16")
            r = T.alloc_fragment((17,), "float32")
            s = T.alloc_fragment((47,), "float32")
            T.copy(A, x)
            T.reduce_sum(x, r, dim=1)
            T.reduce_sum(x, s, dim=0)
            T.copy(r, R)
            T.copy(s, S)

    a = whole(17, 47)
    tensors = {"A": a, "R": torch.zeros(17), "S": torch.zeros(47)}
    sums = {"R": a.float().sum(1), "S": a.float().sum(0)}
    check(main, tensors, sums, {"A": PAGES[pages]}, numerics=numerics, arch="blackhole")


@pytest.mark.parametrize("pages", PAGES)
def test_updates_in_place(pages: str) -> None:
    @T.prim_func
    def main(A: T.Tensor((49, 80), "bfloat16")):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            x = T.alloc_fragment((32, 64), "bfloat16")
            T.copy(A[by * 32, bx * 64], x)
            for i, j in T.Parallel(32, 64):
                x[i, j] = x[i, j] + x[i, j]
            T.copy(x, A[by * 32, bx * 64])

    a = torch.randn(49, 80).bfloat16()
    check(main, {"A": a}, {"A": a + a}, {"A": PAGES[pages]}, arch="blackhole")


@pytest.mark.parametrize(("tile", "shape"), [((16, 32), (16, 128)), ((32, 16), (128, 16))])
def test_half_of_the_bytes(tile: tuple[int, int], shape: tuple[int, int]) -> None:
    """Of tiles that would be half empty."""
    a = torch.ones(shape).bfloat16()
    found = {}
    for name, layout in (("whole", {}), ("half", {"A": {"tile": tile}, "C": {"tile": tile}})):
        kernel = check(copied(shape, (32, 32), "bfloat16"), {"A": a, "C": torch.zeros_like(a)}, {"C": a}, layout)
        plan = kernel.compiled.plan
        sizes = (item.page_bytes * int(item.row_tiles) * int(item.col_tiles) for item in plan.tensors)
        found[name] = (moved(kernel)[1], *sizes)
    assert found == {"whole": (8192, 8192, 8192), "half": (4096, 4096, 4096)}


def test_what_explain_says() -> None:
    shards = {"tile": (16, 32), "memory": "L1", "shard": "height", "grid": (4, 1)}
    said = str(compiled(chain(128, 64, (32, 64)), {"A": shards, "B": {"tile": (32, 16)}}).explain(whole=True))
    together = "reader and writer put whole tiles together from them, and take them apart"
    assert f"A: 8 x 2 pages of 16 x 32 elements, 1,024 B each, 16,384 B in all: {together}" in said
    assert f"B: 4 x 4 pages of 32 x 16 elements, 1,024 B each, 16,384 B in all: {together}" in said
    assert "A: L1, shards of 2 x 2 tiles over 4 cores, 4,096 B of each" in said
    assert (
        "a: 'A' is moved over the NoC: its pages are tiles of 16x32, of which two make a tile of the block; 16,384 B, "
        "of which 16,384 B stay on their core" in said
    )


def test_row_pages_hold_what_the_type_needs() -> None:
    for dtype, size in (("bfloat16", 192), ("float32", 384)):
        said = str(compiled(chain(100, 70, (64, 32), dtype), {"A": {"pages": "row"}}).explain(whole=True))
        assert f"A: {dtype} [100 x 70] -> a page of {size} B" in said
