"""Arguments of a function, the same in every process: random tensors of its parameters' types and shapes.

A file's own function NAME_inputs may replace some, where not any number will do, as for indices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from tvm import arith, tirx

from tilelang_tt.cli.usage import UsageError
from tilelang_tt.tilelang_hooks import KernelParam

# Of a symbolic dimension: no multiple of a block, but rows of whole 16 bytes, which NVIDIA's tensor copies ask for.
DYNAMIC_SIZE = 104
_LARGEST_INTEGER = 100


def parameters(func: tirx.PrimFunc) -> dict[str, Any]:
    """By name; a tensor's is that of its buffer."""
    buffers = func.buffer_map
    return {str(buffers[param].name) if param in buffers else str(param.name): param for param in func.params}


def sizes_of(func: tirx.PrimFunc, given: Mapping[str, int]) -> dict[str, int]:
    """Of every symbolic dimension, and of scalar parameters that are given, by name."""
    names = _dimensions(func)
    known = {*names, *_scalars(func)}
    return dict.fromkeys(names, DYNAMIC_SIZE) | {name: size for name, size in given.items() if name in known}


def refuse_unknown_sizes(functions: Iterable[tirx.PrimFunc], given: Mapping[str, int]) -> None:
    """A misspelt size would leave the default in its place."""
    known = sorted({name for func in functions for name in (*_dimensions(func), *_scalars(func))})
    for name in given:
        if name not in known:
            has = f"there are {', '.join(known)}" if known else "all sizes are known"
            raise UsageError(f"no kernel has a size '{name}'; {has}")


def _scalars(func: tirx.PrimFunc) -> list[str]:
    return [name for name, param in parameters(func).items() if param not in func.buffer_map]


def _dimensions(func: tirx.PrimFunc) -> list[str]:
    names: dict[str, None] = {}

    def visit(node: Any) -> None:
        if isinstance(node, tirx.Var):
            names[str(node.name)] = None

    for buffer in func.buffer_map.values():
        for extent in buffer.shape:
            tirx.stmt_functor.post_order_visit(extent, visit)
    return list(names)


def arguments(func: tirx.PrimFunc, sizes: Mapping[str, int], seed: int = 0) -> dict[str, Any]:
    """What a kernel writes gets random numbers too: an element that nothing writes stays what it is, everywhere."""
    return {
        name: _tensor(func.buffer_map[param], sizes, seed + number) if param in func.buffer_map else sizes.get(name, 1)
        for number, (name, param) in enumerate(parameters(func).items())
    }


def replaced(drawn: dict[str, Any], by: Callable[..., dict[str, Any]] | None) -> dict[str, Any]:
    """`by` gets all arguments by name, and returns those that are to be others."""
    if by is None:
        return drawn
    copies = {name: value.clone() if isinstance(value, torch.Tensor) else value for name, value in drawn.items()}
    own = by(**copies)
    for name, value in own.items():
        if name not in drawn:
            raise ValueError(f"{by.__name__} returns '{name}', which is no parameter of the kernel")
        if _kind(value) != _kind(drawn[name]):
            raise ValueError(f"{by.__name__} returns {_kind(value)} for '{name}', which is {_kind(drawn[name])}")
    return drawn | own


def _kind(value: Any) -> str:
    return f"{value.dtype} of shape {tuple(value.shape)}" if isinstance(value, torch.Tensor) else "a number"


def _tensor(buffer: Any, sizes: Mapping[str, int], seed: int) -> torch.Tensor:
    shape = [_extent(extent, sizes) for extent in buffer.shape]
    dtype = KernelParam.from_buffer(buffer).torch_dtype()
    random = torch.Generator().manual_seed(seed)
    if dtype.is_floating_point:
        return torch.randn(shape, generator=random).to(dtype)
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=random).bool()
    lowest = 0 if str(buffer.dtype).startswith("uint") else -_LARGEST_INTEGER
    return torch.randint(lowest, _LARGEST_INTEGER + 1, shape, generator=random).to(dtype)


def _extent(extent: Any, sizes: Mapping[str, int]) -> int:
    def size(var: Any) -> Any:
        return tirx.const(sizes[str(var.name)], var.dtype) if str(var.name) in sizes else None

    return int(arith.Analyzer().simplify(tirx.stmt_functor.substitute(extent, _found(extent, size))))


def _found(extent: Any, size: Any) -> dict[Any, Any]:
    found: dict[Any, Any] = {}

    def visit(node: Any) -> None:
        if isinstance(node, tirx.Var):
            found[node] = size(node)

    tirx.stmt_functor.post_order_visit(extent, visit)
    return found
