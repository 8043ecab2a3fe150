"""TileLang kernels that several pass tests share, each with what it should compute.

Annotations are evaluated here, not postponed: T.Tensor needs the shapes of the enclosing function.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tilelang.language as T

from tilelang_tt.ir.interpret import Array

Tensors = Mapping[str, Array]


def gemm(
    M: Any = 128,
    N: Any = 128,
    K: Any = 128,
    block: tuple[int, int, int] = (64, 64, 32),
    *,
    transpose_A: bool = False,
    transpose_B: bool = False,
    dtype: str = "bfloat16",
    out_dtype: str = "bfloat16",
    stages: int = 2,
) -> Any:
    bm, bn, bk = block
    a_block = (bk, bm) if transpose_A else (bm, bk)
    b_block = (bn, bk) if transpose_B else (bk, bn)

    @T.prim_func
    def main(
        A: T.Tensor((K, M) if transpose_A else (M, K), dtype),
        B: T.Tensor((N, K) if transpose_B else (K, N), dtype),
        C: T.Tensor((M, N), out_dtype),
    ):
        with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=128) as (bx, by):
            A_s = T.alloc_shared(a_block, dtype)
            B_s = T.alloc_shared(b_block, dtype)
            C_l = T.alloc_fragment((bm, bn), "float32")
            T.clear(C_l)
            for k in T.Pipelined(T.ceildiv(K, bk), num_stages=stages):
                if transpose_A:
                    T.copy(A[k * bk, by * bm], A_s)
                else:
                    T.copy(A[by * bm, k * bk], A_s)
                if transpose_B:
                    T.copy(B[bx * bn, k * bk], B_s)
                else:
                    T.copy(B[k * bk, bx * bn], B_s)
                T.gemm(A_s, B_s, C_l, transpose_A=transpose_A, transpose_B=transpose_B)
            T.copy(C_l, C[by * bm, bx * bn])

    return main


def dynamic_gemm() -> Any:
    return gemm(T.dynamic("M"), T.dynamic("N"), T.dynamic("K"))


def gemm_relu(M: int = 128, N: int = 128, K: int = 64) -> Any:
    @T.prim_func
    def main(A: T.Tensor((M, K), "bfloat16"), B: T.Tensor((K, N), "bfloat16"), C: T.Tensor((M, N), "bfloat16")):
        with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 128), threads=128) as (bx, by):
            A_s = T.alloc_shared((128, 32), "bfloat16")
            B_s = T.alloc_shared((32, 64), "bfloat16")
            C_l = T.alloc_fragment((128, 64), "float32")
            T.clear(C_l)
            for k in T.Pipelined(T.ceildiv(K, 32), num_stages=3):
                T.copy(A[by * 128, k * 32], A_s)
                T.copy(B[k * 32, bx * 64], B_s)
                T.gemm(A_s, B_s, C_l)
            for i, j in T.Parallel(128, 64):
                C_l[i, j] = T.max(C_l[i, j], 0)
            T.copy(C_l, C[by * 128, bx * 64])

    return main


def clear_accum_gemm() -> Any:
    """The accumulator is overwritten by the user's own condition, and is bigger than DST."""

    @T.prim_func
    def main(
        A: T.Tensor((128, 96), "bfloat16"),
        B: T.Tensor((96, 128), "bfloat16"),
        C: T.Tensor((128, 128), "float32"),
    ):
        with T.Kernel(1, 1, threads=128) as (bx, by):
            A_s = T.alloc_shared((128, 32), "bfloat16")
            B_s = T.alloc_shared((32, 128), "bfloat16")
            C_l = T.alloc_fragment((128, 128), "float32")
            for k in T.Pipelined(3, num_stages=2):
                T.copy(A[by * 128, k * 32], A_s)
                T.copy(B[k * 32, bx * 128], B_s)
                T.gemm(A_s, B_s, C_l, clear_accum=(k == 0))
            T.copy(C_l, C[by * 128, bx * 128])

    return main


def batched_gemm(batch: int = 3, M: int = 64, N: int = 96, K: int = 64) -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((batch, M, K), "float16"),
        B: T.Tensor((batch, K, N), "float16"),
        C: T.Tensor((batch, M, N), "float16"),
    ):
        with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 32), batch, threads=128) as (bx, by, bz):
            A_s = T.alloc_shared((32, 32), "float16")
            B_s = T.alloc_shared((32, 32), "float16")
            C_l = T.alloc_fragment((32, 32), "float32")
            T.clear(C_l)
            for k in T.Pipelined(T.ceildiv(K, 32), num_stages=2):
                T.copy(A[bz, by * 32, k * 32], A_s)
                T.copy(B[bz, k * 32, bx * 32], B_s)
                T.gemm(A_s, B_s, C_l)
            T.copy(C_l, C[bz, by * 32, bx * 32])

    return main


def double_loop_gemm() -> Any:
    """Two row blocks per grid block, each summed in a nest of two serial loops."""

    @T.prim_func
    def main(
        A: T.Tensor((128, 128), "bfloat16"),
        B: T.Tensor((128, 64), "bfloat16"),
        C: T.Tensor((128, 64), "bfloat16"),
    ):
        with T.Kernel(2, threads=128) as bx:
            A_s = T.alloc_shared((32, 32), "bfloat16")
            B_s = T.alloc_shared((32, 64), "bfloat16")
            C_l = T.alloc_fragment((32, 64), "float32")
            for row in T.serial(2):
                T.clear(C_l)
                for outer in T.serial(2):
                    for inner in T.serial(2):
                        T.copy(A[bx * 64 + row * 32, outer * 64 + inner * 32], A_s)
                        T.copy(B[outer * 64 + inner * 32, 0], B_s)
                        T.gemm(A_s, B_s, C_l)
                T.copy(C_l, C[bx * 64 + row * 32, 0])

    return main


def split_k_partial() -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((64, 128), "bfloat16"),
        B: T.Tensor((128, 64), "bfloat16"),
        P: T.Tensor((2, 64, 64), "float32"),
    ):
        with T.Kernel(2, 2, 2, threads=128) as (bx, by, bz):
            A_s = T.alloc_shared((32, 32), "bfloat16")
            B_s = T.alloc_shared((32, 32), "bfloat16")
            C_l = T.alloc_fragment((32, 32), "float32")
            T.clear(C_l)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[by * 32, bz * 64 + k * 32], A_s)
                T.copy(B[bz * 64 + k * 32, bx * 32], B_s)
                T.gemm(A_s, B_s, C_l)
            T.copy(C_l, P[bz, by * 32, bx * 32])

    return main


def split_k_reduction(splits: int = 3) -> Any:
    @T.prim_func
    def main(P: T.Tensor((splits, 64, 64), "float32"), C: T.Tensor((64, 64), "bfloat16")):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            part = T.alloc_shared((32, 32), "float32")
            total = T.alloc_fragment((32, 32), "float32")
            T.clear(total)
            for s in T.serial(splits):
                T.copy(P[s, by * 32, bx * 32], part)
                for i, j in T.Parallel(32, 32):
                    total[i, j] = total[i, j] + part[i, j]
            T.copy(total, C[by * 32, bx * 32])

    return main


def cast_copy(M: int = 100, N: int = 70) -> Any:
    @T.prim_func
    def main(A: T.Tensor((M, N), "float32"), B: T.Tensor((M, N), "bfloat16")):
        with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 32), threads=128) as (bx, by):
            A_s = T.alloc_shared((32, 64), "float32")
            T.copy(A[by * 32, bx * 64], A_s)
            T.copy(A_s, B[by * 32, bx * 64])

    return main


def scale_in_place() -> Any:
    """A block that reader and compute fill, and compute and writer drain."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), B: T.Tensor((64, 64), "bfloat16")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 64), "bfloat16")
            T.copy(A[bx * 32, 0], X)
            for i, j in T.Parallel(32, 64):
                X[i, j] = X[i, j] * 2.0
            T.copy(X, B[bx * 32, 0])

    return main


def integer_quotients() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "int32"), C: T.Tensor((32, 32), "int32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((32, 32), "int32")
            T.copy(A, x)
            for i, j in T.Parallel(32, 32):
                x[i, j] = x[i, j] // 7
            T.copy(x, C)

    return main


def triangular_sum() -> Any:
    """Block 0 adds nothing up."""

    @T.prim_func
    def main(
        A: T.Tensor((128, 128), "bfloat16"),
        B: T.Tensor((128, 64), "bfloat16"),
        C: T.Tensor((128, 64), "float32"),
    ):
        with T.Kernel(4, threads=128) as bx:
            A_s = T.alloc_shared((32, 32), "bfloat16")
            B_s = T.alloc_shared((32, 64), "bfloat16")
            C_l = T.alloc_fragment((32, 64), "float32")
            T.clear(C_l)
            for k in T.serial(bx):
                T.copy(A[bx * 32, k * 32], A_s)
                T.copy(B[k * 32, 0], B_s)
                T.gemm(A_s, B_s, C_l)
            T.copy(C_l, C[bx * 32, 0])

    return main


def running_sum() -> Any:
    """The accumulator is stored in every round, and goes on growing."""

    @T.prim_func
    def main(
        A: T.Tensor((64, 96), "bfloat16"),
        B: T.Tensor((96, 64), "bfloat16"),
        P: T.Tensor((3, 64, 64), "float32"),
    ):
        with T.Kernel(2, threads=128) as bx:
            A_s = T.alloc_shared((32, 32), "bfloat16")
            B_s = T.alloc_shared((32, 64), "bfloat16")
            C_l = T.alloc_fragment((32, 64), "float32")
            T.clear(C_l)
            for k in T.serial(3):
                T.copy(A[bx * 32, k * 32], A_s)
                T.copy(B[k * 32, 0], B_s)
                T.gemm(A_s, B_s, C_l)
                T.copy(C_l, P[k, bx * 32, 0])

    return main


def chained_gemm() -> Any:
    """A product is the first operand of the next one."""

    @T.prim_func
    def main(
        A: T.Tensor((64, 64), "bfloat16"),
        B: T.Tensor((64, 64), "bfloat16"),
        D: T.Tensor((64, 64), "bfloat16"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(2, threads=128) as bx:
            A_s = T.alloc_shared((32, 64), "bfloat16")
            B_s = T.alloc_shared((64, 64), "bfloat16")
            D_s = T.alloc_shared((64, 64), "bfloat16")
            P = T.alloc_fragment((32, 64), "float32")
            Q = T.alloc_shared((32, 64), "bfloat16")
            R = T.alloc_fragment((32, 64), "float32")
            T.copy(A[bx * 32, 0], A_s)
            T.copy(B, B_s)
            T.copy(D, D_s)
            T.gemm(A_s, B_s, P, clear_accum=True)
            T.copy(P, Q)
            T.gemm(Q, D_s, R, transpose_B=True, clear_accum=True)
            T.copy(R, C[bx * 32, 0])

    return main


def neighbour_sum() -> Any:
    """Each block plus its upper neighbour; odd blocks also minus twice themselves."""

    @T.prim_func
    def main(A: T.Tensor((128, 64), "float32"), B: T.Tensor((128, 64), "float32")):
        with T.Kernel(4, threads=128) as bx:
            X = T.alloc_shared((32, 64), "float32")
            Y = T.alloc_shared((32, 64), "float32")
            Z = T.alloc_fragment((32, 64), "float32")
            T.copy(A[bx * 32 - 32, 0], X)
            T.copy(A[bx * 32, 0], Y)
            if bx % 2 == 0:
                for i, j in T.Parallel(32, 64):
                    Z[i, j] = X[i, j] + Y[i, j]
            else:
                for i, j in T.Parallel(32, 64):
                    Z[i, j] = X[i, j] + Y[i, j] - Y[i, j] * 2.0
            T.copy(Z, B[bx * 32, 0])

    return main


def reshaped() -> Any:
    """A block is doubled in one shape and stored in another, to a tensor in a third one."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((4096,), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((64, 64), "float32")
            heads, rows = T.reshape(X, (64, 2, 32)), T.reshape(B, (64, 64))
            T.copy(A, X)
            for i, q, h in T.Parallel(64, 2, 32):
                heads[i, q, h] = heads[i, q, h] * 2
            T.copy(X, rows)

    return main


@dataclass(frozen=True)
class Case:
    """A kernel, the shapes of its inputs, its output, and the output's meaning over exact inputs."""

    name: str
    build: Callable[[], Any]
    inputs: dict[str, tuple[int, ...]]
    output: str
    meaning: Callable[[Tensors], Array]
    sizes: tuple[tuple[str, int], ...] = ()
    rtol: float = 0.0  # of results that are not whole numbers


def matmul(t: Tensors) -> Array:
    return t["A"] @ t["B"]


def _transposed(transpose_A: bool, transpose_B: bool) -> Case:
    a, b = (96, 64), (96, 128)
    return Case(
        f"transpose {'A' if transpose_A else '-'}{'B' if transpose_B else '-'}",
        lambda: gemm(64, 128, 96, (32, 64, 32), transpose_A=transpose_A, transpose_B=transpose_B),
        {"A": a if transpose_A else a[::-1], "B": b[::-1] if transpose_B else b},
        "C",
        lambda t: (t["A"].T if transpose_A else t["A"]) @ (t["B"].T if transpose_B else t["B"]),
    )


CASES: tuple[Case, ...] = (
    Case("gemm", gemm, {"A": (128, 128), "B": (128, 128)}, "C", matmul),
    *(_transposed(a, b) for a in (False, True) for b in (False, True)),
    Case("tails", lambda: gemm(100, 70, 50), {"A": (100, 50), "B": (50, 70)}, "C", matmul),
    Case(
        "dynamic",
        dynamic_gemm,
        {"A": (72, 130), "B": (130, 96)},
        "C",
        matmul,
        (("M", 72), ("N", 96), ("K", 130)),
    ),
    Case("fp32 out", lambda: gemm(out_dtype="float32"), {"A": (128, 128), "B": (128, 128)}, "C", matmul),
    Case("float16", lambda: gemm(dtype="float16"), {"A": (128, 128), "B": (128, 128)}, "C", matmul),
    Case(
        "bigger than DST",
        lambda: gemm(128, 128, 64, (128, 128, 32)),
        {"A": (128, 64), "B": (64, 128)},
        "C",
        matmul,
    ),
    Case("relu", gemm_relu, {"A": (128, 64), "B": (64, 128)}, "C", lambda t: np.maximum(matmul(t), 0)),
    Case("clear_accum", clear_accum_gemm, {"A": (128, 96), "B": (96, 128)}, "C", matmul),
    Case("batched", batched_gemm, {"A": (3, 64, 64), "B": (3, 64, 96)}, "C", matmul),
    Case("double loop", double_loop_gemm, {"A": (128, 128), "B": (128, 64)}, "C", matmul),
    Case(
        "split-K partial",
        split_k_partial,
        {"A": (64, 128), "B": (128, 64)},
        "P",
        lambda t: np.stack([t["A"][:, s : s + 64] @ t["B"][s : s + 64] for s in (0, 64)]),
    ),
    Case("split-K reduction", split_k_reduction, {"P": (3, 64, 64)}, "C", lambda t: t["P"].sum(0)),
    Case("cast copy", cast_copy, {"A": (100, 70)}, "B", lambda t: t["A"]),
    Case("reshaped", reshaped, {"A": (64, 64)}, "B", lambda t: t["A"].flatten() * 2),
    Case("in place", scale_in_place, {"A": (64, 64)}, "B", lambda t: t["A"] * 2),
    Case(
        "triangular",
        triangular_sum,
        {"A": (128, 128), "B": (128, 64)},
        "C",
        lambda t: (t["A"] * np.kron(np.tri(4, k=-1, dtype=np.float32), np.ones((32, 32), np.float32))) @ t["B"],
    ),
    Case(
        "running sum",
        running_sum,
        {"A": (64, 96), "B": (96, 64)},
        "P",
        lambda t: np.stack([t["A"][:, :k] @ t["B"][:k] for k in (32, 64, 96)]),
    ),
    Case(
        "chained",
        chained_gemm,
        {"A": (64, 64), "B": (64, 64), "D": (64, 64)},
        "C",
        lambda t: matmul(t) @ t["D"].T,
    ),
    Case(
        "neighbours",
        neighbour_sum,
        {"A": (128, 64)},
        "B",
        lambda t: (
            np.concatenate([np.zeros((32, 64), np.float32), t["A"][:-32]])
            + t["A"] * np.repeat(np.float32([1, -1, 1, -1]), 32)[:, None]
        ),
    ),
)


def small_integers(shapes: Mapping[str, tuple[int, ...]], seed: int = 0) -> dict[str, Array]:
    """Numbers whose sums of products float32 holds exactly, so that results can be compared for equality."""
    generator = np.random.default_rng(seed)
    return {name: generator.integers(-4, 5, shape).astype(np.float32) for name, shape in shapes.items()}
