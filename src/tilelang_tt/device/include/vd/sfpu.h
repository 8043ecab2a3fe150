// Rows for vector-unit headers: an init and a call per operation, both named as in the SDK.
#pragma once

#include "vd/compute.h"

#define VD_SFPU_INIT(NAME, OP) \
    ALWI void NAME(VD_LINE) { vd_sfpu_init(static_cast<uint32_t>(vd::Sfpu::OP), line); }

#define VD_SFPU_UNARY(NAME, OP) \
    ALWI void NAME(uint32_t idst, VD_LINE) { vd_sfpu_unary(static_cast<uint32_t>(vd::Sfpu::OP), idst, 0, line); }

// The parameter is the bit pattern of an fp32 number.
#define VD_SFPU_SCALAR(NAME, OP)                                               \
    ALWI void NAME(uint32_t idst, uint32_t param, VD_LINE) {                   \
        vd_sfpu_unary(static_cast<uint32_t>(vd::Sfpu::OP), idst, param, line); \
    }

#define VD_SFPU_BINARY(NAME, OP)                                                       \
    ALWI void NAME(uint32_t idst0, uint32_t idst1, uint32_t odst, VD_LINE) {           \
        vd_sfpu_binary(static_cast<uint32_t>(vd::Sfpu::OP), idst0, idst1, odst, line); \
    }
