#pragma once

#include "api/tensor/tensor_accessor.h"
