"""Run every example of a TileLang checkout, unmodified, with small sizes, each in a process of its own, and say of each
kernel whether it compiled, ran and was right, and if not, why. A folder without examples, but with pytest files: every
test, with Tenstorrent in place of CUDA, judged by its own comparisons."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from tilelang_tt.cli.usage import FILE, FOLDER, add_target, completed, count, default_target, seconds

HELP = "run every example of a TileLang checkout"
NEEDS_TILELANG = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    where = "a checkout of TileLang, or a folder of examples or tests"
    completed(parser.add_argument("directory", type=Path, metavar="DIR", help=where), FOLDER)
    add_target(parser, default=default_target(), places=False)
    parser.add_argument("-j", "--jobs", type=count, default=os.cpu_count() or 1, metavar="N", help="scripts at a time")
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=300,
        metavar="SECONDS",
        help="of processor time, per script and size; by the clock, per test (default: %(default)s)",
    )
    kept = parser.add_argument(
        "--results",
        type=Path,
        default=Path("conformance.jsonl"),
        metavar="FILE",
        help="scripts it holds are not run again (default: %(default)s)",
    )
    page = parser.add_argument("--report", type=Path, metavar="FILE.md", help="write the table to this file")
    for action in (kept, page):
        completed(action, FILE)
    parser.add_argument("--only", metavar="PATTERN", help="scripts whose path fits, such as 'examples/gemm/*'")


def run(arguments: argparse.Namespace) -> int:
    from tilelang_tt.cli.conformance import conformance

    return conformance(
        arguments.directory,
        target=arguments.target,
        jobs=arguments.jobs,
        seconds=arguments.timeout,
        results=arguments.results,
        page=arguments.report,
        only=arguments.only,
    )
