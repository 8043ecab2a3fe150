"""Print a writer that carries out scalar code between its stores."""

from __future__ import annotations

from tilelang_tt.codegen.code import CodePrinter
from tilelang_tt.codegen.code_kernel import OPTIONS, SUPPORT_HERE, SUPPORT_NAMES, insert_support
from tilelang_tt.codegen.code_values import value_type
from tilelang_tt.codegen.cpp import Printer, in_comment
from tilelang_tt.codegen.dataflow import Dataflow
from tilelang_tt.formats import is_float
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Tensor
from tilelang_tt.ir.code import Code, Input, used_tensors
from tilelang_tt.ir.code_room import room_of
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.kernel import Kernel, KernelSet, KernelStmt
from tilelang_tt.ir.tensors_of_code import elements
from tilelang_tt.ir.tile import Loop


def print_writer_with_code(kernel: Kernel, file: str, title: str, kernels: KernelSet) -> Printer:
    printer = _WriterWithCode(file, kernels)
    printer.file_of(kernel, title)
    insert_support(printer, printer.codes)
    return printer


class _WriterWithCode(Dataflow):
    def __init__(self, file: str, kernels: KernelSet) -> None:
        super().__init__(file)
        self.kernels = kernels
        self.reserved |= SUPPORT_NAMES
        self.lying = elements(kernels.program)
        self.codes: list[CodePrinter] = []
        loops = ((stmt.var, stmt.extent) for stmt in walk(kernels.launch.body) if isinstance(stmt, Loop))
        counts = {var: scalar.int_value(extent) for var, extent in (*kernels.launch.blocks, *loops)}
        self.counts = {var: count for var, count in counts.items() if count is not None}

    def purpose(self, kernel: Kernel) -> str:
        return f"{super().purpose(kernel)}, and carries out scalar code, element by element"

    def includes(self) -> None:
        self.line(OPTIONS)
        self.line("#include <cmath>")

    def support(self) -> None:
        self.line(SUPPORT_HERE)
        self.line()

    def accessor_name(self, tensor: Tensor) -> str:
        return f"{tensor.name}_pages"

    def body(self, body: tuple[KernelStmt, ...]) -> None:
        for stmt in body:
            if isinstance(stmt, Code):
                self.piece(stmt)
            else:
                super().body((stmt,))

    def piece(self, code: Code) -> None:
        tensors = list(dict.fromkeys(self.lying[tensor.param] for tensor in used_tensors(code)))
        layouts = {tensor: self.kernels.program.layouts[tensor] for tensor in tensors}
        printer = CodePrinter(self, code, layouts, among_tiles=True)
        self.codes.append(printer)
        self.line(f"// scalar code: {in_comment(code.why)}")
        with self.block(""):
            self.lines[-1] = self.lines[-1].replace(" {", "{")
            self.inputs(printer, code.inputs)
            self.memory(printer, tensors)
            printer.unit(code)

    def inputs(self, printer: CodePrinter, inputs: tuple[Input, ...]) -> None:
        """Numbers of the kernel as scalar code has them: with a sign, or as floats."""
        texts = [self.expr(one.value) for one in inputs]
        for one, text in zip(inputs, texts, strict=True):
            kind = value_type(str(one.var.dtype))
            if is_float(str(one.var.dtype)):
                text = printer.values.call("bits_as", text, of="<float>")
            if scalar.is_var(one.value) and one.value in self.counts:
                printer.values.between[one.var] = 0, self.counts[one.value] - 1
            self.line(f"const {kind} {self.declare(one.var)} = {text};")

    def memory(self, printer: CodePrinter, tensors: list[Tensor]) -> None:
        """Each piece has a part of the scratch buffer for itself."""
        scratch = self.identifier("scratch")
        (cb,) = (name for cb, name in self.cbs.items() if cb.is_scratch)
        before = sum(room_of(other.code) for other in self.codes[:-1])
        self.line(f"const uint32_t {scratch} = get_write_ptr({cb}){f' + {before}' if before else ''};")
        printer.memory(scratch, {one: (self.accessor_args[one], self.accessor_names[one]) for one in tensors})
