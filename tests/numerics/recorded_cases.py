"""The recorded cases: what was run, with which bytes; and how to run one on the virtual device."""

from __future__ import annotations

import json
import lzma
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tilelang_tt.device import (
    CBDescriptor,
    CBFormatDescriptor,
    ComputeConfigDescriptor,
    CoreCoord,
    DataType,
    Device,
    KernelDescriptor,
    Layout,
    MathFidelity,
    ProgramDescriptor,
    ReaderConfigDescriptor,
    RunReport,
    Tensor,
    UnpackToDestMode,
    WriterConfigDescriptor,
    open_device,
)

FOLDER = Path(__file__).parent / "recorded"
Bytes = NDArray[np.uint8]
Units = NDArray[np.int64]

_FORMATS = {
    "bf16": "Float16_b",
    "fp32": "Float32",
    "bfp8_b": "Bfp8_b",
    "bfp4_b": "Bfp4_b",
    "int32": "Int32",
    "uint32": "UInt32",
    "uint16": "UInt16",
}
_ARCHS = {"wormhole": "wormhole_b0", "blackhole": "blackhole"}
_ELEMENT = {"bf16": np.uint16, "uint16": np.uint16, "bfp8_b": np.uint8, "bfp4_b": np.uint8}  # others: 32 bits


@dataclass(frozen=True)
class Case:
    facts: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.facts["name"])

    @property
    def arch(self) -> str:
        return str(self.facts["arch"])

    @property
    def family(self) -> str:
        return str(self.facts["family"])

    @property
    def same_on_both(self) -> bool:
        return bool(self.facts["same_on_both"])

    def tensor(self, name: str) -> Bytes:
        facts = [*self.facts["inputs"], {**self.facts["output"], "name": "out"}]
        offset, pages, size = next(item["bytes"] for item in facts if item["name"] == name)
        return _all_bytes()[offset : offset + pages * size].reshape(pages, size)

    @property
    def expected(self) -> Bytes:
        return self.tensor("out")


@cache
def _all_bytes() -> Bytes:
    return np.frombuffer(lzma.decompress((FOLDER / "bytes.xz").read_bytes()), np.uint8)


@cache
def cases() -> tuple[Case, ...]:
    return tuple(Case(json.loads(line)) for line in (FOLDER / "cases.jsonl").read_text().splitlines())


@dataclass(frozen=True)
class Comparison:
    """Elements of one result against the recorded ones."""

    case: Case
    equal: int
    elements: int
    worst: tuple[int, ...]  # per page: the largest distance in units of the last place
    beyond: tuple[int, ...]  # per page: elements more than one unit away
    report: RunReport

    @property
    def exact(self) -> bool:
        return self.equal == self.elements

    def __str__(self) -> str:
        unequal = f"{self.elements - self.equal} of {self.elements} differ"
        return f"{self.case.arch} {self.case.name}: {unequal}, units {self.worst}, beyond 1: {self.beyond}"


def compare(case: Case, numerics: str = "chip") -> Comparison:
    got, report = run(case, numerics)
    form = case.facts["output"]["format"]
    element = _ELEMENT.get(form, np.uint32)
    ours, theirs = (np.ascontiguousarray(item).view(element) for item in (got, case.expected))
    distance = np.abs(_places(ours, form) - _places(theirs, form))
    worst = tuple(int(page.max()) for page in distance)
    beyond = tuple(int((page > 1).sum()) for page in distance)
    return Comparison(case, int((ours == theirs).sum()), ours.size, worst, beyond, report)


def _places(bits: NDArray[Any], form: str) -> Units:
    """Numbers counted in units of their last place, so that neighbours differ by one and -0 equals +0."""
    wide = bits.astype(np.int64)
    if form not in ("bf16", "fp32"):
        return wide
    sign = 1 << (8 * bits.itemsize - 1)
    return np.where(wide & sign, -(wide & (sign - 1)), wide)


def run(case: Case, numerics: str) -> tuple[Bytes, RunReport]:
    """The case's kernels, unchanged, with its arguments; the bytes of its output tensor."""
    inputs = {item["name"]: case.tensor(item["name"]) for item in case.facts["inputs"]}
    return run_with(case, numerics, inputs, case.expected.shape)


def run_with(
    case: Case, numerics: str, inputs: Mapping[str, Bytes], out_shape: tuple[int, ...]
) -> tuple[Bytes, RunReport]:
    """The same with other bytes."""
    with open_device(_ARCHS[case.arch], numerics=numerics, grid=(1, 1), time_limit=60) as device:
        tensors = {name: _raw(device, pages) for name, pages in inputs.items()}
        out = _raw(device, np.full(out_shape, 0xCC, np.uint8))
        report = device.run(_program(case, {**tensors, "out": out}))
        return out.to_numpy(), report


def _raw(device: Device, pages: Bytes) -> Tensor:
    """Pages of bytes, whatever numbers they hold: one row, one page."""
    return device.from_torch(torch.from_numpy(pages.copy()), DataType.UINT8, Layout.ROW_MAJOR)


def _program(case: Case, tensors: dict[str, Tensor]) -> ProgramDescriptor:
    facts, core = case.facts, CoreCoord(0, 0)
    addresses = {f"${name}": tensor.buffer_address() for name, tensor in tensors.items()}
    config = facts["compute_config"]
    compute = ComputeConfigDescriptor(
        MathFidelity(config["math_fidelity"]),
        config["fp32_dest_acc_en"],
        config["dst_full_sync_en"],
        config["math_approx_mode"],
        dict.fromkeys(config["unpack_to_dest_fp32"], UnpackToDestMode.UnpackToDestFp32),
    )
    configs: dict[str, ReaderConfigDescriptor | ComputeConfigDescriptor | WriterConfigDescriptor] = {
        "reader": ReaderConfigDescriptor(),
        "compute": compute,
        "writer": WriterConfigDescriptor(),
    }
    kernels = [
        KernelDescriptor(
            FOLDER / "kernels" / facts["kernels"][role],
            core,
            configs[role],
            compile_time_args=facts["compile_time_args"][role],
            defines=tuple(facts["defines"][role].items()),
            runtime_args=[(core, [addresses.get(item, item) for item in facts["runtime_args"][role]])],
        )
        for role in ("reader", "compute", "writer")
    ]
    cbs = [
        CBDescriptor(
            item["page_size"] * item["pages"],
            core,
            [CBFormatDescriptor(item["index"], _FORMATS[item["format"]], item["page_size"])],
        )
        for item in facts["cbs"]
    ]
    return ProgramDescriptor(kernels, cbs=cbs, name=case.name)
