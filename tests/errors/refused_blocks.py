"""Kernels whose blocks do not suit tiles, circular buffers or L1."""

from typing import Any

import tilelang.language as T
from refusals import refused, with_scalar_code

FILL_IT = "fill it with T.copy, T.clear or T.fill on every path to this line"


def gemm(block: int, stages: int, size: int = 2048) -> Any:
    """A float32 GEMM of square blocks; `stages` = 0: no pipeline."""

    @T.prim_func
    def main(
        A: T.Tensor((size, size), "float32"),
        B: T.Tensor((size, size), "float32"),
        C: T.Tensor((size, size), "float32"),
    ):
        with T.Kernel(size // block, size // block, threads=128) as (bx, by):  # refused
            A_s = T.alloc_shared((block, block), "float32")  # line: a
            B_s = T.alloc_shared((block, block), "float32")  # line: b
            C_l = T.alloc_fragment((block, block), "float32")  # line: c
            T.clear(C_l)
            for k in T.Pipelined(size // block, num_stages=stages):
                T.copy(A[by * block, k * block], A_s)
                T.copy(B[k * block, bx * block], B_s)
                T.gemm(A_s, B_s, C_l)
            T.copy(C_l, C[by * block, bx * block])

    return main


# --- shapes and places of blocks ------------------------------------------------------------------


@refused(
    "TT122",
    "block 1x32x32 of 'B' lies along axes (1, 2), and another one across one of these",
    help="copy blocks of a tensor over the same axes everywhere",
)
def columns_here_and_rows_there() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A, X)
            T.copy(X, B[0:32, 0:32, 5])
            T.copy(X, B[5, 0:32, 0:32])  # refused

    return main


@refused(
    "TT123",
    "'B' is copied by blocks over axes (1, 2) and over axes (None, 0)",
    help="copy blocks of a tensor over the same axes everywhere",
)
def one_tensor_two_layouts() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A, X)
            T.copy(X, B[0, 0:32, 0:32])
            V = T.alloc_shared((32,), "float32")
            T.clear(V)
            T.copy(V, B[0:32, 5, 7])  # refused

    return main


@refused(
    "TT124",
    "block of 'B' starts at element bx * 16 of axis 1, which is not always the start of a 32x32 tile",
    help="let blocks start at multiples of 32, or at multiples of their own size everywhere",
)
def blocks_that_overlap() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A[bx * 32, 0], X)
            T.copy(X, B[0, bx * 16])  # refused

    return main


@refused(
    "TT208",
    "table 'N' (32,768 B) does not fit beside the blocks of the kernel",
    help="use smaller blocks, or a smaller table",
)
def table_beyond_l1() -> Any:
    @T.prim_func
    def main(A: T.Tensor((512, 672), "float32"), N: T.Tensor((8192,), "int32"), B: T.Tensor((512, 672), "float32")):
        with T.Kernel(1, threads=128) as bx:  # refused
            X = T.alloc_shared((512, 672), "float32")
            T.copy(A, X)
            if N[bx] > 0:
                T.copy(X, B)

    return main


@refused(
    "TT144",
    "blocks of 'B' start anywhere along axis 0, and axis 1 is known only at run time",
    help="let blocks start at multiples of 32, or give that axis a constant length",
)
def rows_of_unknown_length() -> Any:
    n = T.dynamic("n")

    @T.prim_func
    def main(A: T.Tensor((64, n), "float32"), B: T.Tensor((64, n), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 32), "float32")
            T.copy(A[bx * 32, 0], X)
            T.copy(X, B[bx * 16, 0])

    return main


@refused(
    "TT153",
    "16 elements along axis 1 of 'B' are stored here, and a different number elsewhere: the elements behind them "
    "would be overwritten",
    help="store blocks of one size, or blocks that end at multiples of 32",
)
def narrow_block_beside_wide_ones() -> Any:
    @T.prim_func
    def main(A: T.Tensor((32, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 64), "float32")
            Y = T.alloc_shared((32, 16), "float32")
            T.copy(A, X)
            T.copy(A[0:32, 0:16], Y)
            T.copy(X, B[0, 0])
            T.copy(Y, B[32, 0])  # refused

    return main


# --- what blocks hold -----------------------------------------------------------------------------


@refused("TT125", "'X' is read, but nothing fills it before", help="T.copy, T.clear or T.fill it first")
@with_scalar_code
def never_filled() -> Any:
    @T.prim_func
    def main(B: T.Tensor((64, 32), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 32), "float32")
            T.copy(X, B[bx * 32, 0])  # refused

    return main


@refused("TT125", "'X' is read, but nothing fills it before", help="T.copy, T.clear or T.fill it first")
@with_scalar_code
def filled_too_late() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64, 32), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 32), "float32")
            T.copy(X, B[bx * 32, 0])  # refused
            T.copy(A[bx * 32, 0], X)

    return main


@refused("TT127", "'X' is used here, but filled only where a number from a tensor says so", help=FILL_IT)
@with_scalar_code
def filled_where_a_table_says_so() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), M: T.Tensor((2,), "int32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((32, 32), "float32")
            for k in T.serial(2):
                if M[k] != 0:
                    T.copy(A[k * 32, 0], X)
            T.copy(X, B)  # refused

    return main


@refused("TT127", "'X' is used here, but filled on some paths to this line only", help=FILL_IT)
@with_scalar_code
def filled_on_one_way_only() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64, 32), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 32), "float32")
            if bx == 0:
                T.copy(A[bx * 32, 0], X)
            T.copy(X, B[bx * 32, 0])  # refused

    return main


@refused("TT127", "'X' is used here, but filled on some paths to this line only", help=FILL_IT)
@with_scalar_code
def filled_in_one_round_only() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64, 32), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 32), "float32")
            for k in T.serial(4):
                if k == 3:
                    T.copy(A[bx * 32, 0], X)
            T.copy(X, B[bx * 32, 0])  # refused

    return main


@refused("TT128", "'C' is added to but never cleared", help="T.clear it first, or use clear_accum=True")
@with_scalar_code
def sum_never_cleared() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_shared((32, 32), "float32")
            Y = T.alloc_shared((32, 64), "float32")
            C = T.alloc_fragment((32, 64), "float32")
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[bx * 32, k * 32], X)
                T.copy(A[k * 32, 0], Y)
                T.gemm(X, Y, C)  # refused
            T.copy(C, B[bx * 32, 0])

    return main


# --- limits of the chip ---------------------------------------------------------------------------


def budget(stages: int, tiles: int) -> tuple[str, ...]:
    each = tiles * 4096
    return (
        f"A_s {stages} x {tiles} tiles Float32 ... {stages * each:,} B   ({{file}}:{{a}})",
        f"B_s {stages} x {tiles} tiles Float32 ... {stages * each:,} B   ({{file}}:{{b}})",
        f"C_l 1 x {tiles} tiles Float32 ... {each:,} B   ({{file}}:{{c}})",
    )


@refused(
    "TT204",
    "kernel 'main' needs 1,835,008 B of L1 per core; Wormhole has 1,393,280 B",
    notes=budget(3, 64),
    help="num_stages=2 fits (1,310,720 B)",
    kernel=gemm,
)
@with_scalar_code
def too_many_stages() -> Any:
    return gemm(256, 3)


@refused(
    "TT204",
    "kernel 'main' needs 2,359,296 B of L1 per core; Blackhole has 1,461,120 B",
    notes=budget(4, 64),
    help="num_stages=2 fits (1,310,720 B)",
    arch="blackhole",
    kernel=gemm,
)
@with_scalar_code
def too_many_stages_for_blackhole() -> Any:
    return gemm(256, 4)


@refused(
    "TT204",
    "kernel 'main' needs 5,242,880 B of L1 per core; Wormhole has 1,393,280 B",
    notes=budget(2, 256),
    help="block=256 fits (1,310,720 B)",
    kernel=gemm,
)
@with_scalar_code
def too_big_blocks() -> Any:
    return gemm(512, 2)


@refused(
    "TT204",
    "kernel 'main' needs 3,145,728 B of L1 per core; Wormhole has 1,393,280 B",
    notes=budget(1, 256),
    help="block=256 fits (1,310,720 B)",
    kernel=gemm,
)
@with_scalar_code
def too_big_blocks_without_stages() -> Any:
    return gemm(512, 0)


def softmax(n: int) -> Any:
    """Rows as a whole, in blocks of one tile row: there are no smaller blocks."""

    @T.prim_func
    def main(X: T.Tensor((32, n), "bfloat16"), Y: T.Tensor((32, n), "bfloat16")):
        with T.Kernel(1, threads=128):  # refused  # line: kernel
            x = T.alloc_fragment((32, n), "float32")  # line: x
            m = T.alloc_fragment((32,), "float32")  # line: m
            s = T.alloc_fragment((32,), "float32")
            T.copy(X, x)  # line: load
            T.reduce_max(x, m, dim=1)  # line: max
            for i, j in T.Parallel(32, n):
                x[i, j] = T.exp(x[i, j] - m[i])
            T.reduce_sum(x, s, dim=1)
            for i, j in T.Parallel(32, n):
                x[i, j] = x[i, j] / s[i]  # line: quotient
            T.copy(x, Y)  # line: store

    return main


SMALL = (
    "s_once 1 x 1 tiles Float32 ... 4,096 B   ({file}:{quotient})",
    "m 1 x 1 tiles Float16_b ... 2,048 B   ({file}:{m})",
    "m_lane 1 x 1 tiles Float16_b ... 2,048 B   ({file}:{max})",
    "ones 1 x 1 tiles Float16_b ... 2,048 B   ({file}:{kernel})",
)


@refused(
    "TT204",
    "kernel 'main' needs 8,398,848 B of L1 per core; Wormhole has 1,393,280 B",
    notes=(
        "x 1 x 1024 tiles Float32 ... 4,194,304 B   ({file}:{x})",
        "x_in 1 x 1024 tiles Float16_b ... 2,097,152 B   ({file}:{load})",
        "x_out 1 x 1024 tiles Float16_b ... 2,097,152 B   ({file}:{store})",
        *SMALL,
    ),
    help="storage='bfloat8_b' for 'X' fits (1,230,848 B)",
    kernel=softmax,
)
def rows_that_fit_in_a_shorter_format() -> Any:
    return softmax(32768)


@refused(
    "TT204",
    "kernel 'main' needs 16,787,456 B of L1 per core; Wormhole has 1,393,280 B",
    notes=(
        "x 1 x 2048 tiles Float32 ... 8,388,608 B   ({file}:{x})",
        "x_in 1 x 2048 tiles Float16_b ... 4,194,304 B   ({file}:{load})",
        "x_out 1 x 2048 tiles Float16_b ... 4,194,304 B   ({file}:{store})",
        *SMALL,
    ),
    help="not enough: storage='bfloat8_b' for 'X'. 'x' takes most of it: use smaller blocks, if the algorithm allows",
    kernel=softmax,
)
def rows_that_fit_in_no_format() -> Any:
    return softmax(65536)


def copies(count: int) -> Any:
    """Every block is there before the first one goes, and compute touches none."""

    @T.prim_func
    def main(A: T.Tensor((32, 32), "bfloat16"), B: T.Tensor((32, 32), "bfloat16")):
        with T.Kernel(1, threads=128):  # refused
            blocks = [T.alloc_shared((32, 32), "bfloat16") for _ in range(count)]
            for block in blocks:
                T.copy(A, block)
            for block in blocks:
                T.copy(block, B)

    return main


@refused(
    "TT205",
    "kernel 'main' needs 40 circular buffers at the same time; Wormhole has 32",
    notes=(f"40 from the reader: {', '.join(['block', *(f'block_{number}' for number in range(1, 40))])}",),
    help="read a block when it is needed, not before: blocks that follow each other share a circular buffer",
    kernel=copies,
)
def too_many_buffers() -> Any:
    return copies(40)
