"""A kernel's call, repeated by TileLang's CPU backend, and whether the results agree."""

from __future__ import annotations

from typing import Any

import torch

from tilelang_tt.conformance.measured import Call
from tilelang_tt.conformance.upstream_cpu import CpuKernel

# As in TileLang's own comparisons of kernels with torch: 16-bit results after sums of products. The root mean square of
# the errors has the same bound, so that one wrong row in a hundred does not hide among the outliers.
RELATIVE = 1e-2
OUTLIERS = 0.01  # share of elements that may lie outside


def reference_verdict(func: Any, call: Call) -> str:
    """ "equal", "differs: ..." or "none: ..." with the reason why there is no reference."""
    unset = [
        _unset_like(after) if before is None else before for before, after in zip(call.before, call.after, strict=True)
    ]
    expected = [value.clone() if isinstance(value, torch.Tensor) else value for value in unset]
    try:
        CpuKernel(func, rounds=True)(*expected)
    except Exception as error:
        text = str(error).strip().splitlines()
        return f"none: {type(error).__name__}: {text[0] if text else ''}"
    for number, values in enumerate(zip(unset, expected, call.after, strict=True)):
        if isinstance(values[0], torch.Tensor):
            before, reference, got = (_comparable(value) for value in values)
            problem = difference(got, reference, _same(before, reference), _relative(values[2].dtype))
            if problem:
                return f"differs: parameter {number}: {problem}"
    return "equal"


def _unset_like(tensor: torch.Tensor) -> torch.Tensor:
    """A result tensor before the call; an element that keeps this value was never written."""
    return torch.full_like(tensor, float("nan") if tensor.dtype.is_floating_point else 77)


def _relative(dtype: torch.dtype) -> float:
    """A step of 8-bit floats is larger: two roundings of nearly the same number may be one step apart."""
    return max(RELATIVE, torch.finfo(dtype).eps) if dtype.is_floating_point else RELATIVE


def _comparable(tensor: torch.Tensor) -> torch.Tensor:
    """torch does not compare 8-bit floats."""
    return tensor.float() if tensor.dtype.is_floating_point and tensor.dtype.itemsize == 1 else tensor


def _same(before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
    """Where the reference left a tensor as it was."""
    return (before == after) | (before.isnan() & after.isnan())


def difference(got: torch.Tensor, expected: torch.Tensor, untouched: torch.Tensor, relative: float = RELATIVE) -> str:
    """What is wrong with `got`, or ""; elements the reference did not write are not compared."""
    if not expected.dtype.is_floating_point:
        count = int(((got != expected) & ~untouched).sum())
        return f"{count} of {got.numel()} elements differ" if count else ""
    ours, theirs = got[~untouched].double(), expected[~untouched].double()
    if ours.numel() == 0:
        return ""
    odd = ~torch.isfinite(theirs)
    if not torch.equal(ours[odd].nan_to_num(), theirs[odd].nan_to_num()) or not torch.isfinite(ours[~odd]).all():
        return "infinities or NaNs differ"
    error, size = (ours[~odd] - theirs[~odd]).abs(), theirs[~odd].abs()
    scale = size.square().mean().sqrt() if size.numel() else torch.tensor(0.0)
    outside = int((error > relative * (size + scale)).sum())
    if outside > OUTLIERS * error.numel() or float(error.square().sum()) > relative**2 * float(size.square().sum()):
        return (
            f"{outside} of {error.numel()} elements differ, by up to {float(error.max()):.3g} (rms {float(scale):.3g})"
        )
    return ""
