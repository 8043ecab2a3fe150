"""The report on a kernel, from a plan made by hand."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path

import tilelang

from tilelang_tt.arch import WORMHOLE_B0
from tilelang_tt.compiled import Compiled, Decision
from tilelang_tt.core_ranges import CoreRange
from tilelang_tt.diagnostics import Location
from tilelang_tt.explain import decisions, explain, l1_map, merged_decisions, work_map
from tilelang_tt.options import Options
from tilelang_tt.runtime.plan import CbPlan, KernelPlan, LaunchPlan, Plan

LAUNCH = LaunchPlan(
    name="mm",
    grid=(3, 2),
    units=8,
    policy="contiguous",
    kernels=tuple(KernelPlan(role, f"{role}.cpp") for role in ("reader", "compute", "writer")),
    cbs=(
        CbPlan(16, "C_local", "Float32", 4096, 4, "compute", "writer"),
        CbPlan(0, "A_shared", "Float16_b", 2048, 16, "reader", "compute"),
    ),
)
PLAN = Plan("mm", "wormhole_b0", "0.77", "fast", "virtual", (), (), (), (LAUNCH,), "test")
COMPILED = Compiled(
    "mm",
    {"tt.plan.json": PLAN.to_json()},
    (
        Decision("infer_layout", "A", "tiled over axes 0 and 1"),
        Decision("infer_layout", "B", "tiled over axes 0 and 1"),
        Decision("lower_shared_to_cb", "A_shared", "depth 2, from num_stages=2", Location("mm.py", 14)),
    ),
    (("lift", "program mm\n"),),
)


def test_decisions_are_grouped_by_pass() -> None:
    assert decisions(COMPILED) == (
        "decisions\n"
        "  infer_layout\n"
        "    A: tiled over axes 0 and 1\n"
        "    B: tiled over axes 0 and 1\n"
        "  lower_shared_to_cb\n"
        "    A_shared: depth 2, from num_stages=2   [mm.py:14]"
    )


def test_l1_map() -> None:
    assert l1_map(LAUNCH, WORMHOLE_B0) == (
        "L1 map of 'mm'\n"
        "  cb0   A_shared  16 x 2,048 B Float16_b  reader -> compute  32,768 B\n"
        "  cb16  C_local   4 x 4,096 B Float32     compute -> writer  16,384 B\n"
        "  used 49,152 B of 1,393,280 B per core (3.5 %)"
    )


def test_merged_l1_map() -> None:
    """Buffers that are alike are one line; a second view is a word beside its buffer."""
    a, b = (
        CbPlan(27, "a", "Float32", 4096, 2, "compute", "compute"),
        CbPlan(0, "x", "Float16_b", 2048, 4, "reader", "compute"),
    )
    view = replace(a, id=23, name="a_fp32", shares=27)
    alike = [replace(a, id=28 + number, name=name) for number, name in enumerate("bcd")]
    launch = replace(LAUNCH, cbs=(a, b, view, *alike, replace(b, id=2, name="y")))
    assert l1_map(launch, WORMHOLE_B0, whole=False) == (
        "L1 map of 'mm', used 49,152 B of 1,393,280 B per core (3.5 %)\n"
        "  cb0, 2      x, y           4 x 2,048 B Float16_b  reader -> compute   8,192 B each\n"
        "  cb27        a (also cb23)  2 x 4,096 B Float32    compute -> compute       8,192 B\n"
        "  cb28 to 30  b, c, d        2 x 4,096 B Float32    compute -> compute  8,192 B each"
    )


def test_rows_of_cores_that_do_the_same_are_one() -> None:
    assert work_map(replace(LAUNCH, grid=(3, 4), units=5), whole=False) == (
        "work map of 'mm': 5 units over 3x4 cores, contiguous; units per core 0 to 1; 7 cores idle\n"
        "  y=0      1 1 1\n"
        "  y=1      1 1 0\n"
        "  y=2 to 3 0 0 0"
    )


def test_merged_decisions() -> None:
    assert merged_decisions(COMPILED) == (
        "decisions (lines are those of mm.py)\n"
        "  A, B: tiled over axes 0 and 1   [infer_layout]\n"
        "  A_shared: depth 2, from num_stages=2   [lower_shared_to_cb, line 14]"
    )


def test_causal_attention_fits_a_screen() -> None:
    path = Path(__file__).parents[1] / "golden" / "flash_attention" / "kernel.py"
    module = runpy.run_path(str(path))
    told = tilelang.compile(module["attention"], target=module["TARGET"]).explain()
    assert len(told.splitlines()) <= 40


def test_work_map() -> None:
    assert work_map(LAUNCH) == (
        "work map of 'mm': 8 units over 3x2 cores, contiguous\n  y=0  2 2 1\n  y=1  1 1 1\n  units per core 1 to 2"
    )


def test_work_map_with_idle_cores() -> None:
    assert work_map(replace(LAUNCH, units=4)).endswith(
        "  y=0  1 1 1\n  y=1  1 0 0\n  units per core 0 to 1; 2 cores idle"
    )


def test_work_map_of_a_dynamic_kernel() -> None:
    assert work_map(replace(LAUNCH, units="(m + 31) // 32")) == (
        "work map of 'mm': (m + 31) // 32 units over 3x2 cores, contiguous\n  shares follow from the sizes of each call"
    )


def test_whole_report() -> None:
    report = explain(COMPILED, Options(fp32_acc=False, math_fidelity="HiFi2"))
    assert report.startswith(
        "kernel 'mm' for Wormhole, 8x8 cores, HiFi2, 16-bit DST, numerics fast, sdk 0.77, device virtual\n\n"
        "== lift\nprogram mm\n\n"
        "decisions\n"
    )
    assert report.endswith("units per core 1 to 2\n")
    assert "HiFi4, 32-bit DST, fast math, numerics" in explain(COMPILED, Options(fast_math=True))


def test_work_map_of_a_part_of_the_chip() -> None:
    """Cores that have no part in it are dots; the core of every block is shown."""
    schedule = {"policy": "rectangle", "order": "z", "blocks": (3, 2), "core_ranges": (CoreRange(2, 1, (1, 1)),)}
    assert work_map(replace(LAUNCH, grid=(3, 2), units=6, **schedule)) == (
        "work map of 'mm': 6 units over cores 2x1+1+1, rectangle, order z\n"
        "  y=0  . . .\n"
        "  y=1  . 4 2\n"
        "  units per core 2 to 4\n"
        "  blocks by row and column, each with its core x.y\n"
        "     0  1.1 1.1 2.1\n"
        "     1  1.1 1.1 2.1"
    )


def test_work_map_of_sizes_known_at_the_call() -> None:
    launch = replace(LAUNCH, units="m * 2", blocks=("m", 2), policy="strided", order="block-linear", panel=3)
    assert work_map(launch) == (
        "work map of 'mm': m * 2 units over 3x2 cores, strided, order block-linear by panels of 3\n"
        "  shares follow from the sizes of each call"
    )
