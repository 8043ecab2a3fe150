"""Error bounds of a matrix product on the chip, from formats and lengths alone.

For c = a @ b with K terms the result may differ from the exact one by at most

    |c - exact| <= (u_out + u_reload) |exact| + (2 u_in + u_fidelity + K u_sum) (|a| @ |b|)

u_in      what storing and unpacking the operands loses: 0 for 16-bit types (exact in the source registers), 2^-10
          for float32 (truncated to tf32), 2^-7 or 2^-3 of the largest of 16 neighbours for block floats
u_fidelity  what the multiplier leaves out of bfloat16 operands: HiFi2 takes 7 bits of the first operand, LoFi also
          only 5 of the second
u_sum     one rounding of a sum: 2^-24 with a 32-bit DST, 2^-8 with a 16-bit one (there only once per product step)
u_reload  2^-10 where a Float32 accumulator passes through a source register on its way to a 16-bit result
u_out     one rounding to the result's type

The chip's own arithmetic (`CHIP`) adds products in groups of 8, each rounded to 10 fraction bits of the largest:
half a unit of 2^-10 times that product's power of two, for 8 products and a little for the lower fidelity phases. On
Wormhole its sums may be wrong by a factor of 2^27 where they cancel to exactly minus one unit: isolated outliers.
"""

from __future__ import annotations

import torch

CHIP: str | None = None  # the chip that computes, where results are not those of the modes `fast` and `exact`

UNIT = {
    torch.float32: 2.0**-24,
    torch.float16: 2.0**-11,
    torch.bfloat16: 2.0**-8,
    torch.float8_e4m3fn: 2.0**-4,
    torch.float8_e5m2: 2.0**-3,
}
TF32 = 2.0**-10
BLOCK_FLOATS = {"bfloat8_b": 2.0**-7, "bfloat4_b": 2.0**-3}
GROUP = 8  # products that are aligned to the largest of them
GROUP_ERROR = GROUP * 2.0**-11 * 1.05  # of the largest product of a group; 5 % for the lower fidelity phases
OUTLIERS = {"wormhole_b0": 1e-4}  # share of elements that may be beyond the bound
FIDELITY = {"HiFi4": 0.0, "HiFi3": 0.0, "HiFi2": 2.0**-6, "LoFi": 2.0**-6 + 2.0**-4}


def product_bound(
    a: torch.Tensor,
    b: torch.Tensor,
    out: torch.dtype,
    *,
    exact_mode: bool = False,
    fp32_acc: bool = True,
    storage: str | None = None,
    fidelity: str = "HiFi4",
) -> torch.Tensor:
    """The largest permitted error of each element of a @ b."""
    exact_mode = exact_mode and CHIP is None
    a64, b64 = a.double(), b.double()
    length = a.shape[-1]
    stored_wide = a.dtype is torch.float32 and not exact_mode
    u_in = TF32 if stored_wide else 0.0
    u_sum = length * 2.0**-24
    if not fp32_acc and not exact_mode:
        u_in = max(u_in, UNIT[torch.bfloat16])  # float32 operands are cut to bfloat16
        u_sum += (length / 32 + 1) * 2.0**-8
    u_reload = 0.0 if out is torch.float32 or exact_mode else TF32
    spread = a64.abs() @ b64.abs()
    if storage in BLOCK_FLOATS and not exact_mode:
        spread = _block_maximum(a64) @ _block_maximum(b64)
        u_in = BLOCK_FLOATS[storage]
    u_fidelity = 0.0 if exact_mode else FIDELITY[fidelity]
    error = (UNIT[out] + u_reload) * (a64 @ b64).abs() + (2 * u_in + u_in**2 + u_fidelity + u_sum) * spread
    return error + chip_error(a, b) + torch.finfo(out).tiny


def chip_error(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """What the chip's matrix engine adds to the error of each element of a @ b; nothing where no chip computes."""
    if CHIP is None:
        return torch.zeros((), dtype=torch.float64)
    return GROUP_ERROR * (1 + TF32) ** 2 * group_maxima(a.double(), b.double())


def chip_share() -> float:
    """The same, as a share of the sum of the products' absolute values."""
    return 0.0 if CHIP is None else GROUP_ERROR * (1 + TF32) ** 2


def group_maxima(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Sum over groups of consecutive products of the largest magnitude in each."""
    total = torch.zeros_like(a @ b)
    for start in range(0, a.shape[-1], GROUP):
        left, right = a[..., start : start + GROUP].abs(), b[..., start : start + GROUP, :].abs()
        total += (left.unsqueeze(-1) * right.unsqueeze(-3)).amax(-2)
    return total


def packed_block_floats(x: torch.Tensor, storage: str) -> torch.Tensor:
    """bfloat16 numbers as the chip's packer stores them in block floats: half away from zero, twice.

    First to 7 bits of their own exponent, then to those of the largest of sixteen; bfloat4_b keeps the first 3.
    """
    groups = x.float().unflatten(-1, (-1, 16))
    fraction, exponent = torch.frexp(groups.double().nan_to_num(0, 0, 0).abs())  # 0.5 <= fraction < 1
    bits = torch.floor(fraction * 128 + 0.5)
    exponent, bits = torch.where(bits == 128, exponent + 1, exponent), torch.where(bits == 128, 64, bits)
    bits = torch.where(exponent < -125, 0, bits)  # below the smallest normal number
    special = ~torch.isfinite(groups)
    exponent, bits = torch.where(special, 129, exponent), torch.where(special, 64, bits)
    largest = torch.where(bits == 0, -200, exponent).amax(-1, keepdim=True)
    shift = torch.where(bits == 0, 0, largest - exponent)
    bits = torch.where(shift > 8, 0, torch.floor(torch.ldexp(bits, -shift) + torch.where(shift > 0, 0.5, 0.0)))
    if storage == "bfloat4_b":
        bits = torch.floor(bits / 16) * 16
    found = torch.ldexp(bits, (largest - 7).double())
    found = torch.where((bits == 64) & (largest == 129), torch.inf, found)
    return torch.where(torch.signbit(groups) & (bits > 0), -found, found).flatten(-2)


def block_step(x: torch.Tensor, storage: str) -> torch.Tensor:
    """How far numbers may be from what is stored of them in block floats, if they are not much larger."""
    largest = _block_maximum(x.double())
    return torch.ldexp(torch.ones_like(largest), torch.frexp(largest)[1] - (7 if storage == "bfloat8_b" else 3))


def _block_maximum(x: torch.Tensor) -> torch.Tensor:
    """Each element replaced by the largest magnitude of its 16 neighbours in storage."""
    columns = x.shape[-1]
    padded = torch.nn.functional.pad(x.abs(), (0, -columns % 16))
    groups = padded.unflatten(-1, (-1, 16)).amax(-1, keepdim=True)
    return groups.expand(*groups.shape[:-1], 16).flatten(-2)[..., :columns]


def assert_product(got: torch.Tensor, a: torch.Tensor, b: torch.Tensor, relu: bool = False, **settings: object) -> None:
    """`got` is a @ b (then ReLU) within the bound."""
    bound = product_bound(a, b, got.dtype, **settings)  # type: ignore[arg-type]
    exact = a.double() @ b.double()
    if relu:
        exact = exact.clamp(min=0)
    error = (got.double() - exact).abs()
    worst = (error / bound).max().item()
    assert not torch.isnan(got).any(), "the result holds NaN"
    beyond = (error > bound).sum().item()
    if CHIP is not None and beyond <= OUTLIERS.get(CHIP, 0.0) * error.numel():
        return
    assert worst <= 1, f"error is {worst:.3g} times the bound; {beyond} elements beyond it"
