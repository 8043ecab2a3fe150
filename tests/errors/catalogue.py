"""The catalogue of errors: what each code means, a program that fails, the same program mended.

The pages in `src/tilelang_tt/errors` are written from the entries of `catalogue_kernels.py` and `catalogue_calls.py`;
`make golden` writes them. Failing kernels are those of the refusals beside this file, as far as there are some.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from refusals import REFUSALS

PLAIN = "tenstorrent"
TILES = "tenstorrent -scalar_code=false"
_BY_DEFAULT = (
    "By default the kernel is compiled all the same: what the tile engines cannot do runs as scalar code, and warning "
    "TT702 says so. Target option `scalar_code=false` makes it an error."
)


@dataclass(frozen=True)
class Entry:
    code: str
    title: str
    meaning: str
    fails: str = ""  # a program; without one, the code is explained alone
    mended: str = ""
    runs: bool = False  # the programs call kernels
    machines: tuple[str, str] = ("", "")  # of the two programs, where this one is not such a one: rows of `machines.py`
    lines: int = 0  # of the message that are shown; 0: all


ENTRIES: dict[str, Entry] = {}
# Machines that the test sets up for a program (`machines.py`), and how a heading says so.
WHERE = {
    "ttnn": "where ttnn is",
    "failing": "where ttnn fails",
    "blackhole": "on a Blackhole",
    "crowded": "where the program's code is long",
    "simulator": "on the simulator of Wormhole",
    "wormhole-simulator": "on the simulator of Wormhole",
    "blackhole-simulator": "on the simulator of Blackhole",
    "no-memory": "where memory is short",
    "no-hipcc": "where hipcc is missing",
    "no-gpu": "where no GPU is",
    "nothing": "where neither a GPU nor a card is",
}
_STAND_IN = "The test that runs these programs pretends to be such a machine; for ttnn it has a stand-in."


def program(
    code: str,
    title: str,
    meaning: str,
    fails: str,
    mended: str,
    *,
    runs: bool = True,
    machines: tuple[str, str] = ("", ""),
    lines: int = 0,
) -> None:
    """An entry with two programs."""
    texts = [_with_imports(textwrap.dedent(text).strip("\n") + "\n") for text in (fails, mended)]
    _enter(Entry(code, title, _joined(meaning), *texts, runs, machines, lines))


def explained(code: str, title: str, meaning: str) -> None:
    """An entry without a program: a broken machine, or a device that is not there."""
    _enter(Entry(code, title, _joined(meaning)))


def refusal(
    code: str, name: str, title: str, meaning: str, *changes: tuple[str, str], target: str | None = None, **words: str
) -> None:
    """An entry from the kernel of a refusal; `changes`: of its text, each (before, after); `target`: of the mended one.

    `words`: names of the builder that its text uses, and their values.
    """
    found = [one for one in REFUSALS if one.code == code and one.build.__name__ == name]
    always = any(one.scalar_code for one in found)
    options = "".join(f" -{key}={str(value).lower()}" for key, value in found[0].options.items())
    chip = "" if found[0].arch == "wormhole_b0" else f"/{found[0].arch}"
    own = (PLAIN if always else TILES).replace(PLAIN, PLAIN + chip) + options
    text = _body(inspect.getsource(found[0].kernel or found[0].build), words)
    mended = text
    for before, after in changes:
        assert before in mended, f"{code}: {before!r} is not in the kernel of {name}"
        mended = mended.replace(before, after)
    meaning = _joined(meaning) + ("" if always or code.startswith("TT2") else f"\n\n{_BY_DEFAULT}")
    programs = [_compiled(text, own), _compiled(mended, own if target is None else target)]
    _enter(Entry(code, title, meaning, *map(_with_imports, programs)))


def _enter(entry: Entry) -> None:
    assert entry.code not in ENTRIES, f"{entry.code} has two entries"
    ENTRIES[entry.code] = entry


def _joined(text: str) -> str:
    """Lines of a paragraph as one."""
    parts = textwrap.dedent(text).strip().split("\n\n")
    return "\n\n".join(" ".join(line.strip() for line in part.splitlines()) for part in parts)


def _body(source: str, words: dict[str, str]) -> str:
    """What a builder does before it returns its kernel, as lines of a module."""
    lines = source[source.index("-> Any:\n") + len("-> Any:\n") :].splitlines()
    text = textwrap.dedent("\n".join(line for line in lines if line.strip() != "return main"))
    text = re.sub(r'^""".*?"""\n+', "", text)
    text = re.sub(r" +# (refused|line: \w+)(?=\s|$)", "", text)
    for name, value in words.items():
        text = re.sub(rf"\b{name}\b", value, text)
    return text.strip("\n") + "\n"


def _compiled(text: str, target: str) -> str:
    return f'{text}\n\ntilelang.compile(main, target="{target}")\n'


def _with_imports(text: str) -> str:
    wanted = [
        ("import tilelang\n", "tilelang."),
        ("import tilelang.language as T\n", "T."),
        ("import tilelang_tt\n", "tenstorrent"),
        ("import tilelang_tt.language as TT\n", "TT."),
        ("import torch\n", "torch."),
    ]
    lines = [line for line, used in wanted if re.search(rf"(?<![\w.]){re.escape(used)}", text)]
    third = [line for line in lines if "torch" in line or line.startswith("import tilelang\n") or " T\n" in line]
    own = [line for line in lines if line not in third]
    text = "".join([*third, *own]) + "\n\n" + text
    return re.sub(r"\n{4,}", "\n\n\n", re.sub(r"\n+@T", "\n\n\n@T", text))


def page(entry: Entry, message: str) -> str:
    """The page of a code, in Markdown; `message` is what the failing program ends with."""
    parts = [f"# {entry.code}: {entry.title}", entry.meaning]
    if entry.fails:
        on = [f" {WHERE[name]}" if name else "" for name in entry.machines]
        if entry.lines and entry.lines < len(message.splitlines()):
            message = "\n".join([*message.splitlines()[: entry.lines], "..."])
        parts += [f"## A program that fails{on[0]}", f"```python\n{entry.fails}```", f"```text\n{message}\n```"]
        mended = "" if on[0] == on[1] else on[1]
        parts += [f"## The same program, mended{mended}", f"```python\n{entry.mended}```"]
        parts += [_STAND_IN] if any(name in WHERE for name in entry.machines) else []
    return "\n\n".join(parts) + "\n"


# --- pages that are not of one code -----------------------------------------------------------------

_INTERNAL_HEAD = """# TT9xx: a broken invariant of the compiler

The compiler checks after every pass that what it has made is consistent, and a check has failed. This is a bug of
tilelang-tt and not of the kernel: please report it, with the kernel and the whole text that TILELANG_TT_DEBUG=1 shows.
Another block size, or target option `scalar_code=true`, may help until it is repaired.

| code | what does not hold |
|---|---|
"""


def internal_text(package: Path) -> str:
    """All codes TT9xx with the facts that the compiler's own source gives for them."""
    facts: dict[str, list[str]] = {}
    for path in sorted(package.rglob("*.py")):
        if '"TT9' not in path.read_text():
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and re.fullmatch(r"TT9\d\d", str(node.value)):
                facts.setdefault(str(node.value), [])
            if not isinstance(node, ast.Call):
                continue
            for arg, after in itertools.pairwise(node.args):
                if isinstance(arg, ast.Constant) and re.fullmatch(r"TT9\d\d", str(arg.value)):
                    facts.setdefault(str(arg.value), []).append(_fact(after))
    rows = []
    for code, texts in sorted(facts.items()):
        known = list(dict.fromkeys(filter(None, texts)))
        rows.append(f"| {code} | {'; '.join(known) or 'the message says what'} |")
    return _INTERNAL_HEAD + "\n".join(rows) + "\n"


def _fact(node: ast.expr) -> str:
    """A message with `...` where it has values."""
    if isinstance(node, ast.Constant):
        text = str(node.value)
    elif isinstance(node, ast.JoinedStr):
        text = "".join(str(part.value) if isinstance(part, ast.Constant) else "..." for part in node.values)
    else:
        return ""
    return " ".join(text.split()).replace("|", "/")


_GROUPS = {
    "TT1": "What the compiler cannot take",
    "TT2": "What does not fit the chip",
    "TT3": "Arguments of a call",
    "TT4": "While kernels run",
    "TT5": "This machine",
    "TT6": "Target and schedule",
    "TT7": "Warnings",
}


def index_text() -> str:
    """docs/errors.md: all codes with links to their pages."""
    lines = [
        "# Errors and warnings",
        "",
        "`tilelang-tt help TT131` shows the page of a code: what it means, a program that fails, the same program",
        "mended. An error is one short message wherever it ends a program; `TILELANG_TT_DEBUG=1` shows all frames.",
        "Warnings (TT7xx) appear once for each place. `TILELANG_TT_WARNINGS=TT702=ignore,TT703=error` silences one and",
        "makes another an error, `error` alone all of them; so does Python:",
        '`warnings.filterwarnings("ignore", message=r".*TT702")`.',
        "",
        "`make golden` writes this page and those it links to, from `tests/errors`, which runs all of their programs.",
    ]
    for start, title in _GROUPS.items():
        lines += ["", f"## {title}", "", "| code | meaning |", "|---|---|"]
        rows = sorted(entry.code for entry in ENTRIES.values() if entry.code.startswith(start))
        lines += [f"| [{code}](../src/tilelang_tt/errors/{code}.md) | {ENTRIES[code].title} |" for code in rows]
    lines += [
        "",
        "TT9xx are broken invariants of the compiler: [please report them](../src/tilelang_tt/errors/TT9xx.md).",
    ]
    return "\n".join(lines) + "\n"
