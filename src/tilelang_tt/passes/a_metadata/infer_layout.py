"""A: choose how every tensor lies in device memory, and every on-chip buffer in tiles.

    before   A : bfloat16[4, 1024, 512], copied by blocks [1, 128, 64] to A_shared : bfloat16[128, 64]
    after    A : rows = axis 1, columns = axis 2, 32 x 16 tiles x 4 batches, Float16_b pages of 2048 B
             A_shared : 4 x 2 tiles, Float16_b

Which axis runs along tile rows, and which along tile columns, follows from what is computed (`orient`). Inputs whose
blocks lie along different axes get a view for each (`separate_views`). Then tensors are laid as their blocks ask for
(`tensor_layouts`), and buffers as the tensors that they are filled from (`buffer_layouts`).
"""

from __future__ import annotations

from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.passes.a_metadata.buffer_layouts import buffer_layouts
from tilelang_tt.passes.a_metadata.orient import orient
from tilelang_tt.passes.a_metadata.separate_views import separate_views
from tilelang_tt.passes.a_metadata.tensor_layouts import tensor_layouts


def infer_layout(program: TileProgram) -> TileProgram:
    program = separate_views(program, orient(program))
    sides = orient(program)
    return buffer_layouts(tensor_layouts(program, sides), sides)
