"""Size expressions of a plan, printed as C++: the text, and its value when compiled."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from host_plans import compile_cpp

from tilelang_tt.codegen.host_expression import cpp_size, needs_floor
from tilelang_tt.codegen.host_support import FLOOR_DIV
from tilelang_tt.runtime.plan import evaluate

PRINTED = [
    (7, "7"),
    ("M", "M"),
    ("(M + 31) // 32 * min(N, 64)", "(M + 31) / 32 * std::min<int64_t>(N, 64)"),
    ("M * (N * K)", "M * (N * K)"),
    ("M - (N - K)", "M - (N - K)"),
    ("M - N - K", "M - N - K"),
    ("4096 * 4096 * 4096 * M", "68719476736 * M"),
    ("(M - 1) // 32 + 1", "floor_div(M - 1, 32) + 1"),
    ("(M - N) % 7", "floor_mod(M - N, 7)"),
    ("max(M - N, 0) // 3", "std::max<int64_t>(M - N, 0) / 3"),
    ("min(M - N, 0) // 3", "floor_div(std::min<int64_t>(M - N, 0), 3)"),
    ("M // (1 - 3)", "floor_div(M, (-2))"),
]
NAMES = {"M": "M", "N": "N", "K": "K"}


@pytest.mark.parametrize(("size", "text"), PRINTED)
def test_size_expressions_as_text(size: int | str, text: str) -> None:
    assert cpp_size(size, NAMES) == text
    assert needs_floor(size, NAMES) == ("floor_" in text)


def test_size_expressions_have_their_value_in_cpp(tmp_path: Path) -> None:
    points = [(1, 1, 1), (70, 33, 64), (31, 1000, 7), (2048, 5, 129)]
    lines = "".join(f"        std::cout << ({cpp_size(size, NAMES)}) << ' ';\n" for size, _ in PRINTED)
    calls = "".join(f"    print({m}, {n}, {k});\n" for m, n, k in points)
    source = tmp_path / "sizes.cpp"
    source.write_text(
        f"#include <algorithm>\n#include <cstdint>\n#include <iostream>\n{FLOOR_DIV}\n"
        f"void print(int64_t M, int64_t N, int64_t K) {{\n{lines}}}\nint main() {{\n{calls}}}\n"
    )
    done = subprocess.run([compile_cpp(source)], capture_output=True, text=True, check=True)
    wanted = [evaluate(size, dict(zip("MNK", point, strict=True))) for point in points for size, _ in PRINTED]
    assert [int(word) for word in done.stdout.split()] == wanted
