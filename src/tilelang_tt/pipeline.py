"""The whole compiler, in order. Read this first.

    PrimFunc --lift--> TileProgram --A, B, C--> TileProgram --D--> KernelSet --E, F--> KernelSet --print--> files

Each line below is one pass in one file; `explain` shows the program after each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilelang_tt import costs
from tilelang_tt.codegen.compute import print_compute
from tilelang_tt.codegen.dataflow import print_dataflow
from tilelang_tt.codegen.host import host_program
from tilelang_tt.codegen.plan import build_plan
from tilelang_tt.compiled import PLAN_FILE, Compiled
from tilelang_tt.frontend.lift import lift
from tilelang_tt.ir.kernel import KernelSet
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.text_kernel import kernel_text
from tilelang_tt.ir.text_tile import tile_text
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.options import Options
from tilelang_tt.passes.a_metadata.align_operands import align_operands
from tilelang_tt.passes.a_metadata.attach_tensor_accessors import attach_tensor_accessors
from tilelang_tt.passes.a_metadata.fold_vectors import fold_vectors
from tilelang_tt.passes.a_metadata.infer_layout import infer_layout
from tilelang_tt.passes.a_metadata.keep_last_bits import keep_last_bits
from tilelang_tt.passes.a_metadata.propagate_layout import propagate_layout
from tilelang_tt.passes.a_metadata.separate_views import separate_views
from tilelang_tt.passes.b_partition.map_grid_to_cores import map_grid_to_cores
from tilelang_tt.passes.b_partition.partition_work import partition_work
from tilelang_tt.passes.c_tile.build_tile_dfg import build_tile_dfg
from tilelang_tt.passes.c_tile.choose_engine import choose_engine
from tilelang_tt.passes.c_tile.complete_parts import complete_parts
from tilelang_tt.passes.c_tile.drop_dead_writes import drop_dead_writes
from tilelang_tt.passes.c_tile.factor_numbers import factor_numbers
from tilelang_tt.passes.c_tile.fold_clear import fold_clear
from tilelang_tt.passes.c_tile.fuse_maps import fuse_maps
from tilelang_tt.passes.c_tile.join_maps import join_maps
from tilelang_tt.passes.c_tile.keep_first_rows import keep_first_rows
from tilelang_tt.passes.c_tile.keep_in_dst import keep_in_dst
from tilelang_tt.passes.c_tile.load_once import load_once
from tilelang_tt.passes.c_tile.lower_positions import lower_positions
from tilelang_tt.passes.c_tile.lower_reductions import lower_reductions
from tilelang_tt.passes.c_tile.lower_shared_to_cb import lower_shared_to_cb
from tilelang_tt.passes.c_tile.lower_tile_intrinsics import lower_tile_intrinsics
from tilelang_tt.passes.c_tile.mask_padding import mask_padding
from tilelang_tt.passes.c_tile.preload import preload
from tilelang_tt.passes.c_tile.separate_roles import separate_roles
from tilelang_tt.passes.c_tile.skip_first_rounds import skip_first_rounds
from tilelang_tt.passes.c_tile.split_expressions import split_expressions
from tilelang_tt.passes.d_split.configure_tensor_accessors import configure_tensor_accessors
from tilelang_tt.passes.d_split.insert_compute_init import insert_compute_init
from tilelang_tt.passes.d_split.insert_dst_management import insert_dst_management
from tilelang_tt.passes.d_split.load_tables import load_tables
from tilelang_tt.passes.d_split.lower_cb_intrinsics import lower_cb_intrinsics
from tilelang_tt.passes.d_split.lower_compute_tasks import lower_compute_tasks
from tilelang_tt.passes.d_split.rotate_pools import rotate_pools
from tilelang_tt.passes.d_split.separate_vector_inits import separate_vector_inits
from tilelang_tt.passes.d_split.split_device_kernel import split_device_kernel
from tilelang_tt.passes.e_finalize.finalize_persistent_signature import finalize_persistent_signature
from tilelang_tt.passes.f_verify.verify_kernels import verify_kernels
from tilelang_tt.passes.f_verify.verify_program import verify_program
from tilelang_tt.passes.fit_l1.fit_l1 import fit_l1
from tilelang_tt.passes.fit_l1.share_buffers import share_buffers
from tilelang_tt.runtime.plan import SourceLine
from tilelang_tt.version import __version__

TilePass = Callable[[TileProgram], TileProgram]

PLACING_PASSES: tuple[TilePass, ...] = (
    # A  metadata: where tensors and buffers lie
    fold_vectors,
    separate_views,
    infer_layout,
    propagate_layout,
    attach_tensor_accessors,
    keep_last_bits,
    align_operands,
    # B  partition: which core does what
    partition_work,
    map_grid_to_cores,
)

BLOCK_PASSES: tuple[TilePass, ...] = (
    # C  tile lowering: still one body, no protocol, no roles. Which blocks there are is settled here: `fit_l1`
    complete_parts,
    drop_dead_writes,
    mask_padding,
    lower_positions,
    lower_reductions,
    factor_numbers,
    separate_roles,
    fuse_maps,
    split_expressions,
    join_maps,
    skip_first_rounds,
    fold_clear,
    preload,
    lower_shared_to_cb,
    lower_tile_intrinsics,
    keep_in_dst,
    share_buffers,
)

ENGINE_PASSES: tuple[TilePass, ...] = (
    # C  with the blocks settled
    load_once,
    keep_first_rows,
    choose_engine,
    build_tile_dfg,
)

TILE_PASSES = (*PLACING_PASSES, *BLOCK_PASSES, *ENGINE_PASSES)

KERNEL_PASSES: tuple[Callable[[KernelSet], KernelSet], ...] = (
    # D  split and protocol
    lower_cb_intrinsics,
    configure_tensor_accessors,
    lower_compute_tasks,
    rotate_pools,
    insert_compute_init,
    insert_dst_management,
    separate_vector_inits,
    load_tables,
    # E  finalize
    finalize_persistent_signature,
)

Snapshot = Callable[[str, TileProgram | tuple[KernelSet, ...]], None]


def run_passes(func: Any, options: Options, snapshot: Snapshot) -> tuple[TileProgram, tuple[KernelSet, ...]]:
    """Every stage in order; `snapshot` sees the program after each."""
    program = lift(func, options)
    snapshot("lift", program)
    program = _through(PLACING_PASSES, program, snapshot)
    steps: list[tuple[str, TileProgram]] = []  # of the way to write the program that fits

    def settled(way: TileProgram) -> TileProgram:
        steps[:] = [("fit_l1", way)] if way is not program else []
        return _through(BLOCK_PASSES, way, lambda name, state: steps.append((name, state)))

    fitting = fit_l1(program, settled)
    for name, state in steps:
        snapshot(name, state)
    program = _through(ENGINE_PASSES, fitting, snapshot)
    sets = split_device_kernel(program)
    snapshot("split_device_kernel", sets)
    for kernel_pass in KERNEL_PASSES:
        sets = tuple(kernel_pass(kernels) for kernels in sets)
        snapshot(kernel_pass.__name__, sets)
    for kernels in sets:
        verify_kernels(kernels)  # F, never optional
    return program, sets


def _through(
    passes: tuple[TilePass, ...], program: TileProgram, snapshot: Callable[[str, TileProgram], None]
) -> TileProgram:
    for tile_pass in passes:
        program = tile_pass(program)
        verify_program(program, tile_pass.__name__)
        snapshot(tile_pass.__name__, program)
    return program


def compile_function(func: Any, options: Options, *, stages: bool = False) -> Compiled:
    """Compile one TileLang function, as the user wrote it, to the five files."""
    texts: list[tuple[str, str]] = []

    def snapshot(name: str, state: TileProgram | tuple[KernelSet, ...]) -> None:
        if stages:
            text = tile_text(state) if isinstance(state, TileProgram) else "\n".join(map(kernel_text, state))
            texts.append((name, text))

    program, sets = run_passes(func, options, snapshot)
    decisions = (
        *program.decisions,
        *(decision for kernels in sets for decision in kernels.decisions),
        *(costs.describe(kernels, counted=stages) for kernels in sets),
    )
    return Compiled(program.name, print_files(program, sets), decisions, tuple(texts))


def print_files(program: TileProgram, sets: tuple[KernelSet, ...]) -> dict[str, str]:
    """reader.cpp, compute.cpp, writer.cpp of each launch, main.cpp and the plan."""
    files: dict[str, str] = {}
    names: dict[tuple[int, Role], str] = {}
    source_map: dict[int, tuple[SourceLine, ...]] = {}
    for index, kernels in enumerate(sets):
        prefix = f"{kernels.launch.name}_" if len(sets) > 1 else ""
        lines: list[SourceLine] = []
        for kernel in kernels.kernels:
            file = f"{prefix}{kernel.role.value}.cpp"
            title = f"{kernel.role.value} of '{kernels.launch.name}' for {program.options.chip.title}"
            if kernel.role is Role.COMPUTE:
                printer = print_compute(kernel, file, title, program.options)
            else:
                printer = print_dataflow(kernel, file, title)
            files[file] = printer.text
            names[index, kernel.role] = file
            lines += printer.source_map
        source_map[index] = tuple(lines)
    plan = build_plan(program, sets, names, source_map, f"tilelang-tt {__version__}")
    files["main.cpp"] = host_program(plan)
    files[PLAN_FILE] = plan.to_json()
    return files
