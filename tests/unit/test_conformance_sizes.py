"""Sizes a script names become small; everything else in it stays as it is."""

import ast

import pytest

from tilelang_tt.conformance.sizes import LADDER, shrink_source

SMALL, MEDIUM, FULL = LADDER


def shrunk(source: str, step: int = 0) -> str:
    return ast.unparse(shrink_source(source, "script.py", LADDER[step]))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("parser.add_argument('--seq_len', type=int, default=4096)", "default=256"),
        ("parser.add_argument('-m', '--M', default=8192)", "default=256"),
        ("def main(batch=8, heads=128, dim=512, *, kv_heads=8): pass", "batch=2, heads=32, dim=512, *, kv_heads=8"),
        ("M, N, block_M = 8192, 4 * 1024, 128", " = (256, 256, 128)"),
        ("run_test(B=16, S=32768, DK=128, chunk_size=64)", "B=2, S=256, DK=128, chunk_size=64"),
        ("def mm(M, N, block): pass\nmm(1024, 512, 128)", "mm(256, 256, 128)"),
        ("n_ctx = 2 ** 14", "n_ctx = 256"),
        ("topk = 2048", "topk = 64"),
        ("repeat = 512", "repeat = 2"),
        ("parser.add_argument('--num_pages', default=1024)", "default=64"),
        ("def main(d_hidden=7168, d_expert=2048): pass", "d_hidden=1024, d_expert=1024"),
        ("def test(n, h): pass\ntest(n=4096, h=64)", "test(n=256, h=32)"),
    ],
)
def test_small(before: str, after: str) -> None:
    assert after in shrunk(before)


@pytest.mark.parametrize(
    "source",
    [
        "def ceildiv(a, b): pass\nceildiv(7, 128)",
        "block_N = 4096",
        "x = torch.randn(4096, 4096)",
        "M = 64",
        "dim = 8192",
        "seq_len = None",
        "M = 1024.0",
    ],
)
def test_what_stays(source: str) -> None:
    assert shrunk(source) == ast.unparse(ast.parse(source))


def test_the_ladder_ends_with_the_script_itself() -> None:
    source = "def main(batch=8, heads=128, seq_len=4096): pass"
    assert "heads=128, seq_len=512" in shrunk(source, 1)
    assert shrunk(source, 2) == ast.unparse(ast.parse(source))


def test_lines_stay() -> None:
    tree = shrink_source("\n\nM = 8192\n\nN = 8192\n", "script.py", SMALL)
    assert [node.lineno for node in tree.body] == [3, 5]
    compile(tree, "script.py", "exec")
