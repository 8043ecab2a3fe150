"""Whether two blocks of the grid may store to the same elements of a tensor: part of `partition_work`.

    B[bx * 128 + tx] = x          no: every block has places of its own
    B[bx // 8, bx % 8] = x        no
    B[0] = x                      yes: its place does not depend on the block
    B[bx // 8] = x                yes: eight have the same
    B[idx[bx]] = x                yes: what a tensor says may be the same for two
    T.atomic_add(B[bx], x)        yes: atomics are for that

Then one core does all blocks, one after the other in the order of the grid, so that the result is always the same.
"""

from __future__ import annotations

from tilelang_tt.formats import element_bits
from tilelang_tt.ir import dataflow
from tilelang_tt.ir.buffers import Buffer, Read, Tensor
from tilelang_tt.ir.code import Code, Constant, For, Let, Name, Op, Place, Put, Update, Value, used_tensors
from tilelang_tt.ir.fields import defined, expressions, walk
from tilelang_tt.ir.scalar import Var, int_value, is_var, variables
from tilelang_tt.ir.tile import Launch, Set, Stmt, Store

_Known = Var | Buffer
_Form = tuple[str, tuple[Value, ...]]  # what is left of a number: all, its quotient or its remainder by another one
_WHOLE: _Form = ("whole", ())
_LOST: _Form = ("lost", ())
_PARTS = {
    **dict.fromkeys(("floor_div", "trunc_div"), "quotient"),
    **dict.fromkeys(("floor_mod", "trunc_mod"), "remainder"),
}


def may_meet(code: Code, launch: Launch) -> bool:
    stmts = list(walk(code.body))
    if any(tensor.param in launch.updated for tensor in used_tensors(code)):
        return True
    if any(isinstance(stmt, Update) and isinstance(stmt.target.source, Tensor) for stmt in stmts):
        return True
    known = _Dependences(code, _numbers(launch))
    several = _several(launch)
    targets = [stmt.target for stmt in stmts if isinstance(stmt, Put) and isinstance(stmt.target.source, Tensor)]
    if any(element_bits(target.dtype) < 8 for target in targets):
        return True  # a byte holds elements of two blocks
    return any(not known.separates(target, several) for target in targets)


def tiles_meet(launch: Launch) -> bool:
    """Whether some tiles are stored by several blocks: neither their place nor a condition depends on the block."""
    several, numbers = _several(launch), _numbers(launch)

    def separates(place: dataflow.Place) -> bool:
        here, around = (
            {var for stmt in stmts for expr in expressions(stmt) for var in variables(expr)}
            for stmts in ((place.stmt,), (outer.stmt for outer in place.around[1:]))
        )
        return several <= here | around or not numbers.isdisjoint(here)

    def plain(stmt: Stmt) -> bool:
        return isinstance(stmt, Store) and stmt.dst.tensor.param not in launch.updated

    return any(not separates(place) for place in dataflow.places(launch.body) if plain(place.stmt))


def _several(launch: Launch) -> set[Var]:
    return {var for var, extent in launch.blocks if int_value(extent) != 1}


def _numbers(launch: Launch) -> set[Var]:
    """Variables whose values the grid does not tell."""
    return {var for stmt in walk(launch.body) if isinstance(stmt, Read | Set) for var in defined(stmt)}


class _Dependences:
    """What the values of names and blocks are computed from."""

    def __init__(self, code: Code, numbers: set[Var]) -> None:
        self.sources: dict[_Known, list[Value]] = {}
        self.looked_up: set[_Known] = set()  # names that an atomic update gives, or that stand for such `numbers`
        for one in code.inputs:
            if is_var(one.value):
                self.add(one.var, Name(one.value, str(one.value.dtype)))
            elif not numbers.isdisjoint(variables(one.value)):
                self.looked_up.add(one.var)
        self.looked_up |= numbers
        for stmt in walk(code.body):
            if isinstance(stmt, Let):
                self.add(stmt.var, stmt.value)
            elif isinstance(stmt, For):
                self.add(stmt.var, stmt.start)
            elif isinstance(stmt, Put | Update) and isinstance(stmt.target.source, Buffer):
                self.add(stmt.target.source, stmt.value, *stmt.target.indices)
            if isinstance(stmt, Update) and stmt.old is not None:
                self.looked_up.add(stmt.old)

    def add(self, known: _Known, *values: Value) -> None:
        self.sources.setdefault(known, []).extend(values)

    def separates(self, target: Place, blocks: set[Var]) -> bool:
        """Whether the place tells all block indices apart, and depends on nothing that is looked up."""
        found: dict[Var, set[_Form]] = {var: set() for var in blocks}
        seen = set[tuple[_Known, _Form]]()
        waiting: list[tuple[Value, _Form]] = [(index, _WHOLE) for index in target.indices]
        while waiting:
            value, form = waiting.pop()
            if isinstance(value, Op):
                waiting += _operands(value, form)
            known = value.var if isinstance(value, Name) else value.source if isinstance(value, Place) else None
            if isinstance(known, Tensor) or known in self.looked_up:
                return False
            if known is None or (known, form) in seen:
                continue
            seen.add((known, form))
            if known in found:
                found[known].add(form)
            waiting += ((source, form) for source in self.sources.get(known, ()))
        return all(map(_tells_apart, found.values()))


def _operands(op: Op, form: _Form) -> list[tuple[Value, _Form]]:
    """What an operation leaves of its operands."""
    if op.op in ("add", "sub", "mul", "cast"):
        return [(arg, form) for arg in op.args]
    if op.op in _PARTS and form == _WHOLE and isinstance(op.args[1], Constant):
        return [(op.args[0], (_PARTS[op.op], op.args))]
    return [(arg, _LOST) for arg in op.args]


def _tells_apart(forms: set[_Form]) -> bool:
    """Of an index all is there, or its quotient and its remainder."""
    quotients, remainders = ({of for part, of in forms if part == wanted} for wanted in ("quotient", "remainder"))
    return _WHOLE in forms or bool(quotients & remainders)
