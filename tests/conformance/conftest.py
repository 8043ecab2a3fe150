"""Every kernel these tests compile is checked against the SDK's declarations, whatever the test is about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tilelang_tt import pipeline
from tilelang_tt.sdk import check, releases_of


@pytest.fixture(scope="session", autouse=True)
def sdk_check() -> Iterator[None]:
    printed = pipeline.print_files

    def print_and_check(program: Any, sets: Any) -> dict[str, str]:
        files: dict[str, str] = printed(program, sets)
        kernels = {name: text for name, text in files.items() if name.endswith(".cpp") and name != "main.cpp"}
        assert kernels
        for release in releases_of(program.options.sdk):
            problems = check(kernels, release, program.options.arch)
            assert not problems, "\n".join(map(str, problems))
        return files

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "print_files", print_and_check)
        yield
