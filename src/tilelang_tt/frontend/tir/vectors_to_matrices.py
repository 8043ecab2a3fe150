"""Turn a vector that is only used as `v[32 * r + c]` into a matrix.

    before   for i in T.Parallel(2048): v[i] = a[i // 32, i % 32] * b[i // 32, i % 32]
             T.reduce_sum(v, s, dim=0)
    after    for i in T.Parallel(2048): v[i // 32, i % 32] = a[i // 32, i % 32] * b[i // 32, i % 32]
             T.reduce_sum(v, v_rows, dim=1) ; T.reduce_sum(v_rows, s, dim=0)

Such a vector is only accessed in one of these two forms, filled as a whole or reduced as a whole. Others stay as they
are. `split_flat_loops` then makes loops over rows and columns.
"""

from __future__ import annotations

from typing import Any

from tilelang.ir import get_buffer_span, get_stmt_span, set_buffer_span, stamp_stmt_spans
from tvm import arith, tirx
from tvm.ir import Range

from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.frontend.tir.loop_nests import block_like, region_like
from tilelang_tt.ir import scalar

_WHOLE = ("tl.tileop.fill", "tl.tileop.reduce")  # operations on the whole of a vector that a matrix has too
_ACCESSES = ["tirx.SBlock", "tirx.BufferLoad", "tirx.BufferStore"]
_MATRIX = 2  # axes
_QUOTIENTS = (tirx.FloorDiv, tirx.FloorMod)


def vectors_to_matrices(func: tirx.PrimFunc) -> tirx.PrimFunc:
    vectors = _vectors(func.body)
    if not vectors:
        return func
    ranges = arith.Analyzer()
    for loop in scalar.nodes(func.body, tirx.For):
        ranges.bind(loop.loop_var, Range.from_min_extent(loop.min, loop.extent))

    def before(stmt: Any) -> Any:
        changed = _of_whole(stmt.value, vectors) if operator(stmt.value) in _WHOLE else None
        if changed is not None:
            stamp_stmt_spans(changed, get_stmt_span(stmt))
        return changed

    def after(node: Any) -> Any:
        if isinstance(node, tirx.SBlock):
            allocated = [vectors.get(buffer, buffer) for buffer in node.alloc_buffers]
            return block_like(node, alloc_buffers=allocated)
        matrix = vectors.get(node.buffer)
        if matrix is None or len(node.indices) != 1:
            return None
        place, width = node.indices[0], matrix.shape[1]
        there = [ranges.simplify(part) for part in (tirx.floordiv(place, width), tirx.floormod(place, width))]
        if isinstance(node, tirx.BufferLoad):
            return tirx.BufferLoad(matrix, there)
        return tirx.BufferStore(matrix, node.value, there)

    body = tirx.stmt_functor.ir_transform(func.body, before, None, ["tirx.Evaluate"])
    return func.with_body(tirx.stmt_functor.ir_transform(body, None, after, _ACCESSES))


def _widths(body: Any) -> dict[Any, int]:
    """Loop variables that are split into a row and a column, and the number of columns."""
    widths: dict[Any, int] = {}
    for loop in scalar.nodes(body, tirx.For):
        extent, var = scalar.int_value(loop.extent), loop.loop_var
        quotients = [node for node in scalar.nodes(loop.body, *_QUOTIENTS) if node.a.same_as(var)]
        found = {scalar.int_value(node.b) for node in quotients}
        kinds = {type(node) for node in quotients}
        if loop.kind != tirx.ForKind.PARALLEL or extent is None or len(found) != 1 or len(kinds) != len(_QUOTIENTS):
            continue
        width = found.pop()
        if width is not None and 1 < width < extent and extent % width == 0:
            widths[var] = width
    return widths


def _vectors(body: Any) -> dict[Any, Any]:
    """Vectors that become matrices, with what they become."""
    widths = _widths(body)
    rounds = {loop.loop_var: scalar.int_value(loop.extent) for loop in scalar.nodes(body, tirx.For)}
    vectors = {
        buffer: set[int | None]()
        for block in scalar.nodes(body, tirx.SBlock)
        for buffer in block.alloc_buffers
        if len(buffer.shape) == 1
    }
    whole = {
        region.args[0]: scalar.equal(region.args[2], region.args[0].buffer.shape[0])
        for call in scalar.nodes(body, tirx.Call)
        if operator(call) in _WHOLE
        for region in call.args[:1]
        if len(region.args) == 3
    }
    for access in scalar.nodes(body, tirx.BufferLoad, tirx.BufferStore):
        if access.buffer in vectors and not whole.get(access):
            (index,) = access.indices
            width = widths.get(index) if isinstance(index, tirx.Var) else _row_length(index, rounds)
            vectors[access.buffer].add(width)
    return {
        buffer: _matrix(buffer, width)
        for buffer, found in vectors.items()
        for width in found
        if len(found) == 1 and width is not None and int(buffer.shape[0]) % width == 0
    }


def _row_length(index: Any, rounds: dict[Any, int | None]) -> int | None:
    """w if an index is `w * r + c`, where c counts to w."""
    walked = [var for var in scalar.variables(index) if var in rounds]
    factors = scalar.linear(index, walked) if len(walked) == _MATRIX else None
    if factors is None or scalar.int_value(factors[-1]) != 0:
        return None
    for row, col in ((0, 1), (1, 0)):
        if factors[col] == 1 and factors[row] == rounds[walked[col]]:
            return int(factors[row])
    return None


def _matrix(vector: Any, width: int) -> Any:
    shape = [int(vector.shape[0]) // width, width]
    matrix = tirx.decl_buffer(shape, vector.dtype, vector.name, scope=vector.scope())
    set_buffer_span(matrix, get_buffer_span(vector))
    return matrix


def _of_whole(call: Any, vectors: dict[Any, Any]) -> Any:
    source = call.args[0]
    matrix = vectors.get(source.args[0].buffer)
    if matrix is None:
        return None
    whole = region_like(source, matrix)
    if operator(call) == "tl.tileop.fill":
        return tirx.Evaluate(tirx.Call(call.dtype, call.op, [whole, *call.args[1:]]))
    target, kind, _, clear, *rest = call.args[1:]
    rows = tirx.decl_buffer([matrix.shape[0]], target.args[0].buffer.dtype, f"{matrix.name}_rows", scope=matrix.scope())
    along, across = tirx.const(1, "int32"), tirx.const(0, "int32")
    each = region_like(target, rows)
    first = tirx.Call(call.dtype, call.op, [whole, each, kind, along, tirx.const(True, "bool"), *rest])
    again = tirx.StringImm(kind.value.removeprefix("abs"))  # what is not negative any more
    second = tirx.Call(call.dtype, call.op, [region_like(source, rows), target, again, across, clear, *rest])
    steps = tirx.SeqStmt([tirx.Evaluate(first), tirx.Evaluate(second)])
    block = tirx.SBlock([], [], [], "rows", steps, alloc_buffers=[rows])
    return tirx.SBlockRealize([], tirx.const(True, "bool"), block)
