"""The recorded cases: what was run, with which bytes; and how to run one on the virtual device."""

from __future__ import annotations

import json
import lzma
import re
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
    CoreRange,
    DataType,
    Device,
    KernelDescriptor,
    Layout,
    MathFidelity,
    ProgramDescriptor,
    ReaderConfigDescriptor,
    RunReport,
    SemaphoreDescriptor,
    Tensor,
    TensorAccessorArgs,
    UnpackToDestMode,
    WriterConfigDescriptor,
    open_device,
)
from tilelang_tt.runtime.formats import FORMATS, decode, encode
from tilelang_tt.runtime.plan import TensorPlan

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
_BLOCKS = {"bfp8_b": 7, "bfp4_b": 3}  # magnitude bits
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
    if form in _BLOCKS:
        distance = _block_units(ours, theirs, _BLOCKS[form])
    else:
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


def _block_units(ours: Bytes, theirs: Bytes, magnitude_bits: int) -> Units:
    """Distances of block floats in units of the recorded block."""

    def parts(pages: Bytes) -> tuple[NDArray[Any], NDArray[Any]]:
        datums = pages[:, 64:]
        if magnitude_bits == 3:
            datums = np.stack((datums & 15, datums >> 4), 2).reshape(len(pages), 1024)
        blocks = datums.reshape(-1, 64, 16).astype(np.float64)
        limit = float(1 << magnitude_bits)
        return np.where(blocks >= limit, limit - blocks, blocks), pages[:, :64, None].astype(np.int64)

    (a, a_exponent), (b, b_exponent) = parts(ours), parts(theirs)
    rescaled = np.ldexp(a, np.clip(a_exponent - b_exponent, -60, 40))
    return np.ceil(np.abs(rescaled - b)).astype(np.int64).reshape(len(ours), -1)


def run(case: Case, numerics: str) -> tuple[Bytes, RunReport]:
    """The case's kernels, unchanged, with its arguments; the bytes of its output tensor."""
    inputs = {item["name"]: case.tensor(item["name"]) for item in case.facts["inputs"]}
    return run_with(case, numerics, inputs, case.expected.shape)


def run_with(
    case: Case, numerics: str, inputs: Mapping[str, Bytes], out_shape: tuple[int, ...]
) -> tuple[Bytes, RunReport]:
    """The same with other bytes."""
    facts = [*case.facts["inputs"], {**case.facts["output"], "name": "out"}]
    forms = {item["name"]: item["format"] for item in facts}
    pages = {**inputs, "out": np.full(out_shape, 0xCC, np.uint8)}
    grid = (case.facts.get("cores", 1), 1)
    with open_device(_ARCHS[case.arch], numerics=numerics, grid=grid, time_limit=60) as device:
        wide = {name for name in pages if numerics == "exact" and _holds_floats_in_tiles(case, name)}
        tensors = {
            name: _tiles(device, data, forms[name]) if name in wide else _raw(device, data)
            for name, data in pages.items()
        }
        report = device.run(_program(device, case, tensors))
        out = tensors["out"]
        return _tile_bytes(out, forms["out"]) if "out" in wide else out.to_numpy(), report


def _raw(device: Device, pages: Bytes) -> Tensor:
    """Pages of bytes, whatever numbers they hold: one row, one page."""
    return device.from_torch(torch.from_numpy(pages.copy()), DataType.UINT8, Layout.ROW_MAJOR)


# ---- `exact` numerics: tensors of tiles hold 32-bit numbers, so their values go in and come out ------

_ROWS = {("compute_tilize.cpp", "in0"), ("compute_untilize.cpp", "out")}  # kernel, tensor whose pages are rows
_ROW_BUFFERS = {("compute_tilize.cpp", 0), ("compute_untilize.cpp", 16)}


def _holds_floats_in_tiles(case: Case, tensor: str) -> bool:
    facts = [*case.facts["inputs"], {**case.facts["output"], "name": "out"}]
    form = next(item["format"] for item in facts if item["name"] == tensor)
    kernel = case.facts["kernels"].get("compute")
    return kernel is not None and (kernel, tensor) not in _ROWS and form in ("bf16", "fp32", *_BLOCKS)


def _plan(form: str, pages: int) -> TensorPlan:
    name = _FORMATS[form]
    return TensorPlan("tiles", 0, name, FORMATS[name].page_bytes, 0, 1, pages, 1, 1)


def _tiles(device: Device, pages: Bytes, form: str) -> Tensor:
    """One tile under the other."""
    values = torch.empty(32 * len(pages), 32, dtype=FORMATS[_FORMATS[form]].element or torch.float32)
    decode(torch.from_numpy(pages.copy()), _plan(form, len(pages)), values)
    return device.from_torch(values, DataType(_FORMATS[form]))


def _tile_bytes(tensor: Tensor, form: str) -> Bytes:
    pages = torch.empty(tensor.num_pages, FORMATS[_FORMATS[form]].page_bytes, dtype=torch.uint8)
    encode(tensor.to_torch(), _plan(form, tensor.num_pages), pages)
    return pages.numpy()


# ---- the program of a case ---------------------------------------------------------------------------


def _program(device: Device, case: Case, tensors: Mapping[str, Tensor]) -> ProgramDescriptor:
    facts = case.facts
    cores = CoreRange((0, 0), (facts.get("cores", 1) - 1, 0))
    kernel = facts["kernels"].get("compute")
    kernels = [
        KernelDescriptor(
            FOLDER / "kernels" / facts["kernels"][role],
            cores,
            _config(role, facts),
            compile_time_args=_compile_time_args(role, case, tensors),
            defines=tuple(facts["defines"][role].items()),
            runtime_args=_runtime_args(device, facts["runtime_args"][role], tensors),
        )
        for role in facts["kernels"]
    ]
    cbs = [
        CBDescriptor(
            item["page_size"] * item["pages"],
            cores,
            [
                CBFormatDescriptor(
                    item["index"],
                    _FORMATS[item["format"]],
                    item["page_size"],
                    Layout.ROW_MAJOR if kernel is None or (kernel, item["index"]) in _ROW_BUFFERS else Layout.TILE,
                )
            ],
        )
        for item in facts["cbs"]
    ]
    semaphores = [SemaphoreDescriptor(item["id"], cores, item["initial"]) for item in facts.get("semaphores", ())]
    return ProgramDescriptor(kernels, cbs=cbs, semaphores=semaphores, name=case.name)


def _config(role: str, facts: dict[str, Any]) -> Any:
    if role == "compute":
        config = facts["compute_config"]
        return ComputeConfigDescriptor(
            MathFidelity(config["math_fidelity"]),
            config["fp32_dest_acc_en"],
            config["dst_full_sync_en"],
            config["math_approx_mode"],
            dict.fromkeys(config["unpack_to_dest_fp32"], UnpackToDestMode.UnpackToDestFp32),
        )
    return ReaderConfigDescriptor() if role == "reader" else WriterConfigDescriptor()


def _compile_time_args(role: str, case: Case, tensors: Mapping[str, Tensor]) -> list[int]:
    """As recorded; pages that have grown in `exact` numerics are described anew."""
    recorded = list(case.facts["compile_time_args"][role])
    if role == "compute" or all(tensor.layout is Layout.ROW_MAJOR for tensor in tensors.values()):
        return recorded
    names = ["out"] if role == "writer" else [item["name"] for item in case.facts["inputs"]]
    words = [word for name in names for word in TensorAccessorArgs(tensors[name]).get_compile_time_args()]
    assert len(words) == len(recorded)
    return words


def _runtime_args(
    device: Device, recorded: list[Any] | dict[str, list[Any]], tensors: Mapping[str, Tensor]
) -> list[tuple[CoreCoord, list[int]]]:
    """By core; `$name` is the address of a tensor, `$noc_x(1,0)` a coordinate of a core."""

    def value(item: Any) -> int:
        if isinstance(item, int):
            return item
        coordinate = re.fullmatch(r"\$noc_([xy])\((\d+),(\d+)\)", item)
        if coordinate is None:
            return tensors[item.removeprefix("$")].buffer_address()
        place = device.worker_core_from_logical_core(CoreCoord(int(coordinate[2]), int(coordinate[3])))
        return int(getattr(place, coordinate[1]))

    by_core = recorded if isinstance(recorded, dict) else {"core(0,0)": recorded}
    return [
        (CoreCoord(*map(int, re.findall(r"\d+", core))), [value(item) for item in items])
        for core, items in by_core.items()
    ]
