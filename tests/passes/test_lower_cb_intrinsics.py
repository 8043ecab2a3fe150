"""D3 lower_cb_intrinsics: reserve, push, wait and pop around what compute and writer do."""

import tilelang.language as T

from tilelang_tt.options import Options
from tilelang_tt.passes.d_split.lower_cb_intrinsics import lower_cb_intrinsics
from tilelang_tt.pipeline import run_passes

from .kernels import gemm, gemm_relu, split_k_reduction
from .stages import kernel_body, kernels_after, kernels_before, refusal


def _compute(func) -> str:
    return kernel_body(kernels_after(lower_cb_intrinsics, func), "compute")


def test_the_writer_waits_stores_and_pops() -> None:
    assert kernel_body(kernels_after(lower_cb_intrinsics, gemm_relu()), "writer").endswith(
        """\
  wait C_l_out 8
  Store C_l_out -> C tiles (0, bx * 2) 4 x 2
  pop C_l_out 8
"""
    )


def test_the_reader_is_left_to_the_tensor_accessors() -> None:
    before = kernels_before(lower_cb_intrinsics, gemm())
    assert kernel_body(lower_cb_intrinsics(before), "reader") == kernel_body(before, "reader")


def test_a_held_accumulator_has_no_protocol() -> None:
    assert (
        _compute(gemm())
        == """\
for unit in unit_start .. unit_start + unit_count
  let bx = unit % 2
  let by = unit // 2
  held
    for k in 0 .. 4
      wait A_s 2
      wait B_s 2
      Gemm C_l += A_s @ B_s, overwriting where k == 0, sub-blocks 2 x 2
      pop A_s 2
      pop B_s 2
    reserve C_l_out 4
    Map C_l_out = C_l
  push C_l_out 4
"""
    )


def test_a_block_that_every_round_reads_is_waited_for_once() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "bfloat16"), B: T.Tensor((32, 256), "bfloat16"), C: T.Tensor((64, 256), "float32")):
        with T.Kernel(2, threads=128) as bx:
            A_s = T.alloc_shared((32, 32), "bfloat16")
            B_s = T.alloc_shared((32, 64), "bfloat16")
            C_l = T.alloc_fragment((32, 64), "float32")
            T.copy(A[bx * 32, 0], A_s)
            for n in T.serial(4):
                T.copy(B[0, n * 64], B_s)
                T.gemm(A_s, B_s, C_l, clear_accum=True)
                T.copy(C_l, C[bx * 32, n * 64])

    assert (
        _compute(main)
        == """\
for unit in unit_start .. unit_start + unit_count
  let bx = unit
  wait A_s 1
  for n in 0 .. 4
    wait B_s 2
    reserve C_l 2
    Gemm C_l = A_s @ B_s, sub-blocks 1 x 2
    pop B_s 2
    push C_l 2
  pop A_s 1
"""
    )


def test_an_update_in_place_does_its_own_protocol() -> None:
    """Tiles of `total` rotate through their buffer group by group: between rounds the block is just available."""
    assert (
        _compute(split_k_reduction())
        == """\
for unit in unit_start .. unit_start + unit_count
  let bx = unit % 2
  let by = unit // 2
  reserve total 1
  Fill total = 0
  push total 1
  for s in 0 .. 3
    wait part 1
    Map total = total + part
    pop part 1
  wait total 1
  reserve total_out 1
  Map total_out = total
  pop total 1
  push total_out 1
"""
    )


def _update_and_read(store_x: bool):
    """X is updated in place and read in every round; only with `store_x` is it needed after the loop."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64,), "bfloat16")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_fragment((32, 64), "float32")
            Y = T.alloc_fragment((32,), "float32")
            T.copy(A[bx * 32, 0], X)
            T.clear(Y)
            for _ in T.serial(2):
                for i, j in T.Parallel(32, 64):
                    X[i, j] = X[i, j] * 2.0
                T.reduce_sum(X, Y, dim=1, clear=False)
            T.copy(Y, C[bx * 32])
            if store_x:
                T.copy(X, A[bx * 32, 0])

    return main


def test_a_block_updated_in_place_and_read_in_the_same_round() -> None:
    """Waiting again for what was already waited for costs nothing, so the round need not give the block back."""
    assert """\
  push X 2
  reserve Y 1
  for _ in 0 .. 2
    Map X = X * 2
    wait X 2
    Gemm Y += X @ ones, overwriting where _ == 0, sub-blocks 1 x 1
  push Y 1
""" in _compute(_update_and_read(store_x=True))
    run_passes(_update_and_read(store_x=True), Options(), lambda *_: None)  # the verifier accepts it


def test_a_block_updated_in_place_and_not_needed_afterwards() -> None:
    """The next unit must find the buffer empty: what is left of this one is waited for, then popped."""
    text = _compute(_update_and_read(store_x=False))
    after_loop = text.split("    Gemm Y += X @ ones")[1]
    assert "wait X 2" not in after_loop or after_loop.index("wait X 2") < after_loop.index("pop X 2")
    run_passes(_update_and_read(store_x=False), Options(), lambda *_: None)


def _branches():
    @T.prim_func
    def main(
        A: T.Tensor((128, 64), "bfloat16"), B: T.Tensor((128, 64), "bfloat16"), C: T.Tensor((128, 64), "bfloat16")
    ):
        with T.Kernel(4, threads=128) as bx:
            X = T.alloc_shared((32, 64), "bfloat16")
            Y = T.alloc_shared((32, 64), "bfloat16")
            Z = T.alloc_fragment((32, 64), "bfloat16")
            if bx % 2 == 0:
                T.copy(A[bx * 32, 0], X)
                T.copy(B[bx * 32, 0], Y)
                for i, j in T.Parallel(32, 64):
                    Z[i, j] = X[i, j] + Y[i, j]
            else:
                T.copy(B[bx * 32, 0], X)
                for i, j in T.Parallel(32, 64):
                    Z[i, j] = X[i, j]
            T.copy(Z, C[bx * 32, 0])

    return main


def test_an_arm_gives_back_what_it_received() -> None:
    assert (
        _compute(_branches())
        == """\
for unit in unit_start .. unit_start + unit_count
  let bx = unit
  if bx % 2 == 0
    wait X 2
    wait Y 2
    reserve Z 2
    Map Z = add_tiles(X, Y)
    pop X 2
    pop Y 2
  else
    wait X 2
    reserve Z 2
    Map Z = X
    pop X 2
  push Z 2
"""
    )


def _filled_in_one_arm():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 64), "float32")
            Y = T.alloc_fragment((32, 64), "float32")
            if bx == 0:
                T.fill(X, 1.0)
            for i, j in T.Parallel(32, 64):
                Y[i, j] = X[i, j] * 2.0
            T.copy(Y, B[bx * 32, 0])

    return main


def test_reading_what_nothing_surely_filled_is_refused() -> None:
    assert (
        refusal(lambda: kernels_after(lower_cb_intrinsics, _filled_in_one_arm()))
        == """\
test_lower_cb_intrinsics.py: error[TT127]: 'X' is used here, but filled on some paths to this line only
    Y[i, j] = X[i, j] * 2.0
  help: fill it with T.copy, T.clear or T.fill on every path to this line"""
    )


def test_who_overwrites_a_block_publishes_it_again() -> None:
    """Where the condition does not hold the block stays as it is: nothing is pushed that was not packed."""

    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), C: T.Tensor((128, 32), "float32")):
        with T.Kernel(4, threads=128) as bx:
            a = T.alloc_shared((32, 32), "float32")
            c = T.alloc_fragment((32, 32), "float32")
            d = T.alloc_fragment((32, 32), "float32")
            T.copy(A, a)
            T.gemm(a, a, c, clear_accum=True)
            T.gemm(c, a, d, clear_accum=True)
            for r in T.serial(2):
                if bx + r >= 3:
                    T.fill(c, 1.0)
            T.gemm(a, c, d)
            T.copy(d, C[bx * 32, 0])

    text = _compute(main)
    loop = text[text.index("  for r in") : text.index("  Gemm d += a @ c")]
    assert "  for r in 0 .. 2\n    if 3 <= bx + r\n" in loop
    assert [line.strip() for line in loop.splitlines()[2:] if "Fill" not in line][:6] == [
        "wait c 1",
        "pop c 1",
        "reserve c 1",
        "push c 1",
        "wait c 1",
    ]
