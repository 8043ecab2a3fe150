"""Do the targets compute the same? Every kernel of a file on every target, compared with float64 and with each other.

    float64     the kernel itself, by TileLang's CPU backend, with 64 bits to every float
    torch       the function NAME_reference of the file, in float64, where there is one
    c, cuda ... each as it is lowered for users

An error is that of the worst element, relative to it or, if that is larger, to the root mean square of its tensor. What
it may be follows from the number formats: four roundings to the coarsest float into which the kernel rounds (to TF32,
where a product takes float32 and the target's matrix unit reads it so), and the sums in float32.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations

import torch

from tilelang_tt.lowering.trial import FLOAT64, TORCH, Trial, tried

_FLOAT32 = 2.0**-24
_FLOAT64 = 2.0**-53
# Matrix units that may read a float32 with 11 significant bits (TF32): of NVIDIA since sm_80, and of Tenstorrent.
_TF32 = 2.0**-11
_READS_TF32 = ("cuda", "tenstorrent")
_ROUNDINGS = 4  # of operands, of a block in between, of the result, of a function's value


@dataclass(frozen=True)
class Cell:
    """One kernel on one target."""

    target: str
    trial: Trial
    error: float | None = None  # None: it did not run, or there is nothing to compare with
    allowed: float = 0.0

    @property
    def ran(self) -> bool:
        return self.trial.ran

    @property
    def agrees(self) -> bool:
        return self.error is not None and self.error <= self.allowed


@dataclass(frozen=True)
class Pair:
    """Two targets that ran the same kernel."""

    left: str
    right: str
    error: float
    allowed: float

    @property
    def agrees(self) -> bool:
        return self.error <= self.allowed


@dataclass(frozen=True)
class Line:
    """One kernel."""

    kernel: str
    cells: tuple[Cell, ...]  # a target each, in the order of the table
    pairs: tuple[Pair, ...]
    problem: str = ""  # why there is no float64 to compare with, or no reference of the file's

    @property
    def agrees(self) -> bool:
        ran = [cell for cell in self.cells if cell.ran]
        agree = all(cell.agrees for cell in ran) and all(pair.agrees for pair in self.pairs)
        return agree and not self.problem


def agreement(
    reference: str, targets: list[str], sizes: Mapping[str, int], *, seed: int = 0, jobs: int = 2
) -> list[Line]:
    """A line for each kernel that `FILE.py[:kernel]` means; every target in a process of its own, `jobs` at a time."""
    names = (FLOAT64, TORCH, *targets)
    with ThreadPoolExecutor(jobs) as pool:
        trials = pool.map(lambda name: tried(reference, name, sizes, seed=seed), names)
        runs = dict(zip(names, trials, strict=True))
    kernels = list(dict.fromkeys(kernel for run in runs.values() for kernel in run))
    return [_line(kernel, {name: run.get(kernel) or _lost(run) for name, run in runs.items()}) for kernel in kernels]


def _lost(run: Mapping[str, Trial]) -> Trial:
    """The process ended before this kernel; what it ended with is in its last trial."""
    last = next(reversed(list(run.values())), None)
    return Trial(why=f"not reached: {last.why}" if last else "not reached")


def _line(kernel: str, trials: dict[str, Trial]) -> Line:
    exact, by_hand = trials.pop(FLOAT64), trials[TORCH]
    problem = "" if by_hand.ran or not by_hand.why else f"{kernel}_reference failed: {by_hand.why}"
    if not by_hand.ran:
        del trials[TORCH]
    if not exact.ran:
        return Line(kernel, tuple(Cell(name, trial) for name, trial in trials.items()), (), exact.why)
    written = _written(exact, trials)
    cells = tuple(_cell(name, trial, exact, written) for name, trial in trials.items())
    ran = [cell for cell in cells if cell.ran and cell.target != TORCH]
    pairs = tuple(
        Pair(
            one.target,
            other.target,
            _error(one.trial, other.trial, exact, written),
            one.allowed + other.allowed,
        )
        for one, other in combinations(ran, 2)
    )
    return Line(kernel, cells, pairs, problem)


def _cell(target: str, trial: Trial, exact: Trial, written: list[str]) -> Cell:
    if not trial.ran:
        return Cell(target, trial)
    return Cell(target, trial, _error(trial, exact, exact, written), _allowed(target, trial))


def _allowed(target: str, trial: Trial) -> float:
    if target == TORCH:
        return _ROUNDINGS * math.sqrt(trial.longest) * _FLOAT64
    if trial.epsilon == 0:  # integers
        return 0.0
    kind = target.split()[0].partition("/")[0]
    coarsest = max(trial.epsilon, _TF32 if trial.multiplies_float32 and kind in _READS_TF32 else 0.0)
    return _ROUNDINGS * (coarsest + math.sqrt(trial.longest) * _FLOAT32)


def _written(exact: Trial, trials: Mapping[str, Trial]) -> list[str]:
    """Tensors that are not the same everywhere: inputs are, to the bit."""

    def differs(name: str) -> bool:
        return any(not _same(run.tensors[name], exact.tensors[name]) for run in trials.values() if run.ran)

    return [name for name in exact.tensors if differs(name)]


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return torch.equal(torch.nan_to_num(one.double()), torch.nan_to_num(other.double()))


def _error(one: Trial, other: Trial, exact: Trial, written: list[str]) -> float:
    """The largest of its tensors; infinity where NaNs or infinities lie elsewhere."""
    pairs = [(one.tensors[name], other.tensors[name], exact.tensors[name]) for name in written]
    return max((_distance(*tensors) for tensors in pairs), default=0.0)


def _distance(one: torch.Tensor, other: torch.Tensor, exact: torch.Tensor) -> float:
    one, other, exact = one.double(), other.double(), exact.double()
    finite = torch.isfinite(exact)
    for tensor in (one, other):
        if not torch.equal(torch.isfinite(tensor), finite) or not _same(tensor[~finite], exact[~finite]):
            return math.inf
    if not finite.any():
        return 0.0
    difference, exact = (one - other)[finite].abs(), exact[finite].abs()
    scale = torch.clamp(exact, min=exact.square().mean().sqrt().item())
    return (difference / scale).nan_to_num(0.0).max().item()  # 0 / 0: all is zero, and nothing differs


def not_run(lines: list[Line]) -> dict[str, dict[str, list[str]]]:
    """By target: what was not run and why, with the kernels it concerns."""
    found: dict[str, dict[str, list[str]]] = {}
    for line in lines:
        for cell in line.cells:
            if not cell.ran:
                found.setdefault(cell.target, {}).setdefault(_plain(cell.trial.why), []).append(line.kernel)
    return found


def _plain(why: str) -> str:
    """Without the kernel's own name, so that kernels with the same reason stand together."""
    head, colon, reason = why.partition(": ")
    return reason if colon and (head.startswith("'") or head == "not run") else why
