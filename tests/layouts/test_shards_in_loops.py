"""Shards that loops walk through, that several blocks use, or whose blocks are narrower: no byte of them moves."""

from typing import Any

import pytest
import tilelang.language as T
import torch
from layout_kernels import chain, gemm
from placed import check, compiled, moved, whole

from tilelang_tt.ir.text_kernel import kernel_text, parse_kernels
from tilelang_tt.ir.text_program import parse_tile, tile_text
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.layout_hints import parse_hints
from tilelang_tt.options import Options
from tilelang_tt.pipeline import State, run_passes
from tilelang_tt.schedule_request import requests_of

SIZE = 128
TILE_BYTES = 2048  # of bfloat16


def by(kind: str, cores: str) -> dict[str, Any]:
    return {"memory": "L1", "shard": kind, "grid": cores}


def product(layouts: dict[str, Any], block: tuple[int, int, int], **options: Any) -> Any:
    """A product with small whole numbers, compared bit by bit; the kernel, with its report."""
    a, b = whole(SIZE, SIZE, most=1), whole(SIZE, SIZE, most=1, seed=1)
    tensors = {"A": a, "B": b, "C": torch.zeros_like(a)}
    return check(gemm(SIZE, SIZE, SIZE, block), tensors, {"C": a.double() @ b.double()}, layouts, **options)


@pytest.mark.parametrize(("arch", "numerics"), [("wormhole_b0", "fast"), ("blackhole", "chip")])
def test_rows_of_a_product_stay(arch: str, numerics: str) -> None:
    """A and C by rows, B interleaved: four blocks of a core share its rows of A, and fill its rows of C."""
    height = by("height", "2x1+1+2")
    kernel = product({"A": height, "C": height}, (64, 32, 32), schedule={"match": "C"}, arch=arch, numerics=numerics)
    each_core_reads_b = 2 * 16 * TILE_BYTES
    assert moved(kernel) == (each_core_reads_b, 0)
    told = kernel.explain(whole=True)
    assert "A_s: each core keeps its own part of 'A' and finds the blocks in it: nothing is moved" in told
    assert "C_l_out: each core keeps its own part of 'C' and finds the blocks in it: nothing is moved" in told


def test_columns_of_a_product_stay() -> None:
    width = by("width", "4x1")
    kernel = product({"B": width, "C": width}, (32, 32, 64), schedule={"match": "C"})
    assert moved(kernel) == (4 * 16 * TILE_BYTES, 0)


def test_what_lies_elsewhere_is_counted() -> None:
    """Of a block-sharded A a core has one of two blocks of K."""
    block = by("block", "2x2")
    kernel = product({"A": block, "C": block}, (64, 64, 64))
    assert moved(kernel) == (2 * 2 * 16 * TILE_BYTES, 0)
    told = kernel.explain(whole=True)
    why = "core (0, 0) needs parts of it that lie on other cores"
    assert f"A_s: 'A' is moved over the NoC: {why}; 65,536 B, of which 32,768 B stay on their core" in told


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_blocks_narrower_than_shards(dtype: str) -> None:
    """Four blocks of a shard, two beside each other."""
    kind = getattr(torch, dtype)
    a, b = whole(SIZE, SIZE, dtype=kind), whole(SIZE, SIZE, dtype=kind, seed=1)
    layout = dict.fromkeys("ABC", by("block", "2x2"))
    tensors = {"A": a, "B": b, "C": torch.zeros_like(a)}
    kernel = check(chain(SIZE, SIZE, (32, 32), dtype), tensors, {"C": a * b + a - 1}, layout, schedule={"match": "C"})
    assert moved(kernel) == (0, 0)


def test_loops_that_differ_from_block_to_block() -> None:
    """Sums of the first columns of tiles of each row of blocks: the triangle below the diagonal, and a transposed A."""

    @T.prim_func
    def main(
        A: T.Tensor((SIZE, SIZE), "bfloat16"), B: T.Tensor((SIZE, 32), "bfloat16"), C: T.Tensor((SIZE, 32), "float32")
    ):
        with T.Kernel(SIZE // 32, threads=128) as by:
            a = T.alloc_shared((32, 32), "bfloat16")
            b = T.alloc_shared((32, 32), "bfloat16")
            c = T.alloc_fragment((32, 32), "float32")
            T.clear(c)
            for k in T.serial(by + 1):
                T.copy(A[by * 32, k * 32], a)
                T.copy(B[k * 32, 0], b)
                T.gemm(a, b, c, transpose_A=True)
            T.copy(c, C[by * 32, 0])

    a, b = whole(SIZE, SIZE), whole(SIZE, 32, seed=1)
    expected = torch.zeros(SIZE, 32, dtype=torch.float64)
    for row in range(4):
        for k in range(row + 1):
            there = a[row * 32 : row * 32 + 32, k * 32 : k * 32 + 32].double()
            expected[row * 32 : row * 32 + 32] += there.T @ b[k * 32 : k * 32 + 32].double()
    layout = {"A": by("height", "4x1")}
    kernel = check(main, {"A": a, "B": b, "C": torch.zeros(SIZE, 32)}, {"C": expected}, layout, schedule={"match": "A"})
    assert moved(kernel)[0] == (1 + 2 + 3 + 4) * TILE_BYTES


def test_one_tensor_in_two_blocks() -> None:
    """Two loads of one shard, and a reduction of a part of it."""

    @T.prim_func
    def main(A: T.Tensor((SIZE, SIZE), "float32"), C: T.Tensor((SIZE, 64), "float32")):
        with T.Kernel(SIZE // 64, threads=128) as by:
            left = T.alloc_shared((64, 64), "float32")
            right = T.alloc_shared((64, 64), "float32")
            most = T.alloc_fragment((64,), "float32")
            T.copy(A[by * 64, 0], left)
            T.copy(A[by * 64, 64], right)
            T.reduce_max(right, most, dim=1)
            for i, j in T.Parallel(64, 64):
                left[i, j] = left[i, j] - most[i]
            T.copy(left, C[by * 64, 0])

    a = whole(SIZE, SIZE, dtype=torch.float32, most=500)
    expected = a[:, :64] - a[:, 64:].amax(1, keepdim=True)
    layout = {"A": by("height", "2x1")}
    kernel = check(main, {"A": a, "C": torch.zeros(SIZE, 64)}, {"C": expected}, layout, schedule={"match": "A"})
    assert moved(kernel)[0] == 0


def test_a_block_that_is_stored_twice_is_moved() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as by:
            a = T.alloc_shared((32, 32), "float32")
            for k in T.serial(4):
                T.copy(A[by * 32, k % 2 * 32], a)
                T.copy(a, C[by * 32, k % 2 * 32])

    a = whole(64, 64, dtype=torch.float32)
    layout = dict.fromkeys("AC", by("height", "2x1"))
    kernel = check(main, {"A": a, "C": torch.zeros(64, 64)}, {"C": a}, layout, schedule={"match": "C"})
    assert moved(kernel)[1] == 2 * a.numel() * 4


def test_a_block_that_outlives_its_loop_is_moved() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), C: T.Tensor((64, 32), "bfloat16")):
        with T.Kernel(2, threads=128) as by:
            a = T.alloc_shared((32, 32), "bfloat16")
            c = T.alloc_fragment((32, 32), "bfloat16")
            T.clear(c)
            for k in T.serial(2):
                T.copy(A[by * 32, k * 32], a)
                for i, j in T.Parallel(32, 32):
                    c[i, j] = c[i, j] + a[i, j]
            for i, j in T.Parallel(32, 32):
                c[i, j] = c[i, j] * a[i, j]
            T.copy(c, C[by * 32, 0])

    a = whole(64, 64)
    layout = {"A": by("height", "2x1")}
    expected = (a[:, :32] + a[:, 32:]) * a[:, 32:]
    tensors = {"A": a, "C": torch.zeros(64, 32, dtype=torch.bfloat16)}
    check(main, tensors, {"C": expected}, layout, schedule={"match": "A"})


def test_generated_code_names_the_place() -> None:
    height = by("height", "2x1")
    kernel = compiled(gemm(SIZE, SIZE, SIZE, (64, 32, 32)), {"A": height, "C": height}, schedule={"match": "C"})
    compute = kernel.adapter.compiled.files["compute.cpp"]
    assert "cb_A_s = tt::CBIndex::c_0;  // 2 x 4 tiles, Float16_b, in place: this core's shard of A" in compute
    assert "const uint32_t A_s_first = ko;" in compute
    assert "const uint32_t C_l_out_first = bx;" in compute


def test_every_stage_reads_back() -> None:
    height = parse_hints({"A": by("height", "2x1"), "C": by("height", "2x1")})
    options = Options(layout=height, schedule=requests_of({"match": "C"}))
    states: list[State] = []
    _, sets = run_passes(gemm(SIZE, SIZE, SIZE, (64, 32, 32)), options, lambda _, state: states.append(state))
    programs = [state for state in states if isinstance(state, TileProgram)]
    for program in programs:
        text = tile_text(program)
        assert tile_text(parse_tile(text)) == text
    for state in (state for state in states if not isinstance(state, TileProgram)):
        text = "\n".join(map(kernel_text, state))
        assert "\n".join(map(kernel_text, parse_kernels(text, programs[-1]))) == text
    assert "A_s_first" in kernel_text(sets[0])


def test_beside_multicast() -> None:
    """Rows of A stay; one core reads B for all."""
    height = by("height", "4x1")
    kernel = product({"A": height, "C": height}, (32, 32, 64), schedule={"match": "C"}, multicast=True)
    assert moved(kernel)[0] == 16 * TILE_BYTES
    assert "A_s: each core keeps its own part of 'A'" in kernel.explain(whole=True)
