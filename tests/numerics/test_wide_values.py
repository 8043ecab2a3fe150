"""Single values through a 32-bit DST in `chip`: not in the recorded cases, but given by the same stack."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from recorded_cases import Case, cases, run_with

TILE_BYTES = 4096


def _through_dst(name: str) -> Case:
    """The kernels of a recorded case on Blackhole, with one Float32 tile in, unpacked to DST, and one out."""
    found = next(case for case in cases() if case.name == name)
    facts = {
        **found.facts,
        "arch": "blackhole",
        "compile_time_args": {"reader": [2, TILE_BYTES], "compute": [], "writer": [2, TILE_BYTES]},
        "runtime_args": {"reader": ["$in0", 1], "compute": [1], "writer": ["$out", 1]},
        "inputs": [{**found.facts["inputs"][0], "format": "fp32"}],
        "output": {**found.facts["output"], "format": "fp32"},
        "cbs": [{**cb, "format": "fp32", "page_size": TILE_BYTES} for cb in found.facts["cbs"]],
        "compute_config": {**found.facts["compute_config"], "fp32_dest_acc_en": True, "unpack_to_dest_fp32": [0]},
    }
    return replace(found, facts=facts)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # A negative NaN keeps its sign where Blackhole's table of reciprocals gives zero.
        ("sfpu_recip_nolegacy_fp32_d32", {0xFFC00000: 0x80000000, 0xFF810000: 0x80000000, 0x7FC00000: 0}),
        # The cast to bfloat16 rounds the bits, a NaN's too; denormals are stored as zeros.
        (
            "typecast_fp32_bf16_d32",
            {0x7FBFFFFF: 0x7FC00000, 0xFFAECF76: 0xFFAF0000, 0x007F0000: 0, 0x80010000: 0x80000000, 0x006CE3EE: 0},
        ),
    ],
)
def test_values_are_those_of_the_chip(name: str, expected: dict[int, int]) -> None:
    tile = np.zeros(1024, np.uint32)
    tile[: len(expected)] = list(expected)
    pages, _ = run_with(_through_dst(name), "chip", {"in0": tile.view(np.uint8).reshape(1, -1)}, (1, TILE_BYTES))
    results = pages.view(np.uint32)[0, : len(expected)]
    assert list(map(hex, results)) == list(map(hex, expected.values()))


def test_cast_to_uint16_rounds_the_number_itself() -> None:
    """The number below one half is zero: nothing is added to it in float32."""
    case = _through_dst("typecast_fp32_uint16_d32_srca")
    facts = {**case.facts, "compile_time_args": {**case.facts["compile_time_args"], "writer": [2, 2048]}}
    facts["output"] = {**facts["output"], "format": "uint16"}
    facts["cbs"] = [{**cb, "format": "uint16", "page_size": 2048} if cb["index"] == 16 else cb for cb in facts["cbs"]]
    tile = np.zeros(1024, np.float32)
    tile[:4] = np.array([0x3EFFFFFF, 0x3F000000, 0x3FC00000, 0x477FFF00], np.uint32).view(np.float32)
    pages, _ = run_with(replace(case, facts=facts), "chip", {"in0": tile.view(np.uint8).reshape(1, -1)}, (1, 2048))
    assert pages.view(np.uint16)[0, :4].tolist() == [0, 1, 2, 65535]
