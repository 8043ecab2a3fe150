"""What `@tilelang.jit`, `.compile` and `tilelang.compile` return for a Tenstorrent target."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from tilelang.engine.param import CompiledArtifact
from tilelang.jit.kernel import JITKernel
from tilelang.profiler import TensorSupplyType
from tvm.ir import IRModule
from tvm.tirx import PrimFunc

from tilelang_tt.clock.timing import Timing
from tilelang_tt.compiled import Compiled
from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.execution.adapter import TenstorrentAdapter
from tilelang_tt.execution.profiler import TenstorrentProfiler
from tilelang_tt.execution.timing import estimate, timing_of
from tilelang_tt.explain import explain
from tilelang_tt.export import export
from tilelang_tt.options import Options
from tilelang_tt.pipeline import compile_function
from tilelang_tt.profile.profiled import Profile, profile_kernel
from tilelang_tt.runtime.virtual import RunReport
from tilelang_tt.target import options_of

logger = logging.getLogger(__name__)

# The finished compilation travels through TileLang's engine as this attribute of a function without body:
# the passes that still run on device functions rewrite bodies, never attributes.
COMPILED_ATTRIBUTE = "tilelang_tt.compiled"


def compiled_functions(device_module: IRModule) -> list[Compiled]:
    """The compilations a lowered module carries."""
    return [Compiled.from_json(str(func.attrs[COMPILED_ATTRIBUTE])) for func in device_module.functions.values()]


class TenstorrentKernel(JITKernel):
    """A JITKernel with the generated files, the reasons behind them, and an export."""

    adapter: TenstorrentAdapter

    def _create_adapter_from_artifact(
        self,
        tilelang_func: PrimFunc,  # noqa: ARG002  (the artifact holds all there is to know)
        out_idx: list[int] | int | None,
        artifact: CompiledArtifact,
        *_: Any,
    ) -> TenstorrentAdapter:
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

    def explain(self, *, stages: bool = False) -> str:
        """What the compiler decided and why; with `stages`, also the program after each pass."""
        compiled = self.compiled
        if stages:
            compiled = compile_function(self.prim_func, self.options, stages=True)
        return explain(compiled, self.options, self.last_report.notes if self.last_report else ())

    def export(self, directory: str | Path, *, overwrite: bool = False) -> Path:
        """Write the five files, a CMake project and a README; see `tilelang_tt.export`."""
        return export(self.compiled, Path(directory), overwrite=overwrite)

    def export_library(self, kernel_file: str) -> None:
        raise UnsupportedError(
            "TT190",
            f"kernel '{self.compiled.name}' has no shared library to write to {kernel_file}",
            help='kernel.export("directory") writes its sources, its plan and how to build them',
        )
