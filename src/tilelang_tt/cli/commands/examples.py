"""Copy the package's examples to a directory, to run and to change them."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from tilelang_tt.cli.usage import FOLDER, UsageError, completed

HELP = "copy the examples to a directory"
NEEDS_TILELANG = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    completed(parser.add_argument("directory", type=Path, help="made if it is not there"), FOLDER)


def run(arguments: argparse.Namespace) -> int:
    source, directory = examples(), arguments.directory
    files = sorted(file for file in source.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    targets = [directory / file.relative_to(source) for file in files]
    there = [target for target in targets if target.exists()]
    if there:
        raise UsageError(f"{there[0]} is there already; nothing was copied")
    for file, target in zip(files, targets, strict=True):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
        print(target)
    return 0


def examples() -> Path:
    """In the installed package, or beside its sources."""
    package = Path(__file__).parents[2]
    installed = package / "examples"
    return installed if installed.is_dir() else package.parents[1] / "examples"
