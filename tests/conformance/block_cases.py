"""Statements on whole blocks: copies, fills, transposes, reductions, products. Blocks are square."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from reference import GROUP_ERROR, TF32, UNIT, group_maxima, product_bound

Reference = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
Bound = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]  # of operands and exact result
MATRIX, ROW, COLUMN = "Z", "row", "column"  # the block that holds the result
CUT = 2.0**-7  # of a maximum along columns the chip keeps bfloat16's bits, and cuts the others off


@dataclass(frozen=True)
class BlockCase:
    op: str
    statements: tuple[str, ...]  # from blocks X and Y to `result`
    reference: Reference
    bound: Bound
    result: str = MATRIX
    not_in: str = ""
    upstream: bool = True


def _exactly(*_: torch.Tensor) -> torch.Tensor:
    return torch.zeros(())


def _turned(x: torch.Tensor, _: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """Float32 is transposed in the source registers."""
    return exact.abs() * (TF32 if x.dtype is torch.float32 else 0.0)


def _rounded(relative: float) -> Bound:
    return lambda x, y, exact: exact.abs() * (relative + UNIT[x.dtype])


def product_on_chip(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The bound of a product whose sums are the chip's own."""
    return product_bound(a, b, a.dtype) + GROUP_ERROR * (1 + TF32) ** 2 * group_maxima(a.double(), b.double())


def _sum_bound(dim: int) -> Bound:
    """A sum is a product with ones."""

    def rows(x: torch.Tensor) -> torch.Tensor:
        return (x.transpose(-1, -2) if dim == 0 else x).abs()

    return lambda x, y, exact: product_on_chip(rows(x), torch.ones_like(x)).amax(-1)


def _reductions(dim: int) -> tuple[BlockCase, ...]:
    result = ROW if dim == 0 else COLUMN
    largest = _rounded(CUT if dim == 1 else 2 * TF32)

    def case(kind: str, reference: Reference, bound: Bound) -> BlockCase:
        call = f"T.reduce_{kind}(X, {result}, dim={dim})"
        return BlockCase(f"T.reduce_{kind}(dim={dim})", (call,), reference, bound, result)

    axis = dim - 2
    return (
        case("sum", lambda x, y: x.sum(axis), _sum_bound(dim)),
        case("abssum", lambda x, y: x.abs().sum(axis), _sum_bound(dim)),
        case("max", lambda x, y: x.amax(axis), largest),
        case("min", lambda x, y: x.amin(axis), largest),
        case("absmax", lambda x, y: x.abs().amax(axis), largest),
        BlockCase(
            f"T.reduce_max(dim={dim}, clear=False)",
            (f"T.fill({result}, 0.5)", f"T.reduce_max(X, {result}, dim={dim}, clear=False)"),
            lambda x, y: x.amax(axis).clamp(min=0.5),
            largest,
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
    BlockCase("T.transpose", ("T.transpose(X, Z)",), lambda x, y: x.transpose(-1, -2), _turned),
    *(_product(left, right) for left in (False, True) for right in (False, True)),
)
REDUCTIONS = (*_reductions(0), *_reductions(1))
