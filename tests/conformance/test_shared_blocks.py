"""More blocks than a chip has circular buffers: those never needed at the same time share one."""

from pathlib import Path
from typing import Any

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
def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
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


def many_blocks(folder: Path) -> Any:
    """TileLang reads a kernel's source from its file."""
    source = SOURCE.format(steps="".join(STEP.format(n=n) for n in range(STEPS)))
    path = folder / "many_blocks.py"
    path.write_text(source)
    scope: dict[str, Any] = {"__file__": str(path)}
    exec(compile(source, str(path), "exec", dont_inherit=True), scope)
    return scope["main"]


def test_blocks_share_where_they_may(tmp_path: Path) -> None:
    func = many_blocks(tmp_path)
    agree(func, {"A": whole_numbers(64, 64), "B": torch.zeros(64, 64)}, ("B",))
    compiled = compile_function(func, TWO_CORES)
    shared = {decision.subject for decision in compiled.decisions if decision.stage == "share_blocks"}
    assert shared
    assert not shared & {"first", "carried"}
    assert len(compiled.plan.launches[0].cbs) <= 32
