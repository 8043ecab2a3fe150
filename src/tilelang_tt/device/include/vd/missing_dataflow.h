// Names of the SDK's data movement that this device does not have.
#pragma once

#ifndef VD_LEAN

#include "vd/missing.h"

VD_MISSING(noc_async_read_clear_pcie_state)
VD_MISSING(noc_async_read_pcie)
VD_MISSING(noc_async_read_set_pcie_state)
VD_MISSING(noc_async_write_clear_pcie_state)
VD_MISSING(noc_async_write_pcie)
VD_MISSING(noc_async_write_set_pcie_state)
VD_MISSING(noc_cmd_bufs_mid_clear)
VD_MISSING(wait_for_sync_register_value)
VD_MISSING(get_dram_bank_base_offset)

#endif  // VD_LEAN
