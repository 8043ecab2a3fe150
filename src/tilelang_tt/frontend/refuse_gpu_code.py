"""Refuse what only makes sense on a GPU, by name, with what to write instead."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tvm import tirx

from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.ir import scalar
from tilelang_tt.tilelang_hooks import get_buffer_span, get_stmt_span, tilelang

_TILELANG = str(Path(tilelang.__file__).parent)

_THREADS = "Tensix cores have no SIMT threads; write T.Parallel, T.copy or another tile operation"
DROP_BARRIER = "data movement is asynchronous by itself here: use T.copy inside T.Pipelined and drop the barrier"
_TMA = "use T.copy: the reader kernel moves whole tiles over the NoC"
_WARP = "use T.gemm: the matrix engine has no warps"
_TILES = "express it with tile operations"

# Prefix of a TIR operator's name -> (what it is, what to write instead). The first that fits counts.
GPU_ONLY: tuple[tuple[str, str, str], ...] = (
    ("tl.tma_", "a TMA operation", _TMA),
    ("tl.create_tma", "a TMA operation", _TMA),
    ("tl.prefetch_tma", "a TMA operation", _TMA),
    ("tl.mbarrier", "an mbarrier operation", DROP_BARRIER),
    ("tirx.create_barriers", "an mbarrier operation", DROP_BARRIER),
    ("tirx.ptx_arrive_barrier", "an mbarrier operation", DROP_BARRIER),
    ("tirx.ptx_wait_barrier", "an mbarrier operation", DROP_BARRIER),
    ("tirx.ptx_init_barrier", "an mbarrier operation", DROP_BARRIER),
    ("tl.ptx_arrive_cluster_barrier", "an mbarrier operation", DROP_BARRIER),
    ("tl.named_barrier", "a barrier between warps", DROP_BARRIER),
    ("tirx.ptx_cp_async", "an asynchronous copy of GPUs", _TMA),
    ("tl.ptx_cp_async", "an asynchronous copy of GPUs", _TMA),
    ("tl.ptx_", "a PTX instruction", _WARP),
    ("tirx.ptx_", "a PTX instruction", _WARP),
    ("tl.tileop.wgmma_gemm_sp", "a sparse product of GPUs", _WARP),
    ("tl.tileop.tcgen05", "a tensor-memory operation", _WARP),
    ("tl.tcgen05", "a tensor-memory operation", _WARP),
    ("tl.tvm_mfma", "an instruction of AMD GPUs", _WARP),
    ("tl.tvm_rdna", "an instruction of AMD GPUs", _WARP),
    ("tl.warp_", "a warp-level operation", _THREADS),
    ("tl.shfl", "a warp shuffle", _THREADS),
    ("tl.tl_shuffle_elect", "a warp-level operation", _THREADS),
    ("tl.any_sync", "a warp-level operation", _THREADS),
    ("tl.all_sync", "a warp-level operation", _THREADS),
    ("tl.match_", "a warp-level operation", _THREADS),
    ("tl.ballot", "a warp-level operation", _THREADS),
    ("tl.activemask", "a warp-level operation", _THREADS),
    ("tirx.tvm_warp", "a warp-level operation", _THREADS),
    ("tl.sync_warp", "a warp-level barrier", _THREADS),
    ("tl.get_warp", "a warp index", _THREADS),
    ("tl.get_lane", "a lane index", _THREADS),
    ("tl.syncthreads_", "a vote among threads", _THREADS),
    ("tl.cluster_", "an operation of thread-block clusters", "remove it: blocks do not wait for each other"),
    (
        "tl.sync_grid",
        "a barrier of the whole grid that not every block gets to",
        "put it where every block gets to: outside of conditions, and of loops of unknown length",
    ),
    ("tirx.call_extern", "a call of external GPU code", _TILES),
    ("tirx.call_pure_extern", "a call of external GPU code", _TILES),
    ("tl.ieee_", "a CUDA rounding intrinsic", "use the plain operator"),
)

# What only tunes GPU code, or orders the threads of a block: here a block is one sequential program.
HARMLESS: dict[str, str] = {
    "tirx.tvm_storage_sync": "T.sync_threads ignored: a block runs as one sequential program",
    "tl.fence_proxy_async": "memory fence ignored: a block runs as one sequential program",
    "tl.tma_store_arrive": "wait for a TMA store ignored: copies are done where they stand",
    "tl.tma_store_wait": "wait for a TMA store ignored: copies are done where they stand",
    "tirx.ptx_commit_group": "wait for asynchronous copies ignored: copies are done where they stand",
    "tirx.ptx_wait_group": "wait for asynchronous copies ignored: copies are done where they stand",
    "tl.wait_wgmma": "wait for wgmma ignored: products are done where they stand",
    "tl.warpgroup_arrive": "wait for wgmma ignored: products are done where they stand",
    "tl.warpgroup_commit_batch": "wait for wgmma ignored: products are done where they stand",
    "tl.warpgroup_wait": "wait for wgmma ignored: products are done where they stand",
    "tl.warpgroup_fence_operand": "wait for wgmma ignored: products are done where they stand",
    "tl.set_max_nreg": "register hint ignored: there are no warps",
    "tl.no_set_max_nreg": "register hint ignored: there are no warps",
    "tl.annotate_producer_reg_dealloc": "register hint ignored: there are no warps",
    "tl.annotate_consumer_reg_alloc": "register hint ignored: there are no warps",
    "tl.pdl_trigger": "dependent launch ignored: kernels run one after another",
    "tl.device_assert": "T.device_assert is not checked in tile operations",
    "tl.device_assert_with_msg": "T.device_assert is not checked in tile operations",
    "tl.pdl_sync": "dependent launch ignored: kernels run one after another",
}

PIECE = "tilelang_tt_scalar_code"  # what `cut_out_code` calls in place of statements
NOT_CHECKED = ("tl.device_assert", "tl.device_assert_with_msg")  # of these the user is warned


def location_of(node: tirx.Stmt | tirx.Buffer) -> Location | None:
    """The user's line TileLang recorded for a statement or a buffer."""
    span = get_buffer_span(node) if isinstance(node, tirx.Buffer) else get_stmt_span(node)
    if span is None or str(span.source_name.name).startswith(_TILELANG):
        return None  # a macro of TileLang's own: the caller knows the user's line around it
    return Location(str(span.source_name.name), int(span.line))


def macro_note(stmt: tirx.Stmt) -> tuple[str, ...]:
    """Where a statement comes from whose own line the user never wrote."""
    span = get_stmt_span(stmt)
    file = Path(str(span.source_name.name)) if span is not None else Path()
    return (f"part of a function of tilelang/language/{file.name}",) if str(file).startswith(_TILELANG) else ()


def refuse_gpu_code(func: tirx.PrimFunc) -> None:
    """Raise at the first statement that only makes sense on a GPU: its operations, or a thread index.

    Runs on the function as written, before TileLang's passes, so that the error names the user's line.
    Defining a thread index is no harm (every T.Kernel does); using one is.
    """
    threads = _thread_indices(func)

    for stmt, location in statements(func.body, None):
        for expr in _own_expressions(stmt):
            _check_expression(expr, threads, location, macro_note(stmt))


def statements(stmt: tirx.Stmt, around: Location | None) -> Iterator[tuple[tirx.Stmt, Location | None]]:
    """Every statement with its line, or the line around it; outer before inner."""
    location = location_of(stmt) or around
    yield stmt, location
    parts = list(stmt.seq) if isinstance(stmt, tirx.SeqStmt) else []
    parts += [getattr(stmt, name, None) for name in ("body", "block", "then_case", "else_case")]
    for part in parts:
        if part is not None:
            yield from statements(part, location)


def _thread_indices(func: tirx.PrimFunc) -> set[tirx.Var]:
    found: set[tirx.Var] = set()

    def collect(node: tirx.PrimExpr) -> None:
        if isinstance(node, tirx.Bind) and _is_thread_index(node.value):
            found.add(node.var)

    tirx.stmt_functor.post_order_visit(func.body, collect)
    return found


def thread_index(name: str, location: Location | None, notes: tuple[str, ...] = ()) -> UnsupportedError:
    message = f"the kernel uses the thread index '{name}'"
    return UnsupportedError("TT101", message, location=location, notes=notes, help=_THREADS)


def _check_expression(
    expr: tirx.PrimExpr, threads: set[tirx.Var], location: Location | None, notes: tuple[str, ...]
) -> None:
    for node in scalar.nodes(expr):
        if isinstance(node, tirx.Var) and node in threads:
            raise thread_index(str(node.name), location, notes)
        op = str(getattr(node.op, "name", "")) if isinstance(node, tirx.Call) and not is_piece(node) else ""
        for prefix, what, instead in GPU_ONLY if op not in HARMLESS else ():
            if op.startswith(prefix):
                raise UnsupportedError("TT102", f"{op} is {what}", location=location, notes=notes, help=instead)


def is_piece(call: tirx.Call) -> bool:
    return bool(len(call.args)) and isinstance(call.args[0], tirx.StringImm) and str(call.args[0].value) == PIECE


def _is_thread_index(expr: tirx.PrimExpr) -> bool:
    return isinstance(expr, tirx.Call) and str(getattr(expr.op, "name", "")).endswith("launch_thread_idx")


def _own_expressions(stmt: tirx.Stmt) -> list[tirx.PrimExpr]:
    if not isinstance(stmt, tirx.BufferStore | tirx.Evaluate | tirx.IfThenElse | tirx.For | tirx.Bind):
        return []
    if isinstance(stmt, tirx.BufferStore):
        return [stmt.value, *stmt.indices]
    if isinstance(stmt, tirx.IfThenElse):
        return [stmt.condition]
    if isinstance(stmt, tirx.For):
        return [stmt.min, stmt.extent]
    return [stmt.value]
