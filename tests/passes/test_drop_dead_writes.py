"""C drop_dead_writes: what nothing reads is left out, and what something may read is kept."""

import tilelang.language as T

from tilelang_tt.passes.c_tile.drop_dead_writes import drop_dead_writes

from .kernels import CASES, gemm, small_integers, triangular_sum
from .stages import after, before, body, keeps_meaning


def test_a_chain_that_reaches_no_store_goes_as_a_whole() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((64, 64), "float32")
            Y = T.alloc_fragment((64, 64), "float32")
            Z = T.alloc_fragment((64, 64), "float32")
            W = T.alloc_shared((64, 64), "float32")
            T.copy(A, X)
            T.copy(A, W)
            T.fill(Z, 0)
            for _ in T.serial(2):
                for i, j in T.Parallel(64, 64):
                    Y[i, j] = X[i, j] * 2.0
                for i, j in T.Parallel(64, 64):
                    Z[i, j] = Z[i, j] + Y[i, j]
            T.copy(W, B)

    assert (
        body(after(drop_dead_writes, main))
        == """\
Load A tiles (0, 0) 2 x 2 -> W
Store W -> B tiles (0, 0) 2 x 2
"""
    )
    assert keeps_meaning(drop_dead_writes, main, small_integers({"A": (64, 64)}))


def test_a_clear_before_a_loop_that_may_not_run_is_kept() -> None:
    func = triangular_sum()
    assert body(after(drop_dead_writes, func)).startswith("Fill C_l = 0\n")
    assert keeps_meaning(drop_dead_writes, func, small_integers({"A": (128, 128), "B": (128, 64)}))


def test_what_the_next_round_reads_is_kept() -> None:
    """The last statement of the loop is read at the top of the next round only."""

    @T.prim_func
    def main(A: T.Tensor((96, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_fragment((32, 64), "float32")
            Y = T.alloc_fragment((32, 64), "float32")
            T.fill(X, 1.0)
            for k in T.serial(2):
                for i, j in T.Parallel(32, 64):
                    Y[i, j] = X[i, j] + 1.0
                T.copy(Y, B[k * 32, 0])
                T.copy(A[k * 32 + 32, 0], X)

    assert "  Load A tiles (k + 1, 0) 1 x 2 ->" in body(after(drop_dead_writes, main))
    assert keeps_meaning(drop_dead_writes, main, small_integers({"A": (96, 64)}))


def test_one_arm_that_reads_is_enough_to_keep_a_block() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_fragment((32, 64), "float32")
            T.fill(X, 3.0)
            if bx == 0:
                T.copy(A[bx * 32, 0], X)
            T.copy(X, B[bx * 32, 0])

    assert "Fill X = 3\n" in body(after(drop_dead_writes, main))
    assert keeps_meaning(drop_dead_writes, main, small_integers({"A": (64, 64)}))


def test_nothing_of_a_plain_gemm_is_dead() -> None:
    program = before(drop_dead_writes, gemm())
    assert body(drop_dead_writes(program)) == body(program)


def test_stores_stay() -> None:
    for case in CASES:
        func = case.build()
        stores = [body(step(drop_dead_writes, func)).count("Store ") for step in (before, after)]
        assert stores[0] == stores[1] > 0, case.name
