"""Assertions of a kernel (T.device_assert) that did not hold, as a run left them: the first becomes an error."""

from __future__ import annotations

import struct
from collections.abc import Mapping

import torch

from tilelang_tt.diagnostics import DeviceError, Location
from tilelang_tt.formats import is_float
from tilelang_tt.runtime.plan import AssertionPlan, Plan


def check_assertions(plan: Plan, tensors: Mapping[str, torch.Tensor]) -> None:
    """Raise where a block of the grid left a record."""
    for name in dict.fromkeys(item.tensor for item in plan.assertions):
        failed = tensors[name][..., 0].nonzero()
        if len(failed):
            block = tuple(int(index) for index in failed[0])
            number, *values = (int(word) for word in tensors[name][block])
            known = {item.number: item for item in plan.assertions if item.tensor == name}
            raise _error(known[number], block, values)


def _error(assertion: AssertionPlan, block: tuple[int, ...], values: list[int]) -> DeviceError:
    shown = [_number(word, dtype) for word, dtype in zip(values, assertion.dtypes, strict=False)]
    location = Location(assertion.user_file, assertion.user_line) if assertion.user_line else None
    text = assertion.text.format(*shown)
    return DeviceError(
        "TT417",
        "an assertion does not hold" + (f": {text}" if text else ""),
        location=location,
        notes=(f"block {', '.join(map(str, block))} of the grid",) if block else (),
    )


def _number(word: int, dtype: str) -> str:
    if is_float(dtype):
        return f"{struct.unpack('<d', struct.pack('<q', word))[0]:.9g}"
    return str(word % 2**64 if dtype == "uint64" else word)
