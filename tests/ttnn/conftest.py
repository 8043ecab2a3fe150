"""The launcher against a stand-in for ttnn: right requests and descriptors, NOT proof that a device runs them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from fake_ttnn import FAKE, FakeTtnn

from tilelang_tt.runtime import ttnn_process


@pytest.fixture(scope="session")
def fake_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield tmp_path_factory.mktemp("fake-ttnn")
    ttnn_process.close()


@pytest.fixture
def fake(fake_directory: Path, monkeypatch: pytest.MonkeyPatch, session_cache: None) -> Iterator[FakeTtnn]:
    stand_in = FakeTtnn(fake_directory, monkeypatch)
    yield stand_in
    if stand_in.changed:
        ttnn_process.close()


@pytest.fixture
def ttnn(fake: FakeTtnn, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The stand-in in this process, as in a user's who opened the device."""
    monkeypatch.syspath_prepend(str(FAKE))
    before = {name: sys.modules.pop(name, None) for name in ("ttnn", "fake_tensors", "fake_run")}
    import ttnn

    ttnn.calls = sys.modules.setdefault("fake_tensors", __import__("fake_tensors")).CALLS
    ttnn.calls.clear()
    yield ttnn
    for name, module in before.items():
        sys.modules.pop(name, None)
        if module is not None:
            sys.modules[name] = module


@pytest.fixture
def device(ttnn: Any) -> Iterator[Any]:
    opened = ttnn.open_device(device_id=0)
    yield opened
    ttnn.close_device(opened)
