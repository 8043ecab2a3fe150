"""Which TileLang is needed, said plainly; what `doctor` reports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tilelang_tt import environment
from tilelang_tt.cli import doctor
from tilelang_tt.diagnostics import EnvironmentProblem


@pytest.fixture(autouse=True)
def no_other_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make test-next` lets another version pass."""
    monkeypatch.delenv(environment.ANY_VERSION_VARIABLE, raising=False)


@pytest.mark.parametrize("version", ["0.1.15", "0.1.15+cuda.git1234abcd"])
def test_the_right_tilelang(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "version", lambda _name: version)
    environment.require_tilelang()


def test_another_tilelang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "version", lambda _name: "0.1.16")
    with pytest.raises(EnvironmentProblem) as caught:
        environment.require_tilelang()
    assert str(caught.value) == (
        "error[TT503]: tilelang-tt 0.1.0 needs TileLang 0.1.15; TileLang 0.1.16 is installed\n"
        "  help: pip install tilelang==0.1.15"
    )


def test_no_tilelang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "installed_version", lambda _name: None)
    with pytest.raises(EnvironmentProblem) as caught:
        environment.require_tilelang()
    assert str(caught.value) == (
        "error[TT503]: tilelang-tt 0.1.0 needs TileLang 0.1.15; TileLang is not installed\n"
        "  help: pip install tilelang==0.1.15"
    )


PRETEND_OTHER_VERSION = """
import importlib.metadata
actual = importlib.metadata.version
importlib.metadata.version = lambda name: "0.2.0" if name == "tilelang" else actual(name)
"""


def test_import_refuses_another_tilelang() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PRETEND_OTHER_VERSION + "import tilelang_tt"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "error[TT503]: tilelang-tt 0.1.0 needs TileLang 0.1.15; TileLang 0.2.0 is installed" in done.stderr


def test_command_refuses_another_tilelang_without_a_traceback() -> None:
    start = "import sys, tilelang_tt_launcher; sys.argv = ['tilelang-tt', 'doctor']; "
    done = subprocess.run(
        [sys.executable, "-c", PRETEND_OTHER_VERSION + start + "sys.exit(tilelang_tt_launcher.main())"],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error[TT503]: tilelang-tt 0.1.0 needs TileLang 0.1.15; TileLang 0.2.0 is installed\n"
        "  help: pip install tilelang==0.1.15\n"
    )


def test_doctor_is_content(capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor.doctor() == 0
    report = capsys.readouterr().out
    assert "ok       tilelang      0.1.15\n" in report
    assert "The virtual device can run.\n" in report


def test_doctor_misses_a_compiler(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert doctor.doctor() == 1
    report = capsys.readouterr().out
    assert "MISSING  C++ compiler  the C++ compiler named by $CXX is not there: no-such-compiler\n" in report
    assert "The virtual device cannot run: C++ compiler missing or wrong.\n" in report


def test_doctor_misses_a_compiler_that_works(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CXX", "false")
    assert doctor.doctor() == 1
    assert "false: cannot compile C++17\n" in capsys.readouterr().out


def test_doctor_misses_a_cache_directory(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILELANG_TT_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert doctor.doctor() == 1
    report = capsys.readouterr().out
    assert f"MISSING  build cache   {tmp_path / 'file' / 'cache'} cannot be written\n" in report
    assert "-> set TILELANG_TT_CACHE_DIR to a directory you may write to\n" in report
