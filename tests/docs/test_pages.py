"""What the pages for learners say to do works, and prints what they say it prints."""

from pathlib import Path

import pytest
from tests.docs import page

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("tutorial.md", "gpu_kernel.md", "by_hand.md", "performance.md")


@pytest.mark.parametrize("name", PAGES)
def test_page(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    page.run(DOCS / name, tmp_path)


def test_a_page_that_is_wrong_fails(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.md"
    wrong.write_text("```console\n$ echo three of them\nfour ...\n```\n")
    with pytest.raises(AssertionError, match=r"the page says\nfour"):
        page.run(wrong, tmp_path)
    right = tmp_path / "right.md"
    right.write_text('```python title="a.txt"\none\ntwo\n```\n```diff title="a.txt"\n one\n-two\n+three\n```\n'
                     "```console\n$ cat a.txt\none\n...ree\n$ echo a.b\na.b\n```\n")  # fmt: skip
    page.run(right, tmp_path)
