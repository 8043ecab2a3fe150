"""Tensors and blocks in another shape: which element of the one is which of the other.

    v: [64, 4, 32] is a view of s: [64, 128]    ->   v[i, q, h] is s[i, q * 32 + h]

Axes of both are put in the smallest groups that hold the same elements: here the first axes, and the others. A block
may lie in several shapes at a time before `compose_views` and in one after it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Region, Tensor
from tilelang_tt.ir.elements import Access
from tilelang_tt.ir.facts import Facts
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.scalar_forms import row_major, row_major_number
from tilelang_tt.ir.tensors_of_code import used_by_code
from tilelang_tt.ir.tile import TileProgram

Place = Tensor | Buffer
Group = tuple[list[int], list[int]]  # axes of the whole and axes of a view that hold the same elements


def reshaped(program: TileProgram) -> dict[Tensor, Tensor]:
    """Tensors that are a parameter in another shape, as T.reshape gives them to tiles, with that parameter."""
    by_code = used_by_code(program)
    others = [view for view in program.views if not view.folds and view not in by_code]
    pairs = {view: program.tensors_by_param[view.param] for view in others}
    return {view: owner for view, owner in pairs.items() if not same_shape(view.shape, owner.shape)}


def same_shape(one: Sequence[Expr | int], other: Sequence[Expr | int]) -> bool:
    return len(one) == len(other) and all(map(scalar.equal, one, other))


class View:
    """A tensor or block in another shape than the one its elements are kept in."""

    def __init__(self, whole: Place, view: Place) -> None:
        self.whole = whole
        self.shape = _lengths(view)
        self.groups = _groups(_lengths(whole), self.shape)

    @property
    def takes_apart(self) -> bool:
        """Whether the view's axes are those of the whole, or parts of them."""
        return all(len(axes) <= 1 for axes, _ in self.groups)

    @property
    def innermost(self) -> list[int]:
        """Of every axis that is taken apart, the part whose places lie side by side."""
        return sorted(parts[-1] for axes, parts in self.groups if axes and parts)

    def access(self, indices: tuple[Expr, ...], facts: Facts) -> Access:
        """An element of the view, as one of the whole."""
        found: dict[int, Expr] = {}
        for axes, parts in self.groups:
            number = row_major_number((indices[axis] for axis in parts), (self.shape[axis] for axis in parts))
            places = row_major(number, tuple(_lengths(self.whole)[axis] for axis in axes))
            found |= zip(axes, map(facts.simplify, places), strict=True)
        return Access(self.whole, tuple(found[axis] for axis in sorted(found)))

    def inside(self, indices: tuple[Expr, ...], facts: Facts) -> Expr | None:
        """What must hold for an element to be inside the view, where the whole does not show it; None: nothing.

        Behind the last row of a view the whole ends too, but behind its last column comes the next row.
        """
        test: Expr | None = None
        for axes, parts in self.groups:
            first = next((axis for axis in parts if self.shape[axis] != 1), parts[0] if axes and parts else None)
            for axis in (axis for axis in parts if axis != first):
                for bound in (indices[axis] >= scalar.const(0), indices[axis] < scalar.const(self.shape[axis])):
                    test = test if facts.proves(bound) else scalar.both(bound, test)
        return test

    def box(self, region: Region, facts: Facts) -> Region | None:
        """A box of the view as one of the whole with the same extents, if it is one."""
        sizes: dict[int, int] = {}
        for axes, parts in self.groups:
            long = [axis for axis in parts if region.extents[axis] != 1]
            behind = [self.shape[axis] for axis in parts if long and axis > long[0]]
            if len(axes) > 1 or any(extent != 1 for extent in behind):
                return None
            sizes |= dict.fromkeys(axes, region.extents[long[0]] if long else 1)
        pairs = zip(region.mins, region.extents, strict=True)
        last = tuple(low + (extent - 1) for low, extent in pairs)
        if self.inside(region.mins, facts) is not None or self.inside(last, facts) is not None:
            return None
        mins = self.access(region.mins, facts).indices
        return Region(self.whole, mins, tuple(sizes[axis] for axis in sorted(sizes)))


def _lengths(place: Place) -> list[int]:
    """Zero: known only when the kernel runs. Only the first axis may be so."""
    return [scalar.int_value(extent) or 0 for extent in place.shape]


def _groups(whole: list[int], view: list[int]) -> list[Group]:
    """The smallest groups, from the last axes to the first."""
    result: list[Group] = []
    left, right = list(range(len(whole))), list(range(len(view)))
    while left or right:
        group: Group = ([], [])
        size = [1, 1]
        while not (group[0] or group[1]) or size[0] != size[1]:
            side = 0 if left and (size[0] <= size[1] or not right) else 1
            axis = (left, right)[side].pop()
            group[side].insert(0, axis)
            size[side] *= (whole, view)[side][axis]
            if 0 in size:  # the first axis, of unknown length
                group[0][:0], group[1][:0] = left, right
                return [*result, group]
        result.append(group)
    return result
