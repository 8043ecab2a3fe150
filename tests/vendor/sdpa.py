"""Scaled dot-product attention (prefill): a core takes chunks of queries and streams chunks of keys and values.

Host side of `transformer/sdpa/device/sdpa_program_factory.cpp`. With a 32-bit DST the vendor's older compute loop
runs, with a 16-bit DST the newer streaming one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import torch
from tests.vendor.builder import INACTIVE, Outcome, Program, accessor, address, bfloat16_pair, float_bits, grid
from tests.vendor.sdpa_chains import Chain, build_chains

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

KERNELS = "transformer/sdpa/device/kernels"
TILE = 32
_SUBBLOCKS = (
    (2, 4), (4, 2), (1, 8), (8, 1), (1, 7), (7, 1), (2, 3), (3, 2), (1, 6), (6, 1),
    (1, 5), (5, 1), (2, 2), (1, 4), (4, 1), (1, 3), (3, 1), (1, 2), (2, 1), (1, 1),
)  # fmt: skip


@dataclass(frozen=True)
class Sdpa:
    """One configuration: what the SDK's call and its program config say."""

    batch: int = 1
    heads: int = 2
    kv_heads: int = 2
    queries: int = 128
    keys: int = 128
    width: int = 64
    q_chunk: int = 64
    k_chunk: int = 64
    causal: bool = False
    masked: bool = False
    chunk_start: int | None = None  # paged keys; the queries begin at this token
    sink: bool = False
    window: int = 0
    fp32_dest: bool = True
    streaming: bool | None = None  # the newer compute loop; nothing said: where DST is of 16 bits
    exp_approx: bool = False
    latent: int = 0  # FlashMLA: the first so many columns of the keys are the values
    grid: tuple[int, int] = (2, 2)
    block: int = 32  # tokens of a page of the cache
    fidelity: MathFidelity = MathFidelity.HiFi4


@dataclass(frozen=True)
class Tensors:
    q: Tensor
    k: Tensor
    v: Tensor
    out: Tensor
    mask: Tensor | None = None
    page_table: Tensor | None = None
    sink: Tensor | None = None


def subblock(height: int, width: int, dst: int, most_rows: int = 8) -> tuple[int, int]:
    """The largest part of a block that fits DST and divides it."""
    for h, w in _SUBBLOCKS:
        if h * w <= dst and h <= most_rows and height % h == 0 and width % w == 0:
            return h, w
    return 1, 1


def granularity(tiles: int, most: int) -> int:
    return max(g for g in range(1, min(tiles, most) + 1) if tiles % g == 0)


def streaming_rows(h: int, w: int, dst: int, rows: int) -> int:
    """Rows of a group of the second product in the streaming loop."""
    return 2 if h == 1 and 2 * w <= dst and rows >= 2 else h


class SdpaProgram:
    """Names of the factory's numbers, and the program made of them."""

    def __init__(self, device: Device, root: Path, case: Sdpa, tensors: Tensors) -> None:
        self.case, self.tensors = case, tensors
        self.program = Program(device, root, "sdpa", grid(*case.grid))
        self.cores = [CoreCoord(i % case.grid[0], i // case.grid[0]) for i in range(case.grid[0] * case.grid[1])]
        self.chunked = case.chunk_start is not None
        self.seen = (case.chunk_start or 0) + case.queries if self.chunked else case.keys
        self.streaming = not case.fp32_dest if case.streaming is None else case.streaming
        self.dst = 4 if case.fp32_dest else 8
        self.q_rows, self.k_rows = case.q_chunk // TILE, case.k_chunk // TILE
        self.q_chunks, self.k_chunks = -(-case.queries // case.q_chunk), -(-self.seen // case.k_chunk)
        self.wide, self.value_wide = case.width // TILE, (case.latent or case.width) // TILE
        padded = (self.seen % case.k_chunk, case.queries % case.q_chunk) != (0, 0)
        self.padding_mask = not case.causal and padded
        self.light = not case.masked and (
            (case.causal and not case.window)
            or (self.streaming and (case.causal or bool(case.window) or self.padding_mask))
        )
        partial = self.streaming and self.padding_mask and not case.masked
        self.partial_column = self.seen % TILE if partial else 0
        self.qk_block = subblock(self.q_rows, self.k_rows, self.dst)
        self.out_block = subblock(self.q_rows, self.value_wide, self.dst, 2 if self.streaming else 8)
        self.ids: dict[str, int] = {}

    def build(self) -> ProgramDescriptor:
        shares = self._shares()
        chains = self._chains(shares)
        self._buffers()
        if not self.case.causal:
            for initial in (0, 0, 1):  # sender, receiver, valid
                self.program.semaphore(initial)
        self._reader(shares, chains)
        self._writer(shares)
        self._compute(shares)
        return self.program.descriptor()

    def _shares(self) -> list[tuple[int, int]]:
        """First chunk of queries and number of chunks of each core."""
        case, count = self.case, len(self.cores)
        total = case.batch * case.heads * self.q_chunks
        unit = 2 if case.causal and self.q_chunks % 2 == 0 else 1
        base, extra = divmod(total // unit, count)
        shares = []
        for i in range(count):
            first = unit * (i * base + min(i, extra))
            shares.append((min(first, total), unit * (base + (i < extra)) if first < total else 0))
        return shares

    def _chains(self, shares: list[tuple[int, int]]) -> list[Chain]:
        case = self.case
        if case.causal or self.chunked or case.window:
            return [Chain() for _ in self.cores]
        places = [self.program.device.worker_core_from_logical_core(core) for core in self.cores]
        return build_chains(shares, places, case.batch * case.heads, case.heads, self.q_chunks)

    def _buffers(self) -> None:
        case, tensors, program = self.case, self.tensors, self.program
        bf16 = DataType.BFLOAT16
        wide = DataType.FLOAT32 if case.fp32_dest else bf16
        most = max(count for _, count in self._shares())
        ids = self.ids
        ids["q"] = program.next_buffer(self.q_rows * self.wide * (2 if most > 1 else 1), tensors.q.dtype)
        ids["k"] = program.next_buffer(self.k_rows * self.wide * 2, tensors.k.dtype)
        ids["v"] = program.next_buffer(self.k_rows * self.value_wide * 2, tensors.v.dtype)
        if case.masked or case.causal or self.padding_mask or case.window:
            ids["mask"] = program.next_buffer(*self._mask())
        ids["identity"] = program.next_buffer(1, bf16)
        ids["column"] = program.next_buffer(1, bf16)
        if tensors.page_table:
            ids["page_table"] = program.next_buffer(1, DataType.INT32, page=tensors.page_table.buffer_page_size)
        if tensors.sink:
            ids["sink"] = program.next_buffer(1 if self.streaming else self.q_rows, tensors.sink.dtype)
        if self.streaming:
            ids["recip"] = program.next_buffer(1, bf16)
        ids["qk"] = program.next_buffer(self.q_rows * self.k_rows, wide)
        for name in ("out_a", "out_b"):
            ids[name] = program.next_buffer(self.q_rows * self.value_wide, bf16)
        for name, data_format in (("max_a", bf16), ("max_b", bf16), ("sum_a", wide), ("sum_b", wide), ("diff", bf16)):
            ids[name] = program.next_buffer(self.q_rows, data_format)
        ids["out"] = program.next_buffer(self._out_pages(), tensors.out.dtype)

    def _mask(self) -> tuple[int, DataType]:
        case = self.case
        if self.light:
            count = 1 + (4 if case.window else int(case.causal)) + (self.partial_column > 0)
            return count, DataType.BFLOAT16
        generated = DataType.BFLOAT16 if self.streaming else DataType.BFLOAT4_B
        data_format = self.tensors.mask.dtype if self.tensors.mask else generated
        return self.q_rows * self.k_rows * 2, data_format

    def _out_pages(self) -> int:
        if not self.streaming:
            return self.q_rows * self.value_wide
        return 2 * streaming_rows(*self.out_block, self.dst, self.q_rows) * self.value_wide

    def _defines(self) -> dict[str, int]:
        return {
            "STATS_GRANULARITY": granularity(self.q_rows, self.dst),
            "SUB_EXP_GRANULARITY": granularity(self.k_rows, self.dst),
            "MUL_BCAST_GRANULARITY": granularity(self.q_rows * self.k_rows, self.dst),
            "DHT_GRANULARITY": granularity(math.gcd(self.wide, self.value_wide), self.dst),
            "REDUCE_GRANULARITY": granularity(self.q_rows, self.dst // 2),
            "EXP_APPROX_MODE": int(self.case.exp_approx),
        }

    def _id(self, name: str) -> int:
        return self.ids.get(name, INACTIVE)

    def _reader(self, shares: list[tuple[int, int]], chains: list[Chain]) -> None:
        case, t = self.case, self.tensors
        table = t.page_table
        mask_shape = t.mask.shape if t.mask else (0, 0)
        args = [
            case.batch, case.heads, case.kv_heads, case.kv_heads,
            self.q_chunks * self.q_rows, self.k_chunks * self.k_rows, -(-case.queries // TILE), -(-self.seen // TILE),
            self.wide, self.value_wide, self.q_rows, self.q_chunks, self.k_rows, self.k_chunks,
            len(self.cores), int(case.causal), int(case.masked), int(mask_shape[0] == 1), int(mask_shape[1] == 1),
            int(self.padding_mask), int(self.chunked), case.block // TILE if self.chunked else 0,
            table.buffer_page_size if table else 0, int(t.sink is not None),
            int(case.latent > 0), int(case.latent > 0), self.qk_block[0], case.window,
            int(self.streaming),
            *((0, 0, 0) if case.causal else (0, 1, 2)), int(any(chain.multicast for chain in chains)), int(case.causal),
        ]  # fmt: skip
        for tensor in (t.q, t.k, t.v, t.mask, table, t.sink, None):
            args += accessor(tensor)
        names = ("q", "k", "v", "mask", "sink", "page_table", "start_compute", "start_writer")
        args += [self._id(name) for name in names]
        addresses = [address(tensor) for tensor in (t.q, t.k, t.v, t.mask, table, t.sink, None)]
        runtime = {}
        for i, core in enumerate(self.cores):
            chain = [] if case.causal else chains[i].words()
            runtime[core] = [*addresses, i, 1, self._offset(), 0, *chain, *shares[i]]
        path = f"{KERNELS}/dataflow/reader_interleaved.cpp"
        self.program.kernel(path, ReaderConfigDescriptor(), args, runtime, defines=self._defines())

    def _offset(self) -> int:
        return (self.case.chunk_start or 0) // self.case.q_chunk

    def _scale(self) -> int:
        return float_bits(1.0 / math.sqrt(self.case.width))

    def _writer(self, shares: list[tuple[int, int]]) -> None:
        case, t = self.case, self.tensors
        args = [
            case.batch, case.heads, case.kv_heads, self.q_chunks * self.q_rows, -(-case.queries // TILE), self.seen,
            self.wide, self.value_wide, self.q_rows, self.q_chunks, self.k_rows, self.k_chunks, bfloat16_pair(1.0),
            self._scale(), len(self.cores), int(case.causal), int(case.masked), int(self.padding_mask),
            int(self.chunked), case.window, int(self.light), int(self.streaming), self.out_block[0],
            self.partial_column, int(case.causal), 0,
            *accessor(t.out), *accessor(None),
        ]  # fmt: skip
        args += [self._id(name) for name in ("mask", "identity", "column", "start_writer", "out")] + [self.ids["q"]]
        runtime = {
            core: [t.out.buffer_address(), i, 1, 0, self._offset(), 0, 0, 0, *shares[i], 0, 0]
            for i, core in enumerate(self.cores)
        }
        path = f"{KERNELS}/dataflow/writer_interleaved.cpp"
        self.program.kernel(path, WriterConfigDescriptor(), args, runtime, defines=self._defines())

    def _compute(self, shares: list[tuple[int, int]]) -> None:
        case, t = self.case, self.tensors
        (qk_h, qk_w), (out_h, out_w) = self.qk_block, self.out_block
        args = [
            case.batch, case.heads, case.kv_heads, self.k_chunks * self.k_rows, self.wide, self.value_wide,
            self.q_rows, self.q_chunks, self.k_rows, self.k_chunks,
            self.wide, qk_w, qk_h, self.q_rows // qk_h, self.k_rows // qk_w, 1,
            self.k_rows, out_w, out_h, self.q_rows // out_h, self.value_wide // out_w, 1,
            len(self.cores), int(case.causal), int(case.masked), int(self.padding_mask), int(self.chunked),
            self._scale(), case.window, int(t.sink is not None), int(self.streaming), -(-self.seen // TILE),
            self.partial_column, int(case.causal),
        ]  # fmt: skip
        names = (
            "q", "k", "v", "mask", "sink", "identity", "column", "start_compute", "recip", "out", "qk",
            "out_a", "out_b", "max_a", "max_b", "sum_a", "sum_b", "diff",
        )  # fmt: skip
        args += [self._id(name) for name in names] + accessor(t.out)
        runtime = {core: [i, 1, 0, self._offset(), 0, *shares[i]] for i, core in enumerate(self.cores)}
        config = ComputeConfigDescriptor(math_fidelity=case.fidelity, fp32_dest_acc_en=case.fp32_dest)
        self.program.kernel(f"{KERNELS}/compute/sdpa.cpp", config, args, runtime, defines=self._defines())


def inputs(case: Sdpa) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
    """Queries, keys, values, mask, sink as bfloat16."""
    draw = torch.Generator().manual_seed(7)
    keys = case.keys if case.chunk_start is None else case.chunk_start + case.queries
    shapes = [(case.heads, case.queries), (case.kv_heads, keys), (case.kv_heads, keys)]
    q, k, v = (torch.randn(case.batch, *shape, case.width, generator=draw).bfloat16() for shape in shapes)
    mask = None
    if case.masked:
        mask = torch.where(torch.rand(case.batch, 1, case.queries, keys, generator=draw) < 0.2, -1e9, 0.0).bfloat16()
    sink = torch.randn(1, case.heads, 1, 1, generator=draw).bfloat16() if case.sink else None
    return q, k, v, mask, sink


@dataclass(frozen=True)
class Attended:
    """Attention in float64, and what its error depends on: the size of what is averaged, and of each row's scores."""

    result: torch.Tensor
    spread: torch.Tensor
    largest: torch.Tensor

    @staticmethod
    def of(scores: torch.Tensor, values: torch.Tensor, sink: torch.Tensor | None = None) -> Attended:
        """`scores` [..., queries, keys] are scaled, and -inf where hidden; `sink` [..., queries, 1] takes a share."""
        both = scores if sink is None else torch.cat([scores, sink], -1)
        weights = torch.softmax(both, -1)[..., : scores.shape[-1]]
        result = weights @ values
        largest = scores.masked_fill(scores < -1e6, 0.0).abs().amax(-1, keepdim=True)
        return Attended(result, weights @ values.abs() + result.abs(), largest)

    def bound(self, *, chunks: int, wide: bool, chip: bool) -> torch.Tensor:
        """Weights that are wrong by a share move the result by at most that share of what is averaged.

        Scores and their maximum lie in bfloat16 (8 bits), or in tf32 (11 bits) behind a 32-bit DST. A weight, the sum,
        the correction between chunks and every partial result are rounded to bfloat16. The chip's quick
        exponential is off by up to 2^-5 of its value.
        """
        share = 2 * self.largest * 2.0 ** (-11 if wide else -8) + (chunks + 4) * 2.0**-8 + (2.0**-5 if chip else 0.0)
        return share * self.spread


def reference(
    case: Sdpa,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    mask: torch.Tensor | None,
    sink: torch.Tensor | None,
) -> Attended:
    group = case.heads // case.kv_heads
    keys, values = (x.double().repeat_interleave(group, 1) for x in (k, v))
    scores = q.double() @ keys.transpose(-1, -2)
    rows = torch.arange(case.queries)[:, None] + (case.chunk_start or 0)
    columns = torch.arange(keys.shape[2])[None]
    hidden = torch.zeros(case.queries, keys.shape[2], dtype=torch.bool)
    if case.causal:
        hidden |= columns > rows
    if case.window:
        hidden |= (columns <= rows - case.window) if case.causal else (columns - rows).abs() > case.window // 2
    scores = scores.masked_fill(hidden, -torch.inf) + (mask.double() if mask is not None else 0.0)
    scale = 1.0 / math.sqrt(case.width)
    extra = sink.double().expand(case.batch, case.heads, case.queries, 1) * scale if sink is not None else None
    return Attended.of(scores * scale, values, extra)


def run(device: Device, root: Path, case: Sdpa) -> Outcome:
    q, k, v, mask, sink = inputs(case)
    v = k[..., : case.latent] if case.latent else v
    wanted = reference(case, q, k, v, mask, sink)
    chunks = -(-k.shape[2] // case.k_chunk)
    table = None
    if case.chunk_start is not None:
        k, table = paged(k, case.block)
        v, _ = paged(v, case.block)
    keys = device.from_torch(k, name="k")
    tensors = Tensors(
        device.from_torch(q, name="q"),
        keys,
        keys if case.latent else device.from_torch(v, name="v"),
        device.allocate_tensor(wanted.result.shape, name="out"),
        device.from_torch(mask, name="mask") if mask is not None else None,
        device.from_torch(table, layout=Layout.ROW_MAJOR, name="page_table") if table is not None else None,
        device.from_torch(sink, name="sink") if sink is not None else None,
    )
    device.run(SdpaProgram(device, root, case, tensors).build())
    most = wanted.bound(chunks=chunks, wide=case.fp32_dest, chip=device.numerics == "chip")
    return Outcome(tensors.out.to_torch(), wanted.result, most)


def paged(values: torch.Tensor, block: int) -> tuple[torch.Tensor, torch.Tensor]:
    """[batch, heads, tokens, width] as shuffled pages [batch * tokens / block, heads, block, width]; and the table."""
    batch, heads, tokens, width = values.shape
    pages = values.reshape(batch, heads, tokens // block, block, width).transpose(1, 2).reshape(-1, heads, block, width)
    order = torch.randperm(len(pages), generator=torch.Generator().manual_seed(11))
    table = torch.argsort(order).to(torch.int32).reshape(batch, -1)
    room = -table.shape[1] % 8  # rows of the table are whole 32-byte pieces
    return pages[order].contiguous(), torch.nn.functional.pad(table, (0, room))
