"""T.reshape: another shape for the same elements, written out as accesses of the block itself.

    before   v = T.reshape(s, (64, 4, 32))
             v[i, q, h] = ...
             T.reduce_sum(v, r, dim=2)
    after    s[i, q * 32 + h] = ...
             for q in T.serial(4):
                 v_part[i, h] = s[i, q * 32 + h] ; T.reduce_sum(v_part, v_row, dim=1) ; r[i, q] = v_row[i]

Each axis of the block must be some axes of the view, side by side. What else a view may be (merged axes, another
element type) stays as it is, and is refused where it is used.
"""

from __future__ import annotations

from typing import Any

from tvm import tirx

from tilelang_tt.frontend.expression import operator
from tilelang_tt.frontend.stacks import by_parts
from tilelang_tt.ir import scalar

Groups = list[list[int]]  # of each axis of the block, the axes of the view that it is


def without_views(func: tirx.PrimFunc) -> tirx.PrimFunc:
    blocks: dict[Any, Any] = {}

    def note(node: Any) -> None:
        if isinstance(node, tirx.SBlock):
            blocks.update((buffer.data, buffer) for buffer in node.alloc_buffers)

    tirx.stmt_functor.post_order_visit(func.body, note)

    def viewed(buffer: Any) -> tuple[Any, Groups] | None:
        block = blocks.get(buffer.data)
        if block is None or block.same_as(buffer) or buffer.dtype != block.dtype:
            return None
        groups = _groups(_shape(block), _shape(buffer))
        return None if groups is None else (block, groups)

    def rewrite(node: Any) -> Any:
        if isinstance(node, tirx.BufferLoad) and (found := viewed(node.buffer)):
            return tirx.BufferLoad(found[0], _places(found[1], node))
        if isinstance(node, tirx.BufferStore) and (found := viewed(node.buffer)):
            return tirx.BufferStore(found[0], node.value, _places(found[1], node))
        return None

    def outer(node: Any) -> Any:
        """Reductions, before what they read is rewritten."""
        if isinstance(node, tirx.Evaluate) and operator(node.value) == "tl.tileop.reduce":
            view = node.value.args[0].args[0].buffer
            if found := viewed(view):
                return _reduction(node.value, view, *found)
        return None

    kinds = ["tirx.Evaluate"]
    body = tirx.stmt_functor.ir_transform(func.body, outer, None, kinds)
    return func.with_body(tirx.stmt_functor.ir_transform(body, None, rewrite, ["tirx.BufferLoad", "tirx.BufferStore"]))


def _shape(buffer: Any) -> list[int]:
    return [scalar.int_value(extent) or 0 for extent in buffer.shape]


def _groups(block: list[int], view: list[int]) -> Groups | None:
    groups: Groups = []
    axis = 0
    for extent in block:
        group, size = [], 1
        while size < extent and axis < len(view):
            size *= view[axis]
            group.append(axis)
            axis += 1
        if size != extent:
            return None
        groups.append(group)
    return groups if axis == len(view) else None


def _places(groups: Groups, access: Any) -> list[Any]:
    """Where in the block an element of the view is."""
    result = []
    for group in groups:
        place: Any = tirx.const(0, "int32")
        for axis in group:
            place = place * access.buffer.shape[axis] + access.indices[axis]
        result.append(scalar.simplify(place))
    return result


def _reduction(call: Any, view: Any, block: Any, groups: Groups) -> Any:
    """A reduction along the innermost part of an axis: one for each place of the outer parts."""
    dim = int(call.args[3]) % len(view.shape)
    inner = [group[-1] for group in groups if group]
    if dim not in inner:
        return None

    def element(variables: list[Any]) -> Any:
        return tirx.BufferLoad(block, _places(groups, tirx.BufferLoad(view, variables)))

    return by_parts(call, _shape(view), dim, inner, element)
