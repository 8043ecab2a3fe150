"""The generated files as one text, for the places where TileLang shows a kernel's source."""

from __future__ import annotations

from tilelang_tt.compiled import Compiled

HOST_FILE = "main.cpp"
_RULE = "// " + "=" * 30


def join_sources(compiled: Compiled, *, kernels_only: bool = True) -> str:
    """Every kernel under a line that names it; with the host program and the plan if not `kernels_only`."""
    files = compiled.files
    if kernels_only:
        files = {kernel.source: files[kernel.source] for one in compiled.plan.launches for kernel in one.kernels}
    return "\n".join(f"{_RULE} {compiled.name}: {name} {'=' * 30}\n{text.rstrip()}\n" for name, text in files.items())
