"""Start of the `tilelang-tt` command.

It lies beside the package because importing `tilelang_tt` may already fail for a reason the user can
mend (another TileLang is installed), and that deserves a message instead of a traceback.
"""

from __future__ import annotations

import sys


def main() -> int:
    try:
        from tilelang_tt.cli.main import main as run
    except RuntimeError as problem:
        if type(problem).__module__ != "tilelang_tt.diagnostics":
            raise
        print(problem, file=sys.stderr)
        return 1
    return run(sys.argv[1:])
