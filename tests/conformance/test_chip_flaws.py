"""Errors that a chip itself makes, and the virtual device with it in `chip` numerics."""

import pytest
import tilelang
import tilelang.language as T
import torch

UNIT = 2.0**-23  # of a sum whose largest term is 1


@pytest.mark.parametrize(("arch", "expected"), [("wormhole_b0", -16.0), ("blackhole", -UNIT)])
def test_a_sum_of_minus_one_unit(arch: str, expected: float) -> None:
    """-2^-23 is in DST when 1 and -1 come, the sums of two groups of eight products: minus one unit is left, which
    Wormhole normalises to a number 2^27 times as large."""

    @T.prim_func
    def product(A: T.Tensor((32, 32), "bfloat16"), B: T.Tensor((32, 32), "bfloat16"), C: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((32, 32), "bfloat16")
            b = T.alloc_shared((32, 32), "bfloat16")
            c = T.alloc_fragment((32, 32), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C)

    target = {"kind": "tenstorrent", "arch": arch, "grid": "1x1", "numerics": "chip"}
    a, b = torch.zeros(32, 32).bfloat16(), torch.zeros(32, 32).bfloat16()
    a[:, 0], a[:, 16], a[:, 24] = -(2.0**-12), 1.0, -1.0
    b[0], b[16], b[24] = 2.0**-11, 1.0, 1.0
    got = tilelang.compile(product, out_idx=[-1], target=target)(a, b)
    assert torch.equal(got, torch.full((32, 32), expected))
