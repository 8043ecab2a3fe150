"""What the runner reads: a `Run` as lines of words.

chip <l1 bytes> <l1 base> <CB ids> <DRAM banks> <DRAM read alignment> <NoC alignment> <zeros base> <grid x> <grid y>
     <Blackhole 0|1>
run <numerics: 0 fast, 1 exact, 2 chip, 3 none> <threads> <L1 window bytes> <time limit, ms> <seed>
    [<library of chip numerics>]
clock <library> <record to write, or -> <words> <words ...>           of its own (clock/tables.py)
allow <categories> <names ...>                                       of breaches after which the run goes on
memory <DRAM bytes> <offset of the shared L1> <L1 address of the first tensor, or 0>
tensor <name> <dram|l1> <address> <page bytes> <pages> <offset in shared memory> <offset of its page marks>
       <flat 0|1> <slots per bank, 0 when interleaved> [<pages> <bank * slots + slot of each>]
launch <name>
group <32-bit DST 0|1> <full sync 0|1> <fidelity 0..3> <math approximation 0|1>   of the launch above
cb <id> <name> <declared format> <stored format> <page bytes> <pages> <L1 offset>
       <producer|any> <consumer|any> <to DST 0|1> <on a tensor 0|1>
semaphore <id> <initial value>                                    cb, semaphore, kernel, core: of the group above
kernel <role> <library> <NoC> <pointers watched 0|1> <common arguments> <values ...>
core <x> <y>, then for reader, compute, writer: <arguments> <values ...>, where @ marks an address in the core's L1
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tilelang_tt.clock.tables import setup_words
from tilelang_tt.runtime.formats import FORMATS
from tilelang_tt.runtime.kernel_build import ZEROS_BASE, Built
from tilelang_tt.runtime.plan import Role
from tilelang_tt.runtime.program import NUMERICS, ROLES, TIMING_ONLY, CoreRun, GroupRun, L1Address, Run, TensorRun

_FIDELITIES = ("LoFi", "HiFi2", "HiFi3", "HiFi4")


def l1_window(run: Run) -> int:
    """Bytes of address space of one core's L1, a power of two."""
    ends = [
        buffer.offset + buffer.pages * buffer.page_bytes
        for launch in run.launches
        for group in launch.groups
        for buffer in group.buffers
    ]
    top = max(run.arch.l1_bytes, run.memory.l1_top, *ends, 0)
    return 1 << (top - 1).bit_length()


def describe(run: Run, built: Built, *, threads: int, time_limit: float) -> str:
    chip = run.arch
    lines = [
        f"chip {chip.l1_bytes} {chip.l1_base} {chip.cb_count} {chip.dram_banks} {chip.dram_read_align} "
        f"{chip.noc_align} {ZEROS_BASE[chip.name]} {run.grid[0]} {run.grid[1]} "
        f"{int(chip.name == 'blackhole')}",
        f"run {(*NUMERICS, TIMING_ONLY).index(run.numerics)} {threads} {l1_window(run)} "
        f"{max(1, int(time_limit * 1000))} {run.seed}" + (f" {built.chip}" if built.chip else ""),
        *([_clock(run, built)] if run.clock else []),
        *([f"allow {len(run.allowed)} {' '.join(run.allowed)}"] if run.allowed else []),
        f"memory {run.memory.dram_bytes} {run.memory.l1_shared} {run.memory.l1_heap}",
        *map(_tensor, run.tensors),
    ]
    for launch, of_groups in zip(run.launches, built.kernels, strict=True):
        lines.append(f"launch {_word(launch.name)}")
        for group, of_roles in zip(launch.groups, of_groups, strict=True):
            lines += _group(group, of_roles)
    return "\n".join(lines) + "\n"


def _clock(run: Run, built: Built) -> str:
    assert run.clock is not None
    words = setup_words(run.arch, run.grid, dict(run.clock.costs))
    return f"clock {built.clock} {run.clock.record or '-'} {len(words)} {' '.join(words)}"


def _tensor(tensor: TensorRun) -> str:
    words = (
        f"tensor {_word(tensor.name)} {tensor.memory} {tensor.address} {tensor.page_bytes} {tensor.pages} "
        f"{tensor.offset} {tensor.marks} {int(tensor.flat)} {tensor.slots}"
    )
    return f"{words} {_list(tensor.places)}" if tensor.slots else words


def _group(group: GroupRun, libraries: Mapping[Role, Path]) -> list[str]:
    config = group.config
    fidelity = _FIDELITIES.index(config.math_fidelity)
    approx = int(config.math_approx_mode)
    lines = [f"group {int(config.fp32_dest_acc_en)} {int(config.dst_full_sync_en)} {fidelity} {approx}"]
    lines += [
        f"cb {cb.id} {_word(cb.name)} {FORMATS[cb.format].number} {FORMATS[cb.stored].number} "
        f"{cb.page_bytes} {cb.pages} {cb.offset} {cb.producer} {cb.consumer} "
        f"{int(cb.unpack_to_dest)} {int(cb.on_tensor)} {cb.tile[0]} {cb.tile[1]}"
        for cb in group.buffers
    ]
    lines += [f"semaphore {number} {initial}" for number, initial in group.semaphores]
    lines += [
        f"kernel {role} {libraries[role]} {kernel.noc} {int(kernel.watched)} {_list(kernel.common_args)}"
        for role, kernel in group.kernels.items()
    ]
    lines += map(_core, group.cores)
    return lines


def _core(core: CoreRun) -> str:
    return f"core {core.x} {core.y} " + " ".join(_list(core.args.get(role, ())) for role in ROLES)


def _list(values: tuple[int, ...]) -> str:
    words = (f"@{int(value)}" if isinstance(value, L1Address) else str(value) for value in values)
    return " ".join([str(len(values)), *words])


def _word(name: str) -> str:
    """A name as one word of the description."""
    return re.sub(r"[^\w.\-]", "_", name)[:60] or "_"
