"""Integers of 8 and 16 bits wrap where they are computed and where they come from wider ones; so C has it."""

from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from three_ways import agree

STEPS: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "more": lambda a, b: a * b * a - b * b,
}


def all_numbers(*shape: int, dtype: str, seed: int = 0) -> torch.Tensor:
    limits = torch.iinfo(getattr(torch, dtype))
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(limits.min, limits.max + 1, shape, generator=generator).to(getattr(torch, dtype))


def stepped(dtype: str, step: str) -> Any:
    compute = STEPS[step]

    @T.prim_func
    def main(A: T.Tensor((32, 64), dtype), B: T.Tensor((32, 64), dtype), C: T.Tensor((32, 64), dtype)):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((32, 64), dtype)
            b = T.alloc_shared((32, 64), dtype)
            c = T.alloc_fragment((32, 64), dtype)
            T.copy(A, a)
            T.copy(B, b)
            for i, j in T.Parallel(32, 64):
                c[i, j] = compute(a[i, j], b[i, j])
            T.copy(c, C)

    return main


@pytest.mark.parametrize(
    ("dtype", "step"),
    [
        *(("int8", "mul"), ("uint8", "add"), ("uint8", "sub"), ("int16", "add")),
        *((dtype, step) for dtype in ("int16", "uint16") for step in ("mul", "more")),
        ("int8", "more"),
    ],
)
def test_arithmetic(dtype: str, step: str) -> None:
    a, b = all_numbers(32, 64, dtype=dtype), all_numbers(32, 64, dtype=dtype, seed=1)
    agree(stepped(dtype, step), {"A": a, "B": b, "C": torch.zeros_like(a)}, ("C",))


def narrowed(source: str, target: str, copied: bool) -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 64), source), B: T.Tensor((32, 64), target), C: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((32, 64), source)
            b = T.alloc_fragment((32, 64), target)
            c = T.alloc_fragment((32, 64), "float32")
            T.copy(A, a)
            if copied:
                T.copy(a, b)
            else:
                for i, j in T.Parallel(32, 64):
                    b[i, j] = T.cast(a[i, j], target)
            for i, j in T.Parallel(32, 64):
                c[i, j] = T.cast(T.cast(a[i, j], target), "float32") * 2
            T.copy(b, B)
            T.copy(c, C)

    return main


@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize(
    ("source", "target"), [("int32", "int8"), ("int32", "uint16"), ("int16", "uint8"), ("uint8", "int8")]
)
def test_narrowing(source: str, target: str, copied: bool) -> None:
    """All 32 bits of the source: the last ones are what is left."""
    a = all_numbers(32, 64, dtype=source)
    limits = torch.iinfo(getattr(torch, target))
    whole = (a.to(torch.int64) - limits.min) % 2**limits.bits + limits.min
    b, c = tilelang.compile(narrowed(source, target, copied), out_idx=[1, 2], target="tenstorrent")(a)
    assert torch.equal(b.to(torch.int64), whole)
    assert torch.equal(c, 2 * whole.float())
