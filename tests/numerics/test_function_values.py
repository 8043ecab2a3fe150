"""Vector functions in `chip`, through a 16-bit and a 32-bit DST: what both chips gave for some numbers each.

`recorded/function_values.txt` has rows of `function  what  values`. What: `call` (header, init, call), an operand (`x`,
`y`, `z`, bits of float32), or the chip and the DST of results. All functions run in one kernel, a tile each;
a function that one chip's SDK does not have has results of the other alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from recorded_cases import FOLDER, Case, run_with

OPERANDS = ("x", "y", "z")
KERNEL = """
#include "api/compute/common.h"
#include "api/compute/compute_kernel_api.h"
#include "api/compute/tile_move_copy.h"
{headers}

constexpr DataFormat DST_FORMAT = DST_ACCUM_MODE ? DataFormat::Float32 : DataFormat::Float16_b;

template <typename Function>
void on_tiles(uint32_t operands, Function function) {{
    cb_wait_front(0, operands);
    tile_regs_acquire();
    for (uint32_t i = 0; i < operands; ++i) copy_tile(0, i, i);
    function();
    tile_regs_commit();
    cb_pop_front(0, operands);
    cb_reserve_back(16, 1);
    tile_regs_wait();
    pack_tile(0, 16);
    tile_regs_release();
    cb_push_back(16, 1);
}}

void kernel_main() {{
    compute_kernel_hw_startup(0, 16);
    copy_tile_to_dst_init_short(0);
    {calls}
}}
"""


@dataclass(frozen=True)
class Function:
    name: str
    header: str
    statements: str
    operands: tuple[NDArray[np.uint32], ...]
    results: Mapping[str, list[str]]  # by chip and DST


@cache
def functions() -> tuple[Function, ...]:
    rows: dict[str, dict[str, list[str]]] = {}
    for line in (FOLDER / "function_values.txt").read_text().splitlines():
        name, what, *values = line.split()
        rows.setdefault(name, {})[what] = values
    return tuple(_function(name, parts) for name, parts in rows.items())


def _function(name: str, parts: dict[str, list[str]]) -> Function:
    header, *statements = parts.pop("call")
    operands = tuple(
        np.array([int(bits, 16) for bits in parts.pop(key)], np.uint32) for key in OPERANDS if key in parts
    )
    return Function(name, header, " ".join(statements), operands, parts)


def _case(arch: str, wide: bool, kernel: Path, operands: int, results: int) -> Case:
    form, size = ("fp32", 4096) if wide else ("bf16", 2048)
    facts: dict[str, Any] = {
        "name": "function_values",
        "arch": arch,
        "kernels": {"reader": "reader.cpp", "compute": kernel, "writer": "writer.cpp"},
        "defines": {"reader": {"N_INPUTS": "1"}, "compute": {}, "writer": {}},
        "compile_time_args": {"reader": [2, size], "compute": [], "writer": [2, size]},
        "runtime_args": {"reader": ["$in0", operands], "compute": [], "writer": ["$out", results]},
        "cbs": [{"index": index, "format": form, "page_size": size, "pages": operands} for index in (0, 16)],
        "compute_config": {
            "math_fidelity": "HiFi4",
            "fp32_dest_acc_en": wide,
            "math_approx_mode": False,
            "dst_full_sync_en": False,
            "unpack_to_dest_fp32": [0] if wide and arch == "blackhole" else [],
        },
        "inputs": [{"name": "in0", "format": form}],
        "output": {"format": form},
    }
    return Case(facts)


def _tile(values: NDArray[np.uint32], wide: bool) -> NDArray[np.uint8]:
    tile = np.zeros(1024, np.uint32)
    tile[: len(values)] = values
    return (tile if wide else (tile >> 16).astype(np.uint16)).view(np.uint8)


@pytest.mark.parametrize("dst", ["d16", "d32"])
@pytest.mark.parametrize("arch", ["wormhole", "blackhole"])
def test_functions_are_those_of_the_chip(arch: str, dst: str, tmp_path: Path) -> None:
    wide = dst == "d32"
    there = [function for function in functions() if f"{arch}-{dst}" in function.results]
    headers = "\n".join(f'#include "{header}"' for header in sorted({function.header for function in there}))
    calls = "\n    ".join(f"on_tiles({len(f.operands)}, [] {{ {f.statements} }});" for f in there)
    kernel = tmp_path / "functions.cpp"
    kernel.write_text(KERNEL.format(headers=headers, calls=calls))
    pages = np.stack([_tile(values, wide) for function in there for values in function.operands])
    case = _case(arch, wide, kernel, len(pages), len(there))
    out, _ = run_with(case, "chip", {"in0": pages}, (len(there), pages.shape[1]))
    results = out.view(np.uint32 if wide else np.uint16)
    width = 8 if wide else 4
    got = {
        f.name: [f"{bits:0{width}x}" for bits in page[: len(f.operands[0])]]
        for f, page in zip(there, results, strict=True)
    }
    assert got == {f.name: f.results[f"{arch}-{dst}"] for f in there}
