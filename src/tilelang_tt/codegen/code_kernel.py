"""Print the kernel file of scalar code."""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.codegen.code import CodePrinter, support
from tilelang_tt.codegen.code_rounding import ROUNDINGS
from tilelang_tt.codegen.code_support import ALIASES, SUPPORT
from tilelang_tt.codegen.cpp import ARG_COMMENT, Printer, in_comment, schedule_functions
from tilelang_tt.ir.buffers import Tensor
from tilelang_tt.ir.cb import CbCall
from tilelang_tt.ir.code import Code
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.kernel import ArgKind, For, Kernel, KernelSet, KernelStmt, Let
from tilelang_tt.ir.movement import Barrier
from tilelang_tt.ir.scalar import int_value

SUPPORT_HERE = "// support"
SUPPORT_NAMES = frozenset((*SUPPORT, *ALIASES, *ROUNDINGS.values()))
# The SDK compiles kernels with -ffast-math.
OPTIONS = '#pragma GCC optimize("no-fast-math", "no-strict-aliasing")  // IEEE 754; blocks may be seen as other types'


def print_code(kernel: Kernel, file: str, title: str, kernels: KernelSet) -> Printer:
    printer = _CodeKernel(file, kernel, kernels)
    printer.file_of(title)
    return printer


class _CodeKernel(Printer):
    def __init__(self, file: str, kernel: Kernel, kernels: KernelSet) -> None:
        super().__init__(file)
        self.kernel = kernel
        self.reserved |= SUPPORT_NAMES
        self.accessors: dict[Tensor, tuple[str, str]] = {}  # names of what knows where the pages of a tensor are
        codes = [stmt for stmt in walk(kernel.body) if isinstance(stmt, Code)]
        layouts = {tensor: kernels.program.layouts[tensor] for tensor in kernel.tensors}
        self.code = CodePrinter(self, codes[0], layouts)
        grid = {var: int_value(extent) for var, extent in kernels.launch.blocks}
        self.code.values.between |= {var: (0, extent - 1) for var, extent in grid.items() if extent is not None}

    def file_of(self, title: str) -> None:
        self.line(f"// {title}: scalar code, element by element.")
        self.line(f"// {in_comment(self.code.code.why)}")
        self.line(OPTIONS)
        self.line("#include <cmath>")
        self.line("#include <cstdint>")
        self.line('#include "api/dataflow/dataflow_api.h"')
        self.line()
        (cb,) = (stmt.cb for stmt in self.kernel.body if isinstance(stmt, CbCall))
        self.cbs[cb] = self.identifier(f"cb_{cb.name}")
        what = f"{cb.pages * cb.page_bytes} bytes for lines of tensors and for blocks"
        self.line(f"constexpr uint32_t {self.cbs[cb]} = tt::CBIndex::c_{cb.id};  // {what}")
        self.line()
        self.line(SUPPORT_HERE)
        self.line()
        for text in schedule_functions(self.kernel):
            self.lines += [*text.split("\n"), ""]
        with self.block("void kernel_main()"):
            self.arguments()
            self.body(self.kernel.body)
        insert_support(self, [self.code])

    def arguments(self) -> None:
        for number, arg in enumerate(self.kernel.args):
            if arg.tensor is not None:
                name = self.addresses[arg.tensor] = self.identifier(arg.name)
                self.line(f"const uint32_t {name} = get_arg_val<uint32_t>({number});")
            elif arg.kind is ArgKind.UNITS and arg.var is not None:
                self.line(f"constexpr int32_t {self.declare(arg.var)} = {number};  // {ARG_COMMENT[arg.kind]}")
            elif arg.kind is ArgKind.SCALAR and arg.var is not None and str(arg.var.dtype).startswith(("float", "bf")):
                bits = self.code.values.call("bits_as", f"get_arg_val<uint32_t>({number})", of="<float>")
                self.line(f"const float {self.declare(arg.var)} = {bits};")
            elif arg.var is not None:
                self.line(f"const int32_t {self.declare(arg.var)} = get_arg_val<int32_t>({number});")
        offset = "0"
        for tensor in self.kernel.tensors:
            args, pages = self.identifier(f"{tensor.name}_args"), self.identifier(f"{tensor.name}_pages")
            self.accessors[tensor] = args, pages
            self.line(f"constexpr auto {args} = TensorAccessorArgs<{offset}>();")
            self.line(f"const auto {pages} = TensorAccessor({args}, {self.addresses[tensor]});")
            offset = f"{args}.next_compile_time_args_offset()"

    def blocks(self) -> None:
        scratch = self.identifier("scratch")
        (cb,) = self.cbs
        self.line(f"const uint32_t {scratch} = get_write_ptr({self.cbs[cb]});")
        self.code.memory(scratch, self.accessors)

    def body(self, body: tuple[KernelStmt, ...]) -> None:
        for stmt in body:
            if isinstance(stmt, CbCall):
                self.line(f"{stmt.kind.value}({self.cbs[stmt.cb]}, {stmt.pages});")
                self.blocks()
            elif isinstance(stmt, For):
                start, stop = self.expr(stmt.start), self.expr(stmt.stop)
                var = self.declare(stmt.var)
                step = f"++{var}" if stmt.step == 1 else f"{var} += {stmt.step}"
                with self.block(f"for (int32_t {var} = {start}; {var} < {stop}; {step})"):
                    self.body(stmt.body)
            elif isinstance(stmt, Let):
                value = self.expr(stmt.value)
                self.line(f"const int32_t {self.declare(stmt.var)} = {value};")
            elif isinstance(stmt, Code):
                self.code.unit(stmt)
            elif isinstance(stmt, Barrier):
                self.line(f"{stmt.kind.value}();")


def insert_support(printer: Printer, codes: list[CodePrinter]) -> None:
    """What the body calls goes before it; lines behind it move down."""
    at = printer.lines.index(SUPPORT_HERE)
    texts = support(name for code in codes for name in code.values.used)
    if any(code.prints for code in codes):
        texts = ['#include "api/debug/dprint.h"', "", *texts]
    printer.lines[at : at + 1] = texts
    printer.source_map = [replace(entry, line=entry.line + len(texts) - 1) for entry in printer.source_map]


def is_code(kernel: Kernel) -> bool:
    return any(isinstance(stmt, Code) for stmt in walk(kernel.body))
