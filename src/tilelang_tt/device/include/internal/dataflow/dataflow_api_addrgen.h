// The older address generators.
#pragma once

#include "vd/address_generators.h"
