"""A: tensors of scalar code lie flat: elements in row-major order, in the bytes of their own type.

before   A : float16[1000, 33]
after    A : flat, 17 pages of 4096 B
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.formats import FLAT_PAGE_BYTES, element_bits, flat_format
from tilelang_tt.ir import scalar, scalar_text
from tilelang_tt.ir.buffers import Tensor
from tilelang_tt.ir.layout import TensorLayout
from tilelang_tt.ir.tile import TileProgram


def lay_flat(program: TileProgram) -> TileProgram:
    layouts = {tensor: _flat(tensor) for tensor in program.tensors}
    decisions = [
        Decision("lay_flat", tensor.name, f"flat, {scalar_text.to_python(layout.row_tiles)} pages of 4096 B")
        for tensor, layout in layouts.items()
    ]
    return replace(program, layouts=layouts).with_decisions(*decisions)


def _flat(tensor: Tensor) -> TensorLayout:
    one = scalar.const(1)
    pages = scalar.ceildiv(scalar.product(tensor.shape), 8 * FLAT_PAGE_BYTES // element_bits(tensor.dtype))
    return TensorLayout(None, None, pages, one, one, flat_format(tensor.dtype), FLAT_PAGE_BYTES, flat=True)
