"""What a target makes of kernels: emitted, built, run; tried, each target in a process of its own.

A process may end in any way there is: a compiler that is missing, a GPU that faults, a crash in a library. What it had
found out until then is kept in a file; what it had not is reported as stopped.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

SECONDS = 300.0
# Beside the targets: TileLang's CPU backend with every float in 64 bits, and a function of torch that the file brings.
FLOAT64 = "float64"
TORCH = "torch"


@dataclass
class Trial:
    """One kernel on one target."""

    emitted: int | None = None  # characters of source
    built: bool = False
    ran: bool = False
    why: str = ""  # the first step that was not done, in a sentence
    tensors: dict[str, torch.Tensor] = field(default_factory=dict)  # all of them, after the run
    epsilon: float = 0.0  # of the coarsest float into which it rounds; 0: no floats
    multiplies_float32: bool = False  # in a product of matrices
    longest: int = 1  # axis of a tensor

    @property
    def step(self) -> str:
        return "ran" if self.ran else "built" if self.built else "emitted" if self.emitted is not None else "refused"


def tried(
    reference: str, target: str, sizes: Mapping[str, int], *, seed: int = 0, seconds: float = SECONDS
) -> dict[str, Trial]:
    """Each kernel of `FILE.py[:kernel]`, by name. Of a process that stops, the last kernel says how it ended."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "trials.pt")
        words = [f"{name}={size}" for name, size in sizes.items()]
        status, said = _process([reference, target, str(seed), str(out), *words], seconds)
        found: dict[str, Trial] = torch.load(out, weights_only=False) if out.is_file() else {}
    if status != 0:
        found["" if not found else next(reversed(found))] = Trial(why=_stopped(status, said, seconds))
    return found


def _process(arguments: Sequence[str], seconds: float) -> tuple[int | None, str]:
    command = [sys.executable, "-m", "tilelang_tt.lowering.trial_worker", *arguments]
    settings: dict[str, Any] = {"capture_output": True, "text": True, "stdin": subprocess.DEVNULL}
    try:
        done = subprocess.run(command, timeout=seconds, check=False, env=_environment(), **settings)
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stderr


def _environment() -> dict[str, str]:
    return {**os.environ, "TILELANG_PRINT_ON_COMPILATION": "0"}


def _stopped(status: int | None, said: str, seconds: float) -> str:
    if status is None:
        return f"its process was stopped after {seconds:.0f} s"
    last = next((line for line in reversed(said.splitlines()) if line.strip()), "").strip()
    end = f"signal {-status}" if status < 0 else f"status {status}"
    return f"its process ended with {end}{': ' + last if last else ''}"
