"""The launcher against a stand-in for ttnn: right requests and descriptors, NOT proof that a device runs them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_ttnn import FakeTtnn

from tilelang_tt.runtime import ttnn_process


@pytest.fixture(scope="session")
def fake_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield tmp_path_factory.mktemp("fake-ttnn")
    ttnn_process.close()


@pytest.fixture
def fake(
    fake_directory: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FakeTtnn]:
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if base.name.startswith("popen-") else base  # pytest-xdist: one folder per worker
    monkeypatch.setenv("TILELANG_TT_CACHE_DIR", str(shared / "device-build-cache"))
    stand_in = FakeTtnn(fake_directory, monkeypatch)
    yield stand_in
    if stand_in.changed:
        ttnn_process.close()
