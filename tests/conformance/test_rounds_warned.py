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
