"""Say what is found on this machine, and what to do about the rest."""

from __future__ import annotations

import argparse

HELP = "say what is found on this machine and what is missing"
NEEDS_TILELANG = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--strict", action="store_true", help="fail unless device 'ttnn' can run too")


def run(arguments: argparse.Namespace) -> int:
    from tilelang_tt.cli.doctor import doctor

    return doctor(strict=arguments.strict)
