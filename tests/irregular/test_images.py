"""Windows over images: convolutions of many kinds, their gradient, pooling, interpolation, cells."""

from typing import Any

import numpy as np
import tilelang.language as T
import torch
import torch.nn.functional as F
from agreement import check, random_floats, random_integers


def convolution(n: int, c: int, h: int, w: int, f: int, k: int, stride: int, pad: int, dilation: int) -> Any:
    """Direct: a thread for each element of the result, skipping what lies outside."""
    oh, ow = ((x + 2 * pad - dilation * (k - 1) - 1) // stride + 1 for x in (h, w))

    @T.prim_func
    def main(
        X: T.Tensor((n, c, h, w), "float32"),
        W: T.Tensor((f, c, k, k), "float32"),
        Y: T.Tensor((n, f, oh, ow), "float32"),
    ):
        with T.Kernel(T.ceildiv(oh * ow, 32), f, n, threads=32) as (bx, by, bz):
            at = bx * 32 + T.get_thread_binding()
            total = T.alloc_var("float32", init=0.0)
            if at < oh * ow:
                for ci in T.serial(c):
                    for ky, kx in T.grid(k, k):
                        y = at // ow * stride - pad + ky * dilation
                        x = at % ow * stride - pad + kx * dilation
                        if y >= 0 and y < h and x >= 0 and x < w:
                            total += X[bz, ci, y, x] * W[by, ci, ky, kx]
                Y[bz, by, at // ow, at % ow] = total

    return main


def test_convolution_with_stride_padding_dilation() -> None:
    x, w = random_floats(2, 3, 13, 10), random_floats(4, 3, 3, 3, seed=1)
    x[1, 0, 0, 0] = float("nan")
    kwargs = {"stride": 2, "padding": 2, "dilation": 2}
    found = F.conv2d(x.double(), w.double(), **kwargs)
    size = F.conv2d(x.double().abs().nan_to_num(), w.double().abs(), **kwargs)
    tensors = {"X": x, "W": w, "Y": torch.zeros(found.shape)}
    check(convolution(2, 3, 13, 10, 4, 3, 2, 2, 2), tensors, {"Y": found}, roundings=60, magnitude=size)


def depthwise(c: int, h: int, w: int, k: int) -> Any:
    """Tiles with a rim in shared memory, zeros outside of the image: bfloat16 in, float32 sums."""
    tile, rim = 8, k // 2

    @T.prim_func
    def main(
        X: T.Tensor((c, h, w), "bfloat16"), W: T.Tensor((c, k, k), "bfloat16"), Y: T.Tensor((c, h, w), "bfloat16")
    ):
        with T.Kernel(T.ceildiv(w, tile), T.ceildiv(h, tile), c, threads=(tile, tile)) as (bx, by, bz):
            tx = T.get_thread_binding(0)
            ty = T.get_thread_binding(1)
            part = T.alloc_shared((tile + k - 1, tile + k - 1), "bfloat16")
            total = T.alloc_local((1,), "float32")
            for i in T.serial(ty, tile + k - 1, tile):
                for j in T.serial(tx, tile + k - 1, tile):
                    part[i, j] = X[bz, by * tile + i - rim, bx * tile + j - rim]
            T.sync_threads()
            total[0] = 0
            for ky, kx in T.grid(k, k):
                total[0] += T.cast(part[ty + ky, tx + kx], "float32") * T.cast(W[bz, ky, kx], "float32")
            if by * tile + ty < h and bx * tile + tx < w:
                Y[bz, by * tile + ty, bx * tile + tx] = total[0]

    return main


def test_depthwise_convolution() -> None:
    x, w = random_floats(3, 19, 11, dtype=torch.bfloat16), random_floats(3, 5, 5, seed=1, dtype=torch.bfloat16)
    found = F.conv2d(x.double()[None], w.double()[:, None], padding=2, groups=3)[0]
    size = F.conv2d(x.double().abs()[None], w.double().abs()[:, None], padding=2, groups=3)[0]
    tensors = {"X": x, "W": w, "Y": torch.zeros(3, 19, 11, dtype=torch.bfloat16)}
    check(depthwise(3, 19, 11, 5), tensors, {"Y": found}, roundings=50, magnitude=size, thorough=True)


def weight_gradient(n: int, h: int, w: int, k: int) -> Any:
    """Of a convolution without padding: a block for each image, atomics into the gradient of all."""

    @T.prim_func
    def main(
        X: T.Tensor((n, h, w), "int32"), G: T.Tensor((n, h - k + 1, w - k + 1), "int32"), D: T.Tensor((k, k), "int32")
    ):
        with T.Kernel(n, threads=(k, k)) as bx:
            kx = T.get_thread_binding(0)
            ky = T.get_thread_binding(1)
            total = T.alloc_var("int32", init=0)
            for y in T.serial(h - k + 1):
                for x in T.serial(w - k + 1):
                    total += X[bx, y + ky, x + kx] * G[bx, y, x]
            T.atomic_add(D[ky, kx], total)

    return main


def test_gradient_of_a_convolution() -> None:
    x, g = random_integers(3, 9, 12), random_integers(3, 7, 10, seed=1)
    windows = np.lib.stride_tricks.sliding_window_view(x.numpy(), (7, 10), (1, 2))
    with np.errstate(over="ignore"):
        found = np.einsum("nabyx,nyx->ab", windows, g.numpy(), dtype=np.int32)
    check(weight_gradient(3, 9, 12, 3), {"X": x, "G": g, "D": torch.zeros(3, 3, dtype=torch.int32)}, {"D": found})


def max_pool(c: int, h: int, w: int) -> Any:
    """3 x 3, stride 2, padding 1: the largest, and where it is in the image; NaN is larger than all."""
    oh, ow = (h + 1) // 2, (w + 1) // 2

    @T.prim_func
    def main(X: T.Tensor((c, h, w), "float16"), Y: T.Tensor((c, oh, ow), "float16"), P: T.Tensor((c, oh, ow), "int64")):
        with T.Kernel(c, threads=64) as bx:
            tx = T.get_thread_binding()
            most = T.alloc_var("float16")
            place = T.alloc_var("int64")
            for at in T.serial(tx, oh * ow, 64):
                most = -T.infinity("float16")
                place = -1
                for k in T.serial(9):
                    y = at // ow * 2 - 1 + k // 3
                    x = at % ow * 2 - 1 + k % 3
                    if y < 0 or y >= h or x < 0 or x >= w:
                        continue
                    v = X[bx, y, x]
                    if place < 0 or v > most or T.isnan(v):
                        most = v
                        place = y * w + x
                Y[bx, at // ow, at % ow] = most
                P[bx, at // ow, at % ow] = place

    return main


def test_max_pool_with_places() -> None:
    x = random_floats(3, 11, 14, dtype=torch.float16)
    x[0, 4, 4], x[1, 2, 2], x[2, :, :5] = float("nan"), float("inf"), float("-inf")
    found, places = F.max_pool2d(x.float(), 3, 2, 1, return_indices=True)
    tensors = {"X": x, "Y": torch.zeros(3, 6, 7, dtype=torch.float16), "P": torch.zeros(3, 6, 7, dtype=torch.int64)}
    check(max_pool(3, 11, 14), tensors, {"Y": found, "P": places}, thorough=True)


def bilinear(h: int, w: int, oh: int, ow: int) -> Any:
    @T.prim_func
    def main(X: T.Tensor((h, w), "uint8"), Y: T.Tensor((oh, ow), "float32")):
        with T.Kernel(oh, threads=32) as row:
            tx = T.get_thread_binding()
            y = (T.cast(row, "float32") + 0.5) * T.float32(h) / T.float32(oh) - 0.5
            y0 = T.cast(T.floor(y), "int32")
            fy = y - T.floor(y)
            for col in T.serial(tx, ow, 32):
                x = (T.cast(col, "float32") + 0.5) * T.float32(w) / T.float32(ow) - 0.5
                x0 = T.cast(T.floor(x), "int32")
                fx = x - T.floor(x)
                top = T.clamp(y0, 0, h - 1)
                bottom = T.clamp(y0 + 1, 0, h - 1)
                left = T.clamp(x0, 0, w - 1)
                right = T.clamp(x0 + 1, 0, w - 1)
                a = T.cast(X[top, left], "float32") * (1 - fx) + T.cast(X[top, right], "float32") * fx
                b = T.cast(X[bottom, left], "float32") * (1 - fx) + T.cast(X[bottom, right], "float32") * fx
                Y[row, col] = a * (1 - fy) + b * fy

    return main


def test_bilinear_interpolation() -> None:
    x = random_integers(7, 9, dtype=torch.uint8)
    found = F.interpolate(x.double()[None, None], (17, 40), mode="bilinear")[0, 0]
    check(bilinear(7, 9, 17, 40), {"X": x, "Y": torch.zeros(17, 40)}, {"Y": found}, roundings=60, magnitude=255.0)


def life(h: int, w: int, rounds: int) -> Any:
    """Conway's game on a torus: two boards in shared memory that change places."""

    @T.prim_func
    def main(A: T.Tensor((h, w), "bool"), B: T.Tensor((h, w), "bool")):
        with T.Kernel(1, threads=w):
            tx = T.get_thread_binding()
            board = T.alloc_shared((2, h, w), "bool")
            for y in T.serial(h):
                board[0, y, tx] = A[y, tx]
            for r in T.serial(rounds):
                T.sync_threads()
                for y in T.serial(h):
                    count = T.alloc_var("int32", init=0)
                    count = 0
                    for dy, dx in T.grid(3, 3):
                        if dy != 1 or dx != 1:
                            count += T.cast(board[r % 2, (y + dy + h - 1) % h, (tx + dx + w - 1) % w], "int32")
                    board[(r + 1) % 2, y, tx] = count == 3 or (count == 2 and board[r % 2, y, tx])
            T.sync_threads()
            for y in T.serial(h):
                B[y, tx] = board[rounds % 2, y, tx]

    return main


def test_game_of_life() -> None:
    a = torch.rand(14, 17, generator=torch.Generator().manual_seed(0)) < 0.4
    board = a.numpy()
    for _ in range(5):
        shifts = [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1) if y or x]
        count = sum(np.roll(board, shift, (0, 1)).astype(int) for shift in shifts)
        board = (count == 3) | ((count == 2) & board)
    tensors = {"A": a, "B": torch.zeros(14, 17, dtype=torch.bool)}
    check(life(14, 17, 5), tensors, {"B": board}, thorough=True)
