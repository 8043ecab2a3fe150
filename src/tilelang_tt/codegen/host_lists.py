"""The part of main.cpp for long lists of units: each core finds its own in its L1.

plan   core (0, 0): units 0, 3, ... (1,000 of them)   ->   tensors.units_of_reader, a page on each core, written once
"""

from __future__ import annotations

from collections.abc import Iterable

from tilelang_tt.codegen.host_names import Names
from tilelang_tt.runtime.plan import LaunchPlan, Plan
from tilelang_tt.runtime.unit_lists import list_name

_UPLOAD = """\
// The blocks of each core, as a page in its L1.
void upload_lists(
    distributed::MeshCommandQueue& cq, TileTensor& tensor, const std::vector<std::vector<uint32_t>>& lists) {
    Pages pages(tensor.bytes());
    for (size_t core = 0; core < lists.size(); ++core) {
        std::memcpy(&pages[core * tensor.page_bytes], lists[core].data(), lists[core].size() * sizeof(uint32_t));
    }
    distributed::EnqueueWriteMeshBuffer(cq, tensor.buffer, pages, /*blocking=*/true);
}
"""


def written(lists: Iterable[Iterable[int]]) -> str:
    """Rows of a C++ table."""
    return ",\n        ".join("{" + ", ".join(map(str, one)) + "}" for one in lists)


def support(plan: Plan, names: Names) -> list[str]:
    """The lists, and how they get into L1."""
    found = [launch for launch in plan.launches if launch.list_bytes]
    return [*(_function(launch, names) for launch in found), _UPLOAD] if found else []


def _function(launch: LaunchPlan, names: Names) -> str:
    return (
        "// Blocks of each core, numbered row by row.\n"
        f"std::vector<std::vector<uint32_t>> {names.tensor_fields[list_name(launch)]}() {{\n"
        f"    return {{\n        {written(launch.list_of_each_core)}}};\n}}\n"
    )


def uploads(plan: Plan, names: Names) -> str:
    """Statements behind those for the tensors of the plan."""
    found = [list_name(launch) for launch in plan.launches if launch.list_bytes]
    return "".join(f"    upload_lists(cq, {names.tensor(one)}, {names.tensor_fields[one]}());\n" for one in found)
