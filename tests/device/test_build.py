"""The build cache under races and damage, and the search for a compiler."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from device_programs import TileProgram

from tilelang_tt.diagnostics import EnvironmentProblem
from tilelang_tt.runtime import toolchain
from tilelang_tt.runtime.build_cache import BuildCache
from tilelang_tt.runtime.toolchain import find_toolchain

COPY = TileProgram("copy_tile_to_dst_init_short(x); copy_tile(x, 0, 0);")


def works() -> bool:
    x = torch.randn(32, 64)
    return torch.equal(COPY.run(x), x)


def test_entry_is_built_once(tmp_path: Path) -> None:
    cache, builds = BuildCache(tmp_path), []

    def build(path: Path) -> None:
        builds.append(path)
        path.write_bytes(b"content")

    paths = [cache.get_or_build("key", "file", build) for _ in range(3)]
    assert len(builds) == 1
    assert len({*paths}) == 1
    assert sorted(item.name for item in tmp_path.iterdir()) == ["key"], "no scratch is left"


@pytest.mark.parametrize("damage", ["truncate", "empty", "garble", "no digest", "no file"])
def test_damaged_entry_is_rebuilt(tmp_path: Path, damage: str) -> None:
    def build(path: Path) -> None:
        path.write_bytes(b"content" * 100)

    path = BuildCache(tmp_path).get_or_build("key", "file", build)
    if damage == "truncate":
        path.write_bytes(b"content")
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "garble":
        path.write_bytes(b"tnetnoc" * 100)
    elif damage == "no digest":
        path.with_name("file.sha256").unlink()
    else:
        path.unlink()
    again = BuildCache(tmp_path).get_or_build("key", "file", build)
    assert again.read_bytes() == b"content" * 100
    assert [item.name for item in tmp_path.iterdir()] == ["key"]


def test_damaged_kernels_and_runner_are_rebuilt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILELANG_TT_CACHE_DIR", str(tmp_path))
    assert works()
    built = [path for path in tmp_path.glob("*/*") if path.name in ("runner", "kernel.so")]
    assert len(built) == 4
    for path in built:
        path.write_bytes(path.read_bytes()[:100])
    assert works()


def test_failed_build_leaves_nothing(tmp_path: Path) -> None:
    def build(path: Path) -> None:
        path.write_bytes(b"half")
        raise RuntimeError("compiler died")

    with pytest.raises(RuntimeError, match="compiler died"):
        BuildCache(tmp_path).get_or_build("key", "file", build)
    assert list(tmp_path.iterdir()) == []


def test_threads_may_race(tmp_path: Path) -> None:
    barrier = threading.Barrier(8)

    def build(path: Path) -> None:
        barrier.wait(5)
        path.write_bytes(b"content")

    results: list[bytes] = []
    caches = [BuildCache(tmp_path) for _ in range(8)]  # as separate processes: nothing shared but the disk
    threads = [
        threading.Thread(target=lambda c=cache: results.append(c.get_or_build("k", "f", build).read_bytes()))
        for cache in caches
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [b"content"] * 8
    assert [item.name for item in tmp_path.iterdir()] == ["k"]


def test_two_processes_may_race(tmp_path: Path) -> None:
    code = (
        "import sys, torch; sys.path.insert(0, sys.argv[1]);"
        "from device_programs import TileProgram;"
        "x = torch.randn(32, 32);"
        "p = TileProgram('copy_tile_to_dst_init_short(x); copy_tile(x, 0, 0);');"
        "assert torch.equal(p.run(x), x)"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parent)]
    environment = {**os.environ, "TILELANG_TT_CACHE_DIR": str(tmp_path)}
    racers = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) for _ in range(2)]
    outcomes = [racer.communicate()[1].decode() for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0], outcomes


def test_unusable_cache_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILELANG_TT_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.raises(EnvironmentProblem) as caught:
        works()
    assert caught.value.code == "TT502"
    assert caught.value.message == f"the build cache directory cannot be used: {tmp_path}/file/cache"
    assert caught.value.help == "set TILELANG_TT_CACHE_DIR to a directory you may write to"


def test_missing_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(EnvironmentProblem) as caught:
        find_toolchain()
    assert str(caught.value) == (
        "error[TT501]: no C++ compiler found; the virtual device compiles the generated kernels with one\n"
        "  note: looked for $CXX, g++, clang++ and the Python package ziglang\n"
        "  help: install g++ or clang++ (Debian, Ubuntu: apt install g++), "
        "or run: pip install ziglang"
    )


def test_cxx_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler -O0")
    with pytest.raises(EnvironmentProblem, match=r"named by \$CXX is not there: no-such-compiler"):
        find_toolchain()


def test_cxx_may_carry_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "g++ -DEXTRA=1")
    assert find_toolchain().command[1:] == ("-DEXTRA=1",)


def test_zig_is_the_last_resort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "ziglang" / "__init__.py"
    package.parent.mkdir()
    package.write_text("")
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_toolchain().command == (sys.executable, "-m", "ziglang", "c++")


@pytest.mark.parametrize(
    "extra",
    [
        "",
        "const uint32_t least = std::min<uint32_t>(3, 4); if (least != 3) return;",
        "std::vector<uint32_t> two(2, 1); if (two[0] + two[1] != 2) return;",
    ],
    ids=["nothing", "algorithms", "a container"],
)
def test_kernels_have_of_the_standard_library_what_they_use(extra: str) -> None:
    """Small kernels are compiled without it."""
    x = torch.randn(32, 64)
    plain = TileProgram(f"{extra} copy_tile_to_dst_init_short(x); copy_tile(x, 0, 0);")
    text = (
        "#include <vector>\n" + plain.sources()["compute.cpp"] if "vector" in extra else plain.sources()["compute.cpp"]
    )
    assert torch.equal(replace(plain, extra={"compute.cpp": text}).run(x), x)


def test_compiler_that_does_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is to blame, not the cache."""
    monkeypatch.setenv("CXX", "true")
    monkeypatch.setenv("TILELANG_TT_CACHE_DIR", str(tmp_path))
    with pytest.raises(EnvironmentProblem) as caught:
        works()
    assert caught.value.code == "TT501"
    assert "true" in caught.value.message
