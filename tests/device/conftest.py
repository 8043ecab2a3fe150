"""All device tests of one session share a build cache, so that a kernel is compiled once."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def _cache(session_cache: None) -> None:
    pass
