"""Frontend: TileLang functions become tile programs, and what cannot is refused by exact text."""

import numpy as np
import pytest
import tilelang.language as T

from tilelang_tt.frontend.lift import lift
from tilelang_tt.ir.interpret import interpret
from tilelang_tt.ir.text_program import tile_text
from tilelang_tt.options import Options

from .kernels import dynamic_gemm, gemm, small_integers
from .stages import body, facts, plain, raised, refusal


def test_gemm() -> None:
    text = """\
program main
  target wormhole_b0, 8 x 8 cores, HiFi4, 32-bit DST
  tensor A: bfloat16[128, 128]
  tensor B: bfloat16[128, 128]
  tensor C: bfloat16[128, 128]
launch main
  blocks bx < 2, by < 2
  buffer A_s: shared bfloat16[64, 32]
  buffer B_s: shared bfloat16[64, 32]
  buffer C_l: fragment float32[64, 64]
  body
    Fill C_l = 0
    Loop k < 4, 3 stages
      Copy A[by * 64, k * 32 : 64 x 32] -> A_s
      Copy B[bx * 64, k * 32 : 64 x 32] -> B_s
      Gemm C_l += A_s @ B_s^T
    Copy C_l -> C[by * 64, bx * 64 : 64 x 64]
"""
    assert plain(tile_text(lift(gemm(transpose_B=True, stages=3), Options()))) == text


def test_symbolic_sizes() -> None:
    program = lift(dynamic_gemm(), Options())
    assert facts(program, "size") == ["M", "K", "N"]
    assert facts(program, "blocks") == ["bx < (N + 63) // 64, by < (M + 63) // 64"]
    assert "Loop k < (K + 31) // 32, 2 stages\n" in body(program)


def test_a_statement_remembers_the_line_it_stems_from() -> None:
    program = lift(gemm(), Options())
    (fill, *_) = program.launches[0].body
    assert fill.location is not None
    assert fill.location.text == "T.clear(C_l)"
    assert f"    Fill C_l = 0  # kernels.py:{fill.location.line}\n" in tile_text(program)


def test_loops_start_at_zero() -> None:
    @T.prim_func
    def main(A: T.Tensor((128, 64), "float32"), B: T.Tensor((128, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 64), "float32")
            for k in T.serial(1, 4):
                T.copy(A[k * 32, 0], X)
                T.copy(X, B[k * 32 - 32, 0])

    program = lift(main, Options())
    assert (
        body(program)
        == """\
Loop k < 3
  Copy A[k * 32 + 32, 0 : 32 x 64] -> X
  Copy X -> B[k * 32, 0 : 32 x 64]
"""
    )
    tensors = small_integers({"A": (128, 64)})
    assert (interpret(program, tensors)["B"][:96] == tensors["A"][32:]).all()


def test_parallel_reads_and_writes_tensors_through_blocks() -> None:
    @T.prim_func
    def main(A: T.Tensor((2, 64, 64), "bfloat16"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_fragment((32, 64), "float32")
            for i, j in T.Parallel(32, 64):
                X[i, j] = T.exp(A[1, bx * 32 + i, j]) * 0.5
                B[bx * 32 + i, j] = T.max(X[i, j], 2.0) - A[0, bx * 32 + i, j]

    assert (
        body(raised(main))
        == """\
Copy A[1, bx * 32, 0 : 1 x 32 x 64] -> A_tile
Map X = exp(A_tile) * 0.5
Copy A[0, bx * 32, 0 : 1 x 32 x 64] -> A_tile_1
Map B_tile = max(X, 2) - A_tile_1
Copy B_tile -> B[bx * 32, 0 : 32 x 64]
"""
    )


def test_what_is_read_may_lack_axes_or_have_them_in_another_order() -> None:
    @T.prim_func
    def main(A: T.Tensor((32, 64), "float32"), v: T.Tensor((64,), "float32"), B: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 64), "float32")
            Y = T.alloc_fragment((64, 32), "float32")
            s = T.alloc_fragment((32,), "float32")
            T.copy(A, X)
            T.fill(s, 2.0)
            for i, j in T.Parallel(64, 32):
                Y[i, j] = X[j, i] * s[j] + v[i]
            T.copy(Y, B)

    program = raised(main)
    assert (
        body(program)
        == """\
Copy A[0, 0 : 32 x 64] -> X
Fill s = 2
Copy v[0 : 64] -> v_tile
Map Y = (X[j, i] * s[j]) + v_tile[i]
Copy Y -> B[0, 0 : 64 x 32]
"""
    )
    tensors = small_integers({"A": (32, 64), "v": (64,)})
    assert (interpret(program, tensors)["B"] == tensors["A"].T * 2 + tensors["v"][:, None]).all()


def test_a_condition_on_elements_selects() -> None:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A, X)
            for i, j in T.Parallel(32, 32):
                if i > j:
                    X[i, j] = 7.0
            T.copy(X, B)

    program = raised(main)
    assert "Map X = where(lt([-1 * i + j + 0], 0i32), 7, X)\n" in body(program)
    tensors = small_integers({"A": (32, 32)})
    below = np.tri(32, k=-1, dtype=bool)
    assert (interpret(program, tensors)["B"] == np.where(below, 7, tensors["A"])).all()


def test_both_cases_of_a_condition_on_data_see_the_same_data() -> None:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A, X)
            for i, j in T.Parallel(32, 32):
                if X[i, j] > 0.0:
                    X[i, j] = -1.0
                else:
                    X[i, j] = 2.0
            T.copy(X, B)

    tensors = small_integers({"A": (32, 32)})
    found = interpret(lift(main, Options()), tensors)["B"]
    assert (found == np.where(tensors["A"] > 0, -1, 2)).all()


def test_reductions_of_all_kinds() -> None:
    @T.prim_func
    def main(A: T.Tensor((32, 64), "float32"), B: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_fragment((32, 64), "float32")
            m = T.alloc_fragment((32,), "float32")
            T.copy(A, X)
            T.reduce_sum(X, m, dim=1)
            T.reduce_abssum(X, m, dim=1)
            T.reduce_max(X, m, dim=1, clear=False)
            T.reduce_absmax(X, m, dim=1)
            T.reduce_min(X, m, dim=-1, clear=False)
            T.copy(m, B)

    assert (
        body(raised(main))
        == """\
Copy A[0, 0 : 32 x 64] -> X
Reduce m = sum of X along j
Map X_tile = abs(X)
Reduce m = sum of X_tile along j
Reduce m_tile = max of X along j
Map m = max(m, m_tile)
Map X_tile_1 = abs(X)
Reduce m = max of X_tile_1 along j
Map X_tile_2 = X * -1
Reduce m_tile_1 = max of X_tile_2 along j
Map m = min(m, m_tile_1 * -1)
Copy m -> B[0 : 32]
"""
    )


def test_a_copy_between_tensors_goes_through_a_block() -> None:
    @T.prim_func
    def main(A: T.Tensor((2, 64, 64), "bfloat16"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            T.copy(A[1, bx * 32 : bx * 32 + 32, 0:64], B[bx * 32 : bx * 32 + 32, 0:64])

    program = raised(main)
    assert facts(program, "buffer") == ["A_tile: shared bfloat16[32, 64]"]
    assert (
        body(program)
        == """\
Copy A[1, bx * 32, 0 : 1 x 32 x 64] -> A_tile
Copy A_tile -> B[bx * 32, 0 : 32 x 64]
"""
    )


def test_branches_keep_their_condition() -> None:
    @T.prim_func
    def main(A: T.Tensor((128, 64), "float32"), B: T.Tensor((128, 64), "float32")):
        with T.Kernel(4, threads=128) as bx:
            X = T.alloc_shared((32, 64), "float32")
            if bx < 2:
                T.copy(A[bx * 32, 0], X)
            else:
                T.fill(X, 1.5)
            T.copy(X, B[bx * 32, 0])

    assert (
        body(lift(main, Options()))
        == """\
Branch bx < 2
  Copy A[bx * 32, 0 : 32 x 64] -> X
Else
  Fill X = 1.5
Copy X -> B[bx * 32, 0 : 32 x 64]
"""
    )


def test_gpu_hints_are_ignored_and_said_so() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((64, 64), "float32")
            T.copy(A, X)
            T.sync_threads()
            T.copy(X, B)

    assert [(decision.subject, decision.text) for decision in lift(main, Options()).decisions] == [
        ("tirx.tvm_storage_sync", "T.sync_threads ignored: a block runs as one sequential program"),
    ]


def test_names_decide_nothing() -> None:
    """A kernel whose buffers bear each other's usual names lifts to the same statements."""

    @T.prim_func
    def shared(
        k: T.Tensor((128, 128), "bfloat16"),
        C: T.Tensor((128, 128), "bfloat16"),
        A: T.Tensor((128, 128), "bfloat16"),
    ):
        with T.Kernel(2, 2, threads=128) as (by, bx):
            out = T.alloc_shared((64, 32), "bfloat16")
            local = T.alloc_shared((32, 64), "bfloat16")
            a_shared = T.alloc_fragment((64, 64), "float32")
            T.clear(a_shared)
            for fragment in T.Pipelined(4, num_stages=2):
                T.copy(k[bx * 64, fragment * 32], out)
                T.copy(C[fragment * 32, by * 64], local)
                T.gemm(out, local, a_shared)
            T.copy(a_shared, A[bx * 64, by * 64])

    assert (
        body(lift(shared, Options()))
        == """\
Fill a_shared = 0
Loop fragment < 4, 2 stages
  Copy k[by * 64, fragment * 32 : 64 x 32] -> out
  Copy C[fragment * 32, bx * 64 : 32 x 64] -> local
  Gemm a_shared += out @ local
Copy a_shared -> A[by * 64, bx * 64 : 64 x 64]
"""
    )


# --- refusals -------------------------------------------------------------------------------------


def _two_kernels():
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A, X)
        with T.Kernel(2, threads=128):
            Y = T.alloc_shared((32, 32), "float32")
            T.clear(Y)
            T.copy(Y, B)

    return main


def _int64():
    @T.prim_func
    def main(A: T.Tensor((32, 32), "int64")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "int64")
            T.copy(A, X)

    return main


def _symbolic_buffer():
    n = T.dynamic("n")

    @T.prim_func
    def main(A: T.Tensor((n, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((n, 32), "float32")
            T.copy(A, X)

    return main


def _symbolic_region():
    n = T.dynamic("n")

    @T.prim_func
    def main(A: T.Tensor((n, 32), "float32"), B: T.Tensor((n, 32), "float32")):
        with T.Kernel(1, threads=128):
            T.copy(A, B)

    return main


def _different_boxes():
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((16, 32), "float32")
            T.copy(A[0:32, 0:32], X)

    return main


def _symbolic_parallel():
    n = T.dynamic("n")

    @T.prim_func
    def main(A: T.Tensor((n, 32), "float32"), B: T.Tensor((n, 32), "float32")):
        with T.Kernel(1, threads=128):
            for i, j in T.Parallel(n, 32):
                B[i, j] = A[i, j]

    return main


def _next_number():
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A, X)
            for i, j in T.Parallel(32, 32):
                X[i, j] = T.nextafter(X[i, j], 0.0)

    return main


def _narrowing():
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A, X)
            for i, j in T.Parallel(32, 32):
                X[i, j] = T.cast(T.cast(X[i, j], "float8_e4m3fnuz"), "float32") * 2.0

    return main


def test_several_kernels_are_several_launches() -> None:
    launches = lift(_two_kernels(), Options()).launches
    assert [launch.name for launch in launches] == ["main_0", "main_1"]


REFUSALS = {
    _symbolic_buffer: """\
test_lift.py: error[TT109]: 'X' has a shape known only at run time: [n, 32]
    X = T.alloc_shared((n, 32), "float32")
  help: on-chip buffers need constant shapes""",
    _int64: """\
test_lift.py: error[TT110]: 'X' has dtype int64, which this version does not support
    X = T.alloc_shared((32, 32), "int64")
  help: the chip has no 64-bit numbers: declare int32, and pass tensor.to(torch.int32)""",
    _symbolic_region: """\
test_lift.py: error[TT115]: region of 'A' has an extent known only at run time
    T.copy(A, B)
  help: copy blocks of constant size; tails are cut by the tensor's bounds""",
    _different_boxes: """\
test_lift.py: error[TT119]: T.copy between boxes of different shape: 32x32 to 16x32
    T.copy(A[0:32, 0:32], X)
  help: make the shapes equal; T.reshape sees a block in another one""",
    _symbolic_parallel: """\
test_lift.py: error[TT130]: T.Parallel extent 'n' is known only at run time
    for i, j in T.Parallel(n, 32):
  help: loop over a block of constant size, or over T.min of a number and such a size""",
    _next_number: """\
test_lift.py: error[TT134]: 'T.nextafter(X[i, j], T.float32(0.0))' has no element-wise form in this version
    X[i, j] = T.nextafter(X[i, j], 0.0)
  help: `tilelang-tt help operations` lists what there is: combine some of it, or compute this on the host""",
    _narrowing: """\
test_lift.py: error[TT135]: cast from float32 to float8_e4m3fnuz inside an expression
    X[i, j] = T.cast(T.cast(X[i, j], "float8_e4m3fnuz"), "float32") * 2.0
  help: assign to a float8_e4m3fnuz block first: storing rounds""",
}


@pytest.mark.parametrize("build", REFUSALS, ids=lambda build: build.__name__.strip("_"))
def test_refusal(build) -> None:
    func = build()
    assert refusal(lambda: lift(func, Options())) == REFUSALS[build]


def _thread_index():
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding(0)
            X = T.alloc_shared((32, 32), "float32")
            X[0, tx] = 1.0

    return main


def test_thread_indices_are_refused() -> None:
    func = _thread_index()
    assert (
        refusal(lambda: lift(func, Options()))
        == """\
test_lift.py: error[TT101]: the kernel uses the thread index 'tx'
    X[0, tx] = 1.0
  help: Tensix cores have no SIMT threads; write T.Parallel, T.copy or another tile operation"""
    )
