"""Words for element-wise bodies: operators, and the pattern in which each buffer is read or written.

In a body over (i, j): "full" is [i, j], "vector i of 2" is [i], "permuted ji" is [j, i], "scalar" names neither.
"""

from __future__ import annotations

from typing import Any

from tvm import arith, tirx

from tilelang_tt.conformance.words import PLAIN_CALLS, TILE, Notes, mentions, number_of, operator_of
from tilelang_tt.ir import scalar

_NODE_OPS: dict[Any, str] = {
    tirx.Add: "add",
    tirx.Sub: "sub",
    tirx.Mul: "mul",
    tirx.Div: "div",
    tirx.Mod: "mod",
    tirx.FloorDiv: "floordiv",
    tirx.FloorMod: "floormod",
    tirx.Max: "max",
    tirx.Min: "min",
    tirx.EQ: "compare",
    tirx.NE: "compare",
    tirx.LT: "compare",
    tirx.LE: "compare",
    tirx.GT: "compare",
    tirx.GE: "compare",
    tirx.And: "logic",
    tirx.Or: "logic",
    tirx.Not: "logic",
    tirx.Select: "select",
}


def note_body(notes: Notes, loop: Any) -> None:
    """Note a T.Parallel nest."""
    axes: list[Any] = []
    extents: list[int | None] = []
    body: Any = loop
    while isinstance(body, tirx.For) and body.kind == tirx.ForKind.PARALLEL:
        axes.append(body.loop_var)
        extents.append(number_of(body.extent))
        body = body.body
    notes.use(f"parallel rank {len(axes)}")
    if any(extent is None for extent in extents):
        notes.use("parallel of dynamic extent")
    elif any(extent % TILE for extent in extents[-2:] if extent is not None):
        notes.use("parallel of sub-tile extent")
    _Body(notes, axes).statement(body)


class _Body:
    def __init__(self, notes: Notes, axes: list[Any]) -> None:
        self.notes = notes
        self.axes = axes

    def statement(self, stmt: Any) -> None:
        if isinstance(stmt, tirx.SeqStmt):
            self.notes.use("parallel body of several statements")
            for part in stmt.seq:
                self.statement(part)
        elif isinstance(stmt, tirx.BufferStore):
            self.access(stmt.buffer, stmt.indices, "store")
            self.elements(stmt.value)
        elif isinstance(stmt, tirx.IfThenElse):
            on_position = " on position" if self.on_position(stmt.condition) else ""
            self.notes.use(f"parallel body with if{on_position}")
            self.elements(stmt.condition)
            self.statement(stmt.then_case)
            if stmt.else_case is not None:
                self.statement(stmt.else_case)
        elif isinstance(stmt, tirx.Bind):
            self.notes.lets[stmt.var] = stmt.value
            self.elements(stmt.value)
        elif isinstance(stmt, tirx.For):
            self.notes.use("loop inside parallel body")
            self.notes.loops.add(stmt.loop_var)
            self.statement(stmt.body)
        elif isinstance(stmt, tirx.Evaluate):
            self.notes.use(f"parallel body calls {operator_of(stmt.value)}")
            self.notes.expression(stmt.value, "call")
        elif isinstance(stmt, tirx.SBlockRealize):
            for buffer in stmt.block.alloc_buffers:
                self.notes.allocation(buffer)
            self.statement(stmt.block.body)
        else:
            self.notes.use(f"parallel body with {type(stmt).__name__}")
            if hasattr(stmt, "body"):
                self.statement(stmt.body)

    def on_position(self, expr: Any) -> bool:
        """Whether an expression, with the lets it stands on, depends on where the body is."""
        return any(node.same_as(axis) for node in self.notes.resolved(expr) for axis in self.axes)

    def elements(self, value: Any) -> None:
        inside_index: set[int] = set()  # nodes by TVM's hash, which is their address
        for node in scalar.nodes(value):
            if isinstance(node, tirx.BufferLoad):
                self.access(node.buffer, node.indices, "operand")
                for index in node.indices:
                    inside_index.update(hash(part) for part in scalar.nodes(index))
        for node in scalar.nodes(value):
            if isinstance(node, tirx.Var) and node in self.notes.threads:
                self.notes.irregular("thread index")
            if hash(node) in inside_index:
                continue
            self.element_node(node)

    def element_node(self, node: Any) -> None:
        name = next((op for kind, op in _NODE_OPS.items() if isinstance(node, kind)), None)
        if name is not None:
            position = mentions(node, self.axes) and not any(
                isinstance(part, tirx.BufferLoad) for part in scalar.nodes(node)
            )
            integer = str(node.a.dtype).startswith(("int", "uint")) if hasattr(node, "a") else False
            if position or (integer and not any(isinstance(part, tirx.BufferLoad) for part in scalar.nodes(node))):
                self.notes.use("position arithmetic in body" if position else "index arithmetic in body")
            else:
                self.notes.use(f"op {name}" + (" integer" if integer else ""))
        elif isinstance(node, tirx.Cast):
            self.notes.use(f"cast {node.value.dtype} to {node.dtype}")
        elif isinstance(node, tirx.Call):
            op = self.notes.call(node)
            if op == "tirx.if_then_else":
                loads = any(isinstance(part, tirx.BufferLoad) for part in self.notes.resolved(node.args[0]))
                index = "position" if self.on_position(node.args[0]) else "index"
                self.notes.use(f"select on {'values' if loads else index}")
            elif op not in PLAIN_CALLS:
                self.notes.use(f"op {op.removeprefix('tirx.').removeprefix('tl.')}")

    def access(self, buffer: Any, indices: Any, what: str) -> None:
        """The pattern in which a body reads or writes a buffer."""
        order: list[int] = []
        marks: set[str] = set()
        for index in indices:
            nodes = self.notes.resolved(index)
            here = [number for number, axis in enumerate(self.axes) if any(node.same_as(axis) for node in nodes)]
            loads = [node for node in nodes if isinstance(node, tirx.BufferLoad)]
            gather = any(self.on_position(load) for load in loads)
            if gather:
                marks.add("gather")
            elif loads:
                marks.add("address from tensor" if loads[0].buffer in self.notes.tensors else "address from buffer")
            order += here
            if here and not gather:
                marks |= self.index_marks(index, [self.axes[number] for number in here], buffer)
            elif not here and number_of(index) != 0 and self.where(buffer) == "chip":
                marks.add("at an index")
        self.notes.use(" ".join([what, self.where(buffer), self.pattern(order, len(self.axes)), *sorted(marks)]))
        if "gather" in marks:
            self.notes.use("gather")

    def where(self, buffer: Any) -> str:
        place = self.notes.place(buffer)
        return place if place in ("tensor", "var") else "chip"

    def index_marks(self, index: Any, here: list[Any], buffer: Any) -> set[str]:
        if len(here) > 1:
            return {"merged axes"}
        linear = arith.detect_linear_equation(index, here)
        if len(linear) == 0:
            return {"div or mod of axis"}
        marks = set()
        if number_of(linear[0]) != 1:
            marks.add("strided")
        if number_of(linear[1]) != 0 and self.where(buffer) == "chip":
            marks.add("offset")
        return marks

    def pattern(self, order: list[int], rank: int) -> str:
        if not order:
            return "scalar"
        if order == list(range(rank)):
            return "full"
        names = "".join("ijklmn"[axis] for axis in order)
        if len(order) == rank:
            return f"permuted {names}"
        return f"vector {names} of {rank}"
