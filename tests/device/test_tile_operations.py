"""Every tile operation against torch, through whole kernels."""

from __future__ import annotations

import struct

import pytest
import torch
from device_programs import TileProgram

COPY = "copy_tile_to_dst_init_short(x); copy_tile(x, 0, 0); "
COPY_BOTH = COPY + "copy_tile(y, 0, 1); "
SHAPE = (64, 96)
FP32 = {"rtol": 3e-6, "atol": 1e-6}


def bits(value: float) -> str:
    return f"0x{struct.unpack('<I', struct.pack('<f', value))[0]:08x}"


def sample(seed: int, positive: bool = False) -> torch.Tensor:
    values = torch.randn(SHAPE, generator=torch.Generator().manual_seed(seed))
    return values.abs() + 0.01 if positive else values


UNARY = {
    "abs": ("compute_kernel_api.h", torch.abs),
    "exp": ("eltwise_unary/exp.h", torch.exp),
    "exp2": ("compute_kernel_api.h", torch.exp2),
    "gelu": ("eltwise_unary/gelu.h", torch.nn.functional.gelu),
    "gelu_tanh": ("eltwise_unary/gelu.h", lambda x: torch.nn.functional.gelu(x, approximate="tanh")),
    "log": ("compute_kernel_api.h", torch.log),
    "negative": ("eltwise_unary/negative.h", torch.neg),
    "recip": ("eltwise_unary/recip.h", torch.reciprocal),
    "relu": ("eltwise_unary/relu.h", torch.relu),
    "rsqrt": ("eltwise_unary/rsqrt.h", torch.rsqrt),
    "sigmoid": ("compute_kernel_api.h", torch.sigmoid),
    "silu": ("compute_kernel_api.h", torch.nn.functional.silu),
    "sqrt": ("eltwise_unary/sqrt.h", torch.sqrt),
    "square": ("compute_kernel_api.h", torch.square),
    "tanh": ("compute_kernel_api.h", torch.tanh),
}


@pytest.mark.parametrize("name", sorted(UNARY))
def test_unary(name: str) -> None:
    header, function = UNARY[name]
    x = sample(1, positive=name in ("log", "sqrt", "rsqrt", "recip"))
    out = TileProgram(f"{COPY} {name}_tile_init(); {name}_tile(0);", (header,)).run(x)
    torch.testing.assert_close(out, function(x), **FP32)


SCALAR = {
    "add_unary": lambda x, s: x + s,
    "sub_unary": lambda x, s: x - s,
    "mul_unary": lambda x, s: x * s,
    "div_unary": lambda x, s: x * s,  # the caller passes the reciprocal
    "rsub_unary": lambda x, s: s - x,
}


@pytest.mark.parametrize("name", sorted(SCALAR))
def test_scalar(name: str) -> None:
    body = f"{COPY} binop_with_scalar_tile_init(); {name}_tile(0, {bits(1.7)});"
    x = sample(2)
    out = TileProgram(body, ("eltwise_unary/binop_with_scalar.h",)).run(x)
    torch.testing.assert_close(out, SCALAR[name](x, torch.tensor(1.7)), **FP32)


@pytest.mark.parametrize(("name", "function"), [("unary_max", torch.maximum), ("unary_min", torch.minimum)])
def test_scalar_max_min(name: str, function: object) -> None:
    x = sample(3)
    out = TileProgram(f"{COPY} {name}_tile_init(); {name}_tile(0, {bits(0.25)});", ("compute_kernel_api.h",)).run(x)
    assert torch.equal(out, function(x, torch.full_like(x, 0.25)))  # type: ignore[operator]


@pytest.mark.parametrize("call", ["fill_tile(0, 2.5f)", "fill_tile_bitcast(0, 0x40200000)"])
def test_fill(call: str) -> None:
    out = TileProgram(f"fill_tile_init(); {call};", ("eltwise_unary/fill.h",)).run(sample(4))
    assert torch.equal(out, torch.full(SHAPE, 2.5))


SFPU_BINARY = {
    "add_binary": torch.add,
    "sub_binary": torch.sub,
    "mul_binary": torch.mul,
    "div_binary": torch.div,
    "rsub_binary": lambda a, b: b - a,
    "binary_max": torch.maximum,
    "binary_min": torch.minimum,
}


@pytest.mark.parametrize("name", sorted(SFPU_BINARY))
def test_vector_binary(name: str) -> None:
    header = "binary_max_min.h" if name in ("binary_max", "binary_min") else "eltwise_binary_sfpu.h"
    x, y = sample(5), sample(6)
    out = TileProgram(f"{COPY_BOTH} {name}_tile_init(); {name}_tile(0, 1, 0);", (header,)).run(x, y)
    torch.testing.assert_close(out, SFPU_BINARY[name](x, y), **FP32)


@pytest.mark.parametrize(("name", "function"), [("add", torch.add), ("sub", torch.sub), ("mul", torch.mul)])
def test_matrix_engine_binary(name: str, function: object) -> None:
    x, y = sample(7).bfloat16(), sample(8).bfloat16()
    program = TileProgram(
        f"{name}_init(x, y); {name}_tiles(x, y, 0, 0, 0);",
        ("eltwise_binary.h",),
        x_format="Float16_b",
        y_format="Float16_b",
        direct=False,
    )
    # The result leaves as Float32, where bf16 operands give exact sums and products.
    out = torch.empty(SHAPE)
    from tilelang_tt.runtime.virtual import launch

    launch(program.plan(), program.sources(), {"x": x, "y": y, "out": out}, {"M": 64, "N": 96})
    assert torch.equal(out, function(x.float(), y.float()))  # type: ignore[operator]


@pytest.mark.parametrize("kind", ["rows", "cols", "scalar"])
@pytest.mark.parametrize(("name", "function"), [("add", torch.add), ("sub", torch.sub), ("mul", torch.mul)])
def test_broadcast(kind: str, name: str, function: object) -> None:
    x, y = sample(9).bfloat16().float(), sample(10).bfloat16().float()
    body = f"{name}_bcast_{kind}_init(x, y); {name}_tiles_bcast_{kind}(x, y, 0, 0, 0);"
    out = TileProgram(body, ("bcast.h",), direct=False).run(x, y)
    tiles = y.view(2, 32, 3, 32)
    spread = {"rows": tiles[:, :1], "cols": tiles[..., :1], "scalar": tiles[:, :1, :, :1]}[kind]
    expected = function(x, spread.expand(2, 32, 3, 32).reshape(SHAPE))  # type: ignore[operator]
    assert torch.equal(out, expected)


def test_add_accumulates_into_dst() -> None:
    x, y = sample(11).bfloat16().float(), sample(12).bfloat16().float()
    body = "add_init(x, y, true); add_tiles(x, y, 0, 0, 0); add_tiles(x, y, 0, 0, 0);"
    out = TileProgram(body, ("eltwise_binary.h",), direct=False).run(x, y)
    torch.testing.assert_close(out, 2 * (x + y), **FP32)


@pytest.mark.parametrize(
    "call",
    [
        "transpose_init(x); transpose_tile(x, 0, 0);",
        "copy_tile_to_dst_init_short(x, 1, 1); copy_tile(x, 0, 0);",
    ],
)
def test_transpose_within_each_tile(call: str) -> None:
    x = sample(13)
    out = TileProgram(call, ("transpose.h",)).run(x)
    assert torch.equal(out, x.view(2, 32, 3, 32).transpose(1, 3).reshape(SHAPE))


def test_copy_through_a_source_register_truncates() -> None:
    x = sample(14)
    cut = (x.view(torch.int32) & ~0x1FFF).view(torch.float32)
    assert torch.equal(TileProgram(COPY, direct=False).run(x), cut)
    assert torch.equal(TileProgram(COPY, direct=True).run(x), x)
    assert torch.equal(TileProgram(COPY, direct=False).run(x, numerics="exact"), x)


def test_copy_with_16bit_dst_truncates_to_bf16() -> None:
    x = sample(15)
    cut = (x.view(torch.int32) & ~0xFFFF).view(torch.float32)
    assert torch.equal(TileProgram(COPY, direct=False, fp32_dest=False).run(x), cut)


def test_pack_to_bf16_rounds_half_away_from_zero() -> None:
    ties = torch.tensor([0x3F808000, 0x3F818000, -0x407F8000], dtype=torch.int64).to(torch.int32)
    x = ties.view(torch.float32).repeat(32 * 32)[: 32 * 32].view(32, 32).contiguous()
    program = TileProgram(COPY, out_format="Float16_b")
    expected = ((x.view(torch.int32) + 0x8000) & ~0xFFFF).view(torch.float32)
    assert torch.equal(program.run(x), expected)
    assert not torch.equal(expected, x.bfloat16().float()), "the sample must tell half-away from half-to-even"


def test_typecast_to_bf16_rounds_to_even() -> None:
    x = sample(16)
    body = COPY + "typecast_tile_init<0, 5>(); typecast_tile<0, 5>(0);"
    out = TileProgram(body, ("eltwise_unary/typecast.h",)).run(x)
    assert torch.equal(out, x.bfloat16().float())


def test_16bit_dst_truncates_vector_results() -> None:
    x, y = sample(17).bfloat16().float(), sample(18).bfloat16().float()
    body = f"{COPY_BOTH} add_binary_tile_init(); add_binary_tile(0, 1, 0);"
    out = TileProgram(body, ("eltwise_binary_sfpu.h",), direct=False, fp32_dest=False).run(x, y)
    assert torch.equal(out, ((x + y).view(torch.int32) & ~0xFFFF).view(torch.float32))
