"""How large the compiler is: `python maint/size.py`, or `python maint/size.py OLDER_TREE .` for two states.

Counted are `frontend/`, `passes/` and `ir/`. A line of code is one that holds more than a comment or a docstring; a use
of `Any` is any mention in code, imports too; a pass is what pipeline.py imports from stages A to E.
"""

from __future__ import annotations

import ast
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PARTS = ("frontend", "passes", "ir")
LONG_FUNCTION = 40  # lines
LONG_FILE = 400
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def measure(tree: Path) -> Counter[str]:
    """Name of a figure -> its value."""
    package = tree / "src" / "tilelang_tt"
    found: Counter[str] = Counter()
    for part in PARTS:
        for path in sorted((package / part).rglob("*.py")):
            figures = of_file(path)
            found.update(figures)
            found[f"lines of {part}/"] += figures["lines"]
    found["passes"] = len(set(passes(package / "pipeline.py")))
    return found


def of_file(path: Path) -> Counter[str]:
    text = path.read_text()
    module = ast.parse(text)
    with path.open("rb") as file:
        tokens = [token for token in tokenize.tokenize(file.readline) if token.type not in _NO_CODE]
    documentation = set(docstring_lines(module))
    code = {line for token in tokens for line in range(token.start[0], token.end[0] + 1)} - documentation
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)]
    return Counter(
        {
            "files": 1,
            "lines": len(text.splitlines()),
            "lines of code": len(code),
            "uses of Any": sum(token.string == "Any" for token in tokens),
            "functions": len(functions),
            f"functions above {LONG_FUNCTION} lines": sum(map(is_long, functions)),
            f"files above {LONG_FILE} lines": int(len(text.splitlines()) > LONG_FILE),
        }
    )


def is_long(function: ast.FunctionDef) -> bool:
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1 > LONG_FUNCTION


def docstring_lines(module: ast.Module) -> Iterator[int]:
    for node in ast.walk(module):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            assert node.end_lineno is not None
            yield from range(node.lineno, node.end_lineno + 1)


def passes(pipeline: Path) -> Iterator[str]:
    """Functions that change the program: those in a file of their own name, but for the verifier's."""
    for node in ast.parse(pipeline.read_text()).body:
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("tilelang_tt.passes."):
            continue
        assert node.module is not None
        *_, stage, file = node.module.split(".")
        if stage != "f_verify":
            yield from (alias.name for alias in node.names if alias.name == file)


def main(trees: list[str]) -> None:
    columns = [measure(Path(tree)) for tree in trees or ["."]]
    for name in dict.fromkeys(name for column in columns for name in column):
        print(f"{name:30}" + "".join(f"{column[name]:>10,}" for column in columns), end="")
        before, now = columns[0][name], columns[-1][name]
        print(f"{now / before - 1:+10.0%}" if len(columns) > 1 and before else "")


if __name__ == "__main__":
    main(sys.argv[1:])
