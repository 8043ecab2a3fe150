"""What the threads of a warp, or of a block, do together: shuffles, votes, reductions.

    before   x = T.shfl_xor(v, 1)
    after    Put lanes[tx] = v
             Barrier
             Let x = lanes[tx ^ 1]

Every thread lays its value down, and behind a barrier each takes what it is after. A warp has 32 threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tvm import tirx

from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.frontend.code.tile_operations import ZERO, loops, neutral
from tilelang_tt.frontend.code.values import cast, pointed
from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Memory
from tilelang_tt.ir.code import Barrier, CodeStmt, Constant, For, If, Name, Op, Place, Put, Value

if TYPE_CHECKING:
    from tilelang_tt.frontend.code.lift_code import CodeLifter

WARP = 32


def whole(number: int, dtype: str = "int32") -> Constant:
    return Constant(number, dtype)


def on(op: str, *args: Value) -> Value:
    """An operation on whole numbers."""
    return Op(op, args, "int32")


def thread_number(lifter: CodeLifter) -> Value:
    """The number of a thread in its block: x counts fastest."""
    found: Value | None = None
    step = 1
    for var, extent in lifter.threads.items():
        if extent > 1:
            term: Value = Name(var, "int32") if step == 1 else on("mul", Name(var, "int32"), whole(step))
            found = term if found is None else on("add", found, term)
        step *= extent
    return found if found is not None else ZERO


def _count(lifter: CodeLifter) -> int:
    count = 1
    for extent in lifter.threads.values():
        count *= extent
    return count


def _size(call: tirx.Call, place: int, default: int) -> Value:
    return whole(int(call.args[place]) if len(call.args) > place else default)


def _lane(lifter: CodeLifter, call: tirx.Call) -> Value:
    return on("trunc_mod", thread_number(lifter), _size(call, 0, WARP))


def _warp(lifter: CodeLifter, call: tirx.Call) -> Value:
    return on("trunc_div", thread_number(lifter), _size(call, 0, WARP))


def _warp_group(lifter: CodeLifter, call: tirx.Call) -> Value:
    size, count = _size(call, 0, WARP), _size(call, 1, 4)
    return on("trunc_div", thread_number(lifter), on("mul", size, count))


def _elect(lifter: CodeLifter, call: tirx.Call) -> Value:
    """One thread of each group of so many; 0: of the block."""
    extent = int(call.args[0])
    group = whole(extent if extent else _count(lifter))
    return Op("eq", (on("trunc_mod", thread_number(lifter), group), ZERO), "bool")


# --- exchanging -----------------------------------------------------------------------------------


def laid_down(lifter: CodeLifter, value: Value) -> Callable[[Value], Place]:
    """Every thread's value, behind a barrier: by the number of the thread."""
    if lifter.shared:
        raise unsupported_together(lifter)
    block = lifter.declared.temporary("lanes", value.dtype, (_count(lifter),), Memory.SHARED)
    lifter.before(
        Put(Place(block, (thread_number(lifter),)), value, lifter.location),
        Barrier(lifter.location, of_warp=True),
    )
    return lambda number: Place(block, (number,))


def _shuffle(lifter: CodeLifter, call: tirx.Call) -> Value:
    """The value of another thread of the warp; of its own where the other one is not among the same `width`."""
    kind = next((kind for kind in ("xor", "up", "down") if kind in operator(call)), "")
    _, expr, other, *rest = call.args
    width = int(rest[0]) if rest else WARP
    value, amount, me = lifter.value(expr), cast(lifter.value(other), "int32"), thread_number(lifter)
    taken = laid_down(lifter, value)
    start = on("mul", on("trunc_div", me, whole(width)), whole(width))
    lane = on("trunc_mod", me, whole(width))
    if kind == "":
        return taken(on("add", start, on("floor_mod", amount, whole(width))))
    place = on({"xor": "bit_xor", "up": "sub", "down": "add"}[kind], lane, amount)
    there = Op("and", (Op("ge", (place, ZERO), "bool"), Op("lt", (place, whole(width)), "bool")), "bool")
    if (count := _count(lifter)) % width:
        there = Op("and", (there, Op("lt", (on("add", start, place), whole(count)), "bool")), "bool")
    return taken(on("add", start, Op("where", (there, place, lane), "int32")))


def _combined(
    lifter: CodeLifter, value: Value, combine: Callable[[Value, Value, Value], Value], start: Value, group: int
) -> Value:
    """What all threads of a group of so many lay down, combined one after the other."""
    me, count, where = thread_number(lifter), _count(lifter), lifter.location
    present = _presence(lifter) if lifter.parted else None
    taken = laid_down(lifter, value)
    result = Place(lifter.declared.temporary("combined", start.dtype, (1,), Memory.LOCAL), (ZERO,))
    lane = scalar.var("lane")
    first = on("mul", on("trunc_div", me, whole(group)), whole(group)) if group < count else ZERO
    other = on("add", first, Name(lane, "int32"))
    step: tuple[CodeStmt, ...] = (Put(result, combine(result, taken(other), Name(lane, "int32")), where),)
    step = (If(present(other), step),) if present is not None else step
    if group < count and count % group:
        step = (If(Op("lt", (other, whole(count)), "bool"), step),)
    lifter.before(Put(result, start, where))
    lifter.before(For(lane, ZERO, whole(min(group, count)), step, location=where))
    if present is not None:
        lifter.before(Barrier(where, of_warp=True), Put(present(me), Constant(0, "bool"), where))
    return result


def _presence(lifter: CodeLifter) -> Callable[[Value], Place]:
    """Which threads take part, where not all may get."""
    me, block = thread_number(lifter), lifter.declared.temporary("present", "bool", (_count(lifter),), Memory.SHARED)
    lifter.first.append(Put(Place(block, (me,)), Constant(0, "bool"), lifter.location))
    lifter.before(Put(Place(block, (me,)), Constant(1, "bool"), lifter.location))
    return lambda number: Place(block, (number,))


def _warp_reduce(lifter: CodeLifter, call: tirx.Call) -> Value:
    kind = operator(call).removeprefix("tl.warp_reduce_")
    value = lifter.value(call.args[0])
    op = {"sum": "add", "bitand": "bit_and", "bitor": "bit_or"}.get(kind, kind)
    return _combined(lifter, value, lambda a, b, _: Op(op, (a, b), value.dtype), neutral(kind, value.dtype), WARP)


def _truth(value: Value) -> Value:
    return value if value.dtype == "bool" else Op("ne", (value, Constant(0, value.dtype)), "bool")


def _bit(lane: Value, dtype: str) -> Value:
    return Op("shift_left", (Constant(1, dtype), cast(lane, dtype)), dtype)


def _vote(lifter: CodeLifter, call: tirx.Call) -> Value:
    """any, all, ballot of a warp; syncthreads_or, and, count of a block."""
    name, dtype = operator(call).removeprefix("tl."), str(call.dtype)
    group = _count(lifter) if name.startswith("syncthreads") else WARP
    held = cast(_truth(lifter.value(call.args[-1])), "int32")
    kind = name.removeprefix("syncthreads_").removesuffix("_sync")
    if kind == "ballot":
        yes = lambda a, b, lane: Op(  # noqa: E731
            "bit_or", (a, Op("where", (_truth(b), _bit(lane, dtype), Constant(0, dtype)), dtype)), dtype
        )
        return _combined(lifter, held, yes, Constant(0, dtype), group)
    op, start = {"any": ("max", 0), "or": ("max", 0), "all": ("min", 1), "and": ("min", 1), "count": ("add", 0)}[kind]
    return cast(_combined(lifter, held, lambda a, b, _: on(op, a, b), whole(start), group), dtype)


def _match(lifter: CodeLifter, call: tirx.Call) -> Value:
    """match_any: the lanes that hold the same value; match_all: all lanes, if they all do."""
    dtype, value = str(call.dtype), lifter.value(call.args[1])
    same = lambda a, b, lane: Op(  # noqa: E731
        "bit_or",
        (a, Op("where", (Op("eq", (b, value), "bool"), _bit(lane, dtype), Constant(0, dtype)), dtype)),
        dtype,
    )
    found = _combined(lifter, value, same, Constant(0, dtype), WARP)
    if "match_any" in operator(call):
        return found
    everyone = _everyone(lifter, dtype)
    return Op("where", (Op("eq", (found, everyone), "bool"), everyone, Constant(0, dtype)), dtype)


def _everyone(lifter: CodeLifter, dtype: str) -> Value:
    """The lanes of a warp that are there."""
    count = _count(lifter)
    if not lifter.parted and (count <= WARP or count % WARP == 0):
        return Constant((1 << min(WARP, count)) - 1, dtype)
    together = lambda a, _, lane: Op("bit_or", (a, _bit(lane, dtype)), dtype)  # noqa: E731
    return _combined(lifter, Constant(1, "bool"), together, Constant(0, dtype), WARP)


def _active(lifter: CodeLifter, call: tirx.Call) -> Value:
    return _everyone(lifter, str(call.dtype))


def unsupported_together(lifter: CodeLifter) -> UnsupportedError:
    return UnsupportedError(
        "TT131",
        "an exchange between threads inside T.Parallel, whose rounds all threads share",
        location=lifter.location,
        help="move it out of T.Parallel",
    )


# --- of elements ----------------------------------------------------------------------------------


def _any_of(lifter: CodeLifter, call: tirx.Call) -> Value:
    """T.any_of, T.all_of: of so many elements from a place on, the last axis first."""
    load, count = pointed(call.args[0]), call.args[1]
    is_any = operator(call) == "tl.any_of"
    result = Place(lifter.declared.temporary("found", "bool", (1,), Memory.LOCAL), (ZERO,))

    def body(steps: list[scalar.Expr]) -> tuple[CodeStmt, ...]:
        taken = _truth(lifter.element(load.buffer, moved(load, steps[0])))
        return (Put(result, Op("or" if is_any else "and", (result, taken), "bool"), lifter.location),)

    lifter.before(Put(result, Constant(0 if is_any else 1, "bool"), lifter.location))
    lifter.before(*loops(lifter, [count], body, together=False))
    return cast(result, str(call.dtype))


def moved(load: tirx.BufferLoad, by: scalar.Expr) -> list[scalar.Expr]:
    """The indices of the element so many places behind another one, in row-major order."""
    shape, number = list(load.buffer.shape), by
    for axis, index in enumerate(load.indices):
        step = scalar.product(tuple(shape[axis + 1 :]))
        number = number + index * step
    places: list[scalar.Expr] = []
    for axis in range(len(shape)):
        step = scalar.product(tuple(shape[axis + 1 :]))
        place = tirx.floordiv(number, step)
        places.append(scalar.simplify(place if axis == 0 else tirx.floormod(place, shape[axis])))
    return places


WARP_VALUES: dict[str, Callable[[CodeLifter, tirx.Call], Value]] = {
    "tl.get_lane_idx": _lane,
    "tl.get_warp_idx": _warp,
    "tl.get_warp_idx_sync": _warp,
    "tl.get_warp_group_idx": _warp_group,
    "tl.tl_shuffle_elect": _elect,
    **dict.fromkeys(("tl.shfl_sync", "tl.shfl_xor_sync", "tl.shfl_up_sync", "tl.shfl_down_sync"), _shuffle),
    **dict.fromkeys(("tirx.tvm_warp_shuffle", "tirx.tvm_warp_shuffle_up", "tirx.tvm_warp_shuffle_down"), _shuffle),
    "tirx.tvm_warp_activemask": _active,
    **{f"tl.warp_reduce_{kind}": _warp_reduce for kind in ("sum", "max", "min", "bitand", "bitor")},
    **{f"tl.{name}": _vote for name in ("any_sync", "all_sync", "ballot_sync", "ballot")},
    **{f"tl.syncthreads_{name}": _vote for name in ("count", "and", "or")},
    "tl.match_any_sync": _match,
    "tl.match_all_sync": _match,
    "tl.activemask": _active,
    "tl.any_of": _any_of,
    "tl.all_of": _any_of,
}
