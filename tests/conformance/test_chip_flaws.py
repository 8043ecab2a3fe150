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


OLD = (0.0, -0.0, 1.0, -1.0, 1e-45, -(2.0**-126), 3e38, -3e38, torch.inf, -torch.inf, torch.nan)
ADDED = (0.0, -0.0, 1.0, -1.0, 3e38, -3e38, torch.inf, -torch.inf)


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_special_numbers_in_a_sum_in_l1(arch: str, dtype: str) -> None:
    """The packer adds as IEEE 754 says, but for denormal numbers, which are zeros. A NaN in bfloat16 became an
    infinity of its sign when it was packed."""

    @T.prim_func
    def sums(
        S: T.Tensor((64, 64), dtype),
        A: T.Tensor((64, 64), "bfloat16"),
        B: T.Tensor((64, 64), "bfloat16"),
        C: T.Tensor((64, 64), dtype),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "bfloat16")
            b = T.alloc_shared((64, 64), "bfloat16")
            c = T.alloc_fragment((64, 64), dtype)
            T.copy(S, c)
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c)
            T.copy(c, C)

    target = {"kind": "tenstorrent", "arch": arch, "grid": "1x1", "numerics": "chip"}
    old = torch.tensor(OLD).repeat(64, 6)[:, :64].to(getattr(torch, dtype))
    added = torch.tensor(ADDED).repeat(8)[:, None].repeat(1, 64).bfloat16()
    got = tilelang.compile(sums, out_idx=[-1], target=target)(old, torch.eye(64).bfloat16(), added)
    old = torch.where(old.abs() < 2.0**-126, 0, old)
    if dtype == "bfloat16":
        old = torch.where(old.isnan(), torch.copysign(torch.full_like(old, torch.inf), old), old)
    expected = (old.float() + added.float()).to(old.dtype)
    assert torch.equal(got.isnan(), expected.isnan())
    assert torch.equal(got.nan_to_num(), expected.nan_to_num())
