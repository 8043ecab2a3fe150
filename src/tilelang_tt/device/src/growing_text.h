// A text that grows. `std::string` would take a tenth of a second of every file that includes it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <vector>

namespace vd {

class GrowingText {
public:
    GrowingText& operator+=(char letter) {
        if (empty()) letters_.push_back(0);
        letters_.back() = letter;
        letters_.push_back(0);
        return *this;
    }
    GrowingText& operator+=(const char* more) {
        while (*more) *this += *more++;
        return *this;
    }
    GrowingText& operator+=(uint64_t number) {
        char digits[24];
        std::snprintf(digits, sizeof digits, "%llu", static_cast<unsigned long long>(number));
        return *this += digits;
    }
    GrowingText& operator+=(const GrowingText& more) { return *this += more.text(); }

    const char* text() const { return empty() ? "" : letters_.data(); }
    std::size_t size() const { return empty() ? 0 : letters_.size() - 1; }
    bool empty() const { return letters_.empty(); }
    void clear() { letters_.clear(); }

private:
    std::vector<char> letters_;  // the last one is 0
};

}  // namespace vd
