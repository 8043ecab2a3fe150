"""The whole compiler, in order. Read this first.

    PrimFunc --lift--> TileProgram --A, B, C--> TileProgram --D--> KernelSet --E, F--> KernelSet --print--> files

Each row below is one pass in one file: its stage (A to E), what must hold before it and what holds after it. Stage F is
the verifier, which checks that. `explain` shows the program after each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import Any

from tilelang_tt import costs
from tilelang_tt.codegen.build_plan import build_plan
from tilelang_tt.codegen.code_kernel import is_code as has_code
from tilelang_tt.codegen.code_kernel import print_code
from tilelang_tt.codegen.compute import print_compute
from tilelang_tt.codegen.dataflow import print_dataflow
from tilelang_tt.codegen.host import host_program
from tilelang_tt.codegen.writer_with_code import print_writer_with_code
from tilelang_tt.compiled import PLAN_FILE, Compiled
from tilelang_tt.diagnostics import ResourceError, TargetError, UnsupportedError
from tilelang_tt.frontend.asked_schedules import by_line
from tilelang_tt.frontend.lift import lift
from tilelang_tt.frontend.lift_function import lift_function
from tilelang_tt.frontend.smaller_blocks import moves_as_much, smaller_blocks
from tilelang_tt.frontend.tir.cut_out_code import CannotCutError
from tilelang_tt.frontend.tir.select_launches import count_launches
from tilelang_tt.frontend.tir.take_annotations import take_annotations, with_annotations
from tilelang_tt.frontend.tir.with_all_launches import with_all_launches
from tilelang_tt.ir.kernel import KernelSet
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.tensors_of_code import codes_of, is_code
from tilelang_tt.ir.text_kernel import kernel_text
from tilelang_tt.ir.text_program import tile_text
from tilelang_tt.ir.tile import Launch, TileProgram
from tilelang_tt.options import Options
from tilelang_tt.passes.a_metadata.align_operands import align_operands
from tilelang_tt.passes.a_metadata.attach_tensor_accessors import attach_tensor_accessors
from tilelang_tt.passes.a_metadata.fold_vectors import fold_vectors
from tilelang_tt.passes.a_metadata.infer_layout import infer_layout
from tilelang_tt.passes.a_metadata.keep_last_bits import keep_last_bits
from tilelang_tt.passes.a_metadata.legalize_types import legalize_types
from tilelang_tt.passes.a_metadata.place_tensors import NO_SHARDS, place_tensors
from tilelang_tt.passes.b_partition.choose_blocks import choose_blocks
from tilelang_tt.passes.b_partition.go_in_step import go_in_step
from tilelang_tt.passes.b_partition.partition_work import partition_work
from tilelang_tt.passes.b_partition.place_workspaces import left_in_dram, place_workspaces
from tilelang_tt.passes.b_partition.split_sums import split_sums
from tilelang_tt.passes.c_tile.complete_parts import complete_parts
from tilelang_tt.passes.c_tile.drop_dead_writes import drop_dead_writes
from tilelang_tt.passes.c_tile.fit_products import fit_products
from tilelang_tt.passes.c_tile.form_sections import form_sections
from tilelang_tt.passes.c_tile.load_less import load_less
from tilelang_tt.passes.c_tile.lower_positions import lower_positions
from tilelang_tt.passes.c_tile.lower_reductions import lower_reductions
from tilelang_tt.passes.c_tile.lower_shared_to_cb import lower_shared_to_cb
from tilelang_tt.passes.c_tile.mask_padding import mask_padding
from tilelang_tt.passes.c_tile.narrow_exact_blocks import narrow_exact_blocks
from tilelang_tt.passes.c_tile.order_transfers import order_transfers
from tilelang_tt.passes.c_tile.publish_blocks import publish_blocks
from tilelang_tt.passes.c_tile.schedule_sections import schedule_sections
from tilelang_tt.passes.c_tile.separate_roles import separate_roles
from tilelang_tt.passes.c_tile.start_sums import start_sums
from tilelang_tt.passes.c_tile.use_shards import use_shards
from tilelang_tt.passes.code.lay_flat import lay_flat
from tilelang_tt.passes.code.run_threads_in_turn import run_threads_in_turn
from tilelang_tt.passes.code.wait_for_shared_blocks import wait_for_shared_blocks
from tilelang_tt.passes.code.warn_of_scalar_code import (
    NO_CODE,
    Refusal,
    ScalarCode,
    warn_of_scalar_code,
)
from tilelang_tt.passes.d_split.configure_tensor_accessors import configure_tensor_accessors
from tilelang_tt.passes.d_split.insert_engine_calls import insert_engine_calls
from tilelang_tt.passes.d_split.load_tables import load_tables
from tilelang_tt.passes.d_split.lower_cb_intrinsics import lower_cb_intrinsics
from tilelang_tt.passes.d_split.lower_compute_tasks import lower_compute_tasks
from tilelang_tt.passes.d_split.split_device_kernel import split_device_kernel
from tilelang_tt.passes.does_not_fit import DoesNotFitError
from tilelang_tt.passes.e_finalize.finalize_persistent_signature import finalize_persistent_signature
from tilelang_tt.passes.f_verify.verify_kernels import (
    DST_PROTOCOL,
    FINISHED,
    LIMITS,
    NO_MARKERS,
    NO_SECTIONS,
    NO_TASKS,
    OWN_STATEMENTS,
    TRANSFERS,
    VARIABLES,
)
from tilelang_tt.passes.f_verify.verify_program import (
    KNOWN_BUFFERS,
    LAYOUTS,
    LEGAL_TYPES,
    NO_COPIES,
    NO_ELEMENTS,
    NO_POSITIONS,
    NO_VIEWS,
    ONE_ROLE,
    PUBLISHED,
    SCHEDULES,
    STREAMS,
    SUB_BLOCKS,
    TYPES,
    UNITS,
)
from tilelang_tt.passes.fit_l1.change_that_fits import Change, listed, with_change_that_fits
from tilelang_tt.passes.fit_l1.fit_l1 import fit_l1, fits_as_written
from tilelang_tt.passes.fit_l1.share_buffers import share_buffers
from tilelang_tt.passes.raise_elements.compose_views import compose_views
from tilelang_tt.passes.raise_elements.expand_reductions import expand_reductions
from tilelang_tt.passes.raise_elements.fill_before_use import fill_before_use
from tilelang_tt.passes.raise_elements.narrow_int64 import narrow_int64
from tilelang_tt.passes.raise_elements.parallelize_loops import parallelize_loops
from tilelang_tt.passes.raise_elements.raise_products import raise_products
from tilelang_tt.passes.raise_elements.raise_to_tiles import raise_to_tiles
from tilelang_tt.passes.raise_elements.split_axes import split_axes
from tilelang_tt.passes.raise_elements.split_by_condition import split_by_condition
from tilelang_tt.passes.raise_elements.split_runs import split_runs
from tilelang_tt.passes.raise_elements.split_strides import split_strides
from tilelang_tt.passes.raise_elements.warn_of_rounds import warn_of_rounds
from tilelang_tt.passes.raise_elements.zero_tensor_tails import zero_tensor_tails
from tilelang_tt.passes.record import Kind, Pass, Stage, holding, verify
from tilelang_tt.runtime.line_map import LINES_FILE, SourceLine, lines_to_json
from tilelang_tt.scalar_code import Way, checked_assertions, ways, would_not_help
from tilelang_tt.schedule import Schedule
from tilelang_tt.version import __version__

R, A, B, C, D, E = Stage
TILES, CODE = Kind
TilePass = Pass[TileProgram]

RAISING_PASSES: tuple[TilePass, ...] = (
    Pass(wait_for_shared_blocks, R, of=(CODE,)),
    Pass(run_threads_in_turn, R, of=(CODE,)),
    Pass(compose_views, R, ensures=(NO_VIEWS,)),
    Pass(narrow_int64, R, needs=(NO_VIEWS,)),
    Pass(expand_reductions, R, needs=(NO_VIEWS,)),
    Pass(raise_products, R, needs=(NO_VIEWS,)),
    Pass(parallelize_loops, R),
    Pass(split_by_condition, R),
    Pass(split_strides, R),
    Pass(split_axes, R),
    Pass(split_runs, R),
    Pass(raise_to_tiles, R, needs=(TYPES,), ensures=(NO_ELEMENTS,)),
    Pass(fill_before_use, R, needs=(NO_ELEMENTS,)),
    Pass(zero_tensor_tails, R, needs=(NO_ELEMENTS,)),
)

# Statements that are split may need more blocks than there is room for, and operands of products may be no boxes of
# tiles: `_run_or_whole`
WHOLE_STATEMENTS = tuple(row for row in RAISING_PASSES if row.run not in (split_strides, split_runs, raise_products))

PLACING_PASSES: tuple[TilePass, ...] = (
    Pass(legalize_types, A, needs=(TYPES,), ensures=(LEGAL_TYPES,)),
    Pass(fold_vectors, A),
    Pass(infer_layout, A, ensures=(LAYOUTS,)),
    Pass(lay_flat, A, of=(CODE,)),
    Pass(place_tensors, A, needs=(LAYOUTS,), of=(TILES, CODE)),
    Pass(attach_tensor_accessors, A, needs=(LAYOUTS,), ensures=(NO_COPIES,)),
    Pass(keep_last_bits, A, needs=(LAYOUTS,)),
    Pass(align_operands, A, needs=(LAYOUTS, NO_COPIES)),
    Pass(split_sums, B, needs=(LAYOUTS, NO_COPIES)),
    Pass(place_workspaces, B, needs=(LAYOUTS, NO_COPIES)),
    Pass(choose_blocks, B, needs=(LAYOUTS, NO_COPIES)),
    Pass(go_in_step, B, needs=(LAYOUTS, NO_COPIES)),
    Pass(partition_work, B, ensures=(UNITS,), of=(TILES, CODE)),
)

# Where circular buffers do not fit beside what is handed on in L1
WITHOUT_WORKSPACES = tuple(row for row in PLACING_PASSES if row.run not in (split_sums, place_workspaces))

# Which blocks there are is settled by these: `fit_l1`
BLOCK_PASSES: tuple[TilePass, ...] = (
    Pass(complete_parts, C, needs=(NO_COPIES,)),
    Pass(drop_dead_writes, C, needs=(NO_COPIES,)),
    Pass(mask_padding, C, needs=(LAYOUTS, NO_COPIES)),
    Pass(lower_positions, C, needs=(LAYOUTS,), ensures=(NO_POSITIONS,)),
    Pass(lower_reductions, C, needs=(LAYOUTS,)),
    Pass(separate_roles, C, needs=(NO_COPIES,), ensures=(ONE_ROLE,)),
    Pass(form_sections, C, needs=(LAYOUTS, NO_POSITIONS)),
    Pass(narrow_exact_blocks, C, needs=(LAYOUTS,)),
    Pass(start_sums, C, needs=(LAYOUTS,)),
    Pass(fit_products, C, needs=(LAYOUTS,), ensures=(SUB_BLOCKS,)),
    Pass(lower_shared_to_cb, C, needs=(ONE_ROLE,), ensures=(STREAMS,)),
    Pass(use_shards, C, needs=(STREAMS, UNITS)),
    Pass(order_transfers, C, needs=(STREAMS,)),
    Pass(share_buffers, C, needs=(STREAMS,)),
)

ENGINE_PASSES: tuple[TilePass, ...] = (
    Pass(load_less, C, needs=(STREAMS, UNITS)),
    Pass(schedule_sections, C, needs=(STREAMS, SUB_BLOCKS), ensures=(SCHEDULES,)),
    Pass(publish_blocks, C, needs=(STREAMS,), ensures=(PUBLISHED,)),
)

TILE_PASSES = (*RAISING_PASSES, *PLACING_PASSES, *BLOCK_PASSES, *ENGINE_PASSES)

# Between the two levels: `split_device_kernel`, which needs everything above.

KERNEL_PASSES: tuple[Pass[KernelSet], ...] = (
    Pass(lower_cb_intrinsics, D, ensures=(NO_MARKERS,)),
    Pass(configure_tensor_accessors, D, needs=(NO_MARKERS,), ensures=(OWN_STATEMENTS, TRANSFERS)),
    Pass(lower_compute_tasks, D, needs=(NO_MARKERS,), ensures=(NO_TASKS,)),
    Pass(insert_engine_calls, D, needs=(NO_TASKS,), ensures=(NO_SECTIONS, DST_PROTOCOL)),
    Pass(load_tables, D, needs=(OWN_STATEMENTS,), ensures=(LIMITS,)),
    Pass(finalize_persistent_signature, E, needs=(NO_TASKS, LIMITS), ensures=FINISHED, of=(TILES, CODE)),
)

LIFTED = (KNOWN_BUFFERS, TYPES)  # what holds of what the frontend gives
TILE_INVARIANTS = holding(TILE_PASSES, LIFTED)

State = TileProgram | tuple[KernelSet, ...]
Snapshot = Callable[[str, State], None]
Steps = list[tuple[str, State]]
Result = tuple[TileProgram, tuple[KernelSet, ...]]
Attempt = Callable[[Any, ScalarCode], Result]


def run_passes(func: Any, options: Options, snapshot: Snapshot) -> Result:
    """Every stage in order; `snapshot` sees the program after each.

    What the tile engines cannot carry out becomes scalar code (`scalar_code.ways`), and so do assertions.
    """
    steps: Steps = []
    asked = options
    func, options = _with_annotations(func, asked)

    def attempt(func: Any, scalar_code: ScalarCode) -> Result:
        steps.clear()
        result = _run_or_whole(func, options, scalar_code, steps)
        warn_of_scalar_code(result[0], scalar_code)
        return result

    def helped(error: Refusal) -> Refusal:
        if not isinstance(error, DoesNotFitError):
            return error
        return with_change_that_fits(error, partial(_plan, func), _smaller(error.program, asked))

    checked = checked_assertions(func) if options.scalar_code else {}
    result = None
    with suppress(UnsupportedError, ResourceError, CannotCutError):
        result = attempt(func, ScalarCode(parts=checked)) if checked else None
    try:
        result = result or _in_some_way(func, options, attempt, helped)
    except DoesNotFitError as error:
        raise helped(error) from None
    for (_, before), (name, _) in pairwise(steps):
        if name == raise_to_tiles.__name__ and isinstance(before, TileProgram):
            warn_of_rounds(before)
    for name, state in steps:
        snapshot(name, state)
    return result


def _with_annotations(func: Any, options: Options) -> tuple[Any, Options]:
    """The function without its annotations for this backend, and what they and the options say."""
    func, annotations = take_annotations(with_all_launches(func))
    return func, by_line(with_annotations(options, annotations), func, annotations.schedules)


def _in_some_way(func: Any, options: Options, attempt: Attempt, helped: Callable[[Refusal], Refusal]) -> Result:
    try:
        return attempt(func, NO_CODE)
    except (UnsupportedError, ResourceError) as error:
        if not options.scalar_code or would_not_help(error):
            raise
        refusal = helped(error)
        return _first_of(ways(func, refusal, options, _program), attempt, refusal)


def _first_of(found: Iterator[Way], attempt: Attempt, refusal: Refusal) -> Result:
    """The first way that is not refused. The last refusal counts, but the tile engines fit more, and take shards.

    Where shards are refused in every way, the first one says more: which use of the tensor is none of tiles.
    """
    last: Refusal | TargetError = refusal
    for way in found:
        try:
            return attempt(*way)
        except (UnsupportedError, ResourceError, TargetError) as second:
            last = second
        except CannotCutError:
            continue
    fits_less = isinstance(refusal, ResourceError) and last.code in (refusal.code, NO_SHARDS)
    no_shards = last.code == refusal.code == NO_SHARDS
    raise (refusal if fits_less or no_shards else last) from None


def _program(func: Any, options: Options, scalar_code: ScalarCode) -> TileProgram:
    return _run_or_whole(func, options, scalar_code, [])[0]


def _plan(func: Any, options: Options) -> TileProgram:
    return _fitting(func, options, NO_CODE, RAISING_PASSES, lambda *_: None)


def _smaller(program: TileProgram, options: Options) -> Iterator[Change]:
    """The kernel again with smaller blocks, as far as its source says what their sizes are."""
    for texts, build in smaller_blocks(program):

        def plan(build: Callable[[], Any] = build) -> TileProgram | None:
            func = build()
            found = None if func is None else _plan(*_with_annotations(func, options))
            return found if found is not None and moves_as_much(found, program) else None

        yield Change(listed(texts), plan, more_follows=True, several=len(texts) > 1)


def _run_or_whole(func: Any, options: Options, scalar_code: ScalarCode, steps: Steps) -> Result:
    """What the tile engines refuse only because statements were split, or raised to products, is left whole."""

    def note(name: str, state: State) -> None:
        steps.append((name, state))

    try:
        return _run(func, options, scalar_code, RAISING_PASSES, note)
    except (UnsupportedError, ResourceError):
        names = {row.name for row in RAISING_PASSES if row not in WHOLE_STATEMENTS}
        if not any(name in names and state is not before for (_, before), (name, state) in pairwise(steps)):
            raise
        steps.clear()
        return _run(func, options, scalar_code, WHOLE_STATEMENTS, note)


def _run(
    func: Any, options: Options, scalar_code: ScalarCode, raising: tuple[TilePass, ...], snapshot: Snapshot
) -> Result:
    """All passes, with what is refused as scalar code."""
    program = _through(ENGINE_PASSES, _fitting(func, options, scalar_code, raising, snapshot), snapshot)
    sets = split_device_kernel(program)
    snapshot("split_device_kernel", sets)
    for kernel_pass in KERNEL_PASSES:
        if kernel_pass.of != (TILES,) or any(TILES in kinds_of(kernels.launch) for kernels in sets):
            sets = tuple(_lowered(kernel_pass, kernels) for kernels in sets)
            snapshot(kernel_pass.name, sets)
    return program, sets


def _fitting(
    func: Any, options: Options, scalar_code: ScalarCode, raising: tuple[TilePass, ...], snapshot: Snapshot
) -> TileProgram:
    """The passes that decide what lies in L1."""
    program = lift_function(func, options, *scalar_code.reasons)
    verify(program, LIFTED)
    snapshot("lift_code" if scalar_code.whole else "lift", program)
    program = _through(raising, program, snapshot)
    placed: list[tuple[str, TileProgram]] = []
    trial = _through(PLACING_PASSES, program, lambda name, state: placed.append((name, state)))
    in_l1 = (split_sums.__name__, place_workspaces.__name__)
    if any(decision.stage in in_l1 for decision in trial.decisions):
        steps: list[tuple[str, TileProgram]] = []
        with suppress(DoesNotFitError):
            fitting = _settled(trial, lambda name, state: steps.append((name, state)))
            if fits_as_written(fitting):
                for name, state in placed + steps:
                    snapshot(name, state)
                return fitting
        return _settled(left_in_dram(_through(WITHOUT_WORKSPACES, program, snapshot)), snapshot)
    for name, state in placed:
        snapshot(name, state)
    return _settled(trial, snapshot)


def _settled(program: TileProgram, snapshot: Callable[[str, TileProgram], None]) -> TileProgram:
    """The program as it fits L1."""
    steps: list[tuple[str, TileProgram]] = []  # of the way to write the program that fits

    def settled(way: TileProgram) -> TileProgram:
        steps[:] = [("fit_l1", way)] if way is not program else []
        return _through(BLOCK_PASSES, way, lambda name, state: steps.append((name, state)))

    fitting = fit_l1(program, settled)
    for name, state in steps:
        snapshot(name, state)
    return fitting


def kinds_of(launch: Launch) -> set[Kind]:
    return {CODE} if is_code(launch) else {TILES, CODE} if codes_of(launch) else {TILES}


def _through(
    passes: tuple[TilePass, ...], program: TileProgram, snapshot: Callable[[str, TileProgram], None]
) -> TileProgram:
    kinds = {kind for launch in program.launches for kind in kinds_of(launch)}
    for tile_pass in passes:
        if kinds.isdisjoint(tile_pass.of):
            continue
        program = tile_pass(program)
        verify(program, TILE_INVARIANTS[tile_pass.name])
        snapshot(tile_pass.name, program)
    return program


def _lowered(kernel_pass: Pass[KernelSet], kernels: KernelSet) -> KernelSet:
    kinds = kinds_of(kernels.launch)
    if kinds.isdisjoint(kernel_pass.of):
        return kernels
    kernels = kernel_pass(kernels)
    verify(kernels, kernel_pass.ensures if TILES in kinds else (LIMITS, VARIABLES))
    return kernels


def to_tiles(func: Any, options: Options | None = None) -> TileProgram:
    """A TileLang function as operations on whole blocks: where a backend for another chip may begin."""
    options = options or Options()
    program = lift(*_with_annotations(func, options))
    verify(program, LIFTED)
    return _through(RAISING_PASSES, program, lambda *_: None)


def to_scalar_code(func: Any, options: Options) -> Result:
    """The whole function as scalar code, also where the tile engines could do it: to compare the two."""
    func, options = _with_annotations(func, options)
    whole: dict[int, Refusal] = dict.fromkeys(range(count_launches(func)), UnsupportedError("TT702", "for comparison"))
    return _run(func, options, ScalarCode(whole), RAISING_PASSES, lambda *_: None)


def compile_function(func: Any, options: Options, *, stages: bool = False) -> Compiled:
    """Compile one TileLang function, as the user wrote it, to its files."""
    texts: list[tuple[str, str]] = []

    def snapshot(name: str, state: State) -> None:
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


def _units(kernels: KernelSet) -> str:
    """What a reader of a kernel should know of its loop over units, unless they are runs in the order of the grid."""
    schedule = kernels.launch.work.schedule if kernels.launch.work else Schedule()
    usual = (schedule.policy, schedule.order) == ("contiguous", "row")
    return "" if usual else f", units: {schedule.title}"


def print_files(program: TileProgram, sets: tuple[KernelSet, ...]) -> dict[str, str]:
    """reader.cpp, compute.cpp, writer.cpp of each launch, main.cpp, the plan and the line map."""
    files: dict[str, str] = {}
    names: dict[tuple[int, Role], str] = {}
    lines: list[SourceLine] = []
    for index, kernels in enumerate(sets):
        prefix = f"{kernels.launch.name}_" if len(sets) > 1 else ""
        for kernel in kernels.kernels:
            file = f"{prefix}{kernel.role.value}.cpp"
            title = f"{kernel.role.value} of '{kernels.launch.name}' for {program.options.chip.title}{_units(kernels)}"
            if has_code(kernel):
                print_kernel = print_code if is_code(kernels.launch) else print_writer_with_code
                printer = print_kernel(kernel, file, title, kernels)
            elif kernel.role is Role.COMPUTE:
                printer = print_compute(kernel, file, title, program.options)
            else:
                printer = print_dataflow(kernel, file, title)
            files[file] = printer.text
            names[index, kernel.role] = file
            lines += printer.source_map
    plan = build_plan(program, sets, names, f"tilelang-tt {__version__}")
    files["main.cpp"] = host_program(plan)
    files[PLAN_FILE] = plan.to_json()
    files[LINES_FILE] = lines_to_json(lines)
    return files
