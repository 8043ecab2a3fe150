"""C separate_roles: one producer and one consumer per buffer."""

import tilelang.language as T

from tilelang_tt.ir.layout import Role
from tilelang_tt.passes.c_tile.separate_roles import consumers, producers, separate_roles

from .kernels import gemm, running_sum, small_integers
from .stages import after, before, body, facts, keeps_meaning


def test_nothing_to_do_for_a_gemm() -> None:
    program = before(separate_roles, gemm())
    assert body(separate_roles(program)) == body(program)


def test_an_accumulator_that_starts_from_a_tensor() -> None:
    @T.prim_func
    def main(
        A: T.Tensor((64, 64), "bfloat16"),
        B: T.Tensor((64, 64), "bfloat16"),
        D: T.Tensor((64, 64), "float32"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(2, threads=128) as bx:
            A_s = T.alloc_shared((32, 32), "bfloat16")
            B_s = T.alloc_shared((32, 64), "bfloat16")
            C_l = T.alloc_fragment((32, 64), "float32")
            T.copy(D[bx * 32, 0], C_l)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[bx * 32, k * 32], A_s)
                T.copy(B[k * 32, 0], B_s)
                T.gemm(A_s, B_s, C_l)
            T.copy(C_l, C[bx * 32, 0])

    program = after(separate_roles, main)
    assert body(program).splitlines()[:2] == ["Load D tiles (bx, 0) 1 x 2 -> C_l_in", "Map C_l = C_l_in"]
    tensors = small_integers(dict.fromkeys("ABD", (64, 64)))
    assert keeps_meaning(separate_roles, main, tensors)


def _two_blocks():
    """Two blocks that all three kernels touch; one has the name a pass would choose for the other's twin."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_fragment((32, 64), "float32")
            X_in = T.alloc_fragment((32, 64), "float32")
            T.copy(A[bx * 32, 0], X)
            T.copy(B[bx * 32, 0], X_in)
            for _ in T.serial(2):
                for i, j in T.Parallel(32, 64):
                    X[i, j] = X[i, j] + X_in[i, j]
            for _ in T.serial(2):
                for i, j in T.Parallel(32, 64):
                    X_in[i, j] = X_in[i, j] * 2.0
            T.copy(X, C[bx * 32, 0])
            T.copy(X_in, B[bx * 32, 0])

    return main


def test_every_block_has_one_producer_and_one_consumer() -> None:
    program = after(separate_roles, _two_blocks())
    (launch,) = program.launches
    for buffer in launch.buffers:
        assert len(producers(launch, buffer)) == 1
        assert len(consumers(launch, buffer)) == 1
    assert keeps_meaning(separate_roles, _two_blocks(), small_integers({"A": (64, 64), "B": (64, 64)}))


def test_new_blocks_have_names_of_their_own() -> None:
    program = after(separate_roles, _two_blocks())
    names = [buffer.name for buffer in program.launches[0].buffers]
    assert len(set(names)) == len(names) == 6


def test_new_blocks_come_in_the_order_of_the_old_ones() -> None:
    """Circular buffers are numbered in this order, so it must not depend on addresses."""
    lines = {tuple(facts(after(separate_roles, _two_blocks()), "buffer")) for _ in range(8)}
    assert len(lines) == 1


def test_a_stored_accumulator_that_is_still_needed_stays_with_compute() -> None:
    """Pushed to the writer, the block of the last round would be out of reach of the next product."""
    program = after(separate_roles, running_sum())
    (launch,) = program.launches
    stored = next(buffer for buffer in launch.buffers if Role.WRITER in consumers(launch, buffer))
    assert (
        body(program)
        == f"""\
Fill C_l = 0
Loop k < 3
  Load A tiles (bx, k) 1 x 1 -> A_s
  Load B tiles (k, 0) 1 x 2 -> B_s
  Gemm C_l += A_s @ B_s
  Map {stored.name} = C_l
  Store {stored.name} -> P tiles (k: bx, 0) 1 x 2
"""
    )
    assert stored.name != "C_l"
    tensors = small_integers({"A": (64, 96), "B": (96, 64)})
    assert keeps_meaning(separate_roles, running_sum(), tensors)
