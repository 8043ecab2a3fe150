"""Attention of one new token per user (flash decode): the keys of a head are split over cores, a tree joins results.

Host side of `transformer/sdpa_decode/device/sdpa_decode_program_factory.cpp`, with tensors in DRAM. With `latent` it is
FlashMLA: one tensor holds keys and values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import torch
from tests.vendor.builder import Outcome, Program, accessor, address, bfloat16_pair, float_bits, grid
from tests.vendor.sdpa import Attended, paged

from tilelang_tt.device import (
    ComputeConfigDescriptor,
    CoreCoord,
    DataType,
    Device,
    Layout,
    MathFidelity,
    ProgramDescriptor,
    ReaderConfigDescriptor,
    Tensor,
    WriterConfigDescriptor,
)

KERNELS = "transformer/sdpa_decode/device/kernels"
TILE = 32
NONE = 0xFFFFFFFF
ROUNDS = 6
WHOLE_TILES = (1, 2, 11, 20)  # keys, values, a unit matrix, the result


@dataclass(frozen=True)
class Decode:
    users: int = 2
    heads: int = 32  # where at most 16 attend causally, the SDK computes with tiles of 16 rows
    kv_heads: int = 1
    tokens: int = 256  # of the cache
    width: int = 64
    latent: int = 0  # FlashMLA: the first so many columns of the keys are the values
    k_chunk: int = 64
    positions: tuple[int, ...] = (150, 255)
    position_tensor: bool = False
    causal: bool = True
    block: int = 0  # tokens of a page of the cache; 0: not paged
    cores: tuple[int, int] = (4, 2)
    cores_of_head: int = 16
    fp32_dest: bool = False
    exp_approx: bool = False
    fidelity: MathFidelity = MathFidelity.HiFi4

    @property
    def half_tiles(self) -> bool:
        return self.causal and self.heads <= TILE // 2

    @property
    def value_width(self) -> int:
        return self.latent or self.width


@dataclass(frozen=True)
class Tensors:
    q: Tensor
    k: Tensor
    v: Tensor
    out: Tensor
    mask: Tensor | None
    positions: Tensor | None
    page_table: Tensor | None


def tree(core: int, count: int) -> list[int]:
    """A core's place in the tree that joins `count` cores: root, parent, its round, children, rounds, child of each."""
    children = [NONE] * ROUNDS
    if count <= 1:
        return [1, NONE, NONE, 0, 0, *children]
    number = count - 1 - core
    for r in range((count - 1).bit_length()):
        mask = (2 << r) - 1
        if number & mask == mask:
            children[r] = count - 1 - (number - (1 << r))
    parent = sent = NONE
    if core != 0:
        sent = _trailing_ones(number)
        above = number + (1 << sent)
        parent = count - 1 - above if above < count else 0
    else:
        for other in range(1, count):
            ones = _trailing_ones(count - 1 - other)
            if count - 1 - other + (1 << ones) >= count and children[ones] == NONE:
                children[ones] = other
    rounds = max((r + 1 for r in range(ROUNDS) if children[r] != NONE), default=0)
    return [int(core == 0), parent, sent, sum(child != NONE for child in children), rounds, *children]


def _trailing_ones(number: int) -> int:
    return next(bit for bit in range(32) if not number >> bit & 1)


class DecodeProgram:
    def __init__(self, device: Device, root: Path, case: Decode, tensors: Tensors) -> None:
        self.case, self.tensors = case, tensors
        self.program = Program(device, root, "sdpa_decode", grid(*case.cores))
        self.cores = [CoreCoord(i % case.cores[0], i // case.cores[0]) for i in range(case.cores[0] * case.cores[1])]
        self.rows = -(-case.heads // TILE)
        self.wide, self.value_wide, self.chunk = case.width // TILE, case.value_width // TILE, case.k_chunk // TILE
        available = min(len(self.cores), case.cores_of_head * case.users * case.kv_heads) // case.users
        self.per_head = max(1, available // case.kv_heads)
        self.heads_per_core = max(1, -(-case.kv_heads // available))
        while case.kv_heads % self.heads_per_core:
            self.heads_per_core += 1
        self.per_user = self.per_head * case.kv_heads // self.heads_per_core
        self.active = self.per_user * case.users
        self.dst = 4 if case.fp32_dest else 8

    def build(self) -> ProgramDescriptor:
        self._buffers()
        for _ in range(3):
            self.program.semaphore()
        self._reader()
        self._writer()
        self._compute()
        return self.program.descriptor()

    def _buffers(self) -> None:
        t, bf16, add = self.tensors, DataType.BFLOAT16, self.program.buffer
        statistics, out = self.rows, self.rows * self.value_wide
        scores = self.rows * self.chunk
        pages = {
            0: self.rows * self.wide, 1: self.chunk * self.wide * 2, 2: self.chunk * self.value_wide * 2, 3: scores,
            5: 1, 6: statistics, 7: statistics, 10: self.rows * self.wide, 11: 1, 12: 1, 24: scores, 25: out, 26: out,
            27: statistics, 28: statistics, 29: statistics, 30: statistics, 31: statistics, 21: statistics,
            22: statistics, 23: out, 16: out, 17: statistics, 18: statistics, 20: out,
        }  # fmt: skip
        high = TILE // 2 if self.case.half_tiles else TILE
        for number, count in pages.items():
            dtype = {0: t.q.dtype, 1: t.k.dtype, 2: t.v.dtype, 20: t.out.dtype}.get(number, bf16)
            add(number, count, dtype, tile=(TILE if number in WHOLE_TILES else high, TILE))
        if self.per_head > 1:
            add(19, (out + 2 * self.rows) * (self.per_head - 1), bf16, tile=(high, TILE))
        if t.positions:
            for number in (8, 15):
                add(number, 1, DataType.INT32, page=t.positions.buffer_page_size)
        if t.page_table:
            add(9, 1, DataType.INT32, page=t.page_table.buffer_page_size)

    def _reader(self) -> None:
        case, t = self.case, self.tensors
        outputs = self._places(self.per_user)
        q_bytes = 1024 if case.half_tiles else 2048
        args = [
            case.users, self.rows, case.tokens // TILE, self.wide, self.value_wide, self.chunk, self.active, 0,
            self.per_user, case.k_chunk, t.positions.buffer_page_size if t.positions else 0,
            int(t.page_table is not None), case.kv_heads, case.block // TILE, t.k.shape[0], 1, self.per_head,
            self.heads_per_core, case.users, int(case.causal), int(t.mask is not None), 0, self.dst, 0,
            int(case.latent > 0), int(case.half_tiles), self.rows * self.wide * q_bytes, 0, 0, 2048, 0, case.block, 2,
            0, 0,
            t.mask.shape[0] if t.mask else t.k.shape[0], 0,
        ]  # fmt: skip
        for tensor in (t.q, t.k, t.v, t.mask, t.positions, t.page_table, None):
            args += accessor(tensor)
        addresses = [address(one) for one in (t.q, t.k, t.v, t.positions, t.page_table, t.mask, None)]
        stick = t.page_table.buffer_page_size if t.page_table else 0
        runtime = {core: [0] * 20 for core in self.cores[self.active :]}
        for i, core in enumerate(self.cores[: self.active]):
            place = [self._head(i), self._user(i), i % self.per_head, i % self.per_user, self._position(i)]
            runs = [int(i % self.per_head == 0), int(i % self.per_user == 0)]
            runtime[core] = [*addresses, stick, *runs, *place, 0, 0, 0, 0, 0, *outputs]
        self.program.kernel(f"{KERNELS}/dataflow/reader_decode_all.cpp", ReaderConfigDescriptor(), args, runtime)

    def _head(self, i: int) -> int:
        return i % self.per_user // self.per_head

    def _user(self, i: int) -> int:
        return i // self.per_user

    def _position(self, i: int) -> int:
        given = self.case.causal and self.tensors.positions is None
        return self.case.positions[self._user(i)] if given else NONE

    def _places(self, every: int) -> list[int]:
        """Coordinates of the first core of each group: all x, then all y."""
        found = [self.program.device.worker_core_from_logical_core(core) for core in self.cores[: self.active : every]]
        return [one.x for one in found] + [one.y for one in found]

    def _writer(self) -> None:
        case, t = self.case, self.tensors
        rounds = (self.per_head - 1).bit_length() if self.per_head > 1 else 0
        reducers = case.kv_heads * case.users // self.heads_per_core
        args = [
            case.users, self.rows, case.tokens // TILE, self.wide, self.value_wide, self.chunk, bfloat16_pair(1.0), 0,
            self._scale(), self.per_user, self.active, 0, 1, 0, case.k_chunk, case.heads, case.kv_heads, self.per_head,
            self.heads_per_core, reducers, case.users, 2, int(case.causal), self.dst, 1, 0, rounds, case.block,
            *accessor(t.out),
        ]  # fmt: skip
        runtime = {core: [0] * (16 + ROUNDS + 2 * self.per_head) for core in self.cores[self.active :]}
        for i, core in enumerate(self.cores[: self.active]):
            inside, base = i % self.per_head, i // self.per_head * self.per_head
            workers = [(inside - 1) & NONE, NONE if i % self.per_user == 0 else i % self.per_user - 1]
            runs = [int(inside == 0), int(i % self.per_user == 0)]
            place = [self._head(i), self._user(i), inside, i % self.per_user, self._position(i)]
            links = tree(inside, self.per_head)
            group = [
                self.program.device.worker_core_from_logical_core(c) for c in self.cores[base : base + self.per_head]
            ]
            near = [one.x for one in group] + [one.y for one in group]
            runtime[core] = [
                t.out.buffer_address(), *workers, *runs, *place, *links[:5], base, *links[5:], *near,
                *self._places(self.per_head), *self._places(self.per_user),
            ]  # fmt: skip
        self.program.kernel(f"{KERNELS}/dataflow/writer_decode_all.cpp", WriterConfigDescriptor(), args, runtime)

    def _scale(self) -> int:
        return float_bits(1.0 / math.sqrt(self.case.width))

    def _compute(self) -> None:
        case = self.case
        qk_w = min(self.chunk, self.dst)
        qk_h = min(self.rows, self.dst // qk_w) if qk_w == self.chunk else 1
        out_w = min(self.value_wide, self.dst)
        out_h = min(self.rows, self.dst // out_w) if out_w == self.value_wide else 1
        rounds = (self.per_head - 1).bit_length() if self.per_head > 1 else 0
        args = [
            case.tokens // TILE, self.wide, self.value_wide, self.rows, self.chunk, self.wide, qk_w, qk_h,
            self.rows // qk_h, self.chunk // qk_w, 1, self.chunk, out_w, out_h, self.rows // out_h,
            self.value_wide // out_w, 1, self.per_user, case.k_chunk, self.per_head, self.heads_per_core,
            int(case.causal), int(self.tensors.mask is not None), 0, self.dst, 0, 1, int(case.half_tiles),
            self._scale(), 0, rounds, case.block,
        ]  # fmt: skip
        runtime = {core: [65, *[0] * (11 + ROUNDS)] for core in self.cores[self.active :]}
        for i, core in enumerate(self.cores[: self.active]):
            runs = [int(i % self.per_head == 0), int(i % self.per_user == 0)]
            place = [self._head(i), self._user(i), i % self.per_head, i % self.per_user, self._position(i)]
            runtime[core] = [*runs, *place, *tree(i % self.per_head, self.per_head)]
        config = ComputeConfigDescriptor(math_fidelity=case.fidelity, fp32_dest_acc_en=case.fp32_dest)
        path = f"{KERNELS}/compute/sdpa_flash_decode.cpp"
        self.program.kernel(path, config, args, runtime, defines=self._defines())

    def _defines(self) -> dict[str, int]:
        sizes = {
            "DHT_GRANULARITY": _power_of_two(min(self.wide, self.dst)),
            "SUB_EXP_GRANULARITY": min(self.chunk, self.dst),
            "MUL_BCAST_GRANULARITY": min(self.rows * self.chunk, self.dst),
            "STATS_GRANULARITY": min(self.chunk, self.dst),
        }
        logarithms = {f"LOG2_{name}": value.bit_length() - 1 for name, value in sizes.items()}
        return {**sizes, **logarithms, "EXP_APPROX_MODE": int(self.case.exp_approx)}


def _power_of_two(size: int) -> int:
    return size if size & (size - 1) == 0 else 1


def reference(case: Decode, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None) -> Attended:
    """q [1, users, heads, width], k and v [users, kv_heads, tokens, ...]; the result is [users, heads, 1, ...]."""
    group = case.heads // case.kv_heads
    keys, values = (x.double().repeat_interleave(group, 1) for x in (k, v))
    scores = torch.einsum("uhd,uhtd->uht", q[0].double(), keys)
    if case.causal:
        seen = torch.arange(case.tokens)[None] <= torch.tensor(case.positions)[:, None]
        scores = scores.masked_fill(~seen[:, None], -torch.inf)
    if mask is not None:
        scores = scores + mask.double()[:, 0]
    return Attended.of((scores / math.sqrt(case.width))[:, :, None], values)


def run(device: Device, root: Path, case: Decode) -> Outcome:
    draw = torch.Generator().manual_seed(5)
    q = torch.randn(1, case.users, case.heads, case.width, generator=draw).bfloat16()
    k = torch.randn(case.users, case.kv_heads, case.tokens, case.width, generator=draw).bfloat16()
    v = torch.randn(case.users, case.kv_heads, case.tokens, case.value_width, generator=draw).bfloat16()
    mask = None
    if not case.causal:
        hidden = torch.rand(case.users, 1, case.heads, case.tokens, generator=draw) < 0.2
        mask = torch.where(hidden, -1e9, 0.0).bfloat16()
    if case.latent:
        v = k[..., : case.latent]
    wanted = reference(case, q, k, v, mask)
    table = None
    if case.block:
        k, table = paged(k, case.block)
        v = paged(v, case.block)[0]
    keys = device.from_torch(k, name="k")
    positions = torch.tensor(case.positions, dtype=torch.int32)[None] if case.position_tensor else None
    tensors = Tensors(
        device.from_torch(q, name="q"),
        keys,
        keys if case.latent else device.from_torch(v, name="v"),
        device.allocate_tensor((1, case.users, case.heads, case.value_width), name="out"),
        device.from_torch(mask, name="mask") if mask is not None else None,
        device.from_torch(positions, layout=Layout.ROW_MAJOR, name="positions") if positions is not None else None,
        device.from_torch(table, layout=Layout.ROW_MAJOR, name="page_table") if table is not None else None,
    )
    device.run(DecodeProgram(device, root, case, tensors).build())
    most = wanted.bound(chunks=case.tokens // case.k_chunk, wide=False, chip=device.numerics == "chip")
    return Outcome(tensors.out.to_torch()[0], wanted.result[:, :, 0], most[:, :, 0])
