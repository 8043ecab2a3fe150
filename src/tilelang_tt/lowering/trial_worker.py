"""The process of `trial.py`: FILE.py[:kernel] TARGET SEED OUT [NAME=SIZE ...]; what it finds goes to OUT at once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from tilelang_tt.cli.discover import functions_in
from tilelang_tt.cpu.kernel import CpuKernel
from tilelang_tt.diagnostics import TenstorrentError
from tilelang_tt.lowering.artifact import CompiledArtifact
from tilelang_tt.lowering.lower import lower
from tilelang_tt.lowering.reason import reason_of
from tilelang_tt.lowering.roundings import epsilon_of, multiplies_float32
from tilelang_tt.lowering.same_inputs import arguments, replaced, sizes_of
from tilelang_tt.lowering.trial import FLOAT64, TORCH, Trial
from tilelang_tt.target import NAME

_DEVICES = {"cuda": "cuda", "hip": "cuda", "metal": "mps"}  # of torch's tensors; others: the host's


def main(reference: str, target: str, seed: str, out: str, *words: str) -> None:
    given = {name: int(size) for name, size in (word.split("=") for word in words)}
    functions, module = functions_in(reference)
    trials: dict[str, Trial] = {}
    for name, func in functions.items():
        trials[name] = Trial(why="its process ended while this kernel was tried")
        torch.save(trials, out)
        own = (vars(module).get(f"{name}_{what}") for what in ("inputs", "reference"))
        trials[name] = _trial(func, target, given, int(seed), *own)
        torch.save(trials, out)


def _trial(
    func: Any,
    target: str,
    given: dict[str, int],
    seed: int,
    own_inputs: Callable[..., dict[str, Any]] | None,
    by_hand: Callable[..., Any] | None,
) -> Trial:
    trial = Trial(epsilon=epsilon_of(func), multiplies_float32=multiplies_float32(func))
    try:
        given_arguments = replaced(arguments(func, sizes_of(func, given), seed), own_inputs)
        axes = [size for value in given_arguments.values() if isinstance(value, torch.Tensor) for size in value.shape]
        trial.longest = max(axes, default=1)
        run = {FLOAT64: _in_float64, TORCH: _by_hand}.get(target)
        if run is not None:
            run(trial, func, given_arguments, by_hand)
        else:
            _on_target(trial, func, target, given_arguments)
    except TenstorrentError as error:
        trial.why = error.message
    except Exception as error:
        trial.why = reason_of(error)
    return trial


def _on_target(trial: Trial, func: Any, target: str, given: dict[str, Any]) -> None:
    artifact = lower(func, target)
    trial.emitted = len(artifact.kernel_source)
    if artifact.can_run_here:
        _run(trial, artifact, given)
    else:
        trial.why = f"not run: {artifact.why_not}"
        lower(func, target, build=True)
        trial.built = True


def _run(trial: Trial, artifact: CompiledArtifact, given: dict[str, Any]) -> None:
    kernel = artifact.kernel()
    trial.built = artifact.kind != NAME  # whose kernels are compiled when they are launched
    device = _DEVICES.get(artifact.kind, "cpu")
    placed = [value.to(device) if isinstance(value, torch.Tensor) else value for value in given.values()]
    kernel(*placed)
    trial.built = trial.ran = True
    pairs = zip(given, placed, strict=True)
    trial.tensors = {name: value.cpu() for name, value in pairs if isinstance(value, torch.Tensor)}


def _in_float64(trial: Trial, func: Any, given: dict[str, Any], _: Any) -> None:
    wide = {name: _widened(value) for name, value in given.items()}
    CpuKernel(func, wide=True)(*wide.values())
    trial.built = trial.ran = True
    trial.tensors = {name: value for name, value in wide.items() if isinstance(value, torch.Tensor)}


def _by_hand(trial: Trial, _: Any, given: dict[str, Any], by_hand: Callable[..., Any] | None) -> None:
    """Without such a function nothing is said; one that fails is a mistake of the file."""
    if by_hand is None:
        return
    wide = {name: _widened(value) for name, value in given.items()}
    results = by_hand(**wide)
    unknown = sorted(results.keys() - wide.keys())
    if unknown:
        raise ValueError(f"it returns '{unknown[0]}', which is no parameter of the kernel")
    trial.tensors = {**wide, **results}
    trial.ran = True


def _widened(value: Any) -> Any:
    is_float = isinstance(value, torch.Tensor) and value.dtype.is_floating_point
    return value.double() if is_float else value.clone() if isinstance(value, torch.Tensor) else value


if __name__ == "__main__":
    sys.path.insert(0, str(Path.cwd()))
    main(*sys.argv[1:])
