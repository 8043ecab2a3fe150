"""Products of matrices in unusual ways: in parts by atomics, over windows of images, in bytes and half bytes."""

from typing import Any

import numpy as np
import tilelang.language as T
import torch
import torch.nn.functional as F
from agreement import check, random_floats, random_integers


def split_k(m: int, n: int, k: int, parts: int, whole: bool) -> Any:
    """Blocks of the grid share the long axis; their sums meet by atomics, of single elements or of a whole block."""
    share = k // parts

    @T.prim_func
    def main(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, 32), T.ceildiv(m, 32), parts, threads=64) as (bx, by, bz):
            a = T.alloc_shared((32, share), "float16")
            b = T.alloc_shared((share, 32), "float16")
            c = T.alloc_fragment((32, 32), "float32")
            T.clear(c)
            T.copy(A[by * 32, bz * share], a)
            T.copy(B[bz * share, bx * 32], b)
            T.gemm(a, b, c)
            if whole:
                T.atomic_add(C[by * 32, bx * 32], c)
            else:
                for i, j in T.Parallel(32, 32):
                    if by * 32 + i < m and bx * 32 + j < n:
                        T.atomic_add(C[by * 32 + i, bx * 32 + j], c[i, j])

    return main


def split_k_case(whole: bool) -> None:
    a, b = random_floats(40, 96, dtype=torch.float16), random_floats(96, 50, seed=1, dtype=torch.float16)
    if whole:
        a, b = a[:32].contiguous(), b[:, :32].contiguous()
    found, size = a.double() @ b.double(), a.double().abs() @ b.double().abs()
    tensors = {"A": a, "B": b, "C": torch.zeros(found.shape)}
    func = split_k(*found.shape, 96, 3, whole)
    check(func, tensors, {"C": found}, roundings=100, magnitude=size)


def test_split_k_by_elements() -> None:
    split_k_case(whole=False)


def test_split_k_by_blocks() -> None:
    split_k_case(whole=True)


def stream_k(m: int, n: int, k: int, workers: int) -> Any:
    """Every worker has the same number of products of blocks, and may begin in the middle of a sum."""
    rows, cols, depth = m // 16, n // 16, k // 16
    share = -(-rows * cols * depth // workers)

    @T.prim_func
    def main(A: T.Tensor((m, k), "float32"), B: T.Tensor((k, n), "float32"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(workers, threads=16) as worker:
            tx = T.get_thread_binding()
            a = T.alloc_shared((16, 16), "float32")
            b = T.alloc_shared((16, 16), "float32")
            sums = T.alloc_local((16,), "float32")
            step = T.alloc_var("int32")
            stop = T.alloc_var("int32")
            step = worker * share
            stop = T.min(step + share, rows * cols * depth)
            T.clear(sums)
            while step < stop:
                row = step // depth // cols * 16
                col = step // depth % cols * 16
                for i in T.serial(16):
                    a[i, tx] = A[row + i, step % depth * 16 + tx]
                    b[i, tx] = B[step % depth * 16 + i, col + tx]
                T.sync_threads()
                for i, p in T.grid(16, 16):
                    sums[i] += a[i, p] * b[p, tx]
                T.sync_threads()
                step += 1
                if step % depth == 0 or step == stop:
                    for i in T.serial(16):
                        T.atomic_add(C[row + i, col + tx], sums[i])
                        sums[i] = 0

    return main


def test_stream_k() -> None:
    a, b = (random_integers(*shape, low=-9, high=10).float() for shape in ((32, 80), (80, 48)))
    check(stream_k(32, 48, 80, 7), {"A": a, "B": b, "C": torch.zeros(32, 48)}, {"C": a @ b}, thorough=True)


def im2col_product(n: int, h: int, w: int, c: int, f: int) -> Any:
    """A 3 x 3 convolution with padding as a product: T.c2d_im2col gathers the windows."""

    @T.prim_func
    def main(
        X: T.Tensor((n, h, w, c), "float16"), W: T.Tensor((9 * c, f), "float16"), Y: T.Tensor((n * h * w, f), "float32")
    ):
        with T.Kernel(T.ceildiv(f, 32), T.ceildiv(n * h * w, 32), threads=64) as (bx, by):
            windows = T.alloc_shared((32, 32), "float16")
            weights = T.alloc_shared((32, 32), "float16")
            y = T.alloc_fragment((32, 32), "float32")
            T.clear(y)
            for k in T.Pipelined(T.ceildiv(9 * c, 32), num_stages=2):
                T.c2d_im2col(X, windows, by, k, 3, 1, 1, 1)
                T.copy(W[k * 32, bx * 32], weights)
                T.gemm(windows, weights, y)
            T.copy(y, Y[by * 32, bx * 32])

    return main


def test_im2col_product() -> None:
    x, w = random_floats(2, 5, 9, 16, dtype=torch.float16), random_floats(3, 3, 16, 20, seed=1, dtype=torch.float16)
    image, kernel = x.double().permute(0, 3, 1, 2), w.double().permute(3, 2, 0, 1)
    found = F.conv2d(image, kernel, padding=1).permute(0, 2, 3, 1).reshape(90, 20)
    size = F.conv2d(image.abs(), kernel.abs(), padding=1).permute(0, 2, 3, 1).reshape(90, 20)
    tensors = {"X": x, "W": w.view(144, 20), "Y": torch.zeros(90, 20)}
    check(im2col_product(2, 5, 9, 16, 20), tensors, {"Y": found}, roundings=150, magnitude=size)


def winograd(h: int, w: int) -> Any:
    """F(2 x 2, 3 x 3): a thread for each four pixels, transformed by hand."""

    @T.prim_func
    def main(X: T.Tensor((h, w), "float32"), U: T.Tensor((4, 4), "float32"), Y: T.Tensor((h - 2, w - 2), "float32")):
        with T.Kernel(T.ceildiv(h - 2, 2), threads=32) as by:
            tx = T.get_thread_binding()
            d = T.alloc_local((4, 4), "float32")
            t = T.alloc_local((4, 4), "float32")
            for bx in T.serial(tx, T.ceildiv(w - 2, 2), 32):
                for i, j in T.grid(4, 4):
                    d[i, j] = X[by * 2 + i, bx * 2 + j]
                for j in T.unroll(4):
                    t[0, j] = d[0, j] - d[2, j]
                    t[1, j] = d[1, j] + d[2, j]
                    t[2, j] = d[2, j] - d[1, j]
                    t[3, j] = d[1, j] - d[3, j]
                for i in T.unroll(4):
                    d[i, 0] = (t[i, 0] - t[i, 2]) * U[i, 0]
                    d[i, 1] = (t[i, 1] + t[i, 2]) * U[i, 1]
                    d[i, 2] = (t[i, 2] - t[i, 1]) * U[i, 2]
                    d[i, 3] = (t[i, 1] - t[i, 3]) * U[i, 3]
                for j in T.unroll(4):
                    t[0, j] = d[0, j] + d[1, j] + d[2, j]
                    t[1, j] = d[1, j] - d[2, j] - d[3, j]
                for i in T.unroll(2):
                    Y[by * 2 + i, bx * 2] = t[i, 0] + t[i, 1] + t[i, 2]
                    Y[by * 2 + i, bx * 2 + 1] = t[i, 1] - t[i, 2] - t[i, 3]

    return main


def test_winograd() -> None:
    x, g = random_floats(11, 16), random_floats(3, 3, seed=1)
    basis = torch.tensor([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
    found = F.conv2d(x.double()[None, None], g.double()[None, None])[0, 0]
    size = 4 * F.conv2d(x.double().abs()[None, None], g.double().abs()[None, None])[0, 0] + 20
    tensors = {"X": x, "U": basis @ g @ basis.T, "Y": torch.zeros(9, 14)}
    check(winograd(11, 16), tensors, {"Y": found}, roundings=40, magnitude=size)


def half_bytes(m: int, n: int, k: int) -> Any:
    """Weights of four bits with a sign, two in a byte, low half first; a scale for each 16 of them."""

    @T.prim_func
    def main(
        A: T.Tensor((m, k), "int8"),
        W: T.Tensor((n, k // 2), "uint8"),
        S: T.Tensor((n, k // 16), "float16"),
        C: T.Tensor((m, n), "float32"),
    ):
        with T.Kernel(m, threads=n) as row:
            col = T.get_thread_binding()
            total = T.alloc_var("float32", init=0.0)
            for g in T.serial(k // 16):
                whole = T.alloc_var("int32", init=0)
                whole = 0
                for p in T.serial(8):
                    byte = W[col, g * 8 + p]
                    low = T.cast(byte << T.uint8(4), "int8") >> T.int8(4)
                    high = T.cast(byte, "int8") >> T.int8(4)
                    whole += T.cast(A[row, g * 16 + p * 2], "int32") * T.cast(low, "int32")
                    whole += T.cast(A[row, g * 16 + p * 2 + 1], "int32") * T.cast(high, "int32")
                total += T.cast(whole, "float32") * T.cast(S[col, g], "float32")
            C[row, col] = total

    return main


def test_half_bytes() -> None:
    a, w = random_integers(5, 48, dtype=torch.int8), random_integers(21, 24, seed=1, dtype=torch.uint8)
    s = torch.exp2(random_integers(21, 3, low=-4, high=4).float()).half()  # so that sums are exact
    both = np.stack([w.numpy() & 15, w.numpy() >> 4], -1).reshape(21, 48).astype(int)
    weights = np.where(both > 7, both - 16, both) * np.repeat(s.double().numpy(), 16, 1)
    found = a.numpy().astype(float) @ weights.T
    check(half_bytes(5, 21, 48), {"A": a, "W": w, "S": s, "C": torch.zeros(5, 21)}, {"C": found}, thorough=True)


def lu(n: int) -> Any:
    """Decomposition with the largest element as pivot, in place: rows change places in shared memory."""

    @T.prim_func
    def main(A: T.Tensor((n, n), "float64"), P: T.Tensor((n,), "int32")):
        with T.Kernel(1, threads=n):
            tx = T.get_thread_binding()
            a = T.alloc_shared((n, n), "float64")
            pivot = T.alloc_shared((1,), "int32")
            for i in T.serial(n):
                a[i, tx] = A[i, tx]
            for k in T.serial(n):
                T.sync_threads()
                if tx == 0:
                    best = T.alloc_var("int32", init=k)
                    best = k
                    for i in T.serial(k + 1, n):
                        if T.abs(a[i, k]) > T.abs(a[best, k]):
                            best = i
                    pivot[0] = best
                    P[k] = best
                T.sync_threads()
                held = a[k, tx]
                a[k, tx] = a[pivot[0], tx]
                a[pivot[0], tx] = held
                T.sync_threads()
                if tx > k:
                    a[tx, k] = a[tx, k] / a[k, k]
                T.sync_threads()
                if tx > k:
                    for j in T.serial(k + 1, n):
                        a[tx, j] -= a[tx, k] * a[k, j]
            T.sync_threads()
            for i in T.serial(n):
                A[i, tx] = a[i, tx]

    return main


def test_lu() -> None:
    a = random_floats(17, 17, dtype=torch.float64)
    found, pivots = a.numpy().copy(), []
    for k in range(17):
        best = k + int(np.abs(found[k:, k]).argmax())
        pivots.append(best)
        found[[k, best]] = found[[best, k]]
        found[k + 1 :, k] /= found[k, k]
        for i in range(k + 1, 17):
            found[i, k + 1 :] -= found[i, k] * found[k, k + 1 :]
    check(lu(17), {"A": a, "P": torch.zeros(17, dtype=torch.int32)}, {"A": found, "P": pivots}, thorough=True)
