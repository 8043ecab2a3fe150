"""Show what the compiler decided about a kernel, and why: decisions, estimated time, L1 map, work map."""

from __future__ import annotations

import argparse
import json

from tilelang_tt.cli.usage import add_kernel, add_target

HELP = "show decisions, estimated time, L1 map and work map of a kernel"
NEEDS_TILELANG = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_kernel(parser)
    add_target(parser)
    parser.add_argument("--stages", action="store_true", help="also what each pass changes in the program")
    parser.add_argument("--texts", action="store_true", help="also the whole program after each pass")
    parser.add_argument("--all", action="store_true", help="every decision with its place, and every map")
    parser.add_argument("--json", action="store_true", help="everything, as JSON; with --stages the programs, too")
    parser.add_argument("--no-time", action="store_true", help="leave out the estimated time")


def run(arguments: argparse.Namespace) -> int:
    from tilelang_tt.cli.discover import kernel_of

    kernel = kernel_of(arguments)
    time = not arguments.no_time
    if arguments.json:
        print(json.dumps(kernel.explain_json(stages=arguments.stages or arguments.texts, time=time), indent=2))
        return 0
    stages = True if arguments.texts else "changes" if arguments.stages else False
    print(kernel.explain(stages=stages, time=time, whole=arguments.all), end="")
    return 0
