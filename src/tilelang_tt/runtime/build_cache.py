"""Compiled kernels and the device runtime on disk, by content.

    <root>/<key>/<file>            what was built
    <root>/<key>/<file>.sha256     written last; an entry whose digest differs is damaged and built again

An entry is made in a temporary directory and renamed into place, so two processes may build the same
entry at the same time: the first rename wins and the other's work is dropped.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tilelang_tt.diagnostics import EnvironmentProblem

DIRECTORY_VARIABLE = "TILELANG_TT_CACHE_DIR"
_ATTEMPTS = 5  # against other processes that replace the same entry


def cache_directory() -> Path:
    named = os.environ.get(DIRECTORY_VARIABLE)
    return Path(named) if named else Path.home() / ".cache" / "tilelang-tt"


def digest(*parts: str | bytes) -> str:
    """A key: SHA-256 over length-prefixed parts."""
    hasher = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        hasher.update(len(data).to_bytes(8, "little"))
        hasher.update(data)
    return hasher.hexdigest()


@dataclass
class BuildCache:
    root: Path
    _verified: dict[Path, tuple[int, int]] = field(default_factory=dict)

    def get(self, key: str, name: str) -> Path | None:
        """The entry's file, or None when it is missing or damaged."""
        path = self.root / key / name
        try:
            stat = path.stat()
            mark = (stat.st_size, stat.st_mtime_ns)
            if self._verified.get(path) == mark:
                return path
            expected = path.with_name(name + ".sha256").read_text()
            if hashlib.sha256(path.read_bytes()).hexdigest() != expected:
                return None
        except OSError:
            return None
        self._verified[path] = mark
        return path

    def get_or_build(self, key: str, name: str, build: Callable[[Path], None]) -> Path:
        """The entry's file; `build(path)` makes it when it is missing or damaged."""
        for _ in range(_ATTEMPTS):
            found = self.get(key, name)
            if found is not None:
                return found
            self._make(key, name, build)
        raise self._problem("entries vanish while they are being made")

    def _make(self, key: str, name: str, build: Callable[[Path], None]) -> None:
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            scratch = Path(tempfile.mkdtemp(prefix=".making-", dir=self.root))
        except OSError as error:
            raise self._problem(str(error)) from error
        try:
            build(scratch / name)
            content = (scratch / name).read_bytes()
            (scratch / f"{name}.sha256").write_text(hashlib.sha256(content).hexdigest())
            self._replace(scratch, self.root / key, name)
        except OSError as error:
            raise self._problem(str(error)) from error
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _replace(self, scratch: Path, entry: Path, name: str) -> None:
        """Put a finished entry in place; a whole one that is already there stays."""
        try:
            scratch.rename(entry)
            return
        except OSError:
            if not entry.exists():
                raise
        if self.get(entry.name, name) is not None:
            return
        # Damaged: move it aside first, so that nobody sees half of the old and half of the new.
        aside = Path(tempfile.mkdtemp(prefix=".damaged-", dir=self.root))
        try:
            entry.rename(aside / "entry")
            scratch.rename(entry)
        except OSError:
            if not entry.exists():
                raise
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    def _problem(self, reason: str) -> EnvironmentProblem:
        return EnvironmentProblem(
            "TT502",
            f"the build cache directory cannot be used: {self.root}",
            notes=(reason,),
            help=f"set {DIRECTORY_VARIABLE} to a directory you may write to",
        )


_caches: dict[Path, BuildCache] = {}


def build_cache() -> BuildCache:
    """The cache of the directory that is configured now."""
    root = cache_directory()
    return _caches.setdefault(root, BuildCache(root))
