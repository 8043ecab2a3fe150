// Circular buffers between cores: not on this device, their names stop the run.
#pragma once

#include "api/alignment.h"
#include "vd/missing.h"

namespace experimental {

VD_MISSING(align_local_cbs_to_remote_cb)
VD_MISSING(remote_cb_pop_front)
VD_MISSING(remote_cb_push_back_and_write_pages)
VD_MISSING(remote_cb_reserve_back)
VD_MISSING(remote_cb_sender_barrier)
VD_MISSING(remote_cb_wait_front)
VD_MISSING(resize_remote_receiver_cb_interface)
VD_MISSING(resize_remote_sender_cb_interface)
VD_MISSING(update_pages_acked)
VD_MISSING(update_pages_sent)
VD_MISSING(update_remote_cb_config_in_l1)

}  // namespace experimental
