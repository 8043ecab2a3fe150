"""Tell the user what runs as scalar code, why, and what that costs."""

from __future__ import annotations

from tilelang_tt.diagnostics import ResourceError, UnsupportedError, warn
from tilelang_tt.ir.tile import TileProgram


def warn_of_scalar_code(program: TileProgram, refusal: UnsupportedError | ResourceError) -> None:
    names = ", ".join(f"'{launch.name}'" for launch in program.launches)
    warn(
        "TT702",
        f"{names} runs as scalar code, element by element on one processor of a core: {refusal.message}",
        location=refusal.location or program.launches[0].location,
        help=refusal.help,
    )
