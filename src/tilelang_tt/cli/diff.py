"""`tilelang-tt diff`: one kernel, the same inputs, every way to run it; where do the answers part?

    interpreter  --  what the kernel means               }  within float32's rounding: else the compiler is wrong
    exact        --  the generated kernels, no rounding  }
    chip         --  the same, with the chip's numbers   }  within a tolerance: else the chip's numbers do not suffice
    ttnn         --  the same, on a card or simulator    }  bit by bit: else device and model differ

The first difference is shown with tensor, tile, element, both values with their bits, and the line that wrote it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from tilelang_tt.arch import TILE
from tilelang_tt.cli.inputs import Inputs, bits, random_inputs, written
from tilelang_tt.cli.usage import CHIP_TOLERANCE
from tilelang_tt.compiled import Compiled
from tilelang_tt.diagnostics import EnvironmentProblem
from tilelang_tt.frontend.lift import lift
from tilelang_tt.ir.interpret import Written, interpret
from tilelang_tt.options import Options
from tilelang_tt.runtime import ttnn_launch, virtual
from tilelang_tt.runtime.plan import Plan, TensorPlan
from tilelang_tt.runtime.ttnn_find import cards, find_python, simulator

# Errors are measured against max(|element|, root mean square of its tensor), which cancellation does not inflate.
EXACT_TOLERANCE = 2.0**-14  # float32 sums in another order, and the device's vector functions in float32

Results = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Difference:
    """Where two runs part first: by tensor in the order of writing, by tile, by element of the tile."""

    tensor: str
    count: int  # differing elements of that tensor
    elements: int
    tile: tuple[int, int, int]  # batch, row, column
    element: tuple[int, ...]
    values: tuple[str, str]
    writer: str


@dataclass(frozen=True)
class Comparison:
    left: str
    right: str
    tolerance: float | None  # None: bit by bit
    worst: float  # largest error, relative as described above
    difference: Difference | None


@dataclass(frozen=True)
class Report:
    comparisons: tuple[Comparison, ...]
    ttnn: str  # what ran there, or why nothing did
    ttnn_ran: bool

    @property
    def equal(self) -> bool:
        return all(item.difference is None for item in self.comparisons)


def diff(
    func: object,
    compiled: Compiled,
    options: Options,
    sizes: Mapping[str, int] | None = None,
    *,
    seed: int = 0,
    tolerance: float = CHIP_TOLERANCE,
) -> Report:
    """Run `func`, a TileLang function, and `compiled`, its compilation, and compare."""
    plan = compiled.plan
    inputs = random_inputs(plan, sizes, seed)
    stores: list[Written] = []
    meant = _interpreted(func, options, plan, inputs, stores)
    exact, chip = (_virtual(compiled, inputs, numerics) for numerics in ("exact", "chip"))
    order = _in_order_of_writing(plan, stores)
    runs = [
        _compare(("interpreter", meant), ("exact", exact), plan, order, stores, EXACT_TOLERANCE),
        _compare(("exact", exact), ("chip", chip), plan, order, stores, tolerance),
    ]
    reason = _no_ttnn()
    if reason is None:
        real = inputs.copy()
        ttnn_launch.launch(plan, compiled.files, real.tensors, real.sizes, real.scalars)
        runs.append(_compare(("chip", chip), ("ttnn", real.tensors), plan, order, stores, None))
    ran = f"on the simulator {simulator()}" if simulator() else "on a card"
    return Report(tuple(runs), reason or ran, reason is None)


def text(report: Report) -> str:
    lines = []
    for item in report.comparisons:
        pair = f"{item.left} / {item.right}"
        rule = "bit by bit" if item.tolerance is None else f"within {item.tolerance:.1e}"
        verdict = "equal" if item.difference is None else "DIFFERENT"
        lines.append(f"{pair:<20} {verdict:<9} {rule}; largest error {item.worst:.1e}")
        if item.difference is not None:
            lines += [f"  {line}" for line in _described(item.difference, item)]
    lines.append(f"{'ttnn':<20} {report.ttnn if report.ttnn_ran else f'NOT RUN: {report.ttnn}'}")
    return "\n".join(lines)


def _described(found: Difference, item: Comparison) -> list[str]:
    batch, row, column = found.tile
    width = max(len(item.left), len(item.right))
    index = ", ".join(map(str, found.element))
    return [
        f"{found.count:,} of {found.elements:,} elements of '{found.tensor}'",
        f"first: tile row {row}, column {column}" + (f" of batch {batch}" if batch else "") + f", element [{index}]",
        *(f"  {name:<{width}}  {value}" for name, value in zip((item.left, item.right), found.values, strict=True)),
        f"written by {found.writer}",
    ]


def _interpreted(func: object, options: Options, plan: Plan, inputs: Inputs, stores: list[Written]) -> Results:
    """What the kernel means, in float32; elements that nothing writes stay as they were."""
    arrays = {name: tensor.to(torch.float32).numpy() for name, tensor in inputs.tensors.items()}
    scalars = {**inputs.sizes, **{name: int(value) for name, value in inputs.scalars.items()}}
    values = interpret(lift(func, options), arrays, scalars, exact=True, stores=stores)
    return {name: torch.from_numpy(values[name]) for name in written(plan)}


def _virtual(compiled: Compiled, inputs: Inputs, numerics: str) -> Results:
    """The virtual device's answer; exact numerics keep it in float32, so that no rounding hides an error."""
    mine = inputs.widened() if numerics == "exact" else inputs.copy()
    virtual.launch(compiled.plan, compiled.files, mine.tensors, mine.sizes, mine.scalars, numerics=numerics)
    return mine.tensors


def _no_ttnn() -> str | None:
    """Why ttnn cannot run; None when it can be tried."""
    if not cards() and not simulator():
        return "no Tenstorrent card and no simulator (TT_METAL_SIMULATOR)"
    try:
        find_python()
    except EnvironmentProblem as problem:
        return problem.message
    return None


def _in_order_of_writing(plan: Plan, stores: list[Written]) -> list[str]:
    first = dict.fromkeys(item.tensor.name for item in stores)
    return [*first, *(name for name in written(plan) if name not in first)]


def _compare(
    left: tuple[str, Results],
    right: tuple[str, Results],
    plan: Plan,
    order: list[str],
    stores: list[Written],
    tolerance: float | None,
) -> Comparison:
    worst, found = 0.0, None
    for name in order:
        a, b = left[1][name], right[1][name]
        error = _error(a, b)
        worst = max(worst, float(error.max()) if error.numel() else 0.0)
        wrong = bits(a) != bits(b) if tolerance is None else ~(error <= tolerance)
        if found is None and bool(wrong.any()):
            found = _difference(plan.tensor(name), a, b, wrong, stores)
    return Comparison(left[0], right[0], tolerance, worst, found)


def _error(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """|a - b| by max(|a|, rms of a); 0 where both are the same, infinity or NaN included."""
    x, y = a.double(), b.double()
    finite = x[torch.isfinite(x)]
    scale = finite.square().mean().sqrt() if finite.numel() else x.new_ones(())
    error = (x - y).abs() / torch.clamp(x.abs(), min=max(float(scale), torch.finfo(torch.float64).tiny))
    same = (x == y) | (x.isnan() & y.isnan())
    return torch.where(same, 0.0, torch.nan_to_num(error, nan=torch.inf))


def _difference(
    tensor: TensorPlan, a: torch.Tensor, b: torch.Tensor, wrong: torch.Tensor, stores: list[Written]
) -> Difference:
    places = [tuple(int(index) for index in place) for place in wrong.nonzero()]
    element = min(places, key=lambda place: (_tile(tensor, place, a.shape), place))
    return Difference(
        tensor=tensor.name,
        count=len(places),
        elements=wrong.numel(),
        tile=_tile(tensor, element, a.shape),
        element=element,
        values=(_value(a[element]), _value(b[element])),
        writer=_writer(tensor.name, element, stores),
    )


def _tile(tensor: TensorPlan, element: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, int, int]:
    batch = 0
    for fold in tensor.fold or ():
        index, axis = element[fold.axis], fold.axis
        element = (*element[:axis], index // fold.width, index % fold.width, *element[axis + 1 :])
        shape = (*shape[:axis], -(-shape[axis] // fold.width), fold.width, *shape[axis + 1 :])
    for axis, index in enumerate(element):
        if axis not in (tensor.row_axis, tensor.col_axis):
            batch = batch * shape[axis] + index
    row = 0 if tensor.row_axis is None else element[tensor.row_axis] // TILE
    col = 0 if tensor.col_axis is None else element[tensor.col_axis] // TILE
    return batch, row, col


def _value(element: torch.Tensor) -> str:
    width = element.element_size() * 8
    pattern = int(bits(element.reshape(1))[0]) & ((1 << width) - 1)
    return f"{element.item():<24.9g} 0x{pattern:0{width // 4}x}"


def _writer(name: str, element: tuple[int, ...], stores: list[Written]) -> str:
    """The last store of the kernel that covers the element, and the unit it belongs to."""
    for item in reversed(stores):
        inside = zip(element, item.where, strict=True)
        if item.tensor.name == name and all(part.start <= index < part.stop for index, part in inside):
            place = item.stmt.location
            unit = ", ".join(f"{var}={index}" for var, index in item.unit.items())
            return (f"{place}: {place.text}" if place else "a line that is not known") + f"   (unit {unit})"
    return "no line: the kernel as interpreted leaves this element alone"
