"""Compiled kernels and the device runtime on disk, by content.

    <root>/<key>/<file>            what was built
    <root>/<key>/<file>.sha256     written last; an entry whose digest differs is damaged and built again

An entry is made in a temporary directory and renamed into place, so two processes may build the same
entry at the same time: the first rename wins and the other's work is dropped. What a process that was killed
left behind is in such a directory, and counts for nothing.

The cache has a size that it is kept below (`TILELANG_TT_CACHE_SIZE`, in megabytes; 4096 unless it says otherwise).
Entries that were not used for longest go first; those of the last hour stay, for another process may need them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tilelang_tt.diagnostics import EnvironmentProblem

DIRECTORY_VARIABLE = "TILELANG_TT_CACHE_DIR"
SIZE_VARIABLE = "TILELANG_TT_CACHE_SIZE"
_USUAL_SIZE = 4096  # megabytes
_FULL, _TRIMMED = 1.0, 0.8  # shares of the size: trimming begins at one and ends at the other
_IN_USE = 3600.0  # seconds for which an entry stays after its last use, and unfinished work of another process
_LOOKS = (
    "00"  # a process that makes an entry whose key ends so looks at the size: one in 256, as it may take half a second
)
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
        with contextlib.suppress(OSError):  # of a cache that is only read
            os.utime(path.with_name(name + ".sha256"))
        return path

    def get_or_build(self, key: str, name: str, build: Callable[[Path], None]) -> Path:
        """The entry's file; `build(path)` makes it when it is missing or damaged."""
        for _ in range(_ATTEMPTS):
            found = self.get(key, name)
            if found is not None:
                return found
            self._make(key, name, build)
            if key.endswith(_LOOKS):
                self.trim(_size_limit())
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

    def trim(self, limit: float) -> None:
        """Below `limit` bytes, if what nobody has used for an hour is enough."""
        entries: list[tuple[float, int, Path]] = []
        before = time.time() - _IN_USE
        for entry in self._entries():
            used, size = _last_use(entry)
            if entry.name.startswith(".") and used < before:
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entries.append((used, size, entry))
        total = sum(size for _, size, _ in entries)
        if total <= _FULL * limit:
            return
        for used, size, entry in sorted(entries):
            if total <= _TRIMMED * limit or used >= before:
                return
            self._drop(entry)
            total -= size

    def _entries(self) -> list[Path]:
        try:
            return [entry for entry in self.root.iterdir() if entry.is_dir() and _is_ours(entry.name)]
        except OSError:
            return []

    def _drop(self, entry: Path) -> None:
        """At once, as others see it."""
        with contextlib.suppress(OSError):
            aside = Path(tempfile.mkdtemp(prefix=".dropped-", dir=self.root))
            entry.rename(aside / "entry")
            shutil.rmtree(aside, ignore_errors=True)

    def _problem(self, reason: str) -> EnvironmentProblem:
        return EnvironmentProblem(
            "TT502",
            f"the build cache directory cannot be used: {self.root}",
            notes=(reason,),
            help=f"set {DIRECTORY_VARIABLE} to a directory you may write to",
        )


def _is_ours(name: str) -> bool:
    """Keys are digests; other folders, such as `tuning`, are kept by those who made them."""
    return name.startswith((".making-", ".damaged-", ".dropped-")) or (len(name) == 64 and name.isalnum())


def _last_use(entry: Path) -> tuple[float, int]:
    """When something in an entry was used last, and the bytes it has."""
    used, size = 0.0, 0
    with contextlib.suppress(OSError):
        used = entry.stat().st_mtime
        for file in entry.iterdir():
            stat = file.stat()
            used, size = max(used, stat.st_mtime), size + stat.st_size
    return used, size


def _size_limit() -> float:
    text = os.environ.get(SIZE_VARIABLE, "")
    if text and not text.isdecimal():
        raise EnvironmentProblem(
            "TT504",
            f"{SIZE_VARIABLE} is no number of megabytes: {text!r}",
            help=f"unset it for {_USUAL_SIZE}, or say how much the cache may hold",
        )
    return float(text or _USUAL_SIZE) * 2**20


_caches: dict[Path, BuildCache] = {}


def build_cache() -> BuildCache:
    """The cache of the directory that is configured now."""
    root = cache_directory()
    return _caches.setdefault(root, BuildCache(root))
