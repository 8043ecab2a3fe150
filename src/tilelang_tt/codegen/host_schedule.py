"""The part of main.cpp that says which core does what: cores, shares, and each core's runtime arguments.

plan   policy contiguous over 8x8 cores     ->   for y, for x: share_of_core(units, 64, y * 8 + x)
plan   policy rectangle over 4x4+2+1        ->   for each core of core_list: rectangle_of_core(columns, rows, ...)
"""

from __future__ import annotations

from tilelang_tt.codegen import host_deliveries, host_lists, host_settle
from tilelang_tt.codegen.host_names import Names
from tilelang_tt.core_ranges import CoreRange
from tilelang_tt.runtime.plan import LaunchPlan, Plan
from tilelang_tt.runtime.unit_lists import list_name
from tilelang_tt.schedule import Policy

_PER_LINE = 8  # of a list of numbers or cores

CORE_LIST = """\
// Cores in the order in which work is dealt to them.
std::vector<CoreCoord> cores_in_order(const std::vector<tt::tt_metal::CoreRange>& ranges, bool by_columns) {
    std::vector<CoreCoord> cores;
    for (const tt::tt_metal::CoreRange& range : ranges) {
        const CoreCoord first = range.start_coord, last = range.end_coord;
        const size_t wide = last.x - first.x + 1, high = last.y - first.y + 1;
        for (size_t i = 0; i < wide * high; ++i) {
            cores.push_back(
                by_columns ? CoreCoord{first.x + i / high, first.y + i % high}
                           : CoreCoord{first.x + i % wide, first.y + i / wide});
        }
    }
    return cores;
}
"""

_STRIDED = """\
// Every core takes one unit in turn: the first one of a core, and how many it gets.
Share strided_share(int64_t units, int64_t cores, int64_t core) {
    return {word(core), word(core < units ? (units - core + cores - 1) / cores : 0)};
}
"""

_BOX = """\
// Blocks of the grid that one core does: a rectangle of the matrix of blocks.
struct Box {
    uint32_t first_column, columns, first_row, rows, count;
};
"""

_RECTANGLE = """\
// Columns and rows of blocks are shared out evenly over wide x high cores; over a line of cores if the blocks are one.
Box rectangle_of_core(int64_t columns, int64_t rows, int64_t wide, int64_t high, int64_t core) {
    if (rows == 1 || columns == 1) {
        const int64_t cores = wide * high;
        wide = rows == 1 ? cores : 1;
        high = cores / wide;
    }
    const Share across = share_of_core(columns, wide, core % wide), down = share_of_core(rows, high, core / wide);
    return {across.start, across.count, down.start, down.count, across.count * down.count};
}
"""

_PIECE = """\
// The blocks that belong to the piece of a tensor which lies on this core.
Box box_of_piece(int64_t columns, int64_t rows, int64_t wide, int64_t high, int64_t across, int64_t piece) {
    const int64_t column = piece % across * wide, row = piece / across * high;
    wide = std::clamp<int64_t>(columns - column, 0, wide);
    high = std::clamp<int64_t>(rows - row, 0, high);
    return {word(column), word(wide), word(row), word(high), word(wide * high)};
}
"""

_CHECK_UNITS = """\
// Lists of units are for one grid: every block of it has to stand there once.
void check_units(
    const std::vector<std::vector<uint32_t>>& lists, const std::vector<uint32_t>& counts, int64_t units) {
    std::vector<uint32_t> times(static_cast<size_t>(units), 0);
    for (size_t core = 0; core < lists.size(); ++core) {
        for (uint32_t i = 0; i < counts[core]; ++i) {
            if (lists[core][i] >= units) {
                throw std::runtime_error(
                    "unit " + std::to_string(lists[core][i]) + " is none of " + std::to_string(units));
            }
            ++times[lists[core][i]];
        }
    }
    for (size_t unit = 0; unit < times.size(); ++unit) {
        if (times[unit] != 1) {
            throw std::runtime_error(
                "unit " + std::to_string(unit) + " is done " + std::to_string(times[unit]) + " times");
        }
    }
}
"""

_SHARES: dict[Policy, tuple[str, ...]] = {
    "contiguous": (),
    "strided": (_STRIDED,),
    "rectangle": (_BOX, _RECTANGLE),
    "match": (_BOX, _PIECE),
    "list": (_CHECK_UNITS,),
}


def support(plan: Plan) -> list[str]:
    """Functions that the launches of a plan call, beside those that every plan has."""
    texts = [CORE_LIST] if any(not _plain(one) and one.pieces is None for one in plan.launches) else []
    texts += [_BOX, _RECTANGLE] if any(launch.match is not None for launch in plan.launches) else []
    texts += [text for launch in plan.launches for text in _SHARES[launch.policy]]
    return [*dict.fromkeys(texts), *host_settle.support(plan), *host_deliveries.support(plan)]


def several_ranges(plan: Plan) -> bool:
    """Whether cores are a set of rectangles in this program, not one."""
    return any(len(launch.ranges) > 1 for launch in plan.launches)


def _plain(launch: LaunchPlan) -> bool:
    """Runs of units over a whole grid, row by row."""
    runs = launch.policy == "contiguous" and not launch.core_ranges and launch.core_order == "row"
    return runs and not launch.deliveries and not host_settle.is_open(launch)


def cores_text(launch: LaunchPlan) -> str:
    if not launch.core_ranges and launch.pieces is None:
        return f"{launch.grid[0]}x{launch.grid[1]} cores"
    return f"cores {', '.join(map(str, launch.ranges))}"


def cores_declared(launch: LaunchPlan, *, several: bool) -> str:
    """The variable `cores`: where kernels and circular buffers are."""
    kind = "CoreRangeSet" if several else "CoreRange"
    if not launch.core_ranges and launch.pieces is None:
        x, y = launch.grid
        whole = "CoreCoord{0, 0}, CoreCoord{grid_x - 1, grid_y - 1}"
        value = f"tt::tt_metal::CoreRange({whole})" if several else whole
        return f"    constexpr uint32_t grid_x = {x}, grid_y = {y};\n    const tt::tt_metal::{kind} cores({value});\n"
    if not several:
        return f"    const tt::tt_metal::CoreRange cores({_corners(launch.ranges[0])});\n"
    listed = ",\n         ".join(f"tt::tt_metal::CoreRange({_corners(one)})" for one in launch.ranges)
    return f"    const tt::tt_metal::CoreRangeSet cores(std::vector<tt::tt_metal::CoreRange>{{\n         {listed}}});\n"


def _corners(one: CoreRange) -> str:
    return f"CoreCoord{{{one.origin[0]}, {one.origin[1]}}}, CoreCoord{{{one.end[0] - 1}, {one.end[1] - 1}}}"


def each_core(launch: LaunchPlan, names: Names, *, shares: bool) -> tuple[str, str, str]:
    """(before, behind, indent) of what is done for each core; `core`, and its `share`, are known there."""
    if _plain(launch):
        text = f"    const int64_t units = {names.size(launch.units)};\n" if shares else ""
        text += (
            "    for (uint32_t y = 0; y < grid_y; ++y) {\n"
            "        for (uint32_t x = 0; x < grid_x; ++x) {\n"
            "            const CoreCoord core{x, y};\n"
        )
        if shares:
            text += "            const Share share = share_of_core(units, grid_x * grid_y, y * grid_x + x);\n"
        return text, "        }\n    }\n", " " * 12
    is_open = host_settle.is_open(launch)  # what they need is declared before circular buffers are
    text = "" if is_open else _core_list(launch) + (_matrix(launch, names) if shares else "")
    text += host_deliveries.declared(launch, names, _share(launch))
    text += (
        "    for (size_t number = 0; number < core_list.size(); ++number) {\n"
        "        const CoreCoord core = core_list[number];\n"
    )
    return text + (f"        {_share(launch)}\n" if shares else ""), "    }\n", " " * 8


def settled(plan: Plan, launch: LaunchPlan, names: Names) -> str:
    """What a launch leaves to the call, settled."""
    if not host_settle.is_open(launch):
        return ""
    return "".join(
        (
            _core_list(launch),
            _matrix(launch, names),
            host_settle.shards_declared(plan, launch, names),
            host_settle.pieces_declared(launch, names),
            host_settle.shares_declared(_computed_share(launch), host_deliveries.blocks(launch)),
            host_settle.decisions(launch, names),
        )
    )


def _core_list(launch: LaunchPlan) -> str:
    if launch.pieces is not None:
        cores = _lines([f"{{{x}, {y}}}" for x, y in launch.pieces.cores])
        comment = "    // The core of each piece, along columns first.\n"
        return f"{comment}    const std::vector<CoreCoord> core_list = {cores};\n"
    ranges = ", ".join(f"{{{_corners(one)}}}" for one in launch.ranges)
    by_columns = str(launch.core_order == "column").lower()
    return f"    const std::vector<CoreCoord> core_list = cores_in_order({{{ranges}}}, /*by_columns=*/{by_columns});\n"


def _matrix(launch: LaunchPlan, names: Names) -> str:
    """What the shares are computed from."""
    if launch.policy == "list":
        value = f"{{\n        {host_lists.written(_padded(launch))}}}"
        if launch.list_bytes:
            value = f"{names.tensor_fields[list_name(launch)]}()"
        counts = ", ".join(str(len(one)) for one in launch.list_of_each_core)
        return (
            "    // Blocks of each core, numbered row by row, filled up with zeros; and how many there are.\n"
            f"    const std::vector<std::vector<uint32_t>> unit_lists = {value};\n"
            f"    const std::vector<uint32_t> unit_counts = {{{counts}}};\n"
            f"    check_units(unit_lists, unit_counts, {names.size(launch.units)});\n"
        )
    if launch.policy in ("contiguous", "strided"):
        return f"    const int64_t units = {names.size(launch.units)};\n"
    columns, rows = launch.blocks or (launch.units, 1)
    return f"    const int64_t columns = {names.size(columns)}, rows = {names.size(rows)};  // of blocks\n"


def _padded(launch: LaunchPlan) -> list[tuple[int, ...]]:
    longest = max(map(len, launch.unit_lists))
    return [(*one, *[0] * (longest - len(one))) for one in launch.list_of_each_core]


def _share(launch: LaunchPlan) -> str:
    if host_settle.is_open(launch):
        return "const auto& share = shares[number];"
    return _computed_share(launch)


def _computed_share(launch: LaunchPlan) -> str:
    if launch.policy == "contiguous":
        return "const Share share = share_of_core(units, core_list.size(), number);"
    if launch.policy == "strided":
        return "const Share share = strided_share(units, core_list.size(), number);"
    if launch.policy == "list":
        return "const Share share{0, unit_counts[number]};"
    if launch.pieces is not None:
        (wide, high), (across, _) = launch.pieces.blocks, launch.pieces.counts
        return f"const Box share = box_of_piece(columns, rows, {wide}, {high}, /*across=*/{across}, number);"
    (one,) = launch.ranges
    wide, high = (one.width, one.height) if launch.core_order == "row" else (one.height, one.width)
    rectangle = f"rectangle_of_core(columns, rows, {wide}, {high}, number);"
    if launch.match is None:
        return f"const Box share = {rectangle}"
    piece = "box_on_core(columns, rows, *pieces, core_list[number])"
    return f"const Box share = pieces ? {piece} : {rectangle}"


def _lines(items: list[str]) -> str:
    rows = [", ".join(items[at : at + _PER_LINE]) for at in range(0, len(items), _PER_LINE)]
    return "{\n        " + ",\n        ".join(rows) + "}"
