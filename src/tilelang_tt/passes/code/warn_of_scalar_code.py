"""Tell the user what runs as scalar code, why, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping

from tilelang_tt.diagnostics import ResourceError, UnsupportedError, warn
from tilelang_tt.ir.code import Code
from tilelang_tt.ir.tile import Launch, TileProgram
from tilelang_tt.passes.code.scalar_costs import estimate

Refusal = UnsupportedError | ResourceError
_CYCLES = 1e6  # in a millisecond: the processors run at about 1 GHz

# Refusals of programs that mean nothing: what is read was never written, or lies outside of a block.
_MEANINGLESS = frozenset(("TT103", "TT121", "TT125", "TT127", "TT128", "TT137", "TT154"))


def has_no_meaning(refusal: Refusal) -> bool:
    """Whether scalar code would not help: the program means nothing, or fits if it is written with fewer stages."""
    return refusal.code in _MEANINGLESS or "num_stages" in (refusal.help or "")


def warn_of_scalar_code(program: TileProgram, refused: Mapping[int, Refusal]) -> None:
    """`refused`: why launches became scalar code; one warning for all that have the same reason."""
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


def _cost(launch: Launch) -> str:
    (code,) = launch.body
    assert isinstance(code, Code)
    found = estimate(code)
    time = found.cycles / _CYCLES
    least = "about" if found.complete else "at least"
    shown = f"{time:.2g} ms" if time < 1000 else f"{time / 1000:.2g} s"
    return f"{least} {shown} for each block of the grid, one block of a core at a time"
