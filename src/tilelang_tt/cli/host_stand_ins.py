"""CUDA habits of a script, answered by the host while `tilelang-tt` runs it.

    a = torch.randn(64, 64, device="cuda")   ->  a tensor on the host
    b = a.cpu()                              ->  a copy, as it would be from a GPU
    torch.cuda.synchronize()                 ->  nothing to wait for
    torch.cuda.get_device_properties(0)      ->  the Tenstorrent chip's cores as multiprocessors

Everything is put back when the script ends; nothing is replaced outside `tilelang-tt`.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from tilelang_tt.arch import Arch
from tilelang_tt.tilelang_hooks import do_bench, profiler

# Compute capability to claim: an ordinary GPU, so that scripts take their plain path and not one written
# around Hopper's TMA or Blackwell's tensor memory.
PLAIN_CAPABILITY = (8, 0)

_CUDA_NAME = re.compile(r"cuda(:\d+)?")
_MOVES = (torch.Tensor.to, torch.Tensor.cpu)


def _is_cuda(value: Any) -> bool:
    if isinstance(value, torch.device):
        return value.type == "cuda"
    return isinstance(value, str) and _CUDA_NAME.fullmatch(value) is not None


def _on_host(value: Any) -> Any:
    return torch.device("cpu") if _is_cuda(value) else value


def _asks_for_cuda(type: Any, *_: Any, **__: Any) -> bool:
    """Arguments of torch.device: a bare number means a GPU."""
    return isinstance(type, int) or _is_cuda(type)


class HostTensors(TorchFunctionMode):
    """Every torch call that names a CUDA device gets the host instead."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.device and _asks_for_cuda(*args, **kwargs):
            return torch.device("cpu")
        if func is torch.Tensor.cuda:
            return args[0].clone()
        if func is torch.Tensor.pin_memory:
            return args[0]
        moves = func in _MOVES and _names_device(func, args, kwargs)
        args = tuple(_on_host(arg) for arg in args)
        if func is torch.Tensor.to and len(args) > 1 and type(args[1]) is int:
            args = (args[0], torch.device("cpu"), *args[2:])
        if isinstance(kwargs.get("device"), int) or _is_cuda(kwargs.get("device")):
            kwargs["device"] = torch.device("cpu")
        kwargs.pop("pin_memory", None)
        result = func(*args, **kwargs)
        # Between two devices a move always copies; without this, writing to one would change the other.
        return result.clone() if moves and result is args[0] else result


def _names_device(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    if func is torch.Tensor.cpu or "device" in kwargs:
        return True
    return len(args) > 1 and isinstance(args[1], (str, torch.device, int)) and not isinstance(args[1], bool)


class Generator(torch.Generator):
    """torch.Generator of a GPU: one of the host."""

    def __new__(cls, device: Any = "cpu") -> Generator:
        return super().__new__(cls, _on_host(device))  # type: ignore[call-arg] # torch's stub has no __new__


class Event:
    """torch.cuda.Event on the host's clock."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self._seconds = 0.0

    def record(self, *_: Any) -> None:
        self._seconds = time.perf_counter()

    def elapsed_time(self, end: Event) -> float:
        return (end._seconds - self._seconds) * 1e3

    def synchronize(self) -> None: ...

    def wait(self, *_: Any) -> None: ...

    def query(self) -> bool:
        return True


class Stream:
    """torch.cuda.Stream: host code is already in order."""

    cuda_stream = 0

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def synchronize(self) -> None: ...

    def wait_stream(self, _stream: Any) -> None: ...

    def wait_event(self, _event: Any) -> None: ...

    def record_event(self, event: Event | None = None) -> Event:
        event = event or Event()
        event.record()
        return event


def _nothing() -> Callable[..., None]:
    """A function of its own each time: torch keeps tables of its functions and stops at one with two names."""

    def nothing(*_: Any, **__: Any) -> None: ...

    return nothing


def _seed() -> Callable[[int], Any]:
    """Not torch.manual_seed: that calls torch.cuda.manual_seed_all itself."""
    return lambda seed: torch.default_generator.manual_seed(seed)


def cuda_stand_ins(chip: Arch) -> dict[str, Any]:
    """Names of torch.cuda and what stands in for them."""
    title = f"Tenstorrent {chip.title} (virtual device)"
    properties = SimpleNamespace(
        name=title,
        major=PLAIN_CAPABILITY[0],
        minor=PLAIN_CAPABILITY[1],
        multi_processor_count=chip.cores,
    )
    return {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "init": _nothing(),
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": _nothing(),
        "get_device_name": lambda _device=None: title,
        "get_device_capability": lambda _device=None: PLAIN_CAPABILITY,
        "get_device_properties": lambda _device=None: properties,
        "synchronize": _nothing(),
        "empty_cache": _nothing(),
        "manual_seed": _seed(),
        "manual_seed_all": _seed(),
        "Event": Event,
        "Stream": Stream,
        "current_stream": lambda _device=None: Stream(),
        "default_stream": lambda _device=None: Stream(),
        "stream": lambda _stream: contextlib.nullcontext(),
        "device": lambda _device: contextlib.nullcontext(),
    }


def host_bench(fn: Callable[[], Any], *args: Any, **kwargs: Any) -> Any:
    """`tilelang.profiler.do_bench` on the host's clock, whichever GPU clock the script asks for."""
    return do_bench(fn, *args, **{**kwargs, "backend": "wall", "device": None})


@contextlib.contextmanager
def host_stand_ins(chip: Arch) -> Iterator[None]:
    """Answer CUDA habits from the host inside this block."""
    set_default_device = torch.set_default_device
    replaced: list[tuple[Any, str, Any]] = [(torch.cuda, name, value) for name, value in cuda_stand_ins(chip).items()]
    replaced += [(torch.cuda.profiler, name, _nothing()) for name in ("start", "stop")]
    replaced.append((torch, "set_default_device", lambda device: set_default_device(_on_host(device))))
    replaced.append((torch, "Generator", Generator))
    replaced.append((profiler, "do_bench", host_bench))
    originals = [(owner, name, getattr(owner, name)) for owner, name, _ in replaced]
    try:
        for owner, name, value in replaced:
            setattr(owner, name, value)
        with HostTensors():
            yield
    finally:
        for owner, name, value in originals:
            setattr(owner, name, value)
