"""Find the user's line for a statement that one of TileLang's own macros made.

    12  T.copy(A[bx * 32, 0], X)
    13  T.reduce_max(X, m, dim=1)      TileLang: reduce_op.py:93
    14  for i, j in T.Parallel(...):

For what T.reduce_* and similar macros expand to, TileLang records lines of its own files. The user's calls are between
the lines of the statements around them, in the same order. Where the source between these lines has as many calls of
functions of that file as there are operations, or a single call, each is known. Otherwise statements stay as they are.
"""

from __future__ import annotations

import ast
import linecache
import sys
from functools import cache

from tvm import tirx

from tilelang_tt.diagnostics import Location
from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.frontend.refuse_gpu_code import location_of, statements
from tilelang_tt.tilelang_hooks import get_stmt_span, make_span, set_stmt_span

_COPY = "tl.tileop.copy"  # what a macro does around its operation


def restore_user_lines(func: tirx.PrimFunc) -> tirx.PrimFunc:
    lines: dict[tirx.Stmt, Location] = {}
    before: Location | None = None
    run: list[tirx.Stmt] = []  # statements of macros, one after the other
    for stmt, _ in statements(func.body, None):
        location = location_of(stmt)
        if location is not None:
            lines |= _located(run, before, location)
            before, run = location, []
        elif isinstance(stmt, tirx.Evaluate) and get_stmt_span(stmt) is not None:
            run.append(stmt)
    lines |= _located(run, before, None)
    if not lines:
        return func

    def rewrite(stmt: tirx.Stmt) -> tirx.Stmt | None:
        if stmt not in lines:
            return None
        moved = tirx.Evaluate(stmt.value)
        set_stmt_span(moved, make_span(lines[stmt].file, lines[stmt].line))
        return moved

    return func.with_body(tirx.stmt_functor.ir_transform(func.body, rewrite, None, ["tirx.Evaluate"]))


def _located(run: list[tirx.Stmt], before: Location | None, behind: Location | None) -> dict[tirx.Stmt, Location]:
    """The lines of the calls that a run of statements comes from, which stand between two others."""
    files = {str(get_stmt_span(stmt).source_name.name) for stmt in run}
    if before is None or not files:
        return {}
    same_file = behind is not None and behind.file == before.file
    if same_file and behind is not None and behind.line <= before.line:
        return {}  # rounds of a loop in Python
    names = frozenset[str]().union(*map(_functions, files))
    calls = _calls(before, behind.line if same_file and behind is not None else None, names)
    operations = [stmt for stmt in run if operator(stmt.value) != _COPY]
    if len(calls) == 1:
        return {stmt: Location(before.file, calls[0]) for stmt in run}
    if len(calls) != len(operations):
        return {}
    return {stmt: Location(before.file, line) for stmt, line in zip(operations, calls, strict=True)}


@cache
def _functions(file: str) -> frozenset[str]:
    """The names of the functions that a module defines."""
    modules = [module for module in list(sys.modules.values()) if getattr(module, "__file__", None) == file]
    return frozenset(
        name
        for module in modules
        for name, value in vars(module).items()
        if callable(value) and getattr(getattr(value, "orig_func", value), "__module__", None) == module.__name__
    )


def _calls(after: Location, end: int | None, names: frozenset[str]) -> list[int]:
    """Lines of calls of functions with these names behind a line, in the same function, and before another line."""
    functions = _functions_of("".join(linecache.getlines(after.file)))
    around = [node for node in functions if node.lineno <= after.line <= (node.end_lineno or 0)]
    if not around:
        return []
    inner = max(around, key=lambda node: node.lineno)
    found = [
        (node.lineno, node.col_offset)
        for node in ast.walk(inner)
        if isinstance(node, ast.Call) and _name(node.func) in names
        if after.line < node.lineno < (end or sys.maxsize)
    ]
    return [line for line, _ in sorted(found)]


@cache
def _functions_of(source: str) -> list[ast.FunctionDef]:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return []  # no file of Python
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def _name(function: ast.expr) -> str:
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
