"""The agreement as text for a terminal and as a page of the reference."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import torch

from tilelang_tt.lowering.agreement import Cell, Line, not_run
from tilelang_tt.target import build_id
from tilelang_tt.version import TILELANG_VERSION

_PAGE = """\
# Agreement

`tilelang-tt agree FILE.py --page PAGE.md` writes this page, for `{reference}`. Every kernel of the file is
lowered for each target, run where there is something to run it, and compared. A number is the error of the worst
element that the kernel writes, relative to it or, if that is larger, to the root mean square of its tensor. It is
measured against float64: the kernel itself on TileLang's CPU backend with 64 bits to every float. `torch` is a function
of torch in float64, which checks that reference.
`built` and `emitted` say how far a kernel came that did not run.

Measured with tilelang-tt {build}, TileLang {tilelang}, {torch}, Python {python}, on {machine}.

{table}

{verdict}

## Between targets

The largest difference between two targets that ran a kernel, measured in the same way, and what their number formats
allow.

{pairs}

## Not run

{missing}
"""


def page(lines: list[Line], reference: str) -> str:
    return _PAGE.format(
        reference=reference,
        build=f"{build_id()}{_commit()}",
        tilelang=TILELANG_VERSION,
        torch=f"torch {torch.__version__}",
        python=platform.python_version(),
        machine=_machine(),
        table=table(lines),
        verdict=verdict(lines),
        pairs=_pairs(lines),
        missing=_missing(lines) or "Everything ran.",
    )


def _commit() -> str:
    """Of the checkout that the package lies in, if it lies in one: a hash of sources tells nobody where they are."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return ""
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f" (commit {done.stdout.strip()})"


def _machine() -> str:
    gpu = f"with {torch.cuda.get_device_name()}" if torch.cuda.is_available() else "without a GPU"
    return f"{platform.system()} {platform.machine()} {gpu}"


def table(lines: list[Line]) -> str:
    columns = list(dict.fromkeys(cell.target for line in lines for cell in line.cells))
    rows = [["kernel", *columns]]
    for line in lines:
        by_target = {cell.target: _word(cell) for cell in line.cells}
        rows.append([line.kernel, *(by_target.get(column, "") for column in columns)])
    return _aligned(rows)


def _word(cell: Cell) -> str:
    if cell.error is None:
        return cell.trial.step
    return f"{cell.error:.1e}" if cell.agrees else f"**{cell.error:.1e}** > {cell.allowed:.1e}"


def verdict(lines: list[Line]) -> str:
    wrong = [line.kernel for line in lines if not line.agrees]
    ran = sum(cell.ran for line in lines for cell in line.cells if cell.target != "torch")
    if not ran:
        return "NOTHING RAN, so nothing was compared."
    if wrong:
        problems = [f"{line.kernel}: {line.problem}" for line in lines if line.problem]
        return "\n".join([f"DIFFERENT, or not to be compared: {', '.join(wrong)}.", *problems])
    runs, kernels = _counted(ran, "run"), _counted(len(lines), "kernel")
    return f"All agree with float64 and with each other: {runs} of {kernels}."


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _pairs(lines: list[Line]) -> str:
    rows = [["kernel", "targets", "difference", "allowed"]]
    for line in lines:
        if line.pairs:
            worst = max(line.pairs, key=lambda pair: pair.error)
            rows.append([line.kernel, f"{worst.left}, {worst.right}", f"{worst.error:.1e}", f"{worst.allowed:.1e}"])
    return _aligned(rows) if len(rows) > 1 else "Fewer than two targets ran."


def _missing(lines: list[Line]) -> str:
    found = []
    for target, reasons in not_run(lines).items():
        for why, kernels in reasons.items():
            which = "every kernel" if len(kernels) == len(lines) else ", ".join(kernels)
            found.append(f"- **{target}**, {which}: {why}")
    return "\n".join(found)


def text(lines: list[Line]) -> str:
    """For a terminal; what was not run is said in capitals."""
    parts = [table(lines), verdict(lines)]
    missing = _missing(lines).replace("- **", "NOT RUN  ").replace("**", "")
    return "\n\n".join([*parts, missing] if missing else parts)


def _aligned(rows: list[list[str]]) -> str:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])
