"""A kernel's call, repeated by TileLang's CPU backend, and whether the results agree.

A recurrence may enlarge every rounding. By how much, the kernel's own types say: where results differ, the reference is
computed a second time, with blocks that do not round. The reference that rounds lies so far from that; ours may lie
twice as far.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from tilelang_tt.conformance.measured import Call
from tilelang_tt.cpu.kernel import CpuKernel

# As in TileLang's own comparisons of kernels with torch: 16-bit results after sums of products. The root mean square of
# the errors has the same bound, so that one wrong row in a hundred does not hide among the outliers.
RELATIVE = 1e-2
OUTLIERS = 0.01  # share of elements that may lie outside
ENLARGED = 2.0  # times the errors that the kernel's own roundings make, ours may be
MEANINGLESS = 0.1  # errors of this size, root mean square, and there is nothing to compare with


@dataclass(frozen=True)
class Bounds:
    relative: float = RELATIVE  # of an element, and of all errors' root mean square
    outliers: float = OUTLIERS
    mean: float = RELATIVE


@dataclass(frozen=True)
class Errors:
    """How far floating-point results lie from the expected ones."""

    outside: int  # elements beyond the relative bound
    count: int
    mean: float  # root mean square, in parts of the expected elements'
    largest: float
    scale: float  # root mean square of the expected elements

    def problem(self, bounds: Bounds) -> str:
        if self.outside <= bounds.outliers * self.count and self.mean <= bounds.mean:
            return ""
        return f"{self.outside} of {self.count} elements differ, by up to {self.largest:.3g} (rms {self.scale:.3g})"


def reference_verdict(func: Any, call: Call) -> str:
    """ "equal", "differs: ..." or "none: ..." with the reason why there is no reference."""
    unset = [
        _unset_like(after) if before is None else before for before, after in zip(call.before, call.after, strict=True)
    ]
    try:
        rounded = _computed(func, unset, rounds=True)
        problem = _first_problem(unset, rounded, call.after, None)
        if problem:
            problem = _first_problem(unset, rounded, call.after, _computed(func, unset, rounds=False))
        problem = problem or _first_change(call.before, rounded, call.after)
    except Exception as error:
        text = str(error).strip().splitlines()
        return f"none: {type(error).__name__}: {text[0] if text else ''}"
    return problem or "equal"


def _computed(func: Any, values: list[Any], *, rounds: bool) -> list[Any]:
    results = [value.clone() if isinstance(value, torch.Tensor) else value for value in values]
    CpuKernel(func, rounds=rounds)(*results)
    return results


def _first_problem(before: list[Any], expected: list[Any], got: list[Any], unrounded: list[Any] | None) -> str:
    for number, value in enumerate(expected):
        if not isinstance(value, torch.Tensor):
            continue
        bounds = Bounds(relative := _relative(value.dtype), mean=relative)
        old, reference, ours = (_comparable(values[number]) for values in (before, expected, got))
        untouched = _same(old, reference)
        if unrounded is not None:
            exact = _comparable(unrounded[number])
            roundings = errors(reference, exact, untouched, bounds) if exact.dtype.is_floating_point else None
            if roundings is not None:
                if roundings.mean > MEANINGLESS:
                    return f"none: parameter {number}: the kernel's own roundings change it by {roundings.mean:.0%}"
                bounds, reference = enlarged(bounds, roundings), exact
        problem = difference(ours, reference, untouched, bounds)
        if problem:
            return f"differs: parameter {number}: {problem}"
    return ""


def _first_change(before: list[Any], expected: list[Any], got: list[Any]) -> str:
    """Of tensors that the script brings: what the reference leaves as it was must be so.

    Within the bounds of the whole tensor: what is computed may happen to equal what was there.
    """
    for number, old in enumerate(before):
        if isinstance(old, torch.Tensor):
            old, reference, ours = (_comparable(value) for value in (old, expected[number], got[number]))
            left = _same(old, reference)
            problem = difference(torch.where(left, ours, reference), reference, torch.zeros_like(left))
            if problem:
                return f"differs: parameter {number} where it should not change: {problem}"
    return ""


def enlarged(bounds: Bounds, roundings: Errors) -> Bounds:
    """What may be expected of results that round elsewhere, by as much."""
    outliers = ENLARGED * roundings.outside / roundings.count
    return Bounds(bounds.relative, max(bounds.outliers, outliers), max(bounds.mean, ENLARGED * roundings.mean))


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


def difference(got: torch.Tensor, expected: torch.Tensor, untouched: torch.Tensor, bounds: Bounds | None = None) -> str:
    """What is wrong with `got`, or ""; elements the reference did not write are not compared."""
    if not expected.dtype.is_floating_point:
        count = int(((got != expected) & ~untouched).sum())
        return f"{count} of {got.numel()} elements differ" if count else ""
    bounds = bounds or Bounds()
    found = errors(got, expected, untouched, bounds)
    if found is None:
        return "infinities or NaNs differ"
    return found.problem(bounds)


def errors(got: torch.Tensor, expected: torch.Tensor, untouched: torch.Tensor, bounds: Bounds) -> Errors | None:
    """Of the elements that the reference wrote; None: not the same ones are finite."""
    ours, theirs = got[~untouched].double(), expected[~untouched].double()
    odd = ~torch.isfinite(theirs)
    if not torch.equal(ours[odd].nan_to_num(), theirs[odd].nan_to_num()) or not torch.isfinite(ours[~odd]).all():
        return None
    error, size = (ours[~odd] - theirs[~odd]).abs(), theirs[~odd].abs()
    if error.numel() == 0:
        return Errors(0, 1, 0.0, 0.0, 0.0)
    scale, mean = (float(values.square().mean().sqrt()) for values in (size, error))
    outside = int((error > bounds.relative * (size + scale)).sum())
    part = mean / scale if scale else 0.0  # beside zeros every error is outside
    return Errors(outside, error.numel(), part, float(error.max()), scale)
