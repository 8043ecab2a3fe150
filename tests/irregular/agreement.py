"""Run a kernel on the virtual device, and compare what it leaves in its tensors with a reference that shares no code.

Integers and truth values agree exactly; so do floats unless a test says how many roundings there are. `thorough`
kernels also run in `exact` numerics, in which the device watches every pointer into L1, and every stage of the compiler
is given its meaning by the interpreter.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import tilelang
import torch

from tilelang_tt.ir.interpret import interpret
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.options import Options
from tilelang_tt.pipeline import run_passes

Array = npt.NDArray[Any]
UNITS = {torch.float64: 2.0**-53, torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
EVEN_LESS = {torch.float16: 2.0**-25, torch.bfloat16: 2.0**-134, torch.float32: 2.0**-150, torch.float64: 0.0}
SMALL_FLOATS = (torch.float8_e4m3fn, torch.float8_e5m2)


def random_floats(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def random_integers(
    *shape: int, low: int | None = None, high: int | None = None, seed: int = 0, dtype: torch.dtype = torch.int32
) -> torch.Tensor:
    """From `low` up to below `high`; else of the whole range of the type."""
    ends = torch.iinfo(dtype)
    least, most = ends.min if low is None else low, ends.max if high is None else high - 1
    numbers = np.random.default_rng(seed).integers(least, most, shape, array_type(dtype), endpoint=True)
    return torch.from_numpy(numbers)


def array_type(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def as_array(tensor: torch.Tensor) -> Array:
    """As NumPy has it; floats of 8 and 16 bits as float32, which holds them exactly."""
    narrow = tensor.dtype in (*SMALL_FLOATS, torch.bfloat16, torch.float16)
    found: Array = (tensor.float() if narrow else tensor).numpy()
    return found


def check(
    func: Any,
    tensors: Mapping[str, torch.Tensor],
    expected: Mapping[str, Any],
    *,
    roundings: int = 0,
    magnitude: Any = None,
    thorough: bool = False,
    scalars: Mapping[str, int] = MappingProxyType({}),
    grid: str = "2x1",
) -> None:
    """`tensors`: parameters in order, with what they hold before; `expected`: what some of them hold after.

    `scalars` are parameters behind them.

    With `roundings`, floats may differ by so many of numbers as large as `magnitude`, by default the result.
    """

    def compare(found: Array, name: str, who: str) -> None:
        dtype, wanted = tensors[name].dtype, _wanted(expected[name])
        label = f"{who}: '{name}' differs"
        if not roundings or dtype not in UNITS:
            np.testing.assert_array_equal(found, wanted.astype(found.dtype), err_msg=label)
            zeros = (found == 0) & np.issubdtype(found.dtype, np.floating)
            np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(wanted[zeros]), err_msg=f"{label}: -0")
            return
        size = np.abs(wanted) if magnitude is None else np.asarray(magnitude, np.float64)
        room = 2.0**-24 * roundings * size + UNITS[dtype] * np.abs(wanted) + EVEN_LESS[dtype]
        finite = np.isfinite(wanted)
        np.testing.assert_array_equal(found[~finite], wanted[~finite], err_msg=label)
        excess = np.where(finite, np.abs(np.where(finite, found, 0) - np.where(finite, wanted, 0)) - room, 0)
        assert excess.max() <= 0, f"{label} by {excess.max()} more than it may"

    for numerics in ("fast", "exact") if thorough else ("fast",):
        held = {name: tensor.clone() for name, tensor in tensors.items()}
        target = {"kind": "tenstorrent", "grid": grid, "numerics": numerics}
        tilelang.compile(func, target=target)(*held.values(), *scalars.values())
        for name in expected:
            compare(as_array(held[name]), name, f"the virtual device ({numerics})")
    if thorough:
        _interpret(func, tensors, scalars, tuple(expected), compare)


def _wanted(values: Any) -> Array:
    return as_array(values) if isinstance(values, torch.Tensor) else np.asarray(values)


def _interpret(
    func: Any,
    tensors: Mapping[str, torch.Tensor],
    scalars: Mapping[str, int],
    results: tuple[str, ...],
    compare: Callable[[Array, str, str], None],
) -> None:
    """The meaning of the program after every pass, from where threads wait for each other as TileLang lets them."""
    arrays = {name: as_array(tensor) for name, tensor in tensors.items()}
    previous: list[Any] = []

    def meaning(stage: str, state: Any) -> None:
        known = isinstance(state, TileProgram) and stage not in ("lift_code", "check_blocks_filled")
        if known and (not previous or state.launches != previous[0].launches):
            previous[:] = [state]
            found = interpret(state, arrays, scalars)
            for name in results:
                compare(found[name], name, f"the interpreter after {stage}")

    run_passes(func, Options(grid=(2, 1)), meaning)
