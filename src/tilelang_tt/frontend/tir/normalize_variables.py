"""Bring variables and conditions into the forms that the rest of the frontend knows.

before   v = T.alloc_var("float32")                     after    v_each = T.alloc_fragment((64,), "float32")
         for i in T.Parallel(64):                                for i in T.Parallel(64):
             v = x[i] * 2 ; y[i] = v + 1                             v_each[i] = x[i] * 2 ; y[i] = v_each[i] + 1

before   at = T.alloc_local((1,), "int32")              after    at = T.alloc_var("int32")
         at[0] = table[bx] ; T.copy(A[at[0], 0], s)              at = table[bx] ; T.copy(A[at, 0], s)

before   if T.any_of(mask[bx, 0:4]): ...                after    if mask[bx, 0] != 0 or mask[bx, 1] != 0 or ...: ...
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from tilelang.ir import get_buffer_span, get_stmt_span, set_buffer_span, stamp_stmt_spans
from tvm import tirx

from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.frontend.tir.loop_nests import block_like
from tilelang_tt.ir import scalar

_MOST_TESTS = 64  # elements that T.any_of and T.all_of look at


def normalize_variables(func: tirx.PrimFunc) -> tirx.PrimFunc:
    return _steering_elements(_one_for_each(_tests_of_all(func)))


def _renamed(tree: Any, old: Any, new: Any, indices: list[Any]) -> Any:
    """`tree` with another buffer in place of one, at other indices."""

    def there(node: Any) -> Any:
        if not node.buffer.same_as(old):
            return None
        if isinstance(node, tirx.BufferLoad):
            return tirx.BufferLoad(new, indices)
        store = tirx.BufferStore(new, node.value, indices)
        stamp_stmt_spans(store, get_stmt_span(node))
        return store

    return tirx.stmt_functor.ir_transform(tree, None, there, ["tirx.BufferLoad", "tirx.BufferStore"])


def _declared(shape: list[int], like: Any, scope: str) -> Any:
    buffer = tirx.decl_buffer(shape, like.dtype, like.name, scope=scope)
    set_buffer_span(buffer, get_buffer_span(like))
    return buffer


# --- variables of T.Parallel ----------------------------------------------------------------------


def _one_for_each(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """Turn variables that iterations of T.Parallel assign before they read them into blocks, one element for each."""

    def before(loop: Any) -> Any:
        if loop.kind != tirx.ForKind.PARALLEL:
            return None
        variables, body = [], loop
        while isinstance(body, tirx.For) and body.kind == tirx.ForKind.PARALLEL:
            variables.append((body.loop_var, scalar.largest(body.extent)))
            body = body.body
        own = [store.buffer for store in _assigned_first(body)]
        if not own or any(extent is None for _, extent in variables):
            return None
        result, blocks = loop, []
        for buffer in own:
            each = _declared([extent or 0 for _, extent in variables], buffer, "local.fragment")
            result = _renamed(result, buffer, each, [var for var, _ in variables])
            blocks.append(each)
        block = tirx.SBlock([], [], [], "each", result, alloc_buffers=blocks)
        realized = tirx.SBlockRealize([], tirx.const(True, "bool"), block)
        stamp_stmt_spans(realized, get_stmt_span(loop))
        return realized

    return func.with_body(tirx.stmt_functor.ir_transform(func.body, before, None, ["tirx.For"]))


def _assigned_first(body: Any) -> list[Any]:
    """Stores to variables in a straight line, each before anything there reads its variable."""
    found: list[Any] = []
    seen: set[Any] = set()
    for part in list(body.seq) if isinstance(body, tirx.SeqStmt) else [body]:
        seen |= {load.buffer for load in scalar.nodes(part, tirx.BufferLoad)}
        if isinstance(part, tirx.BufferStore) and str(part.buffer.scope()) == "local.var" and part.buffer not in seen:
            found.append(part)
        seen |= {store.buffer for store in scalar.nodes(part, tirx.BufferStore)}
    return found


# --- blocks of one whole number -------------------------------------------------------------------


def _steering_elements(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """Turn blocks of a single integer that are used as an index into variables."""
    body = func.body
    steering = {load.buffer for where in _addresses(body) for load in scalar.nodes(where, tirx.BufferLoad)}
    in_regions = {call.args[0].buffer for call in scalar.nodes(body, tirx.Call) if operator(call) == "tl.region"}
    parallel = [loop for loop in scalar.nodes(body, tirx.For) if loop.kind == tirx.ForKind.PARALLEL]
    in_parallel = {store.buffer for loop in parallel for store in scalar.nodes(loop, tirx.BufferStore)}
    for block in scalar.nodes(body, tirx.SBlock):
        for buffer in block.alloc_buffers:
            one = all(scalar.int_value(extent) == 1 for extent in buffer.shape)
            whole = str(buffer.dtype) in ("int32", "int64", "uint32") and str(buffer.scope()) != "local.var"
            if one and whole and buffer in steering - in_regions - in_parallel:
                variable = _declared([1], buffer, "local.var")
                body = _renamed(body, buffer, variable, [tirx.const(0, "int32")])
                body = _allocated_instead(body, buffer, variable)
    return func.with_body(body)


def _addresses(body: Any) -> list[Any]:
    """Expressions used as an index, a region or a loop bound."""
    found = [index for access in scalar.nodes(body, tirx.BufferLoad, tirx.BufferStore) for index in access.indices]
    return found + [bound for loop in scalar.nodes(body, tirx.For) for bound in (loop.min, loop.extent)]


def _allocated_instead(body: Any, old: Any, new: Any) -> Any:
    def after(block: Any) -> Any:
        if not any(buffer.same_as(old) for buffer in block.alloc_buffers):
            return None
        allocated = [new if buffer.same_as(old) else buffer for buffer in block.alloc_buffers]
        return block_like(block, alloc_buffers=allocated)

    return tirx.stmt_functor.ir_transform(body, None, after, ["tirx.SBlock"])


# --- T.any_of, T.all_of ---------------------------------------------------------------------------


def _tests_of_all(func: tirx.PrimFunc) -> tirx.PrimFunc:
    join = {"tl.any_of": tirx.Or, "tl.all_of": tirx.And}

    def rewrite(call: Any) -> Any:
        kind, count = join.get(operator(call)), scalar.int_value(call.args[1]) if len(call.args) > 1 else None
        if kind is None or count is None or count > _MOST_TESTS or operator(call.args[0]) != "tl.access_ptr":
            return None
        start = call.args[0].args[0]
        tests = [tirx.NE(tirx.Cast("int32", element), tirx.const(0, "int32")) for element in _run(start, count)]
        return reduce(kind, tests)

    return func.with_body(tirx.stmt_functor.ir_transform(func.body, None, rewrite, ["tirx.Call"]))


def _run(start: Any, count: int) -> list[Any]:
    """Elements of a buffer one after the other, from a place in it."""
    shape = [scalar.int_value(extent) or count for extent in start.buffer.shape]
    found = []
    for number in range(count):
        indices, rest = list(start.indices), number
        for axis in reversed(range(len(shape))):
            inner = axis == len(shape) - 1 and count <= shape[axis]
            indices[axis] = scalar.simplify(indices[axis] + (rest if inner else rest % shape[axis]))
            rest = 0 if inner else rest // shape[axis]
        found.append(tirx.BufferLoad(start.buffer, indices))
    return found
