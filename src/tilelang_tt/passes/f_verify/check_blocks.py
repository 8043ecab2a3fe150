"""Blocks: what is handed on is complete, and nothing that was computed is lost.

Runs each kernel and follows the pages of its circular buffers and the tiles of DST. A loop whose variable chooses a
page or a tile is run round by round; of any other loop two rounds are run, which stand for all. A page is

    EMPTY    nothing of value is there
    OLD      reserved again, but still holding the block from before (compute's own buffers keep their place)
    FILLED   read, zeroed or packed since it was reserved
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any

from tilelang_tt.arch import TILE
from tilelang_tt.ir import engine, scalar, scalar_text
from tilelang_tt.ir.cb import Cb, CbCall, CbKind
from tilelang_tt.ir.facts import Facts, tells_first_round
from tilelang_tt.ir.kernel import For, If, Kernel, KernelSet, KernelStmt, Let
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.movement import (
    Half,
    MakeTile,
    PlaceRow,
    ReadTile,
    RowPlace,
    Take,
    WriteRow,
    WriteTile,
    ZeroRow,
    ZeroTile,
)
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ops.row import Operand
from tilelang_tt.passes.f_verify.block_state import (
    EMPTY,
    FILLED,
    OLD,
    RESERVED_AGAIN,
    BlockState,
    filled_in_one,
    join,
    kept_shards,
    pages_of,
    parts_of,
    put_tile,
    require_whole_tile,
    use_tile,
)
from tilelang_tt.passes.f_verify.failure import fail
from tilelang_tt.passes.f_verify.rounds import Rounds, name_of, values_of
from tilelang_tt.passes.f_verify.ways_at_call import moves_blocks

Names = dict[str, Any]
_FUNCTIONS: Names = {"min": min, "max": max}  # of scalar expressions printed as Python
Values = dict[str, int]  # of loop variables, by `name_of`


def check_blocks(kernel: Kernel, kernels: KernelSet) -> None:
    places = {name_of(variable): place for variable, place in kernels.pool_places.items()}
    _Run(kernel, kernels).body(kernel.body, BlockState(), places)


class _Run:
    """One kernel. Expressions and loops are prepared once: every round meets them again."""

    def __init__(self, kernel: Kernel, kernels: KernelSet) -> None:
        self.role = kernel.role
        self.sizes = kernel.sizes
        self.facts = Facts(kernels.program.sizes, kernels.launch.blocks)
        self.names = {**_FUNCTIONS, **{name_of(block): 0 for block, _ in kernels.launch.blocks}}
        self.moved = {cb.moves: cb for cb in kernels.all_cbs if cb.moves is not None}  # unless it is a shard
        self.kept = kept_shards(kernels)
        self.names |= {name_of(first): 0 for first, _ in self.kept.values()}
        self.steps: dict[int, list[tuple[Step, KernelStmt]]] = {}  # by identity of the list of statements
        self.codes: dict[int, CodeType | int] = {}  # by identity of the expression
        self.begun: set[tuple[Cb, int]] = set()  # places of which the first half was moved
        self.loops: dict[int, Rounds] = {}  # by identity of the loop
        self.only: dict[int, str] = {}  # the only variable of a condition, if it has one
        self.telling: dict[tuple[int, int], bool] = {}  # of a condition and a loop: whether it tells the first round
        self.around: dict[str, For] = {}  # loops by their variable
        self.conditions: list[Expr] = []  # of the arms of branches that are being followed

    # --- control ----------------------------------------------------------------------------------

    def body(self, body: tuple[KernelStmt, ...], state: BlockState, values: Values) -> None:
        for step, stmt in self.steps_of(body):
            step(self, stmt, state, values)

    def steps_of(self, body: tuple[KernelStmt, ...]) -> list[tuple[Step, KernelStmt]]:
        found = self.steps.get(id(body))
        if found is None:
            found = self.steps[id(body)] = [(_STEPS[type(stmt)], stmt) for stmt in body if type(stmt) in _STEPS]
        return found

    def branch(self, branch: If, state: BlockState, values: Values) -> None:
        if self.tells_first_round(branch.condition, values):
            arm = branch.then if self.evaluate(branch.condition, values) else branch.otherwise
            self.body(arm, state, values)
            return
        if moves_blocks(branch, self.moved):
            self.body(branch.then, state, values)  # otherwise the block lies in a shard, where nothing moves it
            return
        other = state.copy()
        self.under(branch.condition, branch.then, state, values)
        self.under(scalar.negate(branch.condition), branch.otherwise, other, values)
        empty = filled_in_one(state, other, branch.condition)
        join(state, other)
        state.empty_where |= empty

    def under(self, condition: Expr, body: tuple[KernelStmt, ...], state: BlockState, values: Values) -> None:
        self.conditions.append(condition)
        self.body(body, state, values)
        self.conditions.pop()

    def tells_first_round(self, condition: Expr, values: Values) -> bool:
        """Whether a condition only tells the first round of a loop from the others: two rounds show both answers.

        Not in the writer, where such a condition says which tiles are inside a tensor.
        """
        if self.role is not Role.COMPUTE:
            return False
        if id(condition) not in self.only:
            variables = scalar.variables(condition)
            self.only[id(condition)] = name_of(variables[0]) if len(variables) == 1 else ""
        name = self.only[id(condition)]
        if name not in values or name not in self.around:
            return False
        loop = self.around[name]
        known = id(condition), id(loop)
        if known not in self.telling:
            self.telling[known] = tells_first_round(condition, loop.var, loop.start) is not None
        return self.telling[known]

    def loop(self, loop: For, state: BlockState, values: Values) -> None:
        rounds = self.loops.get(id(loop))
        if rounds is None:
            rounds = self.loops[id(loop)] = Rounds(name_of(loop.var), values_of(loop), self.runs(loop))
        self.around[rounds.name] = loop
        before = None if rounds.some else state.copy()
        outer = dict(state.empty_where)
        steps = self.steps_of(loop.body)
        for value in rounds.values:
            inside = values if value is None else {**values, rounds.name: value}
            for step, stmt in steps:
                step(self, stmt, state, inside)
            if state.empty_where:
                state.empty_where = {page: on for page, on in state.empty_where.items() if outer.get(page) is on}
        if before is not None:
            empty = filled_in_one(state, before, loop.stop > loop.start)
            join(state, before)
            state.empty_where |= empty

    def runs(self, loop: For) -> bool:
        """Whether the loop surely runs at least once."""
        start, stop = scalar.int_value(loop.start), scalar.int_value(loop.stop)
        if start is not None and stop is not None:
            return start < stop
        return self.facts.proves(scalar.substitute(loop.stop - loop.start, self.sizes) >= 1)

    def evaluate(self, expr: Expr, values: Values, names: Names = _FUNCTIONS) -> int:
        code = self.codes.get(id(expr))
        if code is None:
            literal = scalar.int_value(expr)
            code = compile(scalar_text.to_python(expr, name_of), "<place>", "eval") if literal is None else literal
            self.codes[id(expr)] = code
        return code if isinstance(code, int) else int(eval(code, names, values))

    # --- circular buffers -------------------------------------------------------------------------

    def call(self, call: CbCall, state: BlockState, _: Values) -> None:
        cb, first = call.cb, state.next.get(call.cb, 0)
        if cb.is_word or (cb.shard is not None and self.role is not Role.COMPUTE):
            return  # nobody fills its pages; or they lie in a shard, where nothing moves them
        if cb in self.kept:
            if call.kind is CbKind.RESERVE:
                state.pages_of(cb)[:] = bytes([OLD]) * cb.pages  # no block has begun
            return
        if call.kind is CbKind.RESERVE and not cb.pool:  # a pool's pages stay as they are
            self.reserve(cb, first, call.pages, state)
        elif call.kind is CbKind.PUSH:
            if not cb.pool:
                self.push(cb, first, call.pages, state)
            state.next[cb] = (first + call.pages) % cb.pages
        elif call.kind is CbKind.POP and self.role is Role.WRITER and cb.producer is not Role.WRITER:
            written = state.written.pop(cb, set())
            for place in range(call.pages):
                if place not in written:
                    raise fail("TT947", f"tile {place} of '{cb.name}' is popped without having been written out")

    def find(self, let: Let, state: BlockState, _: Values) -> None:
        """A further block of a shard that compute keeps; one stands for all of them, at the begin of the shard."""
        for cb, (first, tiles) in self.kept.items():
            if first is let.var:
                pages = state.pages_of(cb)
                if OLD not in pages and pages.count(FILLED) < tiles:
                    raise fail("TT945", f"a block of '{cb.name}' is left without having been filled")
                pages[:] = bytes([EMPTY]) * cb.pages

    def reserve(self, cb: Cb, first: int, count: int, state: BlockState) -> None:
        pages = state.pages_of(cb)
        for part in parts_of(cb, first, count):
            pages[part] = pages[part].translate(RESERVED_AGAIN)
        if state.empty_where:
            for page in pages_of(cb, first, count):
                state.empty_where.pop(page, None)
        if state.packing:
            state.expected.update(pages_of(cb, first, count))

    def push(self, cb: Cb, first: int, count: int, state: BlockState) -> None:
        pages, own = state.pages_of(cb), cb.producer is cb.consumer
        for part in parts_of(cb, first, count):
            if pages[part].count(FILLED) < part.stop - part.start:
                for page, found in enumerate(pages[part], part.start):
                    keeps = own and (cb, page) not in state.expected
                    if found == EMPTY and own and (cb, page) in state.empty_where:
                        continue  # who reads it must ask: `read`
                    if found == EMPTY or (found == OLD and not keeps):
                        raise fail("TT945", f"page {page} of '{cb.name}' is pushed without having been filled")
            if not own:
                pages[part] = bytes(part.stop - part.start)  # the consumer's from here on
        if state.expected:
            state.expected.difference_update(pages_of(cb, first, count))

    def page(self, cb: Cb, place: Expr, state: BlockState, values: Values) -> tuple[Cb, int]:
        """The page of a place; of one that the index of the block chooses, that of the first block."""
        return cb, (state.next.get(cb, 0) + self.evaluate(place, values, self.names)) % cb.pages

    # --- tiles ------------------------------------------------------------------------------------

    def fill(self, stmt: MakeTile | ReadTile | ZeroTile, state: BlockState, values: Values) -> None:
        cb, page = self.page(stmt.cb, stmt.slot, state, values)
        half = None if isinstance(stmt, MakeTile) else stmt.half
        if half is None or self.is_second(half, (cb, page), values):
            state.pages_of(cb)[page] = FILLED

    def is_second(self, half: Half, place: tuple[Cb, int], values: Values) -> bool:
        """Whether this is the second half of a tile, and the first one was moved before."""
        number = self.evaluate(half.number, values, self.names)
        if number == 0:
            self.begun.add(place)
        return number == 1 and place in self.begun

    def take(self, stmt: Take, state: BlockState, _: Values) -> None:
        """What this core has not read has come from another one."""
        cb, pages = stmt.cb, state.pages_of(stmt.cb)
        assert cb.reads is not None
        if cb.owners:  # the whole block comes from a shard: the core's own, or another one's
            for _cb, page in pages_of(cb, state.next.get(cb, 0), cb.tiles):
                pages[page] = FILLED
            return
        sent = scalar.negate(cb.reads > 0)
        for _cb, page in pages_of(cb, state.next.get(cb, 0), cb.tiles):
            unread = state.empty_where.pop((cb, page), None)
            if pages[page] != FILLED and (unread is None or not scalar.same_form(unread, sent)):
                raise fail("TT970", f"page {page} of '{cb.name}' is neither read nor sent by another core")
            pages[page] = FILLED

    def fill_row(self, stmt: PlaceRow | ZeroRow, state: BlockState, values: Values) -> None:
        cb = stmt.place.cb
        first, pages = state.next.get(cb, 0), state.pages_of(cb)
        for tile in self.row_tiles(stmt.place, values):
            pages[(first + tile) % cb.pages] = FILLED

    def write(self, stmt: WriteTile, state: BlockState, values: Values) -> None:
        place = self.evaluate(stmt.slot, values)
        if stmt.half is None or self.is_second(stmt.half, (stmt.cb, place), values):
            state.written.setdefault(stmt.cb, set()).add(place)

    def write_row(self, stmt: WriteRow, state: BlockState, values: Values) -> None:
        state.written.setdefault(stmt.place.cb, set()).update(self.row_tiles(stmt.place, values))

    def read(self, stmt: KernelStmt, state: BlockState, values: Values) -> None:
        """Pages that hold nothing where a loop did not run are read only where it did."""
        for cb, index, reach in engine.unpacked(stmt) if state.empty_where else ():
            first = self.page(cb, index, state, values)[1]
            for page in (first, (first + (scalar.int_value(reach) or 0)) % cb.pages):
                empty = state.empty_where.get((cb, page)) if state.pages_of(cb)[page] == EMPTY else None
                if empty is not None and not self.holds_here(scalar.negate(scalar.substitute(empty, self.sizes))):
                    raise fail("TT945", f"page {page} of '{cb.name}' is read where nothing may have filled it")

    def holds_here(self, condition: Expr) -> bool:
        """Whether the arms of branches that are being followed say so."""
        return any(scalar.same_form(scalar.substitute(known, self.sizes), condition) for known in self.conditions)

    def multiply(self, stmt: engine.MatmulBlock, state: BlockState, values: Values) -> None:
        self.read(stmt, state, values)
        state.dst.update(dict.fromkeys(stmt.tiles, False))
        state.rows.difference_update(stmt.tiles)

    def reduce(self, stmt: engine.ReduceTile, state: BlockState, values: Values) -> None:
        self.read(stmt, state, values)
        state.dst[self.evaluate(stmt.dst, values)] = False  # it goes on with what is there

    def combine(self, stmt: engine.BinaryTiles, state: BlockState, values: Values) -> None:
        self.read(stmt, state, values)
        tile = self.evaluate(stmt.dst, values)
        if stmt.instruction.adds and tile in state.dst:
            raise fail("TT966", f"a product is added to DST[{tile}], which is not zero any more")
        put_tile(tile, state)

    def copy(self, stmt: engine.CopyTile, state: BlockState, values: Values) -> None:
        self.read(stmt, state, values)
        put_tile(self.evaluate(stmt.dst, values), state, row=stmt.cb.first_row)

    def put(self, stmt: engine.TransposeTile | engine.FillTile, state: BlockState, values: Values) -> None:
        self.read(stmt, state, values)
        put_tile(self.evaluate(stmt.dst, values), state)

    def transpose(self, stmt: engine.TransposeDst, state: BlockState, values: Values) -> None:
        tile = self.evaluate(stmt.dst, values)
        use_tile(tile, "transposed", state)
        require_whole_tile(tile, state)
        put_tile(tile, state)

    def compute(self, stmt: engine.Sfpu, state: BlockState, values: Values) -> None:
        tiles_in = [self.evaluate(operand, values) for operand in stmt.operands]
        for tile in tiles_in:
            use_tile(tile, "computed with", state)
        row = False
        if state.rows:
            kinds = [kind for kind in stmt.instruction.operands if kind is not Operand.NUMBER]
            used_whole = [tile for kind, tile in zip(kinds, tiles_in, strict=True) if kind is Operand.TILE]
            row = not state.rows.isdisjoint(used_whole)
        put_tile(self.evaluate(stmt.out, values), state, row=row)

    def dst_call(self, stmt: engine.DstCall, state: BlockState, _: Values) -> None:
        if stmt.kind is engine.DstKind.ACQUIRE:
            state.dst, state.rows = {}, set()
        elif stmt.kind is engine.DstKind.WAIT:
            state.packing = True
        elif stmt.kind is engine.DstKind.RELEASE:
            state.packing = False
            for tile, used in state.dst.items():
                if not used:
                    raise fail("TT957", f"DST[{tile}] is released, but nothing used it")

    def row_tiles(self, place: RowPlace, values: Values) -> list[int]:
        first = self.evaluate(place.row, values) // TILE * place.row_step
        return [first + tile * place.col_step for tile in range(place.tiles)]

    def pack(self, stmt: engine.PackTile, state: BlockState, values: Values) -> None:
        tile = self.evaluate(stmt.dst, values)
        use_tile(tile, "packed", state)
        require_whole_tile(tile, state)
        page = self.page(stmt.cb, stmt.index, state, values)
        pages = state.pages_of(stmt.cb)
        if pages[page[1]] == EMPTY and not self.overwrites(stmt, state.empty_where.get(page), values):
            raise fail("TT946", f"the packer adds to page {page[1]} of '{stmt.cb.name}', which holds nothing")
        pages[page[1]] = FILLED

    def overwrites(self, stmt: engine.PackTile, empty: Expr | None, values: Values) -> bool:
        """Whether a page that holds nothing, if known where, is overwritten."""
        if empty is not None and scalar.always(scalar.either(stmt.overwrite, scalar.negate(empty))):
            return True
        return self.holds(stmt.overwrite, values)

    def holds(self, condition: Expr, values: Values) -> bool:
        """Whether a condition is known to be true; one over variables without a value is not."""
        known = all(name_of(variable) in values for variable in scalar.variables(condition))
        return known and bool(self.evaluate(condition, values))


Step = Callable[..., None]  # of a run, a statement, a state and the values of variables

# What each statement does to pages and DST; others do nothing to them.
_STEPS: dict[type, Step] = {
    For: _Run.loop,
    If: _Run.branch,
    CbCall: _Run.call,
    Let: _Run.find,
    **dict.fromkeys((MakeTile, ReadTile, ZeroTile), _Run.fill),
    **dict.fromkeys((PlaceRow, ZeroRow), _Run.fill_row),
    Take: _Run.take,
    WriteTile: _Run.write,
    WriteRow: _Run.write_row,
    engine.PackTile: _Run.pack,
    engine.MatmulBlock: _Run.multiply,
    engine.ReduceTile: _Run.reduce,
    engine.BinaryTiles: _Run.combine,
    engine.CopyTile: _Run.copy,
    **dict.fromkeys((engine.TransposeTile, engine.FillTile), _Run.put),
    engine.TransposeDst: _Run.transpose,
    engine.Sfpu: _Run.compute,
    engine.DstCall: _Run.dst_call,
}
