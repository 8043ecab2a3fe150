"""What the runner reads: the plan with every size and address filled in, as lines of words.

chip <l1 bytes> <l1 base> <CB ids> <DRAM banks> <DRAM read alignment> <NoC alignment> <zeros base>
     <Blackhole 0|1>
run <numerics: 0 fast, 1 exact, 2 chip> <threads> <L1 window bytes> <time limit, ms>
tensor <name> <DRAM address> <page bytes> <pages> <offset in shared memory> <offset of its page marks>
launch <name> <grid x> <grid y> <32-bit DST 0|1> <full sync 0|1> <fidelity 0..3>
cb <id> <name> <declared format> <stored format> <page bytes> <pages> <L1 offset>
       <producer> <consumer> <to DST 0|1>
kernel <role> <library> <cores> <arguments per core> <values ...>
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tilelang_tt.arch import ARCHS, Arch
from tilelang_tt.diagnostics import DeviceError
from tilelang_tt.runtime.formats import FORMATS, page_bytes
from tilelang_tt.runtime.kernel_build import ZEROS_BASE
from tilelang_tt.runtime.plan import (
    KernelPlan,
    LaunchPlan,
    Plan,
    Role,
    RuntimeArg,
    TensorPlan,
    evaluate,
    work_of_core,
)

_DRAM_BASE = 1 << 20  # first bank-local address given to a tensor; any multiple of the alignment would do
NUMERICS = ("fast", "exact", "chip")
_FIDELITIES = ("LoFi", "HiFi2", "HiFi3", "HiFi4")
_ALIGN = 64  # bytes; the largest alignment of any chip


@dataclass(frozen=True)
class TensorSlot:
    """Where one tensor lies in this call: on the device and in the shared memory."""

    plan: TensorPlan
    address: int  # in every DRAM bank
    pages: int
    offset: int  # in the shared memory
    marks: int  # in the shared memory: one byte per page, set when a kernel writes the page

    @property
    def bytes(self) -> int:
        return self.pages * self.plan.page_bytes


@dataclass(frozen=True)
class Call:
    """One call of a plan: sizes bound, tensors placed."""

    plan: Plan  # as run; in exact numerics every format is Float32
    declared: Plan  # as compiled
    sizes: Mapping[str, int]
    scalars: Mapping[str, int | float]
    slots: tuple[TensorSlot, ...]
    shared_bytes: int

    def address(self, tensor: str) -> int:
        return next(slot.address for slot in self.slots if slot.plan.name == tensor)


def as_float32(plan: Plan) -> Plan:
    """The plan for exact numerics: every page holds 32-bit numbers. Kernels read page sizes, so they fit."""
    name, size = "Float32", page_bytes("Float32")
    tensors = tuple(replace(tensor, format=name, page_bytes=size) for tensor in plan.tensors)
    launches = tuple(
        replace(launch, cbs=tuple(replace(cb, format=name, page_bytes=size) for cb in launch.cbs))
        for launch in plan.launches
    )
    return replace(plan, tensors=tensors, launches=launches)


def _refuse_unsupported(plan: Plan) -> None:
    for launch in plan.launches:
        if launch.semaphores:
            raise DeviceError(
                "TT402",
                f"not implemented by the virtual device: the semaphores of launch '{launch.name}'",
                help="deliver every stream to each core by its own reads",
            )


def bind(declared: Plan, sizes: Mapping[str, int], scalars: Mapping[str, int | float], *, exact: bool) -> Call:
    _refuse_unsupported(declared)
    plan = as_float32(declared) if exact else declared
    banks = ARCHS[plan.arch].dram_banks
    address, offset = _DRAM_BASE, 0
    slots: list[TensorSlot] = []
    for tensor in plan.tensors:
        pages = evaluate(tensor.batch, sizes) * evaluate(tensor.row_tiles, sizes) * evaluate(tensor.col_tiles, sizes)
        data = pages * tensor.page_bytes
        slots.append(TensorSlot(tensor, address, pages, offset, offset + _round_up(data)))
        address += _round_up(-(-pages // banks) * tensor.page_bytes)
        offset += _round_up(data) + _round_up(pages)
    if address > 0xFFFFFFFF:
        raise DeviceError("TT410", f"the tensors of '{plan.name}' need {address:,} B per DRAM bank; 4 GiB is the limit")
    return Call(plan, declared, sizes, scalars, tuple(slots), offset)


def describe(call: Call, libraries: list[dict[Role, Path]], *, numerics: str, threads: int, time_limit: float) -> str:
    chip = ARCHS[call.plan.arch]
    exact = numerics == "exact"
    offsets = [_cb_offsets(launch, chip, exact=exact) for launch in call.plan.launches]
    top = max([chip.l1_bytes, *(end for _, end in offsets)])
    window = 1 << (top - 1).bit_length()
    lines = [
        f"chip {chip.l1_bytes} {chip.l1_base} {chip.cb_count} {chip.dram_banks} {chip.dram_read_align} "
        f"{chip.noc_align} {ZEROS_BASE[chip.name]} {int(chip.name == 'blackhole')}",
        f"run {NUMERICS.index(numerics)} {threads} {window} {max(1, int(time_limit * 1000))}",
    ]
    for slot in call.slots:
        lines.append(
            f"tensor {_word(slot.plan.name)} {slot.address} {slot.plan.page_bytes} {slot.pages} "
            f"{slot.offset} {slot.marks}"
        )
    for number, launch in enumerate(call.plan.launches):
        declared = call.declared.launches[number]
        lines += _describe_launch(call, launch, declared, offsets[number][0], libraries[number])
    return "\n".join(lines) + "\n"


def _describe_launch(
    call: Call, launch: LaunchPlan, declared: LaunchPlan, offsets: list[int], libraries: dict[Role, Path]
) -> list[str]:
    config = launch.compute_config
    fidelity = _FIDELITIES.index(config.math_fidelity)
    lines = [
        f"launch {_word(launch.name)} {launch.grid[0]} {launch.grid[1]} "
        f"{int(config.fp32_dest_acc_en)} {int(config.dst_full_sync_en)} {fidelity}"
    ]
    for cb, original, offset in zip(launch.cbs, declared.cbs, offsets, strict=True):
        lines.append(
            f"cb {cb.id} {_word(cb.name)} {FORMATS[original.format].number} {FORMATS[cb.format].number} "
            f"{cb.page_bytes} {cb.pages} {offset} {cb.producer} {cb.consumer} {int(cb.unpack_to_dest)}"
        )
    for kernel in launch.kernels:
        values = _runtime_arguments(call, launch, kernel)
        head = f"kernel {kernel.role} {libraries[kernel.role]} {launch.cores} {len(kernel.runtime_args)}"
        lines.append(" ".join([head, *map(str, values)]))
    return lines


def _cb_offsets(launch: LaunchPlan, chip: Arch, *, exact: bool) -> tuple[list[int], int]:
    """L1 offset of each CB in plan order, and the end of the last; exact numerics may exceed L1."""
    offsets: list[int] = []
    at = chip.l1_base
    for cb in launch.cbs:
        if cb.page_bytes != page_bytes(cb.format):
            raise DeviceError(
                "TT410",
                f"CB {cb.id} '{cb.name}' has pages of {cb.page_bytes} B; "
                f"a {cb.format} tile has {page_bytes(cb.format)} B",
            )
        offsets.append(at)
        at = _round_up(at + cb.page_bytes * cb.pages)
    if at > chip.l1_bytes and not exact:
        budget = tuple(
            f"CB {cb.id} '{cb.name}': {cb.pages} x {cb.page_bytes} B = {cb.pages * cb.page_bytes:,} B"
            for cb in launch.cbs
        )
        raise DeviceError(
            "TT410",
            f"the circular buffers of launch '{launch.name}' need {at - chip.l1_base:,} B of L1 per core; "
            f"{chip.title} has {chip.l1_usable:,} B",
            notes=budget,
        )
    return offsets, at


def _runtime_arguments(call: Call, launch: LaunchPlan, kernel: KernelPlan) -> list[int]:
    units = evaluate(launch.units, call.sizes)
    values: list[int] = []
    fixed = [None if arg.work else _fixed_argument(call, arg) for arg in kernel.runtime_args]
    for core in range(launch.cores):
        start, count = work_of_core(units, launch.cores, core)
        for arg, value in zip(kernel.runtime_args, fixed, strict=True):
            values.append(value if value is not None else start if arg.work == "start" else count)
    return values


def _fixed_argument(call: Call, arg: RuntimeArg) -> int:
    """The 32 bits of an argument that is the same on every core."""
    if arg.address is not None:
        return call.address(arg.address)
    if arg.size is not None:
        return evaluate(arg.size, call.sizes) & 0xFFFFFFFF
    if arg.scalar is not None:
        return _scalar_bits(call, arg.scalar)
    raise DeviceError("TT410", f"runtime argument '{arg.name}' has no value in the plan")


def _scalar_bits(call: Call, name: str) -> int:
    value = call.scalars[name]
    dtype = next(param.dtype for param in call.plan.params if param.name == name)
    if "float" in dtype:
        (bits,) = struct.unpack("<I", struct.pack("<f", float(value)))
        return int(bits)
    return int(value) & 0xFFFFFFFF


def _round_up(size: int) -> int:
    return -(-size // _ALIGN) * _ALIGN


def _word(name: str) -> str:
    """A name as one word of the description."""
    return re.sub(r"[^\w.\-]", "_", name)[:60] or "_"
