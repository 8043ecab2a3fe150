"""Kernels that tell the journal how far they came, and let the script go on whatever happens.

A kernel this backend refuses, or whose call fails, is computed by TileLang's CPU backend instead, or hands back zeros
if that cannot either: the next kernels of the script are still reached. Arguments and results of the first call of
each kernel are kept for the reference.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from tvm import tirx

from tilelang_tt.conformance.absent import Absent
from tilelang_tt.conformance.events import Journal, KernelEvent
from tilelang_tt.conformance.features import features_of
from tilelang_tt.conformance.own_inputs import extent, instead_of, own_argument
from tilelang_tt.cpu.kernel import CpuKernel
from tilelang_tt.diagnostics import ArgumentError, TenstorrentError
from tilelang_tt.execution.kernel import new_cache
from tilelang_tt.execution.profiler import TenstorrentProfiler
from tilelang_tt.out_of_tree.kernels import KernelCache
from tilelang_tt.tilelang_hooks import (
    BackendContext,
    KernelParam,
    TensorSupplyType,
    create_backend_context,
    get_stmt_span,
)

KEPT_BYTES = 1 << 29  # of tensors per kernel; larger calls get no reference
TUNING_TRIALS = 8  # configurations


@dataclass
class Call:
    """Tensors of one call: as they were, and as the kernel left them."""

    before: list[Any]
    after: list[Any]


@dataclass
class Record:
    event: KernelEvent
    func: tirx.PrimFunc
    call: Call | None = None


class CudaText(str):
    """Stands for the CUDA code that a test looks into: whatever it expects is there."""

    __slots__ = ()

    def __contains__(self, _part: Any) -> bool:
        return True


class ScalarCodeError(BaseException):
    """Ends a script, whatever errors it expects: its sizes are those of tiles, and a kernel is scalar code."""


class MeasuredKernel:
    """What a script gets for each kernel, in place of TileLang's JITKernel."""

    latency = 1.0
    ref_latency = 1.0
    config: dict[str, Any] | None = None

    def __init__(
        self, record: Record, outputs: list[int], kernel: Any, journal: Journal, *, too_slow: bool = False
    ) -> None:
        self.prim_func = record.func
        self.params = [_param(record.func, param) for param in record.func.params]
        self.out_idx = outputs
        self.record = record
        self._kernel = kernel  # None: refused
        self._journal = journal
        self._too_slow = too_slow
        self._substitute: CpuKernel | None = None
        self.adapter = self.func = self.torch_function = self

    @property
    def refused(self) -> bool:
        return self._kernel is None

    def __call__(self, *args: Any) -> Any:
        event = self.record.event
        if self._too_slow:
            raise ScalarCodeError
        args = tuple(map(self._real, self._numbers(len(args)), args))
        before = [_kept(arg) for arg in args] if self.record.call is None else None
        results: list[torch.Tensor] | None = None
        if self._kernel is not None and not event.code:
            try:
                returned = self._kernel(*args)
                results = [returned] if isinstance(returned, torch.Tensor) else list(returned or [])
                event.calls += 1
            except Exception as error:
                if event.calls and isinstance(error, ArgumentError):
                    raise  # the script's own mistake
                note_failure(event, error)
            self._journal.write(event)
        if results is None:
            results = self._zeros(args)
            self._compute_elsewhere(self._all(list(args), results))
        elif before is not None:
            size = sum(map(_size, (*args, *results)))
            if size <= KEPT_BYTES:
                after = self._all([_kept(arg) for arg in args], [_kept(result) for result in results])
                self.record.call = Call(self._all(before, [None] * len(results)), after)
            else:
                event.reference = f"none: tensors of {size:,} bytes are too large for the reference"
        return results[0] if len(results) == 1 else results or None

    def call_with_own_inputs(self) -> None:
        """For a kernel that the script does not call; one whose inputs nobody can make up stays uncalled."""
        numbers = self._numbers(len(self.params) - len(self.out_idx))
        args = [own_argument(self.params[number], number) for number in numbers]
        if all(arg is not None for arg in args):
            self.record.event.own_inputs = [self._name(number) for number in numbers]
            self(*args)

    def _real(self, number: int, arg: Any) -> Any:
        """An argument as it is, or something in the place of what a missing package would have computed."""
        if not isinstance(arg, Absent):
            return arg
        if self._name(number) not in self.record.event.own_inputs:
            self.record.event.own_inputs.append(self._name(number))
        return instead_of(arg, self.params[number], number)

    def _numbers(self, count: int) -> list[int]:
        """Which parameters the arguments of a call are: all, or those that are no outputs."""
        numbers = range(len(self.params))
        return [number for number in numbers if count == len(numbers) or number not in self.out_idx]

    def _name(self, number: int) -> str:
        return str(self.prim_func.params[number].name).removesuffix("_handle")

    def _compute_elsewhere(self, values: list[Any]) -> None:
        """Results a refused kernel would have given, for what the script does with them next."""
        try:
            self._substitute = self._substitute or CpuKernel(self.prim_func)
            self._substitute(*values)
        except Exception as error:
            print(f"{self.record.event.key}: no result, zeros instead: {error}", file=sys.stderr)

    def _all(self, inputs: list[Any], results: list[Any]) -> list[Any]:
        """Every parameter's value, outputs in their places."""
        if len(inputs) == len(self.params):
            return inputs
        values, outputs = iter(inputs), iter(results)
        return [next(outputs if number in self.out_idx else values) for number in range(len(self.params))]

    def _zeros(self, args: tuple[Any, ...]) -> list[torch.Tensor]:
        if len(args) == len(self.params):
            return []
        sizes: dict[str, int] = {}
        for number, arg in zip(self._numbers(len(args)), args, strict=False):
            if isinstance(arg, torch.Tensor):
                names = map(str, self.params[number].shape)
                sizes.update(zip(names, arg.shape, strict=False))
        return [
            torch.zeros([extent(size, sizes) for size in param.shape], dtype=param.torch_dtype())
            for param in (self.params[number] for number in self.out_idx)
        ]

    def get_profiler(self, tensor_supply_type: TensorSupplyType = TensorSupplyType.Auto) -> TenstorrentProfiler:
        profiler = TenstorrentProfiler(self.params, self.out_idx, tensor_supply_type)
        profiler.adapter = self
        return profiler

    def get_kernel_source(self, kernel_only: bool = True) -> str:
        return CudaText("" if self._kernel is None else self._kernel.get_kernel_source(kernel_only))

    def run_once(self, func: Any = None) -> None:
        self.get_profiler().run_once(func)

    def get_host_source(self) -> str:
        return "" if self._kernel is None else str(self._kernel.get_host_source())

    def show_source(self, *_: Any) -> None: ...

    def show_ptx(self, *_: Any) -> None: ...

    def export_sources(self, *_: Any, **__: Any) -> None: ...

    def update_tuner_result(self, **_: Any) -> MeasuredKernel:
        return self


@dataclass
class Measurement:
    """Stands in for TileLang's `cached`: every kernel of the script is compiled for one Tenstorrent target."""

    checkout: Path
    target: str
    journal: Journal
    scalar_sizes: bool = True  # whether the script's sizes are small enough for scalar code
    kernels: list[MeasuredKernel] = field(default_factory=list)
    _cache: KernelCache = field(default_factory=new_cache)
    _count: int = 0

    def cached(
        self, func: tirx.PrimFunc, out_idx: Any = None, *_: Any, pass_configs: dict[str, Any] | None = None, **__: Any
    ) -> MeasuredKernel:
        """Compiler flags tune GPU code and are left out."""
        features = features_of(func)
        self._count += 1
        name = str(func.attrs["global_symbol"]) if func.attrs and "global_symbol" in func.attrs else "main"
        irregular, used = sorted(features.irregular), sorted(features.used)
        event = KernelEvent(self._count, *self._place(func), name, irregular, used)
        self.journal.write(event)
        context: BackendContext = create_backend_context(self.target, None, "auto")
        outputs = [out_idx] if isinstance(out_idx, int) else [int(number) for number in out_idx or ()]
        kernel = None
        try:
            kernel = self._cache.cached(func, list(outputs) or None, backend_context=context, pass_configs=pass_configs)
            event.compiled = True
            event.scalar = any(one.scalar for launch in kernel.compiled.plan.launches for one in launch.kernels)
        except Exception as error:
            note_failure(event, error)
        self.journal.write(event)
        numbers = [number % len(func.params) for number in outputs]
        too_slow = event.scalar and not self.scalar_sizes
        self.kernels.append(MeasuredKernel(Record(event, func), numbers, kernel, self.journal, too_slow=too_slow))
        return self.kernels[-1]

    def records(self) -> list[Record]:
        """First one of each kernel, then the other variants."""
        records = [kernel.record for kernel in self.kernels if not kernel.record.event.discarded]
        first = {record.event.key: record for record in reversed(records)}
        return sorted(records, key=lambda record: record is not first[record.event.key])

    def uncalled(self) -> Iterator[MeasuredKernel]:
        """One variant of each kernel that the script compiled and never called."""
        done = {kernel.record.event.key for kernel in self.kernels if kernel.record.event.calls}
        for kernel in self.kernels:
            event = kernel.record.event
            if event.compiled and not event.code and not event.discarded and event.key not in done:
                done.add(event.key)
                yield kernel

    def tune(
        self, compile_: Callable[..., MeasuredKernel], configs: list[dict[str, Any]]
    ) -> tuple[MeasuredKernel, dict[str, Any]]:
        """Of a few tuning configurations the first that becomes tiles, or scalar code, or is refused."""
        tried: list[tuple[MeasuredKernel, dict[str, Any]]] = []
        problem: Exception | None = None
        for config in (*configs[:TUNING_TRIALS], {}):
            if tried and not config:
                break
            try:
                kernel = compile_(**{key: value for key, value in config.items() if key != "pass_configs"})
            except Exception as error:  # the kernel itself does not accept this configuration
                problem = problem or error
                continue
            tried.append((kernel, config))
            if not kernel.refused and not kernel.record.event.scalar:
                break
        if not tried:
            assert problem is not None
            raise problem
        chosen = min(tried, key=lambda one: (one[0].refused, one[0].record.event.scalar))
        for kernel, _ in tried:
            if kernel is not chosen[0]:
                kernel.record.event.discarded = True
                self.journal.write(kernel.record.event)
        return chosen

    def _place(self, func: tirx.PrimFunc) -> tuple[str, int]:
        """File and first line of the kernel; statements of macros may lie in other files."""
        lines: dict[Path, list[int]] = {}

        def visit(node: Any) -> None:
            span = get_stmt_span(node) if isinstance(node, tirx.Stmt) else None
            if span is not None:
                lines.setdefault(Path(str(span.source_name.name)).resolve(), []).append(int(span.line))

        tirx.stmt_functor.post_order_visit(func.body, visit)
        inside = {file: found for file, found in lines.items() if file.is_relative_to(self.checkout)}
        if not inside:
            return "?", 0
        file = max(inside, key=lambda file: len(inside[file]))
        return str(file.relative_to(self.checkout)), min(inside[file])


def note_failure(event: KernelEvent, error: Exception) -> None:
    """The first failure of a kernel is the one to show."""
    if event.code:
        return
    if isinstance(error, TenstorrentError):
        event.code, event.message = error.code, error.message
    else:
        event.code, event.message = type(error).__name__, str(error).strip().splitlines()[0] if str(error) else ""


def _param(func: tirx.PrimFunc, param: Any) -> KernelParam:
    return KernelParam.from_buffer(func.buffer_map[param]) if param in func.buffer_map else KernelParam.from_var(param)


def _kept(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) and _size(value) <= KEPT_BYTES else value


def _size(value: Any) -> int:
    return value.numel() * value.element_size() if isinstance(value, torch.Tensor) else 0
