// Costs by name, in ticks. A name has parts, the most general first: "math.mul.HiFi4.bf16"; the row with the longest
// matching beginning counts. Names that only the row of their processor matches are reported as guessed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace vd::timing {

using Time = int64_t;              // ticks: integers, so that times are the same on every host and however runs are split
constexpr Time kTicks = 1024;      // of one cycle

class Costs {
public:
    void set(const std::string& name, double value) { rows_[name] = value; }
    // The value as it stands in the table; a row that the clock cannot do without.
    double value(const std::string& name) const;
    bool has(const std::string& name) const { return rows_.count(name) != 0; }
    Time cycles(const std::string& name) const { return ticks(value(name)); }
    // The longest beginning of `name` that has a row; parts beyond `guess` count as known.
    double match(const std::string& name, bool& guessed) const;

    static Time ticks(double cycles) { return static_cast<Time>(cycles * static_cast<double>(kTicks) + 0.5); }

private:
    std::map<std::string, double> rows_;
};

// Cost of one call of some kind: per unit, and once per call; the least time from one to the next.
struct Price {
    std::string name;
    Time item = 0, call = 0, gap = 0;
    bool guessed = false;
};

}  // namespace vd::timing
