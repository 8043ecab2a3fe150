"""T.reduce_bitand, T.reduce_bitor, T.reduce_bitxor: every bit of every type, along either axis."""

from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch

KINDS = {
    "bitand": (T.reduce_bitand, torch.bitwise_and),
    "bitor": (T.reduce_bitor, torch.bitwise_or),
    "bitxor": (T.reduce_bitxor, torch.bitwise_xor),
}


def _reduced(kind: str, dtype: str, dim: int, clear: bool) -> Any:
    reduce = KINDS[kind][0]
    length = 40 if dim == 1 else 70

    @T.prim_func
    def main(A: T.Tensor((40, 70), dtype), B: T.Tensor((length,), dtype), C: T.Tensor((length,), dtype)):
        with T.Kernel(1, threads=128):
            a = T.alloc_fragment((40, 70), dtype)
            b = T.alloc_fragment((length,), dtype)
            T.copy(A, a)
            T.copy(B, b)
            reduce(a, b, dim=dim, clear=clear)
            T.copy(b, C)

    return main


def _numbers(kind: str, dtype: str, *shape: int) -> torch.Tensor:
    """So that about half of the results' bits are set."""
    bits = torch.iinfo(getattr(torch, dtype))
    random = torch.Generator().manual_seed(len(shape))
    draws = [torch.randint(bits.min, bits.max + 1, shape, generator=random, dtype=torch.int64) for _ in range(6)]
    result = draws[0]
    for draw in draws[1:] if kind != "bitxor" else ():
        result = result & draw if kind == "bitor" else result | draw
    return result.to(getattr(torch, dtype))


@pytest.mark.parametrize("numerics", ["fast", "exact", "chip"])
@pytest.mark.parametrize(
    ("dtype", "dim", "clear"),
    [("int32", 1, True), ("int32", 0, False), ("int8", 1, False), ("uint8", 0, True), ("uint32", 1, False)],
)
@pytest.mark.parametrize("kind", KINDS)
def test_bits(kind: str, dtype: str, dim: int, clear: bool, numerics: str) -> None:
    target = {"kind": "tenstorrent", "arch": "blackhole", "grid": "1x1", "numerics": numerics}
    kernel = tilelang.compile(_reduced(kind, dtype, dim, clear), out_idx=[-1], target=target)
    a = _numbers(kind, dtype, 40, 70)
    b = _numbers(kind, dtype, 40 if dim == 1 else 70)
    expected = None if clear else b
    for row in a.unbind(dim):
        expected = row if expected is None else KINDS[kind][1](expected, row)
    assert torch.equal(kernel(a, b), expected)
