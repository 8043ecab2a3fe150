#pragma once

#include <utility>

// Calls `release` at the end of its scope.
template <typename Release>
class Lock {
public:
    explicit Lock(Release release) : release_(std::move(release)) {}
    ~Lock() { release_(); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

private:
    Release release_;
};
