"""Lower the kernels of a file for every target, run them where something can, and compare the results with float64 and
with each other. Every target is tried in a process of its own."""

from __future__ import annotations

import argparse
from pathlib import Path

from tilelang_tt.cli.usage import FILE, UsageError, add_kernel, add_sizes, completed, count

HELP = "run a kernel on every target there is and compare what they compute"
NEEDS_TILELANG = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_kernel(parser, scripts=False)
    parser.add_argument(
        "--target", action="append", metavar="TARGET", help="only this one; may be given several times (default: all)"
    )
    add_sizes(parser)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the random inputs (default: %(default)s)")
    parser.add_argument("-j", "--jobs", type=count, default=2, metavar="N", help="at once (default: %(default)s)")
    completed(parser.add_argument("--page", type=Path, metavar="FILE.md", help="also write the page"), FILE)


def run(arguments: argparse.Namespace) -> int:
    from tilelang_tt.cli.discover import functions_in
    from tilelang_tt.lowering.agreement import agreement
    from tilelang_tt.lowering.agreement_page import page, text
    from tilelang_tt.lowering.lower import resolve
    from tilelang_tt.lowering.rows import ROWS
    from tilelang_tt.lowering.same_inputs import refuse_unknown_sizes
    from tilelang_tt.lowering.trial import TORCH

    if arguments.page is not None and not arguments.page.parent.is_dir():
        raise UsageError(f"there is no folder {arguments.page.parent}")
    targets = list(dict.fromkeys(arguments.target or ROWS))
    for target in targets:
        resolve(target)
    sizes = dict(arguments.size)
    refuse_unknown_sizes(functions_in(arguments.kernel)[0].values(), sizes)
    lines = agreement(arguments.kernel, targets, sizes, seed=arguments.seed, jobs=arguments.jobs)
    print(text(lines))
    if arguments.page is not None:
        arguments.page.write_text(page(lines, arguments.kernel))
    ran = any(cell.ran for line in lines for cell in line.cells if cell.target != TORCH)
    return 0 if ran and all(line.agrees for line in lines) else 1
