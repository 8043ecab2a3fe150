"""`tt.lines.json`: lines of the user's behind generated lines; a plan has none of them."""

from __future__ import annotations

import json

from sample_kernels import lazy_gemm

from tilelang_tt.runtime.failure import user_location
from tilelang_tt.runtime.line_map import SourceLine, lines_from_json, lines_to_json


def test_it_reads_back() -> None:
    lines = (
        SourceLine("reader.cpp", 3, "a: b.py", 7),
        SourceLine("reader.cpp", 9, "k.py", 8),
        SourceLine("compute.cpp", 3, "k\n.py", 0),
    )
    assert lines_from_json(lines_to_json(lines)) == lines


def test_a_kernel_has_it_beside_its_plan() -> None:
    kernel = lazy_gemm()(64, 64, 64)
    text = kernel.files["tt.lines.json"]
    assert set(json.loads(text)) == {"reader.cpp", "compute.cpp", "writer.cpp"}
    assert "source_map" not in kernel.files["tt.plan.json"]
    assert __file__ not in kernel.files["tt.plan.json"]
    number = next(
        at for at, line in enumerate(kernel.files["compute.cpp"].splitlines(), 1) if "matmul_block(cb" in line
    )
    place = user_location(kernel.compiled.lines, "compute.cpp", number)
    assert place is not None
    assert "T.gemm" in place.text
