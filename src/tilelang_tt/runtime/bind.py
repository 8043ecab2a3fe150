"""A plan of the compiler, bound to one call: sizes, scalars, addresses.

plan + sources + sizes  ->  Run (what the device runs) + TensorSlots (where each tensor lies in shared memory)
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import torch

from tilelang_tt.arch import ARCHS, Arch
from tilelang_tt.core_ranges import Core
from tilelang_tt.deliveries import AnyWord, all_words, word_for
from tilelang_tt.diagnostics import DeviceError
from tilelang_tt.formats import INTEGER_FORMATS
from tilelang_tt.runtime.formats import page_bytes
from tilelang_tt.runtime.line_map import LINES_FILE, lines_from_json
from tilelang_tt.runtime.placing import Placer
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
    BufferRun,
    CoreRun,
    GroupRun,
    KernelRun,
    L1Address,
    LaunchRun,
    Run,
    TensorRun,
    accessor_words,
    round_up,
)
from tilelang_tt.runtime.settle import settled
from tilelang_tt.runtime.unit_lists import list_name, list_tensor, list_words
from tilelang_tt.schedule import Share
from tilelang_tt.shards import Shards

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
    written_in_place: frozenset[str] = frozenset()  # tensors whose shards compute packs into
    notes: tuple[str, ...] = ()  # of what was settled for this call
    lists: tuple[tuple[TensorRun, torch.Tensor], ...] = ()  # long lists of units: where they lie, and their bytes


@dataclass(frozen=True)
class _Binding:
    plan: Plan  # as run; in exact numerics floats are Float32
    sources: Mapping[str, str]
    sizes: Mapping[str, int]
    scalars: Mapping[str, int | float]
    addresses: Mapping[str, int]
    placer: Placer


def as_float32(plan: Plan) -> Plan:
    """The plan for exact numerics: floats take 32 bits, integers stay. Kernels read page sizes, so they fit."""
    launches = tuple(replace(launch, cbs=tuple(map(_exact, launch.cbs))) for launch in plan.launches)
    return replace(plan, tensors=tuple(map(_exact, plan.tensors)), launches=launches)


def _exact(stored: Stored) -> Stored:
    if stored.format in INTEGER_FORMATS:
        return stored
    part = stored.page_bytes / page_bytes(stored.format)  # a page may be half a tile, or a row
    return replace(stored, format="Float32", page_bytes=int(page_bytes("Float32") * part))


def bind(
    declared: Plan,
    sources: Mapping[str, str],
    sizes: Mapping[str, int],
    scalars: Mapping[str, int | float],
    *,
    numerics: str,
) -> Call:
    found = settled(declared, sizes)
    declared = found.plan
    plan = as_float32(declared) if numerics == "exact" else declared
    chip = ARCHS[plan.arch]
    by_elements = plan.by_elements
    placer = Placer(chip, plan.name, numerics == "exact")
    slots: list[TensorSlot] = []
    for tensor in plan.tensors:
        pages = evaluate(tensor.batch, sizes) * evaluate(tensor.row_tiles, sizes) * evaluate(tensor.col_tiles, sizes)
        parts_of_rows = tensor.by_rows and plan.access(tensor) == "read_write"  # cores may update parts of one row
        flat = tensor.flat or tensor.name in by_elements or parts_of_rows
        slots.append(TensorSlot(tensor, placer.place(tensor, pages, sizes, flat=flat)))
    lists = _lists(plan, placer)
    addresses = {
        tensor.name: _address(tensor) for tensor in (*(slot.run for slot in slots), *(one for one, _ in lists))
    }
    binding = _Binding(plan, sources, sizes, scalars, addresses, placer)
    launches = tuple(
        _launch(binding, launch, original, exact=numerics == "exact")
        for launch, original in zip(plan.launches, declared.launches, strict=True)
    )
    tensors = (*(slot.run for slot in slots), *(one for one, _ in lists))
    run = Run(plan.name, chip, numerics, tensors, launches, placer.memory(), chip.grid)
    return Call(run, tuple(slots), _written_in_place(plan), found.notes, lists)


def _lists(plan: Plan, placer: Placer) -> tuple[tuple[TensorRun, torch.Tensor], ...]:
    found = []
    for launch in plan.launches:
        tensor = list_tensor(launch)
        if tensor is not None:
            words = list_words(launch.list_of_each_core, tensor.page_bytes).view(np.uint8)
            found.append((placer.place(tensor, launch.cores, {}, flat=False), torch.from_numpy(words)))
    return tuple(found)


def _written_in_place(plan: Plan) -> frozenset[str]:
    cbs = (cb for launch in plan.launches for cb in launch.cbs)
    return frozenset(cb.tensor for cb in cbs if cb.tensor is not None and cb.producer == "compute")


def _address(tensor: TensorRun) -> int:
    return L1Address(tensor.address) if tensor.memory == "l1" else tensor.address


def _launch(binding: _Binding, launch: LaunchPlan, declared: LaunchPlan, *, exact: bool) -> LaunchRun:
    offsets = _cb_offsets(launch, binding, exact=exact)
    buffers = tuple(
        BufferRun(
            cb.id, cb.name, original.format, cb.format, cb.page_bytes, cb.pages, offset,
            cb.producer, cb.consumer, cb.unpack_to_dest, cb.tensor is not None,
        )
        for cb, original, offset in zip(launch.cbs, declared.cbs, offsets, strict=True)
    )  # fmt: skip
    kernels: dict[Role, KernelRun] = {
        kernel.role: KernelRun(
            kernel.role,
            kernel.source,
            binding.sources[kernel.source],
            _NOC_OF_ROLE[kernel.role],
            tuple(compile_time_words(binding.plan, kernel, binding.placer.shards)),
            source_map=lines_from_json(binding.sources.get(LINES_FILE, "{}")),
            scalar=kernel.scalar,
            watched=exact or not kernel.scalar,
        )
        for kernel in launch.kernels
    }
    semaphores = tuple((item.id, item.initial) for item in launch.semaphores)
    return LaunchRun(
        launch.name, (GroupRun(_cores(binding, launch), kernels, buffers, semaphores, launch.compute_config),)
    )


def compile_time_words(plan: Plan, kernel: KernelPlan, shards: Mapping[str, Shards] = {}) -> list[int]:
    """`shards`: of tensors that are sharded, in this call."""
    words: list[int] = []
    for arg in kernel.compile_time_args:
        if arg.accessor is not None:
            words += _accessor_words(plan.tensor(arg.accessor), shards.get(arg.accessor), ARCHS[plan.arch])
        elif arg.value is not None:
            words.append(arg.value & 0xFFFFFFFF)
    return words


def _accessor_words(tensor: TensorPlan, shards: Shards | None, chip: Arch) -> list[int]:
    dram = tensor.memory == "dram"
    if shards is None:
        return accessor_words(tensor.page_bytes, dram=dram)
    nodes = [core if dram else chip.noc_coordinates(*core) for core in shards.cores]
    return accessor_words(tensor.page_bytes, dram=dram, pages=shards.pages, shard=shards.shape, nodes=nodes)


def _cb_offsets(launch: LaunchPlan, binding: _Binding, *, exact: bool) -> list[int]:
    """L1 offset of each CB in plan order; exact numerics may exceed L1."""
    offsets: dict[int, int] = {}
    chip = binding.placer.chip
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
        if cb.tensor is not None:
            offsets[cb.id] = binding.addresses[cb.tensor]
            continue
        offsets[cb.id] = at
        at = round_up(at + cb.page_bytes * cb.pages)
    if at > (binding.placer.l1 if exact else min(binding.placer.l1, chip.l1_bytes)):
        raise _no_room(launch, binding, at - chip.l1_base)
    return [offsets[cb.id if cb.shares is None else cb.shares] for cb in launch.cbs]


def _no_room(launch: LaunchPlan, binding: _Binding, needed: int) -> DeviceError:
    chip, tensors = binding.placer.chip, binding.placer.l1_top - binding.placer.l1
    budget = tuple(
        f"CB {cb.id} '{cb.name}': {cb.pages} x {cb.page_bytes} B = {cb.pages * cb.page_bytes:,} B"
        for cb in launch.cbs
        if cb.tensor is None
    )
    beside = f" beside tensors of {tensors:,} B" if tensors else ""
    return DeviceError(
        "TT410",
        f"the circular buffers of launch '{launch.name}' need {needed:,} B of L1 per core{beside}; "
        f"{chip.title} has {chip.l1_usable:,} B",
        notes=budget,
    )


def _cores(binding: _Binding, launch: LaunchPlan) -> tuple[CoreRun, ...]:
    shares = launch.shares(binding.sizes)
    longest = max(len(share.units) for share in shares)
    nodes = binding.placer.chip.noc_coordinates
    delivered = {
        (buffer, core): all_words(one, lambda at: nodes(*at))
        for buffer, cores in launch.delivered(binding.sizes, shares).items()
        for core, one in cores.items()
    }
    fixed = {
        kernel.role: [_fixed_argument(binding, launch, arg) if arg.is_fixed else None for arg in kernel.runtime_args]
        for kernel in launch.kernels
    }
    cores = []
    for share in shares:
        args: dict[Role, tuple[int, ...]] = {
            kernel.role: tuple(
                word
                for arg, value in zip(kernel.runtime_args, fixed[kernel.role], strict=True)
                for word in ((value,) if value is not None else _own_words(share, arg, longest, delivered, kernel.role))
            )
            for kernel in launch.kernels
        }
        cores.append(CoreRun(*share.core, args))
    return tuple(cores)


def _own_words(
    share: Share,
    arg: RuntimeArg,
    longest: int,
    delivered: Mapping[tuple[str, Core], Mapping[tuple[AnyWord, int | None], int]],
    role: Role,
) -> tuple[int, ...]:
    """What differs from core to core."""
    if arg.delivery is not None and arg.word is not None:
        words = delivered[arg.delivery, share.core]
        return (words.get((word_for(arg.word, role), arg.turn), 0),)  # a core without work has no owners
    return share_words(share, arg, longest)


def share_words(share: Share, arg: RuntimeArg, longest: int) -> tuple[int, ...]:
    """A number of the core's share; or its units, as many words on every core."""
    if arg.work == "units":
        return (*share.units, *[0] * (longest - len(share.units)))
    assert arg.work is not None
    assert arg.work != "units_address"
    return (share.word(arg.work),)


def _fixed_argument(binding: _Binding, launch: LaunchPlan, arg: RuntimeArg) -> int:
    """The 32 bits of an argument that is the same on every core."""
    if arg.work == "units_address":
        return binding.addresses[list_name(launch)]
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
