"""Engines: every setting that an operation needs is made on every path to it.

Only the finished kernel is examined: this file says for itself what each call sets and what each operation needs, and
does not know how `insert_engine_calls` placed the calls. Settings are kept by the part of the engines they belong to:

    srca, srcb    formats of the source registers          pack         format of the packer
    mode          what the matrix engine does next         accumulate   where the packer adds to L1
    sfpu          constants of the vector unit             lane         the one block of which one lane is packed
"""

from __future__ import annotations

from tilelang_tt.ir import engine, scalar
from tilelang_tt.ir.cb import Cb, CbCall
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.kernel import For, If, KernelSet, KernelStmt
from tilelang_tt.ir.layout import Role
from tilelang_tt.passes.f_verify.failure import fail

State = dict[str, object]  # part of the engines -> what it is surely set to

_PART = {engine.Unit.SRC_A: "srca", engine.Unit.SRC_B: "srcb", engine.Unit.PACK: "pack"}


def check_engines(kernels: KernelSet) -> None:
    body = kernels.kernel(Role.COMPUTE).body
    startups = [stmt for stmt in body if isinstance(stmt, engine.Startup)]
    if body and startups != [stmt for stmt in body if not isinstance(stmt, CbCall)][:1]:
        raise fail("TT960", "compute_kernel_hw_startup must come first, and once")
    final = _run(body, _after_startup(startups[0], body) if startups else {}, check=True)
    if body and not _same(final.get("accumulate"), scalar.false()):
        raise fail("TT961", "the packer is left accumulating")


# --- what is set ----------------------------------------------------------------------------------


def _source(cb: Cb) -> object:
    return cb.format, cb.unpack_to_dest


def _mode(mode: engine.Mode) -> object:
    """What the init of the matrix engine programs: it depends on formats, not on the buffers they come from."""
    match mode:
        case engine.MatmulMode():
            return "matmul", mode.a.format, mode.b.format, mode.transpose, mode.cols, mode.rows, mode.a_stride
        case engine.ReduceMode():
            return "reduce", mode.cb.format, mode.scaler.format, mode.out, mode.along_columns
        case engine.BinaryMode():
            return mode.instruction.init, mode.a.format, mode.b.format
        case engine.CopyMode() | engine.TransposeMode():
            return type(mode), _source(mode.cb)
        case engine.TransposeDstMode():
            return engine.TransposeDstMode


def _after_startup(startup: engine.Startup, body: tuple[KernelStmt, ...]) -> State:
    """Started in reversed order, for products, a kernel that also adds blocks knows nothing of its source formats."""
    state: State = {"pack": startup.out.format, "accumulate": scalar.false()}
    if startup.reverse and any(isinstance(stmt, engine.BinaryTiles) for stmt in walk(body)):
        return state
    first, second = (startup.b, startup.a) if startup.reverse else (startup.a, startup.b)
    return {**state, "srca": _source(first), "srcb": _source(second)}


def _after(stmt: KernelStmt, state: State) -> State:
    match stmt:
        case engine.Reconfig():
            part = _PART[stmt.unit]
            form = (lambda cb: cb.format) if stmt.unit is engine.Unit.PACK else _source
            if stmt.old is not None and state.get(part) != form(stmt.old):
                raise fail("TT962", f"{stmt.unit.value} names '{stmt.old.name}' as the old operand, which it is not")
            return {**state, part: form(stmt.new)}
        case engine.Uninit():
            return {part: setting for part, setting in state.items() if part not in ("mode", "lane")}
        case engine.Init(engine.SfpuMode() as mode):
            return {**state, "sfpu": mode.constants}
        case engine.Init(mode) if not isinstance(mode, engine.SfpuMode):
            if "lane" in state:
                raise fail("TT964", "a reduction is not undone before the engines are set to something else")
            return {**state, "mode": _mode(mode), **({"lane": mode.out} if isinstance(mode, engine.ReduceMode) else {})}
        case engine.L1Accumulate():
            return {**state, "accumulate": stmt.on}
    return state


# --- what is needed -------------------------------------------------------------------------------


def _needs(stmt: KernelStmt) -> State:
    match stmt:
        case engine.MatmulBlock():  # feeds its second operand through SrcA
            product = engine.MatmulMode(stmt.a, stmt.b, stmt.transpose, stmt.cols, stmt.rows, stmt.a_stride)
            return {"srca": _source(stmt.b), "srcb": _source(stmt.a), "mode": _mode(product)}
        case engine.ReduceTile():
            maxima = engine.ReduceMode(stmt.cb, stmt.scaler, stmt.out, stmt.along_columns)
            return {"srca": _source(stmt.cb), "srcb": _source(stmt.scaler), "mode": _mode(maxima)}
        case engine.BinaryTiles():
            binary = engine.BinaryMode(stmt.instruction, stmt.a, stmt.b)
            return {"srca": _source(stmt.a), "srcb": _source(stmt.b), "mode": _mode(binary)}
        case engine.CopyTile():
            return {"srca": _source(stmt.cb), "mode": _mode(engine.CopyMode(stmt.cb))}
        case engine.TransposeTile():
            return {"srca": _source(stmt.cb), "mode": _mode(engine.TransposeMode(stmt.cb))}
        case engine.TransposeDst():
            return {"mode": _mode(engine.TransposeDstMode())}
        case engine.FillTile():
            return {"sfpu": engine.FILL_MODE.constants}
        case engine.Sfpu():
            return {"sfpu": engine.mode_of(stmt).constants}
        case engine.PackTile():
            return {"pack": stmt.cb.format, "accumulate": scalar.negate(stmt.overwrite)}
    return {}


def _check(stmt: KernelStmt, state: State) -> None:
    if isinstance(stmt, engine.PackTile) and state.get("lane", stmt.cb) is not stmt.cb:
        raise fail("TT965", f"'{stmt.cb.name}' is packed while the packer keeps one lane only")
    for part, wanted in _needs(stmt).items():
        if part not in state or not _same(wanted, state[part]):
            raise fail("TT963", f"{type(stmt).__name__} runs with '{part}' not set for it")


# --- paths through the kernel ---------------------------------------------------------------------


def _run(body: tuple[KernelStmt, ...], state: State, *, check: bool) -> State:
    for stmt in body:
        if isinstance(stmt, For):
            state = _loop(stmt, state, check=check)
        elif isinstance(stmt, If):
            state = _meet(_run(stmt.then, state, check=check), _run(stmt.otherwise, state, check=check))
        else:
            state = _after(stmt, state)
            if check:
                _check(stmt, state)
    return state


def _loop(loop: For, state: State, *, check: bool) -> State:
    """A round starts as the loop was entered or as the round before ended: only what both agree on is known.

    That is known after one round: no call sets anything that depends on what was set before.
    """
    after = _run(loop.body, state, check=False)
    condition = after.get("accumulate")
    if scalar.is_expr(condition) and loop.var in scalar.variables(condition):
        after = {part: setting for part, setting in after.items() if part != "accumulate"}
    entry = _meet(state, after)
    if check:
        _run(loop.body, entry, check=True)
    return entry


def _meet(a: State, b: State) -> State:
    return {part: setting for part, setting in a.items() if part in b and _same(setting, b[part])}


def _same(a: object, b: object) -> bool:
    return scalar.same_form(a, b) if scalar.is_expr(a) and scalar.is_expr(b) else a == b
