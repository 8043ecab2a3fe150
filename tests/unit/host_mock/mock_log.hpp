// The log of the signature mock: one JSON object per line.
#pragma once

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

namespace mock {

inline std::string json(bool value) { return value ? "true" : "false"; }
inline std::string json(const std::string& text) { return '"' + text + '"'; }
inline std::string json(const char* text) { return json(std::string(text)); }

template <typename Number>
    requires std::is_arithmetic_v<Number>
std::string json(Number value) {
    return std::to_string(value);
}

template <typename List>
    requires requires(const List& list) { list.begin(); }
std::string json(const List& list) {
    std::string text;
    for (const auto& item : list) {
        text += (text.empty() ? "" : ", ") + json(item);
    }
    return "[" + text + "]";
}

template <typename Value>
std::string field(const char* name, const Value& value) {
    return ", \"" + std::string(name) + "\": " + json(value);
}

// log("CreateKernel", "program", 0, "source", "reader.cpp")
inline std::string fields() { return ""; }

template <typename Value, typename... Rest>
std::string fields(const char* name, const Value& value, const Rest&... rest) {
    return field(name, value) + fields(rest...);
}

template <typename... Fields>
void log(const char* call, const Fields&... given) {
    std::ofstream file(std::getenv("HOST_MOCK_LOG"), std::ios::app);
    file << "{\"call\": " << json(call) << fields(given...) << "}\n";
}

}  // namespace mock
