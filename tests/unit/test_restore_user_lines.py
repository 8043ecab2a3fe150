"""Statements that TileLang's macros make know the user's line, where it is certain."""

from pathlib import Path
from typing import Any

import pytest
import tilelang.language as T

from tilelang_tt.diagnostics import Location
from tilelang_tt.frontend.lift import lift
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.tile import Reduce
from tilelang_tt.options import Options


def normalized() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((64, 64), "float32")
            m = T.alloc_fragment((64,), "float32")
            s = T.alloc_fragment((64,), "float32")
            T.copy(A, X)
            T.reduce_max(X, m, dim=1)  # max 0
            T.reduce_sum(X, s, dim=1)  # sum 0
            for _ in T.serial(3):
                T.reduce_sum(  # sum 1
                    X,
                    s,
                    dim=1,
                    clear=False,
                )
                for i in T.Parallel(64):
                    m[i] = m[i] + s[i]
            T.copy(m, B)
            T.reduce_max(X, m, dim=1, clear=False)  # max 1

    return main


def lines(func: Any) -> dict[str, list[Location | None]]:
    found: dict[str, list[Location | None]] = {"max": [], "sum": []}
    for stmt in walk(lift(func, Options()).launches[0].body):
        if isinstance(stmt, Reduce):
            found[stmt.op].append(stmt.location)
    return found


@pytest.mark.parametrize("mark", ["max 0", "sum 0", "sum 1", "max 1"])
def test_the_line_of_a_reduction(mark: str) -> None:
    source = Path(__file__).read_text().splitlines()
    wanted = next(number for number, line in enumerate(source, 1) if line.endswith(f"# {mark}"))
    op, number = mark.split()
    assert lines(normalized())[op][int(number)] == Location(__file__, wanted)


def twice() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128):  # all that is certain
            X = T.alloc_shared((64, 64), "float32")
            m = T.alloc_fragment((64,), "float32")
            T.copy(A, X)
            for clear in (True, False):
                T.reduce_sum(X, m, dim=1, clear=clear)
                T.reduce_sum(X, m, dim=1, clear=False)
            T.copy(m, B)

    return main


def test_calls_of_a_loop_in_python_are_not_guessed() -> None:
    source = Path(__file__).read_text().splitlines()
    around = next(number for number, line in enumerate(source, 1) if line.endswith("# all that is certain"))
    assert lines(twice())["sum"] == [Location(__file__, around)] * 4
