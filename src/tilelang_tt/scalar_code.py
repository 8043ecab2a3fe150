"""Which statements and launches become scalar code, where the tile engines refuse some: this alone decides it.

1. Refused statements are cut out of their launch (`cut_out_code`), if that saves time. Where blocks of the grid may
   then change the same elements, which takes one core, they become a launch of their own (`set_apart`).
2. Refused launches are scalar code as a whole, and the others tiles.
3. All launches are scalar code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tilelang_tt.diagnostics import Location, ResourceError, UnsupportedError
from tilelang_tt.frontend.tir.assertions import assertions
from tilelang_tt.frontend.tir.cut_out_code import CannotCutError
from tilelang_tt.frontend.tir.select_launches import count_launches, select_launches
from tilelang_tt.frontend.tir.set_apart import set_apart
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.options import Options
from tilelang_tt.passes.code.scalar_costs import cycles_of
from tilelang_tt.passes.code.warn_of_scalar_code import NO_CODE, Refusal, ScalarCode, has_no_meaning
from tilelang_tt.passes.does_not_fit import DoesNotFitError

_MOST_PARTS = 6  # places of a launch whose statements are cut out
_WORTH_CUTTING = 0.7  # of the time of scalar code; blocks that are handed over cost some that is not counted

_ASSERTION = "T.device_assert looks at numbers, not at tiles"
_LEAVE_OUT = "leave it out where its time counts"

Way = tuple[Any, ScalarCode]  # the function, and what of it is scalar code
Compile = Callable[[Any, Options, ScalarCode], TileProgram]


@dataclass(frozen=True)
class _Parts:
    """Statements of a launch that are cut out."""

    refusals: tuple[Refusal, ...]
    on_one_core: bool  # because of them

    @property
    def lines(self) -> list[Location]:
        return [one.location for one in self.refusals if one.location is not None]


def checked_assertions(func: Any) -> dict[int, tuple[Refusal, ...]]:
    """T.device_assert as statements that are cut out, by the number of the launch."""
    return {
        number: tuple(UnsupportedError("TT703", _ASSERTION, location=line, help=_LEAVE_OUT) for line in lines)
        for number, lines in assertions(func).items()
    }


def ways(func: Any, refusal: Refusal, options: Options, compiled: Compile) -> Iterator[Way]:
    """The best first; one may still be refused. `refusal`: what the tile engines say to the function as it is."""
    refused = _refused(func, refusal, options, compiled)
    found = {number: _parts(_alone(func, number), one, options, compiled) for number, one in refused.items()}
    parts = {number: some for number, some in found.items() if some is not None}
    for number, some in parts.items():
        apart = set_apart(func, number, some.lines) if some.on_one_core else None
        if apart is not None:
            yield from ways(apart, refusal, options, compiled)
            break
    if parts:
        whole = {number: one for number, one in refused.items() if number not in parts}
        yield func, ScalarCode(whole, {number: some.refusals for number, some in parts.items()})
    count = max(1, count_launches(func))
    if 0 < len(refused) < count:
        yield func, ScalarCode(refused)
    yield func, ScalarCode(dict.fromkeys(range(count), refusal))


def _alone(func: Any, number: int) -> Any:
    return select_launches(func, (number,)) if count_launches(func) > 1 else func


def would_not_help(refusal: Refusal) -> bool:
    """Whether scalar code is no answer: the program means nothing, or fits if it is written with fewer stages."""
    return has_no_meaning(refusal) or (isinstance(refusal, DoesNotFitError) and refusal.stages is not None)


def _refused(func: Any, refusal: Refusal, options: Options, compiled: Compile) -> dict[int, Refusal]:
    """The launches that are refused by themselves, and why."""
    count = count_launches(func)
    if count <= 1:
        return {0: refusal}
    found: dict[int, Refusal] = {}
    for number in range(count):
        try:
            compiled(_alone(func, number), options, NO_CODE)
        except (UnsupportedError, ResourceError) as one:
            if would_not_help(one):
                raise
            found[number] = one
    return found


def _parts(func: Any, refusal: Refusal, options: Options, compiled: Compile) -> _Parts | None:
    """Statements of a launch that are refused, if it is worth the while to cut them out; with its assertions."""
    checked = checked_assertions(func).get(0, ())
    found = [refusal, *(one for one in checked if one.location != refusal.location)]
    most = len(found) + _MOST_PARTS
    while len({one.location for one in found} - {None}) == len(found) < most:
        try:
            cut = compiled(func, options, ScalarCode(parts={0: tuple(found)}))
        except CannotCutError:
            return None
        except (UnsupportedError, ResourceError) as more:
            found.append(more)
            continue
        work = cut.launches[0].work
        parts = _Parts(tuple(found), work is not None and work.cores == 1 and options.core_grid != (1, 1))
        with suppress(UnsupportedError, ResourceError):
            whole = compiled(func, options, ScalarCode({0: refusal}))
            return parts if cycles_of(cut) < _WORTH_CUTTING * cycles_of(whole) else None
        return parts
    return None
