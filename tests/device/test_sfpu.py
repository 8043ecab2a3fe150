"""Every operation of the vector unit against torch: one kernel per family, one operation per tile."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
import torch
from device_programs import TileProgram

from tilelang_tt.diagnostics import DeviceError

Function = Callable[..., torch.Tensor]
COPY = "copy_tile_to_dst_init_short(x); copy_tile(x, 0, 0); "
COPY_BOTH = COPY + "copy_tile(y, 0, 1); "
HEADERS = ("compute_kernel_api.h", "eltwise_unary/sfpu_split_includes.h")
BINARY_HEADERS = (
    *HEADERS,
    "binary_fmod.h",
    "binary_remainder.h",
    "binary_bitwise_sfpu.h",
    "binary_shift.h",
    "sub_int_sfpu.h",
    "div_int32_floor.h",
    "atan2.h",
    "logaddexp.h",
    "logaddexp2.h",
    "xlogy.h",
    "isclose.h",
    "gcd.h",
    "lcm.h",
    "mask.h",
)
BF16_STEP = 2.0**-8  # relative distance of neighbouring bf16 numbers, at most


def bits(value: float) -> str:
    return f"0x{struct.unpack('<I', struct.pack('<f', value))[0]:08x}"


def per_tile(prologue: str, calls: list[str]) -> str:
    """A body that runs the n-th call on the n-th tile."""
    cases = " ".join(f"case {number}: {call} break;" for number, call in enumerate(calls))
    return f"{prologue} switch (tile) {{ {cases} }}"


def tile_of(result: torch.Tensor, number: int) -> torch.Tensor:
    return result[:, 32 * number : 32 * (number + 1)]


def sample(seed: int, low: float, high: float) -> torch.Tensor:
    return torch.rand((32, 32), generator=torch.Generator().manual_seed(seed)) * (high - low) + low


def op(name: str, arguments: str = "") -> str:
    return f"{name}_tile_init(); {name}_tile(0{arguments});"


def scalar(name: str, *values: float) -> str:
    return op(name, "".join(f", {bits(value)}" for value in values))


f = torch.nn.functional
# name: (call, meaning, range of x)
UNARY: dict[str, tuple[str, Function, tuple[float, float]]] = {
    **{
        name: (op(name), function, (-3.0, 3.0))
        for name, function in {
            "abs": torch.abs,
            "asinh": torch.asinh,
            "atan": torch.atan,
            "cos": torch.cos,
            "cosh": torch.cosh,
            "erf": torch.erf,
            "erfc": torch.erfc,
            "exp": torch.exp,
            "exp2": torch.exp2,
            "expm1": torch.expm1,
            "gelu": f.gelu,
            "gelu_tanh": lambda x: f.gelu(x, approximate="tanh"),
            "hardsigmoid": f.hardsigmoid,
            "hardmish": lambda x: x * torch.clamp(x / 2 + 1, 0, 1),
            "i0": torch.special.i0,
            "i1": torch.special.i1,
            "identity": lambda x: x,
            "negative": torch.neg,
            "relu": torch.relu,
            "sigmoid": torch.sigmoid,
            "sign": torch.sign,
            "signbit": lambda x: torch.signbit(x).float(),
            "silu": f.silu,
            "sin": torch.sin,
            "sinh": torch.sinh,
            "softsign": f.softsign,
            "square": torch.square,
            "tan": lambda x: torch.tan(x),
            "tanh": torch.tanh,
            "tanhshrink": lambda x: x - torch.tanh(x),
            "eqz": lambda x: (x == 0).float(),
            "nez": lambda x: (x != 0).float(),
            "gtz": lambda x: (x > 0).float(),
            "gez": lambda x: (x >= 0).float(),
            "ltz": lambda x: (x < 0).float(),
            "lez": lambda x: (x <= 0).float(),
            "isinf": lambda x: torch.isinf(x).float(),
            "isnan": lambda x: torch.isnan(x).float(),
            "isfinite": lambda x: torch.isfinite(x).float(),
        }.items()
    },
    **{
        name: (op(name), function, (0.05, 0.95))
        for name, function in {
            "acos": torch.acos,
            "asin": torch.asin,
            "atanh": torch.atanh,
            "erfinv": torch.erfinv,
            "log": torch.log,
            "log1p": torch.log1p,
            "recip": torch.reciprocal,
            "rsqrt": torch.rsqrt,
            "sqrt": torch.sqrt,
        }.items()
    },
    "acosh": (op("acosh"), torch.acosh, (1.1, 4.0)),
    "cbrt": (op("cbrt"), lambda x: x.abs().pow(1 / 3) * x.sign(), (-3.0, 3.0)),
    "mish": ("mish_tile_init<false>(); mish_tile<false>(0);", f.mish, (-3.0, 3.0)),
    "log base 2": (scalar("log_with_base", 1 / 0.6931471805599453), torch.log2, (0.1, 4.0)),
    "power": (scalar("power", 2.5), lambda x: x.pow(2.5), (0.1, 4.0)),
    "power_iterative": (op("power_iterative", ", 3"), lambda x: x**3, (-2.0, 2.0)),
    "rpow": (scalar("rpow", 2.5), lambda x: torch.pow(torch.full_like(x, 2.5), x), (-2.0, 2.0)),
    "rdiv": (scalar("rdiv", 2.5), lambda x: 2.5 / x, (0.1, 4.0)),
    "rsub": (scalar("rsub", 2.5), lambda x: 2.5 - x, (-3.0, 3.0)),
    "heaviside": (scalar("heaviside", 0.5), lambda x: torch.heaviside(x, torch.full_like(x, 0.5)), (-1.0, 1.0)),
    "leaky_relu": (scalar("leaky_relu", 0.1), lambda x: f.leaky_relu(x, 0.1), (-3.0, 3.0)),
    "prelu": (scalar("prelu", 0.2), lambda x: f.leaky_relu(x, 0.2), (-3.0, 3.0)),
    "relu_max": (scalar("relu_max", 1.5), lambda x: x.clamp(0, 1.5), (-3.0, 3.0)),
    "relu_min": (scalar("relu_min", 1.5), lambda x: torch.where(x < 1.5, 0.0, x), (-3.0, 3.0)),
    "elu": (scalar("elu", 0.7), lambda x: f.elu(x, 0.7), (-3.0, 3.0)),
    "celu": (scalar("celu", 0.8, 1 / 0.8), lambda x: f.celu(x, 0.8), (-3.0, 3.0)),
    "selu": (scalar("selu", 1.0507009873554805, 1.6732632423543772), f.selu, (-3.0, 3.0)),
    "softshrink": (scalar("softshrink", 0.5), lambda x: f.softshrink(x, 0.5), (-3.0, 3.0)),
    "hardshrink": (scalar("hardshrink", 0.5), lambda x: f.hardshrink(x, 0.5), (-3.0, 3.0)),
    "hardtanh": (scalar("hardtanh", -0.5, 1.5), lambda x: f.hardtanh(x, -0.5, 1.5), (-3.0, 3.0)),
    "clamp": (scalar("clamp", -0.5, 1.5), lambda x: x.clamp(-0.5, 1.5), (-3.0, 3.0)),
    "threshold": (scalar("threshold", 0.5, 9.0), lambda x: f.threshold(x, 0.5, 9.0), (-3.0, 3.0)),
    "softplus": (scalar("softplus", 2.0, 0.5, 4.0), lambda x: f.softplus(x, 2.0, 4.0), (-3.0, 3.0)),
    "xielu": (
        scalar("xielu", 0.8, 0.6),
        lambda x: 0.5 * x + torch.where(x > 0, 0.8 * x * x, 0.6 * (torch.expm1(x) - x)),
        (-3.0, 3.0),
    ),
    "softcap": (scalar("softcap", 2.0, 0.5), lambda x: 2 * torch.tanh(x / 2), (-3.0, 3.0)),
    "unary_max": (scalar("unary_max", 0.25), lambda x: x.clamp(min=0.25), (-3.0, 3.0)),
    "unary_min": (scalar("unary_min", 0.25), lambda x: x.clamp(max=0.25), (-3.0, 3.0)),
    "unary_gt": (scalar("unary_gt", 0.25), lambda x: (x > 0.25).float(), (-1.0, 1.0)),
    "unary_ne": (scalar("unary_ne", 0.25), lambda x: (x != 0.25).float(), (-1.0, 1.0)),
    "fmod": (f"fmod_tile_init({bits(0.7)}, {bits(1 / 0.7)}); fmod_tile(0);", lambda x: torch.fmod(x, 0.7), (-3.0, 3.0)),
    "remainder": (
        f"remainder_tile_init({bits(0.7)}, {bits(1 / 0.7)}); remainder_tile(0);",
        lambda x: torch.remainder(x, 0.7),
        (-3.0, 3.0),
    ),
    **{
        name: (f"rounding_op_tile_init(); {name}_tile(0);", function, (-3.0, 3.0))
        for name, function in {
            "ceil": torch.ceil,
            "floor": torch.floor,
            "trunc": torch.trunc,
            "frac": torch.frac,
        }.items()
    },
    "round": ("rounding_op_tile_init(); round_tile(0, 1);", lambda x: torch.round(x, decimals=1), (-3.0, 3.0)),
    "logical_not": (
        "logical_not_tile_init(); logical_not_tile<DataFormat::Float32>(0);",
        lambda x: (x == 0).float(),
        (-1.0, 1.0),
    ),
    "exp with a scale": (
        "exp_tile_init(); exp_tile<false, true>(0, VectorMode::RC, 0x3f00);",
        lambda x: torch.exp(0.5 * x),
        (-3.0, 3.0),
    ),
    "fast exp, scale of the init": (
        f"exp_tile_init<true, {bits(0.5)}>(); exp_tile<true>(0);",
        lambda x: torch.exp(0.5 * x),
        (-3.0, 3.0),
    ),
}


def run_unary(rows: dict[str, tuple[str, Function, tuple[float, float]]], **options: object) -> torch.Tensor:
    x = torch.cat([sample(seed, *domain) for seed, (_, _, domain) in enumerate(rows.values())], 1)
    body = per_tile(COPY, [call for call, _, _ in rows.values()])
    return TileProgram(body, HEADERS, grid=(1, 1), **options).run(x)  # type: ignore[arg-type]


def test_unary() -> None:
    out = run_unary(UNARY)
    for number, (name, (_, function, domain)) in enumerate(UNARY.items()):
        expected = function(sample(number, *domain).double()).float()
        got = tile_of(out, number)
        torch.testing.assert_close(got, expected, rtol=2e-5, atol=2e-6, msg=lambda text, n=name: f"{n}: {text}")


# What a 16-bit DST keeps: the store truncates; some operations round to even before it.
TRUNCATED = ("square", "hardsigmoid", "leaky_relu", "clamp")
ROUNDED = ("exp", "sqrt", "sin", "sigmoid", "rsub")


def test_results_enter_a_16_bit_dst_truncated_or_rounded() -> None:
    rows = {name: UNARY[name] for name in (*TRUNCATED, *ROUNDED)}
    x = torch.cat([sample(seed, *row[2]).bfloat16().float() for seed, row in enumerate(rows.values())], 1)
    body = per_tile(COPY, [row[0] for row in rows.values()])
    out = TileProgram(body, HEADERS, grid=(1, 1), fp32_dest=False, direct=False).run(x)
    for number, (name, (_, function, _)) in enumerate(rows.items()):
        exact = function(tile_of(x, number))
        got = tile_of(out, number)
        cut = (exact.view(torch.int32) & ~0xFFFF).view(torch.float32)
        wanted = cut if name in TRUNCATED else exact.bfloat16().float()
        assert (got == wanted).float().mean() > 0.99, name  # a function of the host may differ in its last bit


# name: (call, meaning)
BINARY: dict[str, tuple[str, Function]] = {
    **{
        name: (f"{name}_tile_init(); {name}_tile(0, 1, 0);", function)
        for name, function in {
            "add_binary": torch.add,
            "sub_binary": torch.sub,
            "rsub_binary": lambda a, b: b - a,
            "mul_binary": torch.mul,
            "div_binary": torch.div,
            "power_binary": torch.pow,
            "eq_binary": lambda a, b: (a == b).float(),
            "ne_binary": lambda a, b: (a != b).float(),
            "lt_binary": lambda a, b: (a < b).float(),
            "gt_binary": lambda a, b: (a > b).float(),
            "le_binary": lambda a, b: (a <= b).float(),
            "ge_binary": lambda a, b: (a >= b).float(),
            "binary_max": torch.maximum,
            "binary_min": torch.minimum,
            "fmod_binary": torch.fmod,
            "remainder_binary": torch.remainder,
            "atan2_binary": torch.atan2,
            "logaddexp_binary": torch.logaddexp,
            "logaddexp2_binary": torch.logaddexp2,
            "xlogy_binary": torch.xlogy,
        }.items()
    },
    "isclose": (
        f"isclose_binary_tile_init(); isclose_binary_tile(0, 1, 0, {bits(0.1)}, {bits(0.2)});",
        lambda a, b: torch.isclose(a, b, 0.1, 0.2).float(),
    ),
    "where": (
        "copy_tile(y, 0, 2); where_tile_init(); where_tile<DataFormat::Float32>(0, 1, 2, 0);",
        lambda _a, b: b,
    ),
    "addcmul": (
        f"copy_tile(x, 0, 2); addcmul_tile_init(); addcmul_tile<DataFormat::Float32>(0, 1, 2, 0, {bits(0.5)});",
        lambda a, b: a + 0.5 * b * a,
    ),
    "addcdiv": (
        f"copy_tile(x, 0, 2); addcdiv_tile_init(); addcdiv_tile<DataFormat::Float32>(0, 1, 2, 0, {bits(0.5)});",
        lambda a, b: a + 0.5 * b / a,
    ),
    "lerp": (
        "copy_tile(x, 0, 2); lerp_tile_init(); lerp_tile<DataFormat::Float32>(0, 1, 2, 0);",
        lambda a, b: torch.lerp(a, b, a),
    ),
    "mac": (
        "copy_tile(x, 0, 2); mac_tile_init<DataFormat::Float32>(); mac_tile<DataFormat::Float32>(0, 1, 2, 0);",
        lambda a, b: a * b + a,
    ),
    "mask": (
        "fill_tile_init(); fill_tile(1, 0.0f); mask_tile_init(); mask_tile(0, 1);",
        lambda a, _b: torch.zeros_like(a),
    ),
}


def test_binary_and_ternary() -> None:
    x = torch.cat([sample(2 * n, 0.1, 3.0) for n in range(len(BINARY))], 1)
    y = torch.cat([sample(2 * n + 1, 0.1, 3.0) for n in range(len(BINARY))], 1)
    y[:, ::3] = x[:, ::3]  # some equal elements
    body = per_tile(COPY_BOTH, [call for call, _ in BINARY.values()])
    out = TileProgram(body, BINARY_HEADERS, grid=(1, 1)).run(x, y)
    for number, (name, (_, function)) in enumerate(BINARY.items()):
        expected = function(tile_of(x, number), tile_of(y, number))
        got = tile_of(out, number)
        torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-6, msg=lambda text, n=name: f"{n}: {text}")


def wrap(values: torch.Tensor) -> torch.Tensor:
    return values.to(torch.int32)


F32 = "DataFormat::Int32"
INTEGER: dict[str, tuple[str, Function]] = {
    "add": (f"add_int_tile_init(); add_int_tile<{F32}>(0, 1, 0);", lambda a, b: wrap(a.long() + b)),
    "sub": (f"sub_int_tile_init(); sub_int_tile<{F32}>(0, 1, 0);", lambda a, b: wrap(a.long() - b)),
    "rsub": (f"rsub_int_tile_init(); rsub_int_tile<{F32}>(0, 1, 0);", lambda a, b: wrap(b.long() - a)),
    "mul": (f"mul_int_tile_init<{F32}>(); mul_int_tile<{F32}>(0, 1, 0);", lambda a, b: wrap(a.long() * b)),
    "lt": (f"lt_int_tile_init<{F32}>(); lt_int_tile<{F32}>(0, 1, 0);", lambda a, b: (a < b).int()),
    "ge": (f"ge_int_tile_init<{F32}>(); ge_int_tile<{F32}>(0, 1, 0);", lambda a, b: (a >= b).int()),
    "max": ("binary_max_int32_tile_init(); binary_max_int32_tile(0, 1, 0);", torch.maximum),
    "min": ("binary_min_int32_tile_init(); binary_min_int32_tile(0, 1, 0);", torch.minimum),
    "and": (f"binary_bitwise_tile_init(); bitwise_and_binary_tile<{F32}>(0, 1, 0);", torch.bitwise_and),
    "xor": (f"binary_bitwise_tile_init(); bitwise_xor_binary_tile<{F32}>(0, 1, 0);", torch.bitwise_xor),
    "or scalar": (f"bitwise_or_tile_init(); bitwise_or_tile<{F32}>(0, 0x55);", lambda a, _b: a | 0x55),
    "not": ("bitwise_not_tile_init(); bitwise_not_tile(0);", lambda a, _b: ~a),
    "left": (f"left_shift_tile_init(); left_shift_tile<{F32}>(0, 3);", lambda a, _b: wrap(a.long() << 3)),
    "right": (f"right_shift_tile_init(); right_shift_tile<{F32}>(0, 3);", lambda a, _b: a >> 3),
    "right of UInt32": ("right_shift_tile_init(); right_shift_tile<DataFormat::UInt32>(0, 3);", lambda a, _b: a >> 3),
    "right out": (f"right_shift_tile_init(); right_shift_tile<{F32}>(0, 40);", lambda a, _b: a >> 31),
    "floor": (
        "div_int32_floor_tile_init(); div_int32_floor_tile(0, 1, 0);",
        lambda a, b: torch.div(a, b, rounding_mode="floor"),
    ),
    "trunc": (
        "div_int32_trunc_tile_init(); div_int32_trunc_tile(0, 1, 0);",
        lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    ),
    "remainder": ("remainder_int32_tile_init(); remainder_int32_tile(0, 1, 0);", torch.remainder),
    "fmod": ("fmod_int32_tile_init(); fmod_int32_tile(0, 1, 0);", torch.fmod),
    "gcd": ("gcd_tile_init(); gcd_tile(0, 1, 0);", torch.gcd),
    "add scalar": ("binop_with_scalar_tile_init(); add_unary_tile_int32(0, 7);", lambda a, _b: wrap(a.long() + 7)),
    "abs": ("abs_tile_init(); abs_tile_int32(0);", lambda a, _b: a.abs()),
    "clamp": ("clamp_tile_init(); clamp_tile_int32(0, uint32_t(-5), 9);", lambda a, _b: a.clamp(-5, 9)),
    "fill": (f"fill_tile_init(); fill_tile_int<{F32}>(0, 42);", lambda a, _b: torch.full_like(a, 42)),
    "copy in DST": ("copy_dest_values_init(); copy_dest_values<DataFormat::Int32>(1, 0);", lambda _a, b: b),
}


def test_integers() -> None:
    generator = torch.Generator().manual_seed(5)
    shape = (32, 32 * len(INTEGER))
    x = torch.randint(-(2**31), 2**31, shape, generator=generator).int()
    y = torch.randint(1, 2**16, shape, generator=generator).int() * torch.tensor([1, -1]).int().repeat(shape[1] // 2)
    body = per_tile(COPY_BOTH, [call for call, _ in INTEGER.values()])
    headers = (*BINARY_HEADERS, "copy_dest_values.h")
    out = TileProgram(body, headers, "Int32", "Int32", "Int32", grid=(1, 1)).run(x, y)
    for number, (name, (_, function)) in enumerate(INTEGER.items()):
        assert torch.equal(tile_of(out, number), function(tile_of(x, number), tile_of(y, number)).int()), name


@pytest.mark.parametrize("words", [True, False])
def test_copies_of_floats_lose_denormals(words: bool) -> None:
    """A small integer is a denormal; the store instruction for floats makes it zero."""
    x = (torch.arange(1024).reshape(32, 32) - 512).int()
    there, back = (
        f"copy_dest_values<DataFormat::{'Int32' if words else 'Float32'}>(0, 1);",
        "copy_dest_values<DataFormat::Int32>(1, 0);",
    )
    body = f"{COPY} copy_dest_values_init(); {there} {back}"
    program = TileProgram(body, ("copy_dest_values.h",), "Int32", "Int32", "Int32", grid=(1, 1))
    assert torch.equal(program.run(x, numerics="chip"), x if words else torch.where(x > 0, 0, x))


CASTS: dict[tuple[str, str, bool], Function] = {
    ("Float32", "Int32", True): lambda x: x.trunc().int(),
    ("Float32", "UInt16", True): lambda x: (x.clamp(0, 65535) + 0.5).floor().int(),
    ("Int32", "Float32", True): lambda x: x.float(),
    ("Float16_b", "Int32", True): lambda x: x.float().trunc().int(),
    ("UInt16", "Int32", True): lambda x: x.int(),
    ("UInt16", "Float16_b", False): lambda x: x.int(),
}
DTYPES = {"Float32": torch.float32, "Int32": torch.int32, "UInt16": torch.uint16, "Float16_b": torch.bfloat16}
NUMBERS = {"Float32": 0, "Float16_b": 5, "Int32": 8, "UInt16": 9}


@pytest.mark.parametrize("case", list(CASTS), ids=lambda case: f"{case[0]}-{case[1]}")
def test_typecast(case: tuple[str, str, bool]) -> None:
    source, target, wide = case
    numbers = torch.randn((32, 32), generator=torch.Generator().manual_seed(6)) * 500
    if source == "UInt16":
        numbers = numbers.abs()
    x = numbers.to(torch.int32).to(DTYPES[source]) if source in ("UInt16", "Int32") else numbers.to(DTYPES[source])
    pair = f"{NUMBERS[source]}, {NUMBERS[target]}"
    program = TileProgram(
        f"{COPY} typecast_tile_init<{pair}>(); typecast_tile<{pair}>(0);",
        HEADERS,
        source,
        source,
        target,
        direct=source in ("Float32", "Int32"),
        fp32_dest=wide,
        grid=(1, 1),
    )
    out = torch.zeros((32, 32), dtype=DTYPES[target])
    program.run_into(x, x, out)
    wanted = CASTS[case](x)
    if target == "Float16_b":
        torch.testing.assert_close(out.float(), wanted.float(), rtol=BF16_STEP, atol=0)
    else:
        assert torch.equal(out.to(torch.int64), wanted.to(torch.int64))


@pytest.mark.parametrize(
    ("mode", "covered"),
    [("R", lambda r, _c: r < 16), ("C", lambda _r, c: c < 16)],
    ids=["R", "C"],
)
def test_vector_mode_covers_a_part_of_the_tile(mode: str, covered: Callable[[int, int], bool]) -> None:
    x = sample(9, 1.0, 2.0)
    out = TileProgram(f"{COPY} exp_tile_init(); exp_tile(0, VectorMode::{mode});", HEADERS, grid=(1, 1)).run(x)
    part = torch.tensor([[covered(r, c) for c in range(32)] for r in range(32)])
    torch.testing.assert_close(out, torch.where(part, x.exp(), x), rtol=3e-6, atol=1e-6)


def test_operations_of_the_pack_processor() -> None:
    body = (
        f"{COPY} tile_regs_commit(); tile_regs_wait(); silu_tile_init_pack(); silu_tile_pack(0);"
        "pack_tile(0, out); tile_regs_release(); cb_push_back(out, 1); cb_pop_front(x, 1); cb_pop_front(y, 1);"
        "continue;"
    )
    x = sample(10, -2.0, 2.0)
    torch.testing.assert_close(TileProgram(body, HEADERS, grid=(1, 1)).run(x), f.silu(x), rtol=3e-6, atol=1e-6)
    instructions = (  # how the SDK's matmul waits and addresses DST
        "TTI_SEMWAIT(p_stall::STALL_TDMA | p_stall::STALL_CFG, semaphore::t6_sem(semaphore::MATH_PACK), "
        "p_stall::STALL_ON_ZERO); "
        "TT_SETC16(DEST_TARGET_REG_CFG_MATH_Offset_ADDR32, ckernel::packer::get_packer_dest_offset());"
    )
    by_hand = body.replace("tile_regs_wait();", instructions)
    torch.testing.assert_close(TileProgram(by_hand, HEADERS, grid=(1, 1)).run(x), f.silu(x), rtol=3e-6, atol=1e-6)
    other = by_hand.replace("get_packer_dest_offset()", "get_packer_dest_offset() + 1")
    with pytest.raises(DeviceError, match="unimplemented: TT_SETC16 of anything but the packer's part of DST"):
        TileProgram(other, HEADERS, grid=(1, 1)).run(x)
    early = TileProgram(f"{COPY} silu_tile_init_pack(); silu_tile_pack(0);", HEADERS)
    with pytest.raises(DeviceError, match="silu_tile runs on the pack processor, before tile_regs_wait"):
        early.run(x)


BREACHES = {
    "variant of the init": (
        f"{COPY} exp_tile_init<true>(); exp_tile<false>(0);",
        r"exp_tile<false> after its init<true>: both must be of the same variant",
    ),
    "formats of the init": (
        f"{COPY} typecast_tile_init<0, 5>(); typecast_tile<0, 8>(0);",
        r"typecast_tile<0, 8> after typecast_tile_init<0, 5>",
    ),
    "another init": (
        f"{COPY} sqrt_tile_init(); exp_tile(0);",
        r"exp_tile without its init: another vector operation was initialised last",
    ),
    "another init of two tiles": (
        f"{COPY} div_binary_tile_init(); add_binary_tile(0, 0, 0);",
        r"add_binary_tile without its init: another vector operation was initialised last",
    ),
    "nothing in DST": ("exp_tile_init(); exp_tile(1);", r"exp_tile reads DST tile 1, which nothing has written"),
    "DST index": (f"{COPY} exp_tile_init(); exp_tile(4);", r"DST tile 4: 4 tiles are there"),
}


def test_sums_differences_and_products_have_one_init() -> None:
    body = f"{COPY} sub_binary_tile_init(); add_binary_tile(0, 0, 0); mul_binary_tile(0, 0, 0);"
    result = TileProgram(body, HEADERS).run(torch.full((32, 32), 3.0))
    assert torch.equal(result, torch.full((32, 32), 36.0))


@pytest.mark.parametrize("name", BREACHES)
def test_breach(name: str) -> None:
    body, message = BREACHES[name]
    with pytest.raises(DeviceError, match=message) as caught:
        TileProgram(body, HEADERS).run(torch.ones(32, 32))
    assert caught.value.code == "TT401"


def test_32_bit_integers_need_a_32_bit_dst() -> None:
    program = TileProgram(COPY, (), "Int32", "Int32", "Int32", fp32_dest=False, direct=False)
    with pytest.raises(DeviceError, match=r"copy_tile of Int32 needs a 32-bit DST \(fp32_dest_acc_en\)"):
        program.run(torch.ones(32, 32, dtype=torch.int32))
