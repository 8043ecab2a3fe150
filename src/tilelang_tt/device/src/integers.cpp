// Integer formats between pages and DST. A DST element holds the bits; the vector unit reads them as two's complement.
#include <cstring>

#include "machine.h"

namespace vd {
namespace {

inline uint32_t bits_at(const Tile& tile, uint32_t i) {
    uint32_t bits;
    std::memcpy(&bits, &tile.at[0][0][0] + i, sizeof bits);
    return bits;
}
inline void set_bits(Tile& tile, uint32_t i, uint32_t bits) { std::memcpy(&tile.at[0][0][0] + i, &bits, sizeof bits); }

}  // namespace

// 16-bit integers reach the upper half of a 32-bit DST, but are packed from the lower one: a typecast must come between.
void unpack_integers(DataFormat format, const uint8_t* page, Tile& out) {
    for (uint32_t i = 0; i < kTileElements; ++i) {
        uint32_t bits = 0;
        if (is_32bit_integer(format)) {
            std::memcpy(&bits, page + i * 4, 4);
        } else if (format == DataFormat::UInt16) {
            uint16_t half;
            std::memcpy(&half, page + i * 2, 2);
            bits = core->group->fp32_dest ? uint32_t{half} << 16 : half;
        } else if (format == DataFormat::UInt8) {
            bits = page[i];
        } else {
            bits = static_cast<uint32_t>(static_cast<int32_t>(static_cast<int8_t>(page[i])));
        }
        set_bits(out, i, bits);
    }
}

void pack_integers(DataFormat format, const Tile& tile, uint8_t* page) {
    for (uint32_t i = 0; i < kTileElements; ++i) {
        const uint32_t bits = bits_at(tile, i);
        if (is_32bit_integer(format)) {
            std::memcpy(page + i * 4, &bits, 4);
        } else if (format == DataFormat::UInt16) {
            const uint16_t half = static_cast<uint16_t>(bits);
            std::memcpy(page + i * 2, &half, 2);
        } else {
            page[i] = static_cast<uint8_t>(bits);
        }
    }
}

}  // namespace vd
