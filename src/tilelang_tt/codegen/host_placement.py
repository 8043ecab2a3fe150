"""The parts of main.cpp for tensors that do not lie in DRAM page by page: L1, and shards."""

from __future__ import annotations

from tilelang_tt.codegen.host_names import Names
from tilelang_tt.runtime.plan import Plan, Size, TensorPlan
from tilelang_tt.runtime.unit_lists import list_tensors

_FIRST = "#include <tt-metalium/constants.hpp>\n"
_INCLUDE = "#include <tt-metalium/buffer_distribution_spec.hpp>\n"

_FIELDS = """\
    BufferType memory = BufferType::DRAM;
    std::optional<BufferDistributionSpec> shards = std::nullopt;  // otherwise pages are dealt to all banks in turn
"""
_CONFIG = """\
        .page_size = tensor.page_bytes, .buffer_type = tensor.memory, .sharding_args = tensor.shards};
"""

ON_SHARD = """\
// A circular buffer whose pages are the core's own shard of a tensor: nothing is copied.
void create_cb_on_shard(
    Program& program,
    const tt::tt_metal::CoreRange& cores,
    tt::CBIndex index,
    tt::DataFormat format,
    uint32_t pages,
    uint32_t page_bytes,
    const TileTensor& tensor) {
    CircularBufferConfig config(pages * page_bytes, {{index, format}});
    config.set_page_size(index, page_bytes);
    config.set_globally_allocated_address(*tensor.buffer->get_backing_buffer());
    CreateCircularBuffer(program, cores, config);
}
"""


def is_placed(plan: Plan) -> bool:
    return any(tensor.memory != "dram" or tensor.shards is not None for tensor in plan.tensors) or bool(
        list_tensors(plan)
    )


def includes(text: str) -> str:
    text = text.replace("#include <memory>\n", "#include <memory>\n#include <optional>\n")
    return text.replace(_FIRST, _INCLUDE + _FIRST)


def tensor_support(text: str) -> str:
    """`TileTensor` and its allocation with the memory of each tensor."""
    member = "    std::shared_ptr<distributed::MeshBuffer> buffer = nullptr;\n"
    dram = "        .page_size = tensor.page_bytes, .buffer_type = BufferType::DRAM};\n"
    assert member in text
    assert dram in text
    placed = text.replace(member, _FIELDS + member).replace(dram, _CONFIG).replace("dram_config", "memory_config")
    return placed.replace(
        "// A tensor in DRAM: tiles, one per page, pages interleaved over the banks.",
        "// A tensor on the device: tiles, one per page.",
    )


def fields(tensor: TensorPlan, names: Names) -> str:
    """Where a tensor lies, in the list of its fields."""
    indent = ",\n             "
    text = f"{indent}.memory = BufferType::L1" if tensor.memory == "l1" else ""
    if tensor.shards is None:
        return text
    pages, shape = (
        ", ".join(_side(size, names) for size in sides) for sides in (tensor.shards.pages, tensor.shards.shape)
    )
    cores = ", ".join(f"{{{x}, {y}}}" for x, y in tensor.shards.cores)
    spec = f"BufferDistributionSpec(\n                 Shape({{{pages}}}), Shape({{{shape}}}),"
    return f"{text}{indent}.shards = {spec}\n                 std::vector<CoreCoord>{{{cores}}})"


def _side(size: Size, names: Names) -> str:
    return str(size) if isinstance(size, int) else f"static_cast<uint32_t>({names.size(size)})"
