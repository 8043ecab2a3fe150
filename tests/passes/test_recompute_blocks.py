"""recompute_blocks: matrices that several statements use are computed for each of them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tilelang.language as T

from tilelang_tt.ir.interpret import interpret
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.passes.fit_l1.block_parts import Side
from tilelang_tt.passes.fit_l1.recompute_blocks import recompute_blocks

from .kernels import CASES, Case, small_integers
from .stages import body
from .test_split_blocks import in_parts, placed, softmax
from .vector_kernels import VECTOR_CASES

M, N = 32, 128


def again(program: TileProgram) -> TileProgram:
    return replace(program, launches=tuple(map(recompute_blocks, program.launches)))


def deviations() -> Any:
    @T.prim_func
    def main(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((M, N), "float32")
            m = T.alloc_fragment((M,), "float32")
            d = T.alloc_fragment((M, N), "float32")
            q = T.alloc_fragment((M, N), "float32")
            y = T.alloc_fragment((M, N), "float32")
            T.copy(X, x)
            T.reduce_max(x, m, dim=1)
            for i, j in T.Parallel(M, N):
                d[i, j] = x[i, j] - m[i]
            for i, j in T.Parallel(M, N):
                q[i, j] = d[i, j] * d[i, j]
            T.reduce_sum(q, m, dim=1)
            for i, j in T.Parallel(M, N):
                y[i, j] = d[i, j] * m[i]
            T.copy(y, Y)

    return main


def test_each_use_has_a_block() -> None:
    """The second result in `m` is another block: `d` is computed from the first."""
    assert body(again(placed(deviations()))) == (
        "Load X tiles (0, 0) 1 x 4 -> x\n"
        "Map x_frag = x\n"
        "Reduce m = max of x_frag along j, exact\n"
        "Map d = x - m[i]\n"
        "Map q = d * d\n"
        "Reduce m_1 = sum of q along j, exact\n"
        "Map d_1 = x - m[i]\n"
        "Map y = d_1 * m_1[i]\n"
        "Store y -> Y tiles (0, 0) 1 x 4\n"
    )


def test_what_is_computed_again_is_made_of_what_was() -> None:
    """All that stays whole of a softmax is what came from the tensor."""
    program = in_parts(again(placed(softmax())), Side.COLUMNS, 2)
    whole = [buffer.name for buffer in program.launches[0].buffers if 256 in buffer.shape]
    assert whole == ["x_in"]


def test_loops_are_left_alone() -> None:
    case = next(case for case in CASES if case.name == "gemm")
    program = placed(case.build())
    assert again(program) == program


@pytest.mark.parametrize("case", [*CASES, *VECTOR_CASES], ids=lambda case: case.name)
def test_any_kernel_computes_the_same(case: Case) -> None:
    tensors = small_integers(case.inputs)
    program = placed(case.build())
    close = 1e-6 if case.rtol else 0.0
    for changed in (again(program), in_parts(again(program), Side.COLUMNS, 1)):
        result = interpret(changed, tensors, dict(case.sizes), exact=True)
        np.testing.assert_allclose(result[case.output], case.meaning(tensors), case.rtol, close)
