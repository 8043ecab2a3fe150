// Hot loops: unpack, pack, 16x16x16 products. One translation unit, vectors of 16 fp32 numbers.
#include "numerics.h"

#include <cstring>

#include "chip_library.h"

namespace vd {
namespace {

typedef float Vec __attribute__((vector_size(64)));
typedef uint32_t Bits __attribute__((vector_size(64)));
typedef uint16_t Half __attribute__((vector_size(32)));

constexpr uint32_t kVectors = kTileElements / 16;  // one vector per face row
constexpr uint32_t kSign = 0x80000000u;
constexpr uint32_t kExponent = 0x7F800000u;
constexpr uint32_t kBfpExponents = 64;  // bytes of shared exponents before the datums of a bfp page

template <typename V, typename P>
inline V load(const P* at) {
    V value;
    std::memcpy(&value, at, sizeof value);
    return value;
}
template <typename V, typename P>
inline void store(P* at, const V& value) {
    std::memcpy(at, &value, sizeof value);
}
inline Vec as_float(Bits bits) { return load<Vec>(&bits); }
inline Bits as_bits(Vec value) { return load<Bits>(&value); }

// Round half away from zero to bf16, kept in fp32 bits; specials by the packer's rules:
// a result without exponent is +0, NaN becomes infinity of its sign.
inline Bits half_away_bf16(Bits bits) {
    const Bits rounded = (bits + 0x8000u) & 0xFFFF0000u;
    const Bits special = (Bits)((bits & kExponent) == kExponent);
    const Bits tiny = (Bits)((rounded & kExponent) == 0u);
    const Bits finite = rounded & ~tiny;
    return (special & ((bits & kSign) | kExponent)) | (~special & finite);
}

inline Bits nearest_even_bf16(Bits bits) {
    const Bits rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) & 0xFFFF0000u;
    const Bits special = (Bits)((bits & kExponent) == kExponent);
    return (special & (bits & 0xFFFF0000u)) | (~special & rounded);
}

inline Bits nan_to_infinity(Bits bits) {
    const Bits special = (Bits)((bits & kExponent) == kExponent);
    return bits & ~(special & 0x007FFFFFu);
}

inline uint32_t bits_of(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}
inline float float_of(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

float half_to_float(uint16_t half) {
    const uint32_t sign = (half & 0x8000u) << 16, exponent = (half >> 10) & 31u, mantissa = half & 0x3FFu;
    if (exponent == 31) return float_of(sign | kExponent | (mantissa << 13));
    if (exponent == 0) {
        const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }
    return float_of(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

// fp32 to Float16. Half away from zero as the packer, or to even for accumulation in L1.
uint16_t float_to_half(float value, bool to_even) {
    const uint32_t bits = bits_of(value), sign = (bits >> 16) & 0x8000u, magnitude = bits & ~kSign;
    if (magnitude >= kExponent) return static_cast<uint16_t>(sign | 0x7C00u);  // infinity; NaN too, as for bf16
    if (magnitude < 0x38800000u) {  // below 2^-14: Float16 has a fixed step of 2^-24 there
        const float steps = float_of(magnitude) * 0x1p24f;
        uint32_t whole = static_cast<uint32_t>(steps);
        const float rest = steps - static_cast<float>(whole);
        if (rest > 0.5f || (rest == 0.5f && (!to_even || (whole & 1u)))) ++whole;
        return static_cast<uint16_t>(sign | whole);
    }
    const uint32_t bias = to_even ? 0xFFFu + ((magnitude >> 13) & 1u) : 0x1000u;
    const uint32_t rounded = (magnitude + bias) >> 13;
    const uint32_t half = rounded - (112u << 10);
    return static_cast<uint16_t>(sign | (half >= 0x7C00u ? 0x7C00u : half));
}

// ---- unpack ----

// What a source register holds of an fp32 number: no denormals, no -0.
template <Cut kCut>
inline Bits in_source(Bits bits) {
    if (kCut == Cut::None) return bits;
    const Bits exponent = bits & kExponent;
    const Bits kept = (bits & (kCut == Cut::Bf16 ? 0xFFFF0000u : 0xFFFFE000u)) & ~(Bits)(exponent == 0u);
    return kCut == Cut::Tf32 ? nan_to_infinity(kept) : kept;
}

inline Bits cut_bits(Bits bits, Cut cut) {
    switch (cut) {
        case Cut::None: return bits;
        case Cut::Tf32: return in_source<Cut::Tf32>(bits);
        case Cut::Tf32Nan: return in_source<Cut::Tf32Nan>(bits);
        default: return in_source<Cut::Bf16>(bits);
    }
}

template <Cut kCut>
void unpack_float32(const uint8_t* page, Tile& out) {
    float* to = &out.at[0][0][0];
    for (uint32_t i = 0; i < kVectors; ++i) {
        store(to + i * 16, as_float(in_source<kCut>(load<Bits>(page + i * 64))));
    }
}

template <Cut kCut>
void unpack_float16_b(const uint8_t* page, Tile& out) {
    float* to = &out.at[0][0][0];
    for (uint32_t i = 0; i < kVectors; ++i) {
        const Bits wide = __builtin_convertvector(load<Half>(page + i * 32), Bits) << 16;
        store(to + i * 16, as_float(in_source<kCut>(wide)));
    }
}

void unpack_float16(const uint8_t* page, Tile& out) {
    float* to = &out.at[0][0][0];
    for (uint32_t i = 0; i < kTileElements; ++i) {
        to[i] = half_to_float(load<uint16_t>(page + i * 2));
    }
}

// A datum is a sign and a magnitude with explicit leading bit; normalising lowers the shared exponent by its
// leading zeros, modulo 256. A sign without magnitude is minus infinity.
template <uint32_t kMagnitudeBits>
inline uint32_t bfp_bits(uint32_t datum, uint32_t exponent) {
    const uint32_t magnitude = datum & ((1u << kMagnitudeBits) - 1), sign = (datum >> kMagnitudeBits) << 31;
    const uint32_t zeros = static_cast<uint32_t>(__builtin_clz(magnitude | 1)) - (32 - kMagnitudeBits);
    const uint32_t fraction = (magnitude << (24 - kMagnitudeBits + zeros)) & 0x7FFFFFu;
    const uint32_t bits = sign | (((exponent - zeros) & 0xFFu) << 23) | fraction;
    return magnitude != 0 ? bits : sign != 0 ? 0xFF800000u : 0u;
}

template <uint32_t kMagnitudeBits>
void unpack_bfp(const uint8_t* page, Cut cut, Tile& out) {
    const uint8_t* datums = page + kBfpExponents;
    float* to = &out.at[0][0][0];
    for (uint32_t row = 0; row < kVectors; ++row) {
        uint32_t bits[16];
        for (uint32_t i = 0; i < 16; ++i) {
            const uint32_t at = row * 16 + i;
            const uint32_t datum = kMagnitudeBits == 7 ? datums[at] : (datums[at / 2] >> ((at & 1u) * 4)) & 15u;
            bits[i] = bfp_bits<kMagnitudeBits>(datum, page[row]);
        }
        const Bits row_bits = load<Bits>(bits);
        store(to + row * 16, as_float(cut_bits(row_bits, cut)));
    }
}

// ---- pack ----

void pack_float16_b(const float* from, bool accumulate, uint8_t* page) {
    for (uint32_t i = 0; i < kVectors; ++i) {
        Bits bits = half_away_bf16(as_bits(load<Vec>(from + i * 16)));
        if (accumulate) {
            const Bits old = __builtin_convertvector(load<Half>(page + i * 32), Bits) << 16;
            bits = nearest_even_bf16(as_bits(as_float(old) + as_float(bits)));
        }
        store(page + i * 32, __builtin_convertvector(bits >> 16, Half));
    }
}

// A 32-bit DST is packed as it is; a 16-bit one loses its NaNs here.
void pack_float32(const float* from, bool dst_16bit, bool accumulate, uint8_t* page) {
    for (uint32_t i = 0; i < kVectors; ++i) {
        Vec value = load<Vec>(from + i * 16);
        if (dst_16bit) value = as_float(nan_to_infinity(as_bits(value)));
        if (accumulate) value += load<Vec>(page + i * 64);
        store(page + i * 64, value);
    }
}

void pack_float16(const float* from, bool accumulate, uint8_t* page) {
    for (uint32_t i = 0; i < kTileElements; ++i) {
        uint16_t half = float_to_half(from[i], false);
        if (accumulate) {
            half = float_to_half(half_to_float(half) + half_to_float(load<uint16_t>(page + i * 2)), true);
        }
        store(page + i * 2, half);
    }
}

// Each datum is first rounded half away to 7 magnitude bits of its own exponent, then shifted to the
// largest exponent of its 16 and rounded half away again. Zero magnitudes carry no sign.
void pack_bfp8_row(const float* from, uint8_t& shared, uint8_t* datums) {
    uint32_t exponents[16], magnitudes[16], largest = 0;
    for (uint32_t i = 0; i < 16; ++i) {
        const uint32_t bits = bits_of(from[i]) & ~kSign;
        if (bits >= kExponent) {
            exponents[i] = 255;
            magnitudes[i] = 64;
        } else {
            const uint32_t rounded = bits + (1u << 16);  // half of the last of 6 fraction bits
            exponents[i] = rounded >> 23;
            magnitudes[i] = exponents[i] == 0 ? 0 : 64u | ((rounded >> 17) & 63u);  // denormals are zero once rounded
        }
        if (magnitudes[i] != 0 && exponents[i] > largest) largest = exponents[i];
    }
    shared = static_cast<uint8_t>(largest);
    for (uint32_t i = 0; i < 16; ++i) {
        const uint32_t shift = magnitudes[i] == 0 ? 0 : largest - exponents[i];
        const uint32_t magnitude = shift == 0  ? magnitudes[i]
                                   : shift > 8 ? 0
                                               : (magnitudes[i] + (1u << (shift - 1))) >> shift;
        const uint32_t sign = (bits_of(from[i]) >> 31) << 7;
        datums[i] = static_cast<uint8_t>(magnitude == 0 ? 0 : sign | magnitude);
    }
}

void pack_bfp8(const float* from, uint8_t* page) {
    for (uint32_t row = 0; row < kVectors; ++row) {
        pack_bfp8_row(from + row * 16, page[row], page + kBfpExponents + row * 16);
    }
}

// The bfp8 result cut to its top three magnitude bits; low nibble first.
void pack_bfp4(const float* from, uint8_t* page) {
    for (uint32_t row = 0; row < kVectors; ++row) {
        uint8_t wide[16], narrow[16];
        pack_bfp8_row(from + row * 16, page[row], wide);
        for (uint32_t i = 0; i < 16; ++i) {
            const uint32_t magnitude = (wide[i] & 127u) >> 4;
            narrow[i] = static_cast<uint8_t>(magnitude == 0 ? 0 : ((wide[i] >> 7) << 3) | magnitude);
        }
        for (uint32_t i = 0; i < 8; ++i) {
            page[kBfpExponents + row * 8 + i] = static_cast<uint8_t>(narrow[2 * i] | (narrow[2 * i + 1] << 4));
        }
    }
}

// ---- matrix product of faces ----

#if defined(__AVX512F__) || defined(__ARM_FEATURE_SVE)
constexpr int kRows = 16;  // accumulators kept in registers
#elif defined(__AVX__) || defined(__aarch64__)
constexpr int kRows = 4;
#else
constexpr int kRows = 2;
#endif

// sum + a * row in one rounding. Where the processor has no such instruction, lane by lane and slowly: the bits must not
// depend on the machine. (The products of source registers are exact in fp32; those of `exact` numerics are not.)
inline void multiply_add(Vec& sum, float a, const Vec& row) {
#if defined(__FMA__) || defined(__AVX512F__) || defined(__ARM_FEATURE_FMA) || defined(__riscv_f)
    sum += a * row;  // this file is compiled with -ffp-contract=fast
#else
    for (int lane = 0; lane < 16; ++lane) sum[lane] = __builtin_fmaf(a, row[lane], sum[lane]);
#endif
}

// Rows [0, kRows) of one face: dst (+)= a0 * b0 + a1 * b1, where a0, a1 are neighbours along K.
template <bool kRound>
inline void multiply_rows(float* dst, const float* a0, const float* a1, const float* b0, const float* b1, bool zero) {
    Vec sum[kRows];
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
        sum[i] = zero ? Vec{} : load<Vec>(dst + i * 16);
    }
    const float* left[2] = {a0, a1};
    const float* right[2] = {b0, b1};
    for (int half = 0; half < 2; ++half) {
        const float* a = left[half];
        const float* b = right[half];
        for (int k = 0; k < 16; ++k) {
            const Vec row = load<Vec>(b + k * 16);
#pragma GCC unroll 16
            for (int i = 0; i < kRows; ++i) {
                multiply_add(sum[i], a[i * 16 + k], row);
            }
        }
        if (kRound) {
#pragma GCC unroll 16
            for (int i = 0; i < kRows; ++i) {
                sum[i] = as_float(half_away_bf16(as_bits(sum[i])));
            }
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
        store(dst + i * 16, sum[i]);
    }
}

template <bool kRound>
void multiply(Tile& dst, const Tile& a, const Tile& b, bool zero) {
    for (int face_row = 0; face_row < 2; ++face_row) {
        for (int face_col = 0; face_col < 2; ++face_col) {
            for (int row = 0; row < 16; row += kRows) {
                multiply_rows<kRound>(dst.at[face_row * 2 + face_col][row], a.at[face_row * 2][row],
                                      a.at[face_row * 2 + 1][row], b.at[face_col][0], b.at[2 + face_col][0], zero);
            }
        }
    }
}

template <typename Round>
inline void map_tile(Tile& tile, Round round) {
    float* at = &tile.at[0][0][0];
    for (uint32_t i = 0; i < kVectors; ++i) {
        store(at + i * 16, as_float(round(as_bits(load<Vec>(at + i * 16)))));
    }
}

}  // namespace

Cut source_cut() {
    if (device.exact) return Cut::None;
    if (!core->group->fp32_dest) return Cut::Bf16;
    return device.bit_true ? Cut::Tf32Nan : Cut::Tf32;
}

bool dst_is_16bit() { return !core->group->fp32_dest && !device.exact; }

void source_to_dst(Tile& tile) {
    if (device.bit_true && core->group->fp32_dest) map_tile(tile, nan_to_infinity);
}

void dst_to_source(const Tile& dst, DataFormat operand, Tile& out) {
    out = dst;
    const bool wide = operand == DataFormat::Float32 && core->group->fp32_dest;
    map_tile(out, [wide](Bits bits) { return cut_bits(bits, device.exact ? Cut::None : wide ? Cut::Tf32Nan : Cut::Bf16); });
}

void unpack_tile(DataFormat format, const uint8_t* page, Cut cut, Tile& out) {
    ++core->statistics.tiles_unpacked;
    switch (format) {
        case DataFormat::Float32:
            switch (cut) {
                case Cut::None: return unpack_float32<Cut::None>(page, out);
                case Cut::Tf32: return unpack_float32<Cut::Tf32>(page, out);
                case Cut::Tf32Nan: return unpack_float32<Cut::Tf32Nan>(page, out);
                default: return unpack_float32<Cut::Bf16>(page, out);
            }
        case DataFormat::Float16_b:
            switch (cut) {
                case Cut::None: return unpack_float16_b<Cut::None>(page, out);
                case Cut::Tf32: return unpack_float16_b<Cut::Tf32>(page, out);
                case Cut::Tf32Nan: return unpack_float16_b<Cut::Tf32Nan>(page, out);
                default: return unpack_float16_b<Cut::Bf16>(page, out);
            }
        case DataFormat::Float16:
            if (cut == Cut::Bf16) vd_unimplemented("Float16 operands with a 16-bit DST", fiber->line);
            return unpack_float16(page, out);
        case DataFormat::Bfp8_b: return unpack_bfp<7>(page, cut, out);
        case DataFormat::Bfp4_b: return unpack_bfp<3>(page, cut, out);
        default: vd_unimplemented("unpacking an integer format", fiber->line);
    }
}

void pack_tile(DataFormat format, const Tile& tile, bool accumulate, uint8_t* page) {
    ++core->statistics.tiles_packed;
    const float* from = &tile.at[0][0][0];
    if (accumulate && (format == DataFormat::Bfp8_b || format == DataFormat::Bfp4_b)) {
        vd_unimplemented("packer L1 accumulation in a block floating point format", fiber->line);
    }
    if (device.bit_true && accumulate && (format == DataFormat::Float32 || format == DataFormat::Float16_b)) {
        alignas(64) uint8_t packed[4 * kTileElements];
        if (format == DataFormat::Float32) {
            pack_float32(from, dst_is_16bit(), false, packed);
        } else {
            pack_float16_b(from, false, packed);
        }
        return chip::library->accumulate_page(format, packed, page);
    }
    switch (format) {
        case DataFormat::Float32:
            return pack_float32(from, dst_is_16bit(), accumulate, page);
        case DataFormat::Float16_b: return pack_float16_b(from, accumulate, page);
        case DataFormat::Float16: return pack_float16(from, accumulate, page);
        case DataFormat::Bfp8_b: return pack_bfp8(from, page);
        case DataFormat::Bfp4_b: return pack_bfp4(from, page);
        default: vd_unimplemented("packing an integer format", fiber->line);
    }
}

void multiply_tile(Tile& dst, const Tile& left, const Tile& right, bool dst_is_zero) {
    ++core->statistics.tile_products;
    if (device.bit_true) return chip::library->multiply_tile(dst, left, right, dst_is_zero);
    if (dst_is_16bit()) {
        multiply<true>(dst, left, right, dst_is_zero);
    } else {
        multiply<false>(dst, left, right, dst_is_zero);
    }
}

void cut_to_fidelity(Tile& tile, bool srca) {
    const Fidelity fidelity = core->group->fidelity;
    if (device.exact || device.bit_true || fidelity == Fidelity::HiFi3 || fidelity == Fidelity::HiFi4) return;
    if (srca && fidelity == Fidelity::HiFi2) return;
    constexpr uint32_t kSrcaLow = 23 - 4, kSrcbLow = 23 - 6;  // fraction bits below those of the first phase
    const uint32_t keep = ~0u << (srca ? kSrcaLow : kSrcbLow);
    map_tile(tile, [keep](Bits bits) { return bits & keep; });
}

void transpose_in_place(Tile& tile) {
    const Tile from = tile;
    for (int face = 0; face < 4; ++face) {
        const int source = face == 1 ? 2 : face == 2 ? 1 : face;
        for (uint32_t row = 0; row < kFace; ++row) {
            for (uint32_t col = 0; col < kFace; ++col) {
                tile.at[face][row][col] = from.at[source][col][row];
            }
        }
    }
}

void round_to_16bit_dst(Tile& tile) { map_tile(tile, half_away_bf16); }
void truncate_to_16bit_dst(Tile& tile) {
    map_tile(tile, [](Bits bits) { return bits & 0xFFFF0000u; });
}
void nearest_even_to_16bit_dst(Tile& tile) { map_tile(tile, nearest_even_bf16); }

}  // namespace vd
