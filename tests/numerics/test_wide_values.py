"""Single values through a 32-bit DST in `chip`: not in the recorded cases, but given by the same stack."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from recorded_cases import cases, run_with

TILE = {"fp32": (4096, np.uint32), "bf16": (2048, np.uint16), "uint16": (2048, np.uint16), "bfp8_b": (1088, np.uint8)}


def _through_dst(name: str, given: list[int], source: str = "fp32", target: str = "fp32") -> list[int]:
    """A tile that begins with the given bits, by the kernels of a recorded case on Blackhole; unpacked to DST."""
    found = next(case for case in cases() if case.name == name)
    sizes = {0: TILE[source][0], 16: TILE[target][0]}
    forms = {0: source, 16: target}
    facts = {
        **found.facts,
        "arch": "blackhole",
        "compile_time_args": {"reader": [2, sizes[0]], "compute": [], "writer": [2, sizes[16]]},
        "runtime_args": {"reader": ["$in0", 1], "compute": [1], "writer": ["$out", 1]},
        "inputs": [{**found.facts["inputs"][0], "format": source}],
        "output": {**found.facts["output"], "format": target},
        "cbs": [{**cb, "format": forms[cb["index"]], "page_size": sizes[cb["index"]]} for cb in found.facts["cbs"]],
        "compute_config": {**found.facts["compute_config"], "fp32_dest_acc_en": True, "unpack_to_dest_fp32": [0]},
    }
    tile = np.zeros(1024, TILE[source][1])
    tile[: len(given)] = given
    inputs = {"in0": tile.view(np.uint8).reshape(1, -1)}
    pages, _ = run_with(replace(found, facts=facts), "chip", inputs, (1, sizes[16]))
    return [int(bits) for bits in pages.view(TILE[target][1])[0]]


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
    results = _through_dst(name, list(expected))[: len(expected)]
    assert list(map(hex, results)) == list(map(hex, expected.values()))


def test_cast_to_uint16_rounds_the_number_itself() -> None:
    """The number below one half is zero: nothing is added to it in float32."""
    given = [0x3EFFFFFF, 0x3F000000, 0x3FC00000, 0x477FFF00]
    assert _through_dst("typecast_fp32_uint16_d32_srca", given, target="uint16")[:4] == [0, 1, 2, 65535]


def test_the_mode_changes_nothing_for_16_bit_formats() -> None:
    """They go through a source register, which has no NaN, no denormals and no -0."""
    results = _through_dst("copy_bf16_fp32_d32", [0x7FD0, 0x8047, 0xFFE2, 0x8000, 0xBF81], source="bf16")
    assert list(map(hex, results[:5])) == ["0x7f800000", "0x0", "0xff800000", "0x0", "0xbf810000"]


def test_denormals_that_round_up_to_a_number_are_packed_in_blocks() -> None:
    results = _through_dst("copy_fp32_bfp8_u2d", [0x007F0000, 0x807FFFFF, 0x007EFFFF, 0x80010000], target="bfp8_b")
    assert results[0] == 1  # the exponent of the first 16
    assert list(map(hex, results[64:68])) == ["0x40", "0xc0", "0x0", "0x0"]
