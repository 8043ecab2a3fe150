"""Read a kernel's TIR as nodes: which threads do what, and what happens at barriers.

A condition on the thread index names threads: those of 0 to 255 for which it holds. Where a thread index is used for
anything else than such conditions and copies of cp.async, a kernel is no program of thread groups: NotGroupsError.
"""

from __future__ import annotations

from tvm import tirx

from tilelang_tt.diagnostics import Location
from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.frontend.refuse_gpu_code import HARMLESS, location_of
from tilelang_tt.frontend.tir.expand_cp_async import spread_over_threads
from tilelang_tt.frontend.tir.warp_groups.evaluate import Evaluate, UnknownError, compiled
from tilelang_tt.frontend.tir.warp_groups.nodes import (
    Choose,
    Event,
    Inside,
    Keep,
    Loop,
    Members,
    Node,
    Nodes,
    Remember,
    Threads,
    expressions,
    walk,
)
from tilelang_tt.frontend.tir.warp_groups.private import written_variables
from tilelang_tt.frontend.tir.warp_groups.thread_indices import names, varying_names
from tilelang_tt.ir import scalar
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.tilelang_hooks import get_stmt_span, stamp_stmt_spans

GROUP = "warp_specialize"  # the attribute of T.ws
BARRIER_SCOPE = "shared.barrier"
_ARRIVALS = ("tirx.ptx_arrive_barrier", "tl.ptx_cp_async_barrier_noinc")
_EXPECTED = "tl.mbarrier_expect_tx"
_ARRIVAL_EXPECTING = "tirx.ptx_arrive_barrier_expect_tx"
_WAIT = "tl.mbarrier_wait_parity"
_NAMED_ARRIVAL = "tl.named_barrier_arrive"
_SYNC = "tirx.tvm_storage_sync"
_FENCE = "tl.warpgroup_fence_operand"
BARRIER_OPERATIONS = (*_ARRIVALS, _EXPECTED, _ARRIVAL_EXPECTING, _WAIT, _NAMED_ARRIVAL)
_LOADS = ("tl.tileop.tma_copy",)
_COPY = "tl.tileop.copy"


_NOTHING, _UNKNOWN = tirx.Evaluate(scalar.const(0)), scalar.var("unknown")


class NotGroupsError(Exception):
    """A kernel whose threads do something of their own."""


class Builder:
    """The nodes of one T.Kernel with so many threads. `own_work`: threads may do something of their own."""

    def __init__(self, body: tirx.Stmt, indices: list[Var], threads: int, *, own_work: bool) -> None:
        self.index, self.threads, self.own_work = indices[0], threads, own_work
        self.lets: dict[Var, Expr] = {other: scalar.const(0) for other in indices[1:]}
        for bind in scalar.nodes(body, tirx.Bind):  # outer before inner: names of what threads are
            value = tirx.stmt_functor.substitute(bind.value, self.lets)
            if self.index in scalar.variables(value) and not scalar.nodes(value, tirx.BufferLoad):
                self.lets[bind.var] = value
        self.conditions: dict[Expr, Evaluate] = {}
        self.varying = varying_names(body, self.index, self.is_range)

    def nodes(self, stmt: tirx.Stmt, members: Members, around: Location | None) -> Nodes:
        location = location_of(stmt) or around
        if isinstance(stmt, tirx.Evaluate | tirx.BufferStore | tirx.Bind):
            stmt = self.with_thread_indices(stmt)
        match stmt:
            case tirx.SeqStmt():
                return tuple(node for part in stmt.seq for node in self.nodes(part, members, location))
            case tirx.AttrStmt() if str(stmt.attr_key) == GROUP:
                return self.nodes(stmt.body, members, location)
            case tirx.AttrStmt():
                return (Inside(stmt, self.nodes(stmt.body, members, location)),)
            case tirx.SBlockRealize():
                return (Inside(stmt, self.nodes(stmt.block.body, members, location)),)
            case tirx.For() if stmt.kind in (tirx.ForKind.SERIAL, tirx.ForKind.UNROLLED):
                if self.uses_threads(stmt.min) or self.uses_threads(stmt.extent):
                    return self.kept(stmt, members)
                return (Loop(stmt, self.nodes(stmt.body, members, location)),)
            case tirx.IfThenElse():
                return self.choice(stmt, members, location)
            case tirx.Evaluate() if isinstance(stmt.value, tirx.Call):
                return self.call(stmt, members, location)
            case tirx.Bind() if stmt.var in self.lets and not self.own_work:
                return ()
            case tirx.Bind() if not self.uses_threads(stmt) and str(stmt.var.dtype).startswith(("int", "uint", "bool")):
                return (Remember(stmt, stmt.var, stmt.value),)
            case tirx.BufferStore() if str(stmt.buffer.scope()) == "local.var" and not self.uses_threads(stmt):
                return (Remember(stmt, stmt.buffer.data, stmt.value),)
        return self.kept(stmt, members)

    def with_thread_indices(self, stmt: tirx.Stmt) -> tirx.Stmt:
        """A statement that names the thread index itself."""
        if not self.lets.keys() & set(scalar.variables(stmt)):
            return stmt
        result = tirx.stmt_functor.substitute(stmt, self.lets)
        stamp_stmt_spans(result, get_stmt_span(stmt))
        return result

    def choice(self, stmt: tirx.IfThenElse, members: Members, location: Location | None) -> Nodes:
        otherwise = [] if stmt.else_case is None else [stmt.else_case]
        if not self.uses_threads(stmt.condition):
            branches = [self.nodes(part, members, location) for part in (stmt.then_case, *otherwise)]
            return (Choose(stmt.condition, branches[0], branches[1] if otherwise else (), stmt),)
        if isinstance(stmt.condition, tirx.And) and not otherwise:
            for outer, inner in ((stmt.condition.a, stmt.condition.b), (stmt.condition.b, stmt.condition.a)):
                if not self.uses_threads(outer):
                    nested = tirx.IfThenElse(inner, stmt.then_case, None)
                    return (Choose(outer, self.choice(nested, members, location), (), stmt),)
        if self.own_work and not self.is_range(stmt.condition):
            return self.kept(stmt, members)
        chosen = frozenset(thread for thread in members if self.holds(stmt.condition, thread))
        groups = [(chosen, stmt.then_case), *((members - chosen, part) for part in otherwise)]
        found: list[Node] = []
        for group, part in groups:
            if group:
                nodes = self.nodes(part, group, location)
                inner = nodes if all(isinstance(node, Threads) for node in nodes) else (Threads(group, nodes),)
                found += inner
        return tuple(found)

    def holds(self, condition: Expr, thread: int) -> bool:
        if condition not in self.conditions:
            self.conditions[condition] = compiled(tirx.stmt_functor.substitute(condition, self.lets))
        try:
            return bool(self.conditions[condition]({self.index: thread}))
        except UnknownError:
            raise NotGroupsError from None

    def is_range(self, condition: Expr) -> bool:
        """Whether a condition is about the thread index alone, and holds for one range of threads, or none."""
        try:
            chosen = [thread for thread in range(self.threads) if self.holds(condition, thread)]
        except NotGroupsError:
            return False
        return not chosen or chosen == list(range(chosen[0], chosen[0] + len(chosen)))

    def call(self, stmt: tirx.Stmt, members: Members, location: Location | None) -> Nodes:
        call = stmt.value
        op = operator(call)
        if op == _FENCE:
            return ()
        if op in BARRIER_OPERATIONS or (op == _SYNC and len(call.args) > 1):
            if self.uses_threads(stmt):
                raise NotGroupsError
            return self.events(op, list(call.args), members, location)
        if op in _LOADS:
            if "cluster_mask" in call.annotations:
                raise NotGroupsError  # one block's copy for several
            others = {key: value for key, value in call.annotations.items() if str(key) != "barrier"}
            stmt = tirx.Evaluate(tirx.Call(call.dtype, call.op, call.args, others), span=get_stmt_span(stmt))
        if op == _COPY and "barrier" in call.annotations:
            return self.arriving_copy(stmt, members, location)
        return self.kept(stmt, members)

    def arriving_copy(self, stmt: tirx.Stmt, members: Members, location: Location | None) -> Nodes:
        """A copy whose bytes the program has told the barrier to expect."""
        call, barrier = stmt.value, stmt.value.annotations["barrier"]
        extents, bits = call.args[1].args[2:], call.args[1].args[0].buffer.dtype.bits
        count = scalar.int_value(scalar.product(extents))
        if self.uses_threads(stmt) or count is None or len(call.annotations) > 1:
            raise NotGroupsError
        plain = tirx.Evaluate(tirx.Call(call.dtype, call.op, call.args, {}), span=get_stmt_span(stmt))
        arrived = scalar.const(-count * bits // 8 * len(members))
        event = Event("expect", barrier.buffer.data, barrier.indices[0], arrived, members, location)
        return (*self.kept(plain, members), event)

    def events(self, op: str, args: list[Expr], members: Members, location: Location | None) -> Nodes:
        size = scalar.const(len(members))
        if op in (_SYNC, _NAMED_ARRIVAL):
            number, *rest = args[1:] if op == _SYNC else args
            count = rest[0] if rest else scalar.const(self.threads)
            if op == _SYNC and scalar.int_value(count) == len(members):
                return ()
            joined = Event("join", None, number, count, members, location)
            return (
                (joined,) if op == _NAMED_ARRIVAL else (joined, Event("meet", None, number, count, members, location))
            )
        if not isinstance(args[0], tirx.BufferLoad) or str(args[0].buffer.scope()) != BARRIER_SCOPE or len(args) > 2:
            raise NotGroupsError
        data, (place,) = args[0].buffer.data, args[0].indices
        arrival = Event("arrive", data, place, size, members, location)
        if op == _WAIT:
            return (Event("wait", data, place, args[1], members, location),)
        if op in _ARRIVALS:
            if len(args) > 1:
                raise NotGroupsError  # at the barrier of another block
            return (arrival,)
        expected = Event("expect", data, place, args[1] * size, members, location)
        return (expected,) if op == _EXPECTED else (expected, arrival)

    def kept(self, stmt: tirx.Stmt, members: Members) -> Nodes:
        if any(operator(call) in BARRIER_OPERATIONS for call in scalar.nodes(stmt, tirx.Call)):
            raise NotGroupsError
        forgotten = tuple(Remember(_NOTHING, data, _UNKNOWN) for data in written_variables(stmt))
        if self.own_work:
            return (Keep(stmt), *forgotten)
        if self.uses_threads(stmt):
            spread_out = spread_over_threads(stmt, self.index, members)
            if spread_out is None:
                raise NotGroupsError
            return (Keep(spread_out),)
        if len(members) < self.threads and not _is_done_together(stmt):
            raise NotGroupsError
        return (Keep(stmt), *forgotten)

    def uses_threads(self, tree: tirx.Stmt | Expr) -> bool:
        return bool(names(tree) & self.varying)


def _is_done_together(stmt: tirx.Stmt) -> bool:
    """Whether it does not matter how many threads execute a statement."""
    if isinstance(stmt, tirx.For) and stmt.kind == tirx.ForKind.PARALLEL:
        return True
    if isinstance(stmt, tirx.BufferStore):
        local = str(stmt.buffer.scope()).startswith("local")
        read = {load.buffer.data for load in scalar.nodes(stmt.value, tirx.BufferLoad)}
        return local or stmt.buffer.data not in read
    if isinstance(stmt, tirx.Evaluate) and isinstance(stmt.value, tirx.Call):
        return operator(stmt.value).startswith("tl.tileop.") or operator(stmt.value) in HARMLESS
    return isinstance(stmt, tirx.Bind | tirx.Evaluate)


def without_irrelevant_names(nodes: Nodes) -> Nodes:
    """Nodes that remember only the numbers that barriers depend on."""
    relevant: set[Var] = set()
    everything = list(walk(nodes))
    while True:
        deciding = [node for node in everything if not isinstance(node, Remember) or node.key in relevant]
        found = {var for node in deciding for expr in expressions(node) for var in names(expr)}
        if found <= relevant:
            return _pruned(nodes, relevant)
        relevant |= found


def _pruned(nodes: Nodes, relevant: set[Var]) -> Nodes:
    result: list[Node] = []
    for node in nodes:
        match node:
            case Remember() if node.key not in relevant:
                result.append(Keep(node.stmt))
            case Loop():
                result.append(Loop(node.stmt, _pruned(node.body, relevant)))
            case Choose():
                then, otherwise = _pruned(node.then, relevant), _pruned(node.otherwise, relevant)
                result.append(Choose(node.condition, then, otherwise, node.origin))
            case Threads():
                result.append(Threads(node.members, _pruned(node.body, relevant)))
            case Inside():
                result.append(Inside(node.stmt, _pruned(node.body, relevant)))
            case _:
                result.append(node)
    return tuple(result)
