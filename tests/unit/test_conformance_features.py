"""What the census reads from kernels: words of pure ones, reasons of irregular ones."""

from typing import Any

import pytest
import tilelang.language as T

from tilelang_tt.conformance.features import features_of


def attention_step() -> Any:
    @T.prim_func
    def main(
        Q: T.Tensor((2, 128, 4, 64), "float16"), M: T.Tensor((8,), "int32"), Y: T.Tensor((2, 128, 4, 64), "float16")
    ):
        with T.Kernel(4, 4, 2, threads=128) as (bx, by, bz):
            q = T.alloc_shared((32, 64), "float16")
            s = T.alloc_fragment((32, 32), "float32")
            top = T.alloc_fragment((32,), "float32")
            T.copy(Q[bz, bx * 32 : bx * 32 + 32, by, :], q)
            T.fill(top, -T.infinity("float32"))
            for k in T.Pipelined(M[bx], num_stages=2):
                T.gemm(q, q, s, transpose_B=True, clear_accum=True)
                T.reduce_max(s, top, dim=1, clear=False)
                for i, j in T.Parallel(32, 32):
                    s[i, j] = T.if_then_else((k * 32 + j > i) & (s[i, j] != 0), T.exp2(s[i, j] - top[i]), 0)
            T.copy(s, Y[bz, bx * 32 : bx * 32 + 32, by, 0:32])

    return main


def test_words_of_a_pure_kernel() -> None:
    features = features_of(attention_step())
    assert features.pure
    assert features.used >= {
        "tensor rank 4",
        "dtype int32",
        "copy over tensor axes (1, 3) of 4",
        "fill with infinity",
        "loop pipelined",
        "loop bound from tensor",
        "loop bound from block index",
        "gemm NT",
        "gemm clear_accum",
        "reduce max dim 1/2 keep",
        "operand chip full",
        "operand chip vector i of 2",
        "store chip full",
        "select on values",
        "op exp2",
        "op sub",
        "copy casts float32 to float16",
    }
    assert not any("gather" in word or "atomic" in word for word in features.used)


def irregular_kernels() -> dict[str, Any]:
    @T.prim_func
    def atomic(A: T.Tensor((64,), "float32")):
        with T.Kernel(2, threads=32) as _bx:
            for i in T.Parallel(64):
                T.atomic_add(A[i], 1.0)

    @T.prim_func
    def bits(A: T.Tensor((64,), "int32")):
        with T.Kernel(2, threads=32) as _bx:
            for i in T.Parallel(64):
                A[i] = A[i] >> 4

    @T.prim_func
    def thread(A: T.Tensor((64,), "float32")):
        with T.Kernel(2, threads=32) as _bx:
            tx = T.get_thread_binding(0)
            A[tx] = 1.0

    @T.prim_func
    def scan(A: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=32) as _bx:
            a = T.alloc_fragment((64, 64), "float32")
            T.copy(A, a)
            T.cumsum(a, dim=0)
            T.copy(a, A)

    return {"atomic": atomic, "bits": bits, "thread index": thread, "scan": scan}


@pytest.mark.parametrize("reason", ["atomic", "bits", "thread index", "scan"])
def test_irregular(reason: str) -> None:
    features = features_of(irregular_kernels()[reason])
    assert reason in features.irregular
    assert not features.pure


def test_patterns_of_access() -> None:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), X: T.Tensor((64,), "int32"), B: T.Tensor((8, 8), "float32")):
        with T.Kernel(1, threads=32) as _bx:
            t = T.alloc_fragment((8, 8), "float32")
            v = T.alloc_fragment((16,), "float32")
            for i, j in T.Parallel(8, 8):
                B[i, j] = t[j, i] + v[i + 1] + v[j * 2] + A[X[i]] + t[3, j]

    used = features_of(main).used
    assert used >= {
        "operand chip permuted ji",
        "operand chip vector i of 2 offset",
        "operand chip vector j of 2 strided",
        "operand tensor vector i of 2 gather",
        "operand chip vector j of 2 at an index",
        "store tensor full",
        "gather",
        "parallel of sub-tile extent",
    }
