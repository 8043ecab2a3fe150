"""Turn a let into a variable where its value changes before the name is used again.

before   t = x[i, j]                       after    t = T.alloc_var("float32")
         x[i, j] = y[i, j]                          t = x[i, j]
         y[i, j] = t                                x[i, j] = y[i, j]
                                                    y[i, j] = t

TileLang inlines every other let. `a, b = b, a` makes such lets, too.
"""

from __future__ import annotations

from tvm import tirx

from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.ir import scalar
from tilelang_tt.tilelang_hooks import get_stmt_span, set_buffer_span, stamp_stmt_spans


def lets_to_variables(func: tirx.PrimFunc) -> tirx.PrimFunc:
    return func.with_body(tirx.stmt_functor.ir_transform(func.body, None, _with_variables, ["tirx.SBlock"]))


def _with_variables(block: tirx.SBlock) -> tirx.SBlock | None:
    """A block that allocates a variable for every name in it that must keep its value; None: there is none."""
    variables: list[tirx.Buffer] = []
    body = tirx.stmt_functor.ir_transform(block.body, None, lambda stmts: _kept(stmts, variables), ["tirx.SeqStmt"])
    if not variables:
        return None
    around = (block.iter_vars, block.reads, block.writes, block.name_hint)
    buffers = [*block.alloc_buffers, *variables]
    result = tirx.SBlock(*around, body, block.init, buffers, block.match_buffers, block.annotations)
    stamp_stmt_spans(result, get_stmt_span(block))
    return result


def _kept(sequence: tirx.SeqStmt, variables: list[tirx.Buffer]) -> tirx.SeqStmt:
    stmts = list(sequence.seq)
    for place, stmt in enumerate(stmts):
        if not isinstance(stmt, tirx.Bind) or not _changes(stmt, stmts[place + 1 :]):
            continue
        variable = tirx.decl_buffer([1], stmt.var.dtype, stmt.var.name, scope="local.var")
        set_buffer_span(variable, get_stmt_span(stmt))
        zero = [tirx.const(0, "int32")]
        store = tirx.BufferStore(variable, stmt.value, zero)
        stamp_stmt_spans(store, get_stmt_span(stmt))
        element = {stmt.var: tirx.BufferLoad(variable, zero)}
        rest = [tirx.stmt_functor.substitute(later, element) for later in stmts[place + 1 :]]
        stmts[place:] = [store, *rest]
        variables.append(variable)
    return tirx.SeqStmt(stmts)


def _changes(bind: tirx.Bind, later: list[tirx.Stmt]) -> bool:
    """Whether what a name was read from is changed before the name is used for the last time."""
    read = {load.buffer.data for load in scalar.nodes(bind.value, tirx.BufferLoad)}
    changed = False
    for stmt in later if read else []:
        uses = bind.var in scalar.variables(stmt)
        changes = bool(read & _written(stmt))
        if uses and (changed or (changes and not isinstance(stmt, tirx.BufferStore))):
            return True
        changed = changed or changes
    return False


def _written(stmt: tirx.Stmt) -> set[tirx.Var]:
    """The data of what a statement stores to, or names in a tile operation, which may do so; views share them."""
    stores = {store.buffer.data for store in scalar.nodes(stmt, tirx.BufferStore)}
    regions = [call for call in scalar.nodes(stmt, tirx.Call) if operator(call) in ("tl.region", "tl.access_ptr")]
    return stores | {load.buffer.data for call in regions for load in scalar.nodes(call, tirx.BufferLoad)}
