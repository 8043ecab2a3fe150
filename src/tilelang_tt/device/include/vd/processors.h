// What kernels say to one of the compute processors directly: stalls, semaphores between unpack, math and pack, and the
// counter of rows of DST. Here the three run as one, in the order of the text: a stall has nothing to wait for, and a
// wait for a semaphore holds only if the text has posted it before.
#pragma once

#include "vd/llk.h"
#include "vd/sfpi_abi.h"

struct p_stall {
    static constexpr uint32_t NONE = 0, THCON = 1, UNPACK0 = 2, UNPACK1 = 4, UNPACK = 6, PACK0 = 8, PACK = 0x78, MATH = 0x80,
                              SRCA_CLR = 0x100, SRCB_CLR = 0x200, SRCA_VLD = 0x400, SRCB_VLD = 0x800, XMOV = 0x1000,
                              TRISC_CFG = 0x2000, SFPU1 = 0x4000, WAIT_SFPU = 0x4000;
    static constexpr uint32_t STALL_TDMA = 1, STALL_SYNC = 2, STALL_PACK = 4, STALL_UNPACK = 8, STALL_XMOV = 0x10,
                              STALL_THCON = 0x20, STALL_MATH = 0x40, STALL_CFG = 0x80, STALL_SFPU = 0x100,
                              STALL_THREAD = 0x1FF;
    static constexpr uint32_t STALL_ON_ZERO = 1, STALL_ON_MAX = 2;
};

struct p_setrwc {
    static constexpr uint32_t CLR_NONE = 0, CLR_A = 1, CLR_B = 2, CLR_AB = 3;
    static constexpr uint32_t SET_A = 1, SET_B = 2, SET_AB = 3, SET_D = 4, SET_AD = 5, SET_BD = 6, SET_ABD = 7, SET_F = 8;
    static constexpr uint32_t CR_A = 1, CR_B = 2, CR_AB = 3, CR_D = 4, CR_AD = 5, CR_BD = 6, CR_ABD = 7;
};

ALWI void TTI_STALLWAIT(uint32_t, uint32_t) {}
ALWI void TTI_NOP() {}
// The counter of rows of DST goes on from where the last such call left it, whatever SFPI code has added since.
ALWI void TTI_SETRWC(uint32_t, uint32_t carriage_return, uint32_t rows, uint32_t, uint32_t, uint32_t set, VD_LINE) {
    if (carriage_return != p_setrwc::CR_D || set != p_setrwc::SET_D) vd_unimplemented("TTI_SETRWC of other counters", line);
    vd_sfpi_advance(rows, line);
}

namespace ckernel {

struct semaphore {
    static constexpr uint32_t t6_sem(uint8_t index) { return 1u << index; }
    static constexpr uint32_t FPU_SFPU = 0, MATH_PACK = 1, UNPACK_TO_DEST = 2, UNPACK_OPERAND_SYNC = 3, PACK_DONE = 4,
                              UNPACK_SYNC = 5, UNPACK_MATH_DONE = 6, MATH_DONE = 7;
};

ALWI void t6_semaphore_init(uint8_t index, uint8_t value, uint8_t most, VD_LINE) {
    vd_processor_semaphore_init(index, value, most, line);
}
template <uint32_t stall = p_stall::NONE>
ALWI void t6_semaphore_post(uint8_t index, VD_LINE) {
    vd_processor_semaphore_post(index, line);
}
template <uint32_t stall = p_stall::NONE>
ALWI void t6_semaphore_get(uint8_t index, VD_LINE) {
    vd_processor_semaphore_get(index, line);
}
template <uint32_t stall>
ALWI void t6_semaphore_wait_on_zero(uint8_t index, VD_LINE) {
    vd_processor_semaphore_wait(index, false, line);
}
template <uint32_t stall>
ALWI void t6_semaphore_wait_on_max(uint8_t index, VD_LINE) {
    vd_processor_semaphore_wait(index, true, line);
}

// Instructions that wait for semaphores. To wait for MATH_PACK is what tile_regs_wait does.
ALWI void vd_semaphore_wait(uint32_t mask, uint32_t condition, uint32_t line) {
    if (mask == semaphore::t6_sem(semaphore::MATH_PACK) && condition == p_stall::STALL_ON_ZERO) return vd_regs_wait(line);
    for (uint8_t index = 0; index < 8; ++index) {
        if (mask >> index & 1) vd_processor_semaphore_wait(index, condition == p_stall::STALL_ON_MAX, line);
    }
}

namespace packer {

// The part of DST that the packer has; a number of its own, since here parts have no addresses.
constexpr uint32_t kOwnPart = 0x200;
ALWI uint32_t get_packer_dest_offset() { return kOwnPart; }

}  // namespace packer

namespace math {

// Between the two, SFPI code works on the tile of DST that math addressed last.
ALWI void set_addr_mod_base(VD_LINE) { vd_sfpi_begin_here(line); }
ALWI void clear_addr_mod_base() {}

}  // namespace math

enum class SfpuType : uint8_t { unused, exponential, reciprocal, sqrt, log, tanh, sigmoid, gelu, add_int32, max, min, where };
template <SfpuType type, auto...>
ALWI void llk_math_eltwise_unary_sfpu_init() {}  // address modes alone: no constants are loaded

}  // namespace ckernel

ALWI void TTI_SEMWAIT(uint32_t, uint32_t mask, uint32_t condition, VD_LINE) {
    ckernel::vd_semaphore_wait(mask, condition, line);
}

// Where the vector unit finds DST. The calls that kernels then make on the pack processor (`*_tile_pack`) set it again.
constexpr uint32_t DEST_TARGET_REG_CFG_MATH_Offset_ADDR32 = 1;
ALWI void TT_SETC16(uint32_t setting, uint32_t value, VD_LINE) {
    if (setting != DEST_TARGET_REG_CFG_MATH_Offset_ADDR32 || value != ckernel::packer::kOwnPart) {
        vd_unimplemented("TT_SETC16 of anything but the packer's part of DST", line);
    }
}
