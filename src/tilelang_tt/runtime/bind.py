"""A plan of the compiler, bound to one call: sizes, scalars, addresses.

plan + sources + sizes  ->  Run (what the device runs) + TensorSlots (where each tensor lies in shared memory)
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from tilelang_tt.arch import ARCHS, Arch
from tilelang_tt.diagnostics import DeviceError
from tilelang_tt.formats import INTEGER_FORMATS
from tilelang_tt.runtime.formats import page_bytes
from tilelang_tt.runtime.plan import (
    CbPlan,
    KernelPlan,
    LaunchPlan,
    Plan,
    Role,
    RuntimeArg,
    TensorPlan,
    evaluate,
)
from tilelang_tt.runtime.program import (
    ACCESSOR_DRAM,
    DRAM_BASE,
    BufferRun,
    CoreRun,
    GroupRun,
    KernelRun,
    LaunchRun,
    Memory,
    Run,
    TensorRun,
    round_up,
)
from tilelang_tt.schedule import Share

Stored = TypeVar("Stored", TensorPlan, CbPlan)

_NOC_OF_ROLE = {"reader": 0, "compute": 0, "writer": 1}


@dataclass(frozen=True)
class TensorSlot:
    """Where one tensor lies in this call."""

    plan: TensorPlan
    run: TensorRun


@dataclass(frozen=True)
class Call:
    """One call of a plan: what runs, and which tensor of the user lies where."""

    run: Run
    slots: tuple[TensorSlot, ...]


@dataclass(frozen=True)
class _Binding:
    plan: Plan  # as run; in exact numerics floats are Float32
    sources: Mapping[str, str]
    sizes: Mapping[str, int]
    scalars: Mapping[str, int | float]
    addresses: Mapping[str, int]


def as_float32(plan: Plan) -> Plan:
    """The plan for exact numerics: floats take 32 bits, integers stay. Kernels read page sizes, so they fit."""
    launches = tuple(replace(launch, cbs=tuple(map(_exact, launch.cbs))) for launch in plan.launches)
    return replace(plan, tensors=tuple(map(_exact, plan.tensors)), launches=launches)


def _exact(stored: Stored) -> Stored:
    if stored.format in INTEGER_FORMATS or getattr(stored, "by_rows", False):
        return stored
    return replace(stored, format="Float32", page_bytes=page_bytes("Float32"))


def bind(
    declared: Plan,
    sources: Mapping[str, str],
    sizes: Mapping[str, int],
    scalars: Mapping[str, int | float],
    *,
    numerics: str,
) -> Call:
    plan = as_float32(declared) if numerics == "exact" else declared
    chip = ARCHS[plan.arch]
    by_elements = plan.by_elements
    address, offset = DRAM_BASE, 0
    slots: list[TensorSlot] = []
    for tensor in plan.tensors:
        pages = evaluate(tensor.batch, sizes) * evaluate(tensor.row_tiles, sizes) * evaluate(tensor.col_tiles, sizes)
        data = pages * tensor.page_bytes
        place = TensorRun(
            tensor.name,
            "dram",
            address,
            tensor.page_bytes,
            pages,
            offset,
            offset + round_up(data),
            flat=tensor.flat or tensor.name in by_elements,
        )
        slots.append(TensorSlot(tensor, place))
        address += round_up(-(-pages // chip.dram_banks) * tensor.page_bytes)
        offset += round_up(data) + round_up(pages)
    if address > 0xFFFFFFFF:
        raise DeviceError("TT410", f"the tensors of '{plan.name}' need {address:,} B per DRAM bank; 4 GiB is the limit")
    addresses = {slot.plan.name: slot.run.address for slot in slots}
    binding = _Binding(plan, sources, sizes, scalars, addresses)
    launches = tuple(
        _launch(binding, launch, original, exact=numerics == "exact")
        for launch, original in zip(plan.launches, declared.launches, strict=True)
    )
    tensors = tuple(slot.run for slot in slots)
    return Call(Run(plan.name, chip, numerics, tensors, launches, Memory(offset), chip.grid), tuple(slots))


def _launch(binding: _Binding, launch: LaunchPlan, declared: LaunchPlan, *, exact: bool) -> LaunchRun:
    offsets = _cb_offsets(launch, ARCHS[binding.plan.arch], exact=exact)
    buffers = tuple(
        BufferRun(
            cb.id, cb.name, original.format, cb.format, cb.page_bytes, cb.pages, offset,
            cb.producer, cb.consumer, cb.unpack_to_dest,
        )
        for cb, original, offset in zip(launch.cbs, declared.cbs, offsets, strict=True)
    )  # fmt: skip
    kernels: dict[Role, KernelRun] = {
        kernel.role: KernelRun(
            kernel.role,
            kernel.source,
            binding.sources[kernel.source],
            _NOC_OF_ROLE[kernel.role],
            tuple(compile_time_words(binding.plan, kernel)),
            source_map=launch.source_map,
            watched=exact or not kernel.scalar,
        )
        for kernel in launch.kernels
    }
    semaphores = tuple((item.id, item.initial) for item in launch.semaphores)
    return LaunchRun(
        launch.name, (GroupRun(_cores(binding, launch), kernels, buffers, semaphores, launch.compute_config),)
    )


def compile_time_words(plan: Plan, kernel: KernelPlan) -> list[int]:
    words: list[int] = []
    for arg in kernel.compile_time_args:
        if arg.accessor is not None:
            words += [ACCESSOR_DRAM, plan.tensor(arg.accessor).page_bytes]
        elif arg.value is not None:
            words.append(arg.value & 0xFFFFFFFF)
    return words


def _cb_offsets(launch: LaunchPlan, chip: Arch, *, exact: bool) -> list[int]:
    """L1 offset of each CB in plan order; exact numerics may exceed L1."""
    offsets: dict[int, int] = {}
    at = chip.l1_base
    for cb in launch.cbs:
        if cb.shares is not None:
            continue
        if cb.page_bytes != page_bytes(cb.format):
            raise DeviceError(
                "TT410",
                f"CB {cb.id} '{cb.name}' has pages of {cb.page_bytes} B; "
                f"a {cb.format} tile has {page_bytes(cb.format)} B",
            )
        offsets[cb.id] = at
        at = round_up(at + cb.page_bytes * cb.pages)
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
    return [offsets[cb.id if cb.shares is None else cb.shares] for cb in launch.cbs]


def _cores(binding: _Binding, launch: LaunchPlan) -> tuple[CoreRun, ...]:
    shares = launch.shares(binding.sizes)
    longest = max(len(share.units) for share in shares)
    fixed = {
        kernel.role: [None if arg.work else _fixed_argument(binding, arg) for arg in kernel.runtime_args]
        for kernel in launch.kernels
    }
    cores = []
    for share in shares:
        args: dict[Role, tuple[int, ...]] = {
            kernel.role: tuple(
                word
                for arg, value in zip(kernel.runtime_args, fixed[kernel.role], strict=True)
                for word in ((value,) if value is not None else share_words(share, arg, longest))
            )
            for kernel in launch.kernels
        }
        cores.append(CoreRun(*share.core, args))
    return tuple(cores)


def share_words(share: Share, arg: RuntimeArg, longest: int) -> tuple[int, ...]:
    """A number of the core's share; or its units, as many words on every core."""
    if arg.work == "units":
        return (*share.units, *[0] * (longest - len(share.units)))
    assert arg.work is not None
    return (share.word(arg.work),)


def _fixed_argument(binding: _Binding, arg: RuntimeArg) -> int:
    """The 32 bits of an argument that is the same on every core."""
    if arg.address is not None:
        return binding.addresses[arg.address]
    if arg.size is not None:
        return evaluate(arg.size, binding.sizes) & 0xFFFFFFFF
    if arg.scalar is not None:
        return _scalar_bits(binding, arg.scalar)
    raise DeviceError("TT410", f"runtime argument '{arg.name}' has no value in the plan")


def _scalar_bits(binding: _Binding, name: str) -> int:
    value = binding.scalars[name]
    dtype = next(param.dtype for param in binding.plan.params if param.name == name)
    if "float" in dtype:
        (bits,) = struct.unpack("<I", struct.pack("<f", float(value)))
        return int(bits)
    return int(value) & 0xFFFFFFFF
