"""The page docs/reference/passes.md, from the records of passes."""

from __future__ import annotations

from collections.abc import Iterable

from tilelang_tt.ir.kernel import KernelSet
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.passes.record import Pass, Stage

_HEAD = """\
# Passes

Generated from the records in `src/tilelang_tt/pipeline.py`; `make golden` rewrites it, `make test` fails if it is
stale.

The compiler is this list, in order. What a pass *ensures* is checked behind it and holds from then on: of tile programs
it is checked after every later pass, of kernels once more at the end. What it *needs* was ensured by one before it.
`tilelang-tt explain` shows a kernel after each pass.

A launch that a pass, or the frontend, refuses becomes scalar code. Some passes are for such launches, and some for both
kinds: the last column says so.
"""

_TABLE = "| pass | what it does | needs | ensures | launches of |\n|---|---|---|---|---|"


def page(passes: Iterable[Pass[TileProgram] | Pass[KernelSet]]) -> str:
    """The whole page."""
    rows = tuple(passes)
    parts = [_HEAD]
    for stage in Stage:
        own = [_row(one) for one in rows if one.stage is stage]
        parts.append("\n".join([f"## {stage.name}. {stage.value}\n", _TABLE, *own]) + "\n")
    known = dict.fromkeys((found.name, found.text) for one in rows for found in (*one.needs, *one.ensures))
    lines = [f"| {name} | {text} |" for name, text in known]
    parts.append("\n".join(["## What is ensured\n", "| name | meaning |", "|---|---|", *lines]) + "\n")
    return "\n".join(parts)


def _row(one: Pass[TileProgram] | Pass[KernelSet]) -> str:
    needs, ensures = (", ".join(found.name for found in invariants) for invariants in (one.needs, one.ensures))
    kinds = ", ".join(kind.value for kind in one.of)
    return f"| `{one.name}` | {one.summary} | {needs} | {ensures} | {kinds} |"
