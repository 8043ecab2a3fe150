"""What Tenstorrent's simulator of Wormhole cannot do: unpack 32-bit numbers to DST.

It ends with a line of its own (`tensix_unpacr`), which says nothing about the kernel. Kernels can be run without
unpack to DST, through the source register, which keeps 10 of the 23 fraction bits of a float32; integers cannot.
"""

from __future__ import annotations

import os
from dataclasses import replace

from tilelang_tt.diagnostics import DeviceError, warn
from tilelang_tt.runtime.plan import CbPlan, Plan
from tilelang_tt.runtime.ttnn_find import simulator

NARROW_VARIABLE = "TILELANG_TT_NARROW"
_SIGN = "tensix_unpacr"  # in the last output of the simulator
_INTEGERS = ("Int32", "UInt32")


def is_limited(plan: Plan) -> bool:
    return simulator() is not None and plan.arch == "wormhole_b0"


def narrowed(plan: Plan) -> Plan:
    """The plan without unpack to DST, where the user asks for that."""
    if (
        not is_limited(plan)
        or not os.environ.get(NARROW_VARIABLE)
        or not any(cb.unpack_to_dest for cb in _buffers(plan))
    ):
        return plan
    warn(
        "TT706",
        f"kernel '{plan.name}' runs without unpack to DST: float32 keeps 10 fraction bits",
        location=None,
        help=f"unset {NARROW_VARIABLE} where the device can do it",
    )
    launches = (
        replace(item, cbs=tuple(replace(cb, unpack_to_dest=False) for cb in item.cbs)) for item in plan.launches
    )
    return replace(plan, launches=tuple(launches))


def explained(error: DeviceError, plan: Plan) -> DeviceError:
    """The simulator's end, in words of the kernel; any other error as it is."""
    wide = [cb for cb in _buffers(plan) if cb.unpack_to_dest or cb.format in _INTEGERS]
    if error.code != "TT406" or not is_limited(plan) or not wide or not any(_SIGN in note for note in error.notes):
        return error
    named = ", ".join(f"CB {cb.id} '{cb.name}' ({cb.format})" for cb in wide)
    integers = any(cb.format in _INTEGERS for cb in wide)
    narrow = "" if integers else f"; {NARROW_VARIABLE}=1 runs it with 10 fraction bits of float32"
    return DeviceError(
        "TT419",
        f"the simulator of Wormhole cannot unpack to DST, as kernel '{plan.name}' does from {named}",
        notes=error.notes,
        help=f'the simulator of Blackhole can, with target="tenstorrent/blackhole"{narrow}',
    )


def _buffers(plan: Plan) -> list[CbPlan]:
    return [cb for item in plan.launches for cb in item.cbs]
