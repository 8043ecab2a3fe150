"""The `tilelang-tt` command: one file of `commands/` for each word that may follow it."""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import sys
import traceback
from typing import Protocol, cast

import tilelang_tt
from tilelang_tt import short_errors
from tilelang_tt.cli import commands
from tilelang_tt.cli.usage import UsageError, put_places_into_target
from tilelang_tt.diagnostics import TenstorrentError, TenstorrentWarning
from tilelang_tt.version import __version__

INTERRUPTED = 130  # as shells have it: 128 and the number of the signal
BROKEN_PIPE = 141


class Command(Protocol):
    """A file of `commands/`. Its docstring is its description, and its name the word that users type."""

    HELP: str  # one line
    NEEDS_TILELANG: bool  # False: it starts without

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, arguments: argparse.Namespace) -> int: ...


def main(argv: list[str]) -> int:
    try:
        words, script_args = _split(argv)
        arguments = parser().parse_args(words)
        if script_args:
            if not getattr(arguments, "run_script", False):
                raise UsageError(f"there is no argument {script_args[0]!r}; arguments of a script go with --run")
            arguments.script_args = script_args
        if arguments.command.NEEDS_TILELANG:
            tilelang_tt.register()
        put_places_into_target(arguments)
        status: int = arguments.command.run(arguments)
        sys.stdout.flush()
    except (TenstorrentError, TenstorrentWarning) as error:
        if short_errors.wanted():
            print(short_errors.short(error), file=sys.stderr)
        else:
            traceback.print_exception(error)
        return 1
    except UsageError as error:
        print(f"tilelang-tt: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough. Python would complain once more when it closes the output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    return status


def _split(argv: list[str]) -> tuple[list[str], list[str]]:
    """What is behind `--` is for a script; `run` and its kin hand everything on by themselves."""
    if "--" not in argv or argv[0] == "run":
        return argv, []
    at = argv.index("--")
    return argv[:at], argv[at + 1 :]


def all_commands() -> dict[str, Command]:
    """By the word that users type."""
    names = sorted(module.name for module in pkgutil.iter_modules(commands.__path__))
    return {
        name.replace("_", "-"): cast(Command, importlib.import_module(f"{commands.__name__}.{name}")) for name in names
    }


def parser() -> argparse.ArgumentParser:
    whole = argparse.ArgumentParser(
        prog="tilelang-tt", description="TileLang kernels on Tenstorrent devices", allow_abbrev=False
    )
    whole.add_argument("--version", action="version", version=f"tilelang-tt {__version__}")
    rows = whole.add_subparsers(required=True, metavar="COMMAND")
    for name, command in all_commands().items():
        row = rows.add_parser(name, help=command.HELP, description=command.__doc__, allow_abbrev=False)
        command.add_arguments(row)
        row.set_defaults(command=command)
    return whole
