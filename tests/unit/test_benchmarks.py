"""Benchmarks are run by hand; that they still fit the package is seen here."""

import importlib
from pathlib import Path

import pytest
from benchmarks import gqa_decode

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "benchmarks").rglob("*.py")
    if not path.stem.startswith("__")
)


@pytest.mark.parametrize("module", MODULES)
def test_it_can_be_imported(module: str) -> None:
    assert importlib.import_module(module).__doc__


def test_the_decoding_kernel_is_right() -> None:
    """It compares itself with torch."""
    gqa_decode.main()
