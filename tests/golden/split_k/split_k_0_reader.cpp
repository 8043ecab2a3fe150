// reader of 'split_k_0' for Wormhole: moves tiles from DRAM to L1.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
}
