"""Products of tiles in `chip`: this processor's vectors and plain C++ give the same bits, for operands of every size.

Recorded results say what is right; here the kernels of recorded products get other operands: ties, cancellation, wide
and tiny exponents, zeros, infinities.
"""

from __future__ import annotations

import numpy as np
import pytest
from recorded_cases import Bytes, Case, cases, run_with

from tilelang_tt.runtime.toolchain import Toolchain

FRACTIONS = {"fp32": np.uint32(0x7FFFFF), "bf16": np.uint32(0x7F0000)}
# exponents as floats hold them, and fraction bits that may be set
KINDS = {
    "like numbers of one size": ((124, 128), 0x7FFFFF),
    "few bits: ties": ((126, 129), 0x600000),
    "powers of two: cancellation": ((120, 130), 0),
    "wide": ((85, 150), 0x7FFFFF),
    "tiny products": ((40, 80), 0x7FFFFF),
    "everything": ((0, 256), 0x7FFFFF),
}


def _products() -> list[Case]:
    names = [case for case in cases() if case.name.startswith(("mm_bf16", "mm_fp32")) and "probe" not in case.name]
    return [case for case in names if case.facts["inputs"][0]["pages"] > 1]  # DST is added to


def _drawn(case: Case, kind: str, seed: int) -> dict[str, Bytes]:
    (least, most), bits = KINDS[kind]
    random = np.random.default_rng(seed)
    drawn = {}
    for item in case.facts["inputs"]:
        count = item["pages"] * 1024
        exponent = random.integers(least, most, count).astype(np.uint32) << np.uint32(23)
        fraction = random.integers(0, 1 << 23, count).astype(np.uint32) & np.uint32(bits) & FRACTIONS[item["format"]]
        sign = random.integers(0, 2, count).astype(np.uint32) << np.uint32(31)
        words = np.where(random.integers(0, 8, count) == 0, sign, sign | exponent | fraction)
        halves = (words >> np.uint32(16)).astype(np.uint16)
        data = words if item["format"] == "fp32" else halves
        drawn[item["name"]] = data.view(np.uint8).reshape(item["pages"], -1)
    return drawn


@pytest.mark.parametrize("kind", KINDS)
def test_products_of_drawn_operands(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = [(case, _drawn(case, kind, seed)) for seed, case in enumerate(_products())]
    forms = {(case.arch, case.facts["compute_config"]["math_fidelity"]) for case, _ in chosen}
    assert len(forms) == 8, "both chips, all fidelities"

    def results() -> list[Bytes]:
        return [run_with(case, "chip", given, case.expected.shape)[0] for case, given in chosen]

    native = results()
    monkeypatch.setattr(Toolchain, "native_flags", lambda _: ())
    for (case, _), ours, portable in zip(chosen, native, results(), strict=True):
        assert np.array_equal(ours, portable), (case.arch, case.name)
