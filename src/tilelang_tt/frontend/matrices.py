"""Loops over the elements of a matrix, one after the other, as loops over its rows and columns.

    before   for i in T.Parallel(2048): v[i] = a[i // 32, i % 32] * b[i // 32, i % 32]
             T.reduce_sum(v, s, dim=0)
    after    for r, c in T.Parallel(64, 32): v[r, c] = a[r, c] * b[r, c]
             T.reduce_sum(v, v_rows, dim=1) ; T.reduce_sum(v_rows, s, dim=0)

A vector that such loops walk becomes a matrix itself, if all they do with it is that, and all else that is done with it
is to fill or to reduce the whole of it. Otherwise loop and vector stay as they are, which is right but slow.
"""

from __future__ import annotations

from typing import Any

from tilelang.ir import get_buffer_span, get_stmt_span, set_buffer_span, stamp_stmt_spans
from tvm import tirx

from tilelang_tt.frontend.expression import operator
from tilelang_tt.frontend.nests import nest, region_like
from tilelang_tt.ir import scalar

_WHOLE = ("tl.tileop.fill", "tl.tileop.reduce")  # operations on the whole of a vector that a matrix has too
_QUOTIENTS = (tirx.FloorDiv, tirx.FloorMod)


def with_matrices(func: tirx.PrimFunc) -> tirx.PrimFunc:
    widths = _widths(func.body)
    vectors = _vectors(func.body, widths)
    if not widths:
        return func

    def before(stmt: Any) -> Any:
        changed = None
        if isinstance(stmt, tirx.For) and stmt.loop_var in widths:
            changed = _over_rows_and_columns(stmt, widths[stmt.loop_var], vectors)
        if isinstance(stmt, tirx.Evaluate) and operator(stmt.value) in _WHOLE:
            changed = _of_whole(stmt.value, vectors)
        if changed is not None:
            stamp_stmt_spans(changed, get_stmt_span(stmt))
        return changed

    def after(block: Any) -> Any:
        allocated = [vectors.get(buffer, buffer) for buffer in block.alloc_buffers]
        parts = (block.iter_vars, block.reads, block.writes, block.name_hint, block.body, block.init)
        return tirx.SBlock(*parts, allocated, block.match_buffers, block.annotations)

    body = tirx.stmt_functor.ir_transform(func.body, before, None, ["tirx.For", "tirx.Evaluate"])
    return func.with_body(tirx.stmt_functor.ir_transform(body, None, after, ["tirx.SBlock"]))


def _widths(body: Any) -> dict[Any, int]:
    """Loop variables that are taken apart into a row and a column, and how many columns there are."""
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


def _vectors(body: Any, widths: dict[Any, int]) -> dict[Any, Any]:
    """Vectors that become matrices, with what they become; loops that walk others are taken out of `widths`."""
    vectors = {
        buffer: set[int | None]()
        for block in scalar.nodes(body, tirx.SBlock)
        for buffer in block.alloc_buffers
        if len(buffer.shape) == 1
    }
    walked: dict[Any, set[Any]] = {}
    whole = {
        region.args[0]: scalar.equal(region.args[2], region.args[0].buffer.shape[0])
        for call in scalar.nodes(body, tirx.Call)
        if operator(call) in _WHOLE
        for region in call.args[:1]
        if len(region.args) == 3
    }
    for access in scalar.nodes(body, tirx.BufferLoad, tirx.BufferStore):
        if access.buffer not in vectors or whole.get(access):
            continue
        (index,) = access.indices
        vectors[access.buffer].add(widths.get(index) if isinstance(index, tirx.Var) else None)
        for var in scalar.variables(index):
            walked.setdefault(var, set()).add(access.buffer)
    fit = {buffer for buffer, found in vectors.items() if len(found) == 1 and None not in found}
    while unfit := [var for var in widths if not walked.get(var, set()) <= fit]:
        for var in unfit:
            del widths[var]
            fit -= walked[var]
    return {buffer: _matrix(buffer, width) for buffer in fit for width in vectors[buffer] if width is not None}


def _matrix(vector: Any, width: int) -> Any:
    shape = [int(vector.shape[0]) // width, width]
    matrix = tirx.decl_buffer(shape, vector.dtype, vector.name, scope=vector.scope())
    set_buffer_span(matrix, get_buffer_span(vector))
    return matrix


def _over_rows_and_columns(loop: Any, width: int, vectors: dict[Any, Any]) -> Any:
    var = loop.loop_var
    row, col = (tirx.Var(f"{var.name}_{side}", var.dtype) for side in ("row", "column"))

    def there(node: Any) -> Any:
        if isinstance(node, _QUOTIENTS):
            return (row if isinstance(node, tirx.FloorDiv) else col) if node.a.same_as(var) else None
        if node.buffer not in vectors:
            return None
        if isinstance(node, tirx.BufferLoad):
            return tirx.BufferLoad(vectors[node.buffer], [row, col])
        return tirx.BufferStore(vectors[node.buffer], node.value, [row, col])

    kinds = ["tirx.FloorDiv", "tirx.FloorMod", "tirx.BufferLoad", "tirx.BufferStore"]
    body = tirx.stmt_functor.ir_transform(loop.body, None, there, kinds)
    body = tirx.stmt_functor.substitute(body, {var: row * width + col})
    return nest([(row, int(loop.extent) // width), (col, width)], body)


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
