"""Write a minimal backend for another chip as a package of its own: target, manifest, pipeline, code generation, an
interpreter that runs what is generated, tests. It installs and runs a GEMM; docs/add_a_backend.md goes on."""

from __future__ import annotations

import argparse
from pathlib import Path

from tilelang_tt.cli.usage import FOLDER, completed

HELP = "write a minimal backend for another chip, as a package of its own"
NEEDS_TILELANG = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="of the target, as in 'toy'")
    completed(parser.add_argument("directory", metavar="DIR", type=Path), FOLDER)


def run(arguments: argparse.Namespace) -> int:
    from tilelang_tt.new_backend.write import new_backend

    for file in new_backend(arguments.name, arguments.directory):
        print(file)
    return 0
