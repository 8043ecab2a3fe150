"""Kernels to count, and what is counted of each: what its code does, how long that is, what compiling it takes."""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import json
import os
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tilelang import tvm
from tilelang.backend.target import determine_target

from benchmarks.tile_kernels import example
from tilelang_tt import costs
from tilelang_tt.compiled import Compiled
from tilelang_tt.diagnostics import DeviceError, TenstorrentError
from tilelang_tt.execution.timing import estimate, names_of, timing_of
from tilelang_tt.ir.kernel import KernelSet
from tilelang_tt.ir.layout import Role
from tilelang_tt.options import Options
from tilelang_tt.pipeline import print_files, run_passes
from tilelang_tt.target import options_of, parse_options

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden"
LONG_ROWS = ((8192, "float32"), (16384, "bfloat16"))
SECONDS = 60.0  # of this host for the clock of one kernel
SIZE = 256  # of every dimension, and every whole number, that only a call would tell


@dataclass(frozen=True)
class Kernel:
    name: str
    func: Any  # PrimFunc
    options: Options


@dataclass(frozen=True)
class Counted:
    """One kernel. `numbers` are the same whenever it is compiled; a refused kernel has none."""

    refused: str = ""  # code of the refusal
    numbers: dict[str, int] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)  # file -> digest of its text
    milliseconds: float = 0.0
    microseconds: float = 0.0  # by the clock; 0: not asked for, or steps depend on data
    bound: str = ""  # what the clock says bounds it


def goldens() -> Iterator[Kernel]:
    for path in sorted(GOLDEN.glob("*/kernel.py")):
        spec = importlib.util.spec_from_file_location(f"counted_{path.parent.name}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        func = next(value for value in vars(module).values() if isinstance(value, tvm.tirx.PrimFunc))
        yield Kernel(path.parent.name, func, options_of(determine_target(module.TARGET, return_object=True)))


def long_rows() -> Iterator[Kernel]:
    """Kernels of examples/ whose rows do not fit L1 as they are written."""
    for name, (columns, dtype) in itertools.product(("layer_norm", "rms_norm", "softmax"), LONG_ROWS):
        func = getattr(example(name), name).get_tir(64, columns, 32, dtype)
        yield Kernel(f"{name}_{columns}_{dtype}", func, Options())


def pinned() -> Iterator[Kernel]:
    """The kernels of tests/golden/counts.txt."""
    yield from goldens()
    yield from long_rows()


def traced(folder: Path) -> Iterator[Kernel]:
    """Kernels that `benchmarks.trace` has written."""
    for path in sorted(folder.glob("*.json")):
        kept = json.loads(path.read_text())
        yield Kernel(path.stem, tvm.ir.load_json(kept["function"]), parse_options(kept["options"]))


def _note(stages: list[str], stage: str, _state: object) -> None:
    stages.append(stage)


def count(kernel: Kernel, rounds: int, texts: dict[str, str], *, clock: bool = False) -> Counted:
    """Compile `rounds` times; `texts` receives the generated files. With `clock` it is timed, too."""
    seconds = []
    for _ in range(rounds):
        stages: list[str] = []
        start = time.process_time()  # of this process: the machine may have other work
        try:
            program, sets = run_passes(kernel.func, kernel.options, partial(_note, stages))
            files = print_files(program, sets)
        except TenstorrentError as refusal:
            return Counted(refusal.code)
        seconds.append(time.process_time() - start)
    microseconds, bound = _timed(Compiled(program.name, files, ())) if clock else (0.0, "")
    files = {name: text.replace(f"{ROOT}{os.sep}", "") for name, text in files.items()}  # wherever the tree lies
    texts.update(files)
    numbers = {"tries": max(Counter(stages).values())} | _done(sets) | _lines(files)
    digests = {name: hashlib.sha256(text.encode()).hexdigest()[:16] for name, text in files.items()}
    milliseconds = round(statistics.median(seconds) * 1e3, 1)
    return Counted("", numbers, digests, milliseconds, microseconds, bound)


def _timed(compiled: Compiled) -> tuple[float, str]:
    """Microseconds by the clock, and what bounds the longest launch; nothing where that depends on data."""
    try:
        report = estimate(compiled, dict.fromkeys(names_of(compiled.plan), SIZE), limit=SECONDS)
    except DeviceError as error:
        return 0.0, error.code
    timing = timing_of(compiled, report)
    return round(timing.microseconds, 2), timing.bound


def _done(sets: tuple[KernelSet, ...]) -> dict[str, int]:
    """Of all launches together. What depends on a tensor's contents cannot be counted and is left out."""
    total: Counter[str] = Counter({"sections_in_text": sum(map(costs.sections_in_text, sets))})
    try:
        for kernels in sets:
            total.update(asdict(costs.of(kernels, _sizes(kernels))))
    except costs.UncountableError:
        return {"sections_in_text": total["sections_in_text"]}
    return dict(total)


def _sizes(kernels: KernelSet) -> dict[str, int]:
    names = {str(size.name) for size in kernels.program.sizes}
    names |= {arg.name for kernel in kernels.kernels for arg in kernel.args}
    return dict.fromkeys(names, SIZE)


def _lines(files: dict[str, str]) -> dict[str, int]:
    """Lines of the generated kernels, by role; several launches have `NAME_reader.cpp` and so on."""
    lines: Counter[str] = Counter()
    for role in Role:
        texts = [text for name, text in files.items() if name.endswith(f"{role.value}.cpp")]
        lines[f"{role.value}_lines"] = sum(len(text.splitlines()) for text in texts)
    return lines
