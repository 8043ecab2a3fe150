// What kernels print: line by line on standard error, since the report has standard output to itself. runtime/printed.py
// makes of "@launch x y role line text" what the user reads.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "circular_buffer.h"
#include "numerics.h"
#include "tile_shapes.h"
#include "vd/noc_abi.h"

namespace vd {
namespace {

bool is_silent() {
    const char* const asked = std::getenv("TILELANG_TT_DPRINT");
    return asked != nullptr && !std::strcmp(asked, "0");
}

void send_line(const Fiber& which) {
    std::fprintf(stderr, "@%u %u %u %s %u %s\n", device.launch_index, core->x, core->y, role_name(which.role),
                 which.printed_line, which.printed.text());
}

}  // namespace

void finish_print(Fiber& which) {
    if (!which.printed.empty()) send_line(which);
    which.printed.clear();
}

}  // namespace vd

using namespace vd;

extern "C" {

void vd_print(const char* text, uint32_t line) {
    begin(line);
    static const bool silent = is_silent();
    for (; *text && !silent; ++text) {
        if (fiber->printed.empty()) fiber->printed_line = line;
        if (*text != '\n') {
            fiber->printed += *text;
            continue;
        }
        send_line(*fiber);
        fiber->printed.clear();
    }
}

void vd_tile_slice(uint32_t cb, uint32_t tile, const uint8_t* range, VdSliceEnd end, bool rows, bool untilized,
                   uint32_t most_bytes, char* out, uint32_t size) {
    const CbConfig& config = cb_config(cb);
    const CbState& state = core->cbs[cb];
    const bool front = end == VD_SLICE_FRONT ||
                       (end == VD_SLICE_EITHER && state.consumer == fiber->role && tile < state.waited);
    const uint32_t page = (front ? state.read_page : state.write_page) + tile;
    if (page >= config.pages) {
        std::snprintf(out, size, "(tile %u lies past the end of CB %u)", tile, cb);
        return;
    }
    static thread_local Tile decoded;
    const uint8_t* const bytes = core->l1 + page_offset(cb, page);
    const bool integers = is_integer(config.storage);
    unpack_page(config, bytes, Cut::None, decoded);
    const uint32_t element_bytes = config.page_bytes / kTileElements > 0 ? config.page_bytes / kTileElements : 1;
    uint32_t used = 0, left = most_bytes / element_bytes;
    const auto put = [&](const char* text) {
        for (; *text && used + 1 < size; ++text) out[used++] = *text;
    };
    const float* const flat = &decoded.at[0][0][0];
    for (uint32_t h = range[0]; h < range[1] && left != 0; h += range[2]) {
        for (uint32_t w = range[3]; w < range[4] && left != 0; w += range[5], --left) {
            const float value = untilized ? element(decoded, h, w) : flat[h * 32 + w];
            char digits[32];
            int32_t number;
            std::memcpy(&number, &value, sizeof number);
            if (!integers) std::snprintf(digits, sizeof digits, "%g ", static_cast<double>(value));
            if (integers) std::snprintf(digits, sizeof digits, "%lld ", config.declared == DataFormat::UInt32
                                        ? static_cast<long long>(static_cast<uint32_t>(number)) : static_cast<long long>(number));
            put(digits);
        }
        if (rows) put("\n");
    }
    if (left == 0) put("<TileSlice data truncated due to exceeding max count>\n");
    out[used] = 0;
}

}  // extern "C"
