// Reads from the L1 of other cores, timed from the first issue to the barrier.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"
#include "api/dataflow/endpoints.h"
#include "api/dataflow/noc.h"
#include "tools/profiler/kernel_profiler.hpp"

constexpr bool stateful = get_compile_time_arg_val(0) != 0;

void kernel_main() {
    const uint32_t source = get_arg_val<uint32_t>(0), target = get_arg_val<uint32_t>(1);
    const uint32_t count = get_arg_val<uint32_t>(2), bytes = get_arg_val<uint32_t>(3), sources = get_arg_val<uint32_t>(4);
    Noc noc(noc_index);
    UnicastEndpoint one;
    DeviceZoneScopedN("transfers");
    for (uint32_t place = 0; place < sources; ++place) {
        const uint32_t x = get_arg_val<uint32_t>(5 + 2 * place), y = get_arg_val<uint32_t>(6 + 2 * place);
        if constexpr (stateful) {
            noc.set_async_read_state(one, bytes, {.noc_x = x, .noc_y = y, .addr = source});
            for (uint32_t i = 0; i < count; ++i)
                noc.async_read_with_state(one, one, bytes, {.noc_x = x, .noc_y = y, .addr = source}, {.addr = target});
        } else {
            for (uint32_t i = 0; i < count; ++i)
                noc.async_read(one, one, bytes, {.noc_x = x, .noc_y = y, .addr = source}, {.addr = target});
        }
    }
    noc.async_read_barrier();
}
