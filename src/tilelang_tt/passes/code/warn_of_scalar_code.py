"""Tell the user what runs as scalar code, why, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tilelang_tt.diagnostics import Location, ResourceError, UnsupportedError, warn
from tilelang_tt.ir.code import Code
from tilelang_tt.ir.dataflow import Place, places
from tilelang_tt.ir.tile import Launch, TileProgram
from tilelang_tt.passes.code.scalar_costs import estimate, place_cycles

Refusal = UnsupportedError | ResourceError
_CYCLES = 1e6  # in a millisecond: the processors run at about 1 GHz

# Refusals of programs that mean nothing: what is read was never written, or lies outside of a block; and of tensors
# that do not fit L1, or are to lie as no tensor can.
_LAYOUTS = ("TT183", "TT184", "TT185", "TT186", "TT187", "TT188", "TT189")
_MEANINGLESS = frozenset(("TT103", "TT121", "TT125", "TT127", "TT128", "TT137", "TT154", "TT209", *_LAYOUTS))


def has_no_meaning(refusal: Refusal) -> bool:
    """Whether scalar code would not help: the program means nothing."""
    return refusal.code in _MEANINGLESS


@dataclass(frozen=True)
class ScalarCode:
    """What runs as scalar code, and why: launches as a whole, and statements of others, by the number of the launch."""

    whole: Mapping[int, Refusal] = field(default_factory=dict)
    parts: Mapping[int, tuple[Refusal, ...]] = field(default_factory=dict)

    @property
    def reasons(self) -> tuple[dict[int, str], dict[int, dict[Location, str]]]:
        lines = {
            number: {one.location: one.message for one in some if one.location is not None}
            for number, some in self.parts.items()
        }
        return {number: one.message for number, one in self.whole.items()}, lines


NO_CODE = ScalarCode()


def warn_of_scalar_code(program: TileProgram, scalar_code: ScalarCode) -> None:
    """One warning for all launches that have the same reason, and one for every statement."""
    for number, refusals in scalar_code.parts.items():
        for place in places(program.launches[number].body):
            if isinstance(place.stmt, Code):
                _warn_of_part(place, refusals)
    refused = scalar_code.whole
    for refusal in dict.fromkeys(refused.values()):
        launches = [program.launches[number] for number, found in refused.items() if found is refusal]
        costs = "; ".join(map(_cost, launches))
        who = "this kernel runs" if len(launches) == 1 else "these kernels run"
        if len(launches) < len(program.launches):
            who = f"kernel '{launches[0].name}' runs"
        warn(
            "TT702",
            f"{who} as scalar code on the cores' small processors, element by element: {refusal.message} ({costs})",
            location=refusal.location or launches[0].location,
            help=refusal.help,
        )


def _warn_of_part(place: Place, refusals: tuple[Refusal, ...]) -> None:
    assert isinstance(place.stmt, Code)
    alike = [one for one in refusals if one.message == place.stmt.why]
    refusal = next((one for one in alike if one.location == place.stmt.location), alike[0])
    cost = _time(place_cycles(place), complete=estimate(place.stmt).complete)
    warn(
        "TT702",
        "this runs as scalar code on the cores' small processors, element by element, unlike what is around it: "
        f"{refusal.message} ({cost} for each block of the grid)",
        location=refusal.location,
        help=refusal.help,
    )


def _cost(launch: Launch) -> str:
    (code,) = launch.body
    assert isinstance(code, Code)
    found = estimate(code)
    cost = _time(found.cycles, complete=found.complete)
    return f"{cost} for each block of the grid, one block of a core at a time"


def _time(cycles: float, *, complete: bool) -> str:
    time = cycles / _CYCLES
    shown = f"{time:.2g} ms" if time < 1000 else f"{time / 1000:.2g} s"
    return f"{'about' if complete else 'at least'} {shown}"
