"""What lowering gives, the same for every target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tvm.tirx import PrimFunc

from tilelang_tt import tilelang_hooks as hooks
from tilelang_tt.compiled import Compiled
from tilelang_tt.cpu.kernel import CpuKernel
from tilelang_tt.diagnostics import EnvironmentProblem, UnsupportedError
from tilelang_tt.execution.kernel import COMPILED_ATTRIBUTE, compiled_functions
from tilelang_tt.lowering.rows import Row


@dataclass
class CompiledArtifact(hooks.CompiledArtifact):
    """TileLang's artifact (host_mod, device_mod, params, kernel_source, rt_mod, target), and whether it runs here."""

    kind: str = ""  # the row of `tilelang-tt targets`
    why_not: str | None = None  # what this machine is missing to run it; None: nothing
    functions: tuple[PrimFunc, ...] = ()  # as they were before lowering
    pass_configs: dict[str, Any] = field(default_factory=dict)

    @property
    def can_run_here(self) -> bool:
        return self.why_not is None

    @property
    def compiled(self) -> tuple[Compiled, ...]:
        """Of a Tenstorrent target: files, plan and decisions of each function. Otherwise nothing."""
        ours = [one for one in self.device_mod.functions.values() if COMPILED_ATTRIBUTE in (one.attrs or {})]
        return tuple(compiled_functions(self.device_mod)) if ours else ()

    def kernel(self) -> Callable[..., Any]:
        """A callable that takes every tensor and scalar in order, and writes results in place."""
        if self.why_not is not None:
            raise EnvironmentProblem("TT522", f"target '{self.kind}' cannot run on this machine: {self.why_not}")
        if len(self.functions) != 1:
            names = ", ".join(str(func.attrs["global_symbol"]) for func in self.functions)
            raise UnsupportedError(
                "TT195", f"a module of {len(self.functions)} functions is no kernel: {names}", help="lower one of them"
            )
        (func,) = self.functions
        if self.kind == "c":
            return CpuKernel(func, rounds=True)
        kernel: Callable[..., Any] = hooks.compile_kernel(func, self.target, self.pass_configs)
        return kernel


def artifact_of(lowered: Any, row: Row, functions: tuple[PrimFunc, ...], configs: dict[str, Any]) -> CompiledArtifact:
    return CompiledArtifact(
        lowered.host_mod,
        lowered.device_mod,
        lowered.params,
        lowered.kernel_source,
        lowered.rt_mod,
        lowered.target,
        lowered.target_host,
        kind=row.kind,
        why_not=row.missing("run"),
        functions=functions,
        pass_configs=configs,
    )
