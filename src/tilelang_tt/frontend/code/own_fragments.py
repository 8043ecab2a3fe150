"""Fragments of which each thread has one of its own.

    F = T.alloc_fragment([4], "int32")
    for r in T.serial(4): F[r] = A[r * 16 + tx // 8]          no T.Parallel, no tile operation: registers of a thread

What threads fill together holds one number for each element. A fragment that they fill one by one, with numbers that
depend on the thread, is a T.alloc_local in all but its name.
"""

from __future__ import annotations

from collections.abc import Iterable

from tvm import tirx

from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.frontend.tir.warp_groups.thread_indices import names, varying_names
from tilelang_tt.ir import scalar
from tilelang_tt.ir.scalar import Var

_POINTERS = ("tl.region", "tl.access_ptr", "tirx.tvm_access_ptr", "tirx.address_of")  # of what operations work on


def own_fragments(body: tirx.Stmt, threads: Iterable[Var]) -> set[Var]:
    """Their data: fragments that hold what differs from thread to thread, and that no statement of all threads uses."""
    stores = scalar.nodes(body, tirx.BufferStore)
    filled = {store.buffer.data for store in stores if str(store.buffer.scope()) == "local.fragment"}
    if not filled:
        return set()
    varying = {name for index in threads for name in varying_names(body, index, lambda _: True)}
    return filled & varying - _used_together(body)


def _used_together(body: tirx.Stmt) -> set[Var]:
    """The data of blocks in loops of T.Parallel and in tile operations."""
    loops = [loop for loop in scalar.nodes(body, tirx.For) if loop.kind == tirx.ForKind.PARALLEL]
    found = {name for loop in loops for name in names(loop)}
    calls = (call for call in scalar.nodes(body, tirx.Call) if operator(call) in _POINTERS)
    return found | {arg.buffer.data for call in calls for arg in call.args if isinstance(arg, tirx.BufferLoad)}
