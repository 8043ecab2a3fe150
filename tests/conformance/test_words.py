"""int32 with all of its bits: arithmetic that wraps, comparisons of neighbours, numbers that are moved."""

from collections.abc import Callable
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch

ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "max": T.max,
    "min": T.min,
    "negate": lambda a, b: -a,
    "all": lambda a, b: T.max(a * b + 7, b - a) * 3,
    "lt": lambda a, b: T.if_then_else(a < b, a, b),
    "le": lambda a, b: T.if_then_else(a <= b, 1, 0),
    "gt": lambda a, b: T.if_then_else(a > b, 1, 0),
    "ge": lambda a, b: T.if_then_else(a >= b + 1, 1, 0),
    "eq": lambda a, b: T.if_then_else(a == b, 1, 0),
    "chosen bits": lambda a, b: T.if_then_else(a < b, (a + b) & 1023, b),
    "choices": lambda a, b: T.if_then_else(a < b, a + b, b) - T.if_then_else(b > 0, b, 0),
    "bits": lambda a, b: ((a + b) & 0xFFFFFF) * 3 + (b ^ a),
    "constants": lambda a, b: T.max(a, 1234567891) - T.if_then_else(b >= 1073741825, 3, 1073741827),
    "ne": lambda a, b: T.if_then_else(a != b, 1, 0),
}
EXPECTED: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "max": torch.maximum,
    "min": torch.minimum,
    "negate": lambda a, b: -a,
    "all": lambda a, b: torch.maximum(a * b + 7, b - a) * 3,
    "lt": torch.minimum,
    "le": lambda a, b: (a <= b).int(),
    "gt": lambda a, b: (a > b).int(),
    "ge": lambda a, b: (a >= b + 1).int(),
    "eq": lambda a, b: (a == b).int(),
    "chosen bits": lambda a, b: torch.where(a < b, (a + b) & 1023, b),
    "choices": lambda a, b: torch.where(a < b, a + b, b) - b.clamp(min=0),
    "bits": lambda a, b: ((a + b) & 0xFFFFFF) * 3 + (b ^ a),
    "constants": lambda a, b: torch.clamp(a, min=1234567891) - torch.where(b >= 1073741825, 3, 1073741827).int(),
    "ne": lambda a, b: (a != b).int(),
}


def words(*shape: int, seed: int = 0) -> torch.Tensor:
    random = torch.Generator().manual_seed(seed)
    return torch.randint(-(2**31), 2**31, shape, generator=random).int()


def _computed(step: str) -> Any:
    compute = ARITHMETIC[step]

    @T.prim_func
    def main(A: T.Tensor((40, 64), "int32"), B: T.Tensor((40, 64), "int32"), C: T.Tensor((40, 64), "int32")):
        with T.Kernel(2, threads=128) as bx:
            a = T.alloc_shared((32, 64), "int32")
            b = T.alloc_shared((32, 64), "int32")
            c = T.alloc_fragment((32, 64), "int32")
            T.copy(A[bx * 32, 0], a)
            T.copy(B[bx * 32, 0], b)
            for i, j in T.Parallel(32, 64):
                c[i, j] = compute(a[i, j], b[i, j])
            T.copy(c, C[bx * 32, 0])

    return main


@pytest.mark.parametrize("numerics", ["fast", "exact", "chip"])
@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
@pytest.mark.parametrize("step", ARITHMETIC)
def test_arithmetic(step: str, arch: str, numerics: str) -> None:
    """A third of the pairs are equal, a third are neighbours: as float32 all of these would be the same."""
    a, b = words(40, 64), words(40, 64, seed=1)
    b[:, ::3] = a[:, ::3]
    b[:, 1::3] = torch.clamp(a[:, 1::3], max=2**31 - 2) + 1
    target = {"kind": "tenstorrent", "arch": arch, "grid": "2x1", "numerics": numerics}
    got = tilelang.compile(_computed(step), out_idx=[-1], target=target)(a, b)
    assert torch.equal(got, EXPECTED[step](a, b))


@pytest.mark.parametrize("dtype", ["int16", "uint16"])
def test_products_of_halves(dtype: str) -> None:
    """Of 16 bits each: 31 bits, and 32 that wrap."""

    @T.prim_func
    def main(A: T.Tensor((32, 64), dtype), B: T.Tensor((32, 64), dtype), C: T.Tensor((32, 64), "int32")):
        with T.Kernel(1, threads=128):
            for i, j in T.Parallel(32, 64):
                C[i, j] = T.cast(A[i, j], "int32") * T.cast(B[i, j], "int32") + 5

    limits = torch.iinfo(getattr(torch, dtype))
    random = torch.Generator().manual_seed(0)
    a, b = (torch.randint(limits.min, limits.max + 1, (32, 64), generator=random).int() for _ in range(2))
    kernel = tilelang.compile(main, out_idx=[-1], target="tenstorrent")
    assert torch.equal(kernel(a.to(getattr(torch, dtype)), b.to(getattr(torch, dtype))), a * b + 5)


REDUCED: dict[str, tuple[Any, Callable[..., torch.Tensor]]] = {
    "sum": (T.reduce_sum, lambda a, dim: a.sum(dim, dtype=torch.int32)),
    "max": (T.reduce_max, torch.amax),
    "min": (T.reduce_min, torch.amin),
}


@pytest.mark.parametrize("numerics", ["fast", "exact", "chip"])
@pytest.mark.parametrize(("dim", "clear"), [(0, True), (1, True), (1, False)])
@pytest.mark.parametrize("kind", REDUCED)
def test_reductions(kind: str, dim: int, clear: bool, numerics: str) -> None:
    reduce, expected = REDUCED[kind]
    length = 70 if dim == 0 else 40

    @T.prim_func
    def main(A: T.Tensor((40, 70), "int32"), B: T.Tensor((length,), "int32"), C: T.Tensor((length,), "int32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_fragment((40, 70), "int32")
            b = T.alloc_fragment((length,), "int32")
            T.copy(A, a)
            T.copy(B, b)
            reduce(a, b, dim=dim, clear=clear)
            T.copy(b, C)

    a, b = words(40, 70), words(length, seed=1)
    a[1] = torch.clamp(a[0], max=2**31 - 2) + 1
    target = {"kind": "tenstorrent", "arch": "blackhole", "grid": "1x1", "numerics": numerics}
    got = tilelang.compile(main, out_idx=[-1], target=target)(a, b)
    result = expected(a, dim)
    combine = {"sum": torch.add, "max": torch.maximum, "min": torch.minimum}[kind]
    assert torch.equal(got, result if clear else combine(result, b))


def _moved(which: str) -> Any:
    """A block that all cores have, of which each takes its own part, or one number."""

    @T.prim_func
    def main(
        A: T.Tensor((64, 64), "int32"),
        B: T.Tensor((64,), "int32"),
        P: T.Tensor((64,), "int32"),
        C: T.Tensor((64, 64), "int32"),
    ):
        with T.Kernel(2, threads=128) as bx:
            a = T.alloc_shared((64, 64), "int32")
            v = T.alloc_shared((64,), "int32")
            c = T.alloc_fragment((32, 64), "int32")
            T.copy(A, a)
            T.copy(B, v)
            for i, j in T.Parallel(32, 64):
                if which == "part":
                    c[i, j] = a[bx * 32 + i, j]
                elif which == "turned":
                    c[i, j] = a[j, bx * 32 + i]
                elif which == "vector":
                    c[i, j] = v[bx * 32 + i]
                elif which == "number of a block":
                    c[i, j] = v[3]
                elif which == "number of a tensor":
                    c[i, j] = B[bx] + 1
                elif which == "column":
                    c[i, j] = a[bx * 32 + i, 5]
                else:
                    c[i, j] = A[P[bx * 32 + i], j]
            T.copy(c, C[bx * 32, 0])

    return main


MOVED: dict[str, Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "part": lambda a, b, p: a,
    "turned": lambda a, b, p: a.T,
    "vector": lambda a, b, p: b[:, None].expand(64, 64),
    "number of a block": lambda a, b, p: b[3].expand(64, 64),
    "number of a tensor": lambda a, b, p: b[:2].repeat_interleave(32)[:, None].expand(64, 64) + 1,
    "column": lambda a, b, p: a[:, 5:6].expand(64, 64),
    "looked up": lambda a, b, p: a[p.long()],
}


@pytest.mark.parametrize("which", MOVED)
def test_moved(which: str) -> None:
    a, b, places = words(64, 64), words(64, seed=1), words(64, seed=2) & 63
    got = tilelang.compile(_moved(which), out_idx=[-1], target="tenstorrent")(a, b, places)
    assert torch.equal(got, MOVED[which](a, b, places))
