"""C++ that scalar code calls: printed in front of a kernel where it is used, what it needs before it.

The cores that run it have no floating point. The compiler calls its own library for float and double; types of fewer
bits are kept as floats and rounded by hand.
"""

from __future__ import annotations

from collections.abc import Iterable

from tilelang_tt.codegen.code_math import MATH, MATH_ALIASES
from tilelang_tt.codegen.code_rounding import ROUNDED, ROUNDED_ALIASES

_TENSOR = """\
// A tensor whose elements are read and written one at a time. A line of it is kept in L1; behind it is room for an
// element on its way out.
template <typename Pages, uint32_t page_bytes = 4096>
struct Elements {
    static constexpr uint32_t line_bytes = page_bytes % 256 == 0 ? 256 : 128, none = 0xffffffff;
    static constexpr uint32_t room = line_bytes + 64;

    const Pages& pages;
    const uint32_t l1;
    uint32_t line = none;
    bool writing = false;

    template <typename Word>
    Word get(uint32_t index) {
        const uint32_t at = index * sizeof(Word);
        if (line != at / line_bytes) {
            if (writing) noc_async_write_barrier();
            writing = false;
            line = at / line_bytes;
            const uint32_t start = line * line_bytes;
            noc_async_read(pages.get_noc_addr(start / page_bytes, start % page_bytes), l1, line_bytes);
            noc_async_read_barrier();
        }
        return *reinterpret_cast<volatile tt_l1_ptr Word*>(l1 + at % line_bytes);
    }

    template <typename Word>
    void put(uint32_t index, Word value) {
        const uint32_t at = index * sizeof(Word), slot = l1 + line_bytes + at % 64;
        noc_async_writes_flushed();
        *reinterpret_cast<volatile tt_l1_ptr Word*>(slot) = value;
        if (line == at / line_bytes) *reinterpret_cast<volatile tt_l1_ptr Word*>(l1 + at % line_bytes) = value;
        noc_async_write(slot, pages.get_noc_addr(at / page_bytes, at % page_bytes), sizeof(Word));
        writing = true;
    }
};"""

_TILES = """\
// A tensor that lies as the tile engines want it. Tiles of 2048 bytes hold bfloat16, others numbers of 32 bits, and so
// do rows, whose next 16 columns follow at once. An element is there in each of `rows` rows and `cols` columns.
template <typename Pages, uint32_t page_bytes, uint32_t rows = 1, uint32_t cols = 1, uint32_t next_columns = 256>
struct Tiles {
    static constexpr bool narrow = page_bytes == 2048 && next_columns == 256;
    Elements<Pages, page_bytes> elements;

    template <typename Word>
    Word get(uint32_t index) {
        if constexpr (narrow) {
            return from_bfloat16(elements.template get<uint16_t>(index));
        } else {
            return elements.template get<Word>(index);
        }
    }

    template <typename Word>
    void put(uint32_t index, Word value) {
        for (uint32_t row = 0; row < rows; ++row) {
            for (uint32_t col = 0; col < cols; ++col) {
                const uint32_t at = index + row / 16 * 512 + row % 16 * 16 + col / 16 * next_columns + col % 16;
                if constexpr (narrow) {
                    elements.put(at, to_bfloat16(value));
                } else {
                    elements.put(at, value);
                }
            }
        }
    }
};"""

_IN_TILES = """\
// The number of an element of matrices in 32 x 32 tiles: four faces of 16 x 16 make a tile, two beside two.
inline uint32_t in_tiles(uint32_t matrix, uint32_t row, uint32_t col, uint32_t row_tiles, uint32_t col_tiles) {
    const uint32_t tile = (matrix * row_tiles + row / 32) * col_tiles + col / 32;
    return tile * 1024 + row % 32 / 16 * 512 + col % 32 / 16 * 256 + row % 16 * 16 + col % 16;
}"""

_PACKED = """\
// Elements of 4 or 2 bits, several to a byte, the lowest bits first, of a block in L1.
template <uint32_t bits>
inline uint8_t packed_at(const tt_l1_ptr uint8_t* block, uint32_t index) {
    constexpr uint32_t in_byte = 8 / bits;
    return block[index / in_byte] >> index % in_byte * bits & ((1 << bits) - 1);
}
template <uint32_t bits>
inline void put_packed(tt_l1_ptr uint8_t* block, uint32_t index, uint8_t element) {
    constexpr uint32_t in_byte = 8 / bits;
    const uint32_t shift = index % in_byte * bits;
    block[index / in_byte] = (block[index / in_byte] & ~(((1 << bits) - 1) << shift)) | element << shift;
}"""

_TENSOR_PACKED = """\
// Elements of 4 or 2 bits, several to a byte, the lowest bits first, of a tensor.
template <uint32_t bits, typename Tensor>
inline uint8_t packed_in(Tensor& tensor, uint32_t index) {
    constexpr uint32_t in_byte = 8 / bits;
    return tensor.template get<uint8_t>(index / in_byte) >> index % in_byte * bits & ((1 << bits) - 1);
}
template <uint32_t bits, typename Tensor>
inline void put_packed_in(Tensor& tensor, uint32_t index, uint8_t element) {
    constexpr uint32_t in_byte = 8 / bits;
    const uint32_t shift = index % in_byte * bits;
    const uint8_t others = tensor.template get<uint8_t>(index / in_byte) & ~(((1 << bits) - 1) << shift);
    tensor.template put<uint8_t>(index / in_byte, others | element << shift);
}"""

_BITS_AS = """\
// The same bits as another type of the same size.
template <typename To, typename From>
inline To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    __builtin_memcpy(&to, &from, sizeof(To));
    return to;
}"""

_NARROWED = """\
// A float in fewer bits: a sign, an exponent, a fraction. To the nearest, ties to even. What is too large becomes an
// infinity if the type has one (`infinite`), else its largest number; NaN is `nan`.
template <uint32_t exponent_bits, uint32_t fraction_bits, int32_t bias, bool infinite, uint32_t largest, uint32_t nan>
inline uint32_t narrowed(float number) {
    const uint32_t bits = bits_as<uint32_t>(number), sign = bits >> 31 << (exponent_bits + fraction_bits);
    const uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return sign | nan;
    const int32_t exponent = int32_t(magnitude >> 23) - 127 + bias;
    if (exponent < -int32_t(fraction_bits)) return sign;
    const uint32_t fraction = magnitude >> 23 == 0 ? 0 : (magnitude & 0x7fffff) | 0x800000;
    const uint32_t lost = 23 - fraction_bits + (exponent < 1 ? 1 - exponent : 0);
    const uint32_t half = 1u << (lost - 1), kept = fraction >> lost, rest = fraction & (2 * half - 1);
    const uint32_t up = rest > half || (rest == half && (kept & 1)) ? 1 : 0;
    const uint32_t steps = exponent < 1 ? 0 : uint32_t(exponent - 1) << fraction_bits;
    const uint32_t found = magnitude == 0x7f800000 ? 0xffffffff : steps + kept + up;
    return sign | (found > largest ? (infinite ? largest + 1 : largest) : found);
}"""

_WIDENED = """\
// The float that such bits are. `infinite`: the largest exponent is for infinities and NaN; else only `nan` is none.
template <uint32_t exponent_bits, uint32_t fraction_bits, uint32_t bias, bool infinite, uint32_t nan>
inline float widened(uint32_t bits) {
    constexpr uint32_t most = (1 << exponent_bits) - 1;
    const uint32_t sign = bits >> (exponent_bits + fraction_bits) << 31;
    const uint32_t exponent = bits >> fraction_bits & most, fraction = bits & ((1 << fraction_bits) - 1);
    if (infinite && exponent == most) return bits_as<float>(sign | 0x7f800000 | fraction << (23 - fraction_bits));
    const uint32_t magnitude = bits & ((1u << (exponent_bits + fraction_bits)) - 1);
    if (!infinite && (nan >> 7 ? bits : magnitude) == nan) return bits_as<float>(0x7fc00000u);
    if (exponent == 0) {
        const float number = float(int32_t(fraction)) * bits_as<float>((128 - bias - fraction_bits) << 23);
        return sign ? -number : number;
    }
    return bits_as<float>(sign | (exponent + 127 - bias) << 23 | fraction << (23 - fraction_bits));
}"""


def _type(name: str, word: str, to: str, back: str) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """The three functions of a type: to its bits, back to a float, and rounding to it."""
    return (
        (f"to_{name}", f"inline {word} to_{name}(float number) {{ {to} }}", ("narrowed",)),
        (f"from_{name}", f"inline float from_{name}({word} bits) {{ {back} }}", ("widened",)),
        (
            f"as_{name}",
            f"inline float as_{name}(float number) {{ return from_{name}(to_{name}(number)); }}",
            (f"to_{name}", f"from_{name}"),
        ),
    )


_BFLOAT16 = """\
inline uint16_t to_bfloat16(float number) {
    const uint32_t bits = bits_as<uint32_t>(number);
    if ((bits & 0x7fffffff) > 0x7f800000) return bits >> 16 | 0x40;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}"""

_E8M0 = """\
// A power of two: the exponent of a float, rounded up; the sign is dropped.
inline uint8_t to_float8_e8m0fnu(float number) {
    const uint32_t magnitude = bits_as<uint32_t>(number) & 0x7fffffff;
    if (magnitude > 0x7f800000) return 0xff;
    const uint32_t exponent = magnitude >> 23;
    const bool more = exponent == 0 ? magnitude > 0x400000 : (magnitude & 0x7fffff) != 0;
    return exponent + more > 0xfe ? 0xfe : exponent + more;
}"""

_FROM_E8M0 = """\
inline float from_float8_e8m0fnu(uint8_t bits) {
    if (bits == 0xff) return bits_as<float>(0x7fc00000u);
    return bits_as<float>(bits == 0 ? 0x400000u : uint32_t(bits) << 23);
}"""

_CUT = """\
// A float as a whole number: towards zero, the nearest end of the type where it does not fit, 0 for NaN.
template <typename Whole, typename Float>
inline Whole cut(Float number) {
    constexpr bool is_signed = Whole(-1) < Whole(0);
    constexpr Whole most = is_signed ? Whole((1ull << (sizeof(Whole) * 8 - 1)) - 1) : Whole(-1);
    constexpr Whole least = is_signed ? Whole(-most - 1) : Whole(0);
    if (number != number) return 0;
    if (number >= Float(most)) return most;
    return number <= Float(least) ? least : Whole(number);
}"""

_FLOOR = """\
// Division that rounds down, also below zero. The least number by -1 wraps around.
template <typename Whole>
inline Whole floor_div(Whole a, Whole b) {
    return b == -1 ? Whole(0 - uint64_t(a)) : a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
template <typename Whole>
inline Whole floor_mod(Whole a, Whole b) {
    const Whole rest = b == -1 ? 0 : a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}"""

_TRUNCATED = """\
// Division that rounds towards zero. The least number by -1 wraps around.
template <typename Whole>
inline Whole trunc_div(Whole a, Whole b) { return b == -1 ? Whole(0 - uint64_t(a)) : a / b; }
template <typename Whole>
inline Whole trunc_mod(Whole a, Whole b) { return b == -1 ? 0 : a % b; }"""

_FLOOR_FLOATS = """\
template <typename Float>
inline Float floor_mod_of(Float a, Float b) { return a - std::floor(a / b) * b; }"""

_ORDER = """\
// The larger and the smaller of two; of a number and NaN the number.
template <typename T>
inline T larger(T a, T b) { return a > b || b != b ? a : b; }
template <typename T>
inline T smaller(T a, T b) { return a < b || b != b ? a : b; }"""

_WRAPPED = """\
// Sums, differences and products that wrap around.
template <typename Whole>
inline Whole wrapped_add(Whole a, Whole b) { return Whole(uint64_t(a) + uint64_t(b)); }
template <typename Whole>
inline Whole wrapped_sub(Whole a, Whole b) { return Whole(uint64_t(a) - uint64_t(b)); }
template <typename Whole>
inline Whole wrapped_mul(Whole a, Whole b) { return Whole(uint64_t(a) * uint64_t(b)); }"""

_INSIDE = """\
inline bool inside(int64_t index, int64_t extent) { return index >= 0 && index < extent; }"""


def _shaped(exponent: int, fraction: int, bias: int, infinite: bool, large: bool, largest: int, nan: int) -> list[str]:
    """`infinite`: the type has infinities; `large`: what is too large becomes one."""
    shape, flags = f"{exponent}, {fraction}, {bias}", [str(flag).lower() for flag in (infinite, large)]
    bits = f"narrowed<{shape}, {flags[1]}, {largest:#x}, {nan:#x}>(number)"
    no_sign = "const uint32_t bits = {}; return bits == 0x80 && number == number ? 0 : bits;"  # a zero has none
    none = nan if exponent + fraction >= 7 else 0xFF  # 4 bits are numbers, all of them
    back = f"return widened<{shape}, {flags[0]}, {none:#x}>(bits);"
    return [no_sign.format(bits) if nan == 0x80 else f"return {bits};", back]


# Name -> (text, what it needs). In this order they are printed.
SUPPORT: dict[str, tuple[str, tuple[str, ...]]] = {
    "Elements": (_TENSOR, ()),
    "packed_at": (_PACKED, ()),
    "packed_in": (_TENSOR_PACKED, ()),
    "bits_as": (_BITS_AS, ()),
    "narrowed": (_NARROWED, ("bits_as",)),
    "widened": (_WIDENED, ("bits_as",)),
    "to_bfloat16": (_BFLOAT16, ("bits_as",)),
    "from_bfloat16": (
        "inline float from_bfloat16(uint16_t bits) { return bits_as<float>(uint32_t(bits) << 16); }",
        ("bits_as",),
    ),
    "as_bfloat16": (
        "inline float as_bfloat16(float number) { return from_bfloat16(to_bfloat16(number)); }",
        ("to_bfloat16", "from_bfloat16"),
    ),
    "Tiles": (_TILES, ("Elements", "to_bfloat16", "from_bfloat16")),
    "in_tiles": (_IN_TILES, ()),
    **{
        name: (text, needs)
        for kind, word, shape in (
            ("float16", "uint16_t", (5, 10, 15, True, True, 0x7BFF, 0x7E00)),
            ("float4_e2m1fn", "uint8_t", (2, 1, 1, False, False, 0x7, 0x7)),
            ("float8_e4m3fn", "uint8_t", (4, 3, 7, False, False, 0x7E, 0x7F)),
            ("float8_e5m2", "uint8_t", (5, 2, 15, True, False, 0x7B, 0x7F)),
            ("float8_e4m3fnuz", "uint8_t", (4, 3, 8, False, False, 0x7F, 0x80)),
            ("float8_e5m2fnuz", "uint8_t", (5, 2, 16, False, False, 0x7F, 0x80)),
        )
        for name, text, needs in _type(kind, word, *_shaped(*shape))
    },
    "to_float8_e8m0fnu": (_E8M0, ("bits_as",)),
    "from_float8_e8m0fnu": (_FROM_E8M0, ("bits_as",)),
    "as_float8_e8m0fnu": (
        "inline float as_float8_e8m0fnu(float number) { return from_float8_e8m0fnu(to_float8_e8m0fnu(number)); }",
        ("to_float8_e8m0fnu", "from_float8_e8m0fnu"),
    ),
    "as_int4": ("inline int8_t as_int4(int32_t number) { return int8_t(number << 4) >> 4; }", ()),
    "as_int2": ("inline int8_t as_int2(int32_t number) { return int8_t(number << 6) >> 6; }", ()),
    "cut": (_CUT, ()),
    "floor_div": (_FLOOR, ()),
    "trunc_div": (_TRUNCATED, ()),
    "floor_mod_of": (_FLOOR_FLOATS, ()),
    "larger": (_ORDER, ()),
    "wrapped_add": (_WRAPPED, ()),
    "inside": (_INSIDE, ()),
    **MATH,
    **ROUNDED,
}
ALIASES = {
    "put_packed": "packed_at",
    "put_packed_in": "packed_in",
    "smaller": "larger",
    "floor_mod": "floor_div",
    "trunc_mod": "trunc_div",
    "wrapped_sub": "wrapped_add",
    "wrapped_mul": "wrapped_add",
    **MATH_ALIASES,
    **ROUNDED_ALIASES,
}


def needed(names: Iterable[str]) -> list[str]:
    """The texts of functions and of what they need, in order."""
    wanted: set[str] = set()
    waiting = [ALIASES.get(name, name) for name in names]
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            waiting += SUPPORT[name][1]
    return [text for name, (text, _) in SUPPORT.items() if name in wanted]
