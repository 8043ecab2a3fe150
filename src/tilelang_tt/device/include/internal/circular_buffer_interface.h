// get_local_cb_interface.
#pragma once

#include "vd/cb_interface.h"
