"""The stand-in for ttnn as tests handle it: where the worker finds it, how it fails, what it was given."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import tilelang_tt
from tilelang_tt.runtime import ttnn_process
from tilelang_tt.runtime.ttnn_find import PYTHON_VARIABLE, SIMULATOR_VARIABLE

FAKE = Path(__file__).parent / "fake"
PACKAGE = Path(tilelang_tt.__file__).parents[1]


class FakeTtnn:
    """One worker serves many tests; a test that changes the stand-in gets, and leaves, a worker of its own."""

    def __init__(self, directory: Path, patch: pytest.MonkeyPatch) -> None:
        self.directory = directory
        self.patch = patch
        self.records = directory / "programs.jsonl"
        self.records.write_text("")
        self.python = self._interpreter()
        self.changed = False
        patch.setenv("FAKE_TTNN_RECORD", str(self.records))
        patch.setenv(PYTHON_VARIABLE, str(self.python))
        patch.delenv(SIMULATOR_VARIABLE, raising=False)
        self._install("0.77.0")

    def _interpreter(self) -> Path:
        """This Python with the stand-in on its path, under a name of its own."""
        script = self.directory / "python-with-ttnn"
        path = ":".join(str(item) for item in (FAKE, self.directory, PACKAGE))
        script.write_text(f'#!/bin/sh\nPYTHONPATH="{path}" exec "{sys.executable}" "$@"\n')
        script.chmod(0o755)
        return script

    def _install(self, version: str) -> None:
        for old in self.directory.glob("ttnn-*.dist-info/METADATA"):
            old.unlink()
            old.parent.rmdir()
        info = self.directory / f"ttnn-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: ttnn\nVersion: {version}\n")

    def change(self, *, mode: str = "", version: str = "0.77.0", arch: str = "", grid: str = "") -> None:
        """From now on it fails like this, or is another ttnn or device."""
        ttnn_process.close()
        self.changed = True
        self._install(version)
        for name, value in (("MODE", mode), ("ARCH", arch), ("GRID", grid)):
            if value:
                self.patch.setenv(f"FAKE_TTNN_{name}", value)
            else:
                self.patch.delenv(f"FAKE_TTNN_{name}", raising=False)

    def programs(self) -> list[dict[str, Any]]:
        """What generic_op was given, in order."""
        return [json.loads(line) for line in self.records.read_text().splitlines()]
