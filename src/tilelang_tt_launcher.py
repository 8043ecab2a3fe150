"""Start of the `tilelang-tt` command.

It lies beside the package so that the package can see that the command was started, and leaves the imports of
TileLang and torch to the commands that need them: `tilelang-tt --help` answers at once.
"""

from __future__ import annotations

import sys

started = False  # whether the command is what imports the package


def main() -> int:
    global started
    started = True
    from tilelang_tt.cli.main import main as run

    return run(sys.argv[1:])
