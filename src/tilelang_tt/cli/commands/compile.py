"""Write a kernel's files, a CMake project and a README to a directory."""

from __future__ import annotations

import argparse
from pathlib import Path

from tilelang_tt.cli.usage import FOLDER, add_kernel, add_target, completed

HELP = "write a kernel's files to a directory"
NEEDS_TILELANG = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_kernel(parser)
    completed(parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR"), FOLDER)
    add_target(parser)
    parser.add_argument("--force", action="store_true", help="replace files that differ")


def run(arguments: argparse.Namespace) -> int:
    from tilelang_tt.cli.discover import kernel_of

    kernel = kernel_of(arguments)
    directory = kernel.export(arguments.output, overwrite=arguments.force)
    for name in kernel.files:
        print(directory / name)
    return 0
