"""Kernels of one's own, and the cache TileLang's dispatcher asks for them.

There is no cache on disk at this level: compiling takes milliseconds, and what takes longer, a backend caches itself.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import tvm
from tvm.tirx import PrimFunc

from tilelang_tt.tilelang_hooks import (
    BackendContext,
    BaseKernelAdapter,
    CompiledArtifact,
    JITKernel,
    env,
    normalize_pass_configs,
)


class OutOfTreeKernel(JITKernel):
    """What `@tilelang.jit`, `.compile` and `tilelang.compile` return. A backend says which adapter is inside."""

    def adapter_of(self, artifact: CompiledArtifact, out_idx: list[int] | int | None) -> BaseKernelAdapter:
        raise NotImplementedError

    def _create_adapter_from_artifact(
        self,
        tilelang_func: PrimFunc,  # noqa: ARG002  (the artifact holds all there is to know)
        out_idx: list[int] | int | None,
        artifact: CompiledArtifact,
        *_: Any,
    ) -> BaseKernelAdapter:
        return self.adapter_of(artifact, out_idx)


class KernelCache:
    """Kernels compiled in this process, by everything that decides their text; `par_compile` asks from many threads."""

    def __init__(
        self,
        kernel: Callable[..., Any],
        around: Callable[[PrimFunc], AbstractContextManager[Any]] = lambda _: nullcontext(),
        seen: Callable[[Any], None] = lambda _: None,
    ) -> None:
        self._kernel = kernel
        self._around = around  # each compilation
        self._seen = seen  # gets every kernel that a program asks for
        self._kernels: dict[str, Any] = {}
        self._lock = threading.Lock()

    def cached(
        self,
        func: PrimFunc,
        out_idx: list[int] | int | None = None,
        *args: Any,
        backend_context: BackendContext,
        verbose: bool = False,
        pass_configs: dict[str, Any] | None = None,
        compile_flags: list[str] | str | None = None,
    ) -> Any:
        pass_configs = normalize_pass_configs(pass_configs)
        outputs = list(out_idx) if isinstance(out_idx, (list, tuple)) else out_idx
        key = _key(func, outputs, args, backend_context, pass_configs, compile_flags)
        if env.is_cache_enabled() and key in self._kernels:
            return self._shown(self._kernels[key])
        with self._around(func):
            kernel = self._kernel(
                func,
                out_idx=outputs,
                verbose=verbose,
                pass_configs=pass_configs,
                compile_flags=compile_flags,
                backend_context=backend_context,
            )
        if not env.is_cache_enabled():
            return self._shown(kernel)
        with self._lock:
            return self._shown(self._kernels.setdefault(key, kernel))

    def _shown(self, kernel: Any) -> Any:
        self._seen(kernel)
        return kernel

    def clear_cache(self) -> None:
        with self._lock:
            self._kernels.clear()


def _key(func: PrimFunc, outputs: Any, args: tuple[Any, ...], context: BackendContext, *flags: Any) -> str:
    """JSON holds names and source lines too, which script and structural hash leave out: they are printed
    into the generated files."""
    parts = [tvm.ir.save_json(func), str(context.target), outputs, [repr(arg) for arg in args], flags]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()
