"""What `@tilelang.jit`, `.compile` and `tilelang.compile` return for a Tenstorrent target."""

from __future__ import annotations

import html
import logging
import warnings
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from tvm.ir import IRModule

from tilelang_tt.clock.timing import Timing
from tilelang_tt.compiled import Compiled
from tilelang_tt.diagnostics import ArgumentError, DeviceError, TenstorrentWarning, UnsupportedError
from tilelang_tt.execution.adapter import TenstorrentAdapter
from tilelang_tt.execution.call import BoundCall
from tilelang_tt.execution.debugger import Debugger, Layout
from tilelang_tt.execution.profiler import TenstorrentProfiler
from tilelang_tt.execution.timing import NEEDS_SIZES, estimate, estimated_json, estimated_line, timing_of
from tilelang_tt.execution.tuning_log import shorten
from tilelang_tt.explain import Stages, as_json, explain, heading
from tilelang_tt.export import export
from tilelang_tt.frontend.smaller_blocks import written_by
from tilelang_tt.ir.layout import TileOrder
from tilelang_tt.options import Options
from tilelang_tt.out_of_tree.carry import carried
from tilelang_tt.out_of_tree.kernels import KernelCache, OutOfTreeKernel
from tilelang_tt.pipeline import compile_function, run_passes
from tilelang_tt.profile.profiled import Profile, profile_kernel
from tilelang_tt.report.page import page
from tilelang_tt.runtime.failure import DEPENDS_ON_DATA
from tilelang_tt.runtime.plan import Role
from tilelang_tt.runtime.virtual import RunReport
from tilelang_tt.target import options_of
from tilelang_tt.tilelang_hooks import CompiledArtifact, TensorSupplyType

logger = logging.getLogger(__name__)

COMPILED_ATTRIBUTE = "tilelang_tt.compiled"  # of a function on its way through TileLang's engine


def compiled_functions(device_module: IRModule) -> list[Compiled]:
    """The compilations a lowered module carries."""
    return [Compiled.from_json(text) for text in carried(device_module, COMPILED_ATTRIBUTE)]


class Account(str):
    """Text that is shown as it is, at a prompt and in notebooks, too."""

    def __repr__(self) -> str:
        return str(self)


class TenstorrentKernel(OutOfTreeKernel):
    """A JITKernel with the generated files, the reasons behind them, and an export."""

    adapter: TenstorrentAdapter

    def adapter_of(self, artifact: CompiledArtifact, out_idx: list[int] | int | None) -> TenstorrentAdapter:
        (compiled,) = compiled_functions(artifact.device_mod)
        return TenstorrentAdapter(artifact.params, out_idx, compiled)

    @property
    def compiled(self) -> Compiled:
        return self.adapter.compiled

    @property
    def options(self) -> Options:
        return options_of(self.target, self.pass_configs)

    @property
    def files(self) -> dict[str, str]:
        """The generated files by name."""
        return dict(self.compiled.files)

    @property
    def last_report(self) -> RunReport | None:
        """Numerics mode, times and counts of the latest call."""
        return self.adapter.last_report

    def get_kernel_source(self, kernel_only: bool = True) -> str:
        return self.adapter.get_kernel_source(kernel_only)

    def get_host_source(self) -> str:
        return self.adapter.get_host_source()

    def get_profiler(self, tensor_supply_type: TensorSupplyType = TensorSupplyType.Auto) -> TenstorrentProfiler:
        shorten()
        profiler = TenstorrentProfiler(self.params, self.out_idx, tensor_supply_type)
        profiler.adapter = self.adapter
        return profiler

    def time(self, *args: Any, trace: str | Path | None = None) -> Timing:
        """Run a call on the virtual device and say how long it takes on the chip.

        `trace`: a file for Perfetto or chrome://tracing.
        """
        if trace is None:
            return timing_of(self.compiled, self.adapter.time(args))
        profile = profile_kernel(self.compiled, lambda record: self.adapter.time(args, record))
        logger.info("trace %s: %s", trace, profile.write_trace(Path(trace)))
        return profile.timing

    def estimate(self, **sizes: int | float) -> Timing:
        """How long a call takes on the chip, from its dynamic sizes and scalars alone: nothing is computed."""
        return timing_of(self.compiled, estimate(self.compiled, sizes))

    def profile(self, *args: Any, **sizes: int | float) -> Profile:
        """Where the time goes: of a call with these tensors, or with these sizes and no tensors."""
        if args:
            return profile_kernel(self.compiled, lambda record: self.adapter.time(args, record))
        return profile_kernel(self.compiled, lambda record: estimate(self.compiled, sizes, record))

    def explain(self, *, stages: bool | str = False, time: bool = False, whole: bool = False) -> Account:
        """What the compiler decided and why, as about a screen of text.

        `stages`: also the program after each pass (True), or what each pass changes ("changes").
        `time`: a line of how long it takes on the chip and what bounds it; the kernel is run without numbers.
        `whole`: every decision with its place, and every map.
        """
        compiled = self.compiled
        if stages:
            compiled = compile_function(self.prim_func, self.options, stages=True)
        notes = self.last_report.notes if self.last_report else ()
        shown: Stages = "none" if not stages else "changes" if stages == "changes" else "texts"
        line = estimated_line(compiled) if time else ""
        return Account(explain(compiled, self.options, notes, line, stages=shown, whole=whole or bool(stages)))

    def report(self, path: str | Path, *args: Any, **sizes: int | float) -> Path:
        """Write one HTML page with everything there is to see: maps, streams, timeline, roofline, code, warnings.

        Times and maps of units are those of a call with these tensors, or with these sizes and no tensors. Without
        either they are those of the latest call, where the kernel has sizes that calls decide.
        """
        values = dict(self.adapter.signature.bind(args).sizes) if args else sizes or self.adapter.last_values
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always", TenstorrentWarning)
            compiled = compile_function(self.prim_func, self.options, stages=True)
        texts = [str(one.message) for one in found if isinstance(one.message, TenstorrentWarning)]
        profiled: Profile | str
        try:
            profiled = self.profile(*args, **({} if args else values))
        except (ArgumentError, DeviceError) as error:
            if error.code not in (NEEDS_SIZES, DEPENDS_ON_DATA):
                raise
            profiled = f"no times: {error.message}"
        shown = heading(compiled.plan, self.options)
        target = Path(path)
        target.write_text(page(compiled, self.options, shown, profiled, texts, values))
        return target

    def debug(
        self, *args: Any, core: tuple[int, int] = (0, 0), role: Role = "compute", launch: str | None = None
    ) -> Debugger:
        """Stop this call at a line or breach, look at blocks and DST, step: `execution/debugger.py`."""
        return self.debug_call(self.adapter.signature.bind(args), core=core, role=role, launch=launch)

    def debug_call(
        self, call: BoundCall, *, core: tuple[int, int] = (0, 0), role: Role = "compute", launch: str | None = None
    ) -> Debugger:
        return Debugger(self.compiled, call, self.layouts, core=core, role=role, launch=launch)

    @cached_property
    def layouts(self) -> dict[str, Layout]:
        """How blocks lie in their circular buffers."""
        _, sets = run_passes(self.prim_func, self.options, lambda *_: None)
        return {
            buffer.name: Layout(one.rows, one.cols, one.order is TileOrder.COLUMNS)
            for kernels in sets
            for buffer, one in kernels.launch.layouts.items()
        }

    def explain_json(self, *, stages: bool = False, time: bool = False) -> dict[str, Any]:
        """What `explain` says as plain data."""
        compiled = compile_function(self.prim_func, self.options, stages=True) if stages else self.compiled
        return as_json(compiled, self.options, estimated_json(compiled) if time else None)

    def __repr__(self) -> str:
        plan = self.compiled.plan
        launches = ", ".join(f"'{one.name}' on {one.cores} cores" for one in plan.launches)
        return f"<kernel '{plan.name}' for {self.options.chip.title}: {launches}>"

    def _repr_html_(self) -> str:
        """In notebooks."""
        return f"<pre>{html.escape(repr(self))}\n\n{html.escape(self.explain())}</pre>"

    def export(self, directory: str | Path, *, overwrite: bool = False) -> Path:
        """Write the generated files, a CMake project and a README; see `tilelang_tt.export`."""
        return export(self.compiled, Path(directory), overwrite=overwrite)

    def export_library(self, kernel_file: str) -> None:
        raise UnsupportedError(
            "TT190",
            f"kernel '{self.compiled.name}' has no shared library to write to {kernel_file}",
            help='kernel.export("directory") writes its sources, its plan and how to build them',
        )


watchers: list[Callable[[TenstorrentKernel], None]] = []  # see every kernel that a program asks for


def new_cache() -> KernelCache:
    return KernelCache(TenstorrentKernel, written_by, _show)


def _show(kernel: TenstorrentKernel) -> None:
    for watcher in watchers:
        watcher(kernel)
