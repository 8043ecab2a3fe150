"""Say how long a kernel takes on the chip and where the time goes: waits by buffer and line, critical path, roofline,
and the three changes that would help most."""

from __future__ import annotations

import argparse
from pathlib import Path

from tilelang_tt.cli.usage import FILE, add_kernel, add_sizes, add_target, completed

HELP = "show where the time of a kernel goes on the chip"
NEEDS_TILELANG = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_kernel(parser)
    add_target(parser)
    add_sizes(parser)
    parser.add_argument("--launch", metavar="NAME", help="look at this launch (default: the longest)")
    parser.add_argument("--json", action="store_true", help="everything, as JSON")
    completed(parser.add_argument("--trace", type=Path, metavar="FILE.json", help="write a trace for Perfetto"), FILE)


def run(arguments: argparse.Namespace) -> int:
    from tilelang_tt.cli.discover import kernel_of
    from tilelang_tt.cli.profile import profile

    kernel = kernel_of(arguments)
    sizes = dict(arguments.size)  # also of scalars; `profile` checks the names
    page = profile(kernel, sizes, launch=arguments.launch, as_json=arguments.json, trace=arguments.trace)
    print(page, end="")
    return 0
