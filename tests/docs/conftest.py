"""What pages print does not depend on searches and kernels that this user kept earlier."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def _cache(session_cache: None) -> None:
    pass
