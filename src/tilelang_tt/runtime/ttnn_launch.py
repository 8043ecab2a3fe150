"""Run a plan of the compiler on a card, or on Tenstorrent's simulator, through ttnn.

plan + sources + sizes  ->  request (every number known but addresses)  ->  worker: descriptors, generic_op
tensors                 ->  tile bytes in shared memory                 ->  pages in the device's DRAM
"""

from __future__ import annotations

import logging
import struct
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import torch

from tilelang_tt.arch import ARCHS
from tilelang_tt.deliveries import Delivery, word_for
from tilelang_tt.diagnostics import DeviceError, EnvironmentProblem
from tilelang_tt.runtime import arena
from tilelang_tt.runtime.formats import decode, encode
from tilelang_tt.runtime.placing import shards_of
from tilelang_tt.runtime.plan import KernelPlan, LaunchPlan, Plan, Role, RuntimeArg, ShardPlan, evaluate
from tilelang_tt.runtime.printed import printing, show_printed_by_ttnn
from tilelang_tt.runtime.program import round_up
from tilelang_tt.runtime.progress import progress
from tilelang_tt.runtime.runner import RunReport, default_timeout
from tilelang_tt.runtime.settle import settled
from tilelang_tt.runtime.simulator_limits import explained, narrowed
from tilelang_tt.runtime.ttnn_find import NEWEST, OLDEST, release_of, simulator
from tilelang_tt.runtime.ttnn_process import HeldWorker
from tilelang_tt.runtime.ttnn_worker import DTYPES
from tilelang_tt.runtime.unit_lists import list_tensor

logger = logging.getLogger(__name__)

_WORD = 0xFFFFFFFF


def launch(
    plan: Plan,
    sources: Mapping[str, str],
    tensors: Mapping[str, torch.Tensor],
    sizes: Mapping[str, int],
    scalars: Mapping[str, int | float] = {},
    *,
    timeout: float | None = None,
) -> RunReport:
    """Run every launch of the plan in order; tensors that kernels write are filled in place."""
    limit = timeout if timeout is not None else default_timeout()
    found = settled(narrowed(plan), sizes)
    plan = found.plan
    request = resolve(plan, sources, sizes, scalars)
    started = time.perf_counter()
    prints = printing(sources.values())
    with progress(f"running {plan.name} on ttnn"), HeldWorker(limit, prints=prints) as worker:
        ready = time.perf_counter()
        check_device(plan, worker.facts)
        memory = arena.borrow(request["bytes"])
        try:
            for item in request["tensors"]:
                encode(tensors[item["name"]], plan.tensor(item["name"]), _pages(item, memory))
            try:
                done = worker.call(request, memory.descriptor, limit)
            except DeviceError as error:
                raise explained(error, plan) from error
            for item in request["tensors"]:
                if item["written"]:
                    decode(_pages(item, memory), plan.tensor(item["name"]), tensors[item["name"]])
        finally:
            show_printed_by_ttnn(worker.printed())
            arena.give_back(memory)
    cores = max(item.cores for item in plan.launches)
    return RunReport(
        numerics="simulator" if simulator() else "card",
        build_seconds=ready - started,
        run_seconds=time.perf_counter() - ready,
        device_seconds=done["seconds"],
        statistics={"cores": cores, "launches": len(plan.launches), "programs_cached": done["programs"]},
        notes=found.notes,
    )


def resolve(
    plan: Plan, sources: Mapping[str, str], sizes: Mapping[str, int], scalars: Mapping[str, int | float]
) -> dict[str, Any]:
    """What the worker gets: plain data with every size filled in; only addresses are still names."""
    check_plan(plan)
    plan = settled(plan, sizes).plan
    tensors, offset = [], 0
    for tensor in plan.tensors:
        pages = evaluate(tensor.batch, sizes) * evaluate(tensor.row_tiles, sizes) * evaluate(tensor.col_tiles, sizes)
        written = plan.access(tensor) in ("write", "read_write")
        item = {"name": tensor.name, "pages": pages, "page_bytes": tensor.page_bytes, "memory": tensor.memory}
        tensors.append(
            {**item, "offset": offset, "written": written, "shards": shards_in_numbers(tensor.shards, sizes)}
        )
        offset += round_up(pages * tensor.page_bytes)
    launches = [_launch(plan, item, sources, sizes, scalars) for item in plan.launches]
    return {"tensors": tensors, "launches": launches, "bytes": max(offset, 1)}


def _unit_lists(launch: LaunchPlan) -> dict[str, Any] | None:
    """The tensor of long lists, for which the worker has the units of each core already."""
    tensor = list_tensor(launch)
    if tensor is None:
        return None
    return {"page_bytes": tensor.page_bytes, "shards": shards_in_numbers(tensor.shards)}


def shards_in_numbers(plan: ShardPlan | None, sizes: Mapping[str, int] = {}) -> dict[str, Any]:
    """As plain data; without shards nothing."""
    if plan is None:
        return {}
    shards = shards_of(plan, sizes)
    return {"pages": list(shards.pages), "shape": list(shards.shape), "cores": [list(core) for core in shards.cores]}


def check_plan(plan: Plan) -> None:
    """Refuse what ttnn's Python side cannot express."""
    for launch_plan in plan.launches:
        for cb in launch_plan.cbs:
            if cb.format not in DTYPES:
                raise DeviceError(
                    "TT412",
                    f"CB {cb.id} '{cb.name}' of kernel '{plan.name}' holds {cb.format}, which ttnn's Python side "
                    "cannot declare",
                    help="target option float16=float32 stores float16 without losing bits",
                )


def check_device(plan: Plan, facts: Mapping[str, Any]) -> None:
    """Refuse a device, or a ttnn, that the kernel was not compiled for."""
    release, needed = release_of(facts["ttnn"]), release_of(plan.sdk) or OLDEST
    if release is not None and release < max(needed, OLDEST):
        raise EnvironmentProblem(
            "TT508",
            f"kernel '{plan.name}' uses the API of ttnn {plan.sdk}; ttnn {facts['ttnn']} is installed",
            help=f"pip install 'ttnn=={needed[0]}.{needed[1]}.*'"
            + (f", or target option sdk={OLDEST[0]}.{OLDEST[1]}" if release >= OLDEST else ""),
        )
    if release is not None and release > NEWEST:
        logger.warning("ttnn %s is newer than %d.%d, the newest this package knows", facts["ttnn"], *NEWEST)
    if facts["arch"] != plan.arch:
        raise DeviceError(
            "TT413",
            f"kernel '{plan.name}' is compiled for {plan.arch}; the device is {facts['arch']}",
            help=f'target="tenstorrent/{facts["arch"]}"' if facts["arch"] in ARCHS else None,
        )
    x, y = facts["grid"]
    for item in plan.launches:
        if item.grid[0] > x or item.grid[1] > y:
            raise DeviceError(
                "TT413",
                f"launch '{item.name}' uses {item.grid[0]}x{item.grid[1]} cores; the device has {x}x{y}",
                help=f"target option grid={min(x, item.grid[0])}x{min(y, item.grid[1])}",
            )


def _launch(
    plan: Plan,
    item: LaunchPlan,
    sources: Mapping[str, str],
    sizes: Mapping[str, int],
    scalars: Mapping[str, int | float],
) -> dict[str, Any]:
    return {
        "name": item.name,
        "cores": [[*one.origin, one.end[0] - 1, one.end[1] - 1] for one in item.ranges],
        "work": _work(item, sizes),
        "kernels": [
            {
                "role": kernel.role,
                "text": sources[kernel.source],
                "compile_time_args": _compile_time_args(kernel),
                "runtime_args": [_runtime_arg(plan, arg, sizes, scalars, kernel.role) for arg in kernel.runtime_args],
            }
            for kernel in item.kernels
        ],
        "cbs": [asdict(cb) for cb in item.cbs],
        "sent": [one.tensor for one in item.deliveries if one.tensor is not None],
        "unit_lists": _unit_lists(item),
        "semaphores": [asdict(semaphore) for semaphore in item.semaphores],
        "compute_config": asdict(item.compute_config),
    }


def _work(item: LaunchPlan, sizes: Mapping[str, int]) -> list[dict[str, Any]]:
    """Of each core: its share, and how blocks come to it that others need, too."""
    shares = item.shares(sizes)
    delivered = item.delivered(sizes, shares)
    return [
        {**asdict(share), "deliveries": {name: _delivery(cores[share.core]) for name, cores in delivered.items()}}
        for share in shares
    ]


def _delivery(delivery: Delivery) -> dict[str, Any]:
    """With logical cores: the device knows where they are on the NoC."""
    group = delivery.group
    return {
        "reads": delivery.sender is None,
        "receivers": delivery.receivers,
        "sender": delivery.sender,
        "first": None if group is None else group.origin,
        "last": None if group is None else group.last,
        "turn": delivery.turn,
        "owners": delivery.owners,
    }


def _compile_time_args(kernel: KernelPlan) -> list[Any]:
    """Numbers, and names of tensors whose accessor words stand in their place."""
    values: list[Any] = []
    for arg in kernel.compile_time_args:
        if arg.accessor is not None:
            values.append({"accessor": arg.accessor})
        elif arg.value is not None:
            values.append(arg.value & _WORD)
        else:
            raise DeviceError("TT410", f"compile-time argument '{arg.name}' has no value in the plan")
    return values


def _runtime_arg(
    plan: Plan, arg: RuntimeArg, sizes: Mapping[str, int], scalars: Mapping[str, int | float], role: Role
) -> int | dict[str, Any]:
    if arg.address is not None:
        return {"address": arg.address}
    if arg.work is not None:
        return {"work": arg.work}
    if arg.delivery is not None and arg.word is not None:
        told: dict[str, Any] = {"delivery": arg.delivery, "word": word_for(arg.word, role)}
        return told if arg.turn is None else {**told, "turn": arg.turn}
    if arg.size is not None:
        return evaluate(arg.size, sizes) & _WORD
    if arg.scalar is not None:
        return _scalar_bits(plan, arg.scalar, scalars[arg.scalar])
    raise DeviceError("TT410", f"runtime argument '{arg.name}' has no value in the plan")


def _scalar_bits(plan: Plan, name: str, value: int | float) -> int:
    dtype = next(param.dtype for param in plan.params if param.name == name)
    if "float" in dtype:
        return int(struct.unpack("<I", struct.pack("<f", float(value)))[0])
    return int(value) & _WORD


def _pages(item: Mapping[str, Any], memory: arena.Arena) -> torch.Tensor:
    size = item["pages"] * item["page_bytes"]
    return memory.bytes[item["offset"] : item["offset"] + size].view(item["pages"], item["page_bytes"])
