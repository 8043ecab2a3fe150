"""make gemm-table: generated GEMM beside the vendor's, by the same clock; `python -m benchmarks.gemm_table -h`.

Generated: one unmodified kernel with blocks of 128 x 128 x 64 and default options, for each type and fidelity; the
compiler takes other blocks. It sums in a 32-bit DST, as the kernel says. The vendor's 2-D multicast matmul of ttnn
(`benchmarks/timing`) sums in a 16-bit DST; of its tuned blocks and those that ttnn chooses, the faster ones count.
"""

import argparse
import logging
import warnings
from dataclasses import dataclass
from typing import Any

import tilelang
import tilelang.language as T

import tilelang_tt.device as tt
from benchmarks.timing.figures import LeftOut
from benchmarks.timing.gemm_rows import GemmRow
from tilelang_tt.arch import TILE
from tilelang_tt.clock import ClockRequest
from tilelang_tt.clock.report import LaunchClock
from tilelang_tt.diagnostics import TenstorrentError

SHAPES = ("512x1024x2048", "1024x1024x1024", "1024x2048x2048", "2048x2048x2048", "2048x3072x3072", "4096x4096x4096")
GRIDS = {"wormhole_b0": (8, 8), "blackhole": (12, 10)}  # of the vendor's benchmark
STORAGE = {"bfloat16": "BFLOAT16", "bfloat8_b": "BFLOAT8_B", "bfloat4_b": "BFLOAT4_B"}


@dataclass(frozen=True)
class Work:
    chip: str
    m: int
    k: int
    n: int
    storage: str
    fidelity: str


def product(m: int, n: int, k: int, block: tuple[int, int, int] = (128, 128, 64)) -> Any:
    bm, bn, bk = block

    @T.prim_func
    def matmul(A: T.Tensor((m, k), "bfloat16"), B: T.Tensor((k, n), "bfloat16"), C: T.Tensor((m, n), "bfloat16")):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            A_shared = T.alloc_shared((bm, bk), "bfloat16")
            B_shared = T.alloc_shared((bk, bn), "bfloat16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            T.clear(C_local)
            for ko in T.Pipelined(T.ceildiv(k, bk), num_stages=2):
                T.copy(A[by * bm, ko * bk], A_shared)
                T.copy(B[ko * bk, bx * bn], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * bm, bx * bn])

    return matmul


@dataclass(frozen=True)
class Took:
    """Of all launches of a kernel: a long sum has two."""

    microseconds: float
    dram_bytes: int


def generated(work: Work, **options: Any) -> Took:
    target = {"kind": "tenstorrent", "arch": work.chip, "math_fidelity": work.fidelity, **options}
    if work.storage != "bfloat16":
        target["storage"] = dict.fromkeys("ABC", work.storage)
    kernel = tilelang.compile(product(work.m, work.n, work.k), out_idx=[-1], target=target)
    clocks = [launch.clock for launch in kernel.estimate().launches]
    return Took(sum(one.microseconds for one in clocks), sum(one.dram_bytes for one in clocks))


def vendors(work: Work) -> LaunchClock | None:
    """The faster of both ways; None: neither runs."""
    found = [one for tuned in (True, False) if (one := _vendors(work, tuned=tuned)) is not None]
    return min(found, key=lambda one: one.microseconds, default=None)


def _vendors(work: Work, *, tuned: bool) -> LaunchClock | None:
    grid = GRIDS[work.chip]
    if tuned and (work.m % (grid[1] * TILE) or work.k % (grid[0] * TILE) or work.n % (grid[0] * TILE)):
        return None  # its benchmark has no blocks for such a shape
    storage = STORAGE[work.storage]
    row = GemmRow(work.chip, work.m, work.k, work.n, grid, storage, work.fidelity, False, False, tuned, True)
    try:
        with (
            warnings.catch_warnings(),
            tt.open_device(work.chip, numerics="none", grid=grid, strict=False, clock=ClockRequest()) as device,
        ):
            warnings.simplefilter("ignore")
            report = device.run(row.program(device))
    except (LeftOut, TenstorrentError):
        return None  # no such blocks, or they do not fit
    assert report.clock is not None
    return report.clock.launches[-1]


def line(work: Work) -> str:
    ours, theirs = generated(work), vendors(work)
    what = f"{work.chip:12} {work.m:5} x {work.k:5} x {work.n:5} {work.storage:9} {work.fidelity}"
    own = f"{ours.microseconds:9.1f} us {ours.dram_bytes / 1e6:8.1f} MB"
    if theirs is None:
        return f"{what} | {own} | not run"
    return (
        f"{what} | {own} | {theirs.microseconds:9.1f} us {theirs.dram_bytes / 1e6:8.1f} MB | "
        f"{ours.microseconds / theirs.microseconds:5.2f} of the time"
    )


def main() -> None:
    logging.getLogger("tilelang").setLevel(logging.WARNING)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", default=SHAPES, help="MxKxN")
    parser.add_argument("--chip", choices=GRIDS, action="append")
    parser.add_argument("--fidelity", choices=("LoFi", "HiFi2", "HiFi3", "HiFi4"), action="append")
    parser.add_argument("--storage", choices=STORAGE, default="bfloat16")
    said = parser.parse_args()
    print("M x K x N | generated, DRAM | the vendor's, DRAM | generated / the vendor's")
    for fidelity in said.fidelity or ("HiFi4", "HiFi2"):
        for chip in said.chip or GRIDS:
            for shape in said.shapes:
                m, k, n = map(int, shape.split("x"))
                print(line(Work(chip, m, k, n, said.storage, fidelity)), flush=True)


if __name__ == "__main__":
    main()
