#pragma once

#include "vd/kernel.h"
