"""`make test-browser`: the report in headless Chromium. Without one every test says so and fails."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr", "--v=0")
GEMM = f"{ROOT}/examples/gemm.py"


def browse(*words: str) -> subprocess.CompletedProcess[str]:
    found = [path for path in map(shutil.which, BROWSERS) if path]
    assert found, "no Chromium on this machine (Debian: apt-get install chromium): NOT RUN"
    return subprocess.run([found[0], *FLAGS, *words], capture_output=True, text=True, check=True, timeout=120)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "r.html"
    command = [sys.executable, "-c", START, "report", "--run", GEMM, "-o", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    return path


START = "import sys, tilelang_tt_launcher; sys.exit(tilelang_tt_launcher.main())"
PROBE = """
<script>
addEventListener("load", () => {
  const line = document.querySelector(".pane [data-line]");
  line.dispatchEvent(new Event("mouseover", { bubbles: true }));
  const lit = document.querySelectorAll(".on").length;
  const choice = document.querySelectorAll("select")[2];
  choice.selectedIndex = 1;
  choice.dispatchEvent(new Event("change"));
  const shown = [...choice.closest(".pane").querySelectorAll(".text")].map(one => one.hidden).join();
  document.title = `lit ${lit}; hidden ${shown}; outside ${performance.getEntriesByType("resource").length}`;
});
</script>
"""


def test_script_of_the_page(report: Path) -> None:
    """Lines light up together, the choice shows one file, nothing is fetched, and the console is silent."""
    probed = report.with_name("probed.html")
    probed.write_text(report.read_text().replace("</body>", f"{PROBE}</body>"))
    done = browse("--dump-dom", "--virtual-time-budget=3000", probed.as_uri())
    title = done.stdout.partition("<title>")[2].partition("</title>")[0]
    lit, hidden, outside = (part.partition(" ")[2] for part in title.split("; "))
    assert int(lit) >= 2
    assert hidden == "true,false,true"
    assert outside == "0"
    assert "CONSOLE" not in done.stderr


@pytest.mark.parametrize(("mode", "scheme"), [("light", 1), ("dark", 0)])
def test_screenshot(report: Path, tmp_path: Path, mode: str, scheme: int) -> None:
    """Something is drawn in both schemes, and they differ."""
    path = tmp_path / f"{mode}.png"
    browse(
        f"--blink-settings=preferredColorScheme={scheme}",
        "--window-size=1280,1000",
        f"--screenshot={path}",
        report.as_uri(),
    )
    assert path.stat().st_size > 20_000
