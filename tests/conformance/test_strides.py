"""Elements in strides: every second one, repeated ones, pairs, nibbles. They cost what whole tiles cost, to the bit."""

from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from three_ways import agree, whole_numbers

from tilelang_tt import costs
from tilelang_tt.options import Options
from tilelang_tt.pipeline import run_passes

FLOATS = ("float32", "bfloat16", "float16")
SPECIAL = (float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1e-30, -1.5, 3.0e38)


def sections(func: Any) -> int:
    """Uses of DST in the whole launch."""
    _, sets = run_passes(func, Options(), lambda *_: None)
    return sum(costs.of(kernels).dst_sections for kernels in sets)


def same_bits(found: torch.Tensor, wanted: torch.Tensor) -> bool:
    """NaNs are NaNs; everything else is the same to the bit."""
    words = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[found.element_size()]
    nan = wanted.isnan() if wanted.is_floating_point() else torch.zeros_like(wanted, dtype=torch.bool)
    equal = found.contiguous().view(words) == wanted.contiguous().view(words)
    found_nan = found.isnan() if found.is_floating_point() else nan
    return bool((equal | (nan & found_nan)).all())


def as_copied(wanted: torch.Tensor) -> torch.Tensor:
    """What a kernel makes of the same numbers that lie side by side: 16-bit zeros lose their sign on the chip."""
    rows, cols = wanted.shape
    dtype = str(wanted.dtype).removeprefix("torch.")
    return tilelang.compile(every(1, 0, dtype, rows, cols), out_idx=[-1], target="tenstorrent")(wanted.contiguous())


def any_numbers(dtype: str, *shape: int) -> torch.Tensor:
    """Numbers of the whole range, with everything special among them."""
    generator = torch.Generator().manual_seed(7)
    if dtype.startswith(("int", "uint")):
        words = torch.randint(-(2**31), 2**31, shape, generator=generator)
        return words.to(getattr(torch, dtype))
    values = torch.randn(shape, generator=generator) * 100
    special = torch.tensor(SPECIAL).repeat(values.numel() // len(SPECIAL) + 1)[: values.numel()].reshape(shape)
    return torch.where(torch.rand(shape, generator=generator) < 0.3, special, values).to(getattr(torch, dtype))


# --- one place after the other, at a distance ------------------------------------------------------


def every(step: int, first: int, dtype: str, rows: int = 40, cols: int = 96, extra: int = 0) -> Any:
    @T.prim_func
    def main(x: T.Tensor((rows, cols * step + extra), dtype), y: T.Tensor((rows, cols), dtype)):
        with T.Kernel(T.ceildiv(rows, 32), threads=128) as bx:
            for i, j in T.Parallel(32, cols):
                y[bx * 32 + i, j] = x[bx * 32 + i, step * j + first]

    return main


def every_of_block(step: int, first: int, dtype: str, rows: int = 40, cols: int = 96) -> Any:
    @T.prim_func
    def main(x: T.Tensor((rows, cols * step), dtype), y: T.Tensor((rows, cols), dtype)):
        with T.Kernel(T.ceildiv(rows, 32), threads=128) as bx:
            xs = T.alloc_shared((32, cols * step), dtype)
            ys = T.alloc_fragment((32, cols), dtype)
            T.copy(x[bx * 32, 0], xs)
            for i, j in T.Parallel(32, cols):
                ys[i, j] = xs[i, step * j + first]
            T.copy(ys, y[bx * 32, 0])

    return main


@pytest.mark.parametrize("dtype", [*FLOATS, "int32", "uint8", "int16"])
@pytest.mark.parametrize("make", [every, every_of_block])
def test_every_second(make: Any, dtype: str) -> None:
    x = any_numbers(dtype, 40, 192)
    y = tilelang.compile(make(2, 1, dtype), out_idx=[-1], target="tenstorrent")(x)
    assert same_bits(y, as_copied(x[:, 1::2]))
    assert torch.equal(y.nan_to_num(7), x[:, 1::2].nan_to_num(7))


@pytest.mark.parametrize(("step", "first"), [(2, 0), (3, 2), (4, 1), (16, 5)])
def test_other_distances(step: int, first: int) -> None:
    for make in (every, every_of_block):
        x = whole_numbers(40, 96 * step)
        agree(
            make(step, first, "float32"), {"x": x, "y": torch.zeros(40, 96)}, ("y",), reference={"y": x[:, first::step]}
        )
        assert sections(make(step, first, "float32")) <= 6


@pytest.mark.parametrize(("rows", "cols", "extra"), [(33, 25, 0), (7, 31, 1), (40, 65, 1)])
def test_odd_sizes(rows: int, cols: int, extra: int) -> None:
    """The last row of a folded axis need not be full."""
    x = whole_numbers(rows, cols * 2 + extra)
    wanted = x[:, 0 : 2 * cols : 2].contiguous()
    agree(
        every(2, 0, "float32", rows, cols, extra),
        {"x": x, "y": torch.zeros(rows, cols)},
        ("y",),
        reference={"y": wanted},
    )
    assert sections(every(2, 0, "float32", rows, cols, extra)) <= 6


def every_of_rows(dtype: str) -> Any:
    @T.prim_func
    def main(x: T.Tensor((128, 64), dtype), y: T.Tensor((64, 64), dtype)):
        with T.Kernel(2, threads=128) as bx:
            xs = T.alloc_shared((64, 64), dtype)
            ys = T.alloc_fragment((32, 64), dtype)
            T.copy(x[bx * 64, 0], xs)
            for i, j in T.Parallel(32, 64):
                ys[i, j] = xs[2 * i + 1, j]
            T.copy(ys, y[bx * 32, 0])

    return main


def test_every_second_row() -> None:
    x = any_numbers("float32", 128, 64)
    y = tilelang.compile(every_of_rows("float32"), out_idx=[-1], target="tenstorrent")(x)
    assert same_bits(y, as_copied(x[1::2]))
    assert sections(every_of_rows("float32")) <= 4


def pooled() -> Any:
    @T.prim_func
    def main(x: T.Tensor((128, 128), "float32"), y: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            for i, j in T.Parallel(32, 64):
                row = 2 * (bx * 32 + i)
                above = T.max(x[row, 2 * j], x[row, 2 * j + 1])
                below = T.max(x[row + 1, 2 * j], x[row + 1, 2 * j + 1])
                y[bx * 32 + i, j] = T.max(above, below)

    return main


def test_pooling() -> None:
    """Strides along both axes."""
    x = whole_numbers(128, 128, low=-100, high=100)
    wanted = torch.nn.functional.max_pool2d(x[None], 2)[0]
    agree(pooled(), {"x": x, "y": torch.zeros(64, 64)}, ("y",), reference={"y": wanted})
    assert sections(pooled()) <= 8


def of_vectors() -> Any:
    @T.prim_func
    def main(x: T.Tensor((512,), "float32"), y: T.Tensor((256,), "float32")):
        with T.Kernel(2, threads=128) as bx:
            xs = T.alloc_shared((256,), "float32")
            ys = T.alloc_fragment((128,), "float32")
            T.copy(x[bx * 256], xs)
            for i in T.Parallel(128):
                ys[i] = xs[2 * i] - xs[2 * i + 1]
            T.copy(ys, y[bx * 128])

    return main


def test_vectors() -> None:
    x = whole_numbers(512)
    agree(of_vectors(), {"x": x, "y": torch.zeros(256)}, ("y",), reference={"y": x[0::2] - x[1::2]})
    assert sections(of_vectors()) <= 8


# --- repeated, and put side by side ----------------------------------------------------------------


def repeated(times: int, dtype: str, of_blocks: bool) -> Any:
    cols = 64 * times

    @T.prim_func
    def main(x: T.Tensor((64, 64), dtype), y: T.Tensor((64, cols), dtype)):
        with T.Kernel(2, threads=128) as bx:
            xs = T.alloc_shared((32, 64), dtype)
            ys = T.alloc_fragment((32, cols), dtype)
            if of_blocks:
                T.copy(x[bx * 32, 0], xs)
                for i, j in T.Parallel(32, cols):
                    ys[i, j] = xs[i, j // times]
                T.copy(ys, y[bx * 32, 0])
            else:
                for i, j in T.Parallel(32, cols):
                    y[bx * 32 + i, j] = x[bx * 32 + i, j // times]

    return main


@pytest.mark.parametrize("of_blocks", [True, False])
@pytest.mark.parametrize(("times", "dtype"), [(2, "float32"), (3, "bfloat16"), (4, "int32")])
def test_repeated(times: int, dtype: str, of_blocks: bool) -> None:
    x = any_numbers(dtype, 64, 64)
    y = tilelang.compile(repeated(times, dtype, of_blocks), out_idx=[-1], target="tenstorrent")(x)
    assert same_bits(y, as_copied(x.repeat_interleave(times, 1)))
    assert sections(repeated(times, dtype, of_blocks)) <= 8 * times


def rotated(how: str) -> Any:
    @T.prim_func
    def main(
        x: T.Tensor((64, 128), "float32"),
        c: T.Tensor((64, 64), "float32"),
        s: T.Tensor((64, 64), "float32"),
        y: T.Tensor((64, 128), "float32"),
    ):
        with T.Kernel(2, threads=128) as bx:
            xs = T.alloc_shared((32, 128), "float32")
            ys = T.alloc_fragment((32, 128), "float32")
            cs = T.alloc_shared((32, 64), "float32")
            ss = T.alloc_shared((32, 64), "float32")
            T.copy(x[bx * 32, 0], xs)
            T.copy(c[bx * 32, 0], cs)
            T.copy(s[bx * 32, 0], ss)
            if how == "pairs":
                for i, j in T.Parallel(32, 64):
                    ys[i, 2 * j] = xs[i, 2 * j] * cs[i, j] - xs[i, 2 * j + 1] * ss[i, j]
                    ys[i, 2 * j + 1] = xs[i, 2 * j] * ss[i, j] + xs[i, 2 * j + 1] * cs[i, j]
            elif how == "parity":
                for i, j in T.Parallel(32, 128):
                    other = T.if_then_else(j % 2 == 0, -xs[i, j + 1], xs[i, j - 1])
                    ys[i, j] = xs[i, j] * cs[i, j // 2] + other * ss[i, j // 2]
            else:
                for i, j in T.Parallel(32, 128):
                    ys[i, j] = xs[i, j] * cs[i, j // 2]
                for i, j in T.Parallel(32, 64):
                    ys[i, 2 * j] += -xs[i, 2 * j + 1] * ss[i, j]
                    ys[i, 2 * j + 1] += xs[i, 2 * j] * ss[i, j]
            T.copy(ys, y[bx * 32, 0])

    return main


@pytest.mark.parametrize("how", ["pairs", "parity", "in steps"])
def test_interleaved_rope(how: str) -> None:
    x, c, s = whole_numbers(64, 128), whole_numbers(64, 64), whole_numbers(64, 64, low=-3)
    even, odd = x[:, 0::2], x[:, 1::2]
    wanted = torch.stack([even * c - odd * s, even * s + odd * c], -1).reshape(64, 128)
    tensors = {"x": x, "c": c, "s": s, "y": torch.zeros(64, 128)}
    agree(rotated(how), tensors, ("y",), reference={"y": wanted})
    assert sections(rotated(how)) <= 16


def in_place() -> Any:
    @T.prim_func
    def main(x: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            for i, j in T.Parallel(32, 32):
                x[bx * 32 + i, 2 * j] = x[bx * 32 + i, 2 * j] * 2.0 + x[bx * 32 + i, 2 * j + 1]

    return main


def test_in_place() -> None:
    """A tensor that is read and written lies in one way only."""
    x = whole_numbers(64, 64)
    wanted = x.clone()
    wanted[:, 0::2] = x[:, 0::2] * 2 + x[:, 1::2]
    agree(in_place(), {"x": x}, ("x",), reference={"x": wanted})


def swapped() -> Any:
    """Neighbours change places: what is read was there before the statement."""

    @T.prim_func
    def main(x: T.Tensor((32, 64), "float32"), y: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, threads=128):
            xs = T.alloc_fragment((32, 64), "float32")
            ys = T.alloc_fragment((32, 64), "float32")
            T.copy(x, xs)
            for i, j in T.Parallel(32, 64):
                ys[i, j] = xs[i, j // 2 * 2 + (1 - j % 2)]
            T.copy(ys, y)

    return main


def test_swapped() -> None:
    x = any_numbers("float32", 32, 64)
    y = tilelang.compile(swapped(), out_idx=[-1], target="tenstorrent")(x)
    assert same_bits(y, as_copied(x.reshape(32, 32, 2).flip(-1).reshape(32, 64)))
    assert sections(swapped()) <= 4


# --- behind and before other operations -------------------------------------------------------------


def gated() -> Any:
    @T.prim_func
    def main(a: T.Tensor((64, 64), "bfloat16"), w: T.Tensor((64, 128), "bfloat16"), c: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            a_s = T.alloc_shared((32, 64), "bfloat16")
            w_s = T.alloc_shared((64, 128), "bfloat16")
            acc = T.alloc_fragment((32, 128), "float32")
            out = T.alloc_fragment((32, 64), "float32")
            T.copy(a[bx * 32, 0], a_s)
            T.copy(w, w_s)
            T.gemm(a_s, w_s, acc, clear_accum=True)
            for i, j in T.Parallel(32, 64):
                out[i, j] = acc[i, 2 * j] * T.max(acc[i, 2 * j + 1], 0.0)
            T.copy(out, c[bx * 32, 0])

    return main


def test_behind_a_product() -> None:
    """Columns of the product in phases are columns of its operand in phases."""
    a, w = whole_numbers(64, 64, dtype=torch.bfloat16), whole_numbers(64, 128, dtype=torch.bfloat16)
    full = a.float() @ w.float()
    wanted = full[:, 0::2] * full[:, 1::2].clamp(min=0)
    agree(gated(), {"a": a, "w": w, "c": torch.zeros(64, 64)}, ("c",), reference={"c": wanted})
    assert sections(gated()) <= 8


def summed() -> Any:
    @T.prim_func
    def main(x: T.Tensor((64, 128), "float32"), y: T.Tensor((64,), "float32"), m: T.Tensor((64,), "float32")):
        with T.Kernel(2, threads=128) as bx:
            xs = T.alloc_shared((32, 128), "float32")
            z = T.alloc_fragment((32, 128), "float32")
            total = T.alloc_fragment((32,), "float32")
            most = T.alloc_fragment((32,), "float32")
            T.copy(x[bx * 32, 0], xs)
            for i, j in T.Parallel(32, 64):
                z[i, 2 * j] = xs[i, 2 * j + 1] * 2.0
                z[i, 2 * j + 1] = xs[i, 2 * j]
            T.reduce_sum(z, total, dim=1)
            T.reduce_max(z, most, dim=1)
            T.copy(total, y[bx * 32])
            T.copy(most, m[bx * 32])

    return main


def test_reductions() -> None:
    x = whole_numbers(64, 128)
    both = torch.cat([x[:, 1::2] * 2, x[:, 0::2]], 1)
    reference = {"y": both.sum(1), "m": both.max(1).values}
    agree(summed(), {"x": x, "y": torch.zeros(64), "m": torch.zeros(64)}, ("y", "m"), reference=reference)
    assert sections(summed()) <= 40


def nibbles(packed: str) -> Any:
    @T.prim_func
    def main(x: T.Tensor((64, 64), packed), y: T.Tensor((64, 128), "int32")):
        with T.Kernel(2, threads=128) as bx:
            xs = T.alloc_shared((32, 64), packed)
            ys = T.alloc_fragment((32, 128), "int32")
            T.copy(x[bx * 32, 0], xs)
            for i, j in T.Parallel(32, 128):
                ys[i, j] = T.cast((xs[i, j // 2] >> (4 * (j % 2))) & 15, "int32")
            T.copy(ys, y[bx * 32, 0])

    return main


@pytest.mark.parametrize("packed", ["uint8", "int8", "int32"])
def test_nibbles(packed: str) -> None:
    x = any_numbers(packed, 64, 64)
    wide = x.to(torch.int32)
    wanted = torch.stack([wide & 15, (wide >> 4) & 15], -1).reshape(64, 128)
    y = tilelang.compile(nibbles(packed), out_idx=[-1], target="tenstorrent")(x)
    assert torch.equal(y, wanted)
    assert sections(nibbles(packed)) <= 16


def dequantised(group: int, depth: int, signed: bool) -> Any:
    """Weights of 4 bits, two to a byte, with a scale for every group of them."""
    rows, cols, length = 64, 64, 256

    @T.prim_func
    def main(
        a: T.Tensor((rows, length), "bfloat16"),
        w: T.Tensor((cols, length // 2), "uint8"),
        s: T.Tensor((cols, length // group), "bfloat16"),
        c: T.Tensor((rows, cols), "float32"),
    ):
        with T.Kernel(rows // 32, threads=128) as by:
            a_s = T.alloc_shared((32, depth), "bfloat16")
            w_s = T.alloc_shared((cols, depth // 2), "uint8")
            w_d = T.alloc_fragment((cols, depth), "bfloat16")
            acc = T.alloc_fragment((32, cols), "float32")
            T.clear(acc)
            for k in T.Pipelined(length // depth, num_stages=2):
                T.copy(a[by * 32, k * depth], a_s)
                T.copy(w[0, k * (depth // 2)], w_s)
                for i, j in T.Parallel(cols, depth):
                    number = T.cast((w_s[i, j // 2] >> (4 * (j % 2))) & 15, "bfloat16")
                    w_d[i, j] = (number - (8.0 if signed else 0.0)) * s[i, (k * depth + j) // group]
                T.gemm(a_s, w_d, acc, transpose_B=True)
            T.copy(acc, c[by * 32, 0])

    return main


@pytest.mark.parametrize(("group", "depth"), [(32, 64), (64, 64), (128, 64), (32, 128), (128, 128), (256, 32)])
def test_dequantising_product(group: int, depth: int) -> None:
    a, s = whole_numbers(64, 256, dtype=torch.bfloat16), whole_numbers(64, 256 // group, low=1, dtype=torch.bfloat16)
    w = torch.randint(0, 256, (64, 128), generator=torch.Generator().manual_seed(1)).to(torch.uint8)
    numbers = torch.stack([w & 15, w >> 4], -1).reshape(64, 256).float() - 8
    wanted = a.float() @ (numbers * s.float().repeat_interleave(group, 1)).T
    tensors = {"a": a, "w": w, "s": s, "c": torch.zeros(64, 64)}
    agree(dequantised(group, depth, True), tensors, ("c",), reference={"c": wanted})
    assert sections(dequantised(group, depth, True)) <= 300


# --- a scale for every group --------------------------------------------------------------------------


def scaled(group: int, of_block: bool) -> Any:
    @T.prim_func
    def main(
        x: T.Tensor((64, 128), "float32"), s: T.Tensor((64, 128 // group), "float32"), y: T.Tensor((64, 128), "float32")
    ):
        with T.Kernel(2, threads=128) as bx:
            ys = T.alloc_fragment((32, 128), "float32")
            ss = T.alloc_fragment((32, 128 // group), "float32")
            T.copy(x[bx * 32, 0], ys)
            T.copy(s[bx * 32, 0], ss)
            for i, j in T.Parallel(32, 128):
                if of_block:
                    ys[i, j] = ys[i, j] * ss[i, j // group]
                else:
                    ys[i, j] = ys[i, j] * s[bx * 32 + i, j // group]
            T.copy(ys, y[bx * 32, 0])

    return main


@pytest.mark.parametrize("of_block", [True, False])
@pytest.mark.parametrize("group", [8, 16, 32, 64])
def test_groups(group: int, of_block: bool) -> None:
    x, s = whole_numbers(64, 128), whole_numbers(64, 128 // group)
    wanted = x * s.repeat_interleave(group, 1)
    agree(scaled(group, of_block), {"x": x, "s": s, "y": torch.zeros(64, 128)}, ("y",), reference={"y": wanted})
    assert sections(scaled(group, of_block)) <= 100
