// The part of an L1 tensor that lies in this core, element by element.
#pragma once

#include "api/core_local_mem.h"
#include "api/tensor/tensor_binding_token.h"
#include "vd/missing.h"

template <typename T>
class LocalTensorAccessor {
public:
    template <uint32_t CTA_OFFSET, uint32_t ADDR_CRTA_OFFSET>
    explicit LocalTensorAccessor(tensor_accessor::TensorBindingToken<CTA_OFFSET, ADDR_CRTA_OFFSET>, VD_LINE)
        : memory_(get_common_arg_val<uint32_t>(ADDR_CRTA_OFFSET / sizeof(uint32_t), line)) {
        static_assert(!TensorAccessorArgs<CTA_OFFSET>::is_dram, "a tensor in DRAM has no part in a core");
    }
    explicit LocalTensorAccessor(uint32_t address) : memory_(address) {}

    T& operator[](uint32_t index) const { return memory_[index]; }
    uint32_t get_bank_base_address() const { return static_cast<uint32_t>(memory_.get_address()); }
    CoreLocalMem<T> local_mem() const { return memory_; }
    VD_MISSING_METHOD(operand)

private:
    CoreLocalMem<T> memory_;
};

VD_MISSING(make_local_tensor_accessors)
