"""Print elements of tensors in scalar code: flat ones, and those that lie as the tile engines want them.

    flat        A.get<float>(i * 100 + j)
    in tiles    A.get<float>(at_A(i, j))        at_A: the number of an element, counted as the bytes of the tiles lie

In tiles, narrow types are kept in wider formats, and a vector may be there many times over: all of these are written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tilelang_tt.arch import FACE, TILE
from tilelang_tt.codegen.code_values import SMALL_FLOATS, ValuePrinter, flat_index, is_packed, value_type, word_type
from tilelang_tt.codegen.cpp import Printer
from tilelang_tt.formats import INTEGER_FORMATS, is_float
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Tensor
from tilelang_tt.ir.code import Place, Value
from tilelang_tt.ir.layout import TensorLayout, Window


class TensorPrinter:
    def __init__(
        self, printer: Printer, values: ValuePrinter, tensors: Mapping[Tensor, TensorLayout], index: Callable[..., str]
    ) -> None:
        """`tensors`: those of the kernel; a place may also be in a view of one of them."""
        self.printer, self.values, self.index = printer, values, index
        self.tensors = {tensor.param: (tensor, layout) for tensor, layout in tensors.items()}
        self.names = {tensor.param: printer.identifier(tensor.name) for tensor in tensors}
        self.numbers: dict[Tensor, str] = {}  # tensors in tiles -> the function that counts their elements

    # --- declarations -----------------------------------------------------------------------------

    def declare(self, tensor: Tensor, args: str, pages: str, l1: str) -> None:
        """The elements of a tensor of the kernel: from `pages`, through a line at `l1`."""
        layout, name = self.tensors[tensor.param][1], self.names[tensor.param]
        self.values.used["Elements"] = None
        if layout.flat:
            self.printer.line(f"Elements<decltype({pages})> {name}{{{pages}, {l1}}};")
            return
        self.values.used["Tiles"] = None
        rows, cols = (TILE if axis is None else 1 for axis in (layout.row_axis, layout.col_axis))
        next_columns = f", {FACE}" if layout.by_rows else ""
        copies = f", {rows}, {cols}{next_columns}" if layout.by_rows or (rows, cols) != (1, 1) else ""
        page_bytes = f"{args}.get_aligned_page_size()"
        self.printer.line(f"Tiles<decltype({pages}), {page_bytes}{copies}> {name}{{{{{pages}, {l1}}}}};")

    def count(self, source: Tensor) -> None:
        """The function that counts the elements of a tensor in tiles, or of a view of one."""
        owner, layout = self.tensors[source.param]
        if layout.flat or source in self.numbers:
            return
        self.numbers[source] = self.printer.identifier(f"at_{source.name}")
        names = [f"i{axis}" for axis in range(len(source.shape))]
        params = ", ".join(f"uint32_t {name}" for name in names)
        if not _same_shape(source, owner):
            number = _row_major(names, self.extents(source))
            names = [self.unraveled("n", owner, axis) for axis in range(len(owner.shape))]
            text = f"{{ const uint32_t n = {number}; return {self.number(owner, layout, names)}; }}"
        else:
            text = f"{{ return {self.number(owner, layout, names)}; }}"
        self.printer.line(f"const auto {self.numbers[source]} = [&]({params}) -> uint32_t {text};")

    def number(self, tensor: Tensor, layout: TensorLayout, at: list[str]) -> str:
        """The number of the element at an index."""
        extents = self.extents(tensor)
        others = [axis for axis in range(len(at)) if axis not in (layout.row_axis, layout.col_axis)]
        matrix = _row_major([at[axis] for axis in others], [extents[axis] for axis in others])
        row, col = (
            "0" if axis is None else _windowed(at[axis], window)
            for axis, window in ((layout.row_axis, layout.row_window), (layout.col_axis, layout.col_window))
        )
        rows, cols = self.printer.expr(layout.row_tiles), self.printer.expr(layout.col_tiles)
        if layout.by_rows:
            return f"(({matrix}) * ({rows}) + {row}) * {layout.page_bytes // 4} + {col}"
        return self.values.call("in_tiles", matrix, row, col, rows, cols)

    def extents(self, tensor: Tensor) -> list[str]:
        texts = [self.printer.expr(extent) for extent in tensor.shape]
        return [text if text.isalnum() else f"({text})" for text in texts]

    def unraveled(self, number: str, tensor: Tensor, axis: int) -> str:
        """The index along an axis of the element with a row-major number."""
        behind = self.printer.expr(scalar.product(tensor.shape[axis + 1 :]))
        quotient = number if behind == "1" else f"{number} / ({behind})"
        return quotient if axis == 0 else f"{quotient} % {self.extents(tensor)[axis]}"

    # --- elements ---------------------------------------------------------------------------------

    def inside(self, place: Place) -> str:
        """The condition under which an element is in its tensor."""
        extents = [self.printer.expr(scalar.as_expr(extent)) for extent in place.source.shape]
        tests = [self.values.call("inside", self.index(place.indices[axis]), extents[axis]) for axis in place.unsure]
        return " && ".join(tests)

    def load(self, place: Place) -> str:
        layout, name, number = self.found(place)
        dtype = place.dtype
        if not layout.flat:
            text = self.from_tile(name, number, dtype, layout.format)
        elif is_packed(dtype):
            text = self.values.from_word(self.values.packed("packed_in", dtype, name, number), dtype)
        else:
            text = self.values.from_word(f"{name}.get<{word_type(dtype)}>({number})", dtype)
        return f"{self.inside(place)} ? {text} : 0" if place.unsure else text

    def store(self, place: Place, value: Value) -> None:
        layout, name, number = self.found(place)
        dtype, word = place.dtype, self.values.word
        if layout.flat and is_packed(dtype):
            put = self.values.packed("put_packed_in", dtype, name, number, word(value))
        elif layout.flat or layout.format in INTEGER_FORMATS:
            put = f"{name}.put<{word_type(dtype)}>({number}, {word(value)})"
        else:
            text = self.values.text(value)
            put = f"{name}.put<float>({number}, {text if is_float(dtype) else f'float({text})'})"
        self.printer.line(f"if ({self.inside(place)}) {put};" if place.unsure else f"{put};")

    def found(self, place: Place) -> tuple[TensorLayout, str, str]:
        """How its tensor lies, the name of that, and the number of the element."""
        source = place.source
        assert isinstance(source, Tensor)
        layout, name = self.tensors[source.param][1], self.names[source.param]
        if layout.flat:
            return layout, name, flat_index(place, self.index, self.extents(source))
        indices = ", ".join(self.index(index) for index in place.indices)
        return layout, name, f"{self.numbers[source]}({indices})"

    def from_tile(self, name: str, number: str, dtype: str, format: str) -> str:
        """A value that is kept in the format of tiles; tile operations may have left it unrounded there."""
        if format in INTEGER_FORMATS:
            return f"{name}.get<{word_type(dtype)}>({number})"
        text = f"{name}.get<float>({number})"
        if dtype == "float32" or (dtype == "bfloat16" and format == "Float16_b"):
            return text
        if dtype in SMALL_FLOATS:
            return self.values.call(f"as_{SMALL_FLOATS[dtype]}", text)
        return f"({text} != 0)" if dtype == "bool" else f"{value_type(dtype)}(int32_t(std::rint({text})))"


def _same_shape(one: Tensor, other: Tensor) -> bool:
    same_rank = len(one.shape) == len(other.shape)
    return same_rank and all(map(scalar.equal, one.shape, other.shape))


def _row_major(indices: list[str], extents: list[str]) -> str:
    """The number of an element, counted in row-major order."""
    result = indices[0] if indices else "0"
    for index, extent in zip(indices[1:], extents[1:], strict=True):
        result = f"({result}) * {extent} + {index}"
    return result


def _windowed(index: str, window: Window | None) -> str:
    """Where an element of an axis lies that is kept as windows: in the one that begins last before it."""
    if window is None:
        return index
    number = f"({index}) / {window.step}"
    piece = f"({number} + {window.before})" if window.before else number
    return f"{piece} * {window.tiles * TILE} + ({index}) % {window.step}"
