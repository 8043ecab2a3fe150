"""The device that the checks of this folder run on; without one they are skipped, loudly."""

import os
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from tilelang_tt.diagnostics import EnvironmentProblem
from tilelang_tt.runtime import ttnn_process
from tilelang_tt.runtime.runner import default_timeout
from tilelang_tt.runtime.ttnn_find import SIMULATOR_SETTINGS, device_problem, find_ttnn, simulator
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


@pytest.fixture(scope="module")
def ttnn() -> Any:
    """ttnn in this process, for checks that open the device themselves."""
    if find_spec("ttnn") is None:
        pytest.skip("NOT RUN: this Python has no ttnn")
    if problem := device_problem():
        pytest.skip(f"NOT RUN, nothing was launched: {problem[0]}")
    if simulator():
        for name, value in SIMULATOR_SETTINGS.items():
            os.environ.setdefault(name, value)
    import ttnn

    return ttnn


@pytest.fixture(scope="module")
def device(ttnn: Any) -> Iterator[Any]:
    opened = ttnn.open_device(device_id=0)
    yield opened
    ttnn.close_device(opened)
