#include "costs.h"

#include <stdexcept>

namespace vd::timing {

double Costs::value(const std::string& name) const {
    const auto found = rows_.find(name);
    if (found == rows_.end()) throw std::runtime_error("the clock's table has no row " + name);
    return found->second;
}

double Costs::match(const std::string& name, bool& guessed) const {
    std::string at = name;
    for (;;) {
        const auto found = rows_.find(at);
        const std::size_t dot = at.rfind('.');
        if (found != rows_.end()) {
            guessed = dot == std::string::npos;
            return found->second;
        }
        if (dot == std::string::npos) break;
        at.resize(dot);
    }
    guessed = true;
    return 0.0;
}

}  // namespace vd::timing
