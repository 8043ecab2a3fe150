"""Each contract, broken once: the report names the category and the generated line that broke it.

Most cases edit one call of a correct GEMM that runs two output blocks of several K blocks on one core.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from device_programs import Gemm
from reports import category_of, code_line

from tilelang_tt.diagnostics import DeviceError
from tilelang_tt.runtime.line_map import SourceLine


@dataclass(frozen=True)
class Broken:
    """Replace `old` by `new` in `file`; expect `category`, at a line that holds `at`."""

    file: str
    old: str
    new: str
    category: str
    at: str


def failure(gemm: Gemm, m: int = 128, k: int = 256, n: int = 64) -> DeviceError:
    with pytest.raises(DeviceError) as caught:
        gemm.run(m, k, n)
    return caught.value


PACK_SUMS = "store(cb_sum, r, c);"

# What happens when one init, reconfig or accumulation call of a GEMM is forgotten.
FORGOTTEN = {
    "pack_reconfig out -> sums": Broken(
        "compute.cpp", "pack_reconfig_data_format(cb_out, cb_sum);", "", "data-format", "pack_tile<true>"
    ),
    "pack_reconfig sums -> out": Broken(
        "compute.cpp", "pack_reconfig_data_format(cb_sum, cb_out);", "", "data-format", "pack_tile<true>"
    ),
    "srca before the reload": Broken(
        "compute.cpp", "reconfig_data_format_srca(cb_b, cb_sum);", "", "data-format", "copy_tile(cb_sum"
    ),
    "srca after the reload": Broken(
        "compute.cpp", "reconfig_data_format_srca(cb_sum, cb_b);", "", "data-format", "matmul_block(cb_a"
    ),
    "copy init": Broken("compute.cpp", "copy_tile_to_dst_init_short(cb_sum);", "", "init", "copy_tile(cb_sum"),
    "matmul init after the reload": Broken(
        "compute.cpp",
        "reconfig_data_format_srca(cb_sum, cb_b);\n"
        "                    matmul_block_init(cb_a, cb_b, transpose, sub_n, sub_m, block_k);",
        "reconfig_data_format_srca(cb_sum, cb_b);",
        "init",
        "matmul_block(cb_a",
    ),
    "accumulation off on the first K block": Broken(
        "compute.cpp",
        "pack_reconfig_l1_acc(kb);",
        "pack_reconfig_l1_acc(1);",
        "l1-accumulate",
        "pack_tile<true>",
    ),
    "accumulation on": Broken("compute.cpp", "pack_reconfig_l1_acc(kb);", "", "cb-overwrite", "pack_tile<true>"),
    "accumulation always off": Broken(
        "compute.cpp", "pack_reconfig_l1_acc(kb);", "pack_reconfig_l1_acc(0);", "cb-overwrite", "pack_tile<true>"
    ),
    "accumulation off before the output": Broken(
        "compute.cpp", "            pack_reconfig_l1_acc(0);\n", "", "l1-accumulate", "pack_tile<true>"
    ),
    "SrcOrder::Reverse": Broken("compute.cpp", "<SrcOrder::Reverse>", "", "source-order", "matmul_block(cb_a"),
    "first matmul init": Broken(
        "compute.cpp",
        "cb_out);\n    matmul_block_init(cb_a, cb_b, transpose, sub_n, sub_m, block_k);",
        "cb_out);",
        "init",
        "matmul_block(cb_a",
    ),
    "start-up": Broken(
        "compute.cpp",
        "compute_kernel_hw_startup<SrcOrder::Reverse>(cb_a, cb_b, cb_out);",
        "",
        "startup",
        "matmul_block_init",
    ),
}

COMPUTE = {
    "second start-up": Broken(
        "compute.cpp",
        "    for (uint32_t unit = 0;",
        "    compute_kernel_hw_startup<SrcOrder::Reverse>(cb_a, cb_b, cb_out);\n    for (uint32_t unit = 0;",
        "startup",
        "compute_kernel_hw_startup",
    ),
    "init for another block shape": Broken(
        "compute.cpp",
        "cb_out);\n    matmul_block_init(cb_a, cb_b, transpose, sub_n, sub_m, block_k);",
        "cb_out);\n    matmul_block_init(cb_a, cb_b, transpose, sub_n, 1, block_k);",
        "init-mismatch",
        "matmul_block(cb_a",
    ),
    "init with another transpose": Broken(
        "compute.cpp",
        "cb_out);\n    matmul_block_init(cb_a, cb_b, transpose,",
        "cb_out);\n    matmul_block_init(cb_a, cb_b, !transpose,",
        "init-mismatch",
        "matmul_block(cb_a",
    ),
    "DST index": Broken(
        "compute.cpp",
        "k * block_n + c0, 0, transpose",
        "k * block_n + c0, 2, transpose",
        "dst-index",
        "matmul_block(cb_a",
    ),
    "math without acquire": Broken(
        "compute.cpp",
        "tile_regs_acquire();\n                    multiply",
        "multiply",
        "dst-protocol",
        "matmul_block(cb_a",
    ),
    "math after commit": Broken(
        "compute.cpp",
        "multiply(r, c);\n                    tile_regs_commit();",
        "tile_regs_commit();\n                    multiply(r, c);",
        "dst-protocol",
        "matmul_block(cb_a",
    ),
    "pack before wait": Broken(
        "compute.cpp",
        f"tile_regs_wait();\n                    {PACK_SUMS}",
        PACK_SUMS,
        "dst-protocol",
        "pack_tile<true>",
    ),
    "acquire without release": Broken(
        "compute.cpp",
        f"{PACK_SUMS}\n                    tile_regs_release();",
        PACK_SUMS,
        "dst-protocol",
        "tile_regs_wait",
    ),
    "accumulation left on": Broken(
        "compute.cpp",
        "            cb_pop_front(cb_sum, block_m * block_n);\n        }\n",
        "            cb_pop_front(cb_sum, block_m * block_n);\n        }\n"
        "        if (unit + 1 == count) pack_reconfig_l1_acc(1);\n",
        "l1-accumulate",
        "pack_reconfig_l1_acc(1)",
    ),
    "push of a page nobody packed": Broken(
        "compute.cpp",
        "        pack_tile<true>(i, cb, ",
        "        if (cb != cb_out || i != 0) pack_tile<true>(i, cb, ",
        "cb-unwritten",
        "cb_push_back(cb_out",
    ),
    "results that nobody packs": Broken(
        "compute.cpp",
        "                store(cb_out, r, c);",
        "                if (unit == 0) store(cb_out, r, c);",
        "dst-unpacked",
        "tile_regs_release",
    ),
    "unwaited tile": Broken(
        "compute.cpp", "k * block_n + c0, 0", "4 + k * block_n + c0, 0", "cb-unwaited-read", "matmul_block"
    ),
    "no wait at all": Broken(
        "compute.cpp",
        "            cb_wait_front(cb_a, block_m * block_k);\n",
        "",
        "cb-unwaited-read",
        "matmul_block",
    ),
    "unreserved tile": Broken(
        "compute.cpp",
        "cb, (r0 + i / sub_n) * block_n",
        "cb, 1 + (r0 + i / sub_n) * block_n",
        "cb-unreserved-write",
        "pack_tile",
    ),
    "pop without wait": Broken(
        "compute.cpp",
        "            cb_pop_front(cb_b, block_k * block_n);\n        }\n",
        "            cb_pop_front(cb_b, block_k * block_n);\n            cb_pop_front(cb_b, 1);\n        }\n",
        "cb-pop-without-wait",
        "cb_pop_front(cb_b, 1);",
    ),
    "wait for more than there is room": Broken(
        "compute.cpp",
        "            cb_wait_front(cb_b, block_k * block_n);",
        "            cb_wait_front(cb_b, 99);",
        "cb-capacity",
        "cb_wait_front(cb_b, 99);",
    ),
    "second producer": Broken(
        "compute.cpp", "cb_reserve_back(cb_sum,", "cb_reserve_back(cb_a,", "cb-role", "cb_reserve_back(cb_a"
    ),
    "CB that is not in the plan": Broken(
        "compute.cpp",
        "cb_sum = tt::CBIndex::c_24",
        "cb_sum = tt::CBIndex::c_25",
        "cb-id",
        "cb_reserve_back(cb_sum",
    ),
    "CB id of another chip": Broken(
        "compute.cpp",
        "cb_sum = tt::CBIndex::c_24",
        "cb_sum = tt::CBIndex::c_40",
        "cb-id",
        "cb_reserve_back(cb_sum",
    ),
    "runtime argument index": Broken(
        "compute.cpp",
        "get_arg_val<uint32_t>(1)",
        "get_arg_val<uint32_t>(2)",
        "arg-index",
        "get_arg_val<uint32_t>(2)",
    ),
}

DATAFLOW = {
    "push without reserve": Broken(
        "reader.cpp",
        "            cb_reserve_back(cb_b, block_k * block_n);\n",
        "",
        "cb-unreserved-write",
        "noc_async_read_page",
    ),
    "push of more than reserved": Broken(
        "reader.cpp",
        "cb_push_back(cb_b, block_k * block_n);",
        "cb_push_back(cb_b, block_k * block_n + 1);",
        "cb-push-without-reserve",
        "cb_push_back(cb_b",
    ),
    "reserve more than there is": Broken(
        "reader.cpp",
        "cb_reserve_back(cb_b, block_k * block_n);",
        "cb_reserve_back(cb_b, 1000);",
        "cb-capacity",
        "cb_reserve_back(cb_b, 1000)",
    ),
    "push before the read barrier": Broken(
        "reader.cpp",
        "            noc_async_read_barrier();\n            cb_push_back(cb_a, block_m * block_k);",
        "            cb_push_back(cb_a, block_m * block_k);\n            noc_async_read_barrier();",
        "noc-read-barrier",
        "cb_push_back(cb_a",
    ),
    "push of a page nobody wrote": Broken(
        "reader.cpp",
        "fetch(b, k < inner",
        "if (k != k0) fetch(b, k < inner",
        "cb-unwritten",
        "cb_push_back(cb_b",
    ),
    "stale page on a later K block": Broken(
        "reader.cpp",
        "fetch(b, k < inner",
        "if (k0 < 3 * block_k || k != k0) fetch(b, k < inner",
        "cb-unwritten",
        "cb_push_back(cb_b",
    ),
    "page written in part": Broken(
        "reader.cpp",
        "noc_async_read_page(page, tensor, to);",
        "noc_async_read(tensor.get_noc_addr(page), to, 1024);",
        "cb-unwritten",
        "cb_push_back(cb_b",
    ),
    "page beyond the tensor": Broken(
        "reader.cpp", "r * inner + k, to", "r * inner + k + 1000, to", "noc-bounds", "noc_async_read_page"
    ),
    "read past the end of the CB": Broken(
        "reader.cpp",
        "noc_async_read_page(page, tensor, to);",
        "noc_async_read_page(page, tensor, to + 65536 * 4);",
        "noc-bounds",
        "noc_async_read_page",
    ),
    "misaligned read": Broken(
        "reader.cpp",
        "noc_async_read_page(page, tensor, to);",
        "noc_async_read(tensor.get_noc_addr(page), to + 16, 1024);",
        "noc-alignment",
        "noc_async_read(",
    ),
    "read across a page": Broken(
        "reader.cpp",
        "noc_async_read_page(page, tensor, to);",
        "noc_async_read(tensor.get_noc_addr(page), to, 4096);",
        "noc-bounds",
        "noc_async_read(",
    ),
    "empty read": Broken(
        "reader.cpp",
        "noc_async_read_page(page, tensor, to);",
        "noc_async_read(tensor.get_noc_addr(page), to, 0);",
        "noc-bounds",
        "noc_async_read(",
    ),
    "another tensor's page size": Broken(
        "reader.cpp",
        "a(a_layout, get_arg_val<uint32_t>(0));",
        "a(a_layout, get_arg_val<uint32_t>(0), 1024);",
        "noc-bounds",
        "noc_async_read_page",
    ),
    "pop before the write has left": Broken(
        "writer.cpp", "        noc_async_writes_flushed();\n", "", "noc-write-flush", "cb_pop_front"
    ),
    "end before acknowledgement": Broken(
        "writer.cpp", "    noc_async_write_barrier();\n", "", "noc-write-barrier", "noc_async_write_page"
    ),
    "write from pages not waited for": Broken(
        "writer.cpp",
        "        cb_wait_front(cb_out, block_m * block_n);\n",
        "",
        "cb-unwaited-read",
        "noc_async_write_page",
    ),
}

CASES = {**FORGOTTEN, **COMPUTE, **DATAFLOW}


@pytest.mark.parametrize("name", sorted(CASES))
def test_breach_is_reported_at_its_line(name: str) -> None:
    case = CASES[name]
    error = failure(Gemm(edits={case.file: (case.old, case.new)}))
    assert (error.code, category_of(error)) == ("TT401", case.category), str(error)
    assert case.at in code_line(error), str(error)
    assert re.search(rf"core \(0,0\), \w+ {re.escape(case.file)}:\d+", str(error))


@pytest.mark.parametrize("name", sorted(FORGOTTEN))
def test_exact_numerics_report_the_same_breaches(name: str) -> None:
    """Although every buffer is Float32 there, formats are compared as declared."""
    case = FORGOTTEN[name]
    with pytest.raises(DeviceError) as caught:
        Gemm(edits={case.file: (case.old, case.new)}).run(128, 256, 64, numerics="exact")
    assert category_of(caught.value) == case.category


def test_users_line_comes_from_the_source_map() -> None:
    lines = Gemm().sources()["compute.cpp"].splitlines()
    number = 1 + next(i for i, line in enumerate(lines) if "matmul_block(cb_a" in line)
    mapped = (
        SourceLine("compute.cpp", 1, "user.py", 3),
        SourceLine("compute.cpp", number - 2, "user.py", 21),
    )
    case = COMPUTE["DST index"]
    error = failure(Gemm(edits={case.file: (case.old, case.new)}, source_map=mapped))
    assert str(error.location) == "user.py:21"
    assert str(error).startswith("user.py:21: error[TT401]: contract breach: DST tile 5")
