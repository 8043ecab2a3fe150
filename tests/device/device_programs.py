"""Hand-made plans for the device tests: a blocked GEMM and a chain of tile operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch

from tilelang_tt.runtime.formats import page_bytes
from tilelang_tt.runtime.line_map import LINES_FILE, SourceLine, lines_to_json
from tilelang_tt.runtime.plan import (
    CbPlan,
    CompileArg,
    ComputeConfig,
    KernelPlan,
    LaunchPlan,
    Param,
    Plan,
    RuntimeArg,
    TensorPlan,
)
from tilelang_tt.runtime.virtual import RunReport, launch

KERNELS = Path(__file__).parent / "kernels"
DTYPES = {"Float32": torch.float32, "Float16": torch.float16}
SIZES = ("M", "N", "K")


def tiles(size: str) -> str:
    return f"({size} + 31) // 32"


def tensor_plan(name: str, index: int, form: str, rows: int | str, cols: int | str) -> TensorPlan:
    return TensorPlan(name, index, form, page_bytes(form), 0, 1, rows, cols, 1)


def constant(name: str, value: int) -> CompileArg:
    return CompileArg(name, value=value)


def cb(number: int, name: str, form: str, pages: int, producer: str, consumer: str, direct: bool = False) -> CbPlan:
    return CbPlan(number, name, form, page_bytes(form), pages, producer, consumer, direct)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Gemm:
    """C[M,N] = A[M,K] @ B[K,N], or @ B[N,K]^T; sizes are bound at the call."""

    arch: str = "wormhole_b0"
    grid: tuple[int, int] = (1, 1)
    block: tuple[int, int, int] = (2, 2, 2)  # m, n, k in tiles
    sub: tuple[int, int] = (2, 2)
    transpose_b: bool = False
    formats: tuple[str, str, str] = ("Float16_b", "Float16_b", "Float16_b")
    sum_format: str = "Float32"
    fp32_dest: bool = True
    direct_sums: bool = True  # the accumulator is unpacked straight to DST
    edits: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # file -> (text, replacement)
    source_map: tuple[SourceLine, ...] = ()
    cb_changes: Mapping[int, CbPlan] = field(default_factory=dict)

    def sources(self) -> dict[str, str]:
        texts = {name: (KERNELS / f"gemm_{name}").read_text() for name in ("reader.cpp", "compute.cpp", "writer.cpp")}
        for name, (old, new) in self.edits.items():
            assert old in texts[name], f"{old!r} is not in {name}"
            texts[name] = texts[name].replace(old, new)
        return {**texts, LINES_FILE: lines_to_json(self.source_map)}

    def plan(self) -> Plan:
        a, b, c = self.formats
        b_shape = ("N", "K") if self.transpose_b else ("K", "N")
        tensors = (
            tensor_plan("A", 0, a, tiles("M"), tiles("K")),
            tensor_plan("B", 1, b, tiles(b_shape[0]), tiles(b_shape[1])),
            tensor_plan("C", 2, c, tiles("M"), tiles("N")),
        )
        params = (
            Param("A", "tensor", "float", ("M", "K")),
            Param("B", "tensor", "float", b_shape),
            Param("C", "tensor", "float", ("M", "N"), "write"),
        )
        return Plan("gemm", self.arch, "0.77", "fast", "virtual", SIZES, params, tensors, (self._launch(),), "test")

    def _launch(self) -> LaunchPlan:
        bm, bn, bk = self.block
        units = f"(({tiles('M')} + {bm - 1}) // {bm}) * (({tiles('N')} + {bn - 1}) // {bn})"
        a, b, c = self.formats
        cbs = (
            cb(0, "A", a, 2 * bm * bk, "reader", "compute"),
            cb(1, "B", b, 2 * bk * bn, "reader", "compute"),
            cb(16, "C", c, 2 * bm * bn, "compute", "writer"),
            cb(24, "sums", self.sum_format, bm * bn, "compute", "compute", self.direct_sums),
        )
        return LaunchPlan(
            "gemm",
            self.grid,
            units,
            "contiguous",
            self._kernels(),
            tuple(self.cb_changes.get(item.id, item) for item in cbs),
            compute_config=ComputeConfig(fp32_dest_acc_en=self.fp32_dest),
        )

    def _kernels(self) -> tuple[KernelPlan, ...]:
        bm, bn, bk = self.block
        blocks = [constant("block_m", bm), constant("block_n", bn), constant("block_k", bk)]
        flag = constant("transpose", int(self.transpose_b))
        work = (RuntimeArg("first", work="start"), RuntimeArg("count", work="count"))
        rows, inner, cols = (RuntimeArg(n, size=tiles(s)) for n, s in (("rows", "M"), ("inner", "K"), ("cols", "N")))
        k_blocks = RuntimeArg("k_blocks", size=f"({tiles('K')} + {bk - 1}) // {bk}")
        reader = KernelPlan(
            "reader",
            "reader.cpp",
            (*blocks, flag, CompileArg("A", accessor="A"), CompileArg("B", accessor="B")),
            (RuntimeArg("a", address="A"), RuntimeArg("b", address="B"), *work, rows, inner, cols),
        )
        sub = [constant("sub_m", self.sub[0]), constant("sub_n", self.sub[1])]
        compute = KernelPlan("compute", "compute.cpp", (*blocks, flag, *sub), (work[1], k_blocks))
        writer = KernelPlan(
            "writer",
            "writer.cpp",
            (*blocks[:2], CompileArg("C", accessor="C")),
            (RuntimeArg("c", address="C"), *work, rows, cols),
        )
        return reader, compute, writer

    def run(
        self,
        m: int,
        k: int,
        n: int,
        *,
        numerics: str | None = None,
        timeout: float | None = None,
        seed: int = 0,
    ) -> GemmResult:
        generator = torch.Generator().manual_seed(seed)
        a = torch.randn(m, k, generator=generator).to(DTYPES.get(self.formats[0], torch.bfloat16))
        b = torch.randn(k, n, generator=generator).to(DTYPES.get(self.formats[1], torch.bfloat16))
        c = torch.full((m, n), 777.0, dtype=DTYPES.get(self.formats[2], torch.bfloat16))
        stored = b.t().contiguous() if self.transpose_b else b
        sizes = {"M": m, "N": n, "K": k}
        report = launch(
            self.plan(),
            self.sources(),
            {"A": a, "B": stored, "C": c},
            sizes,
            numerics=numerics,
            timeout=timeout,
        )
        return GemmResult(c, a.double() @ b.double(), report)


@dataclass(frozen=True)
class GemmResult:
    c: torch.Tensor
    reference: torch.Tensor  # float64
    report: RunReport

    @property
    def relative_error(self) -> float:
        """Relative Frobenius error."""
        return float((self.c.double() - self.reference).norm() / self.reference.norm())


TILE_READER = """
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

template <uint32_t index, typename Layout>
FORCE_INLINE void stream(const Layout& layout, uint32_t page) {
    const TensorAccessor tensor(layout, get_arg_val<uint32_t>(index));
    cb_reserve_back(index, 1);
    noc_async_read_page(page, tensor, get_write_ptr(index));
    noc_async_read_barrier();
    cb_push_back(index, 1);
}

void kernel_main() {
    constexpr auto x = TensorAccessorArgs<0>();
    constexpr auto y = TensorAccessorArgs<2>();
    const uint32_t first = get_arg_val<uint32_t>(2);
    for (uint32_t page = first; page < first + get_arg_val<uint32_t>(3); ++page) {
        stream<0>(x, page);
        stream<1>(y, page);
    }
}
"""

TILE_COMPUTE = """
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/tile_move_copy.h"
INCLUDES

void kernel_main() {
    constexpr uint32_t x = tt::CBIndex::c_0;
    constexpr uint32_t y = tt::CBIndex::c_1;
    constexpr uint32_t out = tt::CBIndex::c_16;
    compute_kernel_hw_startup(x, y, out);
    for (uint32_t tile = 0; tile < get_arg_val<uint32_t>(0); ++tile) {
        cb_wait_front(x, 1);
        cb_wait_front(y, 1);
        cb_reserve_back(out, 1);
        tile_regs_acquire();
        BODY
        tile_regs_commit();
        tile_regs_wait();
        pack_tile(0, out);
        tile_regs_release();
        cb_push_back(out, 1);
        cb_pop_front(x, 1);
        cb_pop_front(y, 1);
    }
}
"""

TILE_WRITER = """
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
    constexpr auto layout = TensorAccessorArgs<0>();
    const TensorAccessor out(layout, get_arg_val<uint32_t>(0));
    const uint32_t first = get_arg_val<uint32_t>(1);
    for (uint32_t page = first; page < first + get_arg_val<uint32_t>(2); ++page) {
        cb_wait_front(tt::CBIndex::c_16, 1);
        noc_async_write_page(page, out, get_read_ptr(tt::CBIndex::c_16));
        noc_async_writes_flushed();
        cb_pop_front(tt::CBIndex::c_16, 1);
    }
    noc_async_write_barrier();
}
"""


@dataclass(frozen=True)
class TileProgram:
    """out = BODY(x, y), one tile at a time; x and y arrive in CB 0 and 1, the result is DST tile 0."""

    body: str
    includes: tuple[str, ...] = ()
    x_format: str = "Float32"
    y_format: str = "Float32"
    out_format: str = "Float32"
    direct: bool = True  # x and y are unpacked straight to DST
    fp32_dest: bool = True
    arch: str = "wormhole_b0"
    grid: tuple[int, int] = (2, 1)
    extra: Mapping[str, str] = field(default_factory=dict)  # other texts instead of the standard kernels

    def sources(self) -> dict[str, str]:
        includes = "\n".join(f'#include "api/compute/{name}"' for name in self.includes)
        compute = TILE_COMPUTE.replace("INCLUDES", includes).replace("BODY", self.body)
        return {"reader.cpp": TILE_READER, "compute.cpp": compute, "writer.cpp": TILE_WRITER, **self.extra}

    def plan(self) -> Plan:
        work = (RuntimeArg("first", work="start"), RuntimeArg("count", work="count"))
        accessors = (CompileArg("x", accessor="x"), CompileArg("y", accessor="y"))
        kernels = (
            KernelPlan(
                "reader",
                "reader.cpp",
                accessors,
                (RuntimeArg("x", address="x"), RuntimeArg("y", address="y"), *work),
            ),
            KernelPlan("compute", "compute.cpp", (), (work[1],)),
            KernelPlan(
                "writer",
                "writer.cpp",
                (CompileArg("out", accessor="out"),),
                (RuntimeArg("o", address="out"), *work),
            ),
        )
        cbs = (
            cb(0, "x", self.x_format, 2, "reader", "compute", self.direct),
            cb(1, "y", self.y_format, 2, "reader", "compute", self.direct),
            cb(16, "out", self.out_format, 2, "compute", "writer"),
        )
        rows, cols = tiles("M"), tiles("N")
        forms = {"x": self.x_format, "y": self.y_format, "out": self.out_format}
        tensors = tuple(tensor_plan(name, i, form, rows, cols) for i, (name, form) in enumerate(forms.items()))
        params = tuple(Param(name, "tensor", "float", ("M", "N")) for name in forms)
        config = ComputeConfig(fp32_dest_acc_en=self.fp32_dest)
        one = LaunchPlan("tiles", self.grid, f"({rows}) * ({cols})", "contiguous", kernels, cbs, compute_config=config)
        return Plan("tiles", self.arch, "0.77", "fast", "virtual", ("M", "N"), params, tensors, (one,), "test")

    def run(self, x: torch.Tensor, y: torch.Tensor | None = None, **options: object) -> torch.Tensor:
        out = torch.full_like(x, 777)
        self.run_into(x, x if y is None else y, out, **options)
        return out

    def run_into(self, x: torch.Tensor, y: torch.Tensor, out: torch.Tensor, **options: object) -> None:
        """With an output of another type than the inputs."""
        sizes = {"M": x.shape[0], "N": x.shape[1]}
        launch(self.plan(), self.sources(), {"x": x, "y": y, "out": out}, sizes, **options)  # type: ignore[arg-type]
