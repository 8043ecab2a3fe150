"""Find the fastest blocks and placement of a kernel by the clock of the virtual device; no card is needed. What was
tried is kept, so that a second call goes on where the first one stopped."""

from __future__ import annotations

import argparse
from pathlib import Path

from tilelang_tt.cli.usage import FILE, add_kernel, add_sizes, add_target, completed, count, duration

HELP = "find the fastest blocks and placement of a kernel, without a card"
NEEDS_TILELANG = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_kernel(parser, scripts=False)
    add_target(parser)
    add_sizes(parser)
    parser.add_argument("--budget", type=duration, default=120.0, metavar="TIME", help="90s, 2m, 1h (default: 2m)")
    parser.add_argument(
        "--try",
        dest="choices",
        type=_choices,
        action="append",
        default=[],
        metavar="NAME=A,B",
        help="try these values of an argument or a target option, and nothing else; spaces part values with commas",
    )
    parser.add_argument("--jobs", type=count, metavar="N", help="choices under way at a time (default: processors)")
    parser.add_argument("--executor", default="local", metavar="WHERE", help="local, or dask://HOST:PORT")
    parser.add_argument("--again", action="store_true", help="forget what earlier searches found")
    parser.add_argument(
        "--check", type=duration, default=60.0, metavar="TIME", help="for comparing results; 0s: do not (default: 60s)"
    )
    parser.add_argument("--json", action="store_true", help="everything, as JSON")
    completed(parser.add_argument("--picture", type=Path, metavar="FILE.svg", help="draw what was tried"), FILE)


def run(arguments: argparse.Namespace) -> int:
    import json

    from tilelang_tt.cli.tune import with_progress
    from tilelang_tt.tuning.page import page, picture, to_json

    found = with_progress(
        arguments.kernel,
        target=arguments.target,
        sizes=dict(arguments.size),
        choices=dict(arguments.choices),
        budget=arguments.budget,
        executor=arguments.executor,
        jobs=arguments.jobs,
        again=arguments.again,
        check=arguments.check,
    )
    print(json.dumps(to_json(found), indent=2, default=str) if arguments.json else page(found))
    if arguments.picture is not None:
        arguments.picture.write_text(picture(found))
    return 0


def _choices(text: str) -> tuple[str, list[str]]:
    name, _, values = text.partition("=")
    found = values.split() if " " in values else values.split(",")
    if not name.isidentifier() or not all(found):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=A,B")
    return name, found
