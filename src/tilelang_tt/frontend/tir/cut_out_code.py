"""Cut statements that the tile engines refuse out of a T.Kernel; tensors hand blocks over to them, and back.

    before   T.gemm(a, b, c)                              after   T.gemm(a, b, c)
             while ...: d[...] = c[...]                           T.copy(c, c_handed[bx, :, :])
             T.copy(d, D[bx * 32, 0])                             piece 0
                                                                  T.copy(d_handed[bx, :, :], d)
                                                                  T.copy(d, D[bx * 32, 0])

    piece 0  T.copy(c_handed[bx, :, :], c)
             while ...: d[...] = c[...]
             T.copy(d, d_handed[bx, :, :])

A piece is scalar code among tile operations. Numbers that it needs, block indices and variables of loops, are arguments
of the call that stands in its place. A loop goes with it if nothing else in it is work for the tile engines; so does
everything behind a name that is cut out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from tvm import ir, tirx

from tilelang_tt.diagnostics import Location
from tilelang_tt.frontend.known_operations import JUMPS
from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.frontend.refuse_gpu_code import PIECE, location_of, statements
from tilelang_tt.frontend.tir.kept_blocks import LOAD, any_node, mentions, moved, overwrites
from tilelang_tt.frontend.tir.select_launches import KERNEL, launches_of
from tilelang_tt.frontend.tir.warp_groups.build import BARRIER_OPERATIONS, GROUP
from tilelang_tt.ir import scalar
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.tilelang_hooks import get_stmt_span, stamp_stmt_spans

_HANDED = ("shared", "shared.dyn", "local.fragment")
_POINTERS = ("tl.access_ptr", "tirx.tvm_access_ptr", "tirx.address_of")
KINDS = [
    f"tirx.{kind}"
    for kind in ("For", "While", "IfThenElse", "Evaluate", "BufferStore", "Bind", "SBlockRealize", "AttrStmt")
]


class CannotCutError(Exception):
    """A launch is scalar code as a whole, or not at all."""


@dataclass(frozen=True)
class Piece:
    body: tirx.Stmt
    inputs: tuple[Var, ...]  # numbers of the program
    blocks: tuple[tirx.Buffer, ...]  # that are not declared inside
    threads: tuple[tuple[Var, int], ...]
    grid: tuple[tuple[Var, Expr], ...]
    launch: int
    lines: frozenset[Location]
    location: Location | None


def cut_out_code(
    func: tirx.PrimFunc, cuts: Mapping[int, Collection[Location]]
) -> tuple[tirx.PrimFunc, tuple[Piece, ...]]:
    """`cuts`: the number of a launch, and the lines of statements in it."""
    pieces: list[Piece] = []
    for number, lines in cuts.items():
        func = Cut(func, number, lines, pieces).func()
    return func, tuple(pieces)


class Cut:
    """Pieces of one launch."""

    def __init__(self, func: tirx.PrimFunc, number: int, lines: Collection[Location], pieces: list[Piece]) -> None:
        self.before, self.number, self.lines, self.pieces = func, number, lines, pieces
        self.grid: list[tuple[Var, Expr]] = []
        self.threads: list[Var] = []  # x, y, z
        self.kernel = self.inside(list(launches_of(func.body))[number])
        if any_node(self.kernel.body, _is_of_groups):
            raise CannotCutError("thread groups meet in it")
        self.runs = list(self.wanted_runs(self.kernel.body))
        self.handed: dict[tirx.Buffer, tirx.Buffer] = {}  # block -> the tensor that hands it over
        self.taken: list[tirx.Buffer] = []  # blocks that only a piece uses

    def func(self) -> tirx.PrimFunc:
        if not self.runs or not isinstance(self.before.body, tirx.SBlockRealize):
            raise CannotCutError("no statement has this line")
        calls = [(run, self.call(run)) for run in self.runs]

        def replaced(stmt: tirx.Stmt) -> tirx.Stmt | None:
            for run, call in calls:
                if any(map(stmt.same_as, run)):
                    return call if stmt.same_as(run[0]) else tirx.Evaluate(scalar.const(0))
            return None

        body = tirx.stmt_functor.ir_transform(self.before.body, replaced, None, KINDS)
        return self.before.with_body(tirx.stmt_functor.ir_transform(body, None, self.declared, ["tirx.SBlock"]))

    def inside(self, stmt: tirx.Stmt) -> tirx.SBlock:
        """The block of TIR that holds what stands in the T.Kernel."""
        if isinstance(stmt, tirx.For) and stmt.thread_binding is not None:
            self.grid.append((stmt.loop_var, stmt.extent))
            return self.inside(stmt.body)
        if isinstance(stmt, tirx.SeqStmt):
            *before, last = stmt.seq
            self.threads += [part.var for part in before if isinstance(part, tirx.Bind)]
            return self.inside(last)
        if isinstance(stmt, tirx.SBlockRealize) and stmt.block.name_hint == KERNEL:
            return stmt.block
        raise CannotCutError("it is no plain T.Kernel")

    # --- which statements -------------------------------------------------------------------------

    def wanted_runs(self, stmt: tirx.Stmt) -> Iterator[list[tirx.Stmt]]:
        """Neighbours that are cut out together."""
        run: list[tirx.Stmt] = []
        parts = list(stmt.seq) if isinstance(stmt, tirx.SeqStmt) else [stmt]
        for place, part in enumerate(parts):
            if self.is_wanted(part) and isinstance(part, tirx.Bind):
                yield [*run, *parts[place:]]
                return
            if self.is_wanted(part):
                run.append(part)
                continue
            if run:
                yield run
            run = []
            for nested in _nested(part):
                yield from self.wanted_runs(nested)
        if run:
            yield run

    def is_wanted(self, stmt: tirx.Stmt) -> bool:
        if location_of(stmt) in self.lines and not isinstance(stmt, tirx.SeqStmt):
            return True
        if not any(location in self.lines for _, location in statements(stmt, None)):
            return False
        return not _nested(stmt) or not self.has_tiles(stmt)

    def has_tiles(self, stmt: tirx.Stmt) -> bool:
        """Whether a statement has work for the tile engines beside what is wanted."""
        if isinstance(stmt, tirx.Evaluate) or (isinstance(stmt, tirx.For) and stmt.kind == tirx.ForKind.PARALLEL):
            call = stmt.value if isinstance(stmt, tirx.Evaluate) else None
            works = call is None or (isinstance(call, tirx.Call) and operator(call).startswith("tl.tileop"))
            return works and not self.is_wanted(stmt)
        parts = list(stmt.seq) if isinstance(stmt, tirx.SeqStmt) else _nested(stmt)
        return any(map(self.has_tiles, parts))

    # --- what becomes of them ---------------------------------------------------------------------

    def call(self, run: list[tirx.Stmt]) -> tirx.Stmt:
        """The statements in place of a run; the run becomes a piece."""
        if any(mentions(run, var) for var in self.threads):
            raise CannotCutError("it uses a thread index")
        if any(map(_leaves, run)):
            raise CannotCutError("it leaves what is around it")
        rest = self.without(run)
        run, numbers = self.with_numbers(run, rest)
        owners = [var for var, _ in self.grid]
        used = [buffer for buffer in _allocated(self.kernel) if mentions(run, buffer.data)]
        inner = [buffer for stmt in run for buffer in _allocated(stmt)]
        blocks = [buffer for buffer in used if not any(map(buffer.same_as, inner))]
        before, first, last, behind = [], [], [], []
        for buffer in blocks:
            if not mentions(rest, buffer.data):
                if not _is_fresh(run, buffer):
                    raise CannotCutError(f"'{buffer.name}' may keep what an earlier round left there")
                self.taken.append(buffer)
                continue
            tensor = self.tensor(buffer)
            if _changed(rest, buffer) and not overwrites(run, buffer):
                before.append(moved(buffer, tensor, owners, load=False))
                first.append(moved(buffer, tensor, owners, load=True))
            if _changed(run, buffer):
                last.append(moved(buffer, tensor, owners, load=False))
                behind.append(moved(buffer, tensor, owners, load=True))
        body = tirx.SeqStmt([*first, *run, *last]) if first or last or len(run) > 1 else run[0]
        call = self.piece(body, blocks, run, numbers)
        result = tirx.SeqStmt([*before, call, *behind]) if before or behind else call
        stamp_stmt_spans(result, get_stmt_span(run[0]))
        return result

    def with_numbers(
        self, run: list[tirx.Stmt], rest: list[tirx.Stmt]
    ) -> tuple[list[tirx.Stmt], dict[Var, tirx.PrimExpr]]:
        """A run in which variables that only others change are numbers, which it gets when it begins."""
        read = [
            buffer
            for buffer in _allocated(self.kernel)
            if str(buffer.scope()) == "local.var" and mentions(run, buffer.data) and mentions(rest, buffer.data)
            if not _changed(run, buffer)
            and not any(inner.same_as(buffer) for stmt in run for inner in _allocated(stmt))
        ]
        names = {buffer: tirx.Var(buffer.name, buffer.dtype) for buffer in read}

        def number(node: tirx.BufferLoad) -> tirx.PrimExpr | None:
            return next((name for buffer, name in names.items() if node.buffer.same_as(buffer)), None)

        if names:
            run = [tirx.stmt_functor.ir_transform(stmt, None, number, ["tirx.BufferLoad"]) for stmt in run]
        return run, {name: tirx.BufferLoad(buffer, [scalar.const(0)]) for buffer, name in names.items()}

    def piece(
        self,
        body: tirx.Stmt,
        blocks: list[tirx.Buffer],
        run: list[tirx.Stmt],
        numbers: Mapping[Var, tirx.PrimExpr],
    ) -> tirx.Stmt:
        stamp_stmt_spans(body, get_stmt_span(run[0]))
        free = [var for var in tirx.analysis.undefined_vars(body, []) if str(var.dtype) != "handle"]
        counts = self.kernel.annotations.get("tl.launch_threads", ())
        threads = tuple((var, int(count)) for var, count in zip(self.threads, counts, strict=False))
        lines = frozenset(line for stmt in run for _, line in statements(stmt, None) if line is not None)
        facts = (tuple(free), tuple(blocks), threads, tuple(self.grid))
        self.pieces.append(Piece(body, *facts, self.number, lines, location_of(run[0])))
        given = [numbers.get(var, var) for var in free]
        args = [tirx.StringImm(PIECE), scalar.const(len(self.pieces) - 1), *given]
        return tirx.Evaluate(tirx.Call("handle", ir.Op.get("tirx.call_extern"), args))

    def tensor(self, buffer: tirx.Buffer) -> tirx.Buffer:
        if str(buffer.scope()) not in _HANDED:
            raise CannotCutError(f"'{buffer.name}' belongs to threads")
        if buffer not in self.handed:
            shape = [*(scalar.simplify(extent) for _, extent in self.grid), *buffer.shape]
            self.handed[buffer] = tirx.decl_buffer(shape, buffer.dtype, f"{buffer.name}_handed")
        return self.handed[buffer]

    def without(self, run: list[tirx.Stmt]) -> list[tirx.Stmt]:
        """What stands in the T.Kernel beside a run."""

        def left_out(stmt: tirx.Stmt) -> tirx.Stmt | None:
            return tirx.Evaluate(scalar.const(0)) if any(map(stmt.same_as, run)) else None

        return [tirx.stmt_functor.ir_transform(self.kernel.body, left_out, None, KINDS)]

    def declared(self, block: tirx.SBlock) -> tirx.SBlock | None:
        """The outermost block with the tensors; others without what only pieces use."""
        root = block.name_hint == self.before.body.block.name_hint
        kept = [buffer for buffer in block.alloc_buffers if not any(map(buffer.same_as, self.taken))]
        kept += list(self.handed.values()) if root else []
        if len(kept) == len(block.alloc_buffers) and not (root and self.handed):
            return None
        around = (block.iter_vars, block.reads, block.writes, block.name_hint)
        result = tirx.SBlock(*around, block.body, block.init, kept, block.match_buffers, block.annotations)
        stamp_stmt_spans(result, get_stmt_span(block))
        return result


def _nested(stmt: tirx.Stmt) -> list[tirx.Stmt]:
    """Statements that may be cut out of another one."""
    match stmt:
        case tirx.For() if stmt.kind != tirx.ForKind.PARALLEL:
            return [stmt.body]
        case tirx.AttrStmt():
            return [stmt.body]
        case tirx.SBlockRealize():
            return [stmt.block.body]
        case tirx.IfThenElse():
            return [stmt.then_case, *([stmt.else_case] if stmt.else_case is not None else [])]
        case tirx.SeqStmt():
            return list(stmt.seq)
    return []


def _is_of_groups(node: object) -> bool:
    if isinstance(node, tirx.AttrStmt):
        return str(node.attr_key) == GROUP
    return isinstance(node, tirx.Call) and operator(node) in BARRIER_OPERATIONS


def _has(stmt: tirx.Stmt, operators: tuple[str, ...]) -> bool:
    return any_node(stmt, lambda node: isinstance(node, tirx.Call) and operator(node) in operators)


def _leaves(stmt: tirx.Stmt) -> bool:
    """Whether a statement may leave a loop around it, or end the block of the grid."""
    if isinstance(stmt, tirx.For | tirx.While):
        return _has(stmt, ("tirx.thread_return",))
    inner = _nested(stmt)
    return any(map(_leaves, inner)) if inner else _has(stmt, tuple(JUMPS))


def _allocated(node: tirx.SBlock | tirx.Stmt) -> list[tirx.Buffer]:
    """Blocks that are declared in a block of TIR, or in a statement."""
    found = list(node.alloc_buffers) if isinstance(node, tirx.SBlock) else []
    stmt = node.body if isinstance(node, tirx.SBlock) else node
    for inner, _ in statements(stmt, None):
        if isinstance(inner, tirx.SBlock):
            found += inner.alloc_buffers
        if isinstance(inner, tirx.AllocBuffer):
            found.append(inner.buffer)
    return found


def _is_fresh(stmts: list[tirx.Stmt], buffer: tirx.Buffer) -> bool:
    """Whether what a variable held before is not asked for; a block in L1 may keep it."""
    if any(scalar.int_value(extent) != 1 for extent in buffer.shape):
        return True
    parts = [part for stmt in stmts for part in (stmt.seq if isinstance(stmt, tirx.SeqStmt) else [stmt])]
    using = [part for part in parts if mentions([part], buffer.data)]
    first = using[0] if using else None
    inner = [] if first is None else _nested(first)
    if first is None or not inner:
        return first is None or overwrites([first], buffer)
    known = [getattr(first, name) for name in ("min", "extent", "condition") if hasattr(first, name)]
    sure = isinstance(first, tirx.AttrStmt | tirx.SBlockRealize) or (
        isinstance(first, tirx.For) and (scalar.int_value(first.extent) or 0) > 0
    )
    asked = mentions([tirx.Evaluate(value) for value in known], buffer.data)
    return not asked and (sure or len(using) == 1) and all(_is_fresh([part], buffer) for part in inner)


def _changed(stmts: list[tirx.Stmt], buffer: tirx.Buffer) -> bool:
    """Whether statements may store to a block."""

    def changes(node: object) -> bool:
        if isinstance(node, tirx.BufferStore):
            return bool(node.buffer.data.same_as(buffer.data))
        if not isinstance(node, tirx.Call):
            return False
        if operator(node) == "tl.region" and int(node.args[1]) != LOAD:
            return bool(node.args[0].buffer.data.same_as(buffer.data))
        return operator(node) in _POINTERS and mentions([tirx.Evaluate(node)], buffer.data)

    return any(any_node(stmt, changes) for stmt in stmts)
