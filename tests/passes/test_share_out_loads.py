"""load_less: of what a loop loads for several cores, the larger stream is read by the reader, on its NoC."""

from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch

from tilelang_tt.ir.layout import Role
from tilelang_tt.layout_hints import parse_hints
from tilelang_tt.options import Options
from tilelang_tt.pipeline import run_passes


def product(high: int, wide: int) -> Any:
    """Blocks of `high` x 64 of A and of 64 x `wide` of B, for 8 x 8 cores."""
    m, n, k = 8 * high, 8 * wide, 256

    @T.prim_func
    def main(A: T.Tensor((m, k), "bfloat16"), B: T.Tensor((k, n), "bfloat16"), C: T.Tensor((m, n), "bfloat16")):
        with T.Kernel(8, 8, threads=128) as (bx, by):
            a = T.alloc_shared((high, 64), "bfloat16")
            b = T.alloc_shared((64, wide), "bfloat16")
            c = T.alloc_fragment((high, wide), "float32")
            T.clear(c)
            for ko in T.Pipelined(k // 64, num_stages=2):
                T.copy(A[by * high, ko * 64], a)
                T.copy(B[ko * 64, bx * wide], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * high, bx * wide])

    return main


@pytest.mark.parametrize(("high", "wide", "by_writer"), [(64, 128, "a"), (128, 64, "b"), (64, 64, "b")])
def test_the_smaller_stream_is_the_writers(high: int, wide: int, by_writer: str) -> None:
    program, _ = run_passes(product(high, wide), Options(multicast=True, blocks=False), lambda *_: None)
    streams = program.launches[0].streams
    assert {b.name for b, stream in streams.items() if stream.producer is Role.WRITER} == {by_writer}


@pytest.mark.parametrize("rows", ["A", "B", "AB"])
def test_rows_are_the_readers(rows: str) -> None:
    """On Blackhole, where the writer reads, too; its kernel has no room for rows."""
    layout = parse_hints({name: {"pages": "row"} for name in rows})
    options = Options(arch="blackhole", blocks=False, layout=layout)
    program, _ = run_passes(product(64, 64), options, lambda *_: None)
    streams = program.launches[0].streams
    assert {b.name for b, stream in streams.items() if stream.producer is Role.WRITER} <= {"a", "b"} - set(rows.lower())


def two_tensors(length: int = 8192) -> Any:
    """Every block reads rows of its own, of two tensors."""

    @T.prim_func
    def main(
        A: T.Tensor((length, 64), "bfloat16"), B: T.Tensor((length, 64), "bfloat16"), C: T.Tensor((1024, 64), "float32")
    ):
        with T.Kernel(32, threads=128) as bx:
            a = T.alloc_shared((32, 64), "bfloat16")
            b = T.alloc_shared((32, 64), "bfloat16")
            c = T.alloc_fragment((32, 64), "float32")
            T.clear(c)
            for n in T.Pipelined(length // 1024, num_stages=2):
                T.copy(A[(bx * (length // 1024) + n) * 32, 0], a)
                T.copy(B[(bx * (length // 1024) + n) * 32, 0], b)
                for i, j in T.Parallel(32, 64):
                    c[i, j] += a[i, j] * b[i, j]
            T.copy(c, C[bx * 32, 0])

    return main


@pytest.mark.parametrize(("arch", "by_writer"), [("wormhole_b0", set()), ("blackhole", {"b"})])
def test_what_every_core_reads_for_itself_comes_by_both_nocs_of_blackhole(arch: str, by_writer: set[str]) -> None:
    program, _ = run_passes(two_tensors(), Options(arch=arch), lambda *_: None)
    streams = program.launches[0].streams
    assert {b.name for b, stream in streams.items() if stream.producer is Role.WRITER} == by_writer


def test_both_readers_bring_the_right_blocks() -> None:
    kernel = tilelang.compile(two_tensors(), out_idx=[-1], target={"kind": "tenstorrent", "arch": "blackhole"})
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randint(-3, 4, (8192, 64), generator=generator).bfloat16() for _ in range(2))
    expected = (a.float() * b.float()).reshape(32, 8, 32, 64).sum(1).reshape(1024, 64)
    assert torch.equal(kernel(a, b), expected)
