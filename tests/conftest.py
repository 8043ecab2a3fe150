"""Importing the package registers the backend for every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tilelang_tt  # noqa: F401


@pytest.fixture(scope="session")
def session_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache of kernels and searches that is empty when the session begins, and that its workers share."""
    patch = pytest.MonkeyPatch()
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if base.name.startswith("popen-") else base  # pytest-xdist: one folder per worker
    patch.setenv("TILELANG_TT_CACHE_DIR", str(shared / "session-cache"))
    yield
    patch.undo()
