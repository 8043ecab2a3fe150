"""What the virtual device runs: launches of kernels on groups of cores, with every size and address filled in.

Both ways into the device end here: plans of the compiler (`bind.py`) and hand-written programs
(`tilelang_tt.device`). `description.py` writes it down for the runner, `kernel_build.py` compiles its kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tilelang_tt.arch import Arch
from tilelang_tt.clock.request import ClockRequest
from tilelang_tt.runtime.line_map import SourceLine
from tilelang_tt.runtime.plan import ComputeConfig, Role

NUMERICS = ("fast", "exact", "chip")  # how numbers are computed; see device/README.md
TIMING_ONLY = "none"  # no numbers: tensors have addresses and no bytes, and only the clock has something to say
ROLES: tuple[Role, ...] = ("reader", "compute", "writer")

# Flags of the first TensorAccessorArgs word (tensor_accessor::ArgConfig). The others say which words of a sharded
# tensor are common runtime arguments.
ACCESSOR_SHARDED = 1
ACCESSOR_DRAM = 2
ACCESSOR_RUNTIME = {"rank": 4, "num_banks": 8, "tensor_shape": 16, "shard_shape": 32, "bank_coords": 64}

Node = tuple[int, int]  # NoC coordinates of a core; of DRAM: (bank, 0)

# Bank-local address of the first tensor: above every L1 address, so that a base address says where a tensor lies.
DRAM_BASE = 1 << 24
_ALIGN = 64  # bytes; the largest alignment of any chip


def accessor_words(
    page_bytes: int,
    *,
    dram: bool,
    pages: Sequence[int] = (),
    shard: Sequence[int] = (),
    nodes: Sequence[Node] = (),
    at_runtime: int = 0,
) -> list[int]:
    """What TensorAccessorArgs reads: flags, page size; of shards also rank, banks, sizes and where the banks are."""
    words = [(ACCESSOR_DRAM if dram else 0) | (ACCESSOR_SHARDED | at_runtime if shard else 0), page_bytes]
    parts = accessor_parts(pages, shard, nodes) if shard else {}
    return words + [word for name, part in parts.items() if not at_runtime & ACCESSOR_RUNTIME[name] for word in part]


def accessor_parts(pages: Sequence[int], shard: Sequence[int], nodes: Sequence[Node]) -> dict[str, list[int]]:
    """The words of a sharded tensor by the names of their flags, in their order."""
    packed = [(x & 0xFF) << 8 | (y & 0xFF) for x, y in nodes]
    pairs = [packed[at : at + 2] for at in range(0, len(packed), 2)]
    coordinates = [pair[0] | (pair[1] << 16 if len(pair) == 2 else 0) for pair in pairs]
    banks = {"rank": [len(pages)], "num_banks": [len(nodes)]}
    return banks | {"tensor_shape": [*pages], "shard_shape": [*shard], "bank_coords": coordinates}


def round_up(size: int, grain: int = _ALIGN) -> int:
    return -(-size // grain) * grain


class L1Address(int):
    """The address of a tensor in L1.

    On the device it becomes a pointer into the core's own L1, which is not address 0 of the host: a runtime
    argument must still say that it is one when it reaches the runner. So does an address a few bytes further on.
    """

    def __add__(self, offset: int) -> L1Address:
        return L1Address(int(self) + offset)

    __radd__ = __add__

    def __sub__(self, offset: int) -> int:
        return int(self) - int(offset) if isinstance(offset, L1Address) else L1Address(int(self) - offset)


@dataclass(frozen=True)
class TensorRun:
    """Pages of `page_bytes` in DRAM banks or in the L1 of cores."""

    name: str
    memory: Literal["dram", "l1"]
    address: int  # in every bank
    page_bytes: int
    pages: int
    offset: int  # of the pages in the shared memory; L1 pages lie in the L1 of their core instead
    marks: int  # in the shared memory: one byte per page, set when a kernel writes the page
    slots: int = 0  # sharded: pages a bank has room for
    places: tuple[int, ...] = ()  # sharded: bank * slots + slot of each page
    flat: bool = False  # cores may write different bytes of one page

    @property
    def bytes(self) -> int:
        return self.pages * self.page_bytes


@dataclass(frozen=True)
class BufferRun:
    """One circular buffer of a group of cores."""

    id: int
    name: str
    format: str  # as declared
    stored: str  # as run: Float32 in exact numerics
    page_bytes: int
    pages: int
    offset: int  # in L1
    producer: Role | Literal["any"] = "any"
    consumer: Role | Literal["any"] = "any"
    unpack_to_dest: bool = False
    on_tensor: bool = False
    tile: tuple[int, int] = (32, 32)  # rows and columns


@dataclass(frozen=True)
class KernelRun:
    """One kernel with what its build and all of its cores have in common."""

    role: Role
    file: str  # name shown to the user and to the compiler
    text: str
    noc: int
    compile_args: tuple[int, ...] = ()
    named_args: tuple[tuple[str, int], ...] = ()
    defines: tuple[tuple[str, str], ...] = ()
    common_args: tuple[int, ...] = ()
    include_dirs: tuple[Path, ...] = ()
    declarations: str = ""  # C++ before the first line of the text
    source_map: tuple[SourceLine, ...] = ()
    scalar: bool = False  # code that works element by element: a timed run counts what it does
    watched: bool = True  # whether loads and stores through pointers are checked: scalar code is mostly these


@dataclass(frozen=True)
class CoreRun:
    x: int
    y: int
    args: Mapping[Role, tuple[int, ...]]


@dataclass(frozen=True)
class GroupRun:
    """Cores with the same kernels and buffers."""

    cores: tuple[CoreRun, ...]
    kernels: Mapping[Role, KernelRun]
    buffers: tuple[BufferRun, ...]
    semaphores: tuple[tuple[int, int], ...] = ()  # id, initial value
    config: ComputeConfig = field(default_factory=ComputeConfig)


@dataclass(frozen=True)
class LaunchRun:
    """Kernels that start together."""

    name: str
    groups: tuple[GroupRun, ...]

    @property
    def cores(self) -> int:
        return sum(len(group.cores) for group in self.groups)

    def kernel_at(self, core: tuple[int, int], role: str) -> KernelRun:
        return next(
            kernel
            for group in self.groups
            if any((item.x, item.y) == core for item in group.cores)
            for kernel in group.kernels.values()
            if kernel.role == role
        )


@dataclass(frozen=True)
class Memory:
    """Layout of the memory shared with the runner."""

    dram_bytes: int
    l1_shared: int = 0  # where the L1 of core 0 begins
    l1_heap: int = 0  # L1 address from which on tensors lie; 0: none does
    l1_top: int = 0  # end of what L1 addresses may reach; 0: the chip's own


@dataclass(frozen=True)
class Run:
    """Launches in order, on one chip."""

    name: str
    arch: Arch
    numerics: str
    tensors: tuple[TensorRun, ...]
    launches: tuple[LaunchRun, ...]
    memory: Memory
    grid: tuple[int, int]
    seed: int = 0
    allowed: tuple[str, ...] = ()  # categories of breaches after which the run goes on
    clock: ClockRequest | None = None
