"""`make test-next`: the tests with the newest TileLang that the index offers, and what differs from the supported one.

    .venv-next    a copy of .venv with that TileLang in it; nothing else changes
    next.md       the hooks that broke, and the tests that pass with the supported release and not with the newest

A test that fails is run again with the supported release: only what passes there is a difference.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).parent.parent
NEXT = ROOT / ".venv-next"
REPORT = ROOT / "next.md"
BROKEN_HOOKS = """
from tilelang_tt.hook_table import broken_hooks
for broken in broken_hooks():
    print(broken.hook.where, broken.fact)
"""
sys.path.insert(0, str(ROOT / "src"))

from tilelang_tt.version import TILELANG_VERSION  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", default="auto")
    parser.add_argument("--again", action="store_true", help="run although the newest is the supported release")
    parser.add_argument("tests", nargs="+")
    arguments = parser.parse_args()
    newest = newest_release()
    if newest == TILELANG_VERSION and not arguments.again:
        return finish(
            f"The newest TileLang of the index is {newest}, which is the supported one: nothing can differ.\n"
        )
    python = environment(newest)
    broken = run_python(
        python, "from tilelang_tt.hook_table import *; [print(b.hook.where, b.fact) for b in broken_hooks()]"
    )
    failed = failures(python, arguments.tests, arguments.workers)
    differ = failed and still_passing(failed)
    lines = [f"# TileLang {newest} instead of {TILELANG_VERSION}", "", "## Hooks that broke", "", broken or "None.", ""]
    lines += ["## Tests that pass with the supported release alone", "", *(f"- `{one}`" for one in differ or ["none"])]
    return finish("\n".join(lines) + "\n", int(bool(broken or differ)))


def newest_release() -> str:
    """As pip sees it, releases to come included."""
    shown = subprocess.run(
        [sys.executable, "-m", "pip", "index", "versions", "--pre", "tilelang"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = re.search(r"Available versions: ([^,\s]+)", shown)
    if found is None:
        raise SystemExit(f"the index lists no release of tilelang:\n{shown}")
    return found.group(1)


def environment(version: str) -> Path:
    """A venv that sees everything of this one, and its own TileLang before it."""
    python = NEXT / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(NEXT)], check=True)
        (packages,) = NEXT.glob("lib/python*/site-packages")
        (here,) = [path for path in sys.path if path.startswith(sys.prefix) and path.endswith("site-packages")]
        (packages / "here.pth").write_text(f"{ROOT / 'src'}\n{here}\n")
    (packages,) = NEXT.glob("lib/python*/site-packages")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade", "--target", str(packages)]
    # What a TileLang needs of TVM and z3 comes with it; torch stays the one that is there.
    subprocess.run([*pip, "--no-deps", f"tilelang=={version}", *needs_of(version)], check=True)
    return python


def needs_of(version: str) -> list[str]:
    """The pinned packages that TileLang is built against."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-",
         f"tilelang=={version}"],
        capture_output=True,
        text=True,
        check=True,
    )  # fmt: skip

    found = [item["metadata"] for item in json.loads(done.stdout)["install"]]
    return [f"{one['name']}=={one['version']}" for one in found if one["name"] in ("apache-tvm-ffi", "z3-solver")]


def run_python(python: Path, program: str) -> str:
    done = subprocess.run([str(python), "-c", program], capture_output=True, text=True, check=False, env=settings())
    return done.stdout.strip() if done.returncode == 0 else f"{done.stdout}{done.stderr}".strip()


def settings() -> dict[str, str]:
    return {**os.environ, "TILELANG_TT_ANY_TILELANG": "1"}


def failures(python: Path, tests: list[str], workers: str) -> list[str]:
    """Names of tests, as pytest takes them."""
    results = NEXT / "results.xml"
    results.unlink(missing_ok=True)
    command = [str(python), "-m", "pytest", "-q", "-n", workers, f"--junit-xml={results}", *tests]
    subprocess.run(command, cwd=ROOT, env=settings(), check=False)
    if not results.is_file():
        raise SystemExit("the tests did not run to their end")
    cases = ElementTree.parse(results).iter("testcase")
    return [
        f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]


def still_passing(tests: list[str]) -> list[str]:
    """Those that pass with the supported release."""

    def passes(test: str) -> bool:
        done = subprocess.run([sys.executable, "-m", "pytest", "-q", test], cwd=ROOT, capture_output=True, check=False)
        return done.returncode == 0

    return [test for test in tests if passes(test)]


def finish(text: str, status: int = 0) -> int:
    REPORT.write_text(text)
    print(text)
    return status


if __name__ == "__main__":
    raise SystemExit(main())
