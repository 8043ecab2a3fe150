"""Weights of fp4, unpacked by bits into a bfloat16 as TileLang's example does it: at the speed of tiles, exactly."""

from typing import Any

import tilelang.language as T
import torch
from three_ways import agree, whole_numbers
from tvm import tirx

from tilelang_tt import costs
from tilelang_tt.options import Options
from tilelang_tt.pipeline import run_passes


def of_fp4(packed: Any, place: Any) -> Any:
    word = [tirx.const(number, "uint16") for number in range(16)]
    fp4 = (packed.astype("uint16") >> (place.astype("uint16") * word[4])) & word[15]
    exponent = ((fp4 & word[6]) >> word[1]) + tirx.const(126, "uint16")
    bits = ((((fp4 >> word[3]) << word[8]) | exponent) << word[7]) | ((fp4 & word[1]) << word[6])
    return tirx.reinterpret("bfloat16", bits)


def product() -> Any:
    @T.prim_func
    def main(a: T.Tensor((32, 128), "bfloat16"), b: T.Tensor((64, 64), "uint8"), c: T.Tensor((64, 32), "float32")):
        with T.Kernel(2, threads=128) as bx:
            a_s = T.alloc_shared((32, 64), "bfloat16")
            packed = T.alloc_shared((32, 32), "uint8")
            b_s = T.alloc_fragment((32, 64), "bfloat16")
            acc = T.alloc_fragment((32, 32), "float32")
            T.clear(acc)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(a[0, k * 64], a_s)
                T.copy(b[bx * 32, k * 32], packed)
                for i, j in T.Parallel(32, 64):
                    b_s[i, j] = of_fp4(packed[i, j // 2], j % 2)
                T.gemm(b_s, a_s, acc, transpose_B=True)
            T.copy(acc, c[bx * 32, 0])

    return main


def test_fp4_weights() -> None:
    a = whole_numbers(32, 128, dtype=torch.bfloat16)
    b = torch.arange(256).repeat(16).reshape(64, 64).to(torch.uint8)
    fp4 = torch.stack([b & 15, b >> 4], -1).reshape(64, 128).long()
    sign, exponent, fraction = 1 - 2 * (fp4 >> 3), (fp4 & 6) >> 1, fp4 & 1
    numbers = sign * torch.exp2(exponent - 1.0) * (1 + fraction / 2)
    wanted = numbers @ a.float().T
    agree(product(), {"a": a, "b": b, "c": torch.zeros(64, 32)}, ("c",), reference={"c": wanted})
    _, (kernels,) = run_passes(product(), Options(), lambda *_: None)
    assert costs.of(kernels).dst_sections <= 16


def signs() -> Any:
    @T.prim_func
    def main(x: T.Tensor((32, 32), "uint8"), y: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            for i, j in T.Parallel(32, 32):
                y[i, j] = T.cast(
                    T.reinterpret("int8", x[i, j] << tirx.const(4, "uint8")) >> tirx.const(4, "int8"), "float32"
                )

    return main


def test_signs_of_nibbles() -> None:
    """The way of TileLang's w4a8 example: a nibble moved to the top of a byte and back, with its sign."""
    x = torch.arange(1024).reshape(32, 32).to(torch.uint8)
    wanted = (((x.long() & 15) ^ 8) - 8).float()
    agree(signs(), {"x": x, "y": torch.zeros(32, 32)}, ("y",), reference={"y": wanted})
