"""AdamW of tt-train: parameters and both moving averages are updated in place.

Its sources are in no wheel: `TILELANG_TT_VENDOR_SOURCES` names a checkout of tt-metal 0.77. Host side of
`tt-train/sources/ttml/metal/optimizers/adamw/device/adamw_program_factory.cpp`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import torch
from tests.vendor.builder import Outcome, Program, accessor, address, float_bits

from tilelang_tt.device import (
    ComputeConfigDescriptor,
    CoreCoord,
    DataType,
    Device,
    MathFidelity,
    ReaderConfigDescriptor,
    Tensor,
    UnpackToDestMode,
    WriterConfigDescriptor,
    split_work_to_cores,
)

VARIABLE = "TILELANG_TT_VENDOR_SOURCES"
KERNELS = "tt-train/sources/ttml/metal/optimizers/adamw/device/kernels"


@dataclass(frozen=True)
class AdamW:
    shape: tuple[int, int] = (128, 128)
    rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    decay: float = 1e-2
    step: int = 3
    wide: bool = False  # parameters and averages in float32
    largest: bool = False  # AMSGrad

    @property
    def stored(self) -> DataType:
        return DataType.FLOAT32 if self.wide else DataType.BFLOAT16


def checkout() -> Path | None:
    """The sources that hold tt-train, if the environment names them."""
    given = os.environ.get(VARIABLE)
    return Path(given) if given and (Path(given) / KERNELS).is_dir() else None


def run(device: Device, root: Path, case: AdamW) -> Outcome:
    sources = checkout()
    assert sources is not None
    draw = torch.Generator().manual_seed(17)
    kind = torch.float32 if case.wide else torch.bfloat16
    weights = torch.randn(case.shape, generator=draw).to(kind)
    gradient = torch.randn(case.shape, generator=draw).bfloat16()
    average = (torch.randn(case.shape, generator=draw) * 0.1).to(kind)
    square = (torch.rand(case.shape, generator=draw) * 0.1 + 0.01).to(kind)
    largest = (torch.rand(case.shape, generator=draw) * 0.2 + 0.01).to(kind) if case.largest else None
    tensors = [
        device.from_torch(weights, name="weights"),
        device.from_torch(gradient, name="gradient"),
        device.from_torch(average, name="average"),
        device.from_torch(square, name="square"),
    ]
    most = device.from_torch(largest, name="largest") if largest is not None else None
    _launch(device, root, sources, case, tensors, most)
    got = torch.stack([tensor.to_torch().double() for tensor in (tensors[0], tensors[2], tensors[3])])
    wanted = _reference(case, weights, gradient, average, square, largest)
    # Each result is rounded once to its format; on the way it is float32 in DST, sqrt and 1/x to 2^-10 of themselves.
    change = (wanted[0] - weights.double()).abs()
    rounding = wanted.abs() * 2.0 ** (-20 if case.wide else -8)
    bound = rounding + torch.stack([change * 2.0**-8, wanted[1].abs() * 2.0**-10, wanted[2].abs() * 2.0**-10]) + 1e-7
    return Outcome(got, wanted, bound)


def _reference(
    case: AdamW,
    weights: torch.Tensor,
    gradient: torch.Tensor,
    average: torch.Tensor,
    square: torch.Tensor,
    largest: torch.Tensor | None,
) -> torch.Tensor:
    """Weights and both averages after the step, in float64."""
    g = gradient.double()
    first = case.beta1 * average.double() + (1 - case.beta1) * g
    second = case.beta2 * square.double() + (1 - case.beta2) * g.square()
    scale = second if largest is None else torch.maximum(second, largest.double())
    root = (scale / (1 - case.beta2**case.step)).sqrt() + case.epsilon
    decayed = weights.double() * (1 - case.rate * case.decay)
    return torch.stack([decayed - case.rate / (1 - case.beta1**case.step) * first / root, first, second])


def _launch(
    device: Device, root: Path, sources: Path, case: AdamW, tensors: list[Tensor], largest: Tensor | None
) -> None:
    tiles = case.shape[0] * case.shape[1] // 1024
    split = split_work_to_cores(CoreCoord(2, 2), tiles)
    program = Program(device, root, "adamw", split.all_cores)
    block = min(2, split.units_per_core_group_1)
    for number in (0, 2, 3, 16, 17, 18, *((4, 19) if largest else ())):
        program.buffer(number, block, case.stored)
    program.buffer(1, block, DataType.BFLOAT16)
    for number in (24, 25, *((26,) if largest else ())):
        program.buffer(number, 2 * block, DataType.FLOAT32)
    defines: dict[str, str | int] = {"AMSGRAD": int(largest is not None), "STOCH_ROUND": 0}
    weights, gradient, average, square = tensors
    read = [weights, gradient, average, square, largest]
    written = [weights, average, square, largest]
    scalars = [
        case.beta1, case.beta2, case.epsilon, case.rate / (1 - case.beta1**case.step),
        1 / (1 - case.beta2**case.step) ** 0.5, 1 - case.beta1, 1 - case.beta2, 1 - case.rate * case.decay,
    ]  # fmt: skip
    share = split.units_per_core_group_1
    places = {core: [share, share * i] for i, core in enumerate(split.all_cores)}
    for name, config, used in (
        ("reader", ReaderConfigDescriptor(), read),
        ("writer", WriterConfigDescriptor(), written),
    ):
        args = [block, *(word for tensor in used for word in accessor(tensor))]
        runtime = {core: [*(address(tensor) for tensor in used), *place] for core, place in places.items()}
        path = sources / KERNELS / "dataflow" / f"{name}_adamw.cpp"
        program.kernel(str(path), config, args, runtime, defines=defines, includes=[sources])
    words = [*map(float_bits, scalars), 0]
    wide = (24, 25, 26, *((0, 2, 3, 4) if case.wide else ()))
    modes = dict.fromkeys(wide, UnpackToDestMode.UnpackToDestFp32)
    compute = ComputeConfigDescriptor(MathFidelity.HiFi4, True, unpack_to_dest_mode=modes)
    path = sources / KERNELS / "compute" / "adamw_kernel.cpp"
    runtime = dict.fromkeys(places, words)
    program.kernel(str(path), compute, [share, block], runtime, defines=defines, includes=[sources])
    program.run()
