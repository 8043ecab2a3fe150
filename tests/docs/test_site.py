"""The site builds, holds together, and asks the network for nothing."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_link_inside_leads_somewhere(site: Path) -> None:
    broken = []
    for page in site.rglob("*.html"):
        if page.name == "404.html":
            continue
        for target in re.findall(r'(?:href|src)="([^"#?]+)', page.read_text()):
            if not re.match(r"[a-z]+:", target) and not (page.parent / target).exists():
                broken.append(f"{page.relative_to(site)}: {target}")
    assert broken == []


def test_nothing_is_fetched(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert re.findall(r'<(?:script|img|iframe)[^>]*src="https?:[^"]*', page.read_text()) == []
        assert (
            re.findall(r'<link[^>]*rel="(?:stylesheet|preconnect|preload)"[^>]*href="https?:', page.read_text()) == []
        )


def test_references_are_made_from_the_code(site: Path) -> None:
    from tilelang_tt.cli.main import all_commands

    command = (site / "reference" / "command.html").read_text()
    assert all(f'id="{name}"' in command for name in all_commands())
    assert "estimate" in (site / "reference" / "python.html").read_text()
    plan = (site / "reference" / "plan.html").read_text()
    schema = json.loads((ROOT / "src/tilelang_tt/runtime/plan.schema.json").read_text())
    assert all(f"<code>{field}</code>" in plan for field in schema["properties"])
