"""C form_sections: blocks made of the same things in one pass through DST; the copy of an old value goes."""

from typing import Any

import pytest
import tilelang.language as T

from tilelang_tt.passes.c_tile.form_sections import form_sections

from .kernels import small_integers
from .stages import after, before, body, facts, keeps_meaning
from .vector_kernels import attention

QKV = dict.fromkeys("QKV", (128, 32))


def test_before_and_after() -> None:
    """The running maximum and its factor; scores in two formats; two blocks times the factor. `before` is gone."""
    text = body(before(form_sections, attention()))
    assert (
        """\
  Map before = largest
  Fill largest = -inf
  Reduce largest_tile_lane = max of scores along j
  Gemm largest_tile = largest_tile_lane @ ones
  Map largest = max(largest, largest_tile)
  Map largest = max(largest, before)
  Map factor = exp2((before * 0.25) - (largest * 0.25))
  Map scores = exp2((scores * 0.25) - (largest[i] * 0.25))
  Gemm part = scores @ ones
  Map total = (total * factor) + part
  Map weights = scores
"""
        in text
    )
    program = after(form_sections, attention())
    assert """\
  Reduce largest_tile_lane = max of scores along j
  Gemm largest_tile = largest_tile_lane @ ones
  Section
    Map largest = max(largest_tile, largest)
    Map factor = exp2((largest - max(largest_tile, largest)) * 0.25)
  Section
    Map scores = exp2((scores - largest[i]) * 0.25)
    Map weights = exp2((scores - largest[i]) * 0.25)
  Gemm part = scores @ ones
  Section
    Map total = (total * factor) + part
    Map out = out * factor[i]
""" in body(program)
    assert not any(line.startswith("before:") for line in facts(program, "buffer"))
    assert keeps_meaning(form_sections, attention(), small_integers(QKV))


def _chain(second: str, between: str) -> str:
    """Two results from x, as text: the second may read the first (`y`), the statement in between may disturb."""
    return f"""
import tilelang.language as T

@T.prim_func
def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
    with T.Kernel(1, threads=128):
        x = T.alloc_fragment((64, 64), "float32")
        y = T.alloc_fragment((64, 64), "float32")
        z = T.alloc_fragment((64, 64), "float32")
        r = T.alloc_fragment((64,), "float32")
        T.copy(A, x)
        T.reduce_sum(x, r, dim=1)
        for i, j in T.Parallel(64, 64):
            y[i, j] = x[i, j] * 2.0
        {between}
        for i, j in T.Parallel(64, 64):
            z[i, j] = {second}
        T.copy(y, B)
        T.copy(z, C)
"""


def _compiled(source: str, tmp_path: Any) -> Any:
    path = tmp_path / "kernel.py"
    path.write_text(source)
    scope: dict[str, Any] = {}
    exec(compile(source, str(path), "exec", dont_inherit=True), scope)
    return scope["main"]


@pytest.mark.parametrize(
    ("second", "between", "joined"),
    [
        ("x[i, j] + 1.0", "pass", True),  # a common operand
        ("y[i, j] + x[i, j]", "pass", True),  # the first result
        ("r[i] + 1.0", "pass", False),  # nothing in common
        ("y[j, i] + x[i, j]", "pass", False),  # tiles of the first result that are not there yet
        ("x[i, j] + r[i]", "T.reduce_max(y, r, dim=1)", False),  # an operand changes
    ],
)
def test_what_may_join(second: str, between: str, joined: bool, tmp_path: Any) -> None:
    func = _compiled(_chain(second, between), tmp_path)
    assert ("\n  Map z = " in body(after(form_sections, func))) is joined
    assert keeps_meaning(form_sections, func, small_integers({"A": (64, 64)}))


def test_a_third_result_reads_both() -> None:
    """Each result is computed from what was there before: the second must not see the first one's new value twice."""

    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((3, 32, 32), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((32, 32), "float32")
            y = T.alloc_fragment((32, 32), "float32")
            z = T.alloc_fragment((32, 32), "float32")
            T.copy(A, x)
            T.fill(y, 3.0)
            for _ in T.serial(2):
                for i, j in T.Parallel(32, 32):
                    x[i, j] = x[i, j] + y[i, j]
                for i, j in T.Parallel(32, 32):
                    y[i, j] = y[i, j] + x[i, j]
                for i, j in T.Parallel(32, 32):
                    z[i, j] = x[i, j] - y[i, j] * 2.0
            T.copy(x, B[0, 0, 0])
            T.copy(y, B[1, 0, 0])
            T.copy(z, B[2, 0, 0])

    assert "Section\n    Map x = x + y\n    Map y = y + (x + y)" in body(after(form_sections, main))
    assert keeps_meaning(form_sections, main, small_integers({"A": (32, 32)}))
