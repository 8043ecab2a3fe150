"""Keep the kernels of a TileLang checkout as the compiler receives them, so that it can be asked about them at once.

    python -m benchmarks.trace CHECKOUT FOLDER

Running the checkout's scripts takes most of an hour; compiling what they compile takes a minute or two. Each script
runs as for `tilelang-tt conformance`, with the same small sizes, but every kernel hands back zeros instead of running,
and comparisons of tensors always hold. FOLDER gets a file for each pure kernel: its TIR, with source lines, and the
options it was compiled with. `python -m benchmarks.counts --traced FOLDER` reads them.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from tilelang import tvm

from tilelang_tt import backend
from tilelang_tt.compiled import Compiled
from tilelang_tt.conformance import session, worker
from tilelang_tt.conformance.events import Journal, KernelEvent, ScriptEvent, read_journal
from tilelang_tt.conformance.measured import MeasuredKernel, Measurement, Record
from tilelang_tt.conformance.runner import find_scripts
from tilelang_tt.conformance.sizes import LADDER, Shrink
from tilelang_tt.options import Options
from tilelang_tt.pipeline import compile_function
from tilelang_tt.target import OPTIONS

SECONDS = 90.0  # of clock time for each script and step of the ladder
VARIANTS = 2  # of one kernel, compiled with other sizes or types, that are kept
VARIANT = ".variant"


class AlwaysEqual:
    """In place of the worker's comparisons: the tensors are zeros."""

    held = 0
    differed = False

    def counting(self, _function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *_args, **_kwargs: True


@dataclass(frozen=True)
class Zeros:
    """In place of a compiled kernel: it has all but the arithmetic."""

    measured: MeasuredKernel
    kernel: Any

    def __call__(self, *args: Any) -> list[torch.Tensor]:
        return self.measured._zeros(args)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kernel, name)


@dataclass
class Tracing(Measurement):
    """Kernels that keep what they were compiled from and compute nothing."""

    folder: Path = Path()
    compiled: list[tuple[Any, Options]] = field(default_factory=list)

    def compile(self, func: Any, options: Options) -> Compiled:
        """In place of the backend's `compile_function`."""
        self.compiled.append((func, options))
        return compile_function(func, options)

    def cached(self, func: Any, *args: Any, **kwargs: Any) -> MeasuredKernel:
        self.compiled.clear()
        kernel = super().cached(func, *args, **kwargs)
        if kernel.record.event.compiled and not kernel.record.event.irregular:
            for seen in self.compiled:
                write_kernel(self.folder, kernel.record.event.key, *seen)
        if not kernel.refused:
            kernel._kernel = Zeros(kernel, kernel._kernel)
        kernel._compute_elsewhere = lambda values: None  # type: ignore[method-assign]  # noqa: ARG005
        return kernel

    def records(self) -> list[Record]:
        return []  # nothing to judge

    def uncalled(self) -> Iterator[MeasuredKernel]:
        return iter(())


def write_kernel(folder: Path, key: str, func: Any, options: Options) -> None:
    texts = {name: spec.text(getattr(options, name)) for name, spec in OPTIONS.items()}
    text = json.dumps({"kernel": key, "options": texts, "function": tvm.ir.save_json(func)})
    keep(folder, re.sub(r"[^\w]+", ".", key.removeprefix("examples/").replace(".py", "")), text)


def keep(folder: Path, name: str, text: str) -> None:
    """One file for each variant of a kernel, up to `VARIANTS`; the same one twice is one."""
    for number in range(1, VARIANTS + 1):
        path = folder / (f"{name}.json" if number == 1 else f"{name}{VARIANT}{number}.json")
        if not path.exists():
            path.write_text(text)
            return
        if path.read_text() == text:
            return


@dataclass(frozen=True)
class Script:
    """One script of the checkout, to be run with the sizes of one step of the ladder."""

    path: Path
    checkout: Path
    target: str

    def run(self, shrink: Shrink, journal: Path, folder: Path) -> None:
        """In a process of its own."""
        os.chdir(journal.parent)
        log = os.open("output", os.O_WRONLY | os.O_CREAT)
        os.dup2(log, sys.stdout.fileno())
        os.dup2(log, sys.stderr.fileno())
        torch.set_num_threads(1)
        tracing = Tracing(self.checkout, self.target, Journal(journal), folder=folder)
        changes = [
            (backend, "compile_function", tracing.compile),
            (session, "Measurement", lambda *_: tracing),
            (session, "Comparisons", AlwaysEqual),
        ]
        with session.replaced(changes):
            worker.run(self.path, self.checkout, shrink, self.target, tracing.journal)

    def attempt(self, shrink: Shrink, folder: Path) -> tuple[list[KernelEvent], ScriptEvent]:
        """What it compiled, and how it ended; kernels that it traced before its time was up count."""
        folder.mkdir()
        with tempfile.TemporaryDirectory() as work:
            journal = Path(work, "journal")
            process = multiprocessing.get_context("fork").Process(target=self.run, args=(shrink, journal, folder))
            process.start()
            process.join(SECONDS)
            if process.exitcode is None:
                process.kill()
                process.join()
            kernels, event = read_journal(journal)
        return kernels, event or ScriptEvent("stopped", f"exit code {process.exitcode}")

    def trace(self, folder: Path) -> str:
        """The first step of the ladder on which pure kernels compile and none is refused, otherwise the one on which
        most compile: a kernel may not accept every mixture of small sizes. One line to say so."""
        best, best_folder, line = -1, Path(), ""
        with tempfile.TemporaryDirectory() as steps:
            for shrink in LADDER:
                kernels, event = self.attempt(shrink, Path(steps, shrink.name))
                pure = [kernel for kernel in kernels if not kernel.irregular]
                compiled = sum(kernel.compiled for kernel in pure)
                if compiled > best:
                    best, best_folder = compiled, Path(steps, shrink.name)
                    counts = f"{len(kernels)} kernels, {len(pure)} pure, {compiled} compiled"
                    name = self.path.relative_to(self.checkout)
                    line = f"{name} ({shrink.name}): {counts}; {event.end} {event.message}"
                if (compiled and compiled == len(pure)) or (event.end == "ok" and not pure):
                    break
            for path in sorted(best_folder.iterdir()):
                keep(folder, path.stem.partition(VARIANT)[0], path.read_text())
        return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--target", default="tenstorrent")
    parser.add_argument("--only", default="", help="part of a script's path")
    arguments = parser.parse_args()
    checkout = arguments.checkout.resolve()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    os.environ |= {"TILELANG_PRINT_ON_COMPILATION": "0", "TILELANG_AUTO_TUNING_DISABLE_CACHE": "1"}
    for path in find_scripts(checkout / "examples"):
        if arguments.only in str(path):
            print(Script(path, checkout, arguments.target).trace(arguments.folder), flush=True)


if __name__ == "__main__":
    main()
