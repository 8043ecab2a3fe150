"""`separate_vector_inits`: where basic blocks end."""

import re

import tilelang.language as T

from tilelang_tt.options import Options
from tilelang_tt.pipeline import compile_function


def inits(columns: int) -> list[str]:
    """Vector calls and ends of blocks of a kernel with two operations, in order."""

    @T.prim_func
    def main(A: T.Tensor((32, columns), "bfloat16"), B: T.Tensor((32, columns), "bfloat16")):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((32, columns), "bfloat16")
            T.copy(A, x)
            for i, j in T.Parallel(32, columns):
                x[i, j] = T.sigmoid(T.exp2(x[i, j]))
            T.copy(x, B)

    text = compile_function(main, Options(grid=(1, 1))).files["compute.cpp"]
    steps = re.findall(r"\b(?:(?:exp2|sigmoid)_tile\w*|end_block)\b", text.partition("void kernel_main")[2])
    return [step for step, before in zip(steps, ["", *steps], strict=False) if step != before]  # several tiles in a row


def test_a_second_init_begins_a_basic_block() -> None:
    call = ["exp2_tile_init", "exp2_tile", "end_block", "sigmoid_tile_init", "sigmoid_tile"]
    assert inits(32) == call
    assert inits(32 * 64) == ["end_block", *call]  # 16 iterations, which the compiler may unroll
    assert inits(32 * 23) == call  # 23


def test_one_init_needs_none() -> None:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "bfloat16"), B: T.Tensor((32, 32), "bfloat16")):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((32, 32), "bfloat16")
            T.copy(A, x)
            for i, j in T.Parallel(32, 32):
                x[i, j] = T.exp2(x[i, j])
            T.copy(x, B)

    assert "end_block" not in compile_function(main, Options(grid=(1, 1))).files["compute.cpp"]
