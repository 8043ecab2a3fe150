"""The page docs/internals.md, from the table of hooks."""

from __future__ import annotations

from tilelang_tt.hook_table import HOOKS, Hook, Kind
from tilelang_tt.version import TILELANG_VERSION

_HEAD = f"""\
# What this package uses of TileLang

Generated from `src/tilelang_tt/hook_table.py`; `make golden` rewrites it, `make test` fails if it is stale.

`src/tilelang_tt/tilelang_hooks.py` is the only module that imports TileLang. When the package is imported, every row is
checked: that the name is there, that it takes the parameters and that its objects have the attributes named here. A row
that does not hold ends in TT523, which names it and the version of TileLang that was found. The rows hold for
TileLang {TILELANG_VERSION}.
`make test-next` installs the newest TileLang that the index offers and reports what differs.
"""


def page() -> str:
    parts = [_HEAD]
    for kind in (Kind.PRIVATE, Kind.INNER, Kind.PUBLIC):
        rows = [_row(hook) for hook in HOOKS if hook.kind is kind]
        title = f"## {kind.name.capitalize()}: {kind.value}\n"
        head = "| name | parameters | attributes | why | what would remove it |\n|---|---|---|---|---|"
        parts.append("\n".join([title, head, *rows]) + "\n")
    return "\n".join(parts)


def _row(hook: Hook) -> str:
    takes, has = (", ".join(f"`{name}`" for name in names) for names in (hook.takes, hook.has))
    removed = hook.removed_by or ("" if hook.kind is Kind.PUBLIC else "a place in the documented interface")
    return f"| `{hook.where}` | {takes} | {has} | {hook.why} | {removed} |"
