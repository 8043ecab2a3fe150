"""The error of a verifier: a bug of this package, not of the user's kernel."""

from __future__ import annotations

from tilelang_tt.diagnostics import InternalError, Location


def fail(code: str, message: str, location: Location | None = None) -> InternalError:
    return InternalError(code, message, location=location, help="this is a bug of tilelang-tt: please report it")
