"""What a sum of products is: an assignment that adds to its target, over loops, products of factors.

    Loop i, j, k : Each once: C[i, j] = C[i, j] + A[i, k] * B[k, j] * alpha

`i` and `j` walk the target, `k` does not: it is summed over. Factors are sorted by what they depend on: those of rows
(i, k), those of columns (k, j), and those that do not depend on what is summed over, by which the sum is multiplied.
Other loops stay around the product of matrices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations, product
from math import prod

from tilelang_tt.formats import INTEGERS
from tilelang_tt.ir import scalar
from tilelang_tt.ir.elements import Access, Apply, ElementExpr, Scalar, accesses, conjuncts, parts
from tilelang_tt.ir.scalar import Var
from tilelang_tt.ir.scalar_forms import conditions
from tilelang_tt.ops.expressions import apply, numeral
from tilelang_tt.passes.raise_elements.nests import Nest

BYTES = ("int8", "uint8")
ACCUMULATORS = ("float32", "bfloat16", "float16", "int32", "uint32")
_ADDING = {"add": (1, 1), "sub": (1, -1)}  # the signs of both operands
_FULL_TILE = 32  # what a longer axis has of a tile
_FEW = 8  # numbers that are added up one by one


@dataclass(frozen=True)
class Term:
    """One of the products that are added, and the conditions under which it is."""

    factors: tuple[ElementExpr, ...]
    guards: tuple[ElementExpr, ...]


@dataclass(frozen=True)
class Sum:
    """A term that is added up over `along`, for every `row` and `col` of the target, as an engine does it.

    Without `col` it is a reduction of what `left` computes; without `row` there is one number. With it, it is a product
    of two matrices. Conditions are sorted like factors: those that decide for a whole matrix, those on what is summed
    over, those on one operand, and those on what is added to the target.
    """

    row: Var | None
    col: Var | None
    along: Var
    left: tuple[ElementExpr, ...]  # factors over row and along
    right: tuple[ElementExpr, ...]  # factors over along and col
    scale: tuple[ElementExpr, ...]  # factors that do not depend on what is summed over
    steering: tuple[Scalar, ...] = ()
    left_tests: tuple[ElementExpr, ...] = ()
    right_tests: tuple[ElementExpr, ...] = ()
    tests: tuple[ElementExpr, ...] = ()


def depends_on(expr: ElementExpr) -> set[Var]:
    """Variables of indices and numbers in an expression."""
    found: set[Var] = set()
    for part in parts(expr):
        if isinstance(part, Access):
            found.update(*map(scalar.variables, part.indices))
        elif isinstance(part, Scalar):
            found.update(scalar.variables(part.expr))
    return found


def multiplied(factors: tuple[ElementExpr, ...]) -> ElementExpr:
    return reduce(lambda a, b: apply("mul", a, b), factors)


# --- terms ----------------------------------------------------------------------------------------


def added_terms(nest: Nest) -> list[Term] | None:
    """The terms that a nest adds to its target; None: it does something else."""
    each = nest.each
    target, dtype = each.target, each.target.dtype
    if target.source.dtype not in ACCUMULATORS or each.combine not in (None, "sum"):
        return None
    found = list(_terms(each.value, dtype, 1))
    if each.combine is None:
        own = [sign for sign, term in found if _is_same(term, target)]
        if own != [1]:
            return None
        found = [(sign, term) for sign, term in found if not _is_same(term, target)]
    read = [access for _, term in found for access in accesses(term)] + list(accesses(each.guard))
    if not found or any(access.source is target.source for access in read):
        return None
    outer = tuple(_tests(each.guard))
    return [_term(sign, term, dtype, outer) for sign, term in found]


def _terms(expr: ElementExpr, dtype: str, sign: int) -> Iterator[tuple[int, ElementExpr]]:
    if isinstance(expr, Apply) and expr.op in _ADDING and expr.dtype == dtype:
        for arg, its in zip(expr.args, _ADDING[expr.op], strict=True):
            yield from _terms(arg, dtype, sign * its)
    else:
        yield sign, expr


def _is_same(expr: ElementExpr, target: Access) -> bool:
    if not isinstance(expr, Access) or expr.source is not target.source:
        return False
    return all(map(scalar.same_form, expr.indices, target.indices))


def _term(sign: int, expr: ElementExpr, dtype: str, guards: tuple[ElementExpr, ...]) -> Term:
    """A term with its factors. What is chosen instead of zero is added under a condition."""
    while isinstance(expr, Apply) and expr.op == "where" and expr.args[2] == numeral(0, dtype):
        guards = (*guards, *_tests(expr.args[0]))
        expr = expr.args[1]
    factors = tuple(_factors(expr, dtype))
    return Term((*factors, numeral(-1, dtype)) if sign < 0 else factors, guards)


def _factors(expr: ElementExpr, dtype: str) -> Iterator[ElementExpr]:
    if isinstance(expr, Apply) and expr.op == "mul" and expr.dtype == dtype:
        for arg in expr.args:
            yield from _factors(arg, dtype)
    else:
        yield expr


def _tests(condition: ElementExpr | None) -> Iterator[ElementExpr]:
    """Conditions that all have to hold, one by one."""
    for test in conjuncts(condition):
        if isinstance(test, Scalar):
            yield from (Scalar(part, "bool") for part in conditions(test.expr))
        else:
            yield test


# --- matrices and vectors -------------------------------------------------------------------------


def sums(nest: Nest, fast_math: bool) -> list[Sum]:
    """The sums that a nest consists of; none if it is something else, or no engine can do one of them."""
    terms = added_terms(nest)
    found = [_best(nest, term, fast_math) for term in terms or ()]
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) else []


def _best(nest: Nest, term: Term, fast_math: bool) -> Sum | None:
    """The best choice of rows, columns and what is summed over."""
    walking = walkers(nest)
    in_target = {var for index in nest.each.target.indices for var in scalar.variables(index)}
    summed = [var for var, extent in nest.extents.items() if var not in in_target and extent != 1]
    pairs = list(combinations(walking, 2))
    choices = [_product(term, *choice, summed) for choice in product(pairs, summed)]
    if len(walking) <= 1 and nest.each.combine is None:
        choices += [_reduction(nest, term, *walking, along=along, summed=summed) for along in summed]
    found = (_with_tests(one, term.guards, fast_math) for one in choices if one is not None)
    usable = [one for one in found if one is not None and _has_engine(nest, one)]
    return max(usable, key=lambda one: _worth(nest, one), default=None)


def _product(term: Term, pair: tuple[Var, Var], along: Var, summed: list[Var]) -> Sum | None:
    row, col = pair
    scale, rest = _split(term, summed)
    needs = [(factor, depends_on(factor)) for factor in rest]
    if any({row, col} <= variables for _, variables in needs):
        return None
    right = tuple(factor for factor, variables in needs if col in variables)
    left = tuple(factor for factor, variables in needs if col not in variables)
    wanted = ((left, row), (right, col))
    if not all(any({var, along} <= depends_on(factor) for factor in side) for side, var in wanted):
        return None
    return Sum(row, col, along, left, right, scale) if _are_boxes(rest, {row, col, along}) else None


def _are_boxes(factors: Iterable[ElementExpr], variables: set[Var]) -> bool:
    """Whether every axis of what is read is walked by one of some variables at most."""
    indices = [index for factor in factors for access in accesses(factor) for index in access.indices]
    return all(len(variables & set(scalar.variables(index))) < 2 for index in indices)


def _reduction(nest: Nest, term: Term, row: Var | None = None, *, along: Var, summed: list[Var]) -> Sum | None:
    """A sum of elements along an axis of at least a few, each of which is at a place of its own in everything."""
    scale, rest = _split(term, summed)
    extent = nest.extents[along]
    if extent is None or extent < _FEW or not any(along in depends_on(factor) for factor in rest):
        return None
    walked = {var for var in (row, along) if var is not None}
    return Sum(row, None, along, rest, (), scale) if _are_boxes(rest, walked) else None


def _split(term: Term, summed: list[Var]) -> tuple[tuple[ElementExpr, ...], tuple[ElementExpr, ...]]:
    """Factors that do not depend on what is summed over, and those that do."""
    fixed = [factor for factor in term.factors if not depends_on(factor) & set(summed)]
    return tuple(fixed), tuple(factor for factor in term.factors if factor not in fixed)


def _with_tests(one: Sum, tests: tuple[ElementExpr, ...], fast_math: bool) -> Sum | None:
    """A sum under conditions. Where one leaves out a product, 0 times the other factor must be 0: it has to be finite,
    or left out as well."""
    for test in tests:
        variables = depends_on(test)
        if one.along not in variables:
            if isinstance(test, Scalar) and not {one.row, one.col} & variables:
                one = replace(one, steering=(*one.steering, test))
            else:
                one = replace(one, tests=(*one.tests, test))
            continue
        if one.col is not None and {one.row, one.col} & variables and not fast_math:
            return None
        if {one.row, one.col} <= variables:
            return None
        if one.col not in variables:
            one = replace(one, left_tests=(*one.left_tests, test))
        if one.row not in variables:
            one = replace(one, right_tests=(*one.right_tests, test))
    return one


def _has_engine(nest: Nest, one: Sum) -> bool:
    """Whether the matrix engine takes in the operands. Sums along an axis are of any type."""
    if one.col is None:
        return True
    accumulator = nest.each.target.source.dtype
    types = [operand_type(side, accumulator) for side in (one.left, one.right)]
    if None in types:
        return False
    return accumulator not in INTEGERS or all(dtype in BYTES for dtype in types)


def _worth(nest: Nest, one: Sum) -> tuple[int, ...]:
    """Products before reductions; of these, those that fill tiles, then the larger ones, then inner loops."""
    axes = [var for var in (one.row, one.col, one.along) if var is not None]
    lengths = [nest.extents[var] or _FULL_TILE for var in axes]
    filled = prod(min(length, _FULL_TILE) for length in lengths)
    return (int(one.col is not None), filled, prod(lengths), sum(map(list(nest.extents).index, axes)))


def walkers(nest: Nest) -> list[Var]:
    """Loops that walk the target place by place, axis by axis: one for each axis, the longest."""
    extents, found = nest.extents, list[Var]()
    indices = nest.each.target.indices
    for index in indices:
        plain = [
            var
            for var in scalar.variables(index)
            if (extents.get(var) or 0) > 1
            and var not in scalar.variables(scalar.simplify(index - var))
            and sum(var in scalar.variables(other) for other in indices) == 1
        ]
        if plain:
            found.append(max(plain, key=lambda var: extents[var] or 0))
    return found


def operand_type(factors: tuple[ElementExpr, ...], accumulator: str) -> str | None:
    """The element type of a block that holds an operand of a product; None: no product of such elements is exact."""
    access = plain_access(factors)
    if access is not None and access.source.dtype not in INTEGERS:
        return access.source.dtype
    if access is not None and access.source.dtype in BYTES:
        return access.source.dtype
    return None if accumulator in INTEGERS or multiplied(factors).dtype != "float32" else "float32"


def plain_access(factors: tuple[ElementExpr, ...]) -> Access | None:
    """The elements that an operand consists of, if nothing is computed: bytes may be widened."""
    (factor, *others) = factors
    if isinstance(factor, Apply) and factor.op == "cast" and isinstance(factor.args[0], Access):
        byte = factor.args[0].source.dtype in BYTES and factor.dtype in ("float32", "int32", "uint32")
        factor = factor.args[0] if byte else factor
    return factor if isinstance(factor, Access) and not others else None
