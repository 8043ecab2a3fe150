"""Convolutions written as loops: products of matrices for each place of the kernel; all agree with float64."""

from collections.abc import Callable
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
import torch.nn.functional as F
from reference import chip_share

TARGET = {"kind": "tenstorrent", "grid": "2x1"}
BF, F32 = "bfloat16", "float32"
Meaning = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(torch.bfloat16)


def check(
    func: Any, x: torch.Tensor, w: torch.Tensor, meaning: Meaning, *, engine: bool = True, **options: Any
) -> None:
    """Products of bfloat16 are exact; sums are float32."""
    kernel = tilelang.compile(func, out_idx=[-1], target={**TARGET, **options})
    assert ("a product of matrices" in str(kernel.explain(whole=True))) is engine
    expected, size = meaning(x.double(), w.double()), meaning(x.double().abs(), w.double().abs())
    assert ((kernel(x, w).double() - expected).abs() <= size * (2.0**-18 + chip_share())).all()


def channels_last(h: int, c: int, o: int, k: int, stride: int, pad: int, dilation: int) -> Any:
    out = (h + 2 * pad - dilation * (k - 1) - 1) // stride + 1

    @T.prim_func
    def main(X: T.Tensor((h, h, c), BF), W: T.Tensor((k, k, c, o), BF), Y: T.Tensor((out, out, o), F32)):
        with T.Kernel(out, threads=128) as row:
            y = T.alloc_fragment((out, o), F32)
            T.clear(y)
            for col, f in T.Parallel(out, o):
                for kh, kw, p in T.grid(k, k, c):
                    i = row * stride + kh * dilation - pad
                    j = col * stride + kw * dilation - pad
                    if i >= 0 and i < h and j >= 0 and j < h:
                        y[col, f] += X[i, j, p] * W[kh, kw, p, f]
            T.copy(y, Y[row, 0, 0])

    return main


def last(stride: int, pad: int, dilation: int) -> Meaning:
    def meaning(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        image, weights = x.permute(2, 0, 1)[None], w.permute(3, 2, 0, 1)
        return F.conv2d(image, weights, stride=stride, padding=pad, dilation=dilation)[0].permute(1, 2, 0)

    return meaning


@pytest.mark.parametrize(
    ("h", "c", "o", "k", "stride", "pad", "dilation"),
    [
        (8, 32, 32, 1, 1, 0, 1),
        (10, 32, 32, 3, 1, 0, 1),
        (9, 20, 40, 3, 1, 1, 1),
        (12, 32, 32, 3, 2, 1, 1),
        (10, 16, 32, 3, 1, 2, 2),
    ],
)
@pytest.mark.parametrize("fast_math", [False, True])
def test_channels_last(h: int, c: int, o: int, k: int, stride: int, pad: int, dilation: int, fast_math: bool) -> None:
    func = channels_last(h, c, o, k, stride, pad, dilation)
    x, w = random(h, h, c), random(k, k, c, o, seed=1)
    check(func, x, w, last(stride, pad, dilation), fast_math=fast_math)


@pytest.mark.parametrize(("c", "k", "stride"), [(16, 3, 1), (16, 3, 2), (3, 5, 1)])
def test_channels_first(c: int, k: int, stride: int) -> None:
    h, o, pad = 10, 32, k // 2
    out = (h + 2 * pad - k) // stride + 1

    @T.prim_func
    def main(X: T.Tensor((c, h, h), BF), W: T.Tensor((o, c, k, k), BF), Y: T.Tensor((o, out, out), F32)):
        with T.Kernel(out, threads=128) as row:
            y = T.alloc_fragment((o, out), F32)
            T.clear(y)
            for f, col in T.Parallel(o, out):
                for p, kh, kw in T.grid(c, k, k):
                    i = row * stride + kh - pad
                    j = col * stride + kw - pad
                    inside = i >= 0 and i < h and j >= 0 and j < h
                    y[f, col] += T.if_then_else(inside, X[p, i, j], 0) * W[f, p, kh, kw]
            for f, col in T.Parallel(o, out):
                Y[f, row, col] = y[f, col]

    def meaning(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.conv2d(x[None], w, stride=stride, padding=pad)[0]

    check(main, random(c, h, h), random(o, c, k, k, seed=1), meaning)


def test_plain_loops_into_a_tensor() -> None:
    h, c, o, k = 6, 8, 16, 3

    @T.prim_func
    def main(X: T.Tensor((h, h, c), BF), W: T.Tensor((k, k, c, o), BF), Y: T.Tensor((h - 2, h - 2, o), F32)):
        with T.Kernel(1, threads=1) as _:
            for i, j, f in T.grid(h - 2, h - 2, o):
                Y[i, j, f] = 0
                for kh, kw, p in T.grid(k, k, c):
                    Y[i, j, f] += X[i + kh, j + kw, p] * W[kh, kw, p, f]

    check(main, random(h, h, c), random(k, k, c, o, seed=1), last(1, 0, 1))


def test_gradient_of_the_image() -> None:
    h, c, o, k = 6, 32, 32, 3

    @T.prim_func
    def main(G: T.Tensor((h, h, o), BF), W: T.Tensor((k, k, c, o), BF), X: T.Tensor((h + 2, h + 2, c), F32)):
        with T.Kernel(h + 2, threads=128) as i:
            x = T.alloc_fragment((h + 2, c), F32)
            T.clear(x)
            for j, p in T.Parallel(h + 2, c):
                for kh, kw, f in T.grid(k, k, o):
                    if i - kh >= 0 and i - kh < h and j - kw >= 0 and j - kw < h:
                        x[j, p] += G[i - kh, j - kw, f] * W[kh, kw, p, f]
            T.copy(x, X[i, 0, 0])

    def meaning(g: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.conv_transpose2d(g.permute(2, 0, 1)[None], w.permute(3, 2, 0, 1))[0].permute(1, 2, 0)

    check(main, random(h, h, o), random(k, k, c, o, seed=1), meaning)


def test_gradient_of_the_image_where_each_result_goes() -> None:
    h, c, o, k = 6, 8, 16, 3

    @T.prim_func
    def main(G: T.Tensor((h, o), BF), W: T.Tensor((k, c, o), BF), X: T.Tensor((h + 2, c), F32)):
        with T.Kernel(1, threads=128) as _:
            x = T.alloc_fragment((h + 2, c), F32)
            T.clear(x)
            for j, kw, p, f in T.grid(h, k, c, o):
                x[j + kw, p] += G[j, f] * W[kw, p, f]
            T.copy(x, X)

    def meaning(g: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.conv_transpose1d(g.T[None], w.permute(2, 1, 0))[0].T

    check(main, random(h, o), random(k, c, o, seed=1), meaning)


def test_gradient_of_the_weights() -> None:
    h, c, o, k = 8, 32, 32, 3

    @T.prim_func
    def main(X: T.Tensor((h + 2, h + 2, c), BF), G: T.Tensor((h, h, o), BF), W: T.Tensor((k, k, c, o), F32)):
        with T.Kernel(k, k, threads=128) as (kw, kh):
            w = T.alloc_fragment((c, o), F32)
            T.clear(w)
            for p, f in T.Parallel(c, o):
                for i, j in T.grid(h, h):
                    w[p, f] += X[i + kh, j + kw, p] * G[i, j, f]
            T.copy(w, W[kh, kw, 0, 0])

    def meaning(x: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
        windows = x.unfold(0, h, 1).unfold(1, h, 1)  # k x k x c x h x h
        return torch.einsum("abchw,hwo->abco", windows, g)

    check(main, random(h + 2, h + 2, c), random(h, h, o, seed=1), meaning)


def test_depthwise_has_no_product_of_matrices() -> None:
    h, c = 8, 40

    @T.prim_func
    def main(X: T.Tensor((h, h, c), BF), W: T.Tensor((3, 3, c), BF), Y: T.Tensor((h, h, c), F32)):
        with T.Kernel(h, threads=128) as row:
            for col, p in T.Parallel(h, c):
                s = T.alloc_var(F32)
                s = 0.0
                for kh, kw in T.grid(3, 3):
                    if row + kh >= 1 and row + kh <= h and col + kw >= 1 and col + kw <= h:
                        s += X[row + kh - 1, col + kw - 1, p] * W[kh, kw, p]
                Y[row, col, p] = s

    def meaning(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        image, weights = x.permute(2, 0, 1)[None], w.permute(2, 0, 1)[:, None]
        return F.conv2d(image, weights, groups=c, padding=1)[0].permute(1, 2, 0)

    check(main, random(h, h, c), random(3, 3, c, seed=1), meaning, engine=False)


def test_padding_leaves_infinite_weights_out() -> None:
    """What a condition leaves out is not multiplied by zero."""
    x, w = random(6, 6, 8), random(3, 3, 8, 32, seed=1)
    w[0] = torch.inf
    kernel = tilelang.compile(channels_last(6, 8, 32, 3, 1, 1, 1), out_idx=[-1], target=TARGET)
    got = kernel(x, w)[0].double()
    w[0] = 0
    expected = last(1, 1, 1)(x.double(), w.double())[0]
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)
