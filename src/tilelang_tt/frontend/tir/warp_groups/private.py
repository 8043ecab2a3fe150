"""Give each group of threads its own copy of a fragment that several of them use.

    before   Threads 0..127 ( X = A )   Threads 128..255 ( X = B )
    after    Threads 0..127 ( X = A )   Threads 128..255 ( X_1 = B )

Fragments and local variables are registers of threads: what one group writes, another one does not see.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tvm import tirx

from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.frontend.refuse_gpu_code import location_of
from tilelang_tt.frontend.tir.warp_groups.nodes import (
    Choose,
    Inside,
    Keep,
    Loop,
    Members,
    Node,
    Nodes,
    Remember,
    Threads,
    expressions,
    mapped,
    parts,
)
from tilelang_tt.ir import scalar
from tilelang_tt.ir.scalar import Var
from tilelang_tt.tilelang_hooks import get_buffer_span, get_stmt_span, set_buffer_span

_WRITES = 2  # bit of what T.region and T.access_ptr say of their use
_MASKS = {"tl.region": 1, "tl.access_ptr": 2}  # where they say it


@dataclass
class _Uses:
    buffers: dict[tirx.Buffer, None] = field(default_factory=dict)
    users: dict[Members, bool] = field(default_factory=dict)  # whether a group writes
    readers: set[Members] = field(default_factory=set)

    def seen_by_others(self) -> bool:
        """Whether what some threads write is read by more, of which the others have another value."""
        writers = [members for members, writes in self.users.items() if writes]
        return any(writer < reader for writer in writers for reader in self.readers)


def own_copies(nodes: Nodes, everyone: Members) -> tuple[Nodes, dict[tirx.Buffer, list[tirx.Buffer]]]:
    """Nodes whose groups share no registers, and the new buffers for each old one."""
    uses: dict[Var, _Uses] = {}
    for members, node in _by_group(nodes, everyone):
        _collect(node, members, uses)
    copies: dict[Members, dict[tirx.Buffer, tirx.Buffer]] = {}
    made: dict[tirx.Buffer, list[tirx.Buffer]] = {}
    for found in uses.values():
        for group in _groups_with_copies(found):
            data: Var | None = None
            for buffer in found.buffers:
                copy = _copy(buffer, data)
                data = copy.data
                copies.setdefault(group, {})[buffer] = copy
                made.setdefault(buffer, []).append(copy)
    return (_with_copies(nodes, copies) if copies else nodes), made


def _by_group(nodes: Nodes, members: Members, outermost: bool = True) -> Iterator[tuple[Members, Node]]:
    """Every node with the group it belongs to: the outermost one."""
    for node in nodes:
        yield members, node
        enters = outermost and isinstance(node, Threads)
        group = node.members if enters and isinstance(node, Threads) else members
        for part in parts(node):
            yield from _by_group(part, group, outermost and not enters)


def _collect(node: Node, members: Members, uses: dict[Var, _Uses]) -> None:
    trees = [node.stmt] if isinstance(node, Keep | Remember) else expressions(node)
    for tree in trees:
        written = set(_written(tree))
        accesses = [*scalar.nodes(tree, tirx.BufferLoad), *scalar.nodes(tree, tirx.BufferStore)]
        for buffer in (access.buffer for access in accesses):
            if str(buffer.scope()).startswith("local"):
                found = uses.setdefault(buffer.data, _Uses())
                found.buffers[buffer] = None
                found.users[members] = found.users.get(members, False) or buffer.data in written
                if any(load.buffer.data.same_as(buffer.data) for load in scalar.nodes(tree, tirx.BufferLoad)):
                    found.readers.add(members)


def written_variables(stmt: tirx.Stmt) -> list[Var]:
    """The data of each T.alloc_var that a statement writes."""
    accesses = [*scalar.nodes(stmt, tirx.BufferLoad), *scalar.nodes(stmt, tirx.BufferStore)]
    variables = {access.buffer.data for access in accesses if str(access.buffer.scope()) == "local.var"}
    return [data for data in dict.fromkeys(_written(stmt)) if data in variables]


def _written(tree: tirx.Stmt) -> Iterator[Var]:
    yield from (store.buffer.data for store in scalar.nodes(tree, tirx.BufferStore))
    for call in scalar.nodes(tree, tirx.Call):
        mask = _MASKS.get(operator(call))
        if mask is not None and isinstance(call.args[0], tirx.BufferLoad) and int(call.args[mask]) & _WRITES:
            yield call.args[0].buffer.data


def _groups_with_copies(found: _Uses) -> list[Members]:
    """Groups that need a copy of their own: all but the first, where some do not see what others write."""
    groups = list(found.users)
    buffer = next(iter(found.buffers))
    if str(buffer.scope()) != "local.fragment" and found.seen_by_others():
        raise _refusal(buffer)
    apart = [(a, b) for place, a in enumerate(groups) for b in groups[:place] if not a & b]
    writers = [members for members, writes in found.users.items() if writes]
    if not apart or all(writer >= user for writer in writers for user in groups):
        return []
    overlapping = [(a, b) for place, a in enumerate(groups) for b in groups[:place] if a & b]
    if not overlapping:
        return groups[1:]
    raise _refusal(buffer)


def _refusal(buffer: tirx.Buffer) -> UnsupportedError:
    return UnsupportedError(
        "TT172",
        f"'{buffer.name}' is in registers, of which thread groups see only their own; some change what others use, too",
        location=location_of(buffer),
        help="give each group a fragment or variable of its own, or use T.alloc_shared",
    )


def _copy(buffer: tirx.Buffer, data: Var | None) -> tirx.Buffer:
    copy = tirx.decl_buffer(buffer.shape, buffer.dtype, f"{buffer.name}_1", data=data, scope=str(buffer.scope()))
    set_buffer_span(copy, get_buffer_span(buffer))
    return copy


def _with_copies(nodes: Nodes, copies: dict[Members, dict[tirx.Buffer, tirx.Buffer]]) -> Nodes:
    result: list[Node] = []
    for node in nodes:
        if isinstance(node, Threads):
            own = copies.get(node.members, {})
            result.append(replace(node, body=tuple(_changed(inner, own) for inner in node.body)))
        elif isinstance(node, Choose):
            then, otherwise = (_with_copies(part, copies) for part in (node.then, node.otherwise))
            result.append(replace(node, then=then, otherwise=otherwise))
        elif isinstance(node, Loop | Inside):
            result.append(replace(node, body=_with_copies(node.body, copies)))
        else:
            result.append(node)
    return tuple(result)


def _changed(node: Node, own: dict[tirx.Buffer, tirx.Buffer]) -> Node:
    if not own:
        return node

    def rewrite(access: tirx.BufferLoad | tirx.BufferStore) -> tirx.BufferLoad | tirx.BufferStore | None:
        if access.buffer not in own:
            return None
        new = own[access.buffer]
        if isinstance(access, tirx.BufferLoad):
            return tirx.BufferLoad(new, access.indices)
        return tirx.BufferStore(new, access.value, access.indices, span=get_stmt_span(access))

    def statement(stmt: tirx.Stmt) -> tirx.Stmt:
        return tirx.stmt_functor.ir_transform(stmt, None, rewrite, ["tirx.BufferLoad", "tirx.BufferStore"])

    def expression(expr: tirx.PrimExpr) -> tirx.PrimExpr:
        return statement(tirx.Evaluate(expr)).value

    return mapped(node, statement, expression)
