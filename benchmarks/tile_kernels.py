"""Softmax, RMSNorm, flash attention and an addition: compile time, the virtual device beside torch, and what is moved.

The kernels are those of `examples/`. Bytes are those that the device counts; the compulsory ones are every input read
and every result written once.
"""

from __future__ import annotations

import importlib.util
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import tilelang
import torch
from tilelang.engine.lower import lower
from torch.nn import functional
from tvm.target import Target

from benchmarks.kernels import addition
from benchmarks.report import Row
from tilelang_tt import costs
from tilelang_tt.options import Options
from tilelang_tt.pipeline import run_passes
from tilelang_tt.target import make_target

EXAMPLES = Path(__file__).parents[1] / "examples"
COMPILE_GOAL = 1.0  # seconds
DRAM_GOAL = 1.05  # of the compulsory bytes
ROUNDS = 3
LENGTH, HEADS, DIM, BLOCK = 2048, 8, 128, 64  # of attention


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class Case:
    title: str
    func: Callable[[], Any]
    inputs: tuple[tuple[int, ...], ...]
    torch: Callable[..., torch.Tensor]
    streams: bool = True  # every byte of DRAM need be moved once only
    by_hand: tuple[int, int] | None = None  # DST sections, and tiles through L1 and back, of the model kernel
    dtype: torch.dtype = torch.bfloat16
    options: Options = field(default_factory=Options)


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    heads_first = (tensor.transpose(1, 2) for tensor in (q, k, v))
    return functional.scaled_dot_product_attention(*heads_first, is_causal=True)


def attention_by_hand() -> tuple[int, int]:
    """Counted in a kernel written by a person, with the same blocks: of the first keys, of further ones, at the end."""
    rows = LENGTH // BLOCK
    further = rows * (rows - 1) // 2
    halves = DIM // 64  # DST holds two tile columns of two tile rows
    first, again, end = 5 + halves, 6 + 3 * halves, 1 + 2 * halves
    tiles = DIM // 32 * 2  # of the output's block
    first_tiles, again_tiles, end_tiles = 12 + tiles, 16 + 2 * tiles, 2
    return (
        HEADS * (rows * (first + end) + further * again),
        HEADS * (rows * (first_tiles + end_tiles) + further * again_tiles),
    )


CASES = (
    Case("a + b, 4096 x 4096", lambda: addition(4096), ((4096, 4096), (4096, 4096)), torch.add),
    Case(
        "softmax, 4096 x 4096",
        lambda: example("softmax").softmax.get_tir(4096, 4096, 32, "bfloat16"),
        ((4096, 4096),),
        partial(torch.softmax, dim=1),
    ),
    Case(
        "RMSNorm, 4096 x 2048",
        lambda: example("rms_norm").rms_norm.get_tir(4096, 2048, 32, "bfloat16"),
        ((4096, 2048), (2048,)),
        lambda x, w: functional.rms_norm(x, (2048,), w, 1e-6),
    ),
    Case(
        "RMSNorm, 4096 x 2048, float32",
        lambda: example("rms_norm").rms_norm.get_tir(4096, 2048, 32, "float32"),
        ((4096, 2048), (2048,)),
        lambda x, w: functional.rms_norm(x, (2048,), w, 1e-6),
        dtype=torch.float32,
    ),
    Case(
        f"causal flash attention, b1 h{HEADS} s{LENGTH} d{DIM}",
        lambda: example("flash_attention").flash_attention.get_tir(1, HEADS, LENGTH, DIM, BLOCK, BLOCK),
        ((1, LENGTH, HEADS, DIM),) * 3,
        attention,
        streams=False,
        by_hand=attention_by_hand(),
        options=Options(fast_math=True),
    ),
)


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def compile_time(func: Any, target: Target) -> float:
    """Processor time from the kernel as written to its sources."""
    start = time.process_time()
    with target:
        lower(func, target=target)
    return time.process_time() - start


def measure_case(case: Case) -> list[Row]:
    func, target = case.func(), make_target(case.options)
    compiling = min(compile_time(func, target) for _ in range(ROUNDS))
    kernel = tilelang.compile(func, out_idx=[-1], target=target)
    random = torch.Generator().manual_seed(0)
    inputs = [torch.randn(shape, generator=random).to(case.dtype) for shape in case.inputs]
    result = kernel(*inputs)
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(timed(lambda: kernel(*inputs)))
        theirs.append(timed(lambda: case.torch(*inputs)))
    device, host = statistics.median(ours), statistics.median(theirs)
    counted = kernel.last_report.statistics
    moved = counted["noc_read_bytes"] + counted["noc_write_bytes"]
    needed = sum(tensor.numel() * tensor.element_size() for tensor in (*inputs, result))
    return [
        Row(case.title, f"{compiling * 1e3:.0f} ms", "codegen, processor time", "1 s", compiling < COMPILE_GOAL),
        Row("  virtual device", f"{device * 1e3:.0f} ms", f"torch {host * 1e3:.0f} ms", "", None),
        _dram(moved, needed, case.streams),
        _engine(func, case),
    ]


def _dram(moved: int, needed: int, streams: bool) -> Row:
    ratio = moved / needed
    what = f"{ratio:.2f} x the compulsory bytes"
    beside = f"{moved / 2**20:.1f} MiB of {needed / 2**20:.1f} MiB"
    return Row("  DRAM", what, beside, "at most 1.05 x" if streams else "", ratio <= DRAM_GOAL if streams else None)


def _engine(func: Any, case: Case) -> Row:
    _, sets = run_passes(func, case.options, lambda *_: None)
    counts = [costs.of(kernels) for kernels in sets]
    sections, trips = sum(count.dst_sections for count in counts), sum(count.l1_trips for count in counts)
    beside = "by hand {:,}, {:,}".format(*case.by_hand) if case.by_hand else ""
    return Row("  DST sections, tiles through L1", f"{sections:,}, {trips:,}", beside, "", None)


def measure() -> list[Row]:
    return [row for case in CASES for row in measure_case(case)]
