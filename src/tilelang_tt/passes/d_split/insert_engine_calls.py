"""D: program the engines before each operation that needs it, and nowhere else, and hand DST from computing to packing.

    before   unit: for k: ... matmul_block A, B ... pack C        for t: ... copy C ... pack C_out
    after    startup ; unit: reconfig srca B ; matmul_block_init ; reconfig pack C_out -> C ;
             for k: l1_acc(k != 0) ; ...
             reconfig srca B -> C ; copy init ; reconfig pack C -> C_out ; l1_acc(0) ; for t: ...

The engines keep state: what the unpackers and the matrix unit are set up for (`mode`), the data formats of both
source registers and of the packer, whether the packer adds to L1, and the constants of the SFPU. Walking the kernel,
a statement that needs another state than the current one gets the call that makes it. What a loop needs first and
leaves as it was is set before the loop; a state that differs between the paths to a statement counts as unknown.

    before   section { matmul_block ... } { pack_tile ... }
    after    acquire ; matmul_block ... ; commit ; wait ; pack_tile ... ; release

Two inits of the vector unit are kept in different basic blocks (`separate_vector_inits`).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields, replace
from typing import Any

from tilelang_tt.ir import engine, scalar
from tilelang_tt.ir.cb import Cb
from tilelang_tt.ir.fields import children, walk
from tilelang_tt.ir.kernel import For, If, KernelSet, KernelStmt
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.passes.d_split.separate_vector_inits import separate_vector_inits


@dataclass(frozen=True)
class EngineState:
    """What the engines are set to; None: unknown, or not needed."""

    srca: Cb | None = None
    srcb: Cb | None = None
    mode: engine.Mode | None = None
    pack: Cb | None = None
    accumulate: Expr | None = None
    adds_to: int | None = None  # buffer that the packer always adds to: accumulation is switched on for one at a time
    sfpu: engine.SfpuMode | None = None


_ANOTHER = -1  # what is added to may be any buffer
COMPONENTS = tuple(field.name for field in fields(EngineState))


def needs(stmt: KernelStmt) -> EngineState:
    """The state a leaf statement needs."""
    if isinstance(stmt, engine.MatmulBlock):
        product = engine.MatmulMode(stmt.a, stmt.b, stmt.transpose, stmt.cols, stmt.rows, stmt.a_stride)
        return EngineState(srca=stmt.b, srcb=stmt.a, mode=product)  # matmul feeds its second operand through SrcA
    if isinstance(stmt, engine.ReduceTile):
        maxima = engine.ReduceMode(stmt.cb, stmt.scaler, stmt.out, stmt.along_columns)
        return EngineState(srca=stmt.cb, srcb=stmt.scaler, mode=maxima)
    if isinstance(stmt, engine.BinaryTiles):
        return EngineState(srca=stmt.a, srcb=stmt.b, mode=engine.BinaryMode(stmt.instruction, stmt.a, stmt.b))
    if isinstance(stmt, engine.CopyTile):
        return EngineState(srca=stmt.cb, mode=engine.CopyMode(stmt.cb))
    if isinstance(stmt, engine.TransposeTile):
        return EngineState(srca=stmt.cb, mode=engine.TransposeMode(stmt.cb))
    if isinstance(stmt, engine.TransposeDst):
        return EngineState(mode=engine.TransposeDstMode())
    if isinstance(stmt, engine.FillTile):
        return EngineState(sfpu=engine.FILL_MODE)
    if isinstance(stmt, engine.Sfpu):
        return EngineState(sfpu=engine.mode_of(stmt))
    if isinstance(stmt, engine.PackTile):
        adds = scalar.int_value(stmt.overwrite) == 0
        return EngineState(pack=stmt.cb, accumulate=scalar.negate(stmt.overwrite), adds_to=stmt.cb.id if adds else None)
    return EngineState()


def insert_engine_calls(kernels: KernelSet) -> KernelSet:
    body, insertion = kernels.kernel(Role.COMPUTE).body, _Insertion()
    first = insertion.first_needs(body)
    if first == EngineState():
        return kernels
    unit = body[-1].body if isinstance(body[-1], For) else body
    startup = _startup(body, first, insertion.insert(unit, EngineState())[1])
    result, final = insertion.insert(body, after_startup(startup, body))
    if not same_setting("accumulate", final.accumulate, scalar.false()):
        result = (*result, engine.L1Accumulate(scalar.false()))  # leave the packer as it was found
    return kernels.with_body(Role.COMPUTE, separate_vector_inits((startup, *result)))


def _handing_over(math: tuple[KernelStmt, ...], pack: tuple[KernelStmt, ...]) -> tuple[KernelStmt, ...]:
    """The DST protocol around a section."""
    acquire, commit, wait, release = map(engine.DstCall, engine.DstKind)
    return (acquire, *math, commit, wait, *pack, release)


def after_startup(startup: engine.Startup, body: tuple[KernelStmt, ...]) -> EngineState:
    """What the startup sets. Its order of operands suits products or sums, not both: then each sets its own."""
    srca, srcb = (startup.b, startup.a) if startup.reverse else (startup.a, startup.b)
    state = EngineState(srca=srca, srcb=srcb, pack=startup.out, accumulate=scalar.false())
    mixed = startup.reverse and any(isinstance(stmt, engine.BinaryTiles) for stmt in walk(body))
    return replace(state, srca=None, srcb=None) if mixed else state


def _startup(body: tuple[KernelStmt, ...], first: EngineState, final: EngineState) -> engine.Startup:
    """Start with the operands of the first operation, and the packer as the persistent loop leaves it.

    In the order of products if there is one anywhere: it may find its formats set and program them no more.
    """
    out = final.pack or first.pack
    assert out is not None
    reverse = any(isinstance(stmt, engine.MatmulBlock) for stmt in walk(body))
    if isinstance(first.mode, engine.ReduceMode):
        a, b = (first.mode.scaler, first.mode.cb) if reverse else (first.mode.cb, first.mode.scaler)
        return engine.Startup(a, b, out, reverse)
    if isinstance(first.mode, engine.MatmulMode):
        return engine.Startup(first.mode.a, first.mode.b, out, reverse=True)
    if isinstance(first.mode, engine.BinaryMode):
        return engine.Startup(first.mode.a, first.mode.b, out, reverse)
    operand = first.srca or out
    return engine.Startup(operand, operand, out, reverse=False)


# --- comparing and changing states ----------------------------------------------------------------


def _key(component: str, value: object) -> Hashable:
    """What makes two values of a component the same setting."""
    if isinstance(value, int):
        return value
    if isinstance(value, Cb):
        return value.format if component == "pack" else (value.format, value.unpack_to_dest)
    if isinstance(value, engine.CopyMode | engine.TransposeMode):
        return (type(value).__name__, value.cb.format, value.cb.unpack_to_dest)
    if isinstance(value, engine.MatmulMode):
        return (value.a.format, value.b.format, value.transpose, value.cols, value.rows, value.a_stride)
    if isinstance(value, engine.ReduceMode):
        return ("reduce", value.cb.format, value.scaler.format, value.out.format, value.along_columns)
    if isinstance(value, engine.BinaryMode):
        return (value.instruction.init, value.a.format, value.b.format)
    if isinstance(value, engine.TransposeDstMode):
        return type(value).__name__
    if isinstance(value, engine.SfpuMode):
        return value.constants
    return None


def same_setting(component: str, a: object, b: object) -> bool:
    if a is b or a is None or b is None:
        return a is b
    if scalar.is_expr(a) and scalar.is_expr(b):
        return scalar.same_form(a, b)
    return _key(component, a) == _key(component, b)


def _change(state: EngineState, need: EngineState) -> tuple[list[KernelStmt], EngineState]:
    """Calls that bring `state` to `need`, and the state afterwards."""
    calls: list[KernelStmt] = []
    changed: dict[str, Any] = {}
    for component in COMPONENTS:
        old, new = getattr(state, component), getattr(need, component)
        if new is None or same_setting(component, old, new):
            continue
        changed[component] = new
        if component in _UNITS:
            calls.append(engine.Reconfig(_UNITS[component], old, new))
        elif component == "accumulate":
            calls.append(engine.L1Accumulate(new))
        elif component == "adds_to":
            again = old is not None and "accumulate" not in changed and _adds(need.accumulate)
            calls += [engine.L1Accumulate(scalar.true())] if again else []
        else:
            calls.append(engine.Init(new))
    return calls, replace(state, **changed)


def _adds(accumulate: Expr | None) -> bool:
    return accumulate is not None and scalar.int_value(accumulate) == 1


_UNITS = {"srca": engine.Unit.SRC_A, "srcb": engine.Unit.SRC_B, "pack": engine.Unit.PACK}


def meet(a: EngineState, b: EngineState) -> EngineState:
    """What is known where two paths join."""
    return EngineState(
        **{c: getattr(a, c) if same_setting(c, getattr(a, c), getattr(b, c)) else _unknown(c) for c in COMPONENTS}
    )


def _unknown(component: str) -> Any:
    return _ANOTHER if component == "adds_to" else None


# --- walking --------------------------------------------------------------------------------------


class _Insertion:
    """Loops are walked twice, and the loops in them each time: what was found about a list of statements is kept."""

    def __init__(self) -> None:
        self.known_needs: dict[int, EngineState] = {}  # by identity of a statement, or of a list of them
        self.sure_of: dict[int, tuple[KernelStmt, ...]] = {}  # kept, so that identities do
        self.done: dict[tuple[int, ...], tuple[EngineState, tuple[KernelStmt, ...], EngineState]] = {}

    def needs(self, stmt: KernelStmt) -> EngineState:
        if id(stmt) not in self.known_needs:
            self.known_needs[id(stmt)] = needs(stmt)
        return self.known_needs[id(stmt)]

    def first_needs(self, body: tuple[KernelStmt, ...]) -> EngineState:
        """For each component, what the first statement that needs it wants."""
        if id(body) not in self.known_needs:
            first = EngineState()
            for stmt in body:
                nested = (*self.sure(stmt), *children(stmt))
                for need in map(self.first_needs, nested) if nested else (self.needs(stmt),):
                    first = _completed(first, need)
            self.known_needs[id(body)] = first
        return self.known_needs[id(body)]

    def use_needs(self, use: engine.DstUse) -> EngineState:
        """What is set up before a use of DST."""
        first = EngineState()
        for part in (*self.sure(use), use.math, use.pack):
            first = _completed(first, self.first_needs(part))
        return first

    def sure(self, use: KernelStmt) -> tuple[tuple[KernelStmt, ...], ...]:
        """What a use of DST computes in any case, where it may start from a block: the engines are set up for that."""
        if not isinstance(use, engine.DstUse) or not any(isinstance(stmt, If) for stmt in use.math):
            return ()
        if id(use) not in self.sure_of:
            self.sure_of[id(use)] = tuple(stmt for stmt in use.math if not isinstance(stmt, If))
        return (self.sure_of[id(use)],)

    def insert(self, body: tuple[KernelStmt, ...], state: EngineState) -> tuple[tuple[KernelStmt, ...], EngineState]:
        """The statements with the calls they need, and the state they leave."""
        first = self.first_needs(body)
        touched = [c for c in COMPONENTS if c == "mode" or getattr(first, c) is not None]
        key = (id(body), *(id(getattr(state, c)) for c in touched))
        if key not in self.done:
            self.done[key] = (state, *self.inserted(body, state))  # the state stays, so that identities do
        _, result, after = self.done[key]
        return result, replace(state, **{c: getattr(after, c) for c in touched})

    def inserted(self, body: tuple[KernelStmt, ...], state: EngineState) -> tuple[tuple[KernelStmt, ...], EngineState]:
        result: list[KernelStmt] = []
        for stmt in body:
            if isinstance(stmt, For):
                calls, new, state = self.loop(stmt, state)
                result += [*calls, new]
            elif isinstance(stmt, If):
                then, after_then = self.insert(stmt.then, state)
                otherwise, after_else = self.insert(stmt.otherwise, state)
                result.append(If(stmt.condition, then, otherwise))
                state = meet(after_then, after_else)
            elif isinstance(stmt, engine.DstUse):
                calls, state = _change(state, self.use_needs(stmt))
                math, state = self.math(stmt.math, state)
                pack, state = self.insert(stmt.pack, state)
                result += [*calls, *_handing_over(math, pack)]
            elif isinstance(stmt, engine.Uninit):
                state = replace(state, mode=None)
                result.append(stmt)
            else:
                calls, state = _change(state, self.needs(stmt))
                result += [*calls, stmt]
        return tuple(result), state

    def math(self, body: tuple[KernelStmt, ...], state: EngineState) -> tuple[tuple[KernelStmt, ...], EngineState]:
        """What is computed in DST. Arms that load what it may start from leave the engines as they were."""
        if not any(isinstance(stmt, If) for stmt in body):
            return self.insert(body, state)
        result: list[KernelStmt] = []
        for stmt in body:
            if isinstance(stmt, If):
                arms = (self.insert(arm, state) for arm in children(stmt))
                then, otherwise = ((*arm, *_change(after, state)[0]) for arm, after in arms)
                result.append(If(stmt.condition, then, otherwise))
            else:
                done, state = self.inserted((stmt,), state)
                result += done
        return tuple(result), state

    def loop(self, loop: For, state: EngineState) -> tuple[list[KernelStmt], For, EngineState]:
        """Set before the loop what it needs first and leaves as it was; forget what changes inside."""
        first = self.first_needs(loop.body)
        usable = {c: v for c in COMPONENTS if (v := getattr(first, c)) is not None and not _uses(v, loop)}
        exit_state = self.insert(loop.body, replace(state, **usable))[1]
        kept = {c: v for c, v in usable.items() if same_setting(c, v, getattr(exit_state, c))}
        if not _adds(kept.get("accumulate")):
            kept.pop("adds_to", None)  # of a later tile than the first one that is packed
        calls, entry = _change(state, EngineState(**kept))
        changed = [c for c in COMPONENTS if not same_setting(c, getattr(entry, c), getattr(exit_state, c))]
        unknown = {c: _unknown(c) for c in changed if c not in kept}
        body, after = self.insert(loop.body, replace(entry, **unknown))
        if after.accumulate is not None and _uses(after.accumulate, loop):
            after = replace(after, accumulate=None)
        return calls, replace(loop, body=body), meet(after, replace(entry, **unknown)) if unknown else after


def _completed(state: EngineState, other: EngineState) -> EngineState:
    """A state with what it lacks from another one."""
    lacking = [c for c in COMPONENTS if getattr(state, c) is None and getattr(other, c) is not None]
    return replace(state, **{c: getattr(other, c) for c in lacking}) if lacking else state


def _uses(value: object, loop: For) -> bool:
    """Whether a setting depends on the loop's own variable."""
    if not scalar.is_expr(value):
        return False
    inner = {stmt.var for stmt in walk(loop.body) if isinstance(stmt, For)} | {loop.var}
    return any(variable in inner for variable in scalar.variables(value))
