"""Arguments of the runner's own, where the script has none: the same random numbers at every run.

kernel(A: (M, K) float16, C: output)             never called       ->  A = normal numbers
kernel(Q: float16, pages: (N,) int32)            never called       ->  none: 32-bit integers may steer
kernel(Q, fla.cumsum(G))                         fla not installed  ->  kernel(Q, G): the stand-in's first argument
"""

from __future__ import annotations

from typing import Any

import torch
from tvm import tirx

from tilelang_tt.conformance.absent import Absent
from tilelang_tt.ir import scalar
from tilelang_tt.tilelang_hooks import KernelParam

UNKNOWN_SIZE = 64  # of a symbolic size, and of a whole number among the arguments, that nothing tells
_NUMBERS = 3  # of 8-bit integers, from below: sums of their products stay small


def own_argument(param: KernelParam, number: int) -> Any:
    """A value for the parameter of this number; None: there is no saying which would make sense."""
    dtype = param.torch_dtype()
    if param.is_scalar():
        return 1.0 if dtype.is_floating_point else UNKNOWN_SIZE
    generator = torch.Generator().manual_seed(number)
    shape = [extent(size, {}) for size in param.shape]
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator).to(dtype)
    if dtype in (torch.int8, torch.uint8):
        return torch.randint(0, _NUMBERS, shape, generator=generator).to(dtype)
    return None


def instead_of(stand_in: Absent, param: KernelParam, number: int) -> Any:
    """What a kernel gets for a value of a package that is not installed: what went into it, if that fits."""
    value = stand_in.__dict__.get("first")
    return value if isinstance(value, torch.Tensor) and _fits(value, param) else own_argument(param, number)


def _fits(value: torch.Tensor, param: KernelParam) -> bool:
    if value.dtype != param.torch_dtype() or value.dim() != len(param.shape):
        return False
    return all(size == have for size, have in zip(param.shape, value.shape, strict=True) if isinstance(size, int))


def extent(size: Any, known: dict[str, int]) -> int:
    """A size of a declared shape; symbols nobody knows are `UNKNOWN_SIZE`."""
    if isinstance(size, int):
        return size
    symbols: list[tirx.Var] = []
    tirx.stmt_functor.post_order_visit(size, lambda node: symbols.append(node) if isinstance(node, tirx.Var) else None)
    values = {symbol: tirx.const(known.get(str(symbol), UNKNOWN_SIZE), symbol.dtype) for symbol in symbols}
    number = scalar.int_value(scalar.substitute(size, values))
    assert number is not None
    return number
