"""The HTML report: whole, self-contained, and harmless whatever names and lines say."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
import tilelang
import tilelang.language as T
import torch

from tilelang_tt.cli.main import main
from tilelang_tt.compiled import Compiled
from tilelang_tt.execution.kernel import TenstorrentKernel
from tilelang_tt.options import Options
from tilelang_tt.report.markup import VOID, tag
from tilelang_tt.report.page import page
from tilelang_tt.runtime.line_map import lines_to_json

SECTIONS = ["cores", "l1", "streams", "time", "code", "decisions"]
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"


@pytest.fixture(scope="module")
def kernel() -> TenstorrentKernel:
    @T.prim_func
    def matmul(
        A: T.Tensor((128, 128), "bfloat16"), B: T.Tensor((128, 128), "bfloat16"), C: T.Tensor((128, 128), "bfloat16")
    ):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            A_s = T.alloc_shared((64, 64), "bfloat16")
            B_s = T.alloc_shared((64, 64), "bfloat16")
            C_l = T.alloc_fragment((64, 64), "float32")
            T.clear(C_l)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[by * 64, k * 64], A_s)
                T.copy(B[k * 64, bx * 64], B_s)
                T.gemm(A_s, B_s, C_l)
            T.copy(C_l, C[by * 64, bx * 64])

    return tilelang.compile(matmul, target="tenstorrent")


class Page(HTMLParser):
    """Elements that are open must be closed in order; what the page holds is collected."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.scripts = 0
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(name)
        self.scripts += name == "script"
        self.attributes |= {key for key, _ in attributes}
        self.ids += [value or "" for key, value in attributes if key == "id"]
        self.open.append(name)

    def handle_startendtag(self, name: str, _attributes: list[tuple[str, str | None]]) -> None:
        assert name in VOID

    def handle_endtag(self, name: str) -> None:
        assert self.open.pop() == name


def test_whole_page(kernel: TenstorrentKernel, tmp_path: Path) -> None:
    text = kernel.report(tmp_path / "r.html").read_text()
    found = Page(text)
    assert found.ids == SECTIONS
    assert text.count("<svg") >= 3 + 1 + 1 + 1 + 1  # maps, L1, streams, timeline, roofline
    for word in ("A_s", "launch &#x27;matmul&#x27;", "TFLOPS", "program after: lift", "generated: compute.cpp"):
        assert word in text


def test_nothing_is_fetched(kernel: TenstorrentKernel, tmp_path: Path) -> None:
    text = kernel.report(tmp_path / "r.html").read_text()
    assert not re.search(r"https?:|//[a-z]+\.|url\(|@import|\bfetch\(|XMLHttpRequest", text.replace("// ", ""))
    assert "default-src &#x27;none&#x27;" in text
    assert Page(text).attributes.isdisjoint({"src", "srcset", "data", "action"})


def test_lines_are_linked(kernel: TenstorrentKernel, tmp_path: Path) -> None:
    """The line of T.gemm lights up in the source, in stages and in C++."""
    text = kernel.report(tmp_path / "r.html").read_text()
    source = Path(__file__).read_text().splitlines()
    number = next(at for at, line in enumerate(source, 1) if "T.gemm(A_s" in line)
    assert len(re.findall(rf'data-line="0:{number}"', text)) >= 3


def test_buffers_are_named_under_the_bar(kernel: TenstorrentKernel, tmp_path: Path) -> None:
    """In a bar that is to scale, most are too narrow for a name."""
    text = kernel.report(tmp_path / "r.html").read_text()
    legend = text[text.index('<ul class="legend">') :].partition("</ul>")[0]
    assert all(
        f"<b>{cb.name}</b> {cb.pages * cb.page_bytes:,} B" in legend for cb in kernel.compiled.plan.launches[0].cbs
    )


def test_stages_that_change_nothing_are_left_out(kernel: TenstorrentKernel) -> None:
    compiled = Compiled("k", kernel.files, (), (("one", "program"), ("two", "program"), ("three", "other")))
    options = re.findall(r"program after: (\w+)", page(compiled, Options(), "", "", []))
    assert options == ["one", "three"]


def test_evil_names_do_no_harm(kernel: TenstorrentKernel, tmp_path: Path) -> None:
    """Names of kernel, tensors, buffers, files, lines of code, decisions and warnings are text."""
    plan = kernel.compiled.plan
    launch = plan.launches[0]
    file = tmp_path / f"{EVIL.replace('/', '')}.py"
    file.write_text(f"{EVIL}\n" * 60)
    lines = lines_to_json(replace(line, user_file=str(file), user_line=5) for line in kernel.compiled.lines)
    cbs = tuple(replace(cb, name=EVIL + str(cb.id)) for cb in launch.cbs)
    evil = replace(plan, name=EVIL, launches=(replace(launch, name=EVIL, cbs=cbs),))
    files = {name: f"// {EVIL}\n{text}" for name, text in kernel.files.items()}
    files |= {"tt.plan.json": evil.to_json(), "tt.lines.json": lines}
    decisions = tuple(replace(one, subject=EVIL, text=EVIL) for one in kernel.compiled.decisions)
    compiled = Compiled(EVIL, files, decisions, ((EVIL, EVIL),))
    text = page(compiled, Options(), EVIL, EVIL, [EVIL])
    found = Page(text)
    assert found.scripts == 1
    assert "img" not in found.tags
    assert not any(key.startswith("on") for key in found.attributes)


def test_tags_escape() -> None:
    assert tag("a", "<b>", title='"&') == '<a title="&quot;&amp;">&lt;b&gt;</a>'


def test_units_of_dynamic_sizes(tmp_path: Path) -> None:
    """Unknown, of sizes that are given, of tensors, and of the latest call."""
    n = T.dynamic("n")

    @T.prim_func
    def main(A: T.Tensor((n, 32), "float32"), B: T.Tensor((n, 32), "float32")):
        with T.Kernel(T.ceildiv(n, 32), threads=128) as bx:
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A[bx * 32, 0], X)
            T.copy(X, B[bx * 32, 0])

    kernel = tilelang.compile(main, target="tenstorrent -grid=2x2")

    def maps(*args: torch.Tensor, **sizes: int) -> list[str]:
        return re.findall(r"units of work, ([^<]*)", kernel.report(tmp_path / "r.html", *args, **sizes).read_text())

    assert maps() == []
    assert "follows from the sizes of a call" in (tmp_path / "r.html").read_text()
    assert maps(n=96) == ["n = 96"]
    assert maps(torch.ones(64, 32), torch.empty(64, 32)) == ["n = 64"]
    kernel(torch.ones(160, 32), torch.empty(160, 32))
    assert maps() == ["n = 160"]


def test_command_and_dynamic_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "dynamic.py"
    source.write_text(
        'import tilelang.language as T\n\nn = T.dynamic("n")\n\n\n@T.prim_func\n'
        'def main(A: T.Tensor((n, 32), "float32"), B: T.Tensor((n, 32), "float32")):\n'
        "    with T.Kernel(T.ceildiv(n, 32), threads=128) as bx:\n"
        '        X = T.alloc_shared((32, 32), "float32")\n'
        "        T.copy(A[bx * 32, 0], X)\n        T.copy(X, B[bx * 32, 0])\n"
    )
    where = tmp_path / "r.html"
    assert main(["report", str(source), "-o", str(where)]) == 0
    assert "no times: no value for n" in where.read_text()
    assert "follows from the sizes of a call" in where.read_text()
    assert main(["report", str(source), "-o", str(where), "--size", "n=64"]) == 0
    assert "no times" not in where.read_text()
    assert "reader waiting" in where.read_text()
