"""The passes that TileLang runs for a target, as they run: what each takes out of the program and what it brings in.

Nothing here lists passes. A kernel is lowered, TVM reports every pass before and after, and the two programs are
compared: by the kinds of nodes in them, and line by line.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import tvm
from tvm import tirx

from tilelang_tt import tilelang_hooks as hooks

_ATTRIBUTE = "function attribute"
_UNNAMED = "pass_fn"  # what TVM calls a function of Python that was given no name


@dataclass(frozen=True)
class Traced:
    """One pass over one kernel."""

    name: str  # as TVM registers it
    stage: str  # what the program before it is made of
    before: str
    after: str
    consumes: tuple[str, ...]  # kinds of nodes that are gone behind it
    produces: tuple[str, ...]  # and new

    @property
    def changed(self) -> bool:
        return self.before != self.after

    @property
    def category(self) -> str:
        """What it did to this kernel."""
        if not self.changed:
            return "nothing to do"
        return "lowers" if self.consumes else "adds" if self.produces else "rewrites"

    @property
    def difference(self) -> list[str]:
        lines = difflib.unified_diff(self.before.splitlines(), self.after.splitlines(), lineterm="", n=0)
        return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


class _Observer(hooks.PassEventObserver):
    def __init__(self) -> None:
        self.found: list[Traced] = []

    def pass_started(self, mod: Any, _event: Any) -> tuple[str, set[str]]:
        return _text(mod), _kinds(mod)

    def pass_finished(self, mod: Any, event: Any, state: tuple[str, set[str]]) -> None:
        text, kinds = state
        after = _kinds(mod)
        self.found.append(
            Traced(event.name, _stage(kinds), text, _text(mod), _sorted(kinds - after), _sorted(after - kinds))
        )


def traced(run: Callable[[list[Any]], object]) -> list[Traced]:
    """`run` gets the instruments for its pass context."""
    observer = _Observer()
    run([hooks.StackedPassInstrument(observer, capture_nested=False)])
    return observer.found


def passes_of_target(func: Any, target: Any) -> list[Traced]:
    resolved = hooks.determine_target(target, return_object=True)
    return traced(lambda instruments: hooks.lower_in_scope(func, resolved, {}, False, instruments))


def shared_passes(compile_ours: Callable[[], object]) -> list[Traced]:
    """Those of TileLang's passes that our frontend runs."""

    def run(instruments: list[Any]) -> None:
        with tvm.transform.PassContext(opt_level=3, instruments=instruments):
            compile_ours()

    return traced(run)


def _sorted(kinds: set[str]) -> tuple[str, ...]:
    return tuple(sorted(kinds))


def _stage(kinds: set[str]) -> str:
    if any(kind.startswith("tl.tileop") for kind in kinds):
        return "tiles"
    return "host and device" if f"{_ATTRIBUTE} tirx.is_global_func" in kinds else "loops and threads"


def _text(module: Any) -> str:
    text = module.script(show_meta=False)
    return re.sub(r"metadata\[.*?\]\[\d+\]", "metadata", text)


def _kinds(module: Any) -> set[str]:
    """Statements, operations, memories and annotations of a module."""
    found: set[str] = set()

    def visit(node: Any) -> None:
        if isinstance(node, tirx.For):
            found.add(f"{tirx.ForKind(node.kind).name.lower()} loop")
        elif isinstance(node, tirx.AttrStmt):
            found.add(f"{node.attr_key} attribute")
        elif isinstance(node, tirx.SBlock):
            found.add("block")
            found.update(str(key) for key in node.annotations)
            found.update(f"{buffer.scope()} buffer" for buffer in node.alloc_buffers)
        elif isinstance(node, tirx.Call):
            found.add(str(getattr(node.op, "name", "")))
        elif isinstance(node, tirx.BufferLoad | tirx.BufferStore):
            found.add(f"{len(node.indices)}-dimensional access")
        elif isinstance(node, tirx.Stmt):
            found.add(type(node).__name__)

    for func in module.functions.values():
        if isinstance(func, tirx.PrimFunc):
            tirx.stmt_functor.post_order_visit(func.body, visit)
            found.update(f"{_ATTRIBUTE} {key}" for key in (func.attrs.keys() if func.attrs else ()))
    return found - {""}


@cache
def file_of(name: str) -> str:
    """Where a pass is registered, in the sources that TileLang's wheel brings."""
    if name == _UNNAMED:
        return "in Python"
    root = Path(hooks.tilelang.__file__).parent
    for file in (*sorted((root / "src").rglob("*.cc")), *sorted((root / "transform").rglob("*.py"))):
        text = file.read_text(encoding="utf-8", errors="replace")
        if f'"{name}"' in text or (file.suffix == ".py" and f"def {name.removeprefix('tl.')}(" in text):
            return f"tilelang/{file.relative_to(root)}"
    return "of TVM" if not name.startswith("tl.") else "not in the wheel"
