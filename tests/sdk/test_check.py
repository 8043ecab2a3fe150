"""The goldens, the hand-written kernels and the op table call what the SDK declares; a broken call is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilelang_tt.ops import ELEMENT_OPS
from tilelang_tt.sdk import check, load, releases_of

TESTS = Path(__file__).parent.parent
KERNELS = sorted(
    path
    for folder in ("golden", "device/kernels")
    for path in (TESTS / folder).rglob("*.cpp")
    if path.name != "main.cpp"
)
GOLDEN = TESTS / "golden" / "gemm"
OLD, NEW = "0.77.0", "0.81.1"
# Hand-written kernels of the device's tests that use headers of one release only; generated ones may not.
WRITTEN_FOR = {"grid_gemm_reader.cpp": NEW}


def test_there_are_kernels_to_check() -> None:
    assert len([path for path in KERNELS if "golden" in path.parts]) >= 15


@pytest.mark.parametrize("release", list(load()))
@pytest.mark.parametrize("path", KERNELS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_kernel(path: Path, release: str) -> None:
    problems = [str(problem) for problem in check({path.name: path.read_text()}, release)]
    if WRITTEN_FOR.get(path.name, release) == release:
        assert problems == []
    else:
        assert 'there is no header "api/semaphore.h"' in problems[0]


@pytest.mark.parametrize("release", list(load()))
@pytest.mark.parametrize("name", list(ELEMENT_OPS))
def test_every_instruction_of_the_op_table(name: str, release: str) -> None:
    for row in ELEMENT_OPS[name].instructions:
        operands = {"a": "0", "b": "1", "c": "2", "out": "0", "cb_a": "2", "cb_b": "3"}
        call = row.call.format(**operands, bits="0x3f800000u", whole="1", format="DataFormat::Float32")
        text = kernel(f"{row.init.format(**operands, bits='0x3f800000u')}; {call};", row.header)
        assert [str(problem) for problem in check({"compute.cpp": text}, release)] == []


def kernel(body: str, *headers: str) -> str:
    includes = "".join(f'#include "{header}"\n' for header in ("api/compute/common.h", *headers))
    return f"#include <cstdint>\n{includes}void kernel_main() {{ {body} }}\n"


def test_the_option_stands_for_releases() -> None:
    assert releases_of("0.77") == [OLD, NEW]
    assert releases_of("0.81") == [NEW]


def test_a_name_of_the_newer_release_is_refused_by_the_older() -> None:
    text = kernel("copy_init(0);", "api/compute/tile_move_copy.h")
    assert check({"compute.cpp": text}, NEW) == []
    assert [str(problem) for problem in check({"compute.cpp": text}, OLD)] == [
        "compute.cpp:4: ttnn 0.77.0: there is no function copy_init"
    ]


# file of the golden GEMM, what stands there, what is put in its place, and what the check says about it
BROKEN = [
    ("compute.cpp", "matmul_block_init(", "mm_block_init(", "there is no function mm_block_init"),
    ("compute.cpp", "tile_regs_commit()", "tile_regs_comit()", "there is no function tile_regs_comit"),
    ("compute.cpp", "tile_regs_wait()", "tile_regs_wait(0)", "takes 0 arguments, got 1"),
    ("compute.cpp", "copy_tile(cb_C_local, tile + t, t)", "copy_tile(cb_C_local, t)", "takes 3 arguments, got 2"),
    ("compute.cpp", "pack_tile<true>", "pack_tile<true, false, 1>", "template arguments, got 3"),
    ("compute.cpp", "pack_tile<true>", "pack_tile<uint32_t>", "template argument 1 is a type, needs bool"),
    ("compute.cpp", "pack_tile<true>", "pack_tile<SrcOrder::Reverse>", "template argument 1 is SrcOrder, needs bool"),
    ("compute.cpp", "SrcOrder::Reverse", "SrcOrder::Backward", "there is no SrcOrder::Backward"),
    ("compute.cpp", "<SrcOrder::Reverse>", "<true>", "template argument 1 is bool, needs SrcOrder"),
    ("compute.cpp", "pack_reconfig_l1_acc(0)", "pack_reconfig_l1_acc(0.5f)", "argument 1 is float, needs uint32"),
    ("compute.cpp", "pack_reconfig_l1_acc(0)", "pack_reconfig_l1_acc(SrcOrder::Reverse)", "argument 1 is SrcOrder"),
    ("compute.cpp", "tt::CBIndex::c_24", "tt::CBIndex::c_99", "there is no tt::CBIndex::c_99"),
    ("compute.cpp", '#include "api/compute/matmul.h"\n', "", "api/compute/matmul.h, which this file does not include"),
    ("compute.cpp", "api/compute/matmul.h", "compute_kernel_api/matmul.h", 'no header "compute_kernel_api/matmul.h"'),
    ("reader.cpp", "get_arg_val<uint32_t>(0)", "get_arg_val(0)", "takes 1 template arguments, got 0"),
    ("reader.cpp", "get_arg_val<uint32_t>(0)", "get_arg_val<3>(0)", "template argument 1 is an integer, needs a type"),
    ("reader.cpp", "= get_tile_size(cb_A", "= get_write_ptr(cb_A", "is not constexpr"),
    (
        "reader.cpp",
        "k * A_shared_cols + j, A,",
        "k * A_shared_cols + j, A_addr,",
        "argument 2 is uint32, needs an object",
    ),
    ("reader.cpp", "TensorAccessor(A_args, A_addr)", "TensorAccessor(A_args)", "no declaration of TensorAccessor"),
    (
        "reader.cpp",
        "A_args.next_compile",
        "A_args.following_compile",
        "TensorAccessorArgs::following_compile",
    ),
    (
        "reader.cpp",
        "k * A_shared_cols + j, A,",
        "k * A_shared_cols + j, nullptr,",
        "argument 2 is a pointer, needs an object",
    ),
    (
        "compute.cpp",
        "pack_reconfig_l1_acc(0)",
        "pack_reconfig_l1_acc(nullptr)",
        "argument 1 is a pointer, needs uint32",
    ),
    ("reader.cpp", "noc_async_read_barrier();", "noc_async_read_barrier(", "cannot be read as C++"),
    ("reader.cpp", "get_write_ptr(cb_A_shared)", "MEM_ONES_BASE", "there is no MEM_ONES_BASE"),
]


@pytest.mark.parametrize("release", list(load()))
@pytest.mark.parametrize(("file", "old", "new", "said"), BROKEN, ids=[row[2].strip() or "include" for row in BROKEN])
def test_a_broken_call_is_found(file: str, old: str, new: str, said: str, release: str) -> None:
    text = (GOLDEN / file).read_text()
    assert old in text
    problems = [str(problem) for problem in check({file: text.replace(old, new)}, release)]
    assert any(said in problem for problem in problems), problems
