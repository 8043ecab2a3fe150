"""Arithmetic on elements means what its types say: it is hidden from the simplifier of TileLang."""

import tilelang
import tilelang.language as T
import torch

from tilelang_tt.frontend.tir.hide_elements import hide_elements, show_elements


def test_floats_that_are_not_finite() -> None:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32"), C: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((32, 32), "float32")
            T.copy(A, x)
            for i, j in T.Parallel(32, 32):
                own = x[i, j]
                B[i, j] = own - x[i, j]
                C[i, j] = T.if_then_else(x[i, j] == own, 1.0, 0.0)

    a = torch.randn(32, 32)
    a[0, :4] = torch.tensor([float("inf"), float("-inf"), float("nan"), 0.0])
    target = {"kind": "tenstorrent", "numerics": "exact"}
    b, c = tilelang.compile(main, out_idx=[1, 2], target=target)(a)
    torch.testing.assert_close(b, a - a, rtol=0, atol=0, equal_nan=True)
    torch.testing.assert_close(c, (a == a).float(), rtol=0, atol=0)


def test_sums_of_integers_wrap_before_they_are_compared() -> None:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "int32"), B: T.Tensor((32, 32), "int32"), C: T.Tensor((32, 32), "int32")):
        with T.Kernel(1, threads=128):
            for i, j in T.Parallel(32, 32):
                if A[i, j] + B[i, j] > 100:
                    C[i, j] = T.max(A[i, j], B[i, j]) - A[i, j]
                else:
                    C[i, j] = -1

    ends = torch.iinfo(torch.int32)
    a, b = (torch.randint(ends.min, ends.max, (32, 32), dtype=torch.int32) for _ in range(2))
    a[0, :2], b[0, :2] = torch.tensor([ends.max, ends.min]), torch.tensor([1, -1])
    found = tilelang.compile(main, out_idx=[2], target="tenstorrent")(a, b)
    assert torch.equal(found, torch.where(a + b > 100, torch.maximum(a, b) - a, -1).int())


def test_what_is_hidden_is_shown_again() -> None:
    @T.prim_func
    def main(A: T.Tensor((32,), "float32"), N: T.Tensor((1,), "int32"), B: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(32):
                if i < N[0] and A[i] > 0:
                    B[i] = T.Select(A[i] < 2, T.cast(T.cast(A[i], "int32") // 3, "float32"), T.exp(-A[i]))

    hidden = hide_elements(main.body)
    assert "i < N[0]" in str(hidden)
    assert "A[i] < " not in str(hidden)
    assert str(show_elements(hidden)) == str(main.body)
