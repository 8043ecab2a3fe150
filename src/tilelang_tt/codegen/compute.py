"""Print compute.cpp."""

from __future__ import annotations

from tilelang_tt.codegen.cpp import Printer, float_bits, used_cbs
from tilelang_tt.ir.cb import CbCall
from tilelang_tt.ir.engine import (
    BinaryMode,
    BinaryTiles,
    CopyMode,
    CopyTile,
    DstCall,
    EndBlock,
    FillTile,
    Init,
    L1Accumulate,
    MatmulBlock,
    MatmulMode,
    PackTile,
    Reconfig,
    ReduceMode,
    ReduceTile,
    Sfpu,
    SfpuMode,
    Startup,
    TransposeDst,
    TransposeDstMode,
    TransposeTile,
    Uninit,
)
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.kernel import Kernel, KernelStmt
from tilelang_tt.ir.movement import ReadTable
from tilelang_tt.ir.scalar import int_value
from tilelang_tt.options import Options

# Names that differ between SDK releases: sdk option -> name.
COPY_INIT = {"0.77": "copy_tile_to_dst_init_short", "0.81": "copy_init"}

_HEADERS: tuple[tuple[type, str], ...] = (
    (Startup, "api/compute/compute_kernel_hw_startup.h"),
    (MatmulBlock, "api/compute/matmul.h"),
    (ReduceTile, "api/compute/reduce.h"),
    (PackTile, "api/compute/pack.h"),
    (ReadTable, "api/compute/cb_api.h"),
    (Reconfig, "api/compute/reconfig_data_format.h"),
    (CopyTile, "api/compute/tile_move_copy.h"),
    (TransposeTile, "api/compute/transpose.h"),
    (TransposeDst, "api/compute/transpose_dest.h"),
)


_END_BLOCK = """\
// Ends a basic block: the SDK's compiler may replay recorded instructions across calls inside one, which record others.
inline __attribute__((always_inline)) void end_block() {
    __asm__ goto("" : : : : next);
next:;
}"""


def print_compute(kernel: Kernel, file: str, title: str, options: Options) -> Printer:
    printer = _Compute(file, options)
    printer.file_of(kernel, title)
    return printer


class _Compute(Printer):
    def __init__(self, file: str, options: Options) -> None:
        super().__init__(file)
        self.sdk = options.sdk
        self.dst_format = f"DataFormat::{'Float32' if options.fp32_acc else 'Float16_b'}"
        self.dst_words = f"DataFormat::{'Int32' if options.fp32_acc else 'Float16_b'}"

    def file_of(self, kernel: Kernel, title: str) -> None:
        self.line(f"// {title}: computes on tiles in L1.")
        self.line("#include <cstdint>")
        self.line('#include "api/compute/common.h"')
        for header in self.headers(kernel):
            self.line(f'#include "{header}"')
        self.line()
        cbs = used_cbs(kernel)
        self.cb_constants(cbs)
        self.helpers(kernel)
        if any(isinstance(stmt, EndBlock) for stmt in walk(kernel.body)):
            self.line()
            self.lines += _END_BLOCK.split("\n")
        if cbs:
            self.line()
        with self.block("void kernel_main()"):
            self.runtime_args(kernel)
            if kernel.args:
                self.line()
            self.body(kernel.body)
        self.extent_constants()

    def headers(self, kernel: Kernel) -> list[str]:
        found = set()
        for stmt in walk(kernel.body):
            found |= {header for kind, header in _HEADERS if isinstance(stmt, kind)}
            if isinstance(stmt, Init) and isinstance(stmt.mode, SfpuMode):
                found.add(stmt.mode.header)
            elif isinstance(stmt, BinaryTiles):
                found.add(stmt.instruction.header)
        return sorted(found)

    def body(self, body: tuple[KernelStmt, ...]) -> None:
        for stmt in body:
            if not self.control(stmt):
                self.line(self.call(stmt) + ";")

    def call(self, stmt: KernelStmt) -> str:
        match stmt:
            case ReadTable():
                assert stmt.cb is not None
                value = f"read_tile_value({self.cbs[stmt.cb]}, 0, {self.expr(stmt.index)})"
                return f"const uint32_t {self.declare(stmt.var)} = {value}"
            case CbCall():
                return f"{stmt.kind.value}({self.cbs[stmt.cb]}, {self.pages(stmt)})"
            case DstCall():
                return f"{stmt.kind.value}()"
            case Startup():
                order = "<SrcOrder::Reverse>" if stmt.reverse else ""
                one = stmt.a is stmt.b and not stmt.reverse
                operands = [stmt.a, stmt.out] if one else [stmt.a, stmt.b, stmt.out]
                return f"compute_kernel_hw_startup{order}({', '.join(self.cbs[cb] for cb in operands)})"
            case Init():
                return self.init(stmt)
            case EndBlock():
                return "end_block()"
            case Uninit():
                return f"reduce_uninit({self.cbs[stmt.cb]})"
            case Reconfig():
                cbs = [self.cbs[cb] for cb in (stmt.old, stmt.new) if cb is not None]
                return f"{stmt.unit.value}({', '.join(cbs)})"
            case L1Accumulate():
                constant = int_value(stmt.on)
                return f"pack_reconfig_l1_acc({self.expr(stmt.on) if constant is None else constant})"
        return self.operation(stmt)

    def init(self, stmt: Init) -> str:
        mode = stmt.mode
        if isinstance(mode, SfpuMode):
            return mode.init if mode.number is None else mode.init.format(bits=float_bits(mode.number))
        if isinstance(mode, MatmulMode):
            flag = f"/*transpose*/ {int(mode.transpose)}"
            sizes = self.shape(mode)
            return f"matmul_block_init({self.cbs[mode.a]}, {self.cbs[mode.b]}, {flag}, {sizes})"
        if isinstance(mode, ReduceMode):
            operands = ", ".join(self.cbs[cb] for cb in (mode.cb, mode.scaler, mode.out))
            return f"reduce_init<{_reduction(mode.along_columns)}>({operands})"
        if isinstance(mode, BinaryMode):
            return mode.instruction.init.format(cb_a=self.cbs[mode.a], cb_b=self.cbs[mode.b])
        if isinstance(mode, TransposeDstMode):
            return "transpose_dest_init<true>()"
        name = COPY_INIT[self.sdk] if isinstance(mode, CopyMode) else "transpose_init"
        return f"{name}({self.cbs[mode.cb]})"

    def shape(self, product: MatmulBlock | MatmulMode) -> str:
        return ", ".join(map(self.count, (product.cols, product.rows, product.a_stride)))

    def number(self, stmt: Sfpu) -> dict[str, str]:
        """The number of a call in the form it wants: the bits of a float32, or the whole number itself."""
        if stmt.number is None:
            return {}
        if stmt.instruction.takes_whole:
            return {"whole": self.whole(stmt.number)}
        return {"bits": self.bits(stmt.number)}

    def operation(self, stmt: KernelStmt) -> str:
        match stmt:
            case MatmulBlock():
                operands = (
                    f"{self.cbs[stmt.a]}, {self.cbs[stmt.b]}, {self.expr(stmt.a_index)}, {self.expr(stmt.b_index)}"
                )
                flags = f"{stmt.dst}, /*transpose*/ {int(stmt.transpose)}, {self.shape(stmt)}"
                return f"matmul_block({operands}, {flags})"
            case ReduceTile():
                operands = f"{self.cbs[stmt.cb]}, {self.cbs[stmt.scaler]}, {self.expr(stmt.index)}, 0"
                return f"reduce_tile<{_reduction(stmt.along_columns)}>({operands}, {self.expr(stmt.dst)})"
            case BinaryTiles():
                return stmt.instruction.call.format(
                    cb_a=self.cbs[stmt.a],
                    cb_b=self.cbs[stmt.b],
                    a=self.expr(stmt.a_index),
                    b=self.expr(stmt.b_index),
                    out=self.expr(stmt.dst),
                )
            case CopyTile():
                return f"copy_tile({self.cbs[stmt.cb]}, {self.expr(stmt.index)}, {self.expr(stmt.dst)})"
            case TransposeTile():
                return f"transpose_tile({self.cbs[stmt.cb]}, {self.expr(stmt.index)}, {self.expr(stmt.dst)})"
            case TransposeDst():
                return f"transpose_dest</*32 bits*/ true>({self.expr(stmt.dst)})"
            case FillTile():
                return f"fill_tile_bitcast({self.expr(stmt.dst)}, {self.bits(stmt.value)})"
            case PackTile():
                return f"pack_tile<true>({self.expr(stmt.dst)}, {self.cbs[stmt.cb]}, {self.expr(stmt.index)})"
            case Sfpu():
                return stmt.instruction.call.format(
                    **dict(zip("abc", map(self.expr, stmt.operands), strict=False)),
                    out=self.expr(stmt.out),
                    **self.number(stmt),
                    format=self.dst_format,
                    words=self.dst_words,
                )
        raise AssertionError(f"no printed form for {type(stmt).__name__}")


def _reduction(along_columns: bool) -> str:
    return f"PoolType::MAX, ReduceDim::{'REDUCE_ROW' if along_columns else 'REDUCE_COL'}"
