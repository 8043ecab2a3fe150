"""D2 configure_tensor_accessors: loads and stores page by page, with padding, masks and barriers."""

import tilelang.language as T

from tilelang_tt.ir.layout import Role
from tilelang_tt.passes.d_split.configure_tensor_accessors import configure_tensor_accessors

from .kernels import batched_gemm, cast_copy, gemm
from .stages import kernel_body, kernels_after
from .vector_kernels import attention


def _kernel(func, role: str) -> str:
    return kernel_body(kernels_after(configure_tensor_accessors, func), role)


def test_a_store_leaves_l1_before_its_pages_are_given_back() -> None:
    assert (
        _kernel(gemm(), "writer")
        == """\
accessor 0: C
for unit in unit_start .. unit_start + unit_count
  let bx = unit % 2
  let by = unit // 2
  wait C_l_out 4
  let C_l_out_l1 = read address of C_l_out
  for i in 0 .. 2
    for j in 0 .. 2
      write C_l_out[i * 2 + j] at C_l_out_l1 -> C page (by * 2 + i) * 4 + (bx * 2 + j)
  writes flushed
  pop C_l_out 4
write barrier
"""
    )


def test_tiles_outside_are_zero_and_not_written() -> None:
    """100 x 70 elements are 4 x 3 tiles; blocks of 1 x 2 tiles reach a fourth column."""
    assert (
        "\n".join(_kernel(cast_copy(), "reader").splitlines()[6:11])
        == """\
  for j in 0 .. 2
    if bx * 2 + j < 3
      read A page by * 3 + (bx * 2 + j) -> A_s[j] at A_s_l1
    else
      zero A_s[j] at A_s_l1"""
    )
    assert (
        "\n".join(_kernel(cast_copy(), "writer").splitlines()[6:9])
        == """\
  for j in 0 .. 2
    if bx * 2 + j < 3
      write A_s_out[j] at A_s_out_l1 -> B page by * 3 + (bx * 2 + j)"""
    )


def test_tiles_by_columns_are_placed_so_by_the_reader() -> None:
    func = gemm(64, 256, 128, (64, 128, 64), transpose_B=True)
    assert """\
    for i in 0 .. 4
      for j in 0 .. 2
        read B page (bx * 4 + i) * 4 + (k * 2 + j) -> B_s[j * 4 + i] at B_s_l1
""" in _kernel(func, "reader")


def test_batches() -> None:
    assert "read A page (bz * 2 + by) * 2 + k -> A_s[0]" in _kernel(batched_gemm(), "reader")


def test_two_loads_of_one_block_are_two_rounds() -> None:
    """A block is one place: its first contents must be handed over before the second are read."""

    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A[0, 0], X)
            T.copy(X, B[0, 0])
            T.copy(A[32, 0], X)
            T.copy(X, B[32, 0])

    assert (
        _kernel(main, "reader")
        == """\
accessor 0: A
for unit in unit_start .. unit_start + unit_count
  let bx = unit
  reserve X 1
  let X_l1 = write address of X
  read A page 0 -> X[0] at X_l1
  read barrier
  push X 1
  reserve X 1
  let X_l1.1 = write address of X
  read A page 1 -> X[0] at X_l1.1
  read barrier
  push X 1
"""
    )


def _handed(func) -> list[str]:
    """What the reader asks room for and hands over."""
    lines = (line.split() for line in _kernel(func, "reader").splitlines())
    return [f"{call} {rest[0]}" for call, *rest in lines if call in ("reserve", "push")]


def test_with_room_for_one_block_compute_works_while_the_next_one_is_read() -> None:
    """Keys are handed over before room is asked for the values, to which compute comes later."""
    assert _handed(attention())[-4:] == ["reserve k", "push k", "reserve v", "push v"]


def test_operands_of_one_product_come_together() -> None:
    assert _handed(gemm(stages=1)) == ["reserve A_s", "reserve B_s", "push A_s", "push B_s"]


def test_accessors_are_the_tensors_of_each_kernel_in_order_of_use() -> None:
    kernels = kernels_after(configure_tensor_accessors, gemm())
    assert [tensor.name for tensor in kernels.kernel(Role.READER).tensors] == ["A", "B"]
    assert [tensor.name for tensor in kernels.kernel(Role.WRITER).tensors] == ["C"]
    assert kernels.kernel(Role.COMPUTE).tensors == ()
