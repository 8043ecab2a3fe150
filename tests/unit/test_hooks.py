"""What is used of TileLang stands in one module and one table, and a hook that breaks is named."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import tilelang
import tvm

from tilelang_tt import environment, hook_table
from tilelang_tt.diagnostics import EnvironmentProblem
from tilelang_tt.hook_table import HOOKS, Hook, broken_hooks, require_hooks

SOURCES = Path(hook_table.__file__).parent
HOOKS_MODULE = SOURCES / "tilelang_hooks.py"
# What users write, in TileLang's language.
KERNELS = {SOURCES / "lowering" / "probes.py"}

# Of annotations and attributes; they stand in TileLang's library, or in its Python.
KEYS = {
    "tl.assume",
    "tl.assume_requires_runtime_check",
    "tl.launch_threads",
    "tl.min_blocks_per_sm",
    "tl.ws_schedule",
}


def imports(file: Path) -> set[str]:
    """module:name of everything of TileLang that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "tilelang":
            found |= {f"{node.module}:{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.partition(".")[0] == "tilelang"}
    return found


def test_one_module_imports_tilelang() -> None:
    files = set(SOURCES.rglob("*.py")) - {HOOKS_MODULE} - KERNELS
    assert {file: found for file in files if (found := imports(file))} == {}


def test_every_import_has_a_row() -> None:
    named = {hook.where.partition(".")[0] if ":" not in hook.where else hook.where for hook in HOOKS}
    starts = {where for hook in named for where in (hook, hook.rpartition(".")[0])}
    modules = {where.partition(":")[0] for where in named}
    missing = {
        one
        for one in imports(HOOKS_MODULE)
        if one not in starts and one not in modules and one != "tilelang" and not one.startswith("tilelang.contrib:")
    }
    assert missing == set()


def test_nothing_is_broken() -> None:
    assert broken_hooks() == []


@pytest.mark.parametrize(
    ("hook", "fact"),
    [
        (Hook("tilelang.cache:_dispatch_table", "x"), "has no '_dispatch_table'"),
        (Hook("tilelang.jit.kernel:JITKernel._make", "x"), "has no '_make'"),
        (Hook("tilelang.nowhere:f", "x"), "cannot be imported: No module named 'tilelang.nowhere'"),
        (Hook("tilelang.backend.module:register_backend", "x", takes=("module",)), "takes no 'module' any more"),
        (Hook("tilelang.jit.kernel:JITKernel", "x", has=("adapter", "library")), "has no 'library' any more"),
    ],
)
def test_a_broken_hook_is_named(hook: Hook, fact: str) -> None:
    assert [one.fact for one in broken_hooks((hook,))] == [fact]


def operations() -> dict[str, str]:
    """Names of TileLang's operations, and beginnings of names, in this package's sources; and a file of each."""
    texts = (
        (node.value, file.name)
        for file in sorted(SOURCES.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    return {text: file for text, file in texts if re.fullmatch(r"tl\.[a-z]\w*(\.\w*)*", text)}


def test_operations_have_the_names_that_kernels_are_read_by() -> None:
    """One that TileLang renames would be refused, at best; `make test-next` says so first."""
    there = set(tvm.ir.Op.list_op_names())
    unknown = {
        text: file
        for text, file in operations().items()
        if text not in there and text not in KEYS and not any(one.startswith(text) for one in there)
    }
    assert unknown == {}
    assert len(operations()) > 100


def test_annotations_have_the_keys_that_kernels_are_read_by() -> None:
    package = Path(tilelang.__file__).parent
    files = [
        *package.glob("lib/libtilelang.so"),
        *package.rglob("language/**/*.py"),
        *package.rglob("transform/**/*.py"),
    ]
    texts = [file.read_bytes() for file in files]
    assert {key for key in KEYS if not any(key.encode() in text for text in texts)} == set()


def test_the_error_says_where_and_which_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_table, "installed_version", lambda _: "0.1.99")
    with pytest.raises(EnvironmentProblem) as caught:
        require_hooks((Hook("tilelang.cache:_dispatch_table", "our kernels"),))
    assert str(caught.value) == (
        "error[TT523]: TileLang 0.1.99 lacks what this package is built on: tilelang.cache:_dispatch_table\n"
        "  note: tilelang.cache:_dispatch_table (our kernels): has no '_dispatch_table'\n"
        "  help: install a release of TileLang that `pip show tilelang-tt` names, or report this text"
    )


def test_another_version_may_be_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make test-next` does; the hooks are checked all the same."""
    monkeypatch.delenv(environment.ANY_VERSION_VARIABLE, raising=False)
    monkeypatch.setattr(environment, "installed_version", lambda _: "0.1.99")
    with pytest.raises(EnvironmentProblem):
        environment.require_tilelang()
    monkeypatch.setenv(environment.ANY_VERSION_VARIABLE, "1")
    environment.require_tilelang()
