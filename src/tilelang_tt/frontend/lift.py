"""Lift a TileLang function to a tile program; this package is the only code that walks TIR.

    before   for k in T.serial(16, annotations={"num_stages": 3}):
                 T.copy(T.region(A[by * 128, k * 64], 1, 128, 64), T.region(A_s[0, 0], 2, 128, 64))
    after    Loop k < 16 stages 3
                 Copy A[by * 128, k * 64 : 128 x 64] -> A_s

Meaning comes from operators, scopes, indices and loop kinds, never from names. This file walks functions, launches and
statements; `lift_tile_operations` lifts tile operations, `lift_parallel` T.Parallel, `scope` knows what was
declared. `tir/` holds the rewrites from TIR to TIR that run before.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm import tirx

from tilelang_tt.compiled import Decision
from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.frontend.code.lift_piece import lift_piece
from tilelang_tt.frontend.lift_data_conditions import Predicate, computed_cells, is_data, steering_cells, truth_of
from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.frontend.lift_parallel import lift_parallel
from tilelang_tt.frontend.lift_reducers import REDUCER_HINTS, REDUCER_OPERATIONS, declare_reducers
from tilelang_tt.frontend.lift_tile_operations import TILE_OPERATIONS
from tilelang_tt.frontend.refuse_gpu_code import (
    HARMLESS,
    is_piece,
    location_of,
    macro_note,
    refuse_gpu_code,
    thread_index,
)
from tilelang_tt.frontend.scope import Scope, name_of, numbered
from tilelang_tt.frontend.tir.cut_out_code import Piece
from tilelang_tt.frontend.tir.expand_any_of import expand_any_of
from tilelang_tt.frontend.tir.expand_cp_async import expand_cp_async
from tilelang_tt.frontend.tir.expand_row_copies import expand_row_copies
from tilelang_tt.frontend.tir.expand_slices import expand_slices
from tilelang_tt.frontend.tir.index_bits_to_arithmetic import index_bits_to_arithmetic
from tilelang_tt.frontend.tir.lets_to_variables import lets_to_variables
from tilelang_tt.frontend.tir.run_tilelang_passes import run_tilelang_passes
from tilelang_tt.frontend.tir.select_launches import KERNEL
from tilelang_tt.frontend.tir.sequence_warp_groups import IN_TEXT_ORDER, ROUND_BY_ROUND, sequence_warp_groups
from tilelang_tt.frontend.tir.with_all_launches import with_all_launches
from tilelang_tt.frontend.tir.with_plain_indices import with_plain_indices
from tilelang_tt.ir import scalar
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tile import (
    Branch,
    Fill,
    Launch,
    Loop,
    ScalarParam,
    Set,
    Stmt,
    TileProgram,
)
from tilelang_tt.options import Options

# Attributes and annotations that only tune GPU code: harmless, but the user is told.
_IGNORED_HINTS = {
    "threadblock_swizzle_pattern": "",  # T.use_swizzle: `asked_schedules`
    "layout_map": "T.annotate_layout ignored: tiles have one fixed layout in L1",
    "padding_map": "padding annotation ignored: tails are padded with zero tiles",
    "l2_hit_ratio_map": "T.annotate_l2_hit_ratio ignored: tensors lie in DRAM, there is no L2",
    "cluster_dims": "cluster_dims ignored: every core reads its own tiles",
    "tl.min_blocks_per_sm": "T.annotate_min_blocks_per_sm ignored: a core runs one block at a time",
    "tl.assume_requires_runtime_check": "T.assume ignored: nothing here depends on it",
    "tl.assume": "",  # T.assume, and what TileLang knows about shapes
    "tl.launch_threads": "",  # every T.Kernel has it
    IN_TEXT_ORDER: "barriers ignored: run in the order of the text, every wait finds its phase complete",
    ROUND_BY_ROUND: "barriers ignored: the loops of thread groups run round by round, and no wait is left",
}

# On TIR, in order: each leaves fewer forms to the next. What only a GPU can do is refused between the two.
FIRST_STEPS = (with_all_launches, with_plain_indices, expand_row_copies, sequence_warp_groups, expand_cp_async)
STEPS = (
    index_bits_to_arithmetic,
    expand_slices,
    lets_to_variables,
    run_tilelang_passes,
    expand_any_of,
)
_OPERATIONS_THERE_ARE = (
    "supported tile operations: T.copy, T.transpose, T.fill, T.clear, T.gemm, T.reduce_*, T.cumsum, T.Parallel; others "
    "are scalar code, which is on unless target option scalar_code=false"
)
_INSTEAD_OF = {
    "tirx.break_loop": "put what follows it in the loop under the opposite condition",
    "tirx.continue_loop": "put what follows it in the loop under the opposite condition",
}
_OPERATIONS = TILE_OPERATIONS | REDUCER_OPERATIONS


def lift(func: tirx.PrimFunc, options: Options, pieces: Sequence[tuple[Piece, str]] = ()) -> TileProgram:
    """The tile program of a function as the user wrote it; `pieces` were cut out of it, for the reasons beside them."""
    for step in FIRST_STEPS:
        func = step(func)
    refuse_gpu_code(func)
    for step in STEPS:
        func = step(func)
    return _Lifter(func, options, pieces).program()


class _Lifter:
    def __init__(self, func: tirx.PrimFunc, options: Options, pieces: Sequence[tuple[Piece, str]]) -> None:
        self.func = func
        self.options = options
        self.pieces = pieces
        self.scope = Scope(func, options)

    def program(self) -> TileProgram:
        params = tuple(self.scope.param(index, var) for index, var in enumerate(self.func.params))
        extents = [extent for tensor in self.scope.tensors.values() for extent in tensor.shape]
        sizes = dict.fromkeys(v for extent in extents + _grid_extents(self.func) for v in scalar.variables(extent))
        scalars = {param.var for param in params if isinstance(param, ScalarParam)}
        self.scope.signed = scalars - sizes.keys()
        launches = numbered(self.launches(self.func.body, ()))
        params += tuple(tensor for tensor in self.scope.tensors.values() if tensor.workspace)
        views = (*self.scope.tables.values(), *self.scope.tensor_views.values())
        if not launches:
            raise UnsupportedError(
                "TT103", f"function '{self.name}' has no T.Kernel", help="add one: with T.Kernel(...) as ..."
            )
        return TileProgram(
            self.name,
            params,
            tuple(sizes),
            tuple(launches),
            self.options,
            decisions=tuple(self.scope.decisions),
            views=tuple(view for view in views if view not in params),
        )

    @property
    def name(self) -> str:
        return name_of(self.func)

    def launches(self, stmt: tirx.Stmt, blocks: tuple[tuple[Var, Expr], ...]) -> list[Launch]:
        """Every T.Kernel below `stmt`, in order."""
        if isinstance(stmt, tirx.SeqStmt):
            return [launch for part in stmt.seq for launch in self.launches(part, blocks)]
        if isinstance(stmt, tirx.AttrStmt):
            if stmt.attr_key == "thread_extent":
                return self.launches(stmt.body, (*blocks, (stmt.node.var, stmt.value)))
            if str(stmt.attr_key) in _IGNORED_HINTS:
                self.hint(str(stmt.attr_key), location_of(stmt))
                return self.launches(stmt.body, blocks)
        if isinstance(stmt, tirx.SBlockRealize):
            if blocks or stmt.block.name_hint == KERNEL:
                return [self.launch(stmt, blocks)]
            for buffer in stmt.block.alloc_buffers:
                others = sum(tensor.workspace for tensor in self.scope.tensors.values())
                self.scope.workspace(len(self.func.params) + others, buffer)
            return self.launches(stmt.block.body, blocks)
        if isinstance(stmt, tirx.Evaluate) and not isinstance(stmt.value, tirx.Call):
            return []  # what an empty function consists of
        if isinstance(stmt, tirx.AssertStmt) and scalar.always(stmt.condition):
            return []  # asserts that sizes agree, which the call checks
        raise UnsupportedError(
            "TT106",
            f"{type(stmt).__name__} outside a T.Kernel",
            location=location_of(stmt),
            help="move the statement into the T.Kernel block",
        )

    def launch(self, stmt: tirx.Stmt, blocks: tuple[tuple[Var, Expr], ...]) -> Launch:
        block, location = stmt.block, location_of(stmt)
        self.scope.location = location
        self.scope.buffers, self.scope.views, self.scope.partly_written = {}, {}, {}
        self.scope.updated = set()
        self.scope.computed, self.scope.steering = computed_cells(block.body), steering_cells(block.body)
        body = self.block(block, location)
        zeros = (Fill(buffer, 0.0) for buffer in self.scope.partly_written)
        return Launch(
            self.name,
            tuple((var, scalar.simplify(extent)) for var, extent in blocks),
            tuple(buffer for buffer in dict.fromkeys(self.scope.buffers.values()) if buffer not in self.scope.views),
            (*zeros, *body),
            location,
            tensor_names=frozenset(tensor.name for tensor in self.scope.tensors.values()),
            views=self.scope.views,
            updated=frozenset(self.scope.updated),
        )

    def block(self, block: tirx.SBlock, location: Location | None) -> tuple[Stmt, ...]:
        """What a block of TIR allocates and annotates holds inside it."""
        around = self.scope.safe
        for buffer in block.alloc_buffers:
            self.scope.allocate(buffer)
        self.annotations(block, location)
        body = self.body(block.body)
        self.scope.safe = around
        return body

    def annotations(self, block: tirx.SBlock, location: Location | None) -> None:
        for key, value in block.annotations.items():
            if str(key) in REDUCER_HINTS:
                declare_reducers(self.scope, value, location)
            elif str(key) == "safe_value_map":
                self.scope.safe = self.scope.safe | self.scope.safe_values(value)
            else:
                self.hint(str(key), location)

    def hint(self, key: str, location: Location | None) -> None:
        if key not in _IGNORED_HINTS:
            raise UnsupportedError(
                "TT107",
                f"annotation '{key}' is not known to this backend",
                location=location,
                help="remove it",
            )
        if _IGNORED_HINTS[key]:
            self.scope.decisions.append(Decision("lift", key, _IGNORED_HINTS[key], location))

    # --- statements -------------------------------------------------------------------------------

    def body(self, stmt: tirx.Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, tirx.SeqStmt):
            return tuple(lifted for part in stmt.seq for lifted in self.body(part))
        around = self.scope.location
        self.scope.location = location = location_of(stmt) or around
        with self.scope.reads() as reads:
            result = self.located(stmt, location)
        self.scope.location = around
        return (*reads, *result)

    def located(self, stmt: tirx.Stmt, location: Location | None) -> tuple[Stmt, ...]:
        """A statement whose line, or the user's line around it, is known."""
        if isinstance(stmt, tirx.AttrStmt):
            self.hint(str(stmt.attr_key), location)
            return self.body(stmt.body)
        if isinstance(stmt, tirx.SBlockRealize):
            return self.block(stmt.block, location)
        if isinstance(stmt, tirx.For):
            return self.loop(stmt, location)
        if isinstance(stmt, tirx.IfThenElse):
            if is_data(self.scope, stmt.condition):
                return self.predicated(stmt, location)
            otherwise = self.body(stmt.else_case) if stmt.else_case is not None else ()
            return (Branch(self.scope.expr(stmt.condition, location), self.body(stmt.then_case), otherwise, location),)
        if isinstance(stmt, tirx.Evaluate):
            return self.evaluate(stmt, location)
        if isinstance(stmt, tirx.BufferStore) and stmt.buffer in self.scope.cells:
            return (Set(self.scope.cells[stmt.buffer], self.scope.expr(stmt.value, location), location),)
        if isinstance(stmt, tirx.BufferStore):
            return lift_parallel(self.scope, stmt, location)
        is_while = isinstance(stmt, tirx.While)
        raise UnsupportedError(
            "TT111",
            f"{'a while loop' if is_while else type(stmt).__name__} is not supported by this version",
            location=location,
            help="write T.serial over the largest possible number of rounds, with an if on the condition inside"
            if is_while
            else "express it with T.serial, T.Parallel and tile operations",
        )

    def predicated(self, stmt: tirx.Stmt, location: Location | None) -> tuple[Stmt, ...]:
        """A condition that compute alone can decide, element by element."""
        store, holds = truth_of(self.scope, stmt.condition, location)
        predicate = Predicate(self.scope, holds)
        then = predicate.under(self.body(stmt.then_case), when=True)
        otherwise = self.body(stmt.else_case) if stmt.else_case is not None else ()
        return (*lift_parallel(self.scope, store, location), *then, *predicate.under(otherwise, when=False))

    def loop(self, stmt: tirx.Stmt, location: Location | None) -> tuple[Stmt, ...]:
        if stmt.kind == tirx.ForKind.PARALLEL:
            return lift_parallel(self.scope, stmt, location)
        if stmt.kind == tirx.ForKind.THREAD_BINDING:
            raise thread_index(str(stmt.loop_var.name), location)
        stages = max(0, int(stmt.annotations.get("num_stages", 0)))
        with self.scope.loop(stmt, location) as extent:
            body = self.body(stmt.body)
        changing = {inner.var for inner in walk(body) if isinstance(inner, Set)}
        if changing.isdisjoint(scalar.variables(extent)):
            return (Loop(stmt.loop_var, extent, body, stages, location),)
        count = scalar.var(self.scope.unique(f"{stmt.loop_var.name}_rounds"))  # as many as there are at first
        self.scope.signed.add(count)
        return Set(count, extent, location), Loop(stmt.loop_var, count, body, stages, location)

    def evaluate(self, stmt: tirx.Stmt, location: Location | None) -> tuple[Stmt, ...]:
        call = stmt.value
        if not isinstance(call, tirx.Call):
            return ()  # a bare value does nothing
        if is_piece(call):
            piece, why = self.pieces[int(call.args[1])]
            numbers = [self.scope.expr(arg, location) for arg in call.args[2:]]
            return (lift_piece(self.scope, piece, numbers, why),)
        op = operator(call)
        if op in HARMLESS:
            self.scope.leave_out(op, location)
            return ()
        if op in _OPERATIONS:
            return _OPERATIONS[op](self.scope, call, location)
        raise UnsupportedError(
            "TT113",
            f"{op} is not supported by this version",
            location=location,
            notes=macro_note(stmt),
            help=_INSTEAD_OF.get(op, _OPERATIONS_THERE_ARE),
        )


def _grid_extents(func: tirx.PrimFunc) -> list[Expr]:
    """Grid extents of every T.Kernel. Integers that the caller passes for them are sizes, like those of tensors."""
    attributes = scalar.nodes(func.body, tirx.AttrStmt)
    return [node.value for node in attributes if node.attr_key == "thread_extent"]
