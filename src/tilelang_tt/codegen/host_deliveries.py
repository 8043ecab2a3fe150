"""The part of main.cpp that says which core reads a block for which others: `deliveries.py` in C++."""

from __future__ import annotations

from tilelang_tt.codegen.host_names import Names
from tilelang_tt.runtime.plan import DeliveryPlan, LaunchPlan, Plan
from tilelang_tt.schedule import BOX_POLICIES

_SUPPORT = """\
// How blocks that several cores need come to one of them, as the reader's arguments say it: it reads them and sends
// them to the `receivers` others of a rectangle, or the core at (from_x, from_y) sends them. Coordinates: of the NoC.
struct Delivery {
    uint32_t reads = 1, from_x = 0, from_y = 0, receivers = 0, first_x = 0, first_y = 0, last_x = 0, last_y = 0;
};

// Some of the cores, which fill a rectangle: their numbers row by row.
struct Rectangle {
    size_t x, y, wide, high;
    std::vector<size_t> members;
};

// Runs along rows, joined where they lie below each other. `members` are sorted by rows.
std::vector<Rectangle> rectangles(const std::vector<CoreCoord>& cores, const std::vector<size_t>& members) {
    std::vector<Rectangle> runs, found;
    for (const size_t member : members) {
        const CoreCoord& core = cores[member];
        if (!runs.empty() && runs.back().y == core.y && runs.back().x + runs.back().wide == core.x) {
            ++runs.back().wide;
            runs.back().members.push_back(member);
        } else {
            runs.push_back({core.x, core.y, 1, 1, {member}});
        }
    }
    for (const Rectangle& run : runs) {
        const auto above = std::find_if(found.begin(), found.end(), [&](const Rectangle& one) {
            return one.x == run.x && one.wide == run.wide && one.y + one.high == run.y;
        });
        if (above == found.end()) {
            found.push_back(run);
        } else {
            ++above->high;
            above->members.insert(above->members.end(), run.members.begin(), run.members.end());
        }
    }
    return found;
}

// Cores with equal `loads` need the same blocks, one after the other. Of those in a rectangle one reads. The readers of
// several rectangles lie on a diagonal, so that what they read comes over different links of the NoC.
std::vector<Delivery> deliveries(
    const distributed::MeshDevice& mesh_device,
    const std::vector<CoreCoord>& cores,
    const std::vector<std::vector<int64_t>>& loads) {
    std::map<std::vector<int64_t>, std::vector<size_t>> alike;
    for (size_t core = 0; core < cores.size(); ++core) {
        if (!loads[core].empty()) alike[loads[core]].push_back(core);
    }
    std::vector<Delivery> found(cores.size());
    for (auto& [load, members] : alike) {
        std::sort(members.begin(), members.end(), [&](size_t a, size_t b) {
            return std::pair(cores[a].y, cores[a].x) < std::pair(cores[b].y, cores[b].x);
        });
        for (const Rectangle& group : rectangles(cores, members)) {
            if (group.members.size() == 1) continue;
            const CoreCoord first = mesh_device.worker_core_from_logical_core(cores[group.members.front()]);
            const CoreCoord last = mesh_device.worker_core_from_logical_core(cores[group.members.back()]);
            const size_t reader = group.members[(group.x + group.y) % group.members.size()];
            const CoreCoord from = mesh_device.worker_core_from_logical_core(cores[reader]);
            for (const size_t member : group.members) found[member] = {0, word(from.x), word(from.y)};
            found[reader] = {
                1, 0, 0, word(group.members.size() - 1), word(first.x), word(first.y), word(last.x), word(last.y)};
        }
    }
    return found;
}

// What two cores have in common if they need the same blocks: a core's blocks by the indices that tell loads apart.
std::vector<int64_t> loads_of(
    const std::vector<int64_t>& blocks, std::vector<int64_t> shape, const std::vector<int64_t>& extents,
    const std::vector<size_t>& axes) {
    if (blocks.empty()) return {};
    for (const size_t axis : axes) {
        int64_t stride = 1;
        for (size_t before = 0; before < axis; ++before) stride *= extents[before];
        for (const int64_t block : blocks) shape.push_back(block / stride % extents[axis]);
    }
    return shape;
}
"""

_OF_SHARDS = """\
// How blocks come to a core from the shards of some cores, which send in turn: the core's own turn, the other cores of
// its rectangle, and for each turn where the sender is on the NoC.
struct ShardDelivery {
    uint32_t turn = 0, receivers = 0, first_x = 0, first_y = 0, last_x = 0, last_y = 0;
    std::vector<uint32_t> owners;
};

// `holders`: cores that hold shards, in the order of these; at most `most` of them are in a rectangle.
std::vector<ShardDelivery> shard_deliveries(
    const distributed::MeshDevice& mesh_device,
    const std::vector<CoreCoord>& cores,
    const std::vector<std::vector<int64_t>>& loads,
    const std::vector<CoreCoord>& holders,
    size_t most) {
    std::map<std::vector<int64_t>, std::vector<size_t>> alike;
    for (size_t core = 0; core < cores.size(); ++core) {
        if (!loads[core].empty()) alike[loads[core]].push_back(core);
    }
    std::vector<ShardDelivery> found(cores.size());
    for (auto& [load, members] : alike) {
        std::sort(members.begin(), members.end(), [&](size_t a, size_t b) {
            return std::pair(cores[a].y, cores[a].x) < std::pair(cores[b].y, cores[b].x);
        });
        for (const Rectangle& group : rectangles(cores, members)) {
            const CoreCoord first = mesh_device.worker_core_from_logical_core(cores[group.members.front()]);
            const CoreCoord last = mesh_device.worker_core_from_logical_core(cores[group.members.back()]);
            std::vector<uint32_t> owners;
            std::map<size_t, uint32_t> turns;
            for (const CoreCoord& holder : holders) {
                for (const size_t member : group.members) {
                    if (cores[member].x != holder.x || cores[member].y != holder.y) continue;
                    const CoreCoord node = mesh_device.worker_core_from_logical_core(holder);
                    turns[member] = word(owners.size());
                    owners.push_back(word(node.x << 16 | node.y));
                }
            }
            for (const size_t member : group.members) {
                const uint32_t turn = turns.contains(member) ? turns[member] : word(owners.size());
                found[member] = {turn, word(group.members.size() - 1), word(first.x), word(first.y), word(last.x),
                                 word(last.y), owners};
            }
        }
    }
    for (ShardDelivery& one : found) one.owners.resize(most);
    return found;
}
"""


def support(plan: Plan) -> list[str]:
    found = [one for launch in plan.launches for one in launch.deliveries]
    return ([_SUPPORT] if found else []) + ([_OF_SHARDS] if any(one.holders for one in found) else [])


def declared(launch: LaunchPlan, names: Names, share: str) -> str:
    """One vector for each circular buffer, by the number of the core. `share` declares what a core does."""
    if not launch.deliveries:
        return ""
    lines = [f"std::vector<std::vector<int64_t>> {_loads(one)};" for one in launch.deliveries]
    lines += [
        "for (size_t number = 0; number < core_list.size(); ++number) {",
        f"    {share}",
        "    std::vector<int64_t> blocks;  // of this core, numbered row by row",
        *(f"    {line}" for line in blocks(launch)),
        *(f"    {_loads(one)}.push_back({_loads_of(launch, one, names)});" for one in launch.deliveries),
        "}",
    ]
    lines += [_found(launch, one) for one in launch.deliveries]
    return "".join(f"    {line}\n" for line in lines)


def _found(launch: LaunchPlan, one: DeliveryPlan) -> str:
    if not one.holders:
        return f"const std::vector<Delivery> {one.buffer}_delivery = deliveries(mesh_device, core_list, {_loads(one)});"
    holders = ", ".join(f"{{{x}, {y}}}" for x, y in one.holders)
    args = [arg for kernel in launch.kernels for arg in kernel.runtime_args if arg.delivery == one.buffer]
    most = sum(arg.turn is not None for arg in args)
    return (
        f"const std::vector<ShardDelivery> {one.buffer}_delivery =\n        "
        f"shard_deliveries(mesh_device, core_list, {_loads(one)}, {{{holders}}}, {most});"
    )


def _loads(delivery: DeliveryPlan) -> str:
    return f"{delivery.buffer}_loads"


def _loads_of(launch: LaunchPlan, delivery: DeliveryPlan, names: Names) -> str:
    box = launch.policy in BOX_POLICIES
    shape = "{share.count, share.columns, share.rows}" if box else "{share.count}"
    if not box and launch.policy != "list" and launch.order != "row":
        shape = "{-1, static_cast<int64_t>(number)}"  # numbers of another order: each core by itself
    extents = ", ".join(names.size(extent) for extent in delivery.extents)
    return f"loads_of(blocks, {shape}, {{{extents}}}, {{{', '.join(map(str, delivery.axes))}}})"


def blocks(launch: LaunchPlan) -> list[str]:
    """Statements that list the blocks of a core, numbered row by row."""
    if launch.policy in BOX_POLICIES:
        block = "(share.first_row + i / share.columns) * columns + share.first_column + i % share.columns"
    elif launch.policy == "list":
        block = "unit_lists[number][i]"
    else:
        block = "share.start + i * core_list.size()" if launch.policy == "strided" else "share.start + i"
    return ["for (uint32_t i = 0; i < share.count; ++i) {", f"    blocks.push_back({block});", "}"]
