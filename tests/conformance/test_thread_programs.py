"""Random programs for threads, to the last bit of what their statements mean: on the virtual device, and by the
interpreter after every pass.

A few fixed ones run here; `make random COUNT=500` draws new ones.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

import ml_dtypes
import numpy as np
import torch
from thread_programs import Program, State
from thread_writer import INTEGERS, ThreadWriter
from typed_elements import ALL_FLOATS

from tilelang_tt.compiled import PLAN_FILE
from tilelang_tt.diagnostics import ResourceError, UnsupportedError
from tilelang_tt.ir.interpret import interpret
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.options import Options
from tilelang_tt.pipeline import print_files, run_passes
from tilelang_tt.runtime.plan import Plan
from tilelang_tt.runtime.virtual import launch

COUNT = int(os.environ.get("RANDOM_PROGRAMS", "0"))  # 0: the fixed ones
FIXED = 6
SAMPLE = 5  # one of these many is interpreted after every pass
OPTIONS = Options(grid=(2, 1))
AS_LIFTED = ("lift_code", "check_blocks_filled")  # barriers that TileLang puts in are not there yet


def build(source: str, path: Path) -> Any:
    """TileLang reads a kernel's source from its file."""
    path.write_text(source)
    scope: dict[str, Any] = {"__file__": str(path)}
    exec(compile(source, str(path), "exec", dont_inherit=True), scope)
    return scope["main"]


def to_torch(array: Any) -> torch.Tensor:
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.uint16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


def to_numpy(tensor: torch.Tensor) -> Any:
    if tensor.dtype is torch.bfloat16:
        return tensor.view(torch.uint16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def compare(found: Mapping[str, Any], wanted: Mapping[str, Any], who: str) -> None:
    """Equal bits, or both NaN."""
    for name, right in wanted.items():
        left = np.asarray(found[name]).astype(right.dtype)
        bits = np.dtype(f"u{right.dtype.itemsize}")
        equal = np.ascontiguousarray(left).view(bits) == np.ascontiguousarray(right).view(bits)
        if right.dtype.kind not in "iub":
            equal |= np.isnan(left.astype(np.float64)) & np.isnan(right.astype(np.float64))
        wrong = np.argwhere(~equal)
        if len(wrong):
            place = tuple(wrong[0])
            raise AssertionError(
                f"{who}: {name} differs at {len(wrong)} of {right.size} places; "
                f"{[int(index) for index in place]}: {left[place]}, should be {right[place]}"
            )


def check(program: Program, seed: int, *modes: str, interpreted: bool = False) -> str:
    """Raises when the device in any of these numerics, or the interpreter after any pass, differs; "refused ..." or
    "equal" otherwise."""
    tensors = program.tensors(seed)
    wanted = program.meaning(tensors)

    def meaning(stage: str, state: Any) -> None:
        if interpreted and isinstance(state, TileProgram) and stage not in AS_LIFTED:
            compare(interpret(state, tensors), wanted, f"the interpreter after {stage}")

    try:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            func = build(program.source(), Path(folder, "kernel.py"))
            tile, sets = run_passes(func, OPTIONS, meaning)
    except (UnsupportedError, ResourceError) as refusal:
        return f"refused {refusal.code}"
    files = print_files(tile, sets)
    for numerics in modes:
        compare(on_device(files, tensors, numerics), wanted, f"the device, {numerics}")
    return "equal"


def on_device(files: dict[str, str], tensors: State, numerics: str) -> State:
    values = {name: to_torch(array) for name, array in tensors.items()}
    plan = Plan.from_json(files[PLAN_FILE])
    lying = {item.name: values[plan.params[item.param].name] for item in plan.tensors}
    launch(plan, files, lying, {}, numerics=numerics, timeout=60)
    return {name: to_numpy(tensor) for name, tensor in values.items()}


def program_of(seed: int) -> Program:
    return ThreadWriter(Random(seed)).program()


def test_device_agrees() -> None:
    first = SystemRandom().randrange(10**6) if COUNT else 0
    verdicts: Counter[str] = Counter()
    failures: list[str] = []
    for seed in range(first, first + (COUNT or FIXED)):
        program = program_of(seed)
        try:
            verdict = check(program, seed, "exact" if seed % 2 else "fast", interpreted=seed % SAMPLE == 0)
        except Exception as error:  # the others are worth knowing too
            failures.append(f"program {seed}: {error}\n{program.source()}")
            verdict = "wrong"
        verdicts[verdict] += 1
    print(dict(verdicts))
    assert not failures, "\n".join(failures)
    assert verdicts["equal"] >= 0.95 * sum(verdicts.values()), verdicts  # refusals must not hide what this is for


WORDS = (
    *(f'"{dtype}"' for dtype in (*INTEGERS, *ALL_FLOATS, "bool")),
    *(
        "T.atomic_add",
        "T.atomic_max",
        "T.atomic_min",
        "return_prev",
        " / ",
        "T.alloc_local",
        "T.vectorized",
        "T.unroll",
    ),
    *("while ", "break", "continue", "else:", "in T.serial(T.int32(0), R[blk])", "P[blk, tid]", "Q["),
    *("T.shfl_xor", "T.shfl_up", "T.shfl_down", "T.shfl_sync", "T.warp_reduce_sum", "T.ballot", "T.syncthreads_count"),
    *("T.gemm", "T.reduce_max", "T.reduce_sum", "T.cumsum", "T.fill", "threads=(16, 4)", "threads=48"),
)


def test_the_programs_are_worth_it() -> None:
    """What is drawn holds every type and every kind of statement."""
    seen: Counter[str] = Counter()

    for seed in range(200):
        source = program_of(seed).source()
        seen.update(word for word in WORDS if word in source)
    assert all(seen[word] for word in WORDS), [word for word in WORDS if not seen[word]]
