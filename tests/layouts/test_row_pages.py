"""Pages that are rows: any block of them, odd sizes, types; and where they cannot be."""

import pytest
import tilelang.language as T
import torch
from layout_kernels import chain, rms_norm
from placed import check, compiled, moved, whole

from tilelang_tt.diagnostics import TenstorrentError

ROWS = {"pages": "row"}


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "int32"])
def test_odd_sizes_and_types(dtype: str) -> None:
    kind = getattr(torch, dtype)
    a, b = (whole(100, 70, dtype=torch.int32, most=9, seed=seed).to(kind) for seed in (0, 1))
    layouts = {"A": ROWS, "C": {"memory": "L1", **ROWS}}
    kernel = check(
        chain(100, 70, (64, 32), dtype), {"A": a, "B": b, "C": torch.zeros_like(a)}, {"C": a * b + a - 1}, layouts
    )
    size = 96 * kind.itemsize
    assert f"A: {dtype} [100 x 70] -> a page of {size} B" in kernel.explain(whole=True)


def test_rows_whose_number_is_known_at_the_call() -> None:
    m = T.dynamic("m")

    @T.prim_func
    def main(A: T.Tensor((m, 64), "float32"), C: T.Tensor((m, 64), "float32")):
        with T.Kernel(T.ceildiv(m, 64), threads=128) as bx:
            a = T.alloc_shared((64, 64), "float32")
            T.copy(A[bx * 64, 0], a)
            T.copy(a, C[bx * 64, 0])

    a = torch.randn(100, 64)
    kernel = check(main, {"A": a, "C": torch.zeros(100, 64)}, {"C": a}, {"A": ROWS, "C": ROWS})
    assert moved(kernel)[1] == 100 * 64 * 4


def test_a_vector_has_no_rows() -> None:
    with pytest.raises(TenstorrentError) as error:
        compiled(rms_norm(64, 64, 32), {"B": ROWS})
    assert str(error.value) == (
        "error[TT189]: target option 'layout': pages of 'B' cannot be rows: its blocks have one axis\n"
        "  help: leave out pages="
    )


def test_tiles_of_a_tensor_that_is_used_row_by_row() -> None:
    @T.prim_func
    def main(W: T.Tensor((100, 64), "float32"), P: T.Tensor((64,), "int32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            x = T.alloc_shared((32, 64), "float32")
            for i, j in T.Parallel(32, 64):
                x[i, j] = W[P[bx * 32 + i], j]
            T.copy(x, C[bx * 32, 0])

    with pytest.raises(TenstorrentError) as error:
        compiled(main, {"W": {"pages": "tile"}})
    assert str(error.value) == (
        "error[TT189]: target option 'layout': pages of 'W' cannot be tiles: this kernel uses it row by row\n"
        "  help: leave out pages="
    )


def test_rows_of_unknown_length() -> None:
    n = T.dynamic("n")

    @T.prim_func
    def main(A: T.Tensor((64, n), "float32"), C: T.Tensor((64, n), "float32")):
        with T.Kernel(T.ceildiv(n, 64), threads=128) as bx:
            a = T.alloc_shared((64, 64), "float32")
            T.copy(A[0, bx * 64], a)
            T.copy(a, C[0, bx * 64])

    with pytest.raises(TenstorrentError) as error:
        compiled(main, {"A": ROWS}, scalar_code=False)
    assert str(error.value) == (
        "error[TT144]: pages of 'A' are rows, and axis 1 is known only at run time\n"
        "  help: leave out pages='row', or give that axis a constant length"
    )
