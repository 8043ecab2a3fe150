"""What has no meaning on this chip, refused by name with what to write instead."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tilelang
from tilelang.ir import get_buffer_span, get_stmt_span
from tvm import tirx

from tilelang_tt.diagnostics import Location, UnsupportedError

_TILELANG = str(Path(tilelang.__file__).parent)

_THREADS = "Tensix cores have no SIMT threads; write T.Parallel, T.copy or another tile operation"
_ASYNC = "data movement is asynchronous by itself here: use T.copy inside T.Pipelined and drop the barrier"
_TMA = "use T.copy: the reader kernel moves whole tiles over the NoC"
_WARP = "use T.gemm: the matrix engine has no warps"

# Prefix of a TIR operator's name -> (what it is, what to write instead).
GPU_ONLY: tuple[tuple[str, str, str], ...] = (
    ("tl.tma_", "a TMA operation", _TMA),
    ("tl.tileop.tma_", "a TMA operation", _TMA),
    ("tl.create_tma", "a TMA descriptor", _TMA),
    ("tl.create_list_of_mbarrier", "an mbarrier", _ASYNC),
    ("tl.get_mbarrier", "an mbarrier", _ASYNC),
    ("tl.mbarrier", "an mbarrier", _ASYNC),
    ("tl.ptx_", "a PTX instruction", _WARP),
    ("tirx.ptx_", "a PTX instruction", _ASYNC),
    ("tl.wgmma", "a warp-group operation", _WARP),
    ("tl.tileop.wgmma", "a warp-group operation", _WARP),
    ("tl.tileop.tcgen05", "a tensor-memory operation", _WARP),
    ("tl.tcgen05", "a tensor-memory operation", _WARP),
    ("tl.warpgroup", "a warp-group operation", _WARP),
    ("tl.warp_", "a warp-level operation", _WARP),
    ("tl.set_max_nreg", "a register-allocation hint for GPU warps", "remove it"),
    ("tl.shfl", "a warp shuffle", _THREADS),
    ("tirx.tvm_warp", "a warp-level operation", _THREADS),
    ("tl.sync_warp", "a warp-level barrier", _THREADS),
    ("tl.get_warp", "a warp index", _THREADS),
    ("tl.get_lane", "a lane index", _THREADS),
    ("tirx.call_extern", "a call of external GPU code", "express it with tile operations"),
    ("tirx.call_pure_extern", "a call of external GPU code", "express it with tile operations"),
    ("tl.ieee_", "a CUDA rounding intrinsic", "use the plain operator"),
)

# Barriers between threads of a block: a block is one sequential program here, so they mean nothing.
HARMLESS: dict[str, str] = {
    "tirx.tvm_storage_sync": "T.sync_threads ignored: a block runs as one sequential program",
    "tl.sync_threads": "T.sync_threads ignored: a block runs as one sequential program",
    "tl.no_set_max_nreg": "T.disable_warp_group_reg_alloc ignored: there are no warps",
}


def location_of(node: tirx.Stmt | tirx.Buffer) -> Location | None:
    """The user's line TileLang recorded for a statement or a buffer."""
    span = get_buffer_span(node) if isinstance(node, tirx.Buffer) else get_stmt_span(node)
    if span is None or str(span.source_name.name).startswith(_TILELANG):
        return None  # a macro of TileLang's own: the caller knows the user's line around it
    return Location(str(span.source_name.name), int(span.line))


def refuse_gpu_code(func: tirx.PrimFunc) -> None:
    """Raise at the first statement that only makes sense on a GPU: its operations, or a thread index.

    Runs on the function as written, before TileLang's passes, so that the error names the user's line.
    Defining a thread index is no harm (every T.Kernel does); using one is.
    """
    threads = _thread_indices(func)

    for stmt, location in _statements(func.body, None):
        for expr in _own_expressions(stmt):
            _check_expression(expr, threads, location)


def _statements(stmt: Any, around: Location | None) -> Iterator[tuple[Any, Location | None]]:
    """Every statement with its line, or the line around it; outer before inner."""
    location = location_of(stmt) or around
    yield stmt, location
    parts = list(stmt.seq) if isinstance(stmt, tirx.SeqStmt) else []
    parts += [getattr(stmt, name, None) for name in ("body", "block", "then_case", "else_case")]
    for part in parts:
        if part is not None:
            yield from _statements(part, location)


def _thread_indices(func: tirx.PrimFunc) -> set[Any]:
    found: set[Any] = set()

    def collect(node: Any) -> None:
        if isinstance(node, tirx.Bind) and _is_thread_index(node.value):
            found.add(node.var)

    tirx.stmt_functor.post_order_visit(func.body, collect)
    return found


def thread_index(name: str, location: Location | None) -> UnsupportedError:
    message = f"the kernel uses the thread index '{name}'"
    return UnsupportedError("TT101", message, location=location, help=_THREADS)


def _check_expression(expr: Any, threads: set[Any], location: Location | None) -> None:
    nodes: list[Any] = []
    tirx.stmt_functor.post_order_visit(expr, nodes.append)
    for node in nodes:
        if isinstance(node, tirx.Var) and node in threads:
            raise thread_index(str(node.name), location)
        if isinstance(node, tirx.Call):
            _check_operator(str(getattr(node.op, "name", "")), location)


def _check_operator(op: str, location: Location | None) -> None:
    for prefix, what, instead in GPU_ONLY:
        if op.startswith(prefix):
            raise UnsupportedError("TT102", f"{op} is {what}", location=location, help=instead)


def _is_thread_index(expr: Any) -> bool:
    return isinstance(expr, tirx.Call) and str(getattr(expr.op, "name", "")).endswith("launch_thread_idx")


def _own_expressions(stmt: Any) -> list[Any]:
    if not isinstance(stmt, tirx.BufferStore | tirx.Evaluate | tirx.IfThenElse | tirx.For | tirx.Bind):
        return []
    if isinstance(stmt, tirx.BufferStore):
        return [stmt.value, *stmt.indices]
    if isinstance(stmt, tirx.IfThenElse):
        return [stmt.condition]
    if isinstance(stmt, tirx.For):
        return [stmt.min, stmt.extent]
    return [stmt.value]
