// compute of 'histogram' for Wormhole: computes on tiles in L1.
#include <cstdint>
#include "api/compute/common.h"

void kernel_main() {
}
