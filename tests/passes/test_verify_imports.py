"""The verifier judges what the other passes made by what it finds: it asks none of them."""

import re
from pathlib import Path

import tilelang_tt.passes.f_verify as f_verify


def test_the_verifier_imports_no_pass() -> None:
    folder = Path(next(iter(f_verify.__path__)))
    imported = {
        f"{file.name}: {module}"
        for file in folder.glob("*.py")
        for module in re.findall(r"^(?:from|import) (tilelang_tt\.(?:passes|frontend)[\w.]*)", file.read_text(), re.M)
        if not module.startswith(("tilelang_tt.passes.f_verify", "tilelang_tt.passes.record"))
    }
    assert imported == set()
