"""Statements on whole blocks: copies, fills, transposes, reductions, products. Blocks are square."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from reference import GROUP_ERROR, TF32, UNIT, group_maxima, product_bound

Reference = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
Bound = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]  # of operands and exact result
MATRIX, ROW, COLUMN = "Z", "row", "column"  # the block that holds the result
SUM = 2.0**-24  # the rounding of an addition of float32


@dataclass(frozen=True)
class BlockCase:
    op: str
    statements: tuple[str, ...]  # from blocks X and Y to `result`
    reference: Reference
    bound: Bound
    result: str = MATRIX
    not_in: str = ""
    upstream: bool = True
    adds: bool = False


def _exactly(*_: torch.Tensor) -> torch.Tensor:
    return torch.zeros(())


def product_on_chip(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The bound of a product whose sums are the chip's own."""
    return product_bound(a, b, a.dtype) + GROUP_ERROR * (1 + TF32) ** 2 * group_maxima(a.double(), b.double())


def _sum_bound(dim: int) -> Bound:
    """Where the result has more bits than a bfloat16, additions of float32; else a product with ones."""

    def bound(x: torch.Tensor, _: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
        rows = (x.transpose(-1, -2) if dim == 0 else x).abs()
        if x.dtype in (torch.float32, torch.float16):
            return rows.double().sum(-1) * rows.shape[-1] * SUM + exact.abs() * UNIT[x.dtype]
        return product_on_chip(rows, torch.ones_like(x)).amax(-1)

    return bound


def _reductions(dim: int) -> tuple[BlockCase, ...]:
    result = ROW if dim == 0 else COLUMN

    def case(kind: str, reference: Reference, bound: Bound) -> BlockCase:
        call = f"T.reduce_{kind}(X, {result}, dim={dim})"
        return BlockCase(f"T.reduce_{kind}(dim={dim})", (call,), reference, bound, result, adds="sum" in kind)

    axis = dim - 2
    return (
        case("sum", lambda x, y: x.sum(axis), _sum_bound(dim)),
        case("abssum", lambda x, y: x.abs().sum(axis), _sum_bound(dim)),
        case("max", lambda x, y: x.amax(axis), _exactly),
        case("min", lambda x, y: x.amin(axis), _exactly),
        case("absmax", lambda x, y: x.abs().amax(axis), _exactly),
        BlockCase(
            f"T.reduce_max(dim={dim}, clear=False)",
            (f"T.fill({result}, 0.5)", f"T.reduce_max(X, {result}, dim={dim}, clear=False)"),
            lambda x, y: x.amax(axis).clamp(min=0.5),
            _exactly,
            result,
        ),
    )


def _product(left: bool, right: bool) -> BlockCase:
    def operands(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x.transpose(-1, -2) if left else x, y.transpose(-1, -2) if right else y

    turned = "".join(f", transpose_{name}=True" for name, on in (("A", left), ("B", right)) if on)
    return BlockCase(
        f"T.gemm({turned[2:]})" if turned else "T.gemm",
        ("T.clear(S)", f"T.gemm(X, Y, S{turned})", "T.copy(S, Z)"),
        lambda x, y: torch.matmul(*operands(x, y)),
        lambda x, y, exact: product_on_chip(*operands(x, y)),
    )


BLOCKS = (
    BlockCase("T.copy", ("T.copy(X, Z)",), lambda x, y: x, _exactly),
    BlockCase("T.fill", ("T.fill(Z, 1.5)",), lambda x, y: torch.full_like(x, 1.5), _exactly),
    BlockCase("T.transpose", ("T.transpose(X, Z)",), lambda x, y: x.transpose(-1, -2), _exactly),
    *(_product(left, right) for left in (False, True) for right in (False, True)),
)
REDUCTIONS = (*_reductions(0), *_reductions(1))
