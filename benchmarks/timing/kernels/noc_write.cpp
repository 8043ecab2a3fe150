// Writes to the L1 of other cores, timed from the first issue to the barrier. KIND chooses how.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"
#include "api/dataflow/endpoints.h"
#include "api/dataflow/noc.h"
#include "tools/profiler/kernel_profiler.hpp"

constexpr uint32_t kEach = 0, kMulticast = 1, kLinked = 2;
constexpr uint32_t kind = get_compile_time_arg_val(0);
constexpr bool stateful = get_compile_time_arg_val(1) != 0;
constexpr bool loopback = get_compile_time_arg_val(2) != 0;

void kernel_main() {
    const uint32_t source = get_arg_val<uint32_t>(0), target = get_arg_val<uint32_t>(1);
    const uint32_t count = get_arg_val<uint32_t>(2), bytes = get_arg_val<uint32_t>(3), targets = get_arg_val<uint32_t>(4);
    constexpr uint32_t first = 5;  // further arguments: x and y of every target, or of two corners
    Noc noc(noc_index);
    UnicastEndpoint one;
    MulticastEndpoint many;
    DeviceZoneScopedN("transfers");
    if constexpr (kind == kEach) {
        for (uint32_t place = 0; place < targets; ++place) {
            const uint32_t x = get_arg_val<uint32_t>(first + 2 * place), y = get_arg_val<uint32_t>(first + 2 * place + 1);
            if constexpr (stateful) {
                noc.set_async_write_state(one, bytes, {.noc_x = x, .noc_y = y, .addr = target});
                for (uint32_t i = 0; i < count; ++i)
                    noc.async_write_with_state(one, one, bytes, {.addr = source}, {.noc_x = x, .noc_y = y, .addr = target});
            } else {
                for (uint32_t i = 0; i < count; ++i)
                    noc.async_write(one, one, bytes, {.addr = source}, {.noc_x = x, .noc_y = y, .addr = target});
            }
        }
    } else {
        constexpr NocOptions options = loopback ? NocOptions::MCAST_INCL_SRC : NocOptions::DEFAULT;
        const uint32_t x0 = get_arg_val<uint32_t>(first), y0 = get_arg_val<uint32_t>(first + 1);
        const uint32_t x1 = get_arg_val<uint32_t>(first + 2), y1 = get_arg_val<uint32_t>(first + 3);
        for (uint32_t i = 0; i < count; ++i)
            noc.async_write_multicast<options>(
                one, many, bytes, targets, {.addr = source},
                {.noc_x_start = x0, .noc_y_start = y0, .noc_x_end = x1, .noc_y_end = y1, .addr = target},
                kind == kLinked && i + 1 < count);
    }
    noc.async_write_barrier();
}
