"""What a launch does, counted: sections, trips through L1, bytes of DRAM, against counts made by hand."""

import pytest
import tilelang.language as T

from tilelang_tt import costs
from tilelang_tt.costs import Costs, UncountableError
from tilelang_tt.ir.kernel import KernelSet
from tilelang_tt.pipeline import KERNEL_PASSES

from .kernels import dynamic_gemm, gemm, triangular_sum
from .stages import kernels_after

PAGE = 2048  # bytes of a bfloat16 tile


def finished(func: object) -> KernelSet:
    return kernels_after(KERNEL_PASSES[-1].run, func)


def test_a_sum_that_stays_in_dst() -> None:
    """Four blocks of 2 x 2 tiles, four steps of K: one section each, nothing through L1."""
    assert costs.of(finished(gemm())) == Costs(
        dst_sections=4,
        tile_products=4 * 4 * 4,
        packed_tiles=16,
        dram_read=4 * 4 * (2 + 2) * PAGE,
        dram_written=16 * PAGE,
    )


def test_a_sum_in_l1() -> None:
    """One block of 4 x 4 tiles, two steps of K in four sub-blocks each; then four sections that convert it."""
    found = costs.of(finished(gemm(128, 128, 64, (128, 128, 32))))
    assert (found.dst_sections, found.l1_trips, found.unpacked_tiles) == (2 * 4 + 4, 2 * 16, 16)


def test_rounds_that_differ_are_walked() -> None:
    """Block bx clears its result and adds bx products to it; the writer takes it from where it is."""
    found = costs.of(finished(triangular_sum()))
    assert (found.dst_sections, found.l1_trips) == (4 + (0 + 1 + 2 + 3), 0)
    assert found.dram_read == (1 + 2) * PAGE * (0 + 1 + 2 + 3)


def test_sizes_of_a_call() -> None:
    """3 x 5 tiles of A, read once for two blocks along N, 5 x 3 of B for two along M: only pages that exist."""
    found = costs.of(finished(dynamic_gemm()), {"M": 72, "N": 96, "K": 130})
    assert (found.dst_sections, found.dram_read, found.dram_written) == (4, (15 + 2 * 15) * PAGE, 9 * PAGE)


def test_without_its_sizes_a_dynamic_kernel_is_not_counted() -> None:
    kernels = finished(dynamic_gemm())
    with pytest.raises(UncountableError):
        costs.of(kernels)
    assert costs.describe(kernels, counted=True).text == (
        "1 DST section in compute.cpp; what is done depends on the call"
    )


def test_a_branch_counts_where_it_is_taken() -> None:
    @T.prim_func
    def main(A: T.Tensor((128, 32), "bfloat16"), B: T.Tensor((128, 32), "bfloat16")):
        with T.Kernel(4, threads=128) as bx:
            X = T.alloc_shared((32, 32), "bfloat16")
            if bx < 3:
                T.copy(A[bx * 32, 0], X)
                T.copy(X, B[bx * 32, 0])

    found = costs.of(finished(main))
    assert (found.dram_read, found.dram_written) == (3 * PAGE, 3 * PAGE)


def test_the_line_of_explain() -> None:
    assert costs.describe(finished(gemm()), counted=True).text == (
        "1 DST section in compute.cpp; done in all: 4 sections, 0 tiles through L1 and back, "
        "131,072 B read from DRAM, 32,768 B written"
    )
