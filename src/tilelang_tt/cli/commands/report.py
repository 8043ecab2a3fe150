"""Write one HTML page with everything there is to see of a kernel: cores, L1, streams of tiles, timeline, roofline,
source beside stages beside C++, warnings. It needs no network, and nothing beside it."""

from __future__ import annotations

import argparse
from pathlib import Path

from tilelang_tt.cli.usage import FILE, add_kernel, add_sizes, add_target, completed

HELP = "write an HTML page that shows a kernel: maps, streams, timeline, roofline, code"
NEEDS_TILELANG = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_kernel(parser)
    add_target(parser)
    add_sizes(parser)
    where = parser.add_argument("-o", "--output", type=Path, default=Path("report.html"), metavar="FILE.html")
    completed(where, FILE)


def run(arguments: argparse.Namespace) -> int:
    from tilelang_tt.cli.discover import kernel_of

    kernel = kernel_of(arguments)
    print(kernel.report(arguments.output, **dict(arguments.size)))
    return 0
