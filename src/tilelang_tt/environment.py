"""The check that comes before everything else: the TileLang this package is written for is there."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tilelang_tt.diagnostics import EnvironmentProblem
from tilelang_tt.version import TILELANG_VERSION, __version__

ANY_VERSION_VARIABLE = "TILELANG_TT_ANY_TILELANG"  # set by `make test-next`


def installed_version(distribution: str) -> str | None:
    """The version pip would show; None when it is not installed. Nothing is imported."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def require_tilelang() -> None:
    """TileLang's backend interface is not stable yet, so another version is refused, unless somebody asks to try it."""
    if os.environ.get(ANY_VERSION_VARIABLE) == "1":
        return
    found = installed_version("tilelang")
    if found is not None and found.partition("+")[0] == TILELANG_VERSION:
        return
    there = f"TileLang {found} is installed" if found else "TileLang is not installed"
    raise EnvironmentProblem(
        "TT503",
        f"tilelang-tt {__version__} needs TileLang {TILELANG_VERSION}; {there}",
        help=f"pip install tilelang=={TILELANG_VERSION}",
    )


def let_tilelang_have_a_folder() -> None:
    """Its import makes a cache in HOME, and fails where that cannot be written to: it gets one for this process."""
    if "tilelang" in sys.modules or "TILELANG_CACHE_DIR" in os.environ:
        return
    try:
        (Path(os.environ.get("HOME", "/")) / ".tilelang" / "cache").mkdir(parents=True, exist_ok=True)
    except OSError:
        os.environ["TILELANG_CACHE_DIR"] = tempfile.mkdtemp(prefix="tilelang-cache-")
        atexit.register(shutil.rmtree, os.environ["TILELANG_CACHE_DIR"], ignore_errors=True)
