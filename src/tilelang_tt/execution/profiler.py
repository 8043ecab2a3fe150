"""TileLang's profiler on this backend: latencies are the chip's, as the clock estimates them; no CUDA is touched."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tilelang_tt.diagnostics import DeviceError
from tilelang_tt.execution.adapter import TenstorrentAdapter
from tilelang_tt.execution.device import choose
from tilelang_tt.execution.timing import estimate, names_of, timing_of
from tilelang_tt.runtime.failure import DEPENDS_ON_DATA
from tilelang_tt.tilelang_hooks import (
    KernelParam,
    Profiler,
    TensorSupplyType,
    do_bench,
    is_float8_dtype,
    torch_assert_close,
)

logger = logging.getLogger(__name__)

_ON_CHIP = "latency is the chip's, estimated by the virtual device's clock; do_bench(host=True) measures the host"
_ON_HOST = "latency is wall-clock time on this host, not a chip's"
_said: set[str] = set()


def say_once(text: str) -> None:
    """Once in a process: an autotuner asks for many latencies."""
    if text not in _said:
        _said.add(text)
        logger.warning(text)


# Random data as TileLang's own supply makes them: integers small enough to be exact in every dtype.
_INTEGER_RANGE = (-2, 3)
_UNSIGNED_RANGE = (0, 3)

_FLOATS: dict[TensorSupplyType, Callable[[torch.Tensor], torch.Tensor]] = {
    TensorSupplyType.Auto: lambda tensor: tensor.uniform_(-1.0, 1.0),
    TensorSupplyType.Uniform: lambda tensor: tensor.uniform_(-1.0, 1.0),
    TensorSupplyType.Normal: lambda tensor: tensor.normal_(-1.0, 1.0),
    TensorSupplyType.Randn: lambda tensor: tensor.normal_(),
}


def supply(param: KernelParam, kind: TensorSupplyType) -> torch.Tensor | int:
    """An argument for `param`, on the host."""
    if param.is_scalar():
        return 1
    if not all(isinstance(size, int) for size in param.shape):
        sizes = ", ".join(str(size) for size in param.shape)
        raise ValueError(
            f"cannot make data for shape ({sizes}): give the sizes as dynamic_symbolic_constraints, "
            "or the tensors as input_tensors"
        )
    dtype = param.torch_dtype()
    if kind in (TensorSupplyType.Zero, TensorSupplyType.One):
        return torch.full(param.shape, int(kind is TensorSupplyType.One), device="cpu").to(dtype)
    if dtype.is_floating_point and kind in _FLOATS:
        return _FLOATS[kind](torch.empty(param.shape, dtype=torch.float32, device="cpu")).to(dtype)
    if param.is_boolean():
        return torch.randint(0, 2, param.shape, device="cpu").to(dtype)
    low, high = _UNSIGNED_RANGE if param.is_unsigned() else _INTEGER_RANGE
    return torch.randint(low, high, param.shape, device="cpu").to(dtype)


def _as_list(outputs: Any) -> list[torch.Tensor]:
    if outputs is None:
        return []
    return [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)


@dataclass
class TenstorrentProfiler(Profiler):
    """Latencies are the chip's, by the clock of the virtual device, or the host's if asked for; it says which."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.supply = lambda param: supply(param, self.supply_type)

    def assert_allclose(
        self,
        reference_program: Callable[..., Any],
        input_tensors: Sequence[torch.Tensor] | None = None,
        atol: float = 1e-2,
        rtol: float = 1e-2,
        max_mismatched_ratio: float = 0.01,
    ) -> None:
        expected, actual = self._both(reference_program, input_tensors)
        for ours, reference in zip(actual, expected, strict=True):
            if ours is None or reference is None:  # a reference may leave an output out
                continue
            if is_float8_dtype(ours.dtype):
                ours, reference = ours.float(), reference.float()
            torch_assert_close(
                ours,
                reference,
                rtol=rtol,
                atol=atol,
                max_mismatched_ratio=max_mismatched_ratio,
                base_name="tilelang",
                ref_name="ref",
            )

    def manual_assert_close(
        self,
        reference_program: Callable[..., Any],
        input_tensors: Sequence[torch.Tensor] | None = None,
        manual_check_prog: Callable[..., Any] | None = None,
    ) -> None:
        if manual_check_prog is None:
            raise ValueError("manual_assert_close needs a manual_check_prog(outputs, reference_outputs)")
        expected, actual = self._both(reference_program, input_tensors)
        manual_check_prog(actual, expected)

    def assert_consistent(self, repeat: int = 10) -> None:
        inputs = self._get_inputs()
        first = _as_list(self.func(*inputs))
        for _ in range(repeat):
            for ours, before in zip(_as_list(self.func(*inputs)), first, strict=True):
                assert torch.equal(ours, before), "two runs on the same inputs differ"

    def do_bench(
        self,
        func: Callable[..., Any] | None = None,
        warmup: int = 25,
        rep: int = 100,
        n_warmup: int = 0,
        n_repeat: int = 0,
        input_tensors: Sequence[torch.Tensor] | None = None,
        backend: str = "wall",  # noqa: ARG002  (event, cupti and cudagraph are ways to time a GPU)
        quantiles: list[float] | None = None,
        return_mode: str = "mean",
        dynamic_symbolic_constraints: dict[str, int] | None = None,
        device: Any = None,  # noqa: ARG002
        early_stop_baseline: float | None = None,
        host: bool = False,
    ) -> Any:
        """Milliseconds per call: on the chip, as the clock estimates them; with `host`, on this host's clock.

        A function of the caller's (`func`) and kernels that run on a card are measured by the host's clock, too.
        """
        kernel = None if host or func is not None else self._on_virtual_device()
        say_once(_ON_HOST if kernel is None else _ON_CHIP)
        inputs = input_tensors
        if kernel is not None:
            milliseconds = self._estimated(kernel, inputs, dynamic_symbolic_constraints) / 1e3
            return [milliseconds] * len(quantiles) if quantiles and len(quantiles) > 1 else milliseconds
        if inputs is None:
            inputs = self._get_inputs(dynamic_symbolic_constraints=dynamic_symbolic_constraints)
        target = self.func if func is None else func
        return do_bench(
            lambda: target(*inputs),
            warmup=warmup,
            rep=rep,
            _n_warmup=n_warmup,
            _n_repeat=n_repeat,
            quantiles=quantiles,
            backend="wall",
            return_mode=return_mode,
            early_stop_baseline=early_stop_baseline,
        )

    def _on_virtual_device(self) -> TenstorrentAdapter | None:
        """The kernel, unless it runs on a card or is somebody's stand-in for one."""
        adapter: object = self.adapter
        if isinstance(adapter, TenstorrentAdapter) and choose(adapter.compiled.plan.device) == "virtual":
            return adapter
        return None

    def _estimated(
        self, kernel: TenstorrentAdapter, inputs: Sequence[torch.Tensor] | None, sizes: dict[str, int] | None
    ) -> float:
        """Microseconds; a kernel that looks at its data is run with them."""
        compiled = kernel.compiled
        try:
            if inputs is None and set(names_of(compiled.plan)) <= set(sizes or {}):
                values: dict[str, int | float] = {name: (sizes or {})[name] for name in names_of(compiled.plan)}
            else:
                inputs = self._get_inputs(dynamic_symbolic_constraints=sizes) if inputs is None else inputs
                values = kernel.sizes_of(inputs)
            return timing_of(compiled, estimate(compiled, values)).microseconds
        except DeviceError as error:
            if error.code != DEPENDS_ON_DATA:
                raise
        inputs = self._get_inputs(dynamic_symbolic_constraints=sizes) if inputs is None else inputs
        return timing_of(compiled, kernel.time(inputs)).microseconds

    def _both(
        self, reference_program: Callable[..., Any], input_tensors: Sequence[torch.Tensor] | None
    ) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        inputs = self._get_inputs() if input_tensors is None else input_tensors
        expected = _as_list(reference_program(*inputs))
        actual = _as_list(self.func(*inputs))
        assert len(actual) == len(expected), f"{len(actual)} outputs, {len(expected)} reference outputs"
        return expected, actual
