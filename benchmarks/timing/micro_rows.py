"""microbench.csv: kernels of one core with the same calls, in the same order, as tt-lang's microbenchmarks.

The figure is the longest of the three compute processors' times in the zone "work". A benchmark is found by what its
name begins with; its configuration is read from the row, so other sizes and sub-blocks run too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch

import tilelang_tt.device as tt
from benchmarks.timing.figures import Figure, LeftOut

KERNELS = Path(__file__).parent / "kernels"
ZONE = "work"
TILE = 32
BLOCK_COUNT = 2  # blocks a buffer holds where the row does not say
ROUNDS = 128  # of the block operations; their figures are per round
OUT = 16
Core = (0, 0)


@dataclass(frozen=True)
class Batch:
    """Tiles that the reader pushes at once."""

    tensor: int
    buffer: int
    first: int
    step: int
    tiles: int


@dataclass
class Micro:
    kernel: str
    static: list[int]
    shapes: list[tuple[int, int]]  # of the inputs, in tiles
    batches: list[Batch]
    out: tuple[int, int]
    pages: dict[int, int]  # of the circular buffers
    reference: Callable[..., torch.Tensor]
    fp32: bool = False
    full_sync: bool = False
    fidelity: str = "HiFi4"
    defines: list[tuple[str, str]] = field(default_factory=list)
    rounds: int = 1  # the figure is per round
    gelu: bool = False  # an approximation: compare loosely


def _numbers(text: str) -> dict[str, int]:
    return {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)(?!x)", text)}


def _pair(text: str) -> tuple[int, int]:
    found = re.search(r"(\d+)x(\d+)", text)
    if found is None:
        raise LeftOut(f"no block in '{text}'")
    return int(found[1]), int(found[2])


def _capacity(fp32: bool, full_sync: bool) -> int:
    return (4 if fp32 else 8) * (2 if full_sync else 1)


def _sub_block(rows: int, cols: int, capacity: int) -> tuple[int, int]:
    """The largest sub-block that divides the block and fits DST; of equal ones the widest."""
    if rows * cols == 0:
        raise LeftOut(f"a block of {rows} x {cols} tiles")
    fits = [
        (r, c)
        for r in range(1, rows + 1)
        for c in range(1, cols + 1)
        if rows % r == 0 and cols % c == 0 and r * c <= capacity
    ]
    return max(fits, key=lambda rc: (rc[0] * rc[1], rc[1]))


def _modes(fields: dict[str, str]) -> tuple[bool, bool]:
    text = f"{fields['bench']} {fields['config']}".lower()
    return "fp32" in text, "full-sync" in text or "full_sync=1" in text


def accumulate(fields: dict[str, str]) -> Micro:
    numbers = _numbers(f"{fields['bench']},{fields['config']}")
    tiles, rounds = numbers["acc_tiles"], numbers["iters"]
    resident = "streamed" not in fields["bench"].lower()
    word = re.search(r"expr (\w+)", fields["bench"])
    kind = {"add": 0, "mul": 1, "gelu": 2}[word[1] if word else "add"]
    in_dst = fields["variant"].upper() == "DST"
    fp32, full_sync = _modes(fields)
    depth = numbers.get("block_count", BLOCK_COUNT)
    blocks = 1 if resident else rounds
    batches = [Batch(0, 0, 0, 1, tiles)] + [Batch(0, 1, (1 + i) * tiles, 1, tiles) for i in range(blocks)]

    def reference(source: torch.Tensor) -> torch.Tensor:
        parts = source.reshape(TILE, 1 + blocks, tiles * TILE).float()
        own = {0: lambda x: x, 1: lambda x: x * x, 2: torch.nn.functional.gelu}[kind](parts[:, 1:])
        return parts[:, 0] + own.sum(1) * (rounds if resident else 1)

    static = [tiles, rounds, _capacity(fp32, full_sync), int(resident), kind, int(in_dst)]
    pages = {0: tiles, 1: depth * tiles, OUT: depth * tiles}
    return Micro(
        "micro_accumulate.cpp",
        static,
        [(1, (1 + blocks) * tiles)],
        batches,
        (1, tiles),
        pages,
        reference,
        fp32=fp32,
        full_sync=full_sync,
        gelu=kind == 2,
    )


def matmul(fields: dict[str, str]) -> Micro:
    text = f"{fields['bench']},{fields['config']}"
    rows, cols = _pair(fields["config"]) if re.search(r"\d+x\d+", fields["config"]) else _pair(fields["bench"])
    depth = _numbers(text)["kt"]
    fp32, full_sync = _modes(fields)
    in_dst, gelu = fields["variant"].upper().startswith("DST"), "gelu" in text.lower()
    sub = _sub_block(rows, cols, _capacity(fp32, full_sync))
    if "best" in text and not in_dst:
        sub = (sub[1], sub[0])  # the best sub-block that was published for sums in L1 is the tall one
    fidelity = next((name for name in ("LoFi", "HiFi2", "HiFi3", "HiFi4") if name in text), "HiFi4")
    batches = []
    for k in range(depth):
        batches += [Batch(0, 0, k, depth, rows), Batch(1, 1, k * cols, 1, cols)]

    def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        product = a.float() @ b.float()
        return torch.nn.functional.gelu(product) if gelu else product

    return Micro(
        "micro_matmul.cpp",
        [rows, cols, depth, *sub, int(gelu), int(in_dst)],
        [(rows, depth), (depth, cols)],
        batches,
        (rows, cols),
        {0: depth * rows, 1: depth * cols, 2: rows * cols, OUT: BLOCK_COUNT * rows * cols},
        reference,
        fp32=fp32,
        full_sync=full_sync,
        fidelity=fidelity,
        gelu=gelu,
    )


def copies(fields: dict[str, str]) -> Micro:
    numbers = _numbers(fields["config"])
    tiles, chunk, rounds = numbers["tiles"], numbers["chunk"], numbers.get("iters", 1)
    fp32, full_sync = _modes(fields)
    kind = next((i for i, name in enumerate(("self_cycle", "hoisted", "twocb")) if name in fields["bench"]), 0)
    return Micro(
        "micro_copy.cpp",
        [tiles, rounds, chunk, kind],
        [(1, tiles)],
        [Batch(0, 0, 0, 1, tiles)],
        (1, tiles),
        {0: tiles, 1: BLOCK_COUNT * tiles, OUT: tiles},
        lambda source: source.float(),
        fp32=fp32,
        full_sync=full_sync,
        rounds=rounds,
    )


def block_operation(fields: dict[str, str]) -> Micro:
    side, _ = _pair(fields["bench"])
    sub = _pair(fields["config"])
    word = fields["variant"].split()[0]
    if word not in ("transpose", "add", "mul"):
        raise LeftOut(f"no kernel for the operation '{word}'")
    fidelity = next((name for name in ("LoFi", "HiFi2", "HiFi3") if name in fields["variant"]), "HiFi4")
    references = {"transpose": lambda x: x.float().T, "add": lambda x: 2 * x.float(), "mul": lambda x: x.float() ** 2}
    return Micro(
        "micro_block.cpp",
        [side, ROUNDS, *sub, ("transpose", "add", "mul").index(word)],
        [(side, side)],
        [Batch(0, 0, 0, 1, side * side)],
        (side, side),
        {0: side * side, OUT: side * side},
        references[word],
        fidelity=fidelity,
        rounds=ROUNDS,
    )


def scaled(fields: dict[str, str]) -> Micro:
    rows, cols = _pair(fields["bench"])
    depth, sub = _numbers(fields["config"])["kt"], _pair(fields["config"])
    fp32, full_sync = _modes(fields)
    block = rows * cols
    return Micro(
        "micro_scaled.cpp",
        [rows, cols, depth, *sub],
        [(rows, depth), (depth, cols), (rows, cols), (rows, cols)],
        [
            Batch(0, 0, 0, 1, rows * depth),
            Batch(1, 1, 0, 1, depth * cols),
            Batch(2, 2, 0, 1, block),
            Batch(3, 3, 0, 1, block),
        ],
        (rows, cols),
        {0: rows * depth, 1: depth * cols, 2: block, 3: block, OUT: BLOCK_COUNT * block},
        lambda a, b, scale, acc: scale.float() * acc.float() + a.float() @ b.float(),
        fp32=fp32,
        full_sync=full_sync,
    )


def chain(fields: dict[str, str]) -> Micro:
    numbers = _numbers(fields["config"])
    tiles = numbers["tiles"]
    return Micro(
        "micro_chain.cpp",
        [tiles, numbers["sub"]],
        [(1, tiles), (1, tiles)],
        [Batch(0, 0, 0, 1, tiles), Batch(1, 1, 0, 1, tiles)],
        (1, tiles),
        {0: tiles, 1: tiles, OUT: tiles},
        lambda b, c: (c.float().sigmoid() + b.float().tanh()).relu().neg().abs(),
        full_sync=_modes(fields)[1],
    )


UNARY = {"exp": torch.exp, "gelu": torch.nn.functional.gelu, "recip": torch.reciprocal}
UNARY |= {"sqrt": torch.sqrt, "rsqrt": torch.rsqrt}


def unary(fields: dict[str, str]) -> Micro:
    numbers = _numbers(fields["config"])
    tiles, word = numbers["tiles"], fields["bench"].split()[0]
    if word not in UNARY:
        raise LeftOut(f"no kernel for the function '{word}'")
    fp32, full_sync = _modes(fields)
    return Micro(
        "micro_unary.cpp",
        [tiles, numbers.get("chunk", numbers.get("sub", 1))],
        [(1, tiles)],
        [Batch(0, 0, 0, 1, tiles)],
        (1, tiles),
        {0: tiles, OUT: tiles},
        lambda x: UNARY[word](x.float()),
        fp32=fp32,
        full_sync=full_sync,
        defines=[("FUNCTION", f"{word}_tile"), ("FUNCTION_INIT", f"{word}_tile_init")],
        gelu=True,
    )


# How a benchmark's name begins, and the workload.
BENCHES: list[tuple[str, Callable[[dict[str, str]], Micro]]] = [
    ("MB1", copies),
    ("MB2", accumulate),
    ("MB3", matmul),
    ("MB5.A", copies),
    ("MB5.B", block_operation),
    ("MB5.C", matmul),
    ("MB5.D", scaled),
    ("MB5.E", chain),
    *((word, unary) for word in UNARY),
]


def workload(figure: Figure) -> Micro:
    for beginning, build in BENCHES:
        if figure.fields["bench"].startswith(beginning):
            try:
                return build(figure.fields)
            except (KeyError, ValueError) as problem:
                raise LeftOut(f"the row does not say {problem}") from None
    raise LeftOut(f"no kernel for the benchmark '{figure.fields['bench']}'")


@dataclass
class Prepared:
    program: tt.ProgramDescriptor
    inputs: list[tt.Tensor]
    out: tt.Tensor


def prepare(device: tt.Device, micro: Micro) -> Prepared:
    dtype = tt.DataType.FLOAT32 if micro.fp32 else tt.DataType.BFLOAT16
    page = TILE * TILE * (4 if micro.fp32 else 2)
    inputs = [
        device.allocate_tensor((r * TILE, c * TILE), dtype, name=f"in{i}") for i, (r, c) in enumerate(micro.shapes)
    ]
    out = device.allocate_tensor((micro.out[0] * TILE, micro.out[1] * TILE), dtype, name="out")
    cores = tt.CoreRangeSet([tt.CoreRange(Core, Core)])
    four = [inputs[min(index, len(inputs) - 1)] for index in range(4)]
    batches = [value for b in micro.batches for value in (b.tensor, b.buffer, b.first, b.step, b.tiles)]
    reader = tt.KernelDescriptor(
        KERNELS / "micro_reader.cpp",
        cores,
        tt.ReaderConfigDescriptor(),
        compile_time_args=[value for tensor in four for value in tt.TensorAccessorArgs(tensor).get_compile_time_args()],
        runtime_args=[
            (tt.CoreCoord(*Core), [*(tensor.buffer_address() for tensor in four), len(micro.batches), *batches])
        ],
    )
    writer = tt.KernelDescriptor(
        KERNELS / "micro_writer.cpp",
        cores,
        tt.WriterConfigDescriptor(),
        compile_time_args=tt.TensorAccessorArgs(out).get_compile_time_args(),
        runtime_args=[(tt.CoreCoord(*Core), [out.buffer_address(), micro.out[0] * micro.out[1]])],
    )
    compute = tt.KernelDescriptor(
        KERNELS / micro.kernel,
        cores,
        tt.ComputeConfigDescriptor(
            math_fidelity=tt.MathFidelity[micro.fidelity],
            fp32_dest_acc_en=micro.fp32,
            dst_full_sync_en=micro.full_sync,
        ),
        compile_time_args=micro.static,
        defines=micro.defines,
    )
    cbs = [
        tt.CBDescriptor(pages * page, cores, [tt.CBFormatDescriptor(index, dtype, page)])
        for index, pages in micro.pages.items()
    ]
    return Prepared(tt.ProgramDescriptor(kernels=[reader, writer, compute], cbs=cbs), inputs, out)
