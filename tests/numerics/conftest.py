"""The numerics tests of one session share the device tests' build cache, so that a kernel is compiled once."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session", autouse=True)
def _shared_build_cache(tmp_path_factory: pytest.TempPathFactory) -> object:
    patch = pytest.MonkeyPatch()
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if base.name.startswith("popen-") else base  # pytest-xdist: one folder per worker
    patch.setenv("TILELANG_TT_CACHE_DIR", str(shared / "device-build-cache"))
    yield
    patch.undo()
