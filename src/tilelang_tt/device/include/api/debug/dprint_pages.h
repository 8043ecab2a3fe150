#pragma once

#include "vd/print.h"
