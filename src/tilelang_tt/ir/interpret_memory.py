"""Where the interpreter begins: sizes, and the arrays that tensors and constant tiles are.

Floats are held as float32, whatever their type, but for float64. A tensor that is also seen as elements of another type
is held in the bytes of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tilelang_tt.arch import TILE
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Tensor
from tilelang_tt.ir.elements import value_type
from tilelang_tt.ir.layout import Constant, Mask
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tile import ScalarParam, TileProgram
from tilelang_tt.ops.expressions import converted

Array = npt.NDArray[Any]
_ROUNDED: dict[str, npt.DTypeLike] = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
_UNWRITTEN = 0x5A5A5A5A  # an integer that nothing wrote


def held_type(dtype: str) -> str:
    """The type in which elements of a type are held."""
    return dtype if dtype == "float64" else value_type(dtype)


def rounded(place: Tensor | Buffer, value: Array, *, exact: bool) -> Array:
    """A new array of what `place` can hold of `value`."""
    narrow = None if exact else _ROUNDED.get(place.dtype)
    return converted(np.asarray(value if narrow is None else value.astype(narrow)), held_type(place.dtype))


def tensor_arrays(
    program: TileProgram, given: Mapping[str, Array], number: Callable[[Expr], int], *, exact: bool
) -> dict[Tensor | Buffer, Array]:
    """Tensors as they are before the program runs, and views of them."""
    found: dict[Tensor | Buffer, Array] = {}

    def size(tensor: Tensor) -> int:
        """In bytes. A view of fewer is one of the same numbers (`narrow_int64`)."""
        return math.prod(map(number, tensor.shape)) * np.dtype(tensor.dtype).itemsize

    owners = program.tensors_by_param
    others = (view for view in program.views if view.dtype != owners[view.param].dtype)
    viewed = {view.param for view in others if size(view) == size(owners[view.param])}
    for tensor in program.tensors:
        shape = tuple(map(number, tensor.shape))
        found[tensor] = unwritten(tensor.dtype, shape)
        if tensor.name in given:
            if given[tensor.name].shape != shape:
                raise ValueError(f"'{tensor.name}' has shape {given[tensor.name].shape}; the program wants {shape}")
            found[tensor][...] = rounded(tensor, given[tensor.name], exact=exact)
        if tensor.param in viewed:
            found[tensor] = found[tensor].astype(tensor.dtype)
    for view in program.views:
        owner = found[owners[view.param]]
        typed = owner.reshape(-1).view(view.dtype) if view.param in viewed else owner
        found[view] = _filled_up(typed, view).reshape(tuple(map(number, view.shape)))
    return found


def _filled_up(array: Array, view: Tensor) -> Array:
    """What is folded, with zeros behind the end of its axes where rows are not full: of inputs only."""
    for fold in view.folds:
        missing = -array.shape[fold.axis] % fold.width
        if missing:
            array = np.pad(array, [(0, missing * (axis == fold.axis)) for axis in range(array.ndim)])
        shape = array.shape
        array = array.reshape(*shape[: fold.axis], -1, fold.width, *shape[fold.axis + 1 :])
    return array


def unwritten(dtype: str, shape: tuple[int, ...]) -> Array:
    kind = held_type(dtype)
    return np.full(shape, np.nan, kind) if kind.startswith("float") else np.full(shape, _UNWRITTEN).astype(kind)


def constant_tiles(constant: Constant | Mask) -> Array:
    """Constant tiles, one below the other."""
    rows, cols = np.indices((TILE, TILE))
    if isinstance(constant, Constant):
        return np.asarray(constant.base + constant.row * rows + constant.col * cols, np.float32)
    places = (tile.offset + tile.row * rows + tile.col * cols for tile in constant.tiles)
    chosen = [np.where(place >= 0, tile.yes, tile.no) for place, tile in zip(places, constant.tiles, strict=True)]
    return np.concatenate(chosen).astype(np.float32)


def sizes(program: TileProgram, tensors: Mapping[str, Array], scalars: Mapping[str, int]) -> dict[Var, int]:
    """Scalar parameters and symbolic sizes: as given, else as the given tensors show them."""
    values: dict[Var, int] = {}
    for tensor in program.tensors:
        if tensor.name in tensors:
            shown = zip(tensor.shape, tensors[tensor.name].shape, strict=True)
            values.update((extent, size) for extent, size in shown if scalar.is_var(extent))
    values.update((var, scalars[var.name]) for var in program.sizes if var.name in scalars)
    parameters = [param for param in program.params if isinstance(param, ScalarParam)]
    return values | {param.var: scalars[param.name] for param in parameters}
