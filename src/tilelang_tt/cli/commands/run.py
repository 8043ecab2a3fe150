"""Run a script with Tenstorrent as TileLang's default target. CUDA tensors, streams and events become the host's. A
kernel whose decorator names another target, such as target='cuda', keeps it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tilelang_tt.cli.usage import FILE, add_core, add_target, completed, default_target, existing_file

if TYPE_CHECKING:
    from tilelang_tt.execution.dump import Wanted

HELP = "run a script on the virtual device"
NEEDS_TILELANG = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_target(parser, default=default_target())
    parser.add_argument(
        "--dump",
        type=_wanted,
        metavar="BLOCK@LOOP=N",
        help="show what a block of a kernel holds in one round of a loop, such as scores@n=2",
    )
    add_core(parser, "whose block --dump shows")
    completed(parser.add_argument("script", metavar="FILE.py"), FILE)
    parser.add_argument("args", nargs=argparse.REMAINDER, help="arguments of the script")


def run(arguments: argparse.Namespace) -> int:
    from tilelang_tt.cli.run import dumping, run_script

    with dumping(arguments.dump, arguments.core):
        return run_script(existing_file(arguments.script), arguments.args, arguments.target)


def _wanted(text: str) -> Wanted:
    from tilelang_tt.execution.dump import Wanted

    try:
        return Wanted.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
