// A call that is kept and made later. All it holds is numbers; `std::function` would take a tenth of the runner's build.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace vd {

class Later {
public:
    Later() = default;
    template <typename Call, typename = std::enable_if_t<!std::is_same_v<Call, Later>>>
    Later(const Call& call) : run_([](const void* held) { (*static_cast<const Call*>(held))(); }) {
        static_assert(std::is_trivially_copyable_v<Call> && sizeof(Call) <= kBytes && alignof(Call) <= alignof(void*));
        std::memcpy(held_, &call, sizeof call);
    }
    void operator()() const { run_(held_); }

private:
    static constexpr std::size_t kBytes = 80;
    alignas(void*) unsigned char held_[kBytes];
    void (*run_)(const void*);
};

}  // namespace vd
