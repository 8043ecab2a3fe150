"""Where the vendor's kernels are: an unpacked ttnn wheel, given, installed, or downloaded from PyPI.

Nothing of it is copied into this repository. `TILELANG_TT_VENDOR_WHEEL` names a wheel file or a folder that holds
`ttnn/`; otherwise the cache folder is looked at, then an installed ttnn of the right release. `python
tests/vendor/wheel.py` downloads the wheel into the cache folder.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

RELEASE = "0.77.0"
VARIABLE = "TILELANG_TT_VENDOR_WHEEL"
OPERATIONS = "ttnn/cpp/ttnn/operations"
_PREFIXES = ("ttnn/ttnn/cpp/", "ttnn/tt_metal/")  # what kernels are and include
_SUFFIXES = (".h", ".hpp", ".inl", ".cpp", ".cc")


def cache_folder() -> Path:
    """Outside the repository: the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "tilelang-tt" / f"ttnn-{RELEASE}"


def find() -> Path | None:
    """The folder that holds `ttnn/cpp` and `tt_metal`, or None."""
    given = os.environ.get(VARIABLE)
    if given:
        path = Path(given)
        return _sources(_unpacked(path, cache_folder()) if path.is_file() else path)
    return _sources(cache_folder()) or _installed()


def download(folder: Path) -> Path:
    """Fetch the wheel with pip and unpack its sources; an unpacked one is left as it is."""
    if found := _sources(folder):
        return found
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--python-version", "3.10"]
    platform = ["--only-binary=:all:", "--platform", "manylinux_2_34_x86_64"]
    subprocess.run([*command, *platform, "--dest", str(folder), f"ttnn=={RELEASE}"], check=True)
    (wheel,) = folder.glob("ttnn-*.whl")
    _unpacked(wheel, folder)
    wheel.unlink()
    found = _sources(folder)
    assert found is not None, f"no kernels in {wheel.name}"
    return found


def include_paths(root: Path) -> Sequence[Path]:
    """What the SDK's build adds for kernels of ttnn: `ttnn/cpp/...` and `cpp/ttnn/...` are both written."""
    return (root, root / "ttnn", root / "ttnn" / "cpp")


def _unpacked(wheel: Path, folder: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith(_PREFIXES) and name.endswith(_SUFFIXES)]
        archive.extractall(folder, names)
    return folder


def _installed() -> Path | None:
    found = importlib.util.find_spec("ttnn")
    places = list(found.submodule_search_locations or ()) if found else []
    if not places or not any(Path(places[0]).parent.glob(f"ttnn-{RELEASE}.dist-info")):
        return None
    return _sources(Path(places[0]).parent)


def _sources(folder: Path) -> Path | None:
    for root in (folder, folder / "ttnn"):
        if (root / OPERATIONS).is_dir():
            return root
    return None


if __name__ == "__main__":
    print(download(cache_folder()))
