"""Run a script with Tenstorrent as TileLang's default target. CUDA tensors, streams and events become the host's. A
kernel whose decorator names another target, such as target='cuda', keeps it."""

from __future__ import annotations

import argparse

from tilelang_tt.cli.usage import FILE, add_target, completed, default_target, existing_file

HELP = "run a script on the virtual device"
NEEDS_TILELANG = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_target(parser, default=default_target())
    completed(parser.add_argument("script", metavar="FILE.py"), FILE)
    parser.add_argument("args", nargs=argparse.REMAINDER, help="arguments of the script")


def run(arguments: argparse.Namespace) -> int:
    from tilelang_tt.cli.run import run_script

    return run_script(existing_file(arguments.script), arguments.args, arguments.target)
