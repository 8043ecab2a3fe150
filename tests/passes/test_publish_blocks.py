"""C publish_blocks: where a finished block is handed to the writer."""

import tilelang.language as T

from tilelang_tt.passes.c_tile.publish_blocks import publish_blocks

from .kernels import double_loop_gemm, small_integers
from .stages import after, body, keeps_meaning


def test_a_block_is_handed_over_in_every_round_of_its_loop() -> None:
    assert body(after(publish_blocks, double_loop_gemm())).endswith(
        """\
    Map C_l_out = C_l
  Publish C_l_out
  Store C_l_out -> C tiles (bx * 2 + row, 0) 1 x 2
"""
    )


def test_one_block_may_be_stored_twice() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((64, 64), "float32")
            Y = T.alloc_fragment((64, 64), "float32")
            T.copy(A, X)
            for i, j in T.Parallel(64, 64):
                Y[i, j] = X[i, j] * 2.0
            T.copy(Y, B)
            T.copy(Y, C)

    assert body(after(publish_blocks, main)).endswith(
        """\
Section
  Map Y = X * 2
Publish Y
Store Y -> B tiles (0, 0) 2 x 2
Store Y -> C tiles (0, 0) 2 x 2
"""
    )
    assert keeps_meaning(publish_blocks, main, small_integers({"A": (64, 64)}))


def test_what_the_reader_hands_to_the_writer_needs_no_mark() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((64, 64), "float32")
            T.copy(A, X)
            T.copy(X, B)

    program = after(publish_blocks, main)
    assert "Publish" not in body(program)


def test_what_an_earlier_round_filled_is_stored_through_a_block_of_its_own() -> None:
    @T.prim_func
    def main(A: T.Tensor((128, 64), "float32"), B: T.Tensor((128, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((64, 64), "float32")
            Y = T.alloc_fragment((64, 64), "float32")
            T.fill(Y, 1.0)
            for k in T.serial(2):
                T.copy(Y, B[k * 64, 0])
                T.copy(A[k * 64, 0], X)
                for i, j in T.Parallel(64, 64):
                    Y[i, j] = X[i, j] * 2.0

    assert """\
  Section
    Map Y_out = Y
  Publish Y_out
  Store Y_out -> B""" in body(after(publish_blocks, main))
