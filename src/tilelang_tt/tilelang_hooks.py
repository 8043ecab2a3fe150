"""Every touch of TileLang: nothing else of this package imports it. `hook_table.py` says of each name why it is needed.

What other modules take from here is TileLang's own object, under its own name; the functions below are the places where
more than a name is needed.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

import tilelang
import tilelang.autotuner.tuner as tuner
import tilelang.cache
import tilelang.language as T
import tilelang.profiler as profiler
import tilelang.transform as transform
import tvm
from tilelang import env
from tilelang.autotuner.param import AutotuneResult
from tilelang.autotuner.tuner import AutoTuneImpl
from tilelang.backend.device_codegen import DeviceCodegen
from tilelang.backend.execution_backend import ExecutionBackendSpec
from tilelang.backend.host_codegen import HostCodegen
from tilelang.backend.module import BackendContext, BackendModule, create_backend_context, register_backend
from tilelang.backend.pass_pipeline import PassPipeline
from tilelang.backend.target import determine_target, register_target_detector, register_target_normalizer
from tilelang.cache import cached
from tilelang.contrib import nvcc, rocm
from tilelang.contrib.cc import get_cplus_compiler
from tilelang.engine.param import CompiledArtifact, KernelParam
from tilelang.instrumentation import PassEventObserver, StackedPassInstrument
from tilelang.ir import (
    get_buffer_span,
    get_stmt_span,
    make_span,
    set_buffer_span,
    set_stmt_span,
    stamp_stmt_spans,
)
from tilelang.jit import JITImpl
from tilelang.jit.adapter.base import BaseKernelAdapter
from tilelang.jit.adapter.wrapper import TLCPUSourceWrapper
from tilelang.jit.kernel import JITKernel
from tilelang.language.eager.builder import Builder
from tilelang.language.eager.utils import get_ast
from tilelang.profiler import Profiler, TensorSupplyType
from tilelang.profiler.bench import do_bench
from tilelang.transform import PassConfigKey
from tilelang.transform.pass_config import normalize_pass_configs
from tilelang.utils.tensor import is_float8_dtype, torch_assert_close
from tvm.target import Target

__all__ = [
    "AutoTuneImpl",
    "AutotuneResult",
    "BackendContext",
    "BackendModule",
    "BaseKernelAdapter",
    "Builder",
    "CompiledArtifact",
    "DeviceCodegen",
    "ExecutionBackendSpec",
    "HostCodegen",
    "JITImpl",
    "JITKernel",
    "KernelParam",
    "PassConfigKey",
    "PassEventObserver",
    "PassPipeline",
    "Profiler",
    "StackedPassInstrument",
    "T",
    "TLCPUSourceWrapper",
    "TensorSupplyType",
    "add_kernel_cache",
    "cached",
    "compile_kernel",
    "create_backend_context",
    "determine_target",
    "do_bench",
    "env",
    "get_ast",
    "get_buffer_span",
    "get_cplus_compiler",
    "get_stmt_span",
    "is_float8_dtype",
    "jit_module",
    "lower_in_scope",
    "make_span",
    "normalize_pass_configs",
    "nvcc",
    "profiler",
    "register_backend",
    "register_target_detector",
    "register_target_normalizer",
    "rocm",
    "set_buffer_span",
    "set_stmt_span",
    "stamp_stmt_spans",
    "testing",
    "tilelang",
    "torch_assert_close",
    "transform",
    "tuner",
]


def add_kernel_cache(execution_backend: str, cache: Any) -> None:
    """TileLang has no function to register an execution backend's kernels; this dict is where it looks."""
    tilelang.cache._dispatch_map.setdefault(execution_backend, cache)


def jit_module() -> Any:
    """The module, which `tilelang.jit`, a decorator of the same name, hides."""
    return sys.modules["tilelang.jit"]


def testing() -> Any:
    """Of TileLang's own tests; it needs pytest, which only its callers presume."""
    return importlib.import_module("tilelang.testing")


def lower_in_scope(
    module: Any, target: Target, configs: dict[str, Any], whole: bool, instruments: Sequence[Any] = ()
) -> Any:
    """TileLang's engine, with what its JIT puts around it: some passes ask for the target of the scope."""
    engine = importlib.import_module("tilelang.engine.lower")  # the package has a function of this name, too
    host = Target("c")
    bound = Target(target, host)
    with tvm.transform.PassContext(opt_level=3, config=configs, instruments=list(instruments)), bound:
        return engine.lower(
            module, target=bound, target_host=host, enable_host_codegen=whole, enable_device_compile=whole
        )


def compile_kernel(func: Any, target: Target, configs: dict[str, Any]) -> Any:
    """A callable that takes every tensor, results too."""
    if func.attrs and "tilelang_out_idx" in func.attrs:
        func = func.without_attr("tilelang_out_idx")
    return tilelang.compile(func, target=target, pass_configs=configs)
