"""Files with kernels do not postpone annotations: with Python 3.10, TileLang cannot read a buffer from text."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(path for part in ("tests", "examples", "benchmarks", "src") for path in (ROOT / part).rglob("*.py"))


def _postpones(module: ast.Module) -> bool:
    return any(isinstance(stmt, ast.ImportFrom) and stmt.module == "__future__" for stmt in module.body)


def _has_kernel(module: ast.Module) -> bool:
    """Whether a function has an argument annotated with a call such as `T.Tensor(shape, dtype)`."""
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)]
    return any(isinstance(arg.annotation, ast.Call) for function in functions for arg in function.args.args)


@pytest.mark.parametrize("part", ["tests", "examples", "benchmarks", "src"])
def test_annotations_of_kernels_are_values(part: str) -> None:
    found = []
    for path in (one for one in FILES if one.is_relative_to(ROOT / part)):
        module = ast.parse(path.read_text(encoding="utf-8"))
        if _postpones(module) and _has_kernel(module):
            found.append(path.relative_to(ROOT).as_posix())
    assert found == []
