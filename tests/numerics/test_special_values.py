"""Zeros, denormals, extremes, infinities and NaNs through the vector functions: bf16 tiles and a 16-bit DST in `chip`.

`recorded/special_values.txt` holds what both chips gave, also for functions whose recorded cases are of other formats.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from recorded_cases import FOLDER, Case, cases, run_with

_CHIPS = {"WH": ("wormhole",), "BH": ("blackhole",), "both": ("wormhole", "blackhole")}
_HEADER, *_ROWS = [line.split() for line in (FOLDER / "special_values.txt").read_text().splitlines()]
_INPUTS = [int(text, 16) for text in _HEADER[3:]]


def _as_bf16_case(function: str, chip: str) -> Case:
    """The kernels of a recorded case of this function, with bf16 tiles and a 16-bit DST."""
    names = [f"sfpu_{function}_{path}" for path in ("bf16_d16", "fp32_d32", "fp32_u2d")]
    found = next(case for name in names for case in cases() if case.name == name)
    facts = {
        **found.facts,
        "arch": chip,
        "compile_time_args": {"reader": [2, 2048], "compute": [], "writer": [2, 2048]},
        "runtime_args": {"reader": ["$in0", 1], "compute": [1], "writer": ["$out", 1]},
        "cbs": [{**cb, "format": "bf16", "page_size": 2048} for cb in found.facts["cbs"]],
        "compute_config": {
            **found.facts["compute_config"],
            "fp32_dest_acc_en": False,
            "unpack_to_dest_fp32": [],
        },
    }
    return replace(found, facts=facts)


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: f"{row[0]}-{row[1]}")
def test_special_values_are_those_of_the_chip(row: list[str]) -> None:
    function, chips, *expected = row
    tile = np.zeros(1024, np.uint16)
    tile[: len(_INPUTS)] = _INPUTS
    for chip in _CHIPS[chips]:
        inputs = {"in0": tile.view(np.uint8).reshape(1, -1)}
        pages, _ = run_with(_as_bf16_case(function, chip), "chip", inputs, (1, 2048))
        results = pages.view(np.uint16)[0, : len(_INPUTS)]
        assert [f"{value:04x}" for value in results] == expected
