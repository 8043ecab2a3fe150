"""Stand-ins for packages a script imports and this machine has not.

Everything in such a package can be called, indexed and computed with, and gives more of the same; the first result of a
call is its first argument. What a script compares with it proves nothing. Imports inside `try` are left alone where the
script knows what to do without them: its `except` gives other meanings to the names it goes on to use. So are those of
installed packages.
"""

from __future__ import annotations

import ast
import dis
import sys
from collections.abc import Iterator
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

_OPERATORS = [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
]


class Absent(ModuleType):
    """A module, function, class or value of a package that is not there."""

    __path__ = []  # noqa: RUF012 - a package, to the import system
    __file__ = "(not installed)"
    __version__ = "999"  # passes a script's check for a minimum

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")

    def __call__(self, *args: Any, **_: Any) -> Absent:
        result = Absent(f"{self.__name__}()")
        result.__dict__["first"] = args[0] if args else result
        return result

    def __getitem__(self, key: Any) -> Any:
        return self.__dict__.get("first", self) if key == 0 else Absent(f"{self.__name__}[]")

    def __setitem__(self, _key: Any, _value: Any) -> None: ...

    def __iter__(self) -> Iterator[Any]:
        others = (Absent(self.__name__) for _ in range(_unpacked(sys._getframe(1)) - 1))
        return iter((self.__dict__.get("first", self), *others))

    def __mro_entries__(self, _bases: Any) -> tuple[type, ...]:
        return (object,)

    def __len__(self) -> int:
        return 2

    def __index__(self) -> int:
        return 1

    def __int__(self) -> int:
        return 1

    def __float__(self) -> float:
        return 1.0

    def __neg__(self) -> Absent:
        return self

    def __lt__(self, _other: Any) -> bool:
        return False

    def __gt__(self, _other: Any) -> bool:
        return False

    def __le__(self, _other: Any) -> bool:
        return True

    def __ge__(self, _other: Any) -> bool:
        return True


def _unpacked(frame: FrameType) -> int:
    """To how many names the running statement assigns the parts of a value; 2 where it does something else."""
    operation, count = frame.f_code.co_code[frame.f_lasti : frame.f_lasti + 2]
    return count if dis.opname[operation] == "UNPACK_SEQUENCE" else 2


def _itself(absent: Absent, _other: Any) -> Absent:
    return absent


for _name in _OPERATORS:
    setattr(Absent, f"__{_name}__", _itself)
    setattr(Absent, f"__r{_name}__", _itself)


class AbsentPackages(MetaPathFinder, Loader):
    """Last in `sys.meta_path`: asked when nothing else found the module."""

    def __init__(self, checkout: Path) -> None:
        self._checkout = checkout.resolve()
        self.names: set[str] = set()  # of the packages that were stood in for

    def find_spec(self, name: str, _path: Any, _target: Any = None) -> ModuleSpec | None:
        importer = _importer()
        if importer is None or not self._is_bare_import(*importer):
            return None
        self.names.add(name.split(".")[0])
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> Absent:
        return Absent(spec.name)

    def exec_module(self, module: ModuleType) -> None: ...

    def _is_bare_import(self, file: str, line: int) -> bool:
        path = Path(file)
        if not path.is_file() or not path.resolve().is_relative_to(self._checkout):
            return False
        module = ast.parse(path.read_text())
        tries = (node for node in ast.walk(module) if isinstance(node, ast.Try) and node.handlers)
        around = [node for node in tries if node.body[0].lineno <= line <= (node.body[-1].end_lineno or 0)]
        return not any(_does_without(node, module) for node in around)


def _does_without(attempt: ast.Try, module: ast.Module) -> bool:
    """Whether everything that a `try` imports has a meaning without it, or is used nowhere else."""
    imports = (stmt for stmt in attempt.body if isinstance(stmt, ast.Import | ast.ImportFrom))
    imported = {name for stmt in imports for name in _bound(stmt)}
    otherwise = {name for handler in attempt.handlers for name in _bound(handler)}
    inside = set(ast.walk(attempt))
    used = {node.id for node in ast.walk(module) if isinstance(node, ast.Name) and node not in inside}
    return not (imported - otherwise) & used


def _bound(tree: ast.AST) -> Iterator[str]:
    """Names that a statement gives a meaning, anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.alias):
            yield node.asname or node.name.split(".")[0]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


def _importer() -> tuple[str, int] | None:
    """File and line of the import statement being executed."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if "importlib" not in file and file != __file__:
            return file, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return None
