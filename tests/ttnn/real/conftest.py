"""The device that the checks of this folder run on; without one they are skipped, loudly."""

from collections.abc import Iterator

import pytest

from tilelang_tt.diagnostics import EnvironmentProblem
from tilelang_tt.runtime import ttnn_process
from tilelang_tt.runtime.runner import default_timeout
from tilelang_tt.runtime.ttnn_find import device_problem, find_ttnn
from tilelang_tt.runtime.ttnn_process import HeldWorker


@pytest.fixture(scope="session")
def arch() -> Iterator[str]:
    """The chip of the device; the worker that holds it lives until the end."""
    try:
        find_ttnn()
    except EnvironmentProblem as problem:
        pytest.skip(f"NOT RUN: {problem.message}")
    if problem := device_problem():
        pytest.skip(f"NOT RUN, nothing was launched: {problem[0]}")
    with HeldWorker(default_timeout()) as worker:
        found = str(worker.facts["arch"])
    yield found
    ttnn_process.close()
