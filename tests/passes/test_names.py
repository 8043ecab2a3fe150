"""Names mean nothing: the same kernel with every name changed gives the same files, but for the names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tilelang_tt.options import Options
from tilelang_tt.pipeline import compile_function

TEMPLATE = """
import tilelang.language as T

@T.prim_func
def {kernel}(
    {A}: T.Tensor((256, 128), "bfloat16"),
    {B}: T.Tensor((128, 256), "bfloat16"),
    {C}: T.Tensor((256, 256), "bfloat16"),
):
    with T.Kernel(2, 2, threads=128) as ({bx}, {by}):
        {a} = T.alloc_shared((128, 32), "bfloat16")
        {b} = T.alloc_shared((32, 128), "bfloat16")
        {c} = T.alloc_fragment((128, 128), "float32")
        T.clear({c})
        for {k} in T.Pipelined(4, num_stages=2):
            T.copy({A}[{by} * 128, {k} * 32], {a})
            T.copy({B}[{k} * 32, {bx} * 128], {b})
            T.gemm({a}, {b}, {c})
        for {i}, {j} in T.Parallel(128, 128):
            {c}[{i}, {j}] = T.max({c}[{i}, {j}], 0)
        T.copy({c}, {C}[{by} * 128, {bx} * 128])
"""

PLAIN = {
    "kernel": "product",
    "A": "lhs",
    "B": "rhs",
    "C": "result",
    "a": "lhsblock",
    "b": "rhsblock",
    "c": "sums",
    "k": "ko",
    "bx": "bx",
    "by": "by",
    "i": "ii",
    "j": "jj",
}
# Names that would mislead a compiler that reads them.
MISLEADING = {
    "kernel": "sharedwriter",
    "A": "Cout",
    "B": "outputs",
    "C": "inputA",
    "a": "fragmentC",
    "b": "accumulators",
    "c": "sharedAB",
    "k": "bz",
    "bx": "kz",
    "by": "threadx",
    "i": "rowx",
    "j": "kx",
}


def files(tmp_path: Path, names: dict[str, str], load: Callable[[Path, str], object]) -> dict[str, str]:
    path = tmp_path / f"{names['kernel']}.py"
    path.write_text(TEMPLATE.format(**names))
    func = load(path, names["kernel"])
    return compile_function(func, Options()).files


def load(path: Path, name: str) -> object:
    scope: dict[str, object] = {"__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec", dont_inherit=True), scope)
    return scope[name]


def renamed(text: str, names: dict[str, str]) -> str:
    """Every name replaced by the place it stands for; comments with the user's source dropped."""
    text = re.sub(r"// \S+\.py:\d+.*", "//", text)
    # TileLang calls the block indices bx and by whatever the user does.
    places = {name: f"<{place}>" for place, name in names.items() if place not in ("bx", "by")}
    words = sorted(places, key=len, reverse=True)
    pattern = re.compile(r"(?<![A-Za-z0-9])(" + "|".join(map(re.escape, words)) + r")(?![A-Za-z0-9])")
    text = pattern.sub(lambda match: places[match.group(1)], text)
    return " ".join(text.split())  # long names make long lines, which are broken


@pytest.mark.parametrize("file", ["reader.cpp", "compute.cpp", "writer.cpp"])
def test_kernels_are_the_same_modulo_names(tmp_path: Path, file: str) -> None:
    plain, misleading = (files(tmp_path, names, load) for names in (PLAIN, MISLEADING))
    assert renamed(plain[file], PLAIN) == renamed(misleading[file], MISLEADING)


def test_plans_are_the_same_modulo_names(tmp_path: Path) -> None:
    plans = []
    for names in (PLAIN, MISLEADING):
        plan = json.loads(files(tmp_path, names, load)["tt.plan.json"])
        plans.append(renamed(json.dumps(plan, indent=1), names))
    assert plans[0] == plans[1]
