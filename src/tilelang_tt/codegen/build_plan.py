"""Write down the launch plan of a compiled program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from tilelang_tt.deliveries import DELIVERY_WORDS, OWNER_WORDS
from tilelang_tt.diagnostics import Location
from tilelang_tt.formats import element_bits
from tilelang_tt.ir import scalar, scalar_text
from tilelang_tt.ir.alike import axes_of
from tilelang_tt.ir.buffers import Buffer, Tensor, TileAccess
from tilelang_tt.ir.code import Check, Code, used_tensors
from tilelang_tt.ir.dataflow import places
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.kernel import Arg, ArgKind, Kernel, KernelSet
from tilelang_tt.ir.layout import DeviceMemory, Placement, Role, Window
from tilelang_tt.ir.movement import ReadRow, ReadTable, ReadTile, Send, WriteRow, WriteTile
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.shard_places import Rounds, at_ends_of_loops, rounds_that_count, tile_in_pages
from tilelang_tt.ir.tensors_of_code import elements
from tilelang_tt.ir.tile import Launch, Load, ScalarParam, Store, TileProgram
from tilelang_tt.runtime.plan import (
    Access,
    AnyShare,
    AssertionPlan,
    BlockPlan,
    CbPlan,
    CompileArg,
    ComputeConfig,
    DeliveryPlan,
    FoldPlan,
    KernelPlan,
    LaunchPlan,
    LoopPlan,
    MatchPlan,
    Param,
    Plan,
    RuntimeArg,
    SemaphorePlan,
    ShardPlan,
    Size,
    TensorPlan,
    WindowPlan,
)
from tilelang_tt.schedule import Matched


def build_plan(
    program: TileProgram,
    sets: tuple[KernelSet, ...],
    sources: dict[tuple[int, Role], str],
    generator: str,
) -> Plan:
    options = program.options
    return Plan(
        name=program.name,
        arch=options.arch,
        sdk=options.sdk,
        numerics=options.numerics,
        device=options.device,
        sizes=tuple(str(var.name) for var in program.sizes),
        params=tuple(_param(param, sets) for param in program.params),
        tensors=tuple(
            _tensor(program, tensor, "write" in accesses)
            for tensor in (*program.tensors, *program.views)
            if tensor in program.layouts and (accesses := _accesses(sets, tensor))
        ),
        launches=tuple(_launch(kernels, index, sources) for index, kernels in enumerate(sets)),
        generator=generator,
        assertions=tuple(found for kernels in sets for found in _assertions(kernels)),
    )


def _assertions(kernels: KernelSet) -> list[AssertionPlan]:
    """Those of a launch, in the order in which each piece of scalar code numbers them."""
    codes = (stmt for kernel in kernels.kernels for stmt in walk(kernel.body) if isinstance(stmt, Code))
    found: list[AssertionPlan] = []
    for code in codes:
        checks = [stmt for stmt in walk(code.body) if isinstance(stmt, Check)]
        for number, stmt in enumerate(checks, 1):
            assert stmt.record is not None
            location, tensor = stmt.location or Location("", 0), stmt.record.source.name
            dtypes = tuple(value.dtype for value in stmt.values)
            found.append(AssertionPlan(tensor, number, stmt.text, dtypes, location.file, location.line))
    return found


def size(expr: Expr) -> Size:
    """A number, or Python text over the plan's sizes."""
    value = scalar.int_value(expr)
    return scalar_text.to_python(expr) if value is None else value


def _accesses(sets: tuple[KernelSet, ...], tensor: Tensor) -> set[Literal["read", "write"]]:
    found: set[Literal["read", "write"]] = set()
    for kernels in sets:
        in_place = (cb for cb in kernels.all_cbs if cb.shard is tensor)
        found.update("write" if cb.producer is Role.COMPUTE else "read" for cb in in_place)
        for kernel in kernels.kernels:
            for stmt in walk(kernel.body):
                if isinstance(stmt, ReadTile | ReadRow) and stmt.tensor is tensor:
                    found.add("read")
                if isinstance(stmt, Send) and stmt.shard is not None and stmt.shard.tensor is tensor:
                    found.add("read")
                if isinstance(stmt, ReadTable) and stmt.page is not None and stmt.table is tensor:
                    found.add("read")
                if isinstance(stmt, WriteTile | WriteRow) and stmt.tensor is tensor:
                    found.add("write")
                if isinstance(stmt, Code):
                    found |= _accesses_of_code(stmt, elements(kernels.program), tensor)
    return found


def _accesses_of_code(code: Code, lying: Mapping[int, Tensor], tensor: Tensor) -> set[Literal["read", "write"]]:
    """What it does not write stays as the host sent it, so that is read."""
    found: set[Literal["read", "write"]] = set()
    for used, written in used_tensors(code).items():
        if lying[used.param] is tensor:
            found |= {"read", "write"} if written else {"read"}
    return found


def _param(param: Tensor | ScalarParam, sets: tuple[KernelSet, ...]) -> Param:
    if isinstance(param, ScalarParam):
        return Param(param.name, "scalar", param.dtype)
    views = [view for view in (sets[0].program.views if sets else ()) if view.param == param.param]
    accesses = {access for tensor in (param, *views) for access in _accesses(sets, tensor)}
    access: Access = "read_write" if len(accesses) == 2 else accesses.pop() if accesses else "unused"
    return Param(param.name, "tensor", param.dtype, tuple(map(size, _given(param))), access, param.workspace)


def _given(tensor: Tensor) -> tuple[Expr, ...]:
    """The shape in which a call gives a tensor: of elements below a byte, several are one along the last axis."""
    bits = element_bits(tensor.dtype)
    if bits >= 8 or not tensor.shape:
        return tensor.shape
    return (*tensor.shape[:-1], scalar.floordiv(tensor.shape[-1], 8 // bits))


def _tensor(program: TileProgram, tensor: Tensor, written: bool) -> TensorPlan:
    layout = program.layouts[tensor]
    high, wide = layout.page_grid
    return TensorPlan(
        tensor.name,
        tensor.param,
        layout.format,
        layout.page_bytes,
        layout.row_axis,
        layout.col_axis,
        size(high),
        size(wide),
        size(layout.batch),
        by_rows=layout.by_rows,
        table=layout.table,
        flat=layout.flat,
        row_window=_window(layout.row_window),
        col_window=_window(layout.col_window),
        fold=tuple(FoldPlan(fold.axis, fold.width) for fold in tensor.folds) or None,
        view=tensor in program.views and not written,
        memory="l1" if layout.placement and layout.placement.memory is DeviceMemory.L1 else "dram",
        shards=_shards(layout.placement),
        tile=layout.tile_shape,
    )


def _shards(placement: Placement | None) -> ShardPlan | None:
    if placement is None or not placement.is_sharded:
        return None
    (count, rows, cols), (deep, high, wide) = (tuple(map(size, sides)) for sides in (placement.pages, placement.shard))
    return ShardPlan((count, rows, cols), (deep, high, wide), placement.cores)


def _window(window: Window | None) -> WindowPlan | None:
    return None if window is None else WindowPlan(window.step, window.extent, window.before)


def _launch(kernels: KernelSet, index: int, sources: dict[tuple[int, Role], str]) -> LaunchPlan:
    work, options = kernels.launch.work, kernels.program.options
    assert work is not None
    schedule, extents = work.schedule, [extent for _, extent in kernels.launch.blocks]
    blocks = _blocks_at_call(kernels)
    return LaunchPlan(
        name=kernels.launch.name,
        grid=work.grid,
        units=size(work.units),
        policy=schedule.policy,
        kernels=tuple(_kernel(kernel, sources[index, kernel.role]) for kernel in kernels.kernels),
        cbs=tuple(
            CbPlan(
                cb.id,
                cb.name,
                cb.format,
                cb.page_bytes,
                cb.pages,
                cb.producer.value,
                cb.consumer.value,
                cb.unpack_to_dest,
                cb.shares,
                None if cb.shard is None else cb.shard.name,
                blocks.get(cb.id),
            )
            for cb in sorted(kernels.all_cbs, key=lambda cb: cb.id)
        ),
        compute_config=ComputeConfig(
            math_fidelity=options.math_fidelity,
            fp32_dest_acc_en=options.fp32_acc,
        ),
        blocks=(size(scalar.product(extents[:1])), size(scalar.product(extents[1:]))),
        order=schedule.order,
        panel=schedule.panel,
        core_ranges=schedule.ranges,
        core_order=schedule.core_order,
        pieces=schedule.pieces,
        unit_lists=schedule.lists,
        semaphores=_semaphores(kernels),
        deliveries=_deliveries(kernels),
        match=None if schedule.matched is None else _match(kernels, schedule.matched),
    )


def _blocks_at_call(kernels: KernelSet) -> dict[int, BlockPlan]:
    """Blocks that lie in shards if a call's sizes allow it, by the number of their circular buffer."""
    launch, found = kernels.launch, dict[int, BlockPlan]()
    for place in places(launch.body):
        stmt = place.stmt
        if isinstance(stmt, Load | Store):
            buffer, access = (stmt.dst, stmt.src) if isinstance(stmt, Load) else (stmt.src, stmt.dst)
            stream = launch.streams[buffer]
            if stream.shard_at_call is not None:
                stored = isinstance(stmt, Store)
                loops = tuple((loop.var, loop.extent) for loop in place.loops)
                block = replace(
                    _block(kernels.program, launch, access),
                    loops=_loops(loops if stored else rounds_that_count(access, loops)),
                    in_order=stream.in_order_at_call,
                    found=stream.found_at_call,
                    stored=stored,
                )
                found[kernels.cbs[buffer].id] = block
    return found


def _loops(loops: Rounds) -> tuple[LoopPlan, ...]:
    return tuple(LoopPlan(str(var.name), size(extent)) for var, extent in loops)


def _block(program: TileProgram, launch: Launch, access: TileAccess) -> BlockPlan:
    batch, row, col = (size(scalar.simplify(side)) for side in tile_in_pages(program.layouts[access.tensor], access))
    names = tuple(str(var.name) for var, _ in launch.blocks)
    extents = tuple(size(extent) for _, extent in launch.blocks)
    return BlockPlan(access.tensor.name, names, extents, batch, row, col, access.rows, access.cols)


def _match(kernels: KernelSet, matched: Matched) -> MatchPlan | None:
    """None: the kernels do not use the tensor after all."""
    tensor = next(tensor for tensor in kernels.program.tensors if tensor.name == matched.tensor)
    found = at_ends_of_loops(kernels.launch, tensor)
    blocks = tuple(_block(kernels.program, kernels.launch, access) for access in found)
    return MatchPlan(blocks, matched.most) if found else None


def _semaphores(kernels: KernelSet) -> tuple[SemaphorePlan, ...]:
    """A sender's own `valid` is what it sends; a receiver clears its own before it asks."""
    shared = [cb for cb in kernels.all_cbs if cb.ready is not None and cb.valid is not None]
    return tuple(one for cb in shared for one in (SemaphorePlan(cb.ready or 0), SemaphorePlan(cb.valid or 0, 1)))


def _deliveries(kernels: KernelSet) -> tuple[DeliveryPlan, ...]:
    launch, found = kernels.launch, []
    for buffer, cb in kernels.cbs.items():
        follows = launch.streams[buffer].follows if buffer in launch.streams else None
        if follows is not None and cb.ready is not None and cb.valid is not None:
            extents = tuple(size(extent) for _, extent in launch.blocks)
            owners, axes = launch.streams[buffer].owners, axes_of(launch, follows)
            holders = () if owners is None else owners.cores
            tensor = None if owners is None else _loaded(launch, buffer).name
            found.append(DeliveryPlan(cb.name, extents, axes, cb.ready, cb.valid, tensor, holders))
    return tuple(found)


def _loaded(launch: Launch, buffer: Buffer) -> Tensor:
    """The tensor whose blocks a buffer takes."""
    return next(stmt.src.tensor for stmt in walk(launch.body) if isinstance(stmt, Load) and stmt.dst is buffer)


def _kernel(kernel: Kernel, source: str) -> KernelPlan:
    return KernelPlan(
        kernel.role.value,
        source,
        tuple(CompileArg(tensor.name, accessor=tensor.name) for tensor in kernel.tensors),
        tuple(word for arg in kernel.args for word in _runtime_args(arg)),
        any(isinstance(stmt, Code) for stmt in walk(kernel.body)),
    )


def _runtime_args(arg: Arg) -> tuple[RuntimeArg, ...]:
    if arg.kind is not ArgKind.DELIVERY:
        return (_runtime_arg(arg),)
    if not arg.owners:
        return tuple(RuntimeArg(f"{arg.name}_{word}", delivery=arg.name, word=word) for word in DELIVERY_WORDS)
    own = (RuntimeArg(f"{arg.name}_{word}", delivery=arg.name, word=word) for word in OWNER_WORDS)
    owners = (
        RuntimeArg(f"{arg.name}_owner_{turn}", delivery=arg.name, word="owner", turn=turn) for turn in range(arg.owners)
    )
    return (*own, *owners)


def _runtime_arg(arg: Arg) -> RuntimeArg:
    if arg.kind is ArgKind.ADDRESS:
        assert arg.tensor is not None
        return RuntimeArg(arg.name, address=arg.tensor.name)
    if arg.kind is ArgKind.SIZE:
        assert arg.size is not None
        return RuntimeArg(arg.name, size=size(arg.size))
    if arg.kind is ArgKind.MOVES:
        return RuntimeArg(f"{arg.name}_moves", moves=arg.name)
    if arg.kind is ArgKind.BLOCK_PAGES:
        return RuntimeArg(f"{arg.name}_block_pages", block_pages=arg.name)
    if arg.kind is ArgKind.SHARD_PAGES:
        return RuntimeArg(f"{arg.name}_shard_pages", shard_pages=arg.name)
    if arg.kind is ArgKind.PITCH:
        return RuntimeArg(f"{arg.name}_pitch", pitch=arg.name)
    if arg.kind is ArgKind.SCALAR:
        return RuntimeArg(arg.name, scalar=arg.name)
    return RuntimeArg(arg.name, work=_WORDS[arg.kind])


_WORDS: dict[ArgKind, AnyShare] = {
    ArgKind.START: "start",
    ArgKind.COUNT: "count",
    ArgKind.FIRST_COLUMN: "first_column",
    ArgKind.COLUMNS: "columns",
    ArgKind.FIRST_ROW: "first_row",
    ArgKind.ROWS: "rows",
    ArgKind.UNITS: "units",
    ArgKind.UNITS_ADDRESS: "units_address",
}
