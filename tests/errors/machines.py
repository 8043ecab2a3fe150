"""Machines that a program of the catalogue wants and that this one is not: a ttnn that fails, no compiler, a simulator.

For ttnn there is the stand-in of tests/ttnn, which runs kernels on the virtual device: no proof for a card.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import tilelang

from tilelang_tt import target as targets
from tilelang_tt.lowering import rows
from tilelang_tt.runtime import arena, ttnn_process
from tilelang_tt.runtime.ttnn_find import SIMULATOR_VARIABLE

TTNN_TESTS = Path(__file__).parents[1] / "ttnn"
_OF_STAND_IN = ("ttnn", "fake_tensors", "fake_run")
_FAILURES = {
    "failing": {"mode": "raise_run"},
    "blackhole": {"arch": "blackhole"},
    "crowded": {"mode": "large_1460000"},
    "simulator": {"mode": "die_unpack"},
    "wormhole-simulator": {},
    "blackhole-simulator": {"arch": "blackhole"},
}


@contextlib.contextmanager
def machine(name: str, folder: Path) -> Iterator[None]:
    """As if this were the machine of that name; an empty name is this machine."""
    with pytest.MonkeyPatch.context() as patch:
        if name == "ttnn" or name in _FAILURES:
            with _ttnn(name, folder, patch):
                yield
            return
        if name == "no-memory":
            patch.setattr(arena, "_free", [])
            patch.setattr(arena.mmap, "mmap", _no_memory)
        elif name == "no-hipcc":
            patch.setitem(rows.ROWS, "hip", dataclasses.replace(rows.ROWS["hip"], build=lambda: "no hipcc is found"))
        elif name == "no-gpu":
            lacks = dataclasses.replace(rows.ROWS["cuda"], run=lambda: "no GPU is found", build=lambda: None)
            patch.setitem(rows.ROWS, "cuda", lacks)
        elif name == "nothing":
            patch.delenv("TILELANG_DEFAULT_TARGET", raising=False)
            patch.setattr(targets, "cards", list)
            patch.setattr(tilelang.backend.target, "_TARGET_DETECTORS", {})
            targets.register()
        yield


def _no_memory(*_args: object) -> None:
    raise OSError(errno.ENOMEM, "Cannot allocate memory")


@contextlib.contextmanager
def _ttnn(name: str, folder: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    patch.syspath_prepend(str(TTNN_TESTS))
    from fake_ttnn import FAKE, FakeTtnn

    home = folder / f"ttnn-{name}"
    home.mkdir(exist_ok=True)
    stand_in = FakeTtnn(home, patch)
    stand_in.change(**_FAILURES.get(name, {}))
    if name.endswith("simulator"):
        (home / "libttsim.so").touch()
        (home / "soc_descriptor.yaml").touch()
        patch.setenv(SIMULATOR_VARIABLE, str(home / "libttsim.so"))
    patch.syspath_prepend(str(FAKE))
    before = {module: sys.modules.pop(module, None) for module in _OF_STAND_IN}
    try:
        yield
    finally:
        ttnn_process.close()
        for module, was in before.items():
            sys.modules.pop(module, None)
            if was is not None:
                sys.modules[module] = was
