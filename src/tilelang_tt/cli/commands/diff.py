"""Run interpreter, virtual device (exact, chip) and, where there is one, ttnn on the same inputs, and show the first
tensor, tile and element where they part, with bits and the line that wrote it."""

from __future__ import annotations

import argparse

from tilelang_tt.cli.usage import CHIP_TOLERANCE, add_kernel, add_sizes, add_target, sizes_of

HELP = "run a kernel in every way there is and show where answers part"
NEEDS_TILELANG = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_kernel(parser)
    add_target(parser)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the random inputs (default: %(default)s)")
    add_sizes(parser)
    parser.add_argument(
        "--tolerance",
        type=float,
        default=CHIP_TOLERANCE,
        metavar="X",
        help="largest error of the chip's numbers, relative to an element or its tensor's root mean square "
        "(default: %(default)s)",
    )
    parser.add_argument("--strict", action="store_true", help="fail unless ttnn ran too")


def run(arguments: argparse.Namespace) -> int:
    from tilelang_tt.cli.diff import diff, text
    from tilelang_tt.cli.discover import kernel_of

    kernel = kernel_of(arguments)
    report = diff(
        kernel.prim_func,
        kernel.compiled,
        kernel.options,
        sizes_of(arguments, kernel),
        seed=arguments.seed,
        tolerance=arguments.tolerance,
    )
    print(text(report))
    return 0 if report.equal and (report.ttnn_ran or not arguments.strict) else 1
