// Data movement: arguments, circular buffers, tensors, NoC transfers and their barriers, semaphores.
#pragma once

#include "api/compile_time_args.h"
#include "api/debug/assert.h"
#ifndef VD_LEAN
#include "api/debug/dprint.h"
#endif
#include "api/tensor/tensor_accessor.h"
#include "vd/address_generators.h"
#include "vd/cb_interface.h"
#include "vd/cores.h"
#include "vd/kernel.h"
#include "vd/mailbox.h"
#include "vd/missing_dataflow.h"
#include "vd/noc.h"
#include "vd/noc_state.h"
#include "vd/noc_trid.h"
#include "vd/semaphore.h"
