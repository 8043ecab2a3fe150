"""The cache of built kernels under what befalls it: races, killed processes, a full disk, foreign files, its size."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import random
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tilelang_tt.diagnostics import EnvironmentProblem
from tilelang_tt.runtime.build_cache import BuildCache, _size_limit

FORK = multiprocessing.get_context("fork")  # children that only touch files
HOUR = 3600.0


def key_of(number: int) -> str:
    return hashlib.sha256(bytes([number])).hexdigest()


def content_of(key: str) -> bytes:
    return key.encode() * 2000


def build_slowly(key: str) -> Callable[[Path], None]:
    """In two writes, with a pause: what is half done can be seen, and killed."""

    def build(path: Path) -> None:
        content = content_of(key)
        with path.open("wb", buffering=0) as file:
            file.write(content[: len(content) // 2])
            time.sleep(random.random() / 200)
            file.write(content[len(content) // 2 :])

    return build


def use(root: Path, seed: int, rounds: int) -> None:
    """A process that needs entries in its own order; it ends with 1 if one is wrong."""
    random.seed(seed)
    for _ in range(rounds):
        key = key_of(random.randrange(5))
        path = BuildCache(root).get_or_build(key, "file", build_slowly(key))
        if path.read_bytes() != content_of(key):
            os._exit(1)
    os._exit(0)


def test_sixteen_processes_at_once(tmp_path: Path) -> None:
    processes = [FORK.Process(target=use, args=(tmp_path, seed, 20)) for seed in range(16)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 16
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted(key_of(number) for number in range(5))


def test_killed_at_any_moment(tmp_path: Path) -> None:
    random.seed(1)
    for seed in range(25):
        process = FORK.Process(target=use, args=(tmp_path, seed, 1000))
        process.start()
        time.sleep(random.random() / 50)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        for entry in tmp_path.glob("[0-9a-f]*"):
            found = BuildCache(tmp_path).get(entry.name, "file")
            assert found is not None
            assert found.read_bytes() == content_of(entry.name)
        if seed % 5 == 4:  # again from nothing, so that there is something to interrupt
            for entry in tmp_path.glob("[0-9a-f]*"):
                entry.rename(tmp_path / f".damaged-{seed}{entry.name[:4]}")
    cache, later = BuildCache(tmp_path), time.time() - 2 * HOUR
    for left in tmp_path.glob(".*"):
        for file in (left, *left.rglob("*")):
            os.utime(file, (later, later))
    cache.trim(2.0**30)
    assert list(tmp_path.glob(".*")) == []


def test_a_full_disk(tmp_path: Path) -> None:
    """No room for a file, as the system says it: the call says so, and nothing half done is taken for whole."""

    def attempt() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
        try:
            BuildCache(tmp_path).get_or_build(key_of(0), "file", build_slowly(key_of(0)))
        except EnvironmentProblem as error:
            os._exit(0 if error.code == "TT502" and "File too large" in error.notes[0] else 2)
        os._exit(1)

    process = FORK.Process(target=attempt)
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert list(tmp_path.iterdir()) == []
    cache = BuildCache(tmp_path)
    assert cache.get_or_build(key_of(0), "file", build_slowly(key_of(0))).read_bytes() == content_of(key_of(0))


def test_a_cache_that_is_a_file(tmp_path: Path) -> None:
    root = tmp_path / "cache"
    root.write_text("not a directory")
    with pytest.raises(EnvironmentProblem, match="TT502"):
        BuildCache(root).get_or_build(key_of(0), "file", build_slowly(key_of(0)))
    assert root.read_text() == "not a directory"


def test_foreign_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "tuning").mkdir()
    (tmp_path / "tuning" / "results.jsonl").write_text("mine")
    (tmp_path / key_of(0)).write_text("a file where an entry would be")
    cache = BuildCache(tmp_path)
    assert cache.get_or_build(key_of(0), "file", build_slowly(key_of(0))).read_bytes() == content_of(key_of(0))
    cache.trim(0)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert (tmp_path / "tuning" / "results.jsonl").read_text() == "mine"


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    cache, now = BuildCache(tmp_path), time.time()
    for number in range(10):
        entry = cache.get_or_build(key_of(number), "file", build_slowly(key_of(number))).parent
        used = now - (20 - number) * HOUR
        for file in (*entry.iterdir(), entry):
            os.utime(file, (used, used))
    size = sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file())
    assert BuildCache(tmp_path).get(key_of(0), "file") is not None  # used now: it stays
    BuildCache(tmp_path).trim(size / 2)
    left = {entry.name for entry in tmp_path.iterdir()}
    assert key_of(0) in left
    assert not left & {key_of(number) for number in range(1, 6)}
    assert sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file()) <= size / 2


def test_what_is_in_use_stays_whatever_the_size(tmp_path: Path) -> None:
    cache = BuildCache(tmp_path)
    paths = [cache.get_or_build(key_of(number), "file", build_slowly(key_of(number))) for number in range(3)]
    cache.trim(0)
    assert all(path.exists() for path in paths)


def test_the_size_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILELANG_TT_CACHE_SIZE", "100")
    assert _size_limit() == 100 * 2**20
    monkeypatch.setenv("TILELANG_TT_CACHE_SIZE", "lots")
    with pytest.raises(EnvironmentProblem) as caught:
        _size_limit()
    assert str(caught.value) == (
        "error[TT504]: TILELANG_TT_CACHE_SIZE is no number of megabytes: 'lots'\n"
        "  help: unset it for 4096, or say how much the cache may hold"
    )
