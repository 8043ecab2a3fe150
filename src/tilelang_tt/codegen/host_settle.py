"""The part of main.cpp that settles what its plan leaves to the call: `runtime/settle.py` in C++.

plan   A_s: 4 pages, or the shard of A        ->   const Use A_use = are_shards(A_shards, ..., A_s_tiles, 2, 2) ? ...;
                                                   if (A_use != Use::Moved) create_cb_on_shard(...); else ...
plan   match: a block runs where its C lies   ->   const std::optional<Pieces> pieces = pieces_of(C_shards, ...);
"""

from __future__ import annotations

from collections.abc import Iterator

from tilelang_tt.arch import MAX_CB_PAGES
from tilelang_tt.codegen.host_expression import cpp_size
from tilelang_tt.codegen.host_expression import needs_floor as size_needs_floor
from tilelang_tt.codegen.host_names import Names
from tilelang_tt.runtime.plan import BlockPlan, CbPlan, LaunchPlan, Plan, RuntimeArg, Size

_INCLUDES = (
    ("<algorithm>", "<array>"),
    ("<filesystem>", "<functional>"),
    ("<memory>", "<optional>"),
    ("<optional>", "<set>"),
)

_SHARDS = """\
// A tile of a tensor: matrix, row, column.
using TilePlace = std::array<int64_t, 3>;

// The first tile that a block of the grid takes of a tensor; of one in loops, in every round of these.
using FirstTiles = std::function<std::vector<TilePlace>(int64_t block)>;

// How the blocks of a tensor come to compute, or leave it: over the NoC, or from the shard, one after the other or
// wherever compute finds them in it.
enum class Use { Moved, InOrder, Found };

// A tensor in shards: a grid of pages, cut into boxes that are numbered row by row and dealt to cores in turn.
struct Shards {
    TilePlace pages, shape;
    std::vector<CoreCoord> cores;

    int64_t count(size_t axis) const { return (pages[axis] + shape[axis] - 1) / shape[axis]; }
    int64_t boxes() const { return count(0) * count(1) * count(2); }
    int64_t volume() const { return shape[0] * shape[1] * shape[2]; }
    int64_t turns() const { return (boxes() + int64_t(cores.size()) - 1) / int64_t(cores.size()); }
    int64_t slots() const { return turns() * volume(); }  // pages that each core has room for

    // The number of the box with a tile, and the tile's place in it; -1 outside the tensor.
    std::pair<int64_t, int64_t> find(const TilePlace& tile) const {
        int64_t box = 0, within = 0;
        for (size_t axis = 0; axis < 3; ++axis) {
            if (tile[axis] < 0 || tile[axis] >= pages[axis]) return {-1, 0};
            box = box * count(axis) + tile[axis] / shape[axis];
            within = within * shape[axis] + tile[axis] % shape[axis];
        }
        return {box, within};
    }
};

bool is_same(const CoreCoord& a, const CoreCoord& b) { return a.x == b.x && a.y == b.y; }

// The block indices of a block, whose number counts the first one fastest.
std::vector<int64_t> indices_of(int64_t block, const std::vector<int64_t>& extents) {
    std::vector<int64_t> found;
    for (const int64_t extent : extents) {
        found.push_back(block % extent);
        block /= extent;
    }
    return found;
}
"""

_ARE_SHARDS = """\
// Whether the blocks of every core, of high x wide tiles, are the pages of its own shard, one after the other.
bool are_shards(
    const Shards& shards, const std::vector<CoreCoord>& cores, const std::vector<std::vector<int64_t>>& blocks,
    const FirstTiles& tiles, int64_t high, int64_t wide) {{
    if (shards.slots() % (high * wide) != 0 || shards.slots() > {most}) return false;
    for (size_t core = 0; core < cores.size(); ++core) {{
        int64_t place = 0;
        for (const int64_t block : blocks[core]) {{
            const TilePlace from = tiles(block).front();
            for (int64_t i = 0; i < high * wide; ++i, ++place) {{
                const auto [box, within] = shards.find({{from[0], from[1] + i / wide, from[2] + i % wide}});
                const int64_t turn = box / int64_t(shards.cores.size());
                if (box < 0 || !is_same(shards.cores[box % shards.cores.size()], cores[core])) return false;
                if (turn * shards.volume() + within != place) return false;
            }}
        }}
    }}
    return true;
}}
"""

_LIE_IN_SHARDS = """\
// Whether the blocks of every core, of high x wide tiles, lie in its own shard. `stored`: no tile is in two of them.
bool lie_in_shards(
    const Shards& shards, const std::vector<CoreCoord>& cores, const std::vector<std::vector<int64_t>>& blocks,
    const FirstTiles& tiles, int64_t high, int64_t wide, bool stored) {{
    if (shards.turns() > 1 || shards.slots() > {most}) return false;
    for (size_t core = 0; core < cores.size(); ++core) {{
        std::set<int64_t> packed;
        for (const int64_t block : blocks[core]) {{
            for (const TilePlace& from : tiles(block)) {{
                const int64_t box = shards.find(from).first;
                const auto [end, last] = shards.find({{from[0], from[1] + high - 1, from[2] + wide - 1}});
                if (box < 0 || end != box || !is_same(shards.cores[box], cores[core])) return false;
                for (int64_t i = 0; stored && i < high * wide; ++i) {{
                    if (!packed.insert(last - i / wide * shards.shape[2] - i % wide).second) return false;
                }}
            }}
        }}
    }}
    return true;
}}
"""

_PIECES = """\
// Pieces of a tensor, of wide x high blocks of the grid; `across` of them side by side, each on a core of its own.
struct Pieces {
    int64_t wide, high, across;
    std::vector<CoreCoord> cores;
};

// The pieces of a tensor, if the blocks that begin in the same shard make rectangles of the grid, all of one size.
std::optional<Pieces> pieces_of(
    const Shards& shards, const std::vector<FirstTiles>& places, int64_t columns, int64_t rows, int64_t grid_x,
    int64_t grid_y, int64_t most) {
    if (shards.turns() > 1 || columns * rows == 0) return std::nullopt;
    std::vector<int64_t> owners;
    for (int64_t block = 0; block < columns * rows; ++block) {
        owners.push_back(shards.find(places.front()(block).front()).first);
        for (const FirstTiles& place : places) {
            if (shards.find(place(block).front()).first != owners.back()) return std::nullopt;
        }
    }
    int64_t wide = 1, high = 1;
    while (wide < columns && owners[wide] == owners[0]) ++wide;
    while (high < rows && owners[high * columns] == owners[0]) ++high;
    for (int64_t block = 0; block < columns * rows; ++block) {
        const int64_t row = block / columns / high * high, column = block % columns / wide * wide;
        if (owners[block] != owners[row * columns + column]) return std::nullopt;
    }
    Pieces found{wide, high, (columns + wide - 1) / wide, {}};
    std::set<int64_t> used;
    for (int64_t row = 0; row < rows; row += high) {
        for (int64_t column = 0; column < columns; column += wide) {
            const int64_t owner = owners[row * columns + column];
            if (owner < 0 || !used.insert(owner).second) return std::nullopt;
            const CoreCoord& core = shards.cores[owner];
            if (int64_t(core.x) >= grid_x || int64_t(core.y) >= grid_y) return std::nullopt;
            found.cores.push_back(core);
        }
    }
    const int64_t usual = (columns * rows + grid_x * grid_y - 1) / (grid_x * grid_y);
    if (most != 0 && wide * high > most * usual) return std::nullopt;
    return found;
}

// The blocks of a core: those of the piece that lies on it.
Box box_on_core(int64_t columns, int64_t rows, const Pieces& pieces, const CoreCoord& core) {
    for (size_t piece = 0; piece < pieces.cores.size(); ++piece) {
        if (is_same(pieces.cores[piece], core)) {
            return box_of_piece(columns, rows, pieces.wide, pieces.high, pieces.across, piece);
        }
    }
    return {0, 0, 0, 0, 0};
}
"""


def is_open(launch: LaunchPlan) -> bool:
    """Whether a launch leaves something to the call."""
    return launch.match is not None or bool(_open(launch))


def _open(launch: LaunchPlan) -> list[tuple[CbPlan, BlockPlan]]:
    return [(cb, cb.block) for cb in launch.cbs if cb.block is not None]


def support(plan: Plan) -> list[str]:
    """Functions that such launches call."""
    launches = [launch for launch in plan.launches if is_open(launch)]
    texts = [_SHARDS] if launches else []
    blocks = [block for launch in launches for _, block in _open(launch)]
    texts += [_ARE_SHARDS.format(most=MAX_CB_PAGES)] if any(block.in_order for block in blocks) else []
    texts += [_LIE_IN_SHARDS.format(most=MAX_CB_PAGES)] if any(block.found for block in blocks) else []
    return texts + ([_PIECES] if any(launch.match is not None for launch in launches) else [])


def includes(text: str, plan: Plan) -> str:
    if not any(map(is_open, plan.launches)):
        return text
    for before, new in _INCLUDES:
        line = f"#include {new}\n"
        text = text if line in text else text.replace(f"#include {before}\n", f"#include {before}\n{line}")
    return text


def needs_floor(plan: Plan, names: Names) -> bool:
    """Whether the place of a block is computed with `floor_div` or `floor_mod`."""
    return any(
        size_needs_floor(side, _values(block, names))
        for launch in plan.launches
        for block in _blocks(launch)
        for side in (block.batch, block.row, block.col, *block.extents, *(loop.extent for loop in block.loops))
    )


def _blocks(launch: LaunchPlan) -> Iterator[BlockPlan]:
    yield from (block for _, block in _open(launch))
    yield from launch.match.places if launch.match is not None else ()


def _values(block: BlockPlan, names: Names) -> dict[str, str]:
    """C++ spellings of sizes, of the block indices and of the variables of loops."""
    indices = {name: f"index[{number}]" for number, name in enumerate(block.indices)}
    return {**names.size_values, **indices, **{loop.name: f"round[{n}]" for n, loop in enumerate(block.loops)}}


def shards_declared(plan: Plan, launch: LaunchPlan, names: Names) -> str:
    """How the tensors of open questions are cut into shards, and where their blocks begin."""
    text = ""
    for tensor in dict.fromkeys(block.tensor for block in _blocks(launch)):
        shards = plan.tensor(tensor).shards
        assert shards is not None
        pages, shape = (
            ", ".join(_at_least_one(side, names) for side in sides) for sides in (shards.pages, shards.shape)
        )
        cores = ", ".join(f"{{{x}, {y}}}" for x, y in shards.cores)
        text += f"    const Shards {_shards(tensor, names)}{{{{{pages}}}, {{{shape}}},\n        {{{cores}}}}};\n"
    for cb, block in _open(launch):
        text += f"    const FirstTiles {cb.name}_tiles = {_first_tiles(block, names)};\n"
    return text


def _at_least_one(side: Size, names: Names) -> str:
    return str(max(1, side)) if isinstance(side, int) else f"std::max<int64_t>(1, {names.size(side)})"


def _shards(tensor: str, names: Names) -> str:
    return f"{names.tensor_fields[tensor]}_shards"


def _first_tiles(block: BlockPlan, names: Names) -> str:
    values = _values(block, names)
    extents = ", ".join(names.size(extent) for extent in block.extents)
    sides = ", ".join(cpp_size(side, values) for side in (block.batch, block.row, block.col))
    head = f"[&](int64_t block) {{\n        const std::vector<int64_t> index = indices_of(block, {{{extents}}});\n"
    if not block.loops:
        return f"{head}        return std::vector{{TilePlace{{{sides}}}}};\n    }}"
    body, indent = f"found.push_back({{{sides}}});\n", " " * 8
    loops = ""
    for number, loop in enumerate(block.loops):
        extent, at = cpp_size(loop.extent, values), f"round[{number}]"
        loops += f"{indent}for ({at} = 0; {at} < {extent}; ++{at}) {{\n"
        indent += " " * 4
    ends = "".join(f"{' ' * (8 + 4 * depth)}}}\n" for depth in reversed(range(len(block.loops))))
    return (
        f"{head}        std::array<int64_t, {len(block.loops)}> round{{}};\n"
        f"        std::vector<TilePlace> found;\n{loops}{indent}{body}{ends}        return found;\n    }}"
    )


def pieces_declared(launch: LaunchPlan, names: Names) -> str:
    """Which blocks run where the tensor lies. Needs `columns` and `rows`."""
    if launch.match is None:
        return ""
    places = ", ".join(f"FirstTiles({_first_tiles(place, names)})" for place in launch.match.places)
    shards = _shards(launch.match.places[0].tensor, names)
    return (
        "    // Blocks run where their part of the tensor lies, or else in rectangles.\n"
        f"    const std::optional<Pieces> pieces = pieces_of(\n        {shards}, {{{places}}}, columns, rows, "
        f"{launch.grid[0]}, {launch.grid[1]}, /*most=*/{launch.match.most});\n"
    )


def shares_declared(share: str, blocks: list[str]) -> str:
    """What every core does, and the numbers of its blocks. `share` computes one, `blocks` lists those of one."""
    kind = share.removeprefix("const ").partition(" ")[0]
    lines = [
        f"std::vector<{kind}> shares;",
        "std::vector<std::vector<int64_t>> blocks_of;  // of each core, numbered row by row",
        "for (size_t number = 0; number < core_list.size(); ++number) {",
        f"    {share}",
        "    std::vector<int64_t> blocks;",
        *(f"    {line}" for line in blocks),
        "    shares.push_back(share);",
        "    blocks_of.push_back(blocks);",
        "}",
    ]
    return "".join(f"    {line}\n" for line in lines)


def decisions(launch: LaunchPlan, names: Names) -> str:
    """How the blocks of each tensor are used: all circular buffers of it agree."""
    of_tensors: dict[str, list[tuple[CbPlan, BlockPlan]]] = {}
    for cb, block in _open(launch):
        of_tensors.setdefault(block.tensor, []).append((cb, block))
    text = "    // Nothing is moved where the blocks of each core are its shard, or lie in it.\n" if of_tensors else ""
    for tensor, blocks in of_tensors.items():
        text += f"    const Use {_use(tensor, names)} ="
        if all(block.in_order for _, block in blocks):
            text += _tests([f"are_shards({_lying(cb, block, names)})" for cb, block in blocks], "InOrder")
        if all(block.found for _, block in blocks):
            stored = (str(block.stored).lower() for _, block in blocks)
            lying = (_lying(cb, block, names) for cb, block in blocks)
            text += _tests([f"lie_in_shards({one}, {own})" for one, own in zip(lying, stored, strict=True)], "Found")
        text += "\n        Use::Moved;\n"
    return text


def _lying(cb: CbPlan, block: BlockPlan, names: Names) -> str:
    return f"{_shards(block.tensor, names)}, core_list, blocks_of, {cb.name}_tiles, {block.rows}, {block.cols}"


def _tests(tests: list[str], use: str) -> str:
    joined = " &&\n        ".join(tests)
    return f"\n        {joined} ? Use::{use} :"


def _use(tensor: str, names: Names) -> str:
    return f"{names.tensor_fields[tensor]}_use"


def in_place(tensor: str, names: Names) -> str:
    return f"{_use(tensor, names)} != Use::Moved"


def pages(tensor: str, names: Names) -> str:
    return f"word({_shards(tensor, names)}.slots())"


def told(launch: LaunchPlan, arg: RuntimeArg, names: Names) -> str | None:
    """What a runtime argument says of a circular buffer that may be a shard; None: it is another one."""
    buffer = arg.moves or arg.block_pages or arg.shard_pages or arg.pitch
    if buffer is None:
        return None
    block = next(block for cb, block in _open(launch) if cb.name == buffer)
    use, shards = _use(block.tensor, names), _shards(block.tensor, names)
    if arg.moves is not None:
        return f"{use} == Use::Moved ? 1u : 0u"
    found = f"{use} == Use::Found"
    if arg.block_pages is not None:
        return f"{found} ? 0u : {block.rows * block.cols}u"
    if arg.shard_pages is not None:
        return f"{found} ? word({shards}.slots()) : 0u"
    return f"{found} ? word({shards}.shape[2]) : {block.cols}u"
