"""The winner has to compute what the kernel as written computes: both run on the same random numbers.

Another block only changes the order of sums. Another number that is no block (a window, a count of groups) changes
results, and then the choice is not taken.
"""

from __future__ import annotations

import torch

from tilelang_tt.cli.discover import load_kernel
from tilelang_tt.cli.inputs import random_inputs, written
from tilelang_tt.cli.usage import CHIP_TOLERANCE, UsageError
from tilelang_tt.diagnostics import DeviceError, TenstorrentError
from tilelang_tt.options import Options
from tilelang_tt.runtime.virtual import launch
from tilelang_tt.tuning.measure import Subject
from tilelang_tt.tuning.space import Choice, target_text

Results = dict[str, torch.Tensor]
_TIME_LIMIT = "TT405"


class NotComparedError(Exception):
    """The kernel as written does not run on random numbers, or not in the time there is."""


class Check:
    """Compares choices with the kernel as written, which runs once."""

    def __init__(self, subject: Subject, options: Options, seconds: float) -> None:
        self._subject, self._options, self._seconds = subject, options, seconds
        try:
            self._expected = self._results(Choice())
        except DeviceError as error:
            reason = f"it takes longer than {seconds:g} s" if error.code == _TIME_LIMIT else error.message
            raise NotComparedError(reason) from None

    def agrees(self, choice: Choice) -> bool:
        """Whether every tensor is the same but for rounding. What cannot be built does not agree."""
        try:
            results = self._results(choice)
        except (TenstorrentError, UsageError):
            return False
        return all(_close(results[name], tensor) for name, tensor in self._expected.items())

    def _results(self, choice: Choice) -> Results:
        target = target_text(self._options, dict(choice.options))
        compiled = load_kernel(self._subject.call(self._subject.file(), dict(choice.arguments)), target).compiled
        plan = compiled.plan
        inputs = random_inputs(plan, self._subject.sizes)
        launch(plan, compiled.files, inputs.tensors, inputs.sizes, inputs.scalars, timeout=self._seconds)
        return {name: inputs.tensors[name] for name in written(plan)}


def _close(got: torch.Tensor, expected: torch.Tensor) -> bool:
    """The error of the whole tensor, beside its size; what is not finite has to be so in both."""
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return False
    if not expected.dtype.is_floating_point:
        return torch.equal(got, expected)
    left, right = got.double(), expected.double()
    finite = torch.isfinite(right)
    if not torch.equal(finite, torch.isfinite(left)):
        return False
    error = torch.linalg.vector_norm((left - right)[finite])
    return bool(error <= CHIP_TOLERANCE * torch.linalg.vector_norm(right[finite]))
