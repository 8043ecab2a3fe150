"""List the targets a kernel can be lowered for, and what each does on this machine: emit source, build it, run it.
Each is tried with three small kernels, in a process of its own."""

from __future__ import annotations

import argparse

HELP = "what each target does on this machine: emits, builds, runs"
NEEDS_TILELANG = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", nargs="*", metavar="TARGET", help="only these (default: all)")


def run(arguments: argparse.Namespace) -> int:
    from tilelang_tt.lowering.survey import survey, text

    print(text(survey(arguments.target)))
    return 0
