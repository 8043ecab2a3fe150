"""Files and functions that documentation and docstrings name are there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests", "docs", "benchmarks", "maint", "examples", ".ci")
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.md")])
MODULES = sorted(ROOT.glob("src/**/*.py"))
OTHERS = ("CHANGELOG.md", "upstream.md", "device-api.md", "every_pass.md")  # files that were, of TileLang, of the SDK
PATH = re.compile(r"(?<![\w./<*-])((?:[\w-]+/)*[\w-]+\.(?:py|md|h|cpp|toml|txt))(?![\w*/])")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")  # but not https://...
NAME = re.compile(r"`([a-z]\w*_\w+)`")

# Commands, and what they print; what `test_recipes.py` and `test_walkthrough.py` read
BLOCK = re.compile(r"^ *```.*?^ *```$|<!--.*?-->", re.MULTILINE | re.DOTALL)

# Files of the user, of TileLang and of the SDK, and of the backend that `new-backend` writes.
ELSEWHERE = {
    *("FILE.py", "PAGE.md", "DIR/README.md", "matmul.py", "bad.py", "script.py", "reduce_op.py"),
    *("codegen.py", "execution.py", "machine.py"),
    *("DIR/src/tilelang_toy/target.py", "template/src/tilelang___chip__/target.py"),
}
# Names of TileLang's types, of the SDK's operations and instructions, and of the pass that docs/adding.md adds.
NAMES_ELSEWHERE = {
    "drop_repeated_functions",
    "float8_e8m0fnu",
    "tensix_unpacr",
    "binary_ng",
    "create_simple_matmul_program_config",
    "block_K",
    "add_2_integers_in_compute",
}


def _files() -> set[str]:
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    return {path.relative_to(ROOT).as_posix() for path in (*found, *ROOT.glob("*"))}


FILES = _files()
ENDINGS = {"/".join(path.split("/")[start:]) for path in FILES for start in range(path.count("/") + 1)}


def _docstrings(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield ast.get_docstring(node) or ""


def _missing(text: str) -> set[str]:
    return {path for path in PATH.findall(text) if path not in ENDINGS and path not in ELSEWHERE}


@pytest.mark.parametrize("page", [p for p in PAGES if p.name not in OTHERS], ids=lambda p: p.name)
def test_files_named_on_a_page_exist(page: Path) -> None:
    assert _missing(BLOCK.sub("", page.read_text(encoding="utf-8"))) == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    assert {link for link in LINK.findall(text) if not (page.parent / link).exists()} == set()


def test_files_named_in_docstrings_exist() -> None:
    missing = {file.name: _missing("\n".join(_docstrings(file))) for file in MODULES}
    assert {name: paths for name, paths in missing.items() if paths} == {}


def test_functions_and_passes_named_in_the_compiler_docs_exist() -> None:
    sources = [path for path in (ROOT / "src").rglob("*") if path.suffix in (".py", ".h", ".json")]
    known = {word for path in sources for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    pages = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/design/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    named = {name for page in pages for name in NAME.findall(page.read_text(encoding="utf-8"))}
    assert named - known - NAMES_ELSEWHERE == set()
