"""What is known about the variables of a program at one of its points, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack

from tvm import arith, tirx
from tvm.ir import Range

from tilelang_tt.ir import scalar
from tilelang_tt.ir.scalar import Expr, Var, const, int_value


class Facts:
    """What is known about variables at a point of the program.

    TVM's analyzer is told of it when it is asked for the first time: most points are asked nothing.
    """

    def __init__(self, sizes: Iterable[Var] = (), blocks: Iterable[tuple[Var, Expr]] = ()) -> None:
        """`sizes` of tensors; `blocks`: variables that count from zero, and where each ends."""
        self._told: list[Callable[[arith.Analyzer], None]] = []
        self._made: arith.Analyzer | None = None
        self._variables: set[Var] = set()  # about which something is known
        self._conditions: list[Expr] = []  # that hold
        for size in sizes:
            self.positive(size)
        for block, extent in blocks:
            self.add(block, extent)

    @property
    def _analyzer(self) -> arith.Analyzer:
        if self._made is None:
            self._made = arith.Analyzer()
            for tell in self._told:
                tell(self._made)
        return self._made

    def _tell(self, variable: Var, tell: Callable[[arith.Analyzer], None]) -> None:
        self._variables.add(variable)
        self._told.append(tell)
        if self._made is not None:
            tell(self._made)

    def add(self, variable: Var, extent: Expr, step: int = 1) -> None:
        """variable is one of 0, step, 2 * step ... below extent."""
        if parts := scalar.ceil_parts(extent):  # blocks of a size: each begins inside it
            self._conditions.append(variable * parts[1] < parts[0])

        def tell(analyzer: arith.Analyzer) -> None:
            if step == 1:
                analyzer.bind(variable, Range.from_min_extent(const(0), extent))
                return
            round_number = tirx.Var(f"{variable.name}_round", "int32")
            rounds = scalar.floordiv(extent + (step - 1), step)
            analyzer.bind(round_number, Range.from_min_extent(const(0), scalar.simplify(rounds)))
            analyzer.bind(variable, round_number * step)

        self._tell(variable, tell)

    def positive(self, variable: Var) -> None:
        """variable >= 1, as for every size of a tensor that is launched."""
        self._tell(variable, lambda analyzer: analyzer.update(variable, arith.ConstIntBound(1, 2**31 - 1)))

    def equal(self, variable: Var, value: int) -> None:
        """variable is a name for a number."""
        self._tell(variable, lambda analyzer: analyzer.bind(variable, const(value)))

    def define(self, variable: Var, value: Expr) -> None:
        """variable is a name for `value`, unless something is known of it already."""
        if variable not in self._variables:
            self._tell(variable, lambda analyzer: analyzer.bind(variable, value))

    def with_loop(self, variable: Var, extent: Expr, step: int = 1) -> Facts:
        facts = self._copy()
        facts.add(variable, extent, step)
        return facts

    def with_condition(self, condition: Expr) -> Facts:
        facts = self._copy()
        facts._conditions.append(condition)
        return facts

    def _copy(self) -> Facts:
        facts = Facts()
        facts._told, facts._conditions = list(self._told), list(self._conditions)
        facts._variables = set(self._variables)
        return facts

    def simplify(self, expr: Expr) -> Expr:
        return self._analyzer.simplify(expr)

    def bounds(self, expr: Expr) -> tuple[int, int]:
        """Bounds of an integer; those of its type where nothing is known."""
        if scalar.is_truth(expr):
            return 0, 1
        known = self._analyzer.const_int_bound(expr)
        return max(int(known.min_value), -(2**31)), min(int(known.max_value), 2**31 - 1)

    def proves(self, condition: Expr) -> bool:
        if self._variables.isdisjoint(scalar.variables(condition)):
            return scalar.always(condition)  # whose solver is there; a new one takes longer than most proofs
        with ExitStack() as holding:
            for known in self._conditions:
                holding.enter_context(self._analyzer.constraint_scope(known))
            return bool(self._analyzer.can_prove(condition))

    def proves_in_range(self, value: Expr, extent: Expr) -> bool:
        known, end = int_value(value), int_value(extent)
        if end is not None:
            if known is not None:
                return 0 <= known < end
            least, most = self.bounds(value)  # quicker than a proof
            if least >= 0 and most < end:
                return True
        return self.proves(value < extent) and self.proves(value >= const(0))

    def divisible(self, expr: Expr, divisor: int) -> bool:
        # Without ranges first: a loop that may not run has an empty one, which proves odd things.
        remainders = (scalar.simplify(scalar.floormod(expr, divisor)), self.simplify(scalar.floormod(expr, divisor)))
        return any(int_value(remainder) == 0 for remainder in remainders)


def tells_first_round(condition: Expr, variable: Var, start: Expr) -> bool | None:
    """True: a condition holds in the first round of a loop only; False: in all other rounds only; None: neither."""
    later = scalar.var("later")
    facts = Facts(blocks=[(later, const(2**30))])
    first = int_value(scalar.substitute(condition, {variable: start}))
    others = int_value(facts.simplify(scalar.substitute(condition, {variable: start + later + 1})))
    return bool(first) if None not in (first, others) and first != others else None
