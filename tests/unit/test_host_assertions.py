"""main.cpp with assertions of the kernel: a block that left a record ends the program, after the results are saved."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from test_host_flat import PLAN as FLAT
from test_host_flat import flat, pages_of, tensors
from test_host_program import Build, build, run

from tilelang_tt.runtime.plan import AssertionPlan, Param

__all__ = ["build"]  # a fixture

RECORDS = Param("records", "tensor", "int64", (2, 3, 8), "read_write")
PLAN = replace(
    FLAT,
    params=(*FLAT.params, RECORDS),
    tensors=(*FLAT.tensors, flat("records", len(FLAT.params), "UInt32", 1)),
    assertions=(
        AssertionPlan("records", 1, "first", (), "kernel.py", 7),
        AssertionPlan("records", 2, "{{small}}: a[i] = {}, b = {}, c = {}", ("float32", "int32", "uint64"), "k.py", 9),
    ),
)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ((0, 5, 5, 5), ""),
        ((1, 0, 0, 0), "first (kernel.py:7) (block 4 of the grid)"),
        ((2, struct.unpack("<q", struct.pack("<d", -0.1))[0], -3, -1),
         "{small}: a[i] = -0.1, b = -3, c = 18446744073709551615 (k.py:9) (block 4 of the grid)"),
    ],
)  # fmt: skip
def test_records(build: Build, tmp_path: Path, record: tuple[int, ...], message: str) -> None:
    records = torch.zeros(2, 3, 8, dtype=torch.int64)
    records[1, 1, :4] = torch.tensor(record)
    for name, tensor in {**tensors(), "records": records}.items():
        pages_of(PLAN, name, tensor).numpy().tofile(tmp_path / f"{name}.bin")
    result = run(build(PLAN), tmp_path, "M=70")
    assert result.status == (2 if message else 0)
    assert ("an assertion does not hold: " + message in result.err) == bool(message)
    assert (tmp_path / "long.out.bin").exists()
