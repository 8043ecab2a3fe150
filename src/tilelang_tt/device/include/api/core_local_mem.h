// CoreLocalMem: a pointer into this core's L1 that is also an end of a transfer.
#pragma once

#include <cstddef>

#include "api/dataflow/noc.h"
#include "api/lock.h"

template <typename T, typename AddressType = uintptr_t>
class CoreLocalMem {
public:
    using difference_type = std::ptrdiff_t;

    CoreLocalMem(AddressType address) : address_(address) {}
    CoreLocalMem(T* pointer) : address_(reinterpret_cast<AddressType>(pointer)) {}

    tt_l1_ptr T* get_unsafe_ptr() const { return reinterpret_cast<tt_l1_ptr T*>(address_); }
    AddressType get_address() const { return address_; }
    T& operator[](uint32_t index) const { return get_unsafe_ptr()[index]; }
    T& operator*() const { return *get_unsafe_ptr(); }
    tt_l1_ptr T* operator->() const { return get_unsafe_ptr(); }

    CoreLocalMem& operator+=(difference_type offset) { return address_ += offset * sizeof(T), *this; }
    CoreLocalMem& operator-=(difference_type offset) { return address_ -= offset * sizeof(T), *this; }
    CoreLocalMem& operator++() { return *this += 1; }
    CoreLocalMem& operator--() { return *this -= 1; }
    CoreLocalMem operator++(int) {
        const CoreLocalMem before = *this;
        *this += 1;
        return before;
    }
    CoreLocalMem operator--(int) {
        const CoreLocalMem before = *this;
        *this -= 1;
        return before;
    }
    CoreLocalMem operator+(difference_type offset) const { return CoreLocalMem(address_ + offset * sizeof(T)); }
    CoreLocalMem operator-(difference_type offset) const { return CoreLocalMem(address_ - offset * sizeof(T)); }
    difference_type operator-(const CoreLocalMem& other) const {
        return static_cast<difference_type>(address_ - other.address_) / static_cast<difference_type>(sizeof(T));
    }
    bool operator==(const CoreLocalMem& other) const { return address_ == other.address_; }
    bool operator!=(const CoreLocalMem& other) const { return address_ != other.address_; }
    bool operator<(const CoreLocalMem& other) const { return address_ < other.address_; }
    bool operator<=(const CoreLocalMem& other) const { return address_ <= other.address_; }
    bool operator>(const CoreLocalMem& other) const { return address_ > other.address_; }
    bool operator>=(const CoreLocalMem& other) const { return address_ >= other.address_; }
    explicit operator bool() const { return address_ != 0; }
    [[nodiscard]] auto scoped_lock(std::size_t) const {
        return Lock([] {});
    }

private:
    AddressType address_;
};

namespace vd {
template <typename T, typename AddressType>
uint32_t mem_end(const CoreLocalMem<T, AddressType>& memory, uint32_t) {
    return static_cast<uint32_t>(memory.get_address());
}
}  // namespace vd

template <typename T, typename AddressType>
struct noc_traits_t<CoreLocalMem<T, AddressType>>
    : vd::BufferTraits<CoreLocalMem<T, AddressType>, vd::mem_end<T, AddressType>, vd::mem_end<T, AddressType>> {};
