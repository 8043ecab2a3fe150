"""SFPI code in kernels: vectors of lanes in DST, lanes switched off by conditions, faces and tiles."""

import pytest
import torch
from device_programs import TILE_COMPUTE, TileProgram

from tilelang_tt.diagnostics import DeviceError

COPIES = "copy_tile_to_dst_init_short(x); copy_tile(x, 0, 0); copy_tile(y, 0, 1);"
UNARY = "_llk_math_eltwise_unary_sfpu_params_({}, 0, VectorMode::{});"
BINARY = "_llk_math_eltwise_binary_sfpu_params_({}, 0, 1, 0, VectorMode::RC);"


def program(functions: str, call: str, **options: object) -> TileProgram:
    before = f'#include "sfpi.h"\nusing namespace sfpi;\n{functions}'
    text = TILE_COMPUTE.replace("INCLUDES", before).replace("BODY", f"{COPIES} MATH(({call[:-1]}));")
    return TileProgram("", extra={"compute.cpp": text}, **options)  # type: ignore[arg-type]


def tiles() -> torch.Tensor:
    return torch.randn(64, 96, generator=torch.Generator().manual_seed(3)) * 4


PIECES = """
inline void pieces() {
    for (int i = 0; i < 8; ++i) {
        vFloat x = dst_reg[0];
        vFloat y = x * x;
        v_if (x < -1.0f) {
            y = -x;
            v_if (x < -4.0f) { y += 100.0f; } v_endif;
        } v_elseif (x > 1.0f && x < 3.0f) {
            y = x * 2.0f - 0.5f;
        } v_else {
            y = y + 8.0f;
        } v_endif;
        dst_reg[0] = y;
        dst_reg++;
    }
}
"""


@pytest.mark.parametrize("numerics", ["fast", "chip", "exact"])
@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
def test_conditions_choose_lanes(arch: str, numerics: str) -> None:
    x = tiles()
    got = program(PIECES, UNARY.format("pieces", "RC"), arch=arch).run(x, numerics=numerics)
    wide = x.double()
    low = torch.where(wide < -4, 100 - wide, -wide)
    want = torch.where(wide < -1, low, torch.where((wide > 1) & (wide < 3), 2 * wide - 0.5, wide * wide + 8))
    torch.testing.assert_close(got.double(), want, rtol=1e-6, atol=0)


@pytest.mark.parametrize(
    ("mode", "rows", "cols"), [("R", 16, 32), ("C", 32, 16), ("RC", 32, 32), ("RC_custom", 16, 16), ("None", 16, 16)]
)
def test_a_vector_mode_chooses_faces(mode: str, rows: int, cols: int) -> None:
    body = "inline void zero() { for (int i = 0; i < 8; ++i) dst_reg[i] = 0.0f; }"
    x = torch.full((32, 32), 5.0)
    want = x.clone()
    want[:rows, :cols] = 0
    assert torch.equal(program(body, UNARY.format("zero", mode)).run(x), want)


def test_tiles_by_number() -> None:
    body = """
    inline void hypotenuse(uint32_t a, uint32_t b, uint32_t out) {
        for (uint32_t i = 0; i < 8; ++i) {
            const vFloat x = dst_reg[a * 32 + i], y = dst_reg[b * 32 + i];
            dst_reg[out * 32 + i] = x * x + y * y;
        }
    }"""
    x = tiles()
    y = x.flip(0).contiguous()
    got = program(body, BINARY.format("hypotenuse")).run(x, y)
    torch.testing.assert_close(got.double(), x.double() ** 2 + y.double() ** 2, rtol=1e-6, atol=0)


def test_parts_of_numbers() -> None:
    body = """
    inline void parts() {
        for (int i = 0; i < 8; ++i) {
            const vFloat x = dst_reg[i];
            const vFloat fraction = setexp(abs(x), 127);             // 1 .. 2
            const vFloat again = copysgn(setexp(fraction, exexp_nodebias(x)), x);
            const vInt bits = (as<vInt>(again) | vInt(0)) + vInt(0);
            dst_reg[i] = addexp(as<vFloat>(bits), 3) + max(min(x, 1.0f), -1.0f);
        }
    }"""
    x = tiles()
    want = 8 * x.double() + x.double().clamp(-1, 1)
    got = program(body, UNARY.format("parts", "RC")).run(x)
    torch.testing.assert_close(got.double(), want, rtol=1e-6, atol=0)


def test_a_16_bit_dst_cuts_off_what_is_stored() -> None:
    body = "inline void third() { for (int i = 0; i < 8; ++i) dst_reg[i] = vFloat(1.0f / 3); }"
    made = program(body, UNARY.format("third", "RC"), direct=False, fp32_dest=False)
    assert made.run(torch.ones(32, 32))[0, 0] == (torch.tensor(1 / 3).view(torch.int32) & -65536).view(torch.float32)


def test_lanes_are_columns_of_four_rows() -> None:
    """Lane l of vector v in a face: row 4 * (v / 2) + l / 8, column 2 * (l % 8) + v % 2."""
    body = """
    inline void lanes() {
        for (int i = 0; i < 8; ++i) {
            const vInt number = vConstTileId;
            vFloat value = 0.0f;
            for (int lane = 0; lane < 32; ++lane) {
                v_if (number == vInt(2 * lane)) { value = 100 * i + lane; } v_endif;
            }
            dst_reg[i] = value;
        }
    }"""
    got = program(body, UNARY.format("lanes", "RC")).run(torch.ones(32, 32))
    row, col = torch.meshgrid(torch.arange(16), torch.arange(16), indexing="ij")
    want = 100 * (row // 4 * 2 + col % 2) + row % 4 * 8 + col // 2
    assert torch.equal(got[:16, :16], want.float())
    assert torch.equal(got[16:, 16:], want.float())


def test_constants_of_a_program() -> None:
    body = """
    inline void constants() {
        vConstFloatPrgm0 = 2.5f;
        vConstFloatPrgm2 = -1.0f;
        for (int i = 0; i < 8; ++i) dst_reg[i] = vFloat(dst_reg[i]) * vConstFloatPrgm0 + vConstFloatPrgm2;
    }"""
    x = tiles()
    got = program(body, UNARY.format("constants", "RC")).run(x)
    torch.testing.assert_close(got.double(), x.double() * 2.5 - 1, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("const vFloat x = dst_reg[2 * 32]; dst_reg[0] = x;", "DST tile 2"),
        ("const vFloat x = dst_reg[99 * 32]; dst_reg[0] = x;", "DST"),
        ("dst_reg[0] = lut(dst_reg[0], 0, 0, 0);", "unimplemented: lut"),
    ],
)
def test_what_stops(body: str, message: str) -> None:
    made = program(f"inline void wrong() {{ {body} }}", UNARY.format("wrong", "RC"))
    with pytest.raises(DeviceError, match=message) as caught:
        made.run(torch.ones(32, 32))
    line = next(n for n, text in enumerate(made.extra["compute.cpp"].splitlines(), 1) if "params_" in text)
    assert f"compute.cpp:{line}" in str(caught.value)


@pytest.mark.parametrize("numerics", ["fast", "chip"])
def test_functions_that_the_sdk_brings_for_its_examples(numerics: str) -> None:
    call = "SFPU_UNARY_CALL_NO_TEMPLATE_ARGS(DST_SYNC_MODE, DST_ACCUM_MODE, {}, {});"
    x = tiles()
    headers = '#include "experimental/llk_sfpu/ckernel_sfpu_smoothstep.h"'
    step = program(headers, call.format("smoothstep_tile_face", "0, VectorMode::RC, -2.0f, 2.0f, 0.25f"))
    t = ((x.double() + 2) / 4).clamp(0, 1)
    torch.testing.assert_close(step.run(x, numerics=numerics).double(), t * t * (3 - 2 * t), rtol=1e-6, atol=1e-7)

    headers = '#include "experimental/llk_sfpu/ckernel_sfpu_custom_add.h"'
    call = call.replace("UNARY", "BINARY").format("my_add_tile_face", "0, 1, 0, VectorMode::RC")
    y = x.flip(1).contiguous()
    got = program(headers, call).run(x, y, numerics=numerics)
    torch.testing.assert_close(got.double(), x.double() + y.double(), rtol=1e-6, atol=0)
