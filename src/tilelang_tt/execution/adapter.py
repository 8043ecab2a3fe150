"""The callable inside a kernel: check the arguments, launch, hand back the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from tilelang_tt.compiled import Compiled
from tilelang_tt.diagnostics import ArgumentError, UnsupportedError
from tilelang_tt.execution.call import BoundCall, Signature
from tilelang_tt.execution.device import launcher_of
from tilelang_tt.execution.sources import HOST_FILE, join_sources
from tilelang_tt.execution.timing import time_call
from tilelang_tt.execution.ttnn_call import TtnnCall
from tilelang_tt.runtime.assertions import check_assertions
from tilelang_tt.runtime.runner import RunReport
from tilelang_tt.runtime.ttnn_tensors import ttnn_of
from tilelang_tt.tilelang_hooks import BaseKernelAdapter, KernelParam

# Types for which TileLang names no type of torch; int4 and uint4 lie in these, too.
_PACKED = {"int2": torch.int8, "uint2": torch.uint8}


class TenstorrentAdapter(BaseKernelAdapter):
    """Calls may come from several threads: a call keeps its state to itself, apart from what is `last_` of it."""

    def __init__(self, params: list[KernelParam], result_idx: list[int] | int | None, compiled: Compiled) -> None:
        self.compiled = compiled
        self.last_report: RunReport | None = None  # of the latest call; None before it or without work
        self.last_values: dict[str, int | float] = {}  # dynamic sizes and scalars of the latest call
        self.before_call: Callable[[BoundCall], None] | None = None  # looks at a call, and leaves it as it is
        outputs = list(result_idx) if isinstance(result_idx, (list, tuple)) else result_idx
        super().__init__(None, params, outputs)

    def _convert_torch_func(self) -> Callable[..., Any]:
        dtypes = [_PACKED.get(str(param.dtype)) or param.torch_dtype() for param in self.params]
        self.signature = Signature(self.compiled.plan, dtypes, self.result_idx)
        return self.call

    def call(self, *args: Any, **named: Any) -> Any:
        """torch tensors in, torch tensors out; ttnn tensors in, ttnn tensors out, on the device they are on."""
        self.signature.refuse_names(tuple(named))
        ttnn = ttnn_of(args)
        if ttnn is not None:
            on_device = TtnnCall(ttnn, self.signature, args)
            self.last_values = {**on_device.call.sizes, **on_device.call.scalars}
            self.last_report = on_device.run(self.compiled.files)
            return _one_or_all(on_device.results())
        bound = self.signature.bind(args)
        self.last_values = {**bound.sizes, **bound.scalars}
        if self.before_call is not None and bound.has_work:
            self.before_call(bound)
        self.last_report = self._launch(bound) if bound.has_work else None
        bound.finish()
        return _one_or_all(list(bound.results))

    def _launch(self, bound: BoundCall) -> RunReport:
        plan = self.compiled.plan
        launch = launcher_of(plan)
        report = launch(plan, self.compiled.files, bound.tensors, bound.sizes, bound.scalars)
        check_assertions(plan, bound.tensors)
        return report

    def time(self, args: Sequence[Any], record: Path | None = None) -> RunReport:
        """Run a call on the virtual device with a clock; tensors it writes are filled, those it returns dropped."""
        bound = self.signature.bind(args)
        if not bound.has_work:
            raise ArgumentError(
                "TT319", f"this call of kernel '{self.compiled.name}' has no work to time: its results are empty"
            )
        self.last_report = time_call(self.compiled, bound, record)
        check_assertions(self.compiled.plan, bound.tensors)
        bound.finish()
        return self.last_report

    def sizes_of(self, args: Sequence[Any]) -> dict[str, int | float]:
        """Dynamic sizes and scalars that these arguments have."""
        bound = self.signature.bind(args)
        return {**bound.scalars, **bound.sizes}

    @property
    def libpath(self) -> str:
        """Asked for by TileLang's autotuner alone, when it saves the best kernel for later processes."""
        raise UnsupportedError(
            "TT192",
            "tuning results of Tenstorrent kernels are not kept on disk; this one holds in this process",
            help="TILELANG_AUTO_TUNING_DISABLE_CACHE=1 keeps TileLang from trying",
        )

    def get_kernel_source(self, kernel_only: bool = True) -> str:
        return join_sources(self.compiled, kernels_only=kernel_only)

    def get_host_source(self) -> str:
        return self.compiled.files[HOST_FILE]


def _one_or_all(results: list[Any]) -> Any:
    return results[0] if len(results) == 1 else results or None
