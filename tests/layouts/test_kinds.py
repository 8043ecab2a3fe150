"""Beside the matrix: ranks, odd and dynamic sizes, types, updates, several launches, lookups."""

from typing import Any

import pytest
import tilelang.language as T
import torch
from layout_kernels import chain, gemm
from placed import check, compiled, moved, share, whole

import tilelang_tt.language as TT

ARCHS = ["wormhole_b0", "blackhole"]


# --- ranks ----------------------------------------------------------------------------------------


def doubled(shape: tuple[int, ...], block: tuple[int, int], dtype: str = "bfloat16") -> Any:
    """Every matrix of a tensor of rank 3 or 4, block by block."""
    rows, cols = block
    *outer, m, n = shape
    inner = outer[-1]
    matrices = outer[0] * inner if len(outer) == 2 else inner

    @T.prim_func
    def main(A: T.Tensor(shape, dtype), C: T.Tensor(shape, dtype)):
        with T.Kernel(T.ceildiv(n, cols), T.ceildiv(m, rows), matrices, threads=128) as (bx, by, bz):
            a = T.alloc_shared((rows, cols), dtype)
            if len(outer) == 2:
                T.copy(A[bz // inner, bz % inner, by * rows, bx * cols], a)
            else:
                T.copy(A[bz, by * rows, bx * cols], a)
            for i, j in T.Parallel(rows, cols):
                a[i, j] = a[i, j] + a[i, j]
            if len(outer) == 2:
                T.copy(a, C[bz // inner, bz % inner, by * rows, bx * cols])
            else:
                T.copy(a, C[bz, by * rows, bx * cols])

    return main


@pytest.mark.parametrize(
    ("shape", "shard", "cores", "arch"),
    [
        ((3, 64, 96), (1, 64, 96), "3x1+1+1", "wormhole_b0"),  # a matrix for a core
        ((3, 64, 96), (2, 32, 64), "2x2", "blackhole"),  # none of the extents divides
        ((2, 3, 64, 64), (1, 3, 64, 32), "4x1", "wormhole_b0"),
        ((2, 3, 64, 64), (1, 2, 32, 64), "5x1", "blackhole"),  # 2 x 2 x 2 shards; the second has one matrix of two
        ((2, 3, 50, 70), (2, 3, 32, 96), "2x1", "wormhole_b0"),
        ((3, 64, 96), "height", "6x1", "wormhole_b0"),  # the matrices below each other: 6 rows of tiles
        ((3, 64, 96), "block", "3x2", "blackhole"),
    ],
)
def test_ranks(shape: tuple[int, ...], shard: Any, cores: str, arch: str) -> None:
    a = whole(*shape)
    layout = {"memory": "L1", "shard": shard, "grid": cores}
    check(
        doubled(shape, (32, 32)),
        {"A": a, "C": torch.zeros_like(a)},
        {"C": a + a},
        {"A": layout, "C": layout},
        arch=arch,
    )


# --- sizes ----------------------------------------------------------------------------------------


ODD = {
    "height": {"memory": "L1", "shard": "height", "grid": (3, 1)},
    "block": {"memory": "L1", "shard": "block", "grid": "2x3+1+0", "order": "column"},
    "boxes": {"memory": "L1", "shard": (64, 32), "grid": (2, 1)},
    "DRAM": {"memory": "DRAM", "shard": "width", "grid": (3, 1)},
}


@pytest.mark.parametrize(("name", "arch"), share(ODD, ARCHS, every=3))
def test_sizes_that_are_no_multiples_of_tiles(name: str, arch: str) -> None:
    a, b = whole(100, 70), whole(100, 70, seed=1)
    tensors = {"A": a, "B": b, "C": torch.full((100, 70), 9.0, dtype=torch.bfloat16)}
    layouts = {"A": ODD[name], "C": ODD[name]}
    check(chain(100, 70, (64, 32)), tensors, {"C": a * b + a - 1}, layouts, arch=arch)


@pytest.mark.parametrize(("name", "rows"), share(ODD, [1, 64, 200], every=2))
def test_dynamic_sizes(name: str, rows: int) -> None:
    m = T.dynamic("m")
    n = 70

    @T.prim_func
    def main(A: T.Tensor((m, n), "float32"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, 32), T.ceildiv(m, 32), threads=128) as (bx, by):
            a = T.alloc_shared((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], a)
            for i, j in T.Parallel(32, 32):
                a[i, j] = a[i, j] * 3
            T.copy(a, C[by * 32, bx * 32])

    a = whole(rows, n, dtype=torch.float32, most=1000)
    check(main, {"A": a, "C": torch.zeros_like(a)}, {"C": a * 3}, {"A": ODD[name], "C": ODD[name]})


def test_dynamic_boxes_of_all_columns() -> None:
    """A shard may reach over an axis of unknown length only in whole tiles."""
    m = T.dynamic("m")

    @T.prim_func
    def main(A: T.Tensor((m, 64), "float32"), C: T.Tensor((m, 64), "float32")):
        with T.Kernel(T.ceildiv(m, 64), threads=128) as bx:
            a = T.alloc_shared((64, 64), "float32")
            T.copy(A[bx * 64, 0], a)
            T.copy(a, C[bx * 64, 0])

    layout = {"memory": "L1", "shard": (64, 64), "cores": "2x2"}
    for rows in (5, 640):
        a = whole(rows, 64, dtype=torch.float32)
        check(main, {"A": a, "C": torch.zeros_like(a)}, {"C": a}, {"A": layout, "C": layout})


# --- types ----------------------------------------------------------------------------------------

TYPES = ["float32", "float16", "int32", "uint8", "int16"]


@pytest.mark.parametrize(("dtype", "shard"), share(TYPES, ["block", (32, 64)], every=2))
def test_types(dtype: str, shard: Any) -> None:
    kind = getattr(torch, dtype)
    a, b = (whole(64, 128, dtype=torch.int32, most=9, seed=seed).abs().to(kind) for seed in (0, 1))
    layout = {"memory": "L1", "shard": shard, "grid": (2, 2)}
    tensors = {"A": a, "B": b, "C": torch.zeros_like(a)}
    expected = (a.long() * b.long() + a.long() - 1).to(kind)
    kernel = check(chain(64, 128, (32, 64), dtype), tensors, {"C": expected}, dict.fromkeys("ABC", layout))
    if dtype in ("float32", "int32") and shard == "block":
        assert moved(kernel) == (0, 0)


def test_full_range_of_integers() -> None:
    ends = torch.iinfo(torch.int32)
    generator = torch.Generator().manual_seed(1)
    a = torch.randint(ends.min, ends.max, (64, 64), generator=generator, dtype=torch.int32)
    a[0, :4] = torch.tensor([ends.min, ends.max, 0, -1], dtype=torch.int32)

    @T.prim_func
    def main(A: T.Tensor((64, 64), "int32"), C: T.Tensor((64, 64), "int32")):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            TT.layout(A, memory="L1", shard="block", grid=(2, 2))
            TT.layout(C, memory="L1", shard="block", grid=(2, 2))
            x = T.alloc_shared((32, 32), "int32")
            T.copy(A[by * 32, bx * 32], x)
            for i, j in T.Parallel(32, 32):
                x[i, j] = x[i, j] ^ 0x55555555
            T.copy(x, C[by * 32, bx * 32])

    kernel = check(main, {"A": a, "C": torch.zeros_like(a)}, {"C": a ^ 0x55555555})
    assert moved(kernel) == (0, 0)


def test_special_numbers_pass_through_shards() -> None:
    a = torch.randn(64, 64)
    a[0, :5] = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0, 1e-38])

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            x = T.alloc_shared((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], x)
            T.copy(x, C[by * 32, bx * 32])

    layout = {"memory": "L1", "shard": "block", "grid": (2, 2)}
    for layouts in ({"A": layout}, {"C": layout}, {"A": layout, "C": layout}):
        c = torch.zeros(64, 64)
        compiled(main, layouts)(a, c)
        assert torch.equal(a.view(torch.int32), c.view(torch.int32))


@pytest.mark.parametrize(("storage", "tile"), [("bfloat8_b", 1088), ("bfloat4_b", 576)])
@pytest.mark.parametrize("memory", ["L1", "DRAM"])
def test_block_floats_in_shards(memory: str, storage: str, tile: int) -> None:
    """Numbers of 7 or 3 bits with one exponent for sixteen: block floats hold them."""
    a, b = whole(64, 64), whole(64, 64, seed=1)
    if storage == "bfloat4_b":
        a, b = a.clamp(-3, 3), b.clamp(-3, 3)

    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), B: T.Tensor((64, 64), "bfloat16"), C: T.Tensor((64, 64), "bfloat16")):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            TT.layout(A, memory=memory, shard="height", grid=(2, 1), storage=storage)
            TT.layout(B, memory=memory, storage=storage)
            x = T.alloc_shared((32, 64), "bfloat16")
            y = T.alloc_shared((64, 32), "bfloat16")
            z = T.alloc_fragment((32, 32), "float32")
            T.copy(A[by * 32, 0], x)
            T.copy(B[0, bx * 32], y)
            T.gemm(x, y, z, clear_accum=True)
            T.copy(z, C[by * 32, bx * 32])

    kernel = check(main, {"A": a, "B": b, "C": torch.zeros_like(a)}, {"C": a.double() @ b.double()})
    # in L1 each core keeps its rows of A
    assert moved(kernel)[0] == (2 * 4 if memory == "L1" else 2 * (4 + 4)) * tile


@pytest.mark.parametrize("layout", [{"memory": "L1", "shard": "block", "grid": (2, 2)}, {"memory": "L1"}, {}])
def test_results_in_block_floats(layout: dict[str, Any]) -> None:
    """Whole numbers below 128, which 7 bits hold: the writer moves tiles of 1088 B, or none where C is in shards."""
    a, b = whole(64, 64).clamp(-1, 1), whole(64, 64, seed=1).clamp(-1, 1)

    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), B: T.Tensor((64, 64), "bfloat16"), C: T.Tensor((64, 64), "bfloat16")):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            TT.layout(C, storage="bfloat8_b", **layout)
            x = T.alloc_shared((32, 64), "bfloat16")
            y = T.alloc_shared((64, 32), "bfloat16")
            z = T.alloc_fragment((32, 32), "float32")
            T.copy(A[by * 32, 0], x)
            T.copy(B[0, bx * 32], y)
            T.gemm(x, y, z, clear_accum=True)
            T.copy(z, C[by * 32, bx * 32])

    kernel = check(main, {"A": a, "B": b, "C": torch.zeros_like(a)}, {"C": a.double() @ b.double()})
    assert moved(kernel)[1] == (0 if "shard" in layout else 4 * 1088)


# --- updates and launches -------------------------------------------------------------------------


def updated(block: tuple[int, int], rows: int = 128) -> Any:
    """The first `rows` rows of X become 2 * X + Y."""
    bm, bn = block

    @T.prim_func
    def main(X: T.Tensor((128, 128), "float32"), Y: T.Tensor((128, 128), "float32")):
        with T.Kernel(128 // bn, rows // bm, threads=128) as (bx, by):
            x = T.alloc_shared((bm, bn), "float32")
            y = T.alloc_shared((bm, bn), "float32")
            T.copy(X[by * bm, bx * bn], x)
            T.copy(Y[by * bm, bx * bn], y)
            for i, j in T.Parallel(bm, bn):
                x[i, j] = x[i, j] * 2 + y[i, j]
            T.copy(x, X[by * bm, bx * bn])

    return main


@pytest.mark.parametrize(
    ("name", "block", "rows"), share(["block", "boxes", "height"], [(64, 64), (32, 64)], [128, 64], every=3)
)
def test_updates_in_place(name: str, block: tuple[int, int], rows: int) -> None:
    layout = {
        "block": {"memory": "L1", "shard": "block", "grid": (2, 2)},
        "boxes": {"memory": "L1", "shard": (64, 64), "grid": (3, 1)},
        "height": {"memory": "L1", "shard": "height", "grid": (2, 1)},
    }[name]
    x, y = (whole(128, 128, dtype=torch.float32, seed=seed) for seed in (0, 1))
    expected = torch.cat([(x * 2 + y)[:rows], x[rows:]])
    check(updated(block, rows), {"X": x, "Y": y}, {"X": expected}, {"X": layout, "Y": layout})


@pytest.mark.parametrize("numerics", ["fast", "exact", "chip"])
def test_a_part_that_no_block_stores_keeps_its_numbers(numerics: str) -> None:
    """The circular buffer is the shard: pages that compute never packs must stay."""

    @T.prim_func
    def main(A: T.Tensor((128, 64), "bfloat16"), C: T.Tensor((128, 64), "bfloat16")):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            a = T.alloc_shared((32, 32), "bfloat16")
            T.copy(A[by * 32, bx * 32], a)
            for i, j in T.Parallel(32, 32):
                a[i, j] = a[i, j] * 2
            T.copy(a, C[by * 32, bx * 32])

    a, c = whole(128, 64), whole(128, 64, seed=1)
    layout = {"memory": "L1", "shard": "width", "grid": (2, 1)}
    expected = torch.cat([a[:64] * 2, c[64:]])
    check(main, {"A": a, "C": c}, {"C": expected}, {"A": layout, "C": layout}, numerics=numerics)


@pytest.mark.parametrize("arch", ARCHS)
def test_launches_hand_on_a_sharded_tensor(arch: str) -> None:
    """The second launch reads it where the first one left it, the third transposed, from all cores."""

    @T.prim_func
    def main(
        A: T.Tensor((128, 128), "bfloat16"),
        H: T.Tensor((128, 128), "bfloat16"),
        B: T.Tensor((128, 128), "bfloat16"),
        C: T.Tensor((128, 128), "bfloat16"),
    ):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            TT.layout(H, memory="L1", shard="block", grid=(2, 2))
            a = T.alloc_shared((64, 64), "bfloat16")
            T.copy(A[by * 64, bx * 64], a)
            for i, j in T.Parallel(64, 64):
                a[i, j] = a[i, j] + 1
            T.copy(a, H[by * 64, bx * 64])
        with T.Kernel(2, 2, threads=128) as (bx, by):
            TT.layout(B, memory="L1", shard="block", grid=(2, 2))
            h = T.alloc_shared((64, 64), "bfloat16")
            T.copy(H[by * 64, bx * 64], h)
            for i, j in T.Parallel(64, 64):
                h[i, j] = h[i, j] * 2
            T.copy(h, B[by * 64, bx * 64])
        with T.Kernel(4, 4, threads=128) as (bx, by):
            x = T.alloc_shared((32, 128), "bfloat16")
            y = T.alloc_shared((128, 32), "bfloat16")
            z = T.alloc_fragment((32, 32), "float32")
            T.copy(B[by * 32, 0], x)
            T.copy(H[0, bx * 32], y)
            T.gemm(x, y, z, clear_accum=True)
            T.copy(z, C[by * 32, bx * 32])

    a = whole(128, 128, most=1)
    h = a.double() + 1
    empty = torch.zeros_like(a)
    tensors = {"A": a, "H": empty, "B": empty, "C": empty}
    kernel = check(main, tensors, {"H": h, "B": 2 * h, "C": 2 * h @ h}, arch=arch)
    told = kernel.explain(whole=True)
    assert told.count("each core has its own part of 'H': nothing is moved") == 2


# --- views, lookups, scalar code ------------------------------------------------------------------


def test_one_tensor_by_rows_and_by_columns() -> None:
    """A and its transpose: one tensor in L1, two orders of its tiles."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            TT.layout(A, memory="L1", shard="block", grid=(2, 2))
            TT.layout(C, memory="L1", shard="block", grid=(2, 2))
            x = T.alloc_shared((32, 64), "bfloat16")
            y = T.alloc_shared((32, 64), "bfloat16")
            z = T.alloc_fragment((32, 32), "float32")
            T.copy(A[by * 32, 0], x)
            T.copy(A[bx * 32, 0], y)
            T.gemm(x, y, z, transpose_B=True, clear_accum=True)
            T.copy(z, C[by * 32, bx * 32])

    a = whole(64, 64)
    check(main, {"A": a, "C": torch.zeros(64, 64)}, {"C": a.float() @ a.float().T})


def test_rows_that_are_looked_up_in_l1() -> None:
    @T.prim_func
    def main(W: T.Tensor((100, 64), "float32"), P: T.Tensor((64,), "int32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            x = T.alloc_shared((32, 64), "float32")
            for i, j in T.Parallel(32, 64):
                x[i, j] = W[P[bx * 32 + i], j]
            T.copy(x, C[bx * 32, 0])

    w = torch.randn(100, 64)
    p = torch.randint(0, 100, (64,), generator=torch.Generator().manual_seed(3), dtype=torch.int32)
    layouts: list[dict[str, Any]] = [
        {name: {"memory": "L1"} for name in "WPC"},
        {"P": {"memory": "L1"}, "C": {"memory": "L1", "shard": "height", "grid": (2, 1)}},
    ]
    for layout in layouts:
        check(main, {"W": w, "P": p, "C": torch.zeros(64, 64)}, {"C": w[p.long()]}, layout)


@pytest.mark.filterwarnings("ignore:.*TT702")
@pytest.mark.parametrize("numerics", ["fast", "exact"])
def test_scalar_code_with_tensors_in_l1(numerics: str) -> None:
    """A histogram: no tiles at all."""

    @T.prim_func
    def main(A: T.Tensor((500,), "uint8"), H: T.Tensor((16,), "int32")):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            counts = T.alloc_shared((16,), "int32")
            if tx < 16:
                counts[tx] = 0
            T.sync_threads()
            for i in T.serial(T.ceildiv(500, 32)):
                if i * 32 + tx < 500:
                    T.atomic_add(counts[T.cast(A[i * 32 + tx], "int32") // 16], 1)
            T.sync_threads()
            if tx < 16:
                H[tx] = counts[tx]

    a = torch.randint(0, 256, (500,), generator=torch.Generator().manual_seed(3), dtype=torch.uint8)
    expected = torch.bincount(a.long() // 16, minlength=16)
    for layout in ({"A": {"memory": "L1"}}, {"H": {"memory": "L1"}}, {"A": {"memory": "L1"}, "H": {"memory": "L1"}}):
        tensors = {"A": a, "H": torch.zeros(16, dtype=torch.int32)}
        check(main, tensors, {"H": expected}, layout, numerics=numerics)


@pytest.mark.filterwarnings("ignore:.*TT702")
def test_scalar_code_beside_tiles_with_shards() -> None:
    """The first launch makes scores where they lie; the second one looks for the first negative number of each row."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), S: T.Tensor((64, 64), "float32"), F: T.Tensor((64,), "int32")):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            x = T.alloc_shared((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], x)
            for i, j in T.Parallel(32, 32):
                x[i, j] = x[i, j] - 1
            T.copy(x, S[by * 32, bx * 32])
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            found = T.alloc_var("int32")
            found = 0
            while found < 64 and S[tx, found] >= 0:
                found = found + 1
            F[tx] = found

    a = whole(64, 64, dtype=torch.float32, most=20) + 15
    s = a - 1
    first = torch.where((s < 0).any(1), (s < 0).int().argmax(1), 64)
    tensors = {"A": a, "S": torch.zeros(64, 64), "F": torch.zeros(64, dtype=torch.int32)}
    for shard in ("block", (32, 64)):
        layout = {"memory": "L1", "shard": shard, "grid": (2, 2)}
        check(main, tensors, {"S": s, "F": first}, {"S": layout})


@pytest.mark.filterwarnings("ignore:.*TT702")
@pytest.mark.parametrize("said_by", ["kernel", "target"])
def test_scalar_code_writes_much_beside_shards(said_by: str) -> None:
    """Thousands of elements are on their way at a time, in a launch in which their order counts."""
    layout = {"memory": "L1", "shard": "block", "grid": (4, 2)}

    @T.prim_func
    def main(A: T.Tensor((64, 97), "float32"), C: T.Tensor((64, 97), "float32")):
        with T.Kernel(2, 1, threads=128) as (bx, by):
            if said_by == "kernel":
                TT.layout(C, **layout)
            x = T.alloc_shared((64, 64), "float32")
            y = T.alloc_fragment((64, 64), "float32")
            T.copy(A[by * 64, bx * 64], y)
            T.copy(A[by * 64, bx * 64 + 1], x)
            for i, j in T.Parallel(64, 64):
                y[i, j] = y[i, j] + x[i, j]
            T.copy(y, C[by * 64, bx * 64])

    a = whole(64, 97, dtype=torch.float32, most=99)
    expected = a + torch.nn.functional.pad(a, (0, 1))[:, 1:]
    asked = {"C": layout} if said_by == "target" else None
    check(main, {"A": a, "C": torch.zeros_like(a)}, {"C": expected}, asked)


def test_annotations_in_a_loop_over_tensors() -> None:
    """TileLang calls all of them like the variable that goes through them."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            for tensor in (A, B, C):
                TT.layout(tensor, memory="L1", shard="block", grid=(2, 2))
            x = T.alloc_shared((32, 32), "float32")
            y = T.alloc_shared((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], x)
            T.copy(B[by * 32, bx * 32], y)
            for i, j in T.Parallel(32, 32):
                x[i, j] = x[i, j] - y[i, j]
            T.copy(x, C[by * 32, bx * 32])

    a, b = (whole(64, 64, dtype=torch.float32, seed=seed) for seed in (0, 1))
    kernel = check(main, {"A": a, "B": b, "C": torch.zeros(64, 64)}, {"C": a - b})
    assert moved(kernel) == (0, 0)


# --- options ---------------------------------------------------------------------------------------


def test_match_of_a_named_tensor() -> None:
    """Blocks run where A lies: what they read is their own, what they store goes to other cores."""
    a, b = whole(128, 128), whole(128, 128, seed=1)
    layouts = {
        "A": {"memory": "L1", "shard": "block", "grid": "2x2+2+3"},
        "C": {"memory": "L1", "shard": "height", "grid": (4, 1)},
    }
    tensors = {"A": a, "B": b, "C": torch.zeros_like(a)}
    kernel = check(chain(128, 128, (64, 64)), tensors, {"C": a * b + a - 1}, layouts, schedule={"match": "A"})
    size = a.numel() * 2
    assert moved(kernel) == (size, size)


def test_larger_product_in_shards() -> None:
    a, b = whole(256, 128, most=1), whole(128, 256, most=1)
    layouts = {
        "A": {"memory": "L1", "shard": "block", "grid": (4, 4)},
        "C": {"memory": "L1", "shard": "block", "grid": (4, 4)},
    }
    tensors = {"A": a, "B": b, "C": torch.zeros(256, 256, dtype=torch.bfloat16)}
    check(gemm(256, 256, 128, (64, 64, 32)), tensors, {"C": a.double() @ b.double()}, layouts)


@pytest.mark.parametrize("shard", ["block", (32, 64)])
def test_atomic_updates_of_shards(shard: Any) -> None:
    """Split-K: blocks of the grid add to the same tiles, which lie in shards."""

    @T.prim_func
    def main(A: T.Tensor((64, 128), "bfloat16"), B: T.Tensor((128, 64), "bfloat16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, 2, 4, threads=128) as (bx, by, bz):
            a = T.alloc_shared((32, 32), "bfloat16")
            b = T.alloc_shared((32, 32), "bfloat16")
            c = T.alloc_fragment((32, 32), "float32")
            T.copy(A[by * 32, bz * 32], a)
            T.copy(B[bz * 32, bx * 32], b)
            T.gemm(a, b, c, clear_accum=True)
            T.atomic_add(C[by * 32, bx * 32], c)

    a, b = whole(64, 128), whole(128, 64, seed=1)
    start = whole(64, 64, dtype=torch.float32, seed=2)
    layout = {"memory": "L1", "shard": shard, "grid": (2, 2)}
    tensors = {"A": a, "B": b, "C": start}
    check(main, tensors, {"C": start + a.float() @ b.float()}, {"A": layout, "B": layout, "C": layout})
