// What a kernel knew of the others at one moment (order.h); copies share it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace vd {

using Clock = std::vector<uint32_t>;  // a moment of each kernel of the launch

class Stamp {  // used by one thread
public:
    Stamp() = default;
    explicit Stamp(const Clock& clock) : shared_(new Shared{clock, 1}) {}
    Stamp(const Stamp& other) : shared_(other.shared_) {
        if (shared_) ++shared_->users;
    }
    Stamp(Stamp&& other) noexcept : shared_(std::exchange(other.shared_, nullptr)) {}
    Stamp& operator=(Stamp other) {
        std::swap(shared_, other.shared_);
        return *this;
    }
    ~Stamp() {
        if (shared_ && --shared_->users == 0) delete shared_;
    }
    explicit operator bool() const { return shared_ != nullptr; }
    const Clock& operator*() const { return shared_->clock; }

private:
    struct Shared {
        Clock clock;
        uint32_t users;
    };
    Shared* shared_ = nullptr;
};

}  // namespace vd
