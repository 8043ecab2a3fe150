"""A3 attach_tensor_accessors: copies become tile traffic with guards where a tensor may end."""

import tilelang.language as T

from tilelang_tt.passes.a_metadata.attach_tensor_accessors import attach_tensor_accessors

from .kernels import batched_gemm, cast_copy, dynamic_gemm, gemm, small_integers
from .stages import after, body, keeps_meaning, refusal


def test_no_staging_between_equal_formats() -> None:
    assert body(after(attach_tensor_accessors, gemm(out_dtype="float32"))).splitlines()[-1] == (
        "Store C_l -> C tiles (by * 2, bx * 2) 2 x 2"
    )


def test_a_converting_load_is_staged() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "bfloat16")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 64), "bfloat16")
            T.copy(A[bx * 32, 0], X)
            T.copy(X, B[bx * 32, 0])

    program = after(attach_tensor_accessors, main)
    assert (
        body(program)
        == """\
Load A tiles (bx, 0) 1 x 2 -> X_in
Map X = X_in
Store X -> B tiles (bx, 0) 1 x 2
"""
    )
    assert [(decision.subject, decision.text) for decision in program.decisions[-1:]] == [
        ("X_in", "staging block for 'A': compute converts between Float16_b and Float32")
    ]
    assert keeps_meaning(attach_tensor_accessors, main, small_integers({"A": (64, 64)}))


def test_only_sides_that_may_overrun_are_guarded() -> None:
    """100 rows are 4 tile rows, 2 blocks; 70 columns are 3 tile columns, and the second block has a 4th."""
    text = body(after(attach_tensor_accessors, gemm(100, 70, 64)))
    assert "Load A tiles (by * 2, k) 2 x 1 -> A_s\n" in text
    assert "Load B tiles (k, bx * 2) 1 x 2, guarded columns -> B_s\n" in text
    assert "-> C tiles (by * 2, bx * 2) 2 x 2, guarded columns\n" in text


def test_symbolic_sizes_are_guarded() -> None:
    text = body(after(attach_tensor_accessors, dynamic_gemm()))
    assert "Load A tiles (by * 2, k) 2 x 1, guarded rows -> A_s\n" in text
    assert "-> C tiles (by * 2, bx * 2) 2 x 2, guarded rows, guarded columns\n" in text


def test_batches_are_numbered() -> None:
    text = body(after(attach_tensor_accessors, batched_gemm()))
    assert "Load A tiles (bz: by, k) 1 x 1 -> A_s" in text


def test_a_batch_that_may_not_exist_is_guarded() -> None:
    @T.prim_func
    def main(A: T.Tensor((3, 2, 32, 32), "float32"), B: T.Tensor((4, 2, 32, 32), "float32")):
        with T.Kernel(2, 4, threads=128) as (h, b):
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A[b, h, 0:32, 0:32], X)
            T.copy(X, B[b, h, 0:32, 0:32])

    assert (
        body(after(attach_tensor_accessors, main))
        == """\
Load A tiles (by * 2 + bx: 0, 0) 1 x 1, if by < 3 -> X
Store X -> B tiles (by * 2 + bx: 0, 0) 1 x 1
"""
    )
    assert keeps_meaning(attach_tensor_accessors, main, small_integers({"A": (3, 2, 32, 32)}))


def test_blocks_before_the_start_are_guarded() -> None:
    """A stencil's neighbour: row block -1 does not exist and reads as zero."""

    @T.prim_func
    def main(A: T.Tensor((128, 64), "float32"), B: T.Tensor((128, 64), "float32")):
        with T.Kernel(4, threads=128) as bx:
            X = T.alloc_shared((32, 64), "float32")
            T.copy(A[bx * 32 - 32, 0], X)
            T.copy(X, B[bx * 32, 0])

    assert (
        body(after(attach_tensor_accessors, main))
        == """\
Load A tiles (bx - 1, 0) 1 x 2, guarded rows -> X
Store X -> B tiles (bx, 0) 1 x 2
"""
    )
    assert keeps_meaning(attach_tensor_accessors, main, small_integers({"A": (128, 64)}))


def test_a_copy_between_blocks_is_a_map() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((64, 64), "float32")
            Y = T.alloc_fragment((64, 64), "float32")
            T.copy(A, X)
            T.copy(X, Y)
            T.copy(Y, B)

    assert (
        body(after(attach_tensor_accessors, main))
        == """\
Load A tiles (0, 0) 2 x 2 -> X
Map Y = X
Store Y -> B tiles (0, 0) 2 x 2
"""
    )


def test_meaning_of_tails() -> None:
    tensors = small_integers({"A": (100, 50), "B": (50, 70)})
    assert keeps_meaning(attach_tensor_accessors, gemm(100, 70, 50), tensors)
    assert keeps_meaning(attach_tensor_accessors, cast_copy(), small_integers({"A": (100, 70)}))


def test_stored_blocks_that_overlap_inside_a_tile_are_refused() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 64), "float32")
            T.copy(A[bx * 32, 0], X)
            T.copy(X, B[0, bx * 16])

    assert (
        refusal(lambda: after(attach_tensor_accessors, main))
        == """\
test_attach_tensor_accessors.py: error[TT124]: block of 'B' starts at element bx * 16 of axis 1, \
which is not always the start of a 32x32 tile
    T.copy(X, B[0, bx * 16])
  help: let blocks start at multiples of 32, or at multiples of their own size everywhere"""
    )
