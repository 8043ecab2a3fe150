"""The launch plan: everything a launcher needs besides the kernel sources.

`tt.plan.json` is this record as JSON. It is validated against `plan.schema.json` whenever it is
written or read; launchers (virtual device, ttnn, main.cpp) read nothing else.

Sizes that are known only at call time appear as integer expressions over the names in `sizes`, in
Python syntax: `+ - * // %`, `min(a, b)`, `max(a, b)`, parentheses.
"""

from __future__ import annotations

import ast
import json
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from functools import cache
from importlib import resources
from threading import Lock
from typing import Any, Literal

import numpy as np

from tilelang_tt.arch import TILE
from tilelang_tt.core_ranges import Core, CoreRange
from tilelang_tt.deliveries import AnyWord, Delivery, deliveries
from tilelang_tt.diagnostics import ArgumentError, DeviceError
from tilelang_tt.runtime.quick_schema import Check, checker
from tilelang_tt.schedule import (
    CoreOrder,
    Order,
    Pieces,
    Policy,
    Schedule,
    Share,
    Word,
    shares,
    uncovered,
)

SCHEMA_VERSION = 4

# A size: a number, or an expression over the plan's `sizes`.
Size = int | str

Role = Literal["reader", "compute", "writer"]
AnyShare = Word | Literal["units", "units_address"]  # of a core: a number of its share, its list, or where that lies
Access = Literal["read", "write", "read_write", "unused"]


@dataclass(frozen=True)
class Param:
    """One argument of the user's function, in order."""

    name: str
    kind: Literal["tensor", "scalar"]
    dtype: str
    shape: tuple[Size, ...] = ()
    access: Access = "read"
    workspace: bool = False  # no argument: the call brings it, and nobody looks at it afterwards


@dataclass(frozen=True)
class WindowPlan:
    """An axis kept as windows of `extent` elements, one every `step`, each in ceil(extent / 32) tiles of its own.

    The first one begins at element -before * step.
    """

    step: int
    extent: int
    before: int = 0


@dataclass(frozen=True)
class FoldPlan:
    """An axis of length n seen as two, of ceil(n / width) and of `width`. What is behind its end is zero."""

    axis: int
    width: int


@dataclass(frozen=True)
class ShardPlan:
    """How a tensor is cut into shards, and where these lie.

    `pages` is the grid of its pages: matrices, rows, columns. Shards are boxes of it of `shape`; the last ones may be
    smaller, and have room for a whole one. Numbered row by row, shard n lies on core n % len(cores).
    """

    pages: tuple[Size, Size, Size]
    shape: tuple[Size, Size, Size]
    cores: tuple[tuple[int, int], ...]  # (x, y); of DRAM: (bank, 0)


@dataclass(frozen=True)
class TensorPlan:
    """How one tensor lies in device memory: tiles over at most two of its axes, one tile per page.

    Tiles are 32x32; or halves of these, 16x32 or 32x16 (`tile`), which kernels put together and take apart.
    Page of tile (r, c) of batch b: (b * row_tiles + r) * col_tiles + c, where b counts the
    remaining axes row-major. The host pads the last tile row and column with zeros.

    Without an axis of rows, row_tiles is 1 and all 32 rows of a tile hold the same values: the host
    writes 32 and reads back the first. Columns likewise.

        bias [N]        rows None, columns 0      tiles of 32 equal rows
        lse [B, H, S]   rows 2, columns None      tiles of 32 equal columns, B * H batches
        scale [H]       rows None, columns None   H tiles of one value each

    An axis with a window is cut into pieces before it is cut into tiles: element i of the axis is element i % step of
    piece before + i // step, and a piece goes on to `extent` elements with what the next one begins with.

    An axis that is folded by 32 counts as two, before any of this: of n / 32 and of 32. Folds follow each other.

    A flat tensor has no axes of rows and columns: `row_tiles` counts its pages, the last one is filled up with zeros,
    and `format` says the width of its words. Kernels write parts of its pages; the host sends and takes back all of it.
    """

    name: str
    param: int  # index into Plan.params
    format: str  # tt::DataFormat name: Float16_b, Float32, Bfp8_b ...
    page_bytes: int
    row_axis: int | None  # axis walked as tile rows; None: every row of a tile is the same
    col_axis: int | None  # axis walked as tile columns; None: every column of a tile is the same
    row_tiles: Size
    col_tiles: Size
    batch: Size  # product of the remaining axes
    by_rows: bool = False  # no tiles: page b * row_tiles + r is row r of batch b, padded to a multiple of 32 elements
    table: bool = False  # no tiles: 32-bit words in row-major order, 1024 to a page
    flat: bool = False  # no tiles: elements in row-major order, in the bytes of their own type, 4096 to a page
    row_window: WindowPlan | None = None
    col_window: WindowPlan | None = None
    fold: tuple[FoldPlan, ...] | None = None  # axes of the parameter seen as two; the other axes are numbered after it
    view: bool = False  # one more way in which an input lies; kernels only read it
    memory: Literal["dram", "l1"] = "dram"
    shards: ShardPlan | None = None  # None: pages are dealt to all banks, or to the L1 of all cores, in turn
    tile: tuple[int, int] = (TILE, TILE)  # rows and columns

    def shape_of(self, shape: tuple[Size, ...]) -> tuple[Size, ...]:
        """The parameter's shape, with the axes that this record numbers."""
        for fold in self.fold or ():
            length = shape[fold.axis]
            rows = (
                -(-length // fold.width)
                if isinstance(length, int)
                else f"({length} + {fold.width - 1}) // {fold.width}"
            )
            shape = (*shape[: fold.axis], rows, fold.width, *shape[fold.axis + 1 :])
        return shape


@dataclass(frozen=True)
class LoopPlan:
    """A loop of the kernel: its variable counts from zero to `extent`."""

    name: str
    extent: Size  # over `sizes`, block indices and the loops around it


@dataclass(frozen=True)
class BlockPlan:
    """Which tiles of a tensor a block of the grid takes: `rows` x `cols`, from tile (row, col) of a matrix on.

    Matrices may lie below each other, as shards by height, by width and of both have them: then `batch` is 0.
    """

    tensor: str
    indices: tuple[str, ...]  # names of the block indices
    extents: tuple[Size, ...]  # of all of them, first column
    batch: Size  # over `sizes`, block indices and loops, as row and col
    row: Size
    col: Size
    rows: int
    cols: int
    loops: tuple[LoopPlan, ...] = ()  # around it, outer before inner: all if it is stored, else those that choose tiles
    in_order: bool = True  # whether blocks may be handed over one by one, as pages of the shard
    found: bool = False  # whether compute may find them in the shard
    stored: bool = False  # no tile twice, where compute packs them there


@dataclass(frozen=True)
class MatchPlan:
    """A tensor in shards that say, as soon as sizes are known, which core does which blocks.

    A block belongs to the shard with its first tile, if that is the same one in all `places`.
    """

    places: tuple[BlockPlan, ...]  # in the first round of loops, and in the last
    most: int = 0  # times as many blocks as in runs that a core may get by it; 0: any number


@dataclass(frozen=True)
class CbPlan:
    """One circular buffer, the same on every core."""

    id: int
    name: str
    format: str
    page_bytes: int
    pages: int
    producer: Role
    consumer: Role
    unpack_to_dest: bool = False  # UnpackToDestFp32: copy_tile keeps all 32 bits
    shares: int | None = None  # a second view: the id of the circular buffer whose pages these are
    tensor: str | None = None  # its pages are the core's shard of this tensor: nothing is copied
    block: BlockPlan | None = None  # so it is with this block if a call's sizes allow it (runtime/settle.py)


@dataclass(frozen=True)
class CompileArg:
    """Compile-time words of a kernel: a number, or the TensorAccessorArgs words of a tensor."""

    name: str
    value: int | None = None
    accessor: str | None = None  # tensor name


@dataclass(frozen=True)
class RuntimeArg:
    """One 4-byte runtime argument; exactly one of the value fields is set."""

    name: str
    address: str | None = None  # DRAM address of this tensor
    work: AnyShare | None = None  # this core's share of the units; `units`: the list of them, as last words
    size: Size | None = None  # the same on every core
    scalar: str | None = None  # a scalar parameter, its 32 bits
    delivery: str | None = None  # how blocks of this circular buffer come to the core: one word of it, `word`
    word: AnyWord | None = None
    turn: int | None = None  # of the word `owner`: of which turn, where the core is that sends then
    moves: str | None = None  # 1 if the blocks of this circular buffer are moved, 0 if they lie in the core's shard
    block_pages: str | None = None  # of a block of this circular buffer; 0 if compute finds blocks in the core's shard
    shard_pages: str | None = None  # of the shard then; else 0
    pitch: str | None = None  # tiles from one row of a block to the next, in the shard or in pages of its own

    @property
    def is_fixed(self) -> bool:
        """Whether all cores get the same word."""
        return self.delivery is None and self.work in (None, "units_address")


@dataclass(frozen=True)
class KernelPlan:
    role: Role
    source: str  # file name beside the plan
    compile_time_args: tuple[CompileArg, ...] = ()
    runtime_args: tuple[RuntimeArg, ...] = ()
    scalar: bool = False  # scalar code: it works on single elements in L1


@dataclass(frozen=True)
class SemaphorePlan:
    id: int
    initial: int = 0


@dataclass(frozen=True)
class DeliveryPlan:
    """Blocks of a circular buffer that are the same on all cores that agree on some block indices, unit by unit.

    One of these cores reads them and sends them to the others (tilelang_tt/deliveries.py says which).
    """

    buffer: str
    extents: tuple[Size, ...]  # of all block indices
    axes: tuple[int, ...]  # the indices that tell blocks apart
    ready: int  # semaphores
    valid: int
    tensor: str | None = None  # whose shards are sent from where they lie: nothing is read
    holders: tuple[Core, ...] = ()  # cores that hold shards, in their order: those of a group send from them in turn


@dataclass(frozen=True)
class ComputeConfig:
    math_fidelity: Literal["LoFi", "HiFi2", "HiFi3", "HiFi4"] = "HiFi4"
    fp32_dest_acc_en: bool = True
    dst_full_sync_en: bool = False
    math_approx_mode: bool = False


@dataclass(frozen=True)
class AssertionPlan:
    """A condition that stops the run where it does not hold.

    A block of the grid then leaves `number` and the values that the text has places for in its row of the tensor, whole
    numbers as they are and floats as the bits of a double.
    """

    tensor: str
    number: int
    text: str
    dtypes: tuple[str, ...]
    user_file: str
    user_line: int


@dataclass(frozen=True)
class LaunchPlan:
    """One program: three kernels on some cores, started together.

    Who does what is said by `policy` and the fields from `blocks` on (tilelang_tt/schedule.py).
    """

    name: str
    grid: tuple[int, int]  # cores (x, y), from logical core (0, 0) to the last one used
    units: Size  # grid blocks of the user's kernel
    policy: Policy
    kernels: tuple[KernelPlan, ...]
    cbs: tuple[CbPlan, ...]
    semaphores: tuple[SemaphorePlan, ...] = ()
    compute_config: ComputeConfig = field(default_factory=ComputeConfig)
    blocks: tuple[Size, Size] | None = None  # the units as a matrix: columns, rows; None: one row
    order: Order = "row"
    panel: int = 0  # rows or columns of a panel, in block-linear orders
    core_ranges: tuple[CoreRange, ...] = ()  # none: the whole grid
    core_order: CoreOrder = "row"
    pieces: Pieces | None = None  # of policy `match`
    unit_lists: tuple[tuple[int, ...], ...] = ()  # of policy `list`: blocks of each core, numbered row by row
    deliveries: tuple[DeliveryPlan, ...] = ()  # blocks that one core reads for several
    match: MatchPlan | None = None  # of policy `match`, where pieces are found at the call

    @property
    def schedule(self) -> Schedule:
        return Schedule(
            self.policy, self.order, self.panel, self.core_ranges, self.core_order, self.pieces, self.unit_lists
        )

    @property
    def list_bytes(self) -> int:
        """Of the L1 of each core that its list of units takes; 0: it is runtime arguments, or there is none."""
        args = (arg for kernel in self.kernels for arg in kernel.runtime_args)
        return self.schedule.list_bytes if any(arg.work == "units_address" for arg in args) else 0

    @property
    def ranges(self) -> tuple[CoreRange, ...]:
        """The cores, as rectangles."""
        return self.schedule.core_ranges(self.grid)

    @property
    def cores(self) -> int:
        return len(self.schedule.cores(self.grid))

    @property
    def list_of_each_core(self) -> list[tuple[int, ...]]:
        return [*self.unit_lists, *[()] * (self.cores - len(self.unit_lists))]

    def matrix(self, sizes: Mapping[str, int]) -> tuple[int, int]:
        """Columns and rows of blocks."""
        columns, rows = (self.units, 1) if self.blocks is None else self.blocks
        return evaluate(columns, sizes), evaluate(rows, sizes)

    def shares(self, sizes: Mapping[str, int]) -> list[Share]:
        """What every core does in one call; a plan whose shares are not all units, each once, is refused."""
        columns, rows = self.matrix(sizes)
        found = shares(self.schedule, self.grid, columns, rows)
        problem = uncovered(self.schedule, found, columns, rows)
        if problem is None and columns * rows != (units := evaluate(self.units, sizes)):
            problem = f"{columns} x {rows} blocks are not {units} units"
        if problem is not None:
            listed = sum(map(len, self.unit_lists))
            raise DeviceError(
                "TT418",
                f"launch '{self.name}' does not do all of its work: {problem}",
                notes=(f"policy {self.policy} over {self.cores} cores, {columns} x {rows} blocks",),
                help=f"the lists are for {listed} blocks: give sizes that make so many, or a policy"
                if listed
                else None,
            )
        return found

    def delivered(self, sizes: Mapping[str, int], given: Sequence[Share]) -> dict[str, dict[Core, Delivery]]:
        """How blocks of each circular buffer come to each core, if these are the shares."""
        return {
            one.buffer: deliveries(
                self.schedule, given, [evaluate(size, sizes) for size in one.extents], one.axes, one.holders
            )
            for one in self.deliveries
        }


@dataclass(frozen=True)
class Plan:
    name: str
    arch: str
    sdk: str
    numerics: Literal["fast", "exact", "chip"]
    device: Literal["virtual", "ttnn", "auto"]
    sizes: tuple[str, ...]
    params: tuple[Param, ...]
    tensors: tuple[TensorPlan, ...]
    launches: tuple[LaunchPlan, ...]
    generator: str
    schema: int = SCHEMA_VERSION
    assertions: tuple[AssertionPlan, ...] = ()

    def tensor(self, name: str) -> TensorPlan:
        return next(tensor for tensor in self.tensors if tensor.name == name)

    @property
    def by_elements(self) -> frozenset[str]:
        """Tensors of which scalar code reads or writes single elements."""
        kernels = (kernel for launch in self.launches for kernel in launch.kernels if kernel.scalar)
        return frozenset(arg.accessor for kernel in kernels for arg in kernel.compile_time_args if arg.accessor)

    def access(self, tensor: TensorPlan) -> Access:
        """What kernels do with the tensor as it lies here."""
        param = self.params[tensor.param]
        return "read" if tensor.view else "write" if param.workspace else param.access

    def to_json(self) -> str:
        data = _plain(self)
        if not self.assertions:
            del data["assertions"]
        _leave_out(data)
        validate(data)
        return json.dumps(data, indent=2) + "\n"

    @staticmethod
    def from_json(text: str) -> Plan:
        data = upgraded(json.loads(text))
        validate(data)
        return _plan(data)


def upgraded(data: Any) -> Any:
    """A plan of an earlier version as one of this version; one of a later version, or of none, is refused.

    Version 1 had no schedules: its launches are contiguous runs in row order over a whole grid.
    Version 2 had the line map in its launches; it is a file of its own now (line_map.py), and nothing runs by it.
    Version 3 had no blocks that compute finds in a shard where sizes of the call allow it.
    """
    version = data.get("schema") if isinstance(data, dict) else None
    if version == SCHEMA_VERSION:
        return data
    if version not in (1, 2, 3):
        raise ArgumentError(
            "TT317",
            f"this is no plan of version 1 to {SCHEMA_VERSION}: its 'schema' is {version!r}",
            help="compile the kernel again, with this version of tilelang-tt",
        )
    added: dict[str, Any] = {}
    if version == 1:
        added |= {"blocks": None, "order": "row", "panel": 0, "core_ranges": [], "core_order": "row"}
        added |= {"pieces": None, "unit_lists": []}
    launches = [{**launch, **added} for launch in data["launches"]]
    for launch in launches:
        launch.pop("source_map", None)
    return {**data, "schema": SCHEMA_VERSION, "launches": launches}


_Value = Any  # a number, or an array of them
_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, Callable[[int, int], int]] = {"min": min, "max": max}
_FUNCTIONS_OF_EACH: dict[str, Callable[[_Value, _Value], _Value]] = {"min": np.minimum, "max": np.maximum}


def evaluate(size: Size, sizes: Mapping[str, int]) -> int:
    """The value of a size expression for one call's sizes."""
    if isinstance(size, int):
        return size
    return int(_evaluate(parse_size(size), sizes))


def evaluate_each(size: Size, values: Mapping[str, int | np.ndarray[Any, np.dtype[np.int64]]]) -> _Value:
    """The values of a size expression where some names stand for many numbers."""
    return size if isinstance(size, int) else _evaluate(parse_size(size), values, _FUNCTIONS_OF_EACH)


def parse_size(size: str) -> ast.expr:
    """The expression a size stands for."""
    with _PARSING:
        return _parsed(size)


@cache
def _parsed(size: str) -> ast.expr:
    return ast.parse(size, mode="eval").body


_PARSING = Lock()  # ast.parse in several threads at once may fail (CPython 3.11: "recursion depth mismatch")


def _evaluate(
    node: ast.expr,
    sizes: Mapping[str, _Value],
    functions: Mapping[str, Callable[[_Value, _Value], _Value]] = _FUNCTIONS,
) -> _Value:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return sizes[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_evaluate(left, sizes, functions), _evaluate(right, sizes, functions))
        case ast.Call(func=ast.Name(id=name), args=[left, right]) if name in functions:
            return functions[name](_evaluate(left, sizes, functions), _evaluate(right, sizes, functions))
    raise ValueError(f"not a size expression: {ast.unparse(node)}")


@cache
def plan_schema() -> dict[str, Any]:
    text = resources.files("tilelang_tt.runtime").joinpath("plan.schema.json").read_text()
    schema: dict[str, Any] = json.loads(text)
    return schema


@cache
def _is_plan() -> Check:
    return checker(plan_schema())


def validate(data: Any) -> None:
    """Raise jsonschema.ValidationError when `data` is not a plan of this version."""
    if not _is_plan()(data):
        import jsonschema

        jsonschema.Draft202012Validator(plan_schema()).validate(data)


def _plain(value: Any) -> Any:
    """A plan, or a part of it, as JSON has it."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return {name: _plain(one) for name, one in vars(value).items()} if is_dataclass(value) else value


def _leave_out(data: dict[str, Any]) -> None:
    """Of what few plans have, nothing is said in others."""
    for tensor in data["tensors"]:
        if tensor["tile"] == [TILE, TILE]:
            del tensor["tile"]
    for launch in data["launches"]:
        args = [arg for kernel in launch["kernels"] for arg in kernel["runtime_args"]]
        for record, names in (
            (launch, ("deliveries", "match")),
            *((one, ("holders", "tensor")) for one in launch["deliveries"]),
            *((cb, ("block",)) for cb in launch["cbs"]),
            *((arg, ("delivery", "word", "turn", "moves", "block_pages", "shard_pages", "pitch")) for arg in args),
        ):
            for name in names:
                if record[name] in (None, []):
                    del record[name]
        open_blocks = [cb["block"] for cb in launch["cbs"] if "block" in cb]
        for block in (*open_blocks, *launch.get("match", {"places": []})["places"]):
            for name, usual in _USUAL_BLOCK.items():
                if block[name] == usual:
                    del block[name]


_USUAL_BLOCK = {"loops": [], "in_order": True, "found": False, "stored": False}


def _block(data: dict[str, Any] | None) -> BlockPlan | None:
    if data is None:
        return None
    loops = tuple(LoopPlan(**one) for one in data.get("loops", ()))
    return BlockPlan(**{**data, "indices": tuple(data["indices"]), "extents": tuple(data["extents"]), "loops": loops})


def _match(data: dict[str, Any] | None) -> MatchPlan | None:
    if data is None:
        return None
    return MatchPlan(tuple(block for one in data["places"] if (block := _block(one)) is not None), data["most"])


def _delivery(data: dict[str, Any]) -> DeliveryPlan:
    holders = tuple((x, y) for x, y in data.get("holders", ()))
    return DeliveryPlan(**{**data, "extents": tuple(data["extents"]), "axes": tuple(data["axes"]), "holders": holders})


def _tensor(data: dict[str, Any]) -> TensorPlan:
    windows = {side: WindowPlan(**data[side]) if data[side] else None for side in ("row_window", "col_window")}
    fold = tuple(FoldPlan(**one) for one in data["fold"]) if data["fold"] else None
    shards = data["shards"]
    if shards is not None:
        cores = tuple((x, y) for x, y in shards["cores"])
        shards = ShardPlan(tuple(shards["pages"]), tuple(shards["shape"]), cores)
    return TensorPlan(**{**data, **windows, "fold": fold, "shards": shards, **_tile(data)})


def _tile(data: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    return {"tile": tuple(data["tile"])} if "tile" in data else {}


def _range(data: dict[str, Any]) -> CoreRange:
    return CoreRange(**{**data, "origin": tuple(data["origin"])})


def _pieces(data: dict[str, Any] | None) -> Pieces | None:
    if data is None:
        return None
    (across, down), (columns, rows) = data["blocks"], data["counts"]
    return Pieces((across, down), (columns, rows), tuple((x, y) for x, y in data["cores"]))


def _plan(data: dict[str, Any]) -> Plan:
    launches = tuple(
        LaunchPlan(
            **{
                **launch,
                "grid": tuple(launch["grid"]),
                "kernels": tuple(
                    KernelPlan(
                        kernel["role"],
                        kernel["source"],
                        tuple(CompileArg(**arg) for arg in kernel["compile_time_args"]),
                        tuple(RuntimeArg(**arg) for arg in kernel["runtime_args"]),
                        kernel["scalar"],
                    )
                    for kernel in launch["kernels"]
                ),
                "cbs": tuple(CbPlan(**{**cb, "block": _block(cb.get("block"))}) for cb in launch["cbs"]),
                "semaphores": tuple(SemaphorePlan(**item) for item in launch["semaphores"]),
                "compute_config": ComputeConfig(**launch["compute_config"]),
                "blocks": None if launch["blocks"] is None else tuple(launch["blocks"]),
                "core_ranges": tuple(_range(one) for one in launch["core_ranges"]),
                "pieces": _pieces(launch["pieces"]),
                "unit_lists": tuple(map(tuple, launch["unit_lists"])),
                "deliveries": tuple(map(_delivery, launch.get("deliveries", ()))),
                "match": _match(launch.get("match")),
            }
        )
        for launch in data["launches"]
    )
    return Plan(
        **{
            **data,
            "sizes": tuple(data["sizes"]),
            "params": tuple(Param(**{**param, "shape": tuple(param["shape"])}) for param in data["params"]),
            "tensors": tuple(_tensor(tensor) for tensor in data["tensors"]),
            "launches": launches,
            "assertions": tuple(
                AssertionPlan(**{**item, "dtypes": tuple(item["dtypes"])}) for item in data.get("assertions", ())
            ),
        }
    )
