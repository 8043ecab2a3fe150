"""ops.csv: attention with the vendor's own kernels, prefill (SDPA, FlashMLA) and decode, tensors in DRAM.

What a row does not say is taken from the source it names: tests and issues of tt-metal run attention with a 16-bit DST
and the exact exponential; the Llama model with a 32-bit DST, HiFi4, keys in bfp8 and chunks of 64 below 2048 tokens, of
256 from there on.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import tilelang_tt.device as tt
from benchmarks.timing.figures import Figure, LeftOut
from benchmarks.timing.vendor_scripts import script, wheel

FORMATS = {"bf16": tt.DataType.BFLOAT16, "bfp8": tt.DataType.BFLOAT8_B, "bfp4": tt.DataType.BFLOAT4_B}
GRIDS = {("wormhole_b0", ""): (8, 8), ("blackhole", "110"): (11, 10), ("blackhole", "130"): (13, 10)}
DECODE_CHUNK = 512  # tokens of keys at once, where nothing is said: the largest that the SDK takes
ATTENTION = ("SDPA", "ScaledDotProduct", "FlashMLA")  # how the operation's name begins
LONG = 2048  # tokens from which Llama's chunks are larger
TILE = 32


@dataclass(frozen=True)
class Attention:
    """What the row says."""

    batch: int
    heads: int
    kv_heads: int
    tokens: int
    width: int
    values: int  # columns of a value
    chunks: tuple[int, int]  # of queries and of keys
    causal: bool
    formats: tuple[tt.DataType, tt.DataType]  # of queries, of keys
    fidelity: tt.MathFidelity
    llama: bool
    grid: tuple[int, int]

    @property
    def latent(self) -> int:
        return self.values if self.values != self.width else 0


def workload(figure: Figure) -> tuple[tuple[int, int], Callable[[tt.Device], tt.ProgramDescriptor]]:
    """The grid, and what builds the program."""
    row = read(figure)
    decode = "decode" in figure.fields["op"]
    if decode and row.heads <= 16:
        raise LeftOut("decode with up to 16 heads takes tiles of 16 rows, which the virtual device has not")
    return row.grid, lambda device: (_decode if decode else _prefill)(device, row)


def read(figure: Figure) -> Attention:
    fields = figure.fields
    shape, words = fields["shape"], f"{fields['dtype']} {fields['layout']} {fields['source']}"
    grid = GRIDS.get((figure.chip, fields["cores"]))
    if grid is None:
        raise LeftOut(f"no grid of '{fields['cores']}' cores for attention")
    heads = _number(shape, r"nh(\d+)", r"(\d+)q/")
    width = _number(shape, r"dqk(\d+)", r"\bd(\d+)")
    tokens = _number(shape, r"\bs(\d+)", r"cache (\d+)")
    llama = "llama" in fields["source"]
    usual = 64 if tokens < LONG else 256
    fidelity = re.search(r"LoFi|HiFi\d", words)
    return Attention(
        _number(shape, r"\bb(\d+)", default=1),
        heads,
        _number(shape, r"nkv(\d+)", r"(\d+)kv", default=heads),
        tokens,
        width,
        _number(shape, r"dv(\d+)", default=width),
        (_number(shape, r"\bq(\d+)", default=usual), _number(shape, r"\bk(\d+)", default=usual)),
        "non-causal" not in fields["op"],
        _formats(fields["dtype"]),
        tt.MathFidelity[fidelity[0] if fidelity else "HiFi4"],
        llama,
        grid,
    )


def _number(text: str, *patterns: str, default: int | None = None) -> int:
    for pattern in patterns:
        if found := re.search(pattern, text):
            return int(found[1])
    if default is None:
        raise LeftOut(f"the row does not say a size: '{text}'")
    return default


def _formats(text: str) -> tuple[tt.DataType, tt.DataType]:
    """Of queries and of keys: 'bfp8 HiFi2', 'kv bf16', 'bf16/bfp8'."""
    named = [FORMATS[word] for word in re.findall(r"bf16|bfp8|bfp4", text)]
    if not named:
        raise LeftOut(f"no workload for {text}")
    if text.startswith("kv"):
        return tt.DataType.BFLOAT16, named[0]
    return named[-1], named[-1]


def _prefill(device: tt.Device, row: Attention) -> tt.ProgramDescriptor:
    sdpa = script("sdpa")
    case = sdpa.Sdpa(
        batch=row.batch,
        heads=row.heads,
        kv_heads=row.kv_heads,
        queries=row.tokens,
        keys=row.tokens,
        width=row.width,
        q_chunk=row.chunks[0],
        k_chunk=row.chunks[1],
        causal=row.causal,
        fp32_dest=row.llama,
        streaming=not row.llama and row.chunks[0] > TILE,
        latent=row.latent,
        grid=row.grid,
        fidelity=row.fidelity,
    )
    many, few = (row.batch, row.heads, row.tokens), (row.batch, row.kv_heads, row.tokens)
    q = device.allocate_tensor((*many, row.width), row.formats[0], name="q")
    k = device.allocate_tensor((*few, row.width), row.formats[1], name="k")
    v = k if row.latent else device.allocate_tensor((*few, row.width), row.formats[1], name="v")
    out = device.allocate_tensor((*many, row.values), row.formats[0], name="out")
    return sdpa.SdpaProgram(device, wheel(), case, sdpa.Tensors(q, k, v, out)).build()


def _decode(device: tt.Device, row: Attention) -> tt.ProgramDescriptor:
    decode = script("sdpa_decode")
    case = decode.Decode(
        users=row.batch,
        heads=row.heads,
        kv_heads=row.kv_heads,
        tokens=row.tokens,
        width=row.width,
        latent=row.latent,
        k_chunk=DECODE_CHUNK,
        positions=(row.tokens - 1,) * row.batch,
        cores=row.grid,
        cores_of_head=row.grid[0] * row.grid[1],
        fidelity=row.fidelity,
    )
    keys = (row.batch, row.kv_heads, row.tokens)
    q = device.allocate_tensor((1, row.batch, row.heads, row.width), row.formats[0], name="q")
    k = device.allocate_tensor((*keys, row.width), row.formats[1], name="k")
    v = k if row.latent else device.allocate_tensor((*keys, row.values), row.formats[1], name="v")
    out = device.allocate_tensor((1, row.batch, row.heads, row.values), name="out")
    return decode.DecodeProgram(device, wheel(), case, decode.Tensors(q, k, v, out, None, None, None)).build()
