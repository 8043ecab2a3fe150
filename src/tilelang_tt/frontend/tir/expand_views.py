"""Expand T.reshape and T.view, which give the same elements another shape, into accesses of one block.

    before   v = T.reshape(s, (64, 4, 32))                  s : 64 x 128
             v[i, q, h] = ...
             T.reduce_sum(v, r, dim=2)
    after    s[i, q * 32 + h] = ...
             for q in T.serial(4):
                 v_part[i, h] = s[i, q * 32 + h] ; T.reduce_sum(v_part, v_row, dim=1) ; r[i, q] = v_row[i]
    before   w = T.reshape(s, (8192,)) ; T.copy(w, B)
    after    for i in T.Parallel(8192): B[i] = s[i // 128, i % 128]

The block has the shape that the others only take apart, if there is one and it has two axes at least: a stack of
matrices that is also used as one matrix is that matrix. Otherwise it has the shape it was allocated with; a tensor
always has its own. Tile operations on the other shapes go element by element, or by way of a block of that shape. What
else a view may be (another element type, other strides) stays as it is, and is refused where it is used.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilelang.ir import get_buffer_span, get_stmt_span, set_buffer_span, stamp_stmt_spans
from tvm import arith, tirx
from tvm.ir import Range

from tilelang_tt.diagnostics import Location
from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.frontend.refuse_gpu_code import location_of
from tilelang_tt.frontend.tir.loop_nests import (
    CHIP,
    assigned,
    block_like,
    box,
    copied,
    nest,
    reduced_by_parts,
    region_like,
    variables,
)
from tilelang_tt.ir import scalar

_MATRIX = 2  # axes
_ACCESSES = ["tirx.BufferLoad", "tirx.BufferStore", "tirx.SBlock"]
_COPY, _FILL, _REDUCE, _REGION = "tl.tileop.copy", "tl.tileop.fill", "tl.tileop.reduce", "tl.region"
_BOXES = (_COPY, _FILL, "tl.tileop.gemm")  # operations that do not mind axes of length 1
_READS, _WRITES = 1, 2  # what is done to a region, in its second argument

Segment = tuple[list[int], list[int]]  # axes of the block and axes of a view that hold the same elements


@dataclass(frozen=True)
class _View:
    block: tirx.Buffer
    segments: list[Segment]

    @property
    def takes_apart(self) -> bool:
        """Whether the view's axes are the block's, or parts of them."""
        return all(len(axes) <= 1 for axes, _ in self.segments)


def expand_views(func: tirx.PrimFunc) -> tirx.PrimFunc:
    views, replaced = _views(func)
    return _Rewriter(views, replaced).function(func) if views else func


def _views(func: tirx.PrimFunc) -> tuple[dict[tirx.Buffer, _View], dict[tirx.Buffer, tirx.Buffer]]:
    """Every buffer that is another shape of a block, or of a tensor; and blocks with those allocated instead."""
    tensors = {buffer.data: buffer for buffer in func.buffer_map.values()}
    blocks = {buffer.data: buffer for node in scalar.nodes(func.body, tirx.SBlock) for buffer in node.alloc_buffers}
    others: dict[tirx.Var, list[tirx.Buffer]] = {}
    for access in scalar.nodes(func.body, tirx.BufferLoad, tirx.BufferStore):
        buffer = access.buffer
        owner = tensors.get(buffer.data, blocks.get(buffer.data))
        known = [owner, *others.get(buffer.data, ())]
        if owner is not None and not any(buffer.same_as(other) for other in known) and _same_elements(owner, buffer):
            others.setdefault(buffer.data, []).append(buffer)
    views: dict[tirx.Buffer, _View] = {}
    replaced: dict[tirx.Buffer, tirx.Buffer] = {}
    for data, shapes in others.items():
        owner = tensors.get(data, blocks.get(data))
        block = owner if data in tensors else _coarsest(owner, shapes)
        if block is not owner:
            replaced[owner] = block = _renamed(block, owner)
        for buffer in [owner, *shapes]:
            if not buffer.same_as(block):
                views[buffer] = _View(block, _segments(_shape(block), _shape(buffer)))
    return views, replaced


def _same_elements(owner: tirx.Buffer, view: tirx.Buffer) -> bool:
    return bool(view.dtype == owner.dtype) and _compact(owner) and _compact(view)


def _compact(buffer: tirx.Buffer) -> bool:
    """Whether elements lie in row-major order without gaps, sizes behind the first axis being known."""
    extents = _shape(buffer)[1:]
    step, steps = 1, [1]
    for extent in reversed(extents):
        step *= extent
        steps.insert(0, step)
    return 0 not in extents and all(map(scalar.equal, buffer.strides, steps))


def _shape(buffer: tirx.Buffer) -> list[int]:
    """Zero: known only when the kernel runs."""
    return [scalar.int_value(extent) or 0 for extent in buffer.shape]


def _coarsest(owner: tirx.Buffer, views: list[tirx.Buffer]) -> tirx.Buffer:
    """The shape that all other shapes divide, or else the one it was allocated with."""
    shapes = [owner, *views]
    for block in sorted(shapes, key=lambda buffer: len(_long(buffer))):
        fits = all(_View(block, _segments(_shape(block), _shape(other))).takes_apart for other in shapes)
        if fits and (len(_long(block)) >= _MATRIX or block is owner):
            return block
    return owner


def _long(buffer: tirx.Buffer) -> list[int]:
    return [extent for extent in _shape(buffer) if extent != 1]


def _renamed(shape: tirx.Buffer, owner: tirx.Buffer) -> tirx.Buffer:
    """A block in the place of `owner`, of the shape of one of its views."""
    block = tirx.decl_buffer(shape.shape, owner.dtype, owner.name, data=owner.data, scope=owner.scope())
    set_buffer_span(block, get_buffer_span(owner))
    return block


def _segments(block: list[int], view: list[int]) -> list[Segment]:
    """Axes of both shapes in the smallest groups that hold the same elements, from last to first."""
    result: list[Segment] = []
    left, right = list(range(len(block))), list(range(len(view)))
    while left or right:
        segment: Segment = ([], [])
        size = [1, 1]
        while not (segment[0] or segment[1]) or size[0] != size[1]:
            side = 0 if left and (size[0] <= size[1] or not right) else 1
            axis = (left, right)[side].pop()
            segment[side].insert(0, axis)
            size[side] *= (block, view)[side][axis]
            if 0 in size:  # the first axis, of unknown length
                segment[0][:0], segment[1][:0] = left, right
                return [*result, segment]
        result.append(segment)
    return result


def _is_whole(region: tirx.Call) -> bool:
    buffer, starts, extents = box(region)
    return all(map(scalar.equal, extents, buffer.shape)) and all(scalar.int_value(low) == 0 for low in starts)


class _Rewriter:
    def __init__(self, views: dict[tirx.Buffer, _View], replaced: dict[tirx.Buffer, tirx.Buffer]) -> None:
        self.views = views
        self.replaced = replaced
        self.ranges = arith.Analyzer()

    def function(self, func: tirx.PrimFunc) -> tirx.PrimFunc:
        transform = tirx.stmt_functor.ir_transform
        body = transform(func.body, self.operation, None, ["tirx.Evaluate"])
        for loop in scalar.nodes(body, tirx.For):
            self.ranges.bind(loop.loop_var, Range.from_min_extent(loop.min, loop.extent))
        return func.with_body(transform(body, None, self.access, _ACCESSES))

    def access(
        self, node: tirx.BufferLoad | tirx.BufferStore | tirx.SBlock
    ) -> tirx.BufferLoad | tirx.BufferStore | tirx.SBlock | None:
        if isinstance(node, tirx.SBlock):
            allocated = [self.replaced.get(buffer, buffer) for buffer in node.alloc_buffers]
            return block_like(node, alloc_buffers=allocated)
        view = self.views.get(node.buffer)
        if view is None:
            return None
        there = self.places(view, node)
        if isinstance(node, tirx.BufferLoad):
            return tirx.BufferLoad(view.block, there)
        return tirx.BufferStore(view.block, node.value, there)

    def places(self, view: _View, access: tirx.BufferLoad | tirx.BufferStore) -> list[tirx.PrimExpr]:
        """Where in the block an element of the view is."""
        result: dict[int, tirx.PrimExpr] = {}
        for axes, parts in view.segments:
            number: tirx.PrimExpr = tirx.const(0, "int32")
            for axis in parts:
                number = number * access.buffer.shape[axis] + access.indices[axis]
            for axis in reversed(axes[1:]):
                extent = view.block.shape[axis]
                result[axis] = self.ranges.simplify(tirx.floormod(number, extent))
                number = tirx.floordiv(number, extent)
            if axes:
                result[axes[0]] = self.ranges.simplify(number)
        return [result[axis] for axis in range(len(view.block.shape))]

    # --- tile operations --------------------------------------------------------------------------

    def operation(self, stmt: tirx.Evaluate) -> tirx.Stmt | None:
        """A tile operation, before the accesses in it are rewritten."""
        call = stmt.value
        if not operator(call).startswith("tl.tileop."):
            return None
        regions = [arg for arg in call.args if self.viewed(arg)]
        if not regions:
            return None
        if operator(call) in _BOXES:
            call = tirx.Call(call.dtype, call.op, [self.as_box(arg) for arg in call.args])
            regions = [arg for arg in call.args if self.viewed(arg)]
        changed = self.written_out(call, regions, location_of(stmt)) if regions else tirx.Evaluate(call)
        stamp_stmt_spans(changed, get_stmt_span(stmt))
        return changed

    def viewed(self, arg: tirx.PrimExpr) -> _View | None:
        return self.views.get(arg.args[0].buffer) if operator(arg) == _REGION else None

    def as_box(self, arg: tirx.PrimExpr) -> tirx.PrimExpr:
        """A region of a view as one of the block, if it is a box there with the same extents."""
        view = self.viewed(arg)
        if view is None:
            return arg
        buffer, starts, extents = box(arg)
        sizes: dict[int, tirx.PrimExpr] = {}
        for axes, parts in view.segments:
            long = [axis for axis in parts if scalar.int_value(extents[axis]) != 1]
            behind = [buffer.shape[axis] for axis in parts if long and axis > long[0]]
            if len(axes) > 1 or any(scalar.int_value(extent) != 1 for extent in behind):
                return arg
            sizes |= {axis: extents[long[0]] if long else tirx.const(1, "int32") for axis in axes}
        start = tirx.BufferLoad(view.block, self.places(view, tirx.BufferLoad(buffer, starts)))
        return tirx.Call(arg.dtype, arg.op, [start, arg.args[1], *(sizes[axis] for axis in sorted(sizes))])

    def written_out(self, call: tirx.Call, regions: list[tirx.Call], location: Location | None) -> tirx.Stmt:
        if operator(call) == _COPY:
            return copied(call, location)
        if operator(call) == _FILL:
            buffer, starts, extents = box(call.args[0])
            if (view := self.viewed(call.args[0])) and _is_whole(call.args[0]):
                args = [region_like(call.args[0], view.block), *call.args[1:]]
                return tirx.Evaluate(tirx.Call(call.dtype, call.op, args))
            loops = variables(len(extents), "place")
            store = assigned(buffer, [low + var for low, var in zip(starts, loops, strict=True)], call.args[1])
            return nest(zip(loops, extents, strict=True), store)
        return self.reduction(call) or self.by_blocks(call, regions)

    def reduction(self, call: tirx.Call) -> tirx.Stmt | None:
        """A reduction along the innermost part of an axis: one for each place of the outer parts."""
        buffer, _, extents = box(call.args[0])
        view = self.viewed(call.args[0])
        if operator(call) != _REDUCE or view is None or not view.takes_apart:
            return None
        dim = int(call.args[3]) % len(extents)
        inner = sorted(parts[-1] for axes, parts in view.segments if axes and parts)
        if dim not in inner or len(inner) > _MATRIX or not _is_whole(call.args[0]):
            return None
        return reduced_by_parts(call, _shape(buffer), dim, inner)

    def by_blocks(self, call: tirx.Call, regions: list[tirx.Call]) -> tirx.Stmt:
        """An operation on blocks of the views' shapes, filled before it and copied back after it."""
        before, after, blocks = [], [], {}
        for region in regions:
            buffer, starts, extents = box(region)
            block = tirx.decl_buffer(extents, buffer.dtype, buffer.name, scope=CHIP)
            loops = variables(len(extents), "place")
            there = [low + var for low, var in zip(starts, loops, strict=True)]
            each = list(zip(loops, extents, strict=True))
            if int(region.args[1]) & _READS:
                before.append(nest(each, tirx.BufferStore(block, tirx.BufferLoad(buffer, there), loops)))
            if int(region.args[1]) & _WRITES:
                after.append(nest(each, tirx.BufferStore(buffer, tirx.BufferLoad(block, loops), there)))
            blocks[region] = region_like(region, block)
        operation = tirx.Evaluate(tirx.Call(call.dtype, call.op, [blocks.get(arg, arg) for arg in call.args]))
        body = tirx.SeqStmt([*before, operation, *after])
        allocated = [region.args[0].buffer for region in blocks.values()]
        block = tirx.SBlock([], [], [], "views", body, alloc_buffers=allocated)
        return tirx.SBlockRealize([], tirx.const(True, "bool"), block)
