"""Whether a tensor that kernels store to may lie in block floats, of which sixteen in a row share an exponent.

    C : 512 x 512, stored by whole tiles              yes
    C : 512 x 40                                      no: what is computed for column 40 would count for column 39

Results are rounded as the chip's packer does it. Such a tensor is not loaded again: the packer writes numbers near the
end of the range of exponents that the unpacker takes for huge ones (the host writes zeros there).
"""

from __future__ import annotations

from tilelang_tt.arch import FACE
from tilelang_tt.ir import scalar, scalar_text
from tilelang_tt.ir.buffers import Tensor
from tilelang_tt.ir.facts import Facts
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.layout import TensorLayout
from tilelang_tt.ir.tensors_of_code import used_by_code
from tilelang_tt.ir.tile import Copy, TileProgram


def why_not_block_floats(program: TileProgram, tensor: Tensor, layout: TensorLayout) -> tuple[str, str] | None:
    """Of a tensor that kernels store to: why not, and what could be done about it."""
    axis = layout.col_axis
    if any(one.param == tensor.param for one in used_by_code(program)):
        return "scalar code uses it", ""
    if any(_of(copy.src.source, tensor) for copy in _copies(program)):
        return "the kernel stores to it and loads from it", "store to another tensor"
    if axis is None or Facts(()).divisible(scalar.as_expr(tensor.shape[axis]), FACE):
        return None
    length = scalar_text.to_python(scalar.as_expr(tensor.shape[axis]))
    return (
        f"{FACE} numbers share an exponent, and what is computed behind its {length} columns would count",
        f"give axis {axis} a length that is a multiple of {FACE}",
    )


def _of(source: object, tensor: Tensor) -> bool:
    return isinstance(source, Tensor) and source.param == tensor.param


def _copies(program: TileProgram) -> list[Copy]:
    return [stmt for launch in program.launches for stmt in walk(launch.body) if isinstance(stmt, Copy)]
