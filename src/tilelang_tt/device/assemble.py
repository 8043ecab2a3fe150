"""From a ProgramDescriptor to what the device runs, with the limits of the chip checked.

kernels, buffers, semaphores on ranges of cores  ->  groups of cores that have the same of each
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tilelang_tt.arch import MAX_CB_PAGES, MAX_RUNTIME_ARGS
from tilelang_tt.device.bindings import bind
from tilelang_tt.device.cores import CoreCoord, Cores, cores_of
from tilelang_tt.device.descriptors import (
    CBDescriptor,
    CBFormatDescriptor,
    ComputeConfigDescriptor,
    KernelDescriptor,
    ProgramDescriptor,
    ReaderConfigDescriptor,
    SemaphoreDescriptor,
    SourceKind,
    UnpackToDestMode,
    WriterConfigDescriptor,
)
from tilelang_tt.device.entry import with_entry
from tilelang_tt.device.memory import Layout
from tilelang_tt.device.tensor import shard_bytes
from tilelang_tt.diagnostics import ArgumentError, DeviceError
from tilelang_tt.runtime.formats import FORMATS, tile_bytes
from tilelang_tt.runtime.plan import ComputeConfig, Role
from tilelang_tt.runtime.program import BufferRun, CoreRun, GroupRun, KernelRun, L1Address, LaunchRun, round_up

if TYPE_CHECKING:
    from tilelang_tt.device.opened import Device

MAX_SEMAPHORES = 16  # NUM_SEMAPHORES of the SDK
TILE_SHAPES = [(rows, cols) for rows in (1, 2, 4, 8, 16, 32) for cols in (16, 32)]


def assemble(program: ProgramDescriptor, device: Device) -> LaunchRun:
    if not program.kernels:
        raise ArgumentError("TT321", f"program '{program.name}' has no kernels")
    kernels = [_kernel(kernel, device) for kernel in program.kernels]
    buffers = _place_buffers(program.cbs, device)
    semaphores = [_semaphore(item, device) for item in program.semaphores]
    core_sets = (
        [item.cores for item in kernels],
        [item.cores for item in buffers],
        [item.cores for item in semaphores],
    )
    groups: dict[tuple[tuple[int, ...], ...], list[CoreCoord]] = {}
    for core in sorted({core for kernel in kernels for core in kernel.cores}, key=lambda core: (core.y, core.x)):
        key = tuple(tuple(number for number, cores in enumerate(sets) if core in cores) for sets in core_sets)
        groups.setdefault(key, []).append(core)
    return LaunchRun(
        program.name,
        tuple(
            _group(
                cores,
                [kernels[number] for number in key[0]],
                [buffers[number] for number in key[1]],
                [semaphores[number] for number in key[2]],
            )
            for key, cores in groups.items()
        ),
    )


@dataclass(frozen=True)
class _Kernel:
    run: KernelRun
    cores: frozenset[CoreCoord]
    args: dict[CoreCoord, tuple[int, ...]]
    config: ComputeConfigDescriptor | None


@dataclass(frozen=True)
class _Buffer:
    descriptor: CBDescriptor
    cores: frozenset[CoreCoord]
    offset: int
    numerics: str
    on_shards: bool = False  # of the descriptor's tensor


@dataclass(frozen=True)
class _Semaphore:
    id: int
    initial: int
    cores: frozenset[CoreCoord]


def _group(
    cores: Iterable[CoreCoord], kernels: list[_Kernel], buffers: list[_Buffer], semaphores: list[_Semaphore]
) -> GroupRun:
    first = next(iter(cores))
    by_role: dict[Role, _Kernel] = {}
    for kernel in kernels:
        other = by_role.setdefault(kernel.run.role, kernel)
        if other is not kernel:
            raise ArgumentError(
                "TT321",
                f"kernels {other.run.file} and {kernel.run.file} are both on the {_processor(kernel.run.role)} "
                f"of core {tuple(first)}",
            )
    movers = [by_role[role] for role in ("reader", "writer") if role in by_role]
    if len(movers) == 2 and movers[0].run.noc == movers[1].run.noc:
        raise ArgumentError(
            "TT321",
            f"kernels {movers[0].run.file} and {movers[1].run.file} both use NoC {movers[0].run.noc} "
            f"on core {tuple(first)}",
            help="each of the two data movement processors needs a NoC of its own",
        )
    _refuse_twice("semaphore", [item.id for item in semaphores], first)
    compute = by_role["compute"].config if "compute" in by_role else None
    runs = [_buffer(buffer, item, compute) for buffer in buffers for item in buffer.descriptor.format_descriptors]
    _refuse_twice("CB", [run.id for run in runs], first)
    return GroupRun(
        tuple(
            CoreRun(core.x, core.y, {role: kernel.args.get(core, ()) for role, kernel in by_role.items()})
            for core in cores
        ),
        {role: kernel.run for role, kernel in by_role.items()},
        tuple(runs),
        tuple((item.id, item.initial) for item in semaphores),
        _compute_config(compute),
    )


def _processor(role: Role) -> str:
    return {"reader": "processor RISCV_1", "writer": "processor RISCV_0", "compute": "compute processors"}[role]


def _refuse_twice(what: str, ids: list[int], core: CoreCoord) -> None:
    for number in ids:
        if ids.count(number) > 1:
            raise ArgumentError("TT321", f"{what} {number} is described twice for core {tuple(core)}")


def _cores(cores: Cores, what: str, device: Device) -> frozenset[CoreCoord]:
    listed = cores_of(cores)
    for core in listed:
        if not (0 <= core.x < device.grid[0] and 0 <= core.y < device.grid[1]):
            raise ArgumentError(
                "TT321", f"{what}: core {tuple(core)} lies outside the {device.grid[0]} x {device.grid[1]} grid"
            )
    return frozenset(listed)


def _kernel(kernel: KernelDescriptor, device: Device) -> _Kernel:
    file, text, directories = _source(kernel)
    config = kernel.config
    if isinstance(config, ComputeConfigDescriptor):
        role, noc, compute = "compute", 0, config
    else:
        role, noc, compute = ("writer", "reader")[config.processor], int(config.noc), None
    cores = _cores(kernel.core_ranges, f"kernel {file}", device)
    args: dict[CoreCoord, tuple[int, ...]] = {}
    for core, values in kernel.args_by_core().items():
        if core not in cores:
            raise ArgumentError("TT321", f"kernel {file} has arguments for core {tuple(core)}, where it does not run")
        args[core] = _words(values, f"runtime argument of kernel {file} on core {tuple(core)}", MAX_RUNTIME_ARGS)
    bound = bind(kernel, file)
    run = KernelRun(
        role=role,  # type: ignore[arg-type]
        file=file,
        text=with_entry(text, kernel.bindings, file),
        noc=noc,
        compile_args=_words(bound.compile_time_args, f"compile-time argument of kernel {file}"),
        named_args=tuple(
            zip(
                (name for name, _ in kernel.named_compile_time_args),
                _words([value for _, value in kernel.named_compile_time_args], f"named argument of kernel {file}"),
                strict=True,
            )
        ),
        defines=tuple((name, str(value)) for name, value in kernel.defines),
        common_args=_words(bound.common_runtime_args, f"common argument of kernel {file}", MAX_RUNTIME_ARGS),
        include_dirs=directories,
        declarations=bound.declarations,
    )
    return _Kernel(run, cores, args, compute)


def _source(kernel: KernelDescriptor) -> tuple[str, str, tuple[Path, ...]]:
    """File name, text, and where its own headers are looked for."""
    directories = tuple(Path(path) for path in kernel.compiler_include_paths)
    if kernel.source_type is SourceKind.SOURCE_CODE:
        names = {ComputeConfigDescriptor: "compute", ReaderConfigDescriptor: "reader", WriterConfigDescriptor: "writer"}
        return f"{names.get(type(kernel.config), 'dataflow')}.cpp", str(kernel.kernel_source), directories
    path = Path(kernel.kernel_source)
    try:
        text = path.read_text()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ArgumentError("TT321", f"kernel source {path} cannot be read: {reason}") from error
    return path.name, text, (path.resolve().parent, *directories)


def _words(values: Sequence[int], what: str, limit: int | None = None) -> tuple[int, ...]:
    if limit is not None and len(values) > limit:
        raise DeviceError("TT410", f"{what}: {len(values)} of them; {limit} is the limit")
    words: list[int] = []
    for index, value in enumerate(values):
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise ArgumentError("TT321", f"{what} {index} is {value!r}: arguments are 32-bit words")
        number = value if isinstance(value, L1Address) else int(value)
        if not -(1 << 31) <= number < 1 << 32:
            raise ArgumentError("TT321", f"{what} {index} is {value}: it does not fit 32 bits")
        words.append(number if isinstance(number, L1Address) else number & 0xFFFFFFFF)
    return tuple(words)


def _semaphore(item: SemaphoreDescriptor, device: Device) -> _Semaphore:
    if not 0 <= item.id < MAX_SEMAPHORES:
        raise DeviceError("TT410", f"semaphore {item.id}: ids are 0 .. {MAX_SEMAPHORES - 1}")
    (initial,) = _words([item.initial_value], f"initial value of semaphore {item.id}")
    return _Semaphore(item.id, initial, _cores(item.core_ranges, f"semaphore {item.id}", device))


def _compute_config(config: ComputeConfigDescriptor | None) -> ComputeConfig:
    if config is None:
        return ComputeConfig(fp32_dest_acc_en=False)
    return ComputeConfig(
        config.math_fidelity.value, config.fp32_dest_acc_en, config.dst_full_sync_en, config.math_approx_mode
    )


def _place_buffers(cbs: Sequence[CBDescriptor], device: Device) -> list[_Buffer]:
    """Each buffer begins behind the furthest of its cores, so that it has one address on all of them."""
    ends: dict[CoreCoord, int] = {}
    declared: dict[CoreCoord, int] = {}
    placed: list[_Buffer] = []
    for cb in cbs:
        _check_buffer(cb, device)
        cores = _cores(cb.core_ranges, f"CB {cb.format_descriptors[0].buffer_index}", device)
        if cb.tensor is not None:
            placed += _on_tensor(cb, cores, device)
            continue
        offset = max(ends.get(core, device.arch.l1_base) for core in cores)
        placed.append(_Buffer(cb, cores, offset, device.numerics))
        size = max(
            _page_bytes(item, device.numerics) * (cb.total_size // item.page_size) for item in cb.format_descriptors
        )
        real = max(declared.get(core, device.arch.l1_base) for core in cores)
        for core in cores:
            ends[core] = round_up(offset + size)
            declared[core] = round_up(real + cb.total_size)
    _check_l1(cbs, declared, device)
    return placed


def _check_l1(cbs: Sequence[CBDescriptor], ends: dict[CoreCoord, int], device: Device) -> None:
    arch = device.arch
    tensors = device.l1_tensor_bytes()
    end = max(ends.values(), default=arch.l1_base)
    if end + tensors <= arch.l1_bytes:
        return
    budget = tuple(
        f"CB {', '.join(str(item.buffer_index) for item in cb.format_descriptors)}: {cb.total_size:,} B"
        for cb in cbs
        if cb.tensor is None
    )
    raise DeviceError(
        "TT410",
        f"circular buffers of {end - arch.l1_base:,} B and tensors of {tensors:,} B do not fit the L1 of a core; "
        f"{arch.title} has {arch.l1_usable:,} B",
        notes=budget,
    )


def _check_buffer(cb: CBDescriptor, device: Device) -> None:
    if not cb.format_descriptors:
        raise ArgumentError("TT321", "a CBDescriptor without format descriptors")
    for item in cb.format_descriptors:
        name = f"CB {item.buffer_index}"
        if not 0 <= item.buffer_index < device.arch.cb_count:
            raise DeviceError("TT410", f"{name}: {device.arch.title} has buffers 0 .. {device.arch.cb_count - 1}")
        if item.format not in FORMATS:
            raise ArgumentError(
                "TT321", f"{name}: unknown data format '{item.format}'", help=f"valid: {', '.join(FORMATS)}"
            )
        if item.tile not in TILE_SHAPES:
            raise ArgumentError(
                "TT321",
                f"{name}: tiles of {item.tile[0]} x {item.tile[1]}",
                help="a tile has 1, 2, 4, 8, 16 or 32 rows and 16 or 32 columns",
            )
        if item.page_size <= 0 or cb.total_size <= 0 or cb.total_size % item.page_size:
            raise ArgumentError("TT321", f"{name}: {cb.total_size} B are not a number of pages of {item.page_size} B")
        if cb.total_size // item.page_size > MAX_CB_PAGES:
            raise DeviceError("TT410", f"{name}: {cb.total_size // item.page_size} pages; {MAX_CB_PAGES} is the limit")


def _on_tensor(cb: CBDescriptor, cores: frozenset[CoreCoord], device: Device) -> list[_Buffer]:
    """On cores without a shard the buffer has the same address; what lies there belongs to no tensor.

    Kernels ask such a core for the address that the shards of other cores have.
    """
    offset = _offset_on_tensor(cb, device)
    assert cb.tensor is not None
    assert cb.tensor.placement is not None
    shards = cores & set(cb.tensor.placement.banks)
    parts = [(shards, True), (cores - shards, False)]
    return [_Buffer(cb, part, offset, device.numerics, on_shards) for part, on_shards in parts if part]


def _offset_on_tensor(cb: CBDescriptor, device: Device) -> int:
    tensor, name = cb.tensor, f"CB {cb.format_descriptors[0].buffer_index}"
    assert tensor is not None
    if tensor.device is not device or not tensor.live:
        raise ArgumentError("TT321", f"{name}: tensor '{tensor.name}' does not lie on this device")
    if tensor.run.memory != "l1" or tensor.placement is None:
        raise ArgumentError("TT321", f"{name}: tensor '{tensor.name}' is not sharded in L1")
    scale = tensor.buffer_page_size / tensor.declared_page_size
    if (cb.address_offset + cb.total_size) * scale > shard_bytes(tensor):
        raise ArgumentError(
            "TT321",
            f"{name}: {cb.total_size} B from byte {cb.address_offset} on do not fit the shards of tensor "
            f"'{tensor.name}', which have {int(shard_bytes(tensor) / scale)} B",
        )
    return tensor.run.address + int(cb.address_offset * scale)


def _stored(item: CBFormatDescriptor, numerics: str) -> str:
    """In exact numerics, buffers of whole tiles of floats hold Float32."""
    form = FORMATS[item.format]
    is_float = form.element is None or form.element.is_floating_point
    tiles = item.layout is Layout.TILE and item.page_size % tile_bytes(item.format, item.tile) == 0
    wide = numerics == "exact" and is_float and tiles
    return "Float32" if wide else item.format


def _page_bytes(item: CBFormatDescriptor, numerics: str) -> int:
    stored = _stored(item, numerics)
    return item.page_size * tile_bytes(stored, item.tile) // tile_bytes(item.format, item.tile)


def _buffer(buffer: _Buffer, item: CBFormatDescriptor, compute: ComputeConfigDescriptor | None) -> BufferRun:
    cb = buffer.descriptor
    numerics = buffer.numerics
    return BufferRun(
        id=item.buffer_index,
        name=cb.tensor.name if cb.tensor else f"cb{item.buffer_index}",
        format=item.format,
        stored=_stored(item, numerics),
        page_bytes=_page_bytes(item, numerics),
        pages=cb.total_size // item.page_size,
        offset=buffer.offset,
        unpack_to_dest=_to_dest(compute, item.buffer_index),
        on_tensor=buffer.on_shards,
        tile=item.tile,
    )


def _to_dest(compute: ComputeConfigDescriptor | None, cb: int) -> bool:
    if compute is None:
        return False
    modes = compute.unpack_to_dest_mode
    if isinstance(modes, Sequence):
        return cb < len(modes) and modes[cb] is UnpackToDestMode.UnpackToDestFp32
    return modes.get(cb) is UnpackToDestMode.UnpackToDestFp32
