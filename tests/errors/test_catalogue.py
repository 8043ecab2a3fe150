"""Every code has a page in the package; its failing program fails with the code, and the mended one does not."""

from __future__ import annotations

import os
import re
import runpy
import warnings
from pathlib import Path

import catalogue_calls  # noqa: F401  - its entries
import catalogue_kernels  # noqa: F401
import catalogue_machines  # noqa: F401
import catalogue_programs  # noqa: F401
import catalogue_targets  # noqa: F401
import pytest
from catalogue import ENTRIES, Entry, page
from machines import machine

import tilelang_tt
from tilelang_tt.diagnostics import TenstorrentError, TenstorrentWarning
from tilelang_tt.error_pages import INTERNAL, PAGES, codes_in, error_page, internal_page

PACKAGE = Path(tilelang_tt.__file__).parent
UPDATE = bool(os.environ.get("UPDATE_GOLDEN"))
INDEX = Path(__file__).parents[2] / "docs" / "errors.md"


def run(text: str, folder: Path) -> None:
    """A program as a file of its own; warnings of ours are errors with their code."""
    folder.mkdir(exist_ok=True)
    path = folder / "kernel.py"
    path.write_text(text)
    runpy.run_path(str(path))


def failure(text: str, folder: Path, code: str) -> str:
    """What the program ends with; of a warning, its text."""
    if code.startswith("TT7"):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always", TenstorrentWarning)
            run(text, folder)
        ours = [one.message for one in found if isinstance(one.message, TenstorrentWarning)]
        assert [one.code for one in ours] == [code]
        return str(ours[0])
    with pytest.raises(TenstorrentError) as caught:
        run(text, folder)
    assert caught.value.code == code, str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=lambda entry: entry.code)
def test_page(entry: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The failing program says what its page says, and the mended one runs to its end without a warning of its code."""
    monkeypatch.chdir(tmp_path)
    message = ""
    if entry.fails:
        with machine(entry.machines[0], tmp_path):
            message = failure(entry.fails, tmp_path / "fails", entry.code).replace(f"{tmp_path}/fails/", "")
        with machine(entry.machines[1], tmp_path), warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always", TenstorrentWarning)
            run(entry.mended, tmp_path / "mended")
        assert entry.code not in [getattr(one.message, "code", "") for one in found]
    expected = page(entry, message)
    path = PAGES / f"{entry.code}.md"
    if UPDATE:
        PAGES.mkdir(exist_ok=True)
        path.write_text(expected)
    assert path.read_text() == expected


def test_every_code_has_a_page() -> None:
    """Codes in the package against entries; TT9xx, broken invariants, share a page."""
    raised = {code for path in PACKAGE.rglob("*.py") for code in re.findall(r'"(TT\d{3})"', path.read_text())}
    raised |= {code for path in PACKAGE.rglob("*.py") for code in re.findall(r"\[(TT\d{3})\]: ", path.read_text())}
    internal = {code for code in raised if code.startswith("TT9")}
    assert raised - internal == set(ENTRIES)
    assert internal == set(codes_in(internal_page()))


def test_page_of_internal_errors_is_current() -> None:
    """It is written from what the compiler raises."""
    from catalogue import internal_text

    if UPDATE:
        (PAGES / f"{INTERNAL}.md").write_text(internal_text(PACKAGE))
    assert internal_page() == internal_text(PACKAGE)


def test_index() -> None:
    from catalogue import index_text

    if UPDATE:
        INDEX.write_text(index_text())
    assert INDEX.read_text() == index_text()


def test_help_finds_pages() -> None:
    assert error_page("TT131").startswith("# TT131: ")
    assert error_page("tt131") == error_page("TT131")
    assert "TT942" in error_page("TT942")
    assert error_page("TT000") is None


@pytest.mark.parametrize("path", sorted(PAGES.glob("*.md")), ids=lambda path: path.stem)
def test_no_page_is_left_over(path: Path) -> None:
    assert path.stem in ENTRIES or path.stem == INTERNAL
