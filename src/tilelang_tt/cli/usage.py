"""What the commands share: how a kernel, a target and a size are written. Nothing heavy is imported here."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

TARGET = "tenstorrent"
KERNEL_HELP = "FILE.py, FILE.py:kernel, or FILE.py:kernel(M=1024, block_M=128) with literal arguments"
CHIP_TOLERANCE = 2.0**-5  # bfloat16 results of a few steps; a wrong tile is far beyond it
# How shtab, which writes the completion of shells, completes a path.
FILE = {"bash": "_shtab_compgen_files", "zsh": "_files", "tcsh": "f"}
FOLDER = {"bash": "_shtab_compgen_dirs", "zsh": "_files -/", "tcsh": "d"}


class UsageError(Exception):
    """The command line asks for something that is not there."""


def completed(action: argparse.Action, how: dict[str, str]) -> argparse.Action:
    """Let shells complete this argument with files or folders."""
    action.complete = how  # type: ignore[attr-defined]  # shtab reads it
    return action


def add_kernel(parser: argparse.ArgumentParser, *, scripts: bool = True) -> None:
    """`scripts`: the kernel may also be one that a script builds."""
    completed(parser.add_argument("kernel", help=KERNEL_HELP), FILE)
    if not scripts:
        return
    parser.add_argument(
        "--run",
        dest="run_script",
        action="store_true",
        help="run FILE.py as a script and take the kernel that it builds; FILE.py:name if there are several; arguments "
        "of the script go at the end, after --",
    )
    parser.set_defaults(script_args=[])


def add_sizes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--size", type=size, action="append", default=[], metavar="NAME=N", help="of a dynamic axis")


def add_target(parser: argparse.ArgumentParser, default: str | None = None, *, places: bool = True) -> None:
    """Which target; where its tensors lie and which core does what may be said apart, without quotes inside quotes."""
    own = "the kernel's own, or tenstorrent"
    parser.add_argument("--target", type=target, default=default, help=f"default: {default or own}")
    if places:
        parser.add_argument("--layout", metavar="JSON", help="""as TT.layout, by tensor: '{"A": {"memory": "L1"}}'""")
        parser.add_argument(
            "--schedule", metavar="WORDS", help="as TT.schedule: policy:rectangle,order:z,cores:4x4+2+1"
        )


def default_target() -> str:
    """A Tenstorrent target from the environment, so that its options reach the script; or the plain one."""
    text = os.environ.get("TILELANG_DEFAULT_TARGET", "")
    return text if TARGET in text else TARGET


def target(text: str) -> str:
    # TVM comes along: only for command lines that name a target.
    from tilelang_tt import register
    from tilelang_tt.diagnostics import TargetError

    register()
    from tilelang_tt.target import normalize

    try:
        ours = normalize(text)
    except TargetError as error:
        raise argparse.ArgumentTypeError(f"{error.message}; {error.help}") from error
    if ours is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not a Tenstorrent target")
    return text


def put_places_into_target(arguments: argparse.Namespace) -> None:
    """Put --layout and --schedule into --target."""
    said = {name: getattr(arguments, name, None) for name in ("layout", "schedule")}
    if said == {"layout": None, "schedule": None}:
        return
    from tilelang_tt.target import OPTIONS

    for name, text in said.items():
        if text is not None:
            spec = OPTIONS[name]
            try:
                value = spec.text(spec.parse(text))
            except ValueError as error:
                raise UsageError(f"--{name} cannot be {text!r}: {error or f'valid values: {spec.valid}'}") from None
            arguments.target = f"{arguments.target or TARGET} -{name}={value}"


def size(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if not name.isidentifier() or not number.isdecimal() or int(number) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=N with a size N of at least 1")
    return name, int(number)


def sizes_of(arguments: argparse.Namespace, kernel: Any) -> dict[str, int]:
    """--size by name; a name that the kernel has not is refused."""
    sizes: dict[str, int] = dict(arguments.size)
    known = kernel.compiled.plan.sizes
    for name in sizes:
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "all of its sizes are known"
            raise UsageError(f"'{kernel.compiled.name}' has no dynamic axis '{name}'; {has}")
    return sizes


def count(text: str) -> int:
    """A number of things: at least one."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of at least 1")
    return int(text)


def seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a time in seconds above 0")
    return number


def duration(text: str) -> float:
    """A time such as 90s, 2m or 1h, in seconds."""
    factors = {"s": 1, "m": 60, "h": 3600}
    number, unit = text[:-1], text[-1:]
    if unit not in factors or not number.replace(".", "", 1).isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not a time such as 90s, 2m or 1h")
    return float(number) * factors[unit]


def existing_file(text: str) -> Path:
    path = Path(text)
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    return path


def core(text: str) -> tuple[int, int]:
    """X,Y of a core."""
    x, _, y = text.partition(",")
    if not (x.isdecimal() and y.isdecimal()):
        raise argparse.ArgumentTypeError(f"it is X,Y, for example 0,0; not {text!r}")
    return int(x), int(y)


def add_core(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--core", type=core, default=(0, 0), metavar="X,Y", help=f"{what} (default: 0,0)")
