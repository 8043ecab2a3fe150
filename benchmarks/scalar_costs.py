"""What scalar code costs beside the tile engines, by operation: python -m benchmarks.scalar_costs rewrites
docs/reference/scalar_costs.md.

Each kernel below is compiled twice: as it is, and as scalar code, which it does not need. Both run on the virtual
device, and both results are compared with torch.
"""

import logging
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tilelang.language as T
import torch

import tilelang_tt  # noqa: F401
from tilelang_tt import costs
from tilelang_tt.compiled import PLAN_FILE
from tilelang_tt.ir.code import Code
from tilelang_tt.ir.kernel import KernelSet
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.options import Options
from tilelang_tt.passes.code.scalar_costs import estimate
from tilelang_tt.pipeline import print_files, run_passes, to_scalar_code
from tilelang_tt.runtime.plan import Plan
from tilelang_tt.runtime.virtual import launch

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "scalar_costs.md"
N = 128  # rows and columns of a block: 16 tiles
TOLERANCE = 2e-2  # of bfloat16 products; what is compared is whether both compute the same thing
ROUNDS = 12  # the machine may be busy: the best counts
Compiled = tuple[TileProgram, tuple[KernelSet, ...]]


@dataclass(frozen=True)
class Operation:
    name: str
    func: Any
    wanted: Callable[..., torch.Tensor]
    elements: int  # of the result; products: multiplications
    dtype: torch.dtype = torch.float32
    table: bool = False  # the second tensor holds row numbers


def one_block(step: Callable[[Any, Any, Any], Any], dtype: str = "float32") -> Any:
    """Load two blocks, one step, store."""

    @T.prim_func
    def main(A: T.Tensor((N, N), dtype), B: T.Tensor((N, N), dtype), C: T.Tensor((N, N), dtype)):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((N, N), dtype)
            b = T.alloc_shared((N, N), dtype)
            c = T.alloc_fragment((N, N), dtype)
            T.copy(A, a)
            T.copy(B, b)
            for i, j in T.Parallel(N, N):
                c[i, j] = step(a[i, j], b[i, j], i)
            T.copy(c, C)

    return main


def copied() -> Any:
    @T.prim_func
    def main(A: T.Tensor((N, N), "float32"), C: T.Tensor((N, N), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((N, N), "float32")
            T.copy(A, a)
            T.copy(a, C)

    return main


def product(dtype: str) -> Any:
    @T.prim_func
    def main(A: T.Tensor((N, N), dtype), B: T.Tensor((N, N), dtype), C: T.Tensor((N, N), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((N, N), dtype)
            b = T.alloc_shared((N, N), dtype)
            c = T.alloc_fragment((N, N), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.clear(c)
            T.gemm(a, b, c)
            T.copy(c, C)

    return main


def reduced(kind: str) -> Any:
    @T.prim_func
    def main(A: T.Tensor((N, N), "float32"), C: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_fragment((N, N), "float32")
            c = T.alloc_fragment((N,), "float32")
            T.copy(A, a)
            if kind == "sum":
                T.reduce_sum(a, c, dim=1)
            else:
                T.reduce_max(a, c, dim=1)
            T.copy(c, C)

    return main


def running_sums() -> Any:
    @T.prim_func
    def main(A: T.Tensor((N, N), "float32"), C: T.Tensor((N, N), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((N, N), "float32")
            T.copy(A, a)
            T.cumsum(a, dim=1)
            T.copy(a, C)

    return main


def gathered() -> Any:
    @T.prim_func
    def main(A: T.Tensor((N, N), "float32"), B: T.Tensor((N,), "int32"), C: T.Tensor((N, N), "float32")):
        with T.Kernel(1, threads=128):
            c = T.alloc_shared((N, N), "float32")
            for i, j in T.Parallel(N, N):
                c[i, j] = A[B[i], j]
            T.copy(c, C)

    return main


def transposed() -> Any:
    @T.prim_func
    def main(A: T.Tensor((N, N), "float32"), C: T.Tensor((N, N), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((N, N), "float32")
            c = T.alloc_fragment((N, N), "float32")
            T.copy(A, a)
            for i, j in T.Parallel(N, N):
                c[i, j] = a[j, i]
            T.copy(c, C)

    return main


OPERATIONS = (
    Operation("copy", copied(), lambda a, _: a, N * N),
    Operation("a + b", one_block(lambda a, b, _: a + b), lambda a, b: a + b, N * N),
    Operation("a * b", one_block(lambda a, b, _: a * b), lambda a, b: a * b, N * N),
    Operation("a + b, int32", one_block(lambda a, b, _: a + b, "int32"), lambda a, b: a + b, N * N, torch.int32),
    Operation(
        "a + b, bfloat16", one_block(lambda a, b, _: a + b, "bfloat16"), lambda a, b: a + b, N * N, torch.bfloat16
    ),
    Operation("exp(a)", one_block(lambda a, _b, _: T.exp(a)), lambda a, _: a.exp(), N * N),
    Operation(
        "b if i < 50 else a",
        one_block(lambda a, b, i: T.if_then_else(i < 50, b, a)),
        lambda a, b: torch.cat([b[:50], a[50:]]),
        N * N,
    ),
    Operation("transpose", transposed(), lambda a, _: a.T, N * N),
    Operation("T.reduce_sum", reduced("sum"), lambda a, _: a.sum(1), N * N),
    Operation("T.reduce_max", reduced("max"), lambda a, _: a.amax(1), N * N),
    Operation("T.cumsum", running_sums(), lambda a, _: a.cumsum(1), N * N),
    Operation("rows by a table", gathered(), lambda a, b: a[b.long()], N * N, table=True),
    Operation("T.gemm, bfloat16", product("bfloat16"), lambda a, b: a @ b, N**3, torch.bfloat16),
    Operation("T.gemm, float32", product("float32"), lambda a, b: a @ b, N**3),
)


def by_tiles(func: Any, options: Options) -> Compiled:
    return run_passes(func, options, lambda _name, _state: None)


def inputs(operation: Operation) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    a, b = (torch.randint(-8, 9, (N, N)).to(operation.dtype) / 4 for _ in range(2))
    if operation.dtype is torch.int32:
        a, b = a.int(), b.int()
    return a, torch.randperm(N).int() if operation.table else b


def seconds(operation: Operation, compiled: Compiled) -> float:
    """A run on the virtual device, the best of some; the result is compared."""
    files = print_files(*compiled)
    plan = Plan.from_json(files[PLAN_FILE])
    a, b = inputs(operation)
    wanted = operation.wanted(*(x if x.dtype is torch.int32 else x.double() for x in (a, b)))
    dtype = torch.float32 if "gemm" in operation.name else operation.dtype
    best = float("inf")
    for _ in range(ROUNDS + 1):  # the first one builds
        held = {"A": a.clone(), "B": b.clone(), "C": torch.zeros(wanted.shape, dtype=dtype)}
        tensors = {item.name: held[plan.params[item.param].name] for item in plan.tensors}
        started = time.perf_counter()
        launch(plan, files, tensors, {}, numerics="fast", timeout=120)
        best = min(best, time.perf_counter() - started)
    torch.testing.assert_close(held["C"].double(), wanted.double(), rtol=TOLERANCE, atol=TOLERANCE)
    return best


def done(tiles: Compiled) -> tuple[str, str, str]:
    """What the tile engines do."""
    try:
        found = costs.of(tiles[1][0])
    except costs.UncountableError:
        return "-", "-", "-"
    taken = found.unpacked_tiles + found.tile_products
    return f"{found.dst_sections:,}", f"{taken:,}", f"{found.dram_read + found.dram_written:,}"


def row(operation: Operation) -> str:
    options = Options()
    tiles, code = by_tiles(operation.func, options), to_scalar_code(operation.func, options)
    (stmt,) = code[0].launches[0].body
    assert isinstance(stmt, Code)
    cycles = estimate(stmt).cycles
    slow, fast = seconds(operation, code), seconds(operation, tiles)
    cells = (
        f"{cycles:,.0f}",
        f"{cycles / operation.elements:.0f}",
        *done(tiles),
        f"{1000 * slow:.1f}",
        f"{1000 * fast:.1f}",
    )
    return f"| {operation.name} | {' | '.join(cells)} |"


HEAD = f"""# What scalar code costs

<!-- written by python -m benchmarks.scalar_costs -->

The same kernel twice: as scalar code on a data-movement processor, and on the tile engines. One block of {N} x {N}
elements (16 tiles) is loaded, one operation is done, and the result is stored; float32 unless said otherwise.
"rows by a table" reads its rows straight from the tensor.

- **Scalar code**: clock cycles as the warning TT702 estimates them, and cycles for each element (for each
  multiplication of a product). They were not measured on a chip.
- **Tile engines**: uses of DST, tiles that compute takes from L1 or multiplies, bytes of DRAM; - where they depend
  on what a tensor holds. A tile is 1,024 elements, a product of two tiles 32,768 multiplications.
- **Virtual device**: milliseconds of one run in `fast` numerics on the machine that wrote this page. It computes
  floats with the host's float unit, so it hides most of what scalar code costs on a chip.

| operation | scalar: cycles | per element | DST sections | tiles taken | DRAM, B | device: scalar, ms | tiles, ms |
|---|---:|---:|---:|---:|---:|---:|---:|
"""


def main() -> None:
    logging.getLogger("tilelang").setLevel(logging.WARNING)
    warnings.simplefilter("ignore")
    rows = []
    for operation in OPERATIONS:
        rows.append(row(operation))
        print(rows[-1], flush=True)
    PAGE.write_text(HEAD + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
