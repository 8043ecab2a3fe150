"""The part of main.cpp that looks at assertions of the kernel (T.device_assert), as the launchers do (TT417)."""

from __future__ import annotations

from tilelang_tt.codegen.host_names import Names, string
from tilelang_tt.formats import is_float
from tilelang_tt.runtime.plan import AssertionPlan, Plan

CHECK = """\
#include <cstdio>

// An assertion of the kernel. The text has a place {} for each value; `kinds` says what those are: f a float, u without
// a sign, i a whole number.
struct Assertion {
    int64_t number;
    const char* text;
    const char* kinds;
};

std::string value_text(int64_t word, char kind) {
    if (kind == 'f') {
        char text[32];
        std::snprintf(text, sizeof text, "%.9g", std::bit_cast<double>(word));
        return text;
    }
    return kind == 'u' ? std::to_string(static_cast<uint64_t>(word)) : std::to_string(word);
}

// A block of the grid for which an assertion does not hold leaves its number and the values in its row of the file.
void check_assertions(
    const std::filesystem::path& directory,
    const TileTensor& records,
    size_t words,
    const std::vector<Assertion>& assertions) {
    const Pages pages = read_pages(file_of(directory, records, ".out.bin"), records);
    std::vector<int64_t> row(words);
    for (size_t block = 0; (block + 1) * words * sizeof(int64_t) <= pages.size(); ++block) {
        std::memcpy(row.data(), &pages[block * words * sizeof(int64_t)], words * sizeof(int64_t));
        for (const Assertion& assertion : assertions) {
            if (assertion.number != row[0]) {
                continue;
            }
            std::string said;
            size_t value = 0;
            for (const char* at = assertion.text; *at != '\\0'; ++at) {
                if (at[0] == '{' && at[1] == '}') {
                    said += value_text(row[value + 1], assertion.kinds[value]);
                    ++value;
                    ++at;
                } else {
                    at += (at[0] == '{' || at[0] == '}') && at[1] == at[0] ? 1 : 0;
                    said += *at;
                }
            }
            throw std::runtime_error(
                "an assertion does not hold: " + said + " (block " + std::to_string(block) + " of the grid)");
        }
    }
}
"""


def check_assertions(plan: Plan, names: Names) -> str:
    """The calls, one for each tensor of records."""
    found: dict[str, list[AssertionPlan]] = {}
    for item in plan.assertions:
        found.setdefault(item.tensor, []).append(item)
    return "".join(_call(plan, names, tensor, items) for tensor, items in found.items())


def _call(plan: Plan, names: Names, tensor: str, items: list[AssertionPlan]) -> str:
    words = plan.params[plan.tensor(tensor).param].shape[-1]
    lines = "".join(
        f"         {{{item.number}, {string(_text(item))}, {string(''.join(map(_kind, item.dtypes)))}}},\n"
        for item in items
    )
    return f"""\
    check_assertions(
        line.directory, {names.tensor(tensor)}, {words},
        {{
{lines}        }});
"""


def _text(item: AssertionPlan) -> str:
    place = f"{item.user_file}:{item.user_line}".replace("{", "{{").replace("}", "}}")
    return f"{item.text} ({place})" if item.user_line else item.text


def _kind(dtype: str) -> str:
    return "f" if is_float(dtype) else "u" if dtype == "uint64" else "i"
