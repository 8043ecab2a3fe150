"""Kernels compiled in this process, by everything that decides their text.

There is no cache on disk at this level: compiling takes milliseconds, and what takes longer, building
kernels for the virtual device, is cached there by content.
"""

from __future__ import annotations

import hashlib
import json
import threading
from typing import Any

import tvm
from tilelang import env
from tilelang.backend.module import BackendContext
from tilelang.transform.pass_config import normalize_pass_configs
from tvm.tirx import PrimFunc

from tilelang_tt.execution.kernel import TenstorrentKernel
from tilelang_tt.frontend.smaller_blocks import written_by


class TenstorrentKernelCache:
    """The object TileLang's dispatcher asks for a kernel; `par_compile` asks from many threads."""

    def __init__(self) -> None:
        self._kernels: dict[str, TenstorrentKernel] = {}
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
    ) -> TenstorrentKernel:
        pass_configs = normalize_pass_configs(pass_configs)
        outputs = list(out_idx) if isinstance(out_idx, (list, tuple)) else out_idx
        key = _key(func, outputs, args, backend_context, pass_configs, compile_flags)
        if env.is_cache_enabled() and key in self._kernels:
            return self._kernels[key]
        with written_by(func):
            kernel = TenstorrentKernel(
                func,
                out_idx=outputs,
                verbose=verbose,
                pass_configs=pass_configs,
                compile_flags=compile_flags,
                backend_context=backend_context,
            )
        if not env.is_cache_enabled():
            return kernel
        with self._lock:
            return self._kernels.setdefault(key, kernel)

    def clear_cache(self) -> None:
        with self._lock:
            self._kernels.clear()


def _key(func: PrimFunc, outputs: Any, args: tuple[Any, ...], context: BackendContext, *flags: Any) -> str:
    """JSON holds names and source lines too, which script and structural hash leave out: they are printed
    into the generated files."""
    parts = [tvm.ir.save_json(func), str(context.target), outputs, [repr(arg) for arg in args], flags]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()
