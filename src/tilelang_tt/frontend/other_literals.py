"""A Python function with other numbers in its text: part of `smaller_blocks`.

    a = T.alloc_shared((512, 64), "float32")        lines 12 and 14: 512
    T.copy(A[by * 512, 0], a)                        -> the function with 256 there

The signature, with the shapes of tensors, stays as it is, and so do shapes that the body says (`A: T.Tensor(...)`). The
new text is in no file, so `linecache` holds it: TileLang reads the source of a function.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from tilelang_tt.tilelang_hooks import get_ast

_NUMBERS = count(1)  # of texts: none has the name of another


def lines_of_literals(written: Callable[..., Any]) -> dict[int, list[int]]:
    """The numbers in the body of a function, and their lines."""
    found: dict[int, list[int]] = {}
    for node, value in _literals(_definition(written)):
        found.setdefault(value, []).append(node.lineno)
    return {value: sorted(set(lines)) for value, lines in found.items()}


@contextmanager
def with_literals(written: Callable[..., Any], values: dict[int, int]) -> Iterator[Callable[..., Any]]:
    """The function with other numbers in its body, as long as this is open."""
    definition = _definition(written)
    for node, value in _literals(definition):
        node.value = values.get(value, value)
    definition.decorator_list, definition.returns = [], None
    for argument in definition.args.args:
        argument.annotation = None  # they are known already, and may need names that the function does not hold
    names = written.__code__.co_freevars
    inner = "\n".join(f"    {line}" for line in ast.unparse(definition).splitlines())
    text = f"def around({', '.join(names)}):\n{inner}\n    return {written.__name__}\n"
    file, scope = f"<{written.__name__} with other numbers, {next(_NUMBERS)}>", dict[str, Any]()
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    try:
        exec(compile(text, file, "exec"), written.__globals__, scope)
        copy = scope["around"](*(cell.cell_contents for cell in written.__closure__ or ()))
        copy.__annotations__ = written.__annotations__
        copy.__defaults__, copy.__kwdefaults__ = written.__defaults__, written.__kwdefaults__
        yield copy
    finally:
        del linecache.cache[file]


def _definition(written: Callable[..., Any]) -> ast.FunctionDef:
    found = get_ast(written).body[0]
    assert isinstance(found, ast.FunctionDef)
    return found


def _literals(definition: ast.FunctionDef) -> Iterator[tuple[ast.Constant, int]]:
    said = {id(node) for one in definition.body if isinstance(one, ast.AnnAssign) for node in ast.walk(one.annotation)}
    for node in (node for stmt in definition.body for node in ast.walk(stmt) if id(node) not in said):
        match node:
            case ast.Constant(value=int(value)) if not isinstance(value, bool):
                yield node, value
