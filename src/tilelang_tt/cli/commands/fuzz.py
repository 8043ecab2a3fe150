"""Run a kernel under many schedules of the virtual device. The bits must not change."""

from __future__ import annotations

import argparse

from tilelang_tt.cli.usage import add_kernel, add_sizes, add_target, count, sizes_of

HELP = "run a kernel under many schedules of the virtual device"
NEEDS_TILELANG = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_kernel(parser)
    add_target(parser)
    add_sizes(parser)
    parser.add_argument("--seeds", type=count, default=100, metavar="N", help="schedules to run (default: %(default)s)")


def run(arguments: argparse.Namespace) -> int:
    from tilelang_tt.cli.discover import kernel_of
    from tilelang_tt.cli.fuzz import fuzz

    kernel = kernel_of(arguments)
    fuzz(kernel.compiled, arguments.seeds, sizes_of(arguments, kernel))
    print(f"{kernel.compiled.name}: {arguments.seeds} schedules, the same bits in every one")
    return 0
