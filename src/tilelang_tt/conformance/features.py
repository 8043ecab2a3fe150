"""What a kernel is made of, read from its TIR: the words a census counts, and what makes a kernel irregular.

    T.reduce_max(S, m, dim=1, clear=False)          ->  "reduce max dim 1/2 keep"
    for i, j in T.Parallel(64, 64): S[i, j] * m[i]  ->  "operand chip vector i of 2", "op mul", ...
    T.atomic_add(dQ[...], ...)                      ->  irregular: "atomic"

A kernel is *pure* when nothing in it is irregular: copies, fills, products, reductions, element-wise bodies, and
loops and conditions over them.
"""

from __future__ import annotations

from typing import Any

from tvm import tirx

from tilelang_tt.conformance.element_words import note_body
from tilelang_tt.conformance.tile_words import note_tile_op
from tilelang_tt.conformance.words import PLAIN_CALLS, Features, Notes, number_of, operator_of
from tilelang_tt.frontend.refuse_gpu_code import HARMLESS
from tilelang_tt.ir import scalar

_IRREGULAR_ANNOTATIONS = {
    "pragma_import_c": "extern",
    "cluster_dims": "cluster launch",
    "tl.ws_schedule": "warp specialisation",
}


def features_of(func: tirx.PrimFunc) -> Features:
    return _Walk(func).notes.found


class _Walk:
    """One walk over one function."""

    def __init__(self, func: tirx.PrimFunc) -> None:
        self.notes = Notes(tensors=set(func.buffer_map.values()))
        self.launches = 0
        for param in func.params:
            if param in func.buffer_map:
                self.tensor(func.buffer_map[param])
            else:
                self.notes.use("scalar parameter")
                self.notes.sizes.add(param)
        self.statement(func.body)
        if self.launches > 1:
            self.notes.use("several launches")

    def tensor(self, buffer: Any) -> None:
        self.notes.use(f"tensor rank {len(buffer.shape)}")
        self.notes.dtype(buffer.dtype)
        for extent in buffer.shape:
            self.notes.sizes.update(node for node in scalar.nodes(extent) if isinstance(node, tirx.Var))
        if any(number_of(extent) is None for extent in buffer.shape):
            self.notes.use("dynamic shape")
        if any(number_of(stride) is None and isinstance(stride, tirx.Var) for stride in buffer.strides):
            self.notes.use("strided tensor")

    def statement(self, stmt: Any) -> None:
        if isinstance(stmt, tirx.SeqStmt):
            for part in stmt.seq:
                self.statement(part)
        elif isinstance(stmt, tirx.SBlockRealize):
            self.statement(stmt.block)
        elif isinstance(stmt, tirx.SBlock):
            self.block(stmt)
        elif isinstance(stmt, tirx.For):
            self.loop(stmt)
        elif isinstance(stmt, tirx.IfThenElse):
            self.notes.control("if", stmt.condition)
            self.statement(stmt.then_case)
            if stmt.else_case is not None:
                self.statement(stmt.else_case)
        elif isinstance(stmt, tirx.Bind):
            self.bind(stmt)
        elif isinstance(stmt, tirx.AttrStmt):
            if str(stmt.attr_key) == "warp_specialize":
                self.notes.irregular("warp specialisation")
            elif str(stmt.attr_key) != "threadblock_swizzle_pattern":
                self.notes.use(f"attribute {stmt.attr_key}")
            self.statement(stmt.body)
        elif isinstance(stmt, tirx.While):
            self.notes.irregular("while")
            self.statement(stmt.body)
        elif isinstance(stmt, tirx.BufferStore):
            self.scalar_store(stmt)
        elif isinstance(stmt, tirx.Evaluate):
            self.evaluate(stmt.value)
        elif hasattr(stmt, "body"):
            self.notes.use(f"statement {type(stmt).__name__}")
            self.statement(stmt.body)
        else:
            self.notes.use(f"statement {type(stmt).__name__}")

    def block(self, block: Any) -> None:
        for buffer in block.alloc_buffers:
            self.notes.allocation(buffer)
        if block.match_buffers:
            self.notes.use("buffer view")
        for key in block.annotations:
            name = str(key)
            if name == "tl.launch_threads":
                self.launches += 1
            elif name in _IRREGULAR_ANNOTATIONS:
                self.notes.irregular(_IRREGULAR_ANNOTATIONS[name])
            elif name == "reducer_info":
                self.notes.use("reducer")
        self.statement(block.body)

    def loop(self, loop: Any) -> None:
        if loop.kind == tirx.ForKind.PARALLEL:
            note_body(self.notes, loop)
            return
        if loop.kind == tirx.ForKind.THREAD_BINDING:
            tag = str(loop.thread_binding.thread_tag)
            (self.notes.grid if tag.startswith("blockIdx") else self.notes.threads).add(loop.loop_var)
            if number_of(loop.extent) is None:
                self.notes.use("dynamic grid")
        else:
            kind = {tirx.ForKind.UNROLLED: "unrolled", tirx.ForKind.VECTORIZED: "vectorized"}.get(loop.kind, "serial")
            pipelined = "num_stages" in {str(key) for key in loop.annotations}
            self.notes.use("loop pipelined" if pipelined else f"loop {kind}")
            for bound in (loop.min, loop.extent):
                self.notes.control("loop bound", bound)
            self.notes.loops.add(loop.loop_var)
        self.statement(loop.body)

    def bind(self, stmt: Any) -> None:
        if operator_of(stmt.value).endswith("launch_thread_idx"):
            self.notes.threads.add(stmt.var)
            return
        self.notes.lets[stmt.var] = stmt.value
        self.notes.expression(stmt.value, "let")

    def scalar_store(self, store: Any) -> None:
        self.notes.use(f"element store to {self.notes.place(store.buffer)}")
        self.notes.expression(store.value, "element")
        for index in store.indices:
            self.notes.control("element address", index)

    def evaluate(self, value: Any) -> None:
        op = operator_of(value)
        if op in HARMLESS or op in PLAIN_CALLS:
            return
        if not note_tile_op(self.notes, value):
            self.notes.use(f"call {op or type(value).__name__}")
            self.notes.expression(value, "call")
