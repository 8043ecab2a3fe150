"""More blocks than a chip has circular buffers: those never needed at the same time share one."""

from pathlib import Path
from typing import Any

import pytest
import tilelang.language as T
import torch
from three_ways import TWO_CORES, agree, whole_numbers

from tilelang_tt.pipeline import compile_function

STEPS = 12

STEP = """
                block_{n} = T.alloc_fragment((32, 64), "float32")
                row_{n} = T.alloc_fragment((32,), "float32")
                for i, j in T.Parallel(32, 64):
                    block_{n}[i, j] = T.if_then_else(x[i, j] > {n} - 6, x[i, j], -{n})
                T.reduce_max(block_{n}, row_{n}, dim=1)
                for i, j in T.Parallel(32, 64):
                    carried[i, j] = T.min(carried[i, j] + row_{n}[i], 50) - block_{n}[i, j]"""

# `first` is needed at the end, `carried` by every round: nothing may lie where they do.
SOURCE = """
import tilelang.language as T

@T.prim_func
def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "bfloat16")):
    with T.Kernel(2, threads=128) as bx:
        x = T.alloc_fragment((32, 64), "float32")
        first = T.alloc_fragment((32, 64), "float32")
        top = T.alloc_fragment((32,), "float32")
        carried = T.alloc_fragment((32, 64), "float32")
        T.copy(A[bx * 32, 0], x)
        T.reduce_max(x, top, dim=1)
        for i, j in T.Parallel(32, 64):
            first[i, j] = x[i, j] * top[i]
        T.clear(carried)
        for k in T.serial(2):
            if k >= 0:{steps}
        for i, j in T.Parallel(32, 64):
            carried[i, j] += first[i, j]
        T.copy(carried, B[bx * 32, 0])
"""


# Blocks from the reader and to the writer, each for a short while; `kept` is loaded first and needed at the end.
TRANSFER = """
        x_{n} = T.alloc_shared((32, 64), "float32")
        y_{n} = T.alloc_fragment((32, 64), "float32")
        T.copy(A[{n}, bx * 32, 0], x_{n})
        for i, j in T.Parallel(32, 64):
            y_{n}[i, j] = x_{n}[i, j] * {n} + carried[i, j]
            carried[i, j] = carried[i, j] - x_{n}[i, j]
        if bx != {n} % 3:
            T.copy(y_{n}, B[{n}, bx * 32, 0])"""

TRANSFERS = """
import tilelang.language as T

@T.prim_func
def main(A: T.Tensor(({count}, 64, 64), "float32"), B: T.Tensor(({count}, 64, 64), "float32")):
    with T.Kernel(2, threads=128) as bx:
        kept = T.alloc_shared((32, 64), "float32")
        carried = T.alloc_fragment((32, 64), "float32")
        last = T.alloc_fragment((32, 64), "float32")
        T.copy(A[0, bx * 32, 0], kept)
        T.clear(carried){steps}
        for i, j in T.Parallel(32, 64):
            last[i, j] = carried[i, j] + kept[i, j]
        T.copy(last, B[{count} - 1, bx * 32, 0])
"""


# More blocks that are needed at the same time than there are circular buffers: sums of products in float32, and blocks
# of several tiles in bfloat16, updated in place.
ALL_AT_ONCE = """
import tilelang.language as T

@T.prim_func
def main(A: T.Tensor((128, 64), "bfloat16"), B: T.Tensor((64, 64), "float32")):
    with T.Kernel(2, threads=128) as bx:
        a = T.alloc_shared((32, 64), "bfloat16")
        total = T.alloc_fragment((32, 32), "float32")
        top = T.alloc_fragment((32,), "float32")
{allocations}
        for k in T.Pipelined(2, num_stages=1):
            T.copy(A[(bx * 2 + k) * 32, 0], a)
{rounds}
        T.clear(total)
{ends}
        T.reduce_max(total, top, dim=1)
        T.copy(total, B[bx * 32, 0])
        for i, j in T.Parallel(32, 32):
            total[i, j] = total[i, j] - top[i]
        T.copy(total, B[bx * 32, 32])
"""
ALLOCATIONS = """
        sum_{n} = T.alloc_fragment((32, 32), "float32")
        block_{n} = T.alloc_fragment((32, 64), "bfloat16")
        T.clear(sum_{n})
        T.fill(block_{n}, {n} - 8)"""
ROUNDS = """
            for i, j in T.Parallel(32, 64):
                block_{n}[i, j] = T.max(a[i, j] - {n} % 3, block_{n}[i, j])
            T.gemm(a, block_{n}, sum_{n}, transpose_B=True)"""
ENDS = """
        for i, j in T.Parallel(32, 32):
            total[i, j] = T.max(total[i, j], sum_{n}[i, j] + block_{n}[i, j + 32])"""


# Blocks that all come before the first one is used, and all go after the last one was computed.
COMING = """
        x_{n} = T.alloc_shared((32, 64), "{dtype}")
        T.copy(A[{n}, 0, 0], x_{n})"""
MEETING = """
        y_{n} = T.alloc_fragment((32, 64), "{dtype}")
        for i, j in T.Parallel(32, 64):
            total[i, j] = total[i, j] + x_{n}[i, j]
        for i, j in T.Parallel(32, 64):
            y_{n}[i, j] = total[i, j] * 2 - {n}"""
GOING = """
        T.copy(y_{n}, B[{n}, 0, 0])"""
MEETINGS = """
import tilelang.language as T

@T.prim_func
def main(A: T.Tensor(({count}, 32, 64), "{dtype}"), B: T.Tensor(({count}, 32, 64), "{dtype}")):
    with T.Kernel(1, threads=128):
        total = T.alloc_fragment((32, 64), "{dtype}")
        T.clear(total){steps}
"""


def kernel_of(folder: Path, source: str) -> Any:
    """TileLang reads a kernel's source from its file."""
    path = folder / "kernel.py"
    path.write_text(source)
    scope: dict[str, Any] = {"__file__": str(path)}
    exec(compile(source, str(path), "exec", dont_inherit=True), scope)
    return scope["main"]


def test_blocks_share_where_they_may(tmp_path: Path) -> None:
    func = kernel_of(tmp_path, SOURCE.format(steps="".join(STEP.format(n=n) for n in range(STEPS))))
    agree(func, {"A": whole_numbers(64, 64), "B": torch.zeros(64, 64, dtype=torch.bfloat16)}, ("B",))
    compiled = compile_function(func, TWO_CORES)
    shared = {decision.subject for decision in compiled.decisions if decision.stage == "share_blocks"}
    assert shared
    assert not shared & {"first", "carried"}
    assert len(compiled.plan.launches[0].cbs) <= 32


@pytest.mark.parametrize("numerics", ["fast", "chip"])
def test_blocks_from_the_reader_and_to_the_writer_share(tmp_path: Path, numerics: str) -> None:
    count = 20
    steps = "".join(TRANSFER.format(n=n) for n in range(count - 1))
    func = kernel_of(tmp_path, TRANSFERS.format(count=count, steps=steps))
    tensors = {"A": whole_numbers(count, 64, 64), "B": torch.zeros(count, 64, 64)}
    agree(func, tensors, ("B",), numerics=numerics)
    decisions = compile_function(func, TWO_CORES).decisions
    shared = {decision.subject for decision in decisions if decision.stage == "share_blocks"}
    assert {name[0] for name in shared} == {"x", "y"}  # and neither kept nor carried


@pytest.mark.parametrize("numerics", ["fast", "chip"])
def test_blocks_needed_at_the_same_time_lie_in_one_buffer(tmp_path: Path, numerics: str) -> None:
    parts = {"allocations": ALLOCATIONS, "rounds": ROUNDS, "ends": ENDS}
    steps = {part: "".join(text.format(n=n) for n in range(18)) for part, text in parts.items()}
    func = kernel_of(tmp_path, ALL_AT_ONCE.format(**steps))
    numbers = whole_numbers(128, 64, low=-1, high=2, dtype=torch.bfloat16)
    agree(func, {"A": numbers, "B": torch.zeros(64, 64)}, ("B",), numerics=numerics)
    compiled = compile_function(func, TWO_CORES)
    pooled = {decision.subject for decision in compiled.decisions if decision.stage == "pool_blocks"}
    assert pooled
    assert len(compiled.plan.launches[0].cbs) <= 32


@pytest.mark.parametrize(("dtype", "numerics"), [("bfloat16", "chip"), ("float32", "fast")])
def test_blocks_that_all_come_first_and_all_go_last_are_copied(tmp_path: Path, dtype: str, numerics: str) -> None:
    count = 20
    steps = "".join(step.format(n=n, dtype=dtype) for step in (COMING, MEETING, GOING) for n in range(count))
    func = kernel_of(tmp_path, MEETINGS.format(count=count, dtype=dtype, steps=steps))
    numbers = whole_numbers(count, 32, 64, low=-1, high=2, dtype=getattr(torch, dtype))
    agree(func, {"A": numbers, "B": torch.zeros_like(numbers)}, ("B",), numerics=numerics)
    decisions = compile_function(func, TWO_CORES).decisions
    assert {decision.subject[0] for decision in decisions if decision.stage == "stage_blocks"} <= {"x", "y"}
    assert any(decision.stage == "stage_blocks" for decision in decisions)


def test_a_block_that_is_filled_again_waits_for_its_turn() -> None:
    """The reader hands `b` over before it asks for room for the second `a`: compute needs it to give the first back."""

    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64, 32), "float32"), C: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((32, 32), "float32")
            b = T.alloc_shared((32, 32), "float32")
            total = T.alloc_fragment((32, 32), "float32")
            T.clear(total)
            for k in T.Pipelined(2, num_stages=1):
                T.copy(A[k * 32, 0], a)
                for n in T.Pipelined(2, num_stages=1):
                    T.copy(B[n * 32, 0], b)
                    for i, j in T.Parallel(32, 32):
                        total[i, j] += b[i, j]
                T.copy(B[k * 32, 0], b)
                for i, j in T.Parallel(32, 32):
                    total[i, j] += a[i, j] * b[i, j]
                T.copy(A[0, 0], a)
                for i, j in T.Parallel(32, 32):
                    total[i, j] -= a[i, j]
            T.copy(total, C)

    agree(
        main,
        {"A": whole_numbers(64, 32), "B": whole_numbers(64, 32, low=-2), "C": torch.zeros(32, 32)},
        ("C",),
    )
