"""Print reader.cpp and writer.cpp."""

from __future__ import annotations

from tilelang_tt.codegen.cpp import Printer, cb_constant, cb_name
from tilelang_tt.ir.kernel import (
    Barrier,
    Cb,
    CbCall,
    Kernel,
    KernelStmt,
    Pointer,
    ReadTile,
    WriteTile,
    ZeroTile,
    walk,
)
from tilelang_tt.ir.scalar import Expr, int_value
from tilelang_tt.ir.tile import Role

_PURPOSE = {Role.READER: "moves tiles from DRAM to L1", Role.WRITER: "moves finished tiles from L1 to DRAM"}

_ZERO_TILE = """\
// Fills one tile with zeros by reading the zero-filled region every core keeps in L1: no processor
// stores, and the read barrier of the block completes it.
template <uint32_t tile_bytes>
FORCE_INLINE void zero_tile(uint32_t l1) {
    const uint64_t zeros = get_noc_addr(MEM_ZEROS_BASE);
    for (uint32_t done = 0; done < tile_bytes; done += MEM_ZEROS_SIZE) {
        const uint32_t left = tile_bytes - done;
        noc_async_read(zeros, l1 + done, left < MEM_ZEROS_SIZE ? left : MEM_ZEROS_SIZE);
    }
}"""


def print_dataflow(kernel: Kernel, file: str, title: str) -> Printer:
    printer = _Dataflow(file)
    printer.file_of(kernel, title)
    return printer


class _Dataflow(Printer):
    def file_of(self, kernel: Kernel, title: str) -> None:
        self.line(f"// {title}: {_PURPOSE[kernel.role]}.")
        self.line("#include <cstdint>")
        self.line('#include "api/dataflow/dataflow_api.h"')
        self.line()
        cbs = _cbs(kernel)
        for cb in cbs:
            self.line(cb_constant(cb))
            self.reserve(cb_name(cb))
        if any(isinstance(stmt, ZeroTile) for stmt in walk(kernel.body)):
            self.line()
            self.lines += _ZERO_TILE.split("\n")
        if cbs:
            self.line()
        with self.block("void kernel_main()"):
            self.runtime_args(kernel)
            if kernel.args:
                self.line()
            self.accessors(kernel)
            for cb in cbs:
                self.line(f"constexpr uint32_t {cb.name}_tile_bytes = get_tile_size({cb_name(cb)});")
                self.reserve(f"{cb.name}_tile_bytes")
            if kernel.body:
                self.line()
            self.body(kernel.body)

    def accessors(self, kernel: Kernel) -> None:
        """One TensorAccessor per tensor; their compile-time arguments follow each other."""
        offset = "0"
        for tensor in kernel.tensors:
            self.line(f"constexpr auto {tensor.name}_args = TensorAccessorArgs<{offset}>();")
            self.line(f"const auto {tensor.name} = TensorAccessor({tensor.name}_args, {tensor.name}_addr);")
            offset = f"{tensor.name}_args.next_compile_time_args_offset()"
            self.reserve(tensor.name)
            self.reserve(f"{tensor.name}_args")

    def body(self, body: tuple[KernelStmt, ...]) -> None:
        for stmt in body:
            if self.control(stmt):
                continue
            self.line(self.call(stmt) + ";")

    def call(self, stmt: KernelStmt) -> str:
        if isinstance(stmt, CbCall):
            return f"{stmt.kind.value}({cb_name(stmt.cb)}, {stmt.pages})"
        if isinstance(stmt, Barrier):
            return f"{stmt.kind.value}()"
        if isinstance(stmt, Pointer):
            function = "get_write_ptr" if stmt.write else "get_read_ptr"
            return f"const uint32_t {self.declare(stmt.var)} = {function}({cb_name(stmt.cb)})"
        if isinstance(stmt, ZeroTile):
            return f"zero_tile<{stmt.cb.name}_tile_bytes>({self.place(stmt.cb, self.name(stmt.base), stmt.slot)})"
        assert isinstance(stmt, ReadTile | WriteTile), stmt
        function = "noc_async_read_page" if isinstance(stmt, ReadTile) else "noc_async_write_page"
        place = self.place(stmt.cb, self.name(stmt.base), stmt.slot)
        return f"{function}({self.expr(stmt.page)}, {stmt.tensor.name}, {place})"

    def place(self, cb: Cb, base: str, slot: Expr) -> str:
        """L1 address of a tile of the block."""
        if int_value(slot) == 0:
            return base
        text = self.expr(slot)
        text = text if text.isidentifier() or text.isdigit() else f"({text})"
        return f"{base} + {text} * {cb.name}_tile_bytes"


def _cbs(kernel: Kernel) -> list[Cb]:
    found = {stmt.cb.id: stmt.cb for stmt in walk(kernel.body) if isinstance(stmt, CbCall)}
    return [found[number] for number in sorted(found)]
