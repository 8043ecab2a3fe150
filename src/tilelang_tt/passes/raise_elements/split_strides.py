"""Keep the places that a stride walks together: `x[i, 2 * j]`, `x[i, j // 2]`, nibbles side by side.

    before   Copy X[by * 32, 0 : 32 x 128] -> xs
             Each i < 32, j < 64: ys[i, j] = xs[i, 2 * j] + xs[i, 2 * j + 1]
    after    Copy X_by_2[by * 32, 0, 0 : 32 x 64 x 1] -> xs_0                X_by_2: X as [.., 64, 2]
             Copy X_by_2[by * 32, 0, 1 : 32 x 64 x 1] -> xs_1
             Each i < 32, j < 64: ys[i, j] = xs_0[i, j] + xs_1[i, j]

    before   Each i < 32, j < 128: w[i, j] = packed[i, j // 2] >> 4 * (j % 2) & 15 ; Gemm c += a @ w^T
    after    Each i < 32, j < 64: w_0[i, j] = packed[i, j] & 15
             Each i < 32, j < 64: w_1[i, j] = packed[i, j] >> 4 & 15 ; Gemm c += a_0 @ w_0^T ; Gemm c += a_1 @ w_1^T

No element moves on the chip: the host lays the tensor so (a folded axis), and every bit stays as it is. `phases` finds
what has to follow. What cannot follow stays as it is, and goes place by place (`serial_axes`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from tilelang_tt.compiled import Decision
from tilelang_tt.ir import fields, scalar
from tilelang_tt.ir.buffers import Buffer, Fold, Region, Tensor, unique_name
from tilelang_tt.ir.elements import Access, Apply, ElementExpr, Number
from tilelang_tt.ir.facts import Facts
from tilelang_tt.ir.fields import children, walk, within
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tile import Axis, Copy, Each, Fill, Gemm, Launch, Loop, Reduce, Stmt, TileProgram, reads, writes
from tilelang_tt.passes.raise_elements.decided import decided
from tilelang_tt.passes.raise_elements.new_blocks import NewBlocks
from tilelang_tt.passes.raise_elements.phases import NotSplitError, Phases, held_places
from tilelang_tt.passes.raise_elements.serial_axes import check_inside
from tilelang_tt.passes.raise_elements.split_axes import split_axes
from tilelang_tt.passes.raise_elements.split_runs import rounds, split_runs

Around = tuple[tuple[Var, Expr], ...]  # variables that count, and where each ends


def split_strides(program: TileProgram) -> TileProgram:
    slow = [stmt for stmt in _statements(program) if isinstance(stmt, Each) and rounds(stmt) > 1]
    if not slow:
        return program
    together = _attempt(program, Phases(program), slow)
    if together is not None:
        return together[1]
    phases = Phases(program)
    best = program
    for each in slow:
        found = _attempt(program, phases, [each], best)
        if found is not None:
            phases, best = found
    return best


def _attempt(
    program: TileProgram, known: Phases, starting: list[Each], best: TileProgram | None = None
) -> tuple[Phases, TileProgram] | None:
    """The program with phases for some statements more; None: something cannot follow, or nothing is won."""
    phases = known.copy()
    try:
        for each in starting:
            phases.start(each)
        phases.settle()
        split = _Split(program, phases).changed()
    except NotSplitError:
        return None
    return (phases, split) if _all_rounds(split) < _all_rounds(best or program) else None


def _statements(program: TileProgram) -> Iterator[Stmt]:
    return (stmt for launch in program.launches for stmt in walk(launch.body))


def _all_rounds(program: TileProgram) -> int:
    """How often tiles are gone through, after the passes that follow this one."""
    program = split_runs(split_axes(program))
    return sum(rounds(stmt) if isinstance(stmt, Each) else 1 for stmt in _statements(program))


class _Split:
    def __init__(self, program: TileProgram, phases: Phases) -> None:
        self.program = program
        self.phases = phases
        self.views: dict[tuple[Tensor, tuple[Fold, ...]], Tensor] = {}
        self.blocks: dict[tuple[Buffer, tuple[int, ...]], Buffer] = {}
        self.decisions: list[Decision] = []
        self.rounds = {var: scalar.var(str(var.name)) for var in phases.cuts}  # of loops that are cut
        self.names = program.names

    def changed(self) -> TileProgram:
        launches = tuple(map(self.launch, self.program.launches))
        program = replace(self.program, launches=launches, views=(*self.program.views, *self.views.values()))
        return self.under_own_names(program).with_decisions(*self.decisions)

    def under_own_names(self, program: TileProgram) -> TileProgram:
        """A tensor that is used in one way only keeps its name."""
        used = {place for stmt in _statements(program) for place in held_places(stmt)}
        names = {}
        for (tensor, _), view in self.views.items():
            views = [other for (of, _), other in self.views.items() if of is tensor]
            if tensor not in used and len(views) == 1:
                names[view] = replace(view, name=tensor.name)
        launches = tuple(replace(one, body=fields.renamed(one.body, names)) for one in program.launches)
        return replace(program, launches=launches, views=tuple(names.get(view, view) for view in program.views))

    def launch(self, launch: Launch) -> Launch:
        new = NewBlocks(launch)
        split = dict.fromkeys(place for place, _ in self.phases.widths if place in launch.buffers)
        for buffer in split:
            assert isinstance(buffer, Buffer)
            counts = self.counts(buffer)
            shape = tuple(extent // count for extent, count in zip(buffer.shape, counts, strict=True))
            for number in product(*map(range, counts)):
                digits = "_".join(str(digit) for digit, count in zip(number, counts, strict=True) if count > 1)
                block = new.add(f"{buffer.name}_{digits}", buffer.dtype, shape, buffer.location)
                new.found[-1] = self.blocks[buffer, number] = replace(block, memory=buffer.memory)
            text = " and ".join(
                f"every {count}th element along axis {axis}" for axis, count in enumerate(counts) if count > 1
            )
            self.decisions.append(Decision("split_strides", buffer.name, f"kept apart: {text}", buffer.location))
        body = self.body(launch.body, launch.blocks)
        self.check_filled(body)
        kept = tuple(buffer for buffer in launch.buffers if buffer not in split)
        return replace(launch, body=body, buffers=(*kept, *new.found))

    def counts(self, place: Tensor | Buffer) -> tuple[int, ...]:
        return tuple(self.phases.widths.get((place, axis), 1) for axis in range(len(place.shape)))

    def check_filled(self, body: tuple[Stmt, ...]) -> None:
        """A block of which only some phases are ever filled stays whole: the others are zeros."""
        filled = {block for stmt in walk(body) for block in writes(stmt)}
        if any(block in reads(stmt) and block not in filled for stmt in walk(body) for block in self.blocks.values()):
            raise NotSplitError

    # --- statements -------------------------------------------------------------------------------

    def body(self, body: tuple[Stmt, ...], around: Around) -> tuple[Stmt, ...]:
        return tuple(new for stmt in body for new in self.statement(stmt, around))

    def statement(self, stmt: Stmt, around: Around) -> Iterator[Stmt]:
        if isinstance(stmt, Loop):
            around = (*around, (stmt.var, stmt.extent))
        form = self.phases.forms.get(id(stmt))
        if children(stmt):
            yield within(stmt, lambda nested: self.body(nested, around))
        elif form is not None and (id(stmt) in self.phases.started or self.phases.touches(form)):
            yield from self.elements(stmt, form, around)
        elif isinstance(stmt, Fill):
            yield from (replace(stmt, dst=block) for block in self.all_phases(stmt.dst))
        elif isinstance(stmt, Gemm):
            yield from self.gemm(stmt)
        elif isinstance(stmt, Reduce):
            yield from self.reduce(stmt)
        else:
            yield stmt

    def all_phases(self, buffer: Buffer) -> list[Buffer]:
        return [block for (of, _), block in self.blocks.items() if of is buffer] or [buffer]

    def block(self, buffer: Buffer, number: tuple[int, ...]) -> Buffer:
        return self.blocks.get((buffer, number), buffer)

    def gemm(self, gemm: Gemm) -> Iterator[Gemm]:
        """A product for each phase of rows, of columns, and of what is summed over."""
        rows, cols = self.counts(gemm.c)
        inner = self.counts(gemm.a)[0 if gemm.transpose_a else 1]
        for row, col, along in product(range(rows), range(cols), range(inner)):
            a = self.block(gemm.a, (along, row) if gemm.transpose_a else (row, along))
            b = self.block(gemm.b, (col, along) if gemm.transpose_b else (along, col))
            clear = gemm.clear if along == 0 else scalar.false()
            yield replace(gemm, a=a, b=b, c=self.block(gemm.c, (row, col)), clear=clear)

    def reduce(self, reduce: Reduce) -> Iterator[Reduce]:
        counts = self.counts(reduce.src)
        if counts[reduce.axis] > 1 and reduce.op.endswith("sum") and reduce.dst.dtype in ("bfloat16", "float16"):
            raise NotSplitError  # it would be rounded more than once
        for number in product(*map(range, counts)):
            rest = (*number[: reduce.axis], *number[reduce.axis + 1 :])
            clear = reduce.clear and number[reduce.axis] == 0
            yield replace(reduce, src=self.block(reduce.src, number), dst=self.block(reduce.dst, rest), clear=clear)

    # --- elements ---------------------------------------------------------------------------------

    def elements(self, stmt: Stmt, form: Each, around: Around) -> Iterator[Stmt]:
        check_inside(form)
        cuts = {axis.var: self.phases.cuts[axis.var] for axis in form.axes if axis.var in self.phases.cuts}
        done: list[Access] = []
        for number in product(*map(range, cuts.values())):
            part = self.part(form, dict(zip(cuts, number, strict=True)), around)
            if part is None:
                continue
            if any(_meet(access, target) for target in done for access in part.accesses[1:]):
                raise NotSplitError  # what is read was there before the whole statement
            done.append(part.target)
            yield self.as_copy(part) if isinstance(stmt, Copy) else part

    def part(self, each: Each, number: dict[Var, int], around: Around) -> Each | None:
        """The rounds of a statement in one part of each loop that is cut; None if its guard never holds there."""
        values: dict[Var, Expr] = {}
        axes: list[Axis] = []
        for axis in each.axes:
            count = self.phases.cuts.get(axis.var, 1)
            rounds = axis if count == 1 else Axis(self.rounds[axis.var], axis.extent // count)
            if count > 1:
                values[axis.var] = scalar.simplify(rounds.var * count + number[axis.var])
            if rounds.extent > 1 or count == 1:
                axes.append(rounds)
            else:
                values[axis.var] = scalar.const(number[axis.var])
        facts = Facts(self.program.sizes, (*around, *((axis.var, scalar.const(axis.extent)) for axis in axes)))
        part = fields.with_expressions(
            replace(each, axes=()), lambda expr: facts.simplify(scalar.substitute(expr, values))
        )
        guard = None if part.guard is None else decided(part.guard)
        if isinstance(guard, Number):
            if not guard.value:
                return None
            guard = None
        part = replace(part, axes=tuple(axes), value=decided(part.value), guard=guard)

        def change(old: object, _: fields.Mark | None) -> object:
            return self.access(old, part, facts) if isinstance(old, Access) else None

        return replace(fields.rebuilt(replace(part, axes=()), change), axes=part.axes)

    def access(self, access: Access, part: Each, facts: Facts) -> Access | None:
        place, indices = access.source, list(access.indices)
        alone = self.phases.follows_alone(place)
        counts = (
            tuple(self.phases.width((place, axis), index, part) for axis, index in enumerate(indices))
            if alone
            else self.counts(place)
        )
        if all(count == 1 for count in counts):
            return None
        rests = [facts.simplify(scalar.floormod(index, count)) for index, count in zip(indices, counts, strict=True)]
        places = [facts.simplify(scalar.floordiv(index, count)) for index, count in zip(indices, counts, strict=True)]
        if any(part.depends_on(rest) & set(part.extents) for rest in rests):
            raise NotSplitError
        if isinstance(place, Tensor):
            pairs = zip(places, rests, counts, strict=True)
            both = tuple(index for at, rest, count in pairs for index in ((at,) if count == 1 else (at, rest)))
            return Access(self.view(place, counts), both)
        number = tuple(scalar.int_value(rest) for rest in rests)
        if None in number:
            raise NotSplitError
        return Access(self.block(place, tuple(digit or 0 for digit in number)), tuple(places))

    def view(self, tensor: Tensor, counts: tuple[int, ...]) -> Tensor:
        """A tensor whose axes lie in phases: each of these is two."""
        shape: list[Expr] = []
        folds: list[Fold] = []
        for extent, count in zip(tensor.shape, counts, strict=True):
            if count == 1:
                shape.append(extent)
            else:
                folds.append(Fold(len(shape), count))
                shape += [scalar.ceildiv(extent, count), scalar.const(count)]
        key = tensor, tuple(folds)
        if key not in self.views:
            name = unique_name(f"{tensor.name}_by_{'_'.join(str(fold.width) for fold in folds)}", self.names)
            self.names.add(name)
            self.views[key] = replace(tensor, name=name, shape=tuple(shape), folds=(*tensor.folds, *folds))
            text = " and ".join(f"axis {fold.axis} by {fold.width}" for fold in folds)
            self.decisions.append(Decision("split_strides", tensor.name, f"folded by the host: {text}"))
        return self.views[key]

    def as_copy(self, each: Each) -> Copy:
        """A copy again, of boxes."""
        value: ElementExpr = each.value
        while isinstance(value, Apply):
            (value,) = value.args  # a cast: a copy converts
        assert isinstance(value, Access)
        return Copy(_box(value, each), _box(each.target, each), each.location)


def _box(access: Access, each: Each) -> Region:
    mins, extents = [], []
    for index in access.indices:
        walking = [axis for axis in each.axes if axis.var in scalar.variables(index)]
        start = scalar.simplify(scalar.substitute(index, {axis.var: scalar.const(0) for axis in walking}))
        if len(walking) > 1 or any(not scalar.equal(index, start + axis.var) for axis in walking):
            raise NotSplitError
        mins.append(start)
        extents.append(walking[0].extent if walking else 1)
    return Region(access.source, tuple(mins), tuple(extents))


def _meet(access: Access, target: Access) -> bool:
    """Whether an access may read what an earlier part of the same statement has stored."""
    pairs = zip(map(scalar.int_value, access.indices), map(scalar.int_value, target.indices), strict=False)
    return access.source is target.source and not any(None not in pair and pair[0] != pair[1] for pair in pairs)
