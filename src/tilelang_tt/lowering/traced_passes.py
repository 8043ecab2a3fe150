"""The passes that TileLang runs for a target, as they run: what each takes out of the program and what it brings in.

Nothing here lists passes. A kernel is lowered, TVM reports every pass before and after, and the two programs are
compared: by the kinds of nodes in them, and line by line.
"""

from __future__ import annotations

import ast
import difflib
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import tvm
from tvm import tirx

from tilelang_tt import tilelang_hooks as hooks

_ATTRIBUTE = "function attribute"
_UNNAMED = "pass_fn"  # what TVM calls a function of Python that was given no name


@dataclass(frozen=True)
class Traced:
    """One pass over one kernel."""

    name: str  # as TVM registers it; of a function of Python without a name, the function that makes it
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
        self.unnamed: CodeType | None = None  # the function of Python that runs as a pass

    def watch(self, frame: FrameType, event: str, _: Any) -> None:
        """For `sys.setprofile`."""
        if event == "call" and frame.f_code.co_name == _UNNAMED:
            self.unnamed = frame.f_code

    def pass_started(self, mod: Any, _event: Any) -> tuple[str, set[str]]:
        self.unnamed = None
        return _text(mod), _kinds(mod)

    def pass_finished(self, mod: Any, event: Any, state: tuple[str, set[str]]) -> None:
        text, kinds = state
        after = _kinds(mod)
        name = _maker(self.unnamed) if event.name == _UNNAMED and self.unnamed else event.name
        self.found.append(Traced(name, _stage(kinds), text, _text(mod), _sorted(kinds - after), _sorted(after - kinds)))


def traced(run: Callable[[list[Any]], object]) -> list[Traced]:
    """`run` gets the instruments for its pass context."""
    observer = _Observer()
    before = sys.getprofile()
    sys.setprofile(observer.watch)
    try:
        run([hooks.StackedPassInstrument(observer, capture_nested=False)])
    finally:
        sys.setprofile(before)
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


def _maker(code: CodeType) -> str:
    """The function that a function stands in."""
    functions = [
        node
        for node in ast.walk(ast.parse(Path(code.co_filename).read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.lineno < code.co_firstlineno <= (node.end_lineno or 0)
    ]
    return functions[-1].name


_FOLDERS = ("src", "transform", "analysis", "cuda", "3rdparty/tvm/src")
_MADE_IN_C = re.compile(
    r'(?<!\()"((?:tl|tir|tirx|s_tir)\.\w+)"(?:,\s*\{[^}]*\})?\s*\);'
)  # the last argument of what makes it
_MADE_IN_PYTHON = re.compile(r'_pass\([^)]*?name="([\w.]+)"|^def (\w+)\(', re.MULTILINE)


@cache
def _made() -> dict[str, str]:
    """Where each pass is made, in the sources that TileLang's wheel brings."""
    found: dict[str, str] = {}
    for name, file in _makers():
        # Of two passes with one name, the one whose file is called so.
        if name not in found or name.rpartition(".")[2].lower() == Path(file).stem.replace("_", ""):
            found[name] = file
    return found


def _makers() -> Iterator[tuple[str, str]]:
    root = Path(hooks.tilelang.__file__).parent
    for folder in _FOLDERS:
        for made, kind in ((_MADE_IN_C, "*.cc"), (_MADE_IN_PYTHON, "*.py")):
            for file in sorted((root / folder).rglob(kind)):
                for match in made.finditer(file.read_text(encoding="utf-8", errors="replace")):
                    yield next(filter(None, match.groups())), f"tilelang/{file.relative_to(root)}"


def file_of(name: str) -> str:
    return _made().get(name, "in Python" if name == _UNNAMED else "not in the wheel")
