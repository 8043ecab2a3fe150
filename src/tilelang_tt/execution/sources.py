"""The generated files as one text, for the places where TileLang shows a kernel's source."""

from __future__ import annotations

from tilelang_tt.compiled import Compiled

HOST_FILE = "main.cpp"
_RULE = "// " + "=" * 30


def join_sources(compiled: Compiled) -> str:
    """Every file under a line that names it."""
    return "\n".join(
        f"{_RULE} {compiled.name}: {name} {'=' * 30}\n{text.rstrip()}\n" for name, text in compiled.files.items()
    )
