"""Scalar code on tensors that lie as the tile engines want them gives the same bits as on flat ones.

The layouts are forced here: whatever tile launches of the same function might ask for.
"""

from dataclasses import replace

import pytest
import tilelang
import tilelang.language as T
import torch

from tilelang_tt import pipeline
from tilelang_tt.formats import DTYPES, INTEGER_FORMATS, TILE_BYTES, format_of
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Fold
from tilelang_tt.ir.layout import TensorLayout, Window
from tilelang_tt.passes.code.lay_flat import lay_flat

pytestmark = pytest.mark.filterwarnings("ignore:.*TT702")
WAYS = ("rows first", "columns first", "folded", "by rows", "windows", "all equal")
TYPES = tuple(dtype for dtype in DTYPES if dtype != "float8_e4m3")


def tile_layout(tensor, way, options):
    rank, form = len(tensor.shape), format_of(tensor.dtype, options.float16)
    last, before = (rank - 1 if rank else None), (rank - 2 if rank > 1 else None)
    row, col = (last, before) if way == "columns first" or (way == "by rows" and rank == 1) else (before, last)
    if way == "all equal" and rank == 1:
        row = col = None
    others = scalar.product([extent for axis, extent in enumerate(tensor.shape) if axis not in (row, col)])
    if way == "by rows" and rank:
        width = 32 if col is None else scalar.int_value(tensor.shape[col])
        tiles, words = -(-width // 32), form if form in INTEGER_FORMATS else "Float32"
        rows, one = scalar.as_expr(tensor.shape[row]), scalar.const(1)
        return TensorLayout(row, col, rows, one, others, words, tiles * 128, by_rows=True, row_width=tiles)
    window = Window(24, 24) if way == "windows" else None

    def tiles_along(axis):
        if axis is None:
            return scalar.const(1)
        return scalar.ceildiv(tensor.shape[axis], 32 if window is None else window.step)

    sides = tiles_along(row), tiles_along(col)
    windows = {"row_window": window if row is not None else None, "col_window": window if col is not None else None}
    return TensorLayout(row, col, *sides, others, form, TILE_BYTES[form], **windows)


@pytest.fixture
def in_tiles(monkeypatch):
    """Tensors lie in tiles, in some way."""

    def lay(program, way):
        flat = lay_flat(program)
        folded, layouts = [], {}
        for tensor in program.tensors:
            length = scalar.int_value(tensor.shape[0]) if len(tensor.shape) == 1 else None
            if way == "folded" and length is not None and length % 32 == 0:
                tensor = replace(tensor, shape=(scalar.const(length // 32), scalar.const(32)), folds=(Fold(0, 32),))
                folded.append(tensor)
            layouts[tensor] = tile_layout(tensor, way, program.options)
        return replace(flat, views=(*program.views, *folded), layouts=layouts)

    def force(way):
        def forced(program):
            return lay(program, way)

        forced.__name__ = "lay_flat"
        passes = [replace(one, run=forced) if one.run is lay_flat else one for one in pipeline.PLACING_PASSES]
        monkeypatch.setattr(pipeline, "PLACING_PASSES", tuple(passes))

    tilelang.disable_cache()
    yield force
    tilelang.enable_cache()


def run(func, tensors, numerics="fast"):
    held = [tensor.clone() for tensor in tensors]
    tilelang.compile(func, target={"kind": "tenstorrent", "grid": "2x2", "numerics": numerics})(*held)
    return held


def bits(tensor):
    return tensor.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.itemsize])


def random_tensor(shape, dtype, seed):
    generator, kind = torch.Generator().manual_seed(seed), getattr(torch, dtype)
    if dtype == "bool":
        return torch.randint(0, 2, shape, generator=generator).bool()
    if not kind.is_floating_point:
        ends = torch.iinfo(kind)
        return torch.randint(ends.min, ends.max + 1, shape, generator=generator, dtype=torch.int64).to(kind)
    return torch.randn(shape, generator=generator).mul(3).to(kind)


def shuffled(dtype, dynamic=False):
    """Matrices, stacks of them and vectors, read and written in other orders; much of the result stays as it was."""
    n = T.dynamic("n") if dynamic else 50

    @T.prim_func
    def main(
        A: T.Tensor((37, n), dtype),
        S: T.Tensor((3, 5, 40), dtype),
        v: T.Tensor((64,), dtype),
        B: T.Tensor((n, 37), dtype),
        R: T.Tensor((5, 3, 40), dtype),
        w: T.Tensor((64,), dtype),
    ):
        with T.Kernel(37, threads=32) as bx:
            tx = T.get_thread_binding()
            for i in T.serial(T.ceildiv(n, 32)):
                if i * 32 + tx < n and (i * 32 + tx + bx) % 3 > 0:
                    B[i * 32 + tx, bx] = A[bx, i * 32 + tx]
            if bx < 15:
                R[bx % 5, bx // 5, tx] = S[bx // 5, bx % 5, tx + 8]
            if bx < 2:
                w[bx * 32 + tx] = v[63 - bx * 32 - tx]

    return main


def wanted(a, s, v, b, r, w):
    i, j = torch.meshgrid(torch.arange(b.shape[0]), torch.arange(b.shape[1]), indexing="ij")
    kept = (i + j) % 3 == 0
    b = torch.where(kept, bits(b), bits(a).T).view(b.dtype)
    r = r.clone()
    bits(r)[:, :, :32] = bits(s).transpose(0, 1)[:, :, 8:]
    return b, r, bits(v).flip(0).view(v.dtype)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
def test_every_element_is_where_tiles_have_it(in_tiles, dtype, way):
    in_tiles(way)
    shapes = ((37, 50), (3, 5, 40), (64,), (50, 37), (5, 3, 40), (64,))
    tensors = [random_tensor(shape, dtype, seed) for seed, shape in enumerate(shapes)]
    for numerics in ("fast", "exact"):
        found = run(shuffled(dtype), tensors, numerics)
        for got, want in zip(found[3:], wanted(*tensors), strict=True):
            assert torch.equal(bits(got), bits(want)), numerics


@pytest.mark.parametrize("dtype", TYPES)
def test_every_type_that_tiles_hold(in_tiles, dtype):
    in_tiles("rows first")
    shapes = ((37, 50), (3, 5, 40), (64,), (50, 37), (5, 3, 40), (64,))
    tensors = [random_tensor(shape, dtype, seed) for seed, shape in enumerate(shapes)]
    found = run(shuffled(dtype, dynamic=True), tensors)
    for got, want in zip(found[3:], wanted(*tensors), strict=True):
        assert torch.equal(bits(got), bits(want))


@pytest.mark.parametrize("way", WAYS)
def test_updates_and_views(in_tiles, way):
    """Counters in tiles, one of them seen as a matrix; what was stored is read back."""

    @T.prim_func
    def main(A: T.Tensor((640,), "int32"), H: T.Tensor((64,), "int32"), G: T.Tensor((4, 16), "float16")):
        with T.Kernel(5, threads=128) as bx:
            tx = T.get_thread_binding()
            as_matrix = T.reshape(H, (8, 8))
            value = A[bx * 128 + tx]
            T.atomic_add(H[value], 1)
            T.atomic_add(G[value // 16, value % 16], T.cast(0.5, "float16"))
            if tx == 0:
                as_matrix[7, bx] = as_matrix[7, bx] + 100

    in_tiles(way)
    a = torch.randint(0, 56, (640,), generator=torch.Generator().manual_seed(1)).int()
    h, g = torch.zeros(64, dtype=torch.int32), torch.zeros(4, 16, dtype=torch.float16)
    _, h, g = run(main, [a, h, g])
    counts = torch.bincount(a, minlength=64).int()
    assert torch.equal(g.flatten(), counts / 2)
    counts[56:61] += 100
    assert torch.equal(h, counts)
