"""What goes one place after the other says so, with its factor; the spelling it proposes is as fast as whole tiles."""

import warnings
from typing import Any

import pytest
import tilelang.language as T
import torch
from three_ways import agree, whole_numbers

from tilelang_tt import costs
from tilelang_tt.diagnostics import TenstorrentWarning
from tilelang_tt.options import Options
from tilelang_tt.pipeline import run_passes

FLOAT = "float32"


def unpacked(func: Any) -> int:
    """Tiles that the vector unit takes in."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, sets = run_passes(func, Options(), lambda *_: None)
    return sum(costs.of(kernels).unpacked_tiles for kernels in sets)


def plain() -> Any:
    @T.prim_func
    def main(x: T.Tensor((64, 64), FLOAT), y: T.Tensor((64, 64), FLOAT)):
        with T.Kernel(2, threads=128) as bx:
            for i, j in T.Parallel(32, 64):
                y[bx * 32 + i, j] = x[bx * 32 + i, j]

    return main


def reversed_columns() -> Any:
    @T.prim_func
    def main(x: T.Tensor((64, 64), FLOAT), y: T.Tensor((64, 64), FLOAT)):
        with T.Kernel(2, threads=128) as bx:
            for i, j in T.Parallel(32, 64):
                y[bx * 32 + i, j] = x[bx * 32 + i, 63 - j]

    return main


def reversed_rows() -> Any:
    """The proposed spelling: the axis comes first."""

    @T.prim_func
    def main(x: T.Tensor((64, 64), FLOAT), y: T.Tensor((64, 64), FLOAT)):
        with T.Kernel(2, threads=128) as bx:
            for j, i in T.Parallel(32, 64):
                y[bx * 32 + j, i] = x[63 - (bx * 32 + j), i]

    return main


def shifted_columns() -> Any:
    @T.prim_func
    def main(x: T.Tensor((64, 96), FLOAT), y: T.Tensor((64, 64), FLOAT)):
        with T.Kernel(2, threads=128) as bx:
            xs = T.alloc_shared((32, 96), FLOAT)
            ys = T.alloc_fragment((32, 64), FLOAT)
            T.copy(x[bx * 32, 0], xs)
            for i, j in T.Parallel(32, 64):
                ys[i, j] = xs[i, j + 1] * 2.0
            T.copy(ys, y[bx * 32, 0])

    return main


def shifted_rows() -> Any:
    """The proposed spelling: the axis comes first, and is read from the tensor."""

    @T.prim_func
    def main(x: T.Tensor((96, 64), FLOAT), y: T.Tensor((64, 64), FLOAT)):
        with T.Kernel(2, threads=128) as bx:
            ys = T.alloc_fragment((32, 64), FLOAT)
            for j, i in T.Parallel(32, 64):
                ys[j, i] = x[bx * 32 + j + 1, i] * 2.0
            T.copy(ys, y[bx * 32, 0])

    return main


def warned(func: Any) -> str:
    with pytest.warns(TenstorrentWarning, match="TT704") as found:
        run_passes(func, Options(), lambda *_: None)
    (one,) = {str(one.message) for one in found if "TT704" in str(one.message)}
    return one


@pytest.mark.filterwarnings("ignore:.*TT704")
def test_reversed_columns() -> None:
    text = warned(reversed_columns())
    assert "'y' is computed one place after the other, in 64 rounds: about 32 times the vector tiles" in text
    assert (
        "help: make this axis the first one of its tensor and read it from there: rows can be read in any order" in text
    )
    assert text.splitlines()[1].strip() == "y[bx * 32 + i, j] = x[bx * 32 + i, 63 - j]"
    assert 16 <= unpacked(reversed_columns()) / unpacked(plain()) <= 64
    x = whole_numbers(64, 64)
    agree(reversed_columns(), {"x": x, "y": torch.zeros(64, 64)}, ("y",), reference={"y": x.flip(1)})


def test_reversed_rows_are_fast() -> None:
    x = whole_numbers(64, 64)
    with warnings.catch_warnings():
        warnings.simplefilter("error", TenstorrentWarning)
        agree(reversed_rows(), {"x": x, "y": torch.zeros(64, 64)}, ("y",), reference={"y": x.flip(0)})
    assert unpacked(reversed_rows()) <= 2 * unpacked(plain())


@pytest.mark.filterwarnings("ignore:.*TT704")
def test_shifted_columns() -> None:
    assert "in 64 rounds: about 160 times the vector tiles of a walk by whole tiles" in warned(shifted_columns())
    assert 80 <= unpacked(shifted_columns()) / unpacked(shifted_rows()) <= 640
    x = whole_numbers(64, 96)
    agree(shifted_columns(), {"x": x, "y": torch.zeros(64, 64)}, ("y",), reference={"y": x[:, 1:65] * 2})


def test_shifted_rows_are_fast() -> None:
    x = whole_numbers(96, 64)
    with warnings.catch_warnings():
        warnings.simplefilter("error", TenstorrentWarning)
        agree(shifted_rows(), {"x": x, "y": torch.zeros(64, 64)}, ("y",), reference={"y": x[1:65] * 2})
    assert unpacked(shifted_rows()) <= 2 * unpacked(plain())


def test_strides_do_not_warn() -> None:
    @T.prim_func
    def main(x: T.Tensor((64, 128), FLOAT), y: T.Tensor((64, 64), FLOAT)):
        with T.Kernel(2, threads=128) as bx:
            for i, j in T.Parallel(32, 64):
                y[bx * 32 + i, j] = x[bx * 32 + i, 2 * j + 1]

    with warnings.catch_warnings():
        warnings.simplefilter("error", TenstorrentWarning)
        run_passes(main, Options(), lambda *_: None)


def scan() -> Any:
    @T.prim_func
    def main(x: T.Tensor((32, 64), FLOAT), y: T.Tensor((32, 64), FLOAT)):
        with T.Kernel(1, threads=128):
            xs = T.alloc_shared((32, 64), FLOAT)
            T.copy(x, xs)
            T.cumsum(xs, dim=1)
            T.copy(xs, y)

    return main


def scan_by_rows() -> Any:
    """The proposed spelling: a row of the tensor in each round, and a vector that goes from round to round."""

    @T.prim_func
    def main(x: T.Tensor((64, 32), FLOAT), y: T.Tensor((64, 32), FLOAT)):
        with T.Kernel(1, threads=128):
            total = T.alloc_fragment((32,), FLOAT)
            T.clear(total)
            for k in T.serial(64):
                for j in T.Parallel(32):
                    total[j] += x[k, j]
                T.copy(total, y[k, 0])

    return main


def scan_by_product() -> Any:
    """The other one, for what the matrix engine takes in as it is."""

    @T.prim_func
    def main(x: T.Tensor((32, 64), "bfloat16"), y: T.Tensor((32, 64), FLOAT)):
        with T.Kernel(1, threads=128):
            xs = T.alloc_shared((32, 64), "bfloat16")
            until = T.alloc_shared((64, 64), "bfloat16")
            ys = T.alloc_fragment((32, 64), FLOAT)
            T.copy(x, xs)
            for k, j in T.Parallel(64, 64):
                until[k, j] = T.if_then_else(k <= j, 1.0, 0.0)
            T.clear(ys)
            T.gemm(xs, until, ys)
            T.copy(ys, y)

    return main


@pytest.mark.filterwarnings("ignore:.*TT704")
def test_scans_warn() -> None:
    """A serial loop that picks a place of a block in each round; both ways that the help names cost far less."""
    text = warned(scan())
    assert "'xs' is computed one place after the other, in 63 rounds: about 126 times the vector tiles" in text
    assert "hand a vector from round to round (a[j] += x[k, j])" in text
    x = whole_numbers(32, 64)
    with warnings.catch_warnings():
        warnings.simplefilter("error", TenstorrentWarning)
        by_rows = {"x": x.T.contiguous(), "y": torch.zeros(64, 32)}
        agree(scan_by_rows(), by_rows, ("y",), reference={"y": x.T.cumsum(0)})
        by_product = {"x": x.bfloat16(), "y": torch.zeros(32, 64)}
        agree(scan_by_product(), by_product, ("y",), reference={"y": x.cumsum(1)})
    assert unpacked(scan_by_rows()) < unpacked(scan()) / 4
    assert unpacked(scan_by_product()) < unpacked(scan()) / 50
