"""A kernel as its user wrote it, to be built again with other numbers: part of `smaller_blocks`.

    @T.prim_func                                    @tilelang.jit
    def main(A: ..., B: ...):                       def matmul(A, B, block: int = 512):
        ... block_M, a variable around it               ... block, an argument of the call

TileLang keeps the Python function of the first kind. What it compiles of the second one has lost function and call, so
these are looked up where it compiles: in the frame of `JITImpl.compile`.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tvm.tirx import PrimFunc

from tilelang_tt.frontend.other_literals import lines_of_literals, with_literals
from tilelang_tt.tilelang_hooks import JITImpl, T


@dataclass(frozen=True)
class Written:
    """A Python function that is a kernel; `arguments`: of the call that TileLang builds it for, or None."""

    function: Callable[..., Any]
    arguments: Mapping[str, Any] | None = field(default=None, compare=False)

    def numbers(self) -> dict[str, int]:
        """Whole numbers by the names that the function has for them: of its module, around it, of its call."""
        code, closure = self.function.__code__, self.function.__closure__ or ()
        found = {name: self.function.__globals__.get(name) for name in code.co_names}
        found |= {name: _contents(cell) for name, cell in zip(code.co_freevars, closure, strict=True)}
        found |= self.arguments or {}
        return {name: number for name, number in found.items() if type(number) is int}

    def lines_of_literals(self) -> dict[int, list[int]]:
        """None where the text of the function is not known, as in a console."""
        with suppress(OSError, TypeError, SyntaxError, AssertionError):
            return lines_of_literals(self.function)
        return {}

    def built(self, values: Mapping[str, int]) -> PrimFunc | None:
        """With other numbers for names. None: the function makes no kernel of these."""
        function, names = self.function, self.function.__code__.co_freevars
        cells = zip(names, function.__closure__ or (), strict=True)
        closure = tuple(types.CellType(values[name]) if name in values else cell for name, cell in cells)
        arguments = {name: value for name, value in values.items() if name in (self.arguments or {})}
        in_module = {name: value for name, value in values.items() if name not in (*names, *arguments)}
        scope = {**function.__globals__, **in_module} if in_module else function.__globals__
        copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, closure)
        copy.__annotations__, copy.__kwdefaults__ = function.__annotations__, function.__kwdefaults__
        return self._kernel(lambda: copy, arguments)

    def built_from_text(self, numbers: dict[int, int]) -> PrimFunc | None:
        """With other literals in its text. None: the function makes no kernel of these."""
        with suppress(Exception), with_literals(self.function, numbers) as copy:
            return self._kernel(lambda: copy, {})
        return None

    def _kernel(self, copy: Callable[[], Callable[..., Any]], values: Mapping[str, int]) -> PrimFunc | None:
        with suppress(Exception):  # the user's own code runs with numbers that it was not written for: it may raise
            if self.arguments is None:
                return T.prim_func(copy())
            function = T.prim_func(copy(), eager_jit=True)
            function.set_mode("eager")
            return function.get_tir(**{**self.arguments, **values})
        return None


def as_written(func: PrimFunc) -> Written | None:
    """None: TileLang has not kept it, and it is in no call."""
    function = getattr(func, "orig_func", None)
    return _called() if function is None else Written(function)


def _called() -> Written | None:
    """The function that TileLang compiles for a call, and the arguments of that call."""
    frame: types.FrameType | None = sys._getframe()
    while frame is not None and frame.f_code is not JITImpl.compile.__code__:
        frame = frame.f_back
    if frame is None:
        return None
    there = frame.f_locals
    function = there["self"].func
    said = dict(zip(function.arg_names, there["args"], strict=False)) | there["kwargs"]
    usual = {name: one.default for name, one in function.signature.parameters.items() if one.default is not one.empty}
    ordered = {name: value for name in function.arg_names for value in _one_of(name, said, usual)}
    return Written(function.orig_func, ordered | said)


def _one_of(name: str, *choices: Mapping[str, Any]) -> list[Any]:
    return [choice[name] for choice in choices if name in choice][:1]


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a name that is bound later
        return None
