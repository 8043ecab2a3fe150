"""Turn a kernel of thread groups that meet at barriers into the sequential program it stands for.

    before   with T.ws(1):                                   after    T.copy(A[k], X)
                 T.mbarrier_wait_parity(free, ...)                    T.gemm(X, Y, C)
                 T.tma_copy(A[k], X, barrier=full)
                 T.barrier_arrive(full)
             with T.ws(0):
                 T.mbarrier_wait_parity(full, ...)
                 T.gemm(X, Y, C)
                 T.barrier_arrive(free)

The result of a program without races does not depend on when its threads run. So it is enough to find one order in
which no thread waits forever: the order of the text, or the groups' loops joined round by round. `warp_groups/phases`
runs the barriers to make sure. Without such an order the kernel is refused. A kernel whose threads do something of
their own is left as it is; with `own_work`, for scalar code, it keeps its threads, and waits become T.sync_threads.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm import tirx

from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.frontend.tir.index_bits_to_arithmetic import index_bits_to_arithmetic
from tilelang_tt.frontend.tir.warp_groups.build import (
    BARRIER_OPERATIONS,
    BARRIER_SCOPE,
    GROUP,
    Builder,
    NotGroupsError,
    without_irrelevant_names,
)
from tilelang_tt.frontend.tir.warp_groups.interleave import interleaved
from tilelang_tt.frontend.tir.warp_groups.nodes import (
    Choose,
    Event,
    Inside,
    Loop,
    Node,
    Nodes,
    Threads,
    rebuilt_loop,
)
from tilelang_tt.frontend.tir.warp_groups.phases import (
    BlockedError,
    Counts,
    Runner,
    State,
    UndecidedError,
    worlds,
)
from tilelang_tt.frontend.tir.warp_groups.private import own_copies
from tilelang_tt.frontend.tir.warp_groups.thread_indices import thread_indices, with_thread_numbers
from tilelang_tt.ir import scalar
from tilelang_tt.ir.scalar import Var
from tilelang_tt.tilelang_hooks import get_stmt_span, stamp_stmt_spans

IN_TEXT_ORDER, ROUND_BY_ROUND = "tilelang_tt.in_text_order", "tilelang_tt.round_by_round"  # what was decided
_WAITS = ("wait", "meet")
_COUNTS = "barrier_init"
_THREADS = "tl.launch_threads"
_TENSOR_MEMORY = "shared.tmem"


def sequence_warp_groups(func: tirx.PrimFunc, *, own_work: bool = False) -> tirx.PrimFunc:
    if not _has_groups(func.body) or _has_tensor_memory(func.body):
        return func
    body = index_bits_to_arithmetic(func).body
    try:  # before TVM walks the function: errors do not pass through it as they are
        kernels = {sequence: _kernel(sequence, own_work) for sequence in scalar.nodes(body, tirx.SeqStmt)}
    except NotGroupsError:
        return func
    return func.with_body(tirx.stmt_functor.ir_transform(body, kernels.get, None, ["tirx.SeqStmt"]))


def _has_groups(body: tirx.Stmt) -> bool:
    blocks = scalar.nodes(body, tirx.SBlock)
    return (
        any(str(attribute.attr_key) == GROUP for attribute in scalar.nodes(body, tirx.AttrStmt))
        or any(operator(call) in BARRIER_OPERATIONS for call in scalar.nodes(body, tirx.Call))
        or any(str(buffer.scope()) == BARRIER_SCOPE for block in blocks for buffer in block.alloc_buffers)
    )


def _has_tensor_memory(body: tirx.Stmt) -> bool:
    """Whether blocks are where only a GPU has memory, which completes barriers by itself: that is what is refused."""
    blocks = scalar.nodes(body, tirx.SBlock)
    return any(str(buffer.scope()) == _TENSOR_MEMORY for block in blocks for buffer in block.alloc_buffers)


def _kernel(sequence: tirx.SeqStmt, own_work: bool) -> tirx.Stmt | None:
    """What stands around a T.Kernel: its thread indices, and its block last."""
    root, indices = sequence.seq[-1], thread_indices(sequence)
    if not indices or not isinstance(root, tirx.SBlockRealize) or not _has_groups(root):
        return None
    extents = [int(extent) for extent in root.block.annotations.get(_THREADS, ())]
    if not extents or any(extent != 1 for extent in extents[1:]):
        raise NotGroupsError
    everyone = frozenset(range(extents[0]))
    numbered = with_thread_numbers(root, indices[0])
    nodes = Builder(numbered, indices, extents[0], own_work=own_work).nodes(numbered, everyone, None)
    nodes, copies = own_copies(without_irrelevant_names(nodes), everyone)
    ordered, how = _in_order(nodes, _counts(root), _written(root))
    writer = _Writer(copies, how, indices[0] if own_work else None)
    block = writer.body(ordered)
    if any(str(load.buffer.scope()) == BARRIER_SCOPE for load in scalar.nodes(block, tirx.BufferLoad)):
        raise NotGroupsError
    stamp_stmt_spans(block, get_stmt_span(root))
    return tirx.SeqStmt([*sequence.seq[:-1], block])


def _counts(root: tirx.Stmt) -> Counts:
    found: Counts = {}
    for block in scalar.nodes(root, tirx.SBlock):
        for data, counts in block.annotations.get(_COUNTS, {}).items():
            found[data] = [int(count) for count in counts]
    return found


def _written(root: tirx.Stmt) -> frozenset[Var]:
    return frozenset(store.buffer.data for store in scalar.nodes(root, tirx.BufferStore))


# --- the order ------------------------------------------------------------------------------------


def _in_order(nodes: Nodes, counts: Counts, written: frozenset[Var]) -> tuple[Nodes, str]:
    """The nodes in an order that no wait stops, whatever is known only when the kernel runs."""
    try:
        try:
            _check(nodes, counts, written)
        except BlockedError as blocked:
            return _rounds_joined(nodes, counts, written, blocked.event), ROUND_BY_ROUND
    except UndecidedError as undecided:
        raise UnsupportedError(
            "TT171",
            f"whether thread groups wait forever is not known: {undecided.reason}",
            location=undecided.location,
            help="use bounds and conditions that are known when the kernel is compiled, or T.copy inside T.Pipelined, "
            "which needs no barriers",
        ) from None
    return nodes, IN_TEXT_ORDER


def _check(nodes: Nodes, counts: Counts, written: frozenset[Var]) -> None:
    for world in worlds(written):
        Runner(counts, world).run(nodes, State())


def _rounds_joined(nodes: Nodes, counts: Counts, written: frozenset[Var], waiting: Event) -> Nodes:
    for world in worlds(written):
        try:
            ordered = interleaved(nodes, Runner(counts, world), State())
            _check(ordered, counts, written)
            return ordered
        except BlockedError as blocked:
            waiting = blocked.event
    name = f"barrier '{waiting.barrier.name}'" if waiting.barrier is not None else "a named barrier"
    raise UnsupportedError(
        "TT170",
        f"no order of the thread groups lets this wait pass: nothing that can run before it completes {name}",
        location=waiting.location,
        help="check the parity that is waited for and how many threads arrive; groups that wait for each other in "
        "loops must have loops of the same bounds",
    )


# --- back to TIR ----------------------------------------------------------------------------------


class _Writer:
    """TIR of nodes without barriers; without conditions on thread groups, too, where no thread index is left."""

    def __init__(self, copies: dict[tirx.Buffer, list[tirx.Buffer]], how: str, index: Var | None) -> None:
        self.copies, self.how, self.index = copies, how, index

    def body(self, nodes: Sequence[Node]) -> tirx.Stmt:
        kept = [
            node for node in nodes if not isinstance(node, Event) or (self.index is not None and node.kind in _WAITS)
        ]
        stmts = [stmt for node in _joined(kept) for stmt in self.statement(node)]
        if not stmts:
            return tirx.Evaluate(scalar.const(0))
        return stmts[0] if len(stmts) == 1 else tirx.SeqStmt(stmts)

    def statement(self, node: Node) -> list[tirx.Stmt]:
        match node:
            case Event():
                return [tirx.Evaluate(tirx.call_intrin("int32", "tirx.tvm_storage_sync", "shared"))]
            case Threads() if self.index is not None:
                first, last = scalar.const(min(node.members)), scalar.const(max(node.members))
                return [tirx.IfThenElse(tirx.And(self.index >= first, self.index <= last), self.body(node.body), None)]
            case Threads():
                return [self.body(node.body)]
            case Loop():
                return [rebuilt_loop(node.stmt, self.body(node.body))]
            case Choose():
                otherwise = self.body(node.otherwise) if node.otherwise else None
                span = get_stmt_span(node.origin)
                return [tirx.IfThenElse(node.condition, self.body(node.then), otherwise, span=span)]
            case Inside():
                return [self.around(node)]
        return [node.stmt]

    def around(self, node: Inside) -> tirx.Stmt:
        span, body = get_stmt_span(node.stmt), self.body(node.body)
        if isinstance(node.stmt, tirx.AttrStmt):
            return tirx.AttrStmt(node.stmt.node, node.stmt.attr_key, node.stmt.value, body, span=span)
        block, realize = node.stmt.block, node.stmt
        buffers = [buffer for buffer in block.alloc_buffers if str(buffer.scope()) != BARRIER_SCOPE]
        buffers += [copy for buffer in block.alloc_buffers for copy in self.copies.get(buffer, ())]
        annotations = {key: value for key, value in block.annotations.items() if str(key) != _COUNTS}
        if _THREADS in block.annotations:
            annotations[self.how] = scalar.const(1)
        around = (block.iter_vars, block.reads, block.writes, block.name_hint)
        new = tirx.SBlock(
            *around, body, block.init, buffers, block.match_buffers, annotations, span=get_stmt_span(block)
        )
        return tirx.SBlockRealize(realize.iter_values, realize.predicate, new, span=span)


def _joined(nodes: Sequence[Node]) -> list[Node]:
    """Parts of the same condition, one behind the other, are one again; what is empty is gone."""
    result: list[Node] = []
    for node in nodes:
        last = result[-1] if result else None
        if isinstance(node, Choose) and isinstance(last, Choose) and node.origin is last.origin:
            same = (last.then + node.then, last.otherwise + node.otherwise)
            result[-1] = Choose(last.condition, *same, last.origin)
        elif isinstance(node, Threads) and isinstance(last, Threads) and node.members == last.members:
            result[-1] = Threads(node.members, last.body + node.body)
        elif isinstance(node, Choose) and not _is_kept((node,)):
            continue
        else:
            result.append(node)
    return result


def _is_kept(nodes: Sequence[Node]) -> bool:
    return any(not isinstance(part, Event) for node in nodes for part in _leaves(node))


def _leaves(node: Node) -> list[Node]:
    match node:
        case Choose():
            return [leaf for part in (*node.then, *node.otherwise) for leaf in _leaves(part)]
        case Loop() | Threads() | Inside():
            return [leaf for part in node.body for leaf in _leaves(part)]
    return [node]
