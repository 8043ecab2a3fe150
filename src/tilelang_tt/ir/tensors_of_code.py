"""Which launches are scalar code, tensors whose elements it uses, and in which layout it finds them."""

from __future__ import annotations

from tilelang_tt.formats import BLOCK_FORMATS, STEERING_DTYPES
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Tensor
from tilelang_tt.ir.code import Code, used_tensors
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.tile import Launch, Store, TileProgram


def is_code(launch: Launch) -> bool:
    """Whether a launch is scalar code as a whole."""
    return len(launch.body) == 1 and isinstance(launch.body[0], Code)


def codes_of(launch: Launch) -> list[Code]:
    return [stmt for stmt in walk(launch.body) if isinstance(stmt, Code)]


def stored_params(launch: Launch) -> set[int]:
    """Parameters that tile operations or scalar code write."""
    stores = {stmt.dst.tensor.param for stmt in walk(launch.body) if isinstance(stmt, Store)}
    codes = (used_tensors(code) for code in codes_of(launch))
    return stores | {tensor.param for used in codes for tensor, written in used.items() if written}


def used_by_code(program: TileProgram) -> dict[Tensor, bool]:
    """Tensors, and views of them; whether it writes some of their elements."""
    found: dict[Tensor, bool] = {}
    for code in (code for launch in program.launches for code in codes_of(launch)):
        for tensor, written in used_tensors(code).items():
            found[tensor] = found.get(tensor, False) or written
    return found


def elements(program: TileProgram) -> dict[int, Tensor]:
    """Number of a parameter -> the tensor, or the view of it, in which scalar code finds its elements."""
    known = (*program.tensors, *program.views)
    lying = [one for one in known if one in program.layouts and serves_elements(program, one)]
    in_order = sorted(lying, key=lambda one: program.layouts[one].flat)  # the last one: flat, if there is such
    params = {tensor.param for tensor in used_by_code(program)}
    return {tensor.param: tensor for tensor in in_order if tensor.param in params}


def serves_elements(program: TileProgram, tensor: Tensor) -> bool:
    """Whether every element of a tensor has a place of its own, in its own type or one that holds it."""
    layout = program.layouts[tensor]
    windows = [window for window in (layout.row_window, layout.col_window) if window is not None]
    gaps = any(window.extent < window.step for window in windows)
    owner = program.tensors_by_param[tensor.param]
    gaps = gaps or not scalar.equal(scalar.product(tensor.shape), scalar.product(owner.shape))  # rows filled up
    narrowed = tensor.dtype in STEERING_DTYPES or tensor.dtype != owner.dtype
    return layout.flat or not (gaps or narrowed or layout.table or layout.format in BLOCK_FORMATS)
