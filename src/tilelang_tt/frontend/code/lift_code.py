"""Lift a function to scalar code: every T.Kernel is one `Code` statement.

    before   for i in T.serial(n):
                 if A[i] > 0: T.atomic_add(count[0], 1)
    after    For i < n
               If A[i] > 0
                 Update add count[0] by 1

This is the way for kernels that the tile engines cannot carry out. TIR is translated statement by statement, threads
and barriers included. `run_threads_in_turn` then makes loops of the threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack
from functools import cached_property, partial

from tvm import tirx

from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.frontend.code.atomics import ATOMICS, atomic, atomic_value
from tilelang_tt.frontend.code.calls import BIT_VALUES, CALLS
from tilelang_tt.frontend.code.check_blocks_filled import check_blocks_filled
from tilelang_tt.frontend.code.check_places_inside import check_places_inside
from tilelang_tt.frontend.code.declarations import Declarations
from tilelang_tt.frontend.code.own_fragments import own_fragments
from tilelang_tt.frontend.code.products import PRODUCTS
from tilelang_tt.frontend.code.random.generator import Generator
from tilelang_tt.frontend.code.random.random_numbers import RANDOM_CALLS, RANDOM_VALUES
from tilelang_tt.frontend.code.tile_operations import TILE_OPERATIONS, ZERO
from tilelang_tt.frontend.code.values import WithNeeds, cast, refused_call, value, with_needs
from tilelang_tt.frontend.code.vectors import (
    WORD_LOADS,
    WORD_STORES,
    lane_count,
    lanes,
    loaded,
    named_lanes,
    store,
    stored,
)
from tilelang_tt.frontend.code.warps import WARP_VALUES
from tilelang_tt.frontend.known_operations import JUMPS
from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.frontend.refuse_gpu_code import HARMLESS, location_of, macro_note
from tilelang_tt.frontend.scope import name_of, numbered
from tilelang_tt.frontend.tir.expand_cp_async import expand_cp_async_of_threads
from tilelang_tt.frontend.tir.expand_row_copies import expand_row_copies
from tilelang_tt.frontend.tir.select_launches import KERNEL
from tilelang_tt.frontend.tir.sequence_warp_groups import sequence_warp_groups
from tilelang_tt.frontend.tir.with_all_launches import with_all_launches
from tilelang_tt.frontend.tir.with_plain_indices import with_plain_indices
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Memory
from tilelang_tt.ir.code import (
    Barrier,
    Code,
    CodeStmt,
    Constant,
    For,
    If,
    Jump,
    Let,
    Name,
    Op,
    Place,
    Put,
    Threads,
    Value,
    While,
)
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tile import Launch, TileProgram
from tilelang_tt.options import Options

_OPERATIONS = TILE_OPERATIONS | PRODUCTS | RANDOM_CALLS
_THREADS = (128, 1, 1)  # of T.Kernel(...) without `threads`, as TileLang has it
_BARRIERS = ("tirx.tvm_storage_sync", "tl.sync_warp")
_NOTHING = ("tirx.assume", "tl.assume", "tirx.likely", *HARMLESS)
Blocks = tuple[tuple[Var, Expr], ...]
ThreadAxes = dict[Var, tuple[int, int]]  # axis of a thread index, and its extent; 0: what T.Kernel says


def lift_code(func: tirx.PrimFunc, options: Options, why: str) -> TileProgram:
    """The function as scalar code, all of it; `why` it is not tiles."""
    func = expand_row_copies(with_plain_indices(with_all_launches(func)))
    for own_work in (False, True):
        func = sequence_warp_groups(func, own_work=own_work)
    return _Function(expand_cp_async_of_threads(func), options, why).program()


class _Function:
    def __init__(self, func: tirx.PrimFunc, options: Options, why: str) -> None:
        self.func, self.options, self.why = func, options, why
        self.declared = Declarations(func)

    def program(self) -> TileProgram:
        params = tuple(self.declared.param(index, var) for index, var in enumerate(self.func.params))
        launches = numbered(self.launches(self.func.body, (), {}))
        if not launches:
            raise UnsupportedError("TT103", f"function '{self.name}' has no T.Kernel", help="add one")
        tensors = self.declared.tensors.values()
        extents = [extent for tensor in tensors for extent in tensor.shape]
        extents += [extent for launch in launches for _, extent in launch.blocks]
        sizes = tuple(dict.fromkeys(var for extent in extents for var in scalar.variables(extent)))
        params += tuple(tensor for tensor in tensors if tensor.workspace)
        views = tuple(tensor for tensor in tensors if tensor not in params)
        return TileProgram(self.name, params, sizes, tuple(launches), self.options, views=views)

    @property
    def name(self) -> str:
        return name_of(self.func)

    def launches(self, stmt: tirx.Stmt, blocks: Blocks, threads: ThreadAxes) -> list[Launch]:
        """Every T.Kernel below a statement, in order."""
        match stmt:
            case tirx.SeqStmt() if blocks and not any(isinstance(part, tirx.SBlockRealize) for part in stmt.seq):
                return [self.launch(stmt, blocks, threads)]  # loops over threads without T.Kernel
            case tirx.SeqStmt():
                indices = {part.var: (int(part.value.args[0]), 0) for part in stmt.seq if _is_thread_index(part)}
                parts = [part for part in stmt.seq if not _is_thread_index(part)]
                return [one for part in parts for one in self.launches(part, blocks, threads | indices)]
            case tirx.For() if stmt.thread_binding is not None and _tag(stmt).startswith("blockIdx"):
                return self.launches(stmt.body, (*blocks, (stmt.loop_var, stmt.extent)), threads)
            case tirx.For() if stmt.thread_binding is not None and _tag(stmt).startswith("threadIdx"):
                axis = "xyz".index(_tag(stmt)[-1]), int(stmt.extent)
                return self.launches(stmt.body, blocks, threads | {stmt.loop_var: axis})
            case tirx.AttrStmt():
                return self.launches(stmt.body, blocks, threads)
            case tirx.SBlockRealize() if blocks or stmt.block.name_hint == KERNEL:
                return [self.launch(stmt, blocks, threads)]
            case tirx.SBlockRealize():
                for buffer in stmt.block.alloc_buffers:
                    self.declared.workspace(buffer)
                return self.launches(stmt.block.body, blocks, threads)
            case tirx.Evaluate() if not isinstance(stmt.value, tirx.Call) or operator(stmt.value) in _NOTHING:
                return []
            case tirx.AssertStmt():
                return []
            case _ if blocks:
                return [self.launch(stmt, blocks, threads)]
        raise UnsupportedError(
            "TT106",
            f"{type(stmt).__name__} outside a T.Kernel",
            location=location_of(stmt),
            help="move the statement into the T.Kernel block",
        )

    def launch(self, stmt: tirx.Stmt, blocks: Blocks, threads: ThreadAxes) -> Launch:
        declared, location = self.declared, location_of(stmt)
        declared.blocks, declared.views = {}, {}
        declared.grid, declared.record = blocks, None
        declared.own = own_fragments(stmt, threads)
        block = stmt.block if isinstance(stmt, tirx.SBlockRealize) else None
        given = block.annotations.get("tl.launch_threads", _THREADS) if block is not None else _THREADS
        in_order = sorted(threads.items(), key=lambda item: item[1])  # x, y, z
        axes = {var: extent or int(given[axis]) for var, (axis, extent) in in_order}
        code = check_places_inside(check_blocks_filled(lift_statement(declared, stmt, axes, self.why, location)))
        grid = tuple((var, scalar.simplify(extent)) for var, extent in blocks)
        taken = frozenset(tensor.name for tensor in declared.tensors.values())
        return Launch(self.name, grid, (), (code,), location, tensor_names=taken)


def lift_statement(
    declared: Declarations, stmt: tirx.Stmt, threads: dict[Var, int], why: str, location: Location | None
) -> Code:
    """A statement that every thread carries out, as scalar code."""
    lifter = CodeLifter(declared, threads, location)
    lifter.used = frozenset(scalar.variables(stmt))
    with ExitStack() as ranges:
        for var, extent in (*declared.grid, *((var, scalar.const(count)) for var, count in threads.items())):
            ranges.enter_context(declared.counting(var, scalar.const(0), extent))
        body = lifter.body(stmt)
    return Code(
        (Threads(tuple(threads.items()), (*lifter.first, *body), location),) if threads else body,
        tuple(block for block in dict.fromkeys(declared.blocks.values()) if block not in declared.views),
        tuple(declared.views.items()),
        why,
        location,
    )


class CodeLifter:
    """The statements of one launch, or of a piece of one."""

    def __init__(self, declared: Declarations, threads: dict[Var, int], location: Location | None) -> None:
        self.declared, self.threads, self.location = declared, threads, location
        self.names: dict[Var, Value] = {}
        self.pending: list[CodeStmt] = []
        self.newest: tirx.Bind | None = None  # the statement before this one, if it names a value
        self.reducer: tirx.CommReducer | None = None  # of the attribute around a reduction over threads
        self.random: Generator | None = None  # of each thread's random numbers
        self.used: frozenset[Var] = frozenset()  # variables that expressions name
        self.vectors: dict[Var, list[Value]] = {}  # names of vectors -> their lanes
        self.reducers: dict[Var, str] = {}  # data of a T.alloc_reducer -> how it combines
        self.shared = False  # inside a T.Parallel, whose rounds all threads share
        self.parted = False  # maybe not all threads get here: inside a branch, or behind where some end
        self.first: list[CodeStmt] = []  # what each thread begins with

    # --- what values need -------------------------------------------------------------------------

    def before(self, *stmts: CodeStmt) -> None:
        self.pending += stmts

    def chosen(self, test: Value, yes: WithNeeds, no: WithNeeds) -> Value:
        memory = Memory.FRAGMENT if self.shared else Memory.LOCAL
        place = Place(self.declared.temporary("chosen", yes[0].dtype, (1,), memory), (ZERO,))
        then, otherwise = ((*needed, Put(place, found, self.location)) for found, needed in (yes, no))
        self.before(If(test, then, otherwise, self.location))
        return place

    def element(self, buffer: tirx.Buffer, indices: list[tirx.PrimExpr]) -> Place:
        at = tuple(value(self, index) for index in indices)
        return self.declared.place(buffer, indices, at, self.location)

    @cached_property
    def special(self) -> dict[str, Callable[[tirx.Call], Value]]:
        exchanged = {name: partial(lift, self) for name, lift in (WARP_VALUES | BIT_VALUES | RANDOM_VALUES).items()}
        words = {name: lambda call: loaded(self, call, 1)[0] for name in WORD_LOADS}
        return {**{name: partial(atomic_value, self) for name in ATOMICS}, **exchanged, **words}

    def lanes(self, expr: tirx.PrimExpr) -> list[Value]:
        return lanes(self, expr)

    def value(self, expr: tirx.PrimExpr) -> Value:
        return value(self, expr)

    # --- statements -------------------------------------------------------------------------------

    def body(self, stmt: tirx.Stmt) -> tuple[CodeStmt, ...]:
        """A statement, and before it what its values need."""
        if isinstance(stmt, tirx.SeqStmt):
            return tuple(lifted for part in stmt.seq for lifted in self.body(part))
        around, outer = self.location, self.pending
        self.location, self.pending = location_of(stmt) or around, []
        lifted = self.statement(stmt)
        result = (*self.pending, *lifted)
        self.location, self.pending = around, outer
        self.newest = stmt if isinstance(stmt, tirx.Bind) else None
        return result

    def statement(self, stmt: tirx.Stmt) -> tuple[CodeStmt, ...]:
        location = self.location
        match stmt:
            case tirx.BufferStore():
                return self.store(stmt)
            case tirx.Bind():
                return self.bind(stmt)
            case tirx.For():
                return self.loop(stmt)
            case tirx.While():
                return self.repeated(stmt)
            case tirx.IfThenElse():
                return (self.branch(stmt),)
            case tirx.SBlockRealize():
                return self.block(stmt.block)
            case tirx.AttrStmt():
                return self.attribute(stmt)
            case tirx.Evaluate():
                return self.evaluate(stmt)
            case tirx.AllocBuffer():
                self.declared.allocate(stmt.buffer)
                return ()
            case tirx.AssertStmt() | tirx.DeclBuffer():
                return ()
        raise UnsupportedError(
            "TT111",
            f"{type(stmt).__name__} is not supported by this version",
            location=location,
            help="express it with loops, conditions and assignments",
        )

    def branch(self, stmt: tirx.IfThenElse) -> If:
        condition, around = self.value(stmt.condition), self.parted
        self.parted = True
        with self.declared.where(stmt.condition, holds=True):
            then = self.body(stmt.then_case)
        with self.declared.where(stmt.condition, holds=False):
            otherwise = self.body(stmt.else_case) if stmt.else_case is not None else ()
        self.parted = around or ends(then) or ends(otherwise)
        return If(condition, then, otherwise, self.location)

    def store(self, stmt: tirx.BufferStore) -> tuple[CodeStmt, ...]:
        if lane_count(stmt.value.dtype) > 1 or lane_count(stmt.buffer.dtype) > 1:
            return store(self, stmt)
        target = self.element(stmt.buffer, list(stmt.indices))
        return (Put(target, cast(self.value(stmt.value), target.dtype), self.location),)

    def bind(self, stmt: tirx.Bind) -> tuple[CodeStmt, ...]:
        if lane_count(stmt.var.dtype) == 1:
            self.declared.name(stmt.var, stmt.value)
            return (Let(stmt.var, self.value(stmt.value), self.location),)
        if stmt.var not in self.used:  # a name for a slice that tile operations take
            return ()
        named, self.vectors[stmt.var] = named_lanes(self, lanes(self, stmt.value))
        return named

    def attribute(self, stmt: tirx.AttrStmt) -> tuple[CodeStmt, ...]:
        if isinstance(stmt.node, tirx.IterVar) and str(stmt.node.thread_tag).startswith("threadIdx"):  # T.launch_thread
            self.names[stmt.node.var] = Name(self.thread_index(str(stmt.node.thread_tag)), "int32")
        around = self.reducer
        self.reducer = stmt.node if isinstance(stmt.node, tirx.CommReducer) else around
        body = self.body(stmt.body)
        self.reducer = around
        return body

    def repeated(self, stmt: tirx.While) -> tuple[CodeStmt, ...]:
        """A condition that needs statements is found inside of the loop, in every round."""
        condition, needed = with_needs(self, stmt.condition)
        body = self.body(stmt.body)
        if not needed:
            return (While(condition, body, self.location),)
        stop = If(Op("not", (condition,), "bool"), (Jump("break", self.location),), (), self.location)
        return (While(Constant(1, "bool"), (*needed, stop, *body), self.location),)

    def block(self, block: tirx.SBlock) -> tuple[CodeStmt, ...]:
        for buffer in block.alloc_buffers:
            self.declared.allocate(buffer)
        for key in ("reducer_info", "reducer_info_v2"):
            for data, facts in block.annotations.get(key, {}).items():
                self.reducers[data] = str(facts["op"])
        return self.body(block.body)

    def loop(self, stmt: tirx.For) -> tuple[CodeStmt, ...]:
        var, location = stmt.loop_var, self.location
        if stmt.thread_binding is not None:
            return (Let(var, Name(self.thread_index(_tag(stmt)), "int32"), location), *self.body(stmt.body))
        alone = math.prod(self.threads.values()) == 1  # one thread does every round, in order
        together = stmt.kind == tirx.ForKind.PARALLEL and not self.shared and not alone
        start, extent = self.value(stmt.min), self.value(stmt.extent)
        step = stmt.step if stmt.step is not None else scalar.const(1)
        with self.declared.counting(var, stmt.min, stmt.extent):
            around, self.shared = self.shared, self.shared or together
            body = self.body(stmt.body)
            self.shared = around
        if scalar.int_value(step) == 1:
            return (For(var, start, extent, body, together, location),)
        rounds = self.value(scalar.simplify(tirx.floordiv(stmt.extent + step - 1, step)))
        count = scalar.var(f"{var.name}_round")
        moved = Op("add", (start, Op("mul", (Name(count, "int32"), self.value(step)), "int32")), "int32")
        return (For(count, Constant(0, "int32"), rounds, (Let(var, moved, location), *body), together, location),)

    def thread_index(self, tag: str) -> Var:
        index = dict(zip("xyz", self.threads, strict=False)).get(tag[-1])
        if index is None:
            raise UnsupportedError("TT111", f"a loop bound to {tag}", location=self.location, help="use T.Kernel")
        return index

    def evaluate(self, stmt: tirx.Stmt) -> tuple[CodeStmt, ...]:
        call, location = stmt.value, self.location
        if not isinstance(call, tirx.Call):
            return ()
        op = operator(call)
        if op in _BARRIERS:
            return (Barrier(location, of_warp=op == "tl.sync_warp"),)
        if op in CALLS:
            return CALLS[op](self, call)
        if op in _NOTHING:
            return ()
        if op in JUMPS:
            return (Jump(JUMPS[op], location),)  # type: ignore[arg-type]
        if op in WORD_STORES:
            return stored(self, call)
        if op in ATOMICS:
            return atomic(self, call)
        if op in _OPERATIONS:
            return _OPERATIONS[op](self, call)
        refused = refused_call(op, location, macro_note(stmt))
        if refused is not None:
            raise refused
        raise UnsupportedError(
            "TT113",
            f"{op} is not supported by this version",
            location=location,
            notes=macro_note(stmt),
            help="`tilelang-tt help operations` lists what there is: combine some of it, or compute this on the host",
        )


def ends(body: tuple[CodeStmt, ...]) -> bool:
    """Whether threads may end, or leave a loop, in statements."""
    return any(isinstance(stmt, Jump) for stmt in walk(body))


def _is_thread_index(stmt: tirx.Stmt) -> bool:
    value = stmt.value if isinstance(stmt, tirx.Bind) else None
    return isinstance(value, tirx.Call) and operator(value).endswith("launch_thread_idx")


def _tag(loop: tirx.For) -> str:
    return str(loop.thread_binding.thread_tag)
