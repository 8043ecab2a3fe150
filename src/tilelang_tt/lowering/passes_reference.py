"""The page docs/reference/every_pass.md: the shared frontend, TileLang's GPU path and our passes, as they run."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterable
from typing import Any

from tilelang_tt.frontend.lift import FIRST_STEPS, STEPS
from tilelang_tt.frontend.tir.run_tilelang_passes import run_tilelang_passes
from tilelang_tt.lowering.traced_passes import Traced, file_of, passes_of_target, shared_passes
from tilelang_tt.options import Options
from tilelang_tt.passes.record import Pass, Stage
from tilelang_tt.pipeline import KERNEL_PASSES, TILE_PASSES, compile_function
from tilelang_tt.version import TILELANG_VERSION

GPU = {"kind": "cuda", "arch": "sm_80"}
_LONGEST = 16  # lines of a difference
_MOST = 5  # kinds in a cell

_HEAD = f"""\
# Every pass, as it runs

`make golden` rewrites this page from the running compilers, with TileLang {TILELANG_VERSION}; `make test` fails if it
is stale. One GEMM is lowered for a GPU ({GPU["kind"]}, {GPU["arch"]}) and for Tenstorrent.

Nobody keeps a list: TVM reports each pass of TileLang, and the program before it is compared with the one behind it.
*Consumes* are the kinds of nodes that are gone behind a pass, *produces* those that are new. For our own passes they
are the invariants that a pass needs and ensures, which are checked ([passes.md](passes.md)). A name without a dot is
that of the function of Python which makes the pass.
"""

Shown = list[tuple[str, str, str]]  # name, program before, program behind


def page(func: Any) -> str:
    gpu = passes_of_target(func, GPU)
    stages: list[tuple[str, str]] = []

    def compiled() -> None:
        stages.extend(compile_function(func, Options(), stages=True).stages)

    shared = shared_passes(compiled)
    ours = [(name, stages[at - 1][1], text) for at, (name, text) in enumerate(stages) if at]
    traced = [(one.name, one.before, one.after) for one in gpu]
    parts = [
        _HEAD,
        _shared(shared, {one.name for one in gpu}),
        f"## TileLang's GPU path\n\n{_table(map(_row, gpu), _TRACED)}",
        _ours(),
        _programs("The GEMM on its way to a GPU", gpu[0].before, traced, "text"),
        _programs("The GEMM on its way to Tenstorrent", stages[0][1], ours, "text"),
    ]
    return "\n".join(parts)


_TRACED = ("pass", "stage", "to this kernel", "consumes", "produces", "file")
_OURS = ("pass", "stage", "launches of", "consumes", "produces", "file")


def _table(rows: Iterable[tuple[str, ...]], head: tuple[str, ...]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    numbered = [("", *lines[0]), ("---:", *lines[1]), *((str(at), *row) for at, row in enumerate(lines[2:], 1))]
    return "\n".join("| " + " | ".join(row) + " |" for row in numbered) + "\n"


def _row(one: Traced) -> tuple[str, ...]:
    cells = (_some(one.consumes), _some(one.produces))
    return f"`{one.name}`", one.stage, one.category, *cells, file_of(one.name)


def _some(kinds: tuple[str, ...]) -> str:
    more = f" and {len(kinds) - _MOST} more" if len(kinds) > _MOST else ""
    return ", ".join(kinds[:_MOST]) + more


def _shared(shared: list[Traced], of_gpu: set[str]) -> str:
    both = [one.name for one in shared if one.name in of_gpu]
    text = (
        "## The shared frontend\n\nPasses of TileLang that run before our lift. "
        f"The GPU path runs {len(set(both))} of these {len({one.name for one in shared})} too.\n\n"
    )
    return text + _table(map(_row, shared), _TRACED)


def _ours() -> str:
    rows: list[tuple[str, ...]] = [_step(step) for step in (*FIRST_STEPS, *STEPS)]
    rows.append(("`lift`", "to the tile IR", "tiles", "", "known buffers, types", "frontend/lift.py"))
    rows += [_own(one) for one in TILE_PASSES]
    rows.append(
        ("`split_device_kernel`", Stage.D.name, "tiles, scalar code", "", "", "passes/d_split/split_device_kernel.py")
    )
    rows += [_own(one) for one in KERNEL_PASSES]
    return f"## Ours\n\n{_table(rows, _OURS)}"


def _step(step: Callable[..., Any]) -> tuple[str, ...]:
    note = ": the shared frontend" if step is run_tilelang_passes else ""
    return f"`{step.__name__}`", f"on TIR{note}", "tiles, scalar code", "", "", _file(step)


def _own(one: Pass[Any]) -> tuple[str, ...]:
    needs, ensures = (", ".join(found.name for found in some) for some in (one.needs, one.ensures))
    return f"`{one.name}`", one.stage.name, ", ".join(kind.value for kind in one.of), needs, ensures, _file(one.run)


def _file(function: Callable[..., Any]) -> str:
    module = sys.modules[function.__module__].__name__
    return module.removeprefix("tilelang_tt.").replace(".", "/") + ".py"


def _programs(title: str, first: str, steps: Shown, language: str) -> str:
    """The program at first, what each pass changes in it, and the program at last."""
    parts = [f"## {title}\n", "Before all passes:\n", _fenced(first, language)]
    for name, before, after in steps:
        if before != after:
            parts += [f"`{name}`\n", _fenced("\n".join(_difference(before, after)), "diff")]
    return "\n".join([*parts, "Behind the last:\n", _fenced(steps[-1][2], language)])


def _difference(before: str, after: str) -> list[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    shown = [line.rstrip() for line in lines if not line.startswith(("---", "+++", "@@"))]
    more = len(shown) - _LONGEST
    return [*shown[:_LONGEST], f"... and {more} more lines"] if more > 0 else shown


def _fenced(text: str, language: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```\n"
