"""What this package uses of TileLang, a row each, and the self-check: it names what is missing before anything fails.

`tilelang_hooks.py` is the only module that imports TileLang; a test keeps the two equal. `docs/internals.md` is printed
from here. A row says where TileLang has the thing, what we rely on, why, and which change upstream would remove it.
Operations (`tl.tileop.copy`) have no rows: a test looks them up, and an unknown one is refused where it is used.
"""

from __future__ import annotations

import dis
import importlib
import inspect
import sys
from dataclasses import dataclass
from enum import Enum
from typing import Any

from tilelang_tt.diagnostics import EnvironmentProblem
from tilelang_tt.environment import installed_version


class Kind(Enum):
    PUBLIC = "documented for users or backends"
    INNER = "not documented, without an underscore"
    PRIVATE = "private: an underscore, or a method overridden that is not meant to be"


@dataclass(frozen=True)
class Hook:
    """`where` is module:attribute or module:Class.method.

    `takes`: parameters that a call names, ours or TileLang's. `has`: attributes of the class's objects that we use.
    """

    where: str
    why: str
    removed_by: str = ""  # which change upstream would make it unnecessary; empty: it is the interface meant for this
    kind: Kind = Kind.PUBLIC
    takes: tuple[str, ...] = ()
    has: tuple[str, ...] = ()


@dataclass(frozen=True)
class Broken:
    hook: Hook
    fact: str


_SPANS = "source lines of a user's statements, for generated comments and errors"
_NO_TUNING = "a setting that stops tuning"
_OWN_BACKEND = "a function that registers an execution backend with its adapter and its cache"

HOOKS = (
    # --- the backend interface
    Hook("tilelang.backend.module:BackendModule", "the manifest of this backend", takes=("name", "target_kinds")),
    Hook("tilelang.backend.module:register_backend", "makes TileLang know it", takes=("backend",)),
    Hook(
        "tilelang.backend.module:BackendContext",
        "what a kernel is compiled for; part of the cache's key",
        has=("target",),
    ),
    Hook(
        "tilelang.backend.module:create_backend_context",
        "which target a script's kernel would get: the conformance runs ask",
        takes=("target", "target_host", "execution_backend"),
    ),
    Hook("tilelang.backend.pass_pipeline:PassPipeline", "where our compiler is called", takes=("name", "lower")),
    Hook(
        "tilelang.backend.device_codegen:DeviceCodegen",
        "hands generated text to TileLang",
        takes=("name", "build", "build_without_compile"),
    ),
    Hook("tilelang.backend.host_codegen:HostCodegen", "refuses a host module: main.cpp is it", takes=("name", "build")),
    Hook("tilelang.backend.execution_backend:ExecutionBackendSpec", "names our way to run kernels", takes=("name",)),
    Hook(
        "tilelang.backend.target:register_target_normalizer",
        "every spelling of our target",
        takes=("name", "normalize", "override"),
    ),
    Hook(
        "tilelang.backend.target:register_target_detector",
        'target="auto" is ours where a card is and no GPU',
        takes=("name", "detect", "override"),
    ),
    Hook("tilelang.backend.target:determine_target", "the target a name means", takes=("target", "return_object")),
    # --- compiling and running
    Hook(
        "tilelang.cache:_dispatch_map",
        "kernels of our execution backend come from our cache",
        _OWN_BACKEND,
        Kind.PRIVATE,
    ),
    Hook("tilelang.cache:cached", "a kernel for the CPU backend, from TileLang's own cache", "", Kind.INNER, ("func",)),
    Hook(
        "tilelang.jit.kernel:JITKernel._create_adapter_from_artifact",
        "our kernel makes our adapter",
        _OWN_BACKEND,
        Kind.PRIVATE,
        ("tilelang_func", "out_idx", "artifact"),
    ),
    Hook(
        "tilelang.jit.kernel:JITKernel.__init__",
        "the cache makes kernels",
        _OWN_BACKEND,
        Kind.INNER,
        ("func", "out_idx", "verbose", "pass_configs", "compile_flags", "backend_context"),
    ),
    Hook(
        "tilelang.jit.kernel:JITKernel",
        "what a kernel was made from, and with what",
        _OWN_BACKEND,
        Kind.INNER,
        has=("prim_func", "target", "pass_configs", "params", "out_idx", "adapter"),
    ),
    Hook(
        "tilelang.jit.adapter.base:BaseKernelAdapter",
        "parameters and results of a kernel",
        _OWN_BACKEND,
        Kind.INNER,
        has=("params", "result_idx"),
    ),
    Hook(
        "tilelang.jit.adapter.base:BaseKernelAdapter._convert_torch_func",
        "the callable inside a kernel is ours",
        _OWN_BACKEND,
        Kind.PRIVATE,
    ),
    Hook(
        "tilelang.jit:JITImpl",
        "the command finds the kernels of a file, and builds one",
        "a public test for kernels",
        Kind.INNER,
        ("func", "out_idx", "target"),
        ("func", "out_idx", "target"),
    ),
    Hook("tilelang.jit:JITImpl.get_tir", "a kernel of a file as a function, for every target"),
    Hook("tilelang:compile", "kernels of the command", takes=("func", "out_idx", "target", "pass_configs")),
    Hook(
        "tilelang.engine.lower:lower",
        "every other target's lowering",
        takes=("func_or_mod", "target", "target_host", "enable_host_codegen", "enable_device_compile"),
    ),
    Hook(
        "tilelang.engine.param:CompiledArtifact",
        "what lowering gives",
        takes=("host_mod", "device_mod"),
        has=("host_mod", "device_mod", "params", "kernel_source"),
    ),
    Hook(
        "tilelang.engine.param:KernelParam",
        "types and shapes of a kernel's parameters",
        has=("dtype", "shape", "torch_dtype", "is_scalar", "is_boolean", "is_unsigned", "from_buffer", "from_var"),
    ),
    Hook(
        "tilelang.profiler:Profiler",
        "do_bench of our kernels reports the clock",
        "a hook for latencies",
        Kind.INNER,
        has=("params", "result_idx", "supply", "supply_type", "adapter", "func", "_get_inputs"),
    ),
    Hook("tilelang.profiler:TensorSupplyType", "kinds of random inputs"),
    Hook("tilelang.profiler.bench:do_bench", "wall-clock time, where it is asked for", "", Kind.INNER, ("backend",)),
    Hook("tilelang.transform.pass_config:normalize_pass_configs", "pass configurations as the cache keys them"),
    Hook("tilelang.transform:PassConfigKey", "tl.enable_fast_math; switches of the CPU backend"),
    Hook("tilelang:env", "whether caching is on; TILELANG_DEFAULT_TARGET", "", Kind.INNER),
    Hook("tilelang.utils.tensor:torch_assert_close", "comparison of the profiler", "", Kind.INNER),
    Hook("tilelang.utils.tensor:is_float8_dtype", "comparison of the profiler", "", Kind.INNER),
    # --- the frontend
    *(
        Hook(f"tilelang.ir:{name}", _SPANS, "passes that keep spans", Kind.INNER)
        for name in (
            "get_stmt_span",
            "set_stmt_span",
            "make_span",
            "stamp_stmt_spans",
            "get_buffer_span",
            "set_buffer_span",
        )
    ),
    *(
        Hook(f"tilelang.transform:{name}", "a pass of the shared frontend that ours runs first", "", Kind.INNER)
        for name in (
            "MaterializeKernelLaunch",
            "LegalizeNegativeIndex",
            "InjectAssumes",
            "LetInline",
            "Simplify",
        )
    ),
    Hook(
        "tilelang.language.eager.builder:Builder",
        "the user's line of TT.layout and TT.schedule",
        "spans on attributes",
        Kind.INNER,
        has=("current", "current_file", "current_line"),
    ),
    Hook(
        "tilelang.language.eager.builder:JITFunc",
        "a kernel built anew with smaller blocks, to advise sizes",
        "prim_func from an altered tree",
        Kind.INNER,
        has=("orig_func", "arg_names", "signature", "set_mode", "get_tir", "tensor_args", "p1_cache"),
    ),
    Hook(
        "tilelang.language.eager.utils:get_ast",
        "a kernel with smaller numbers in its text, to advise sizes",
        "prim_func from an altered tree",
        Kind.INNER,
    ),
    Hook(
        "tilelang.jit:JITImpl.compile",
        "the function and the arguments of a call, which its kernel has lost, to advise sizes",
        "orig_func on kernels of eager functions, too",
        Kind.PRIVATE,
        ("args", "kwargs"),
    ),
    Hook("tilelang.language:prim_func", "a kernel built anew with smaller blocks, to advise sizes"),
    # --- the CPU backend as a helper, other targets' tools
    Hook(
        "tilelang.jit.adapter.wrapper:TLCPUSourceWrapper._TYPE_MAP",
        "bool parameters of a C kernel, whose two declarations differ",
        "the same type for bool in wrapper and kernel",
        Kind.PRIVATE,
    ),
    Hook("tilelang.contrib.cc:get_cplus_compiler", "whether C can be built here", "", Kind.INNER),
    Hook("tilelang.contrib:nvcc.find_cuda_path", "whether CUDA can be built here", "", Kind.INNER),
    Hook("tilelang.contrib:rocm.find_hipcc", "whether HIP can be built here", "", Kind.INNER),
    Hook("tilelang.instrumentation:StackedPassInstrument", "the list of passes of a target", "", Kind.INNER),
    Hook(
        "tilelang.instrumentation:PassEventObserver",
        "the list of passes of a target",
        "",
        Kind.INNER,
        has=("pass_started", "pass_finished"),
    ),
    # --- running TileLang's own scripts
    Hook(
        "tilelang.autotuner.tuner:AutoTuneImpl",
        "the command finds tuned kernels of a file",
        "",
        Kind.INNER,
        ("jit_impl", "configs"),
        ("jit_impl", "configs"),
    ),
    *(
        Hook(f"tilelang.autotuner.tuner:AutoTuner.{name}", "what a tuner compiles", _NO_TUNING, Kind.PRIVATE)
        for name in ("_ensure_jit_functions", "_kernel_parameters", "_function_parameters")
    ),
    Hook(
        "tilelang.autotuner.tuner:AutoTuner.run",
        "conformance runs take a tuner's first configuration",
        _NO_TUNING,
        Kind.INNER,
    ),
    Hook("tilelang.autotuner.param:AutotuneResult", "the same", _NO_TUNING, Kind.INNER),
)


def broken_hooks(hooks: tuple[Hook, ...] = HOOKS) -> list[Broken]:
    """Every row that does not hold in the TileLang that is installed."""
    checked = ((hook, _fact(hook)) for hook in hooks)
    return [Broken(hook, fact) for hook, fact in checked if fact]


def require_hooks(hooks: tuple[Hook, ...] = HOOKS) -> None:
    broken = broken_hooks(hooks)
    if broken:
        raise EnvironmentProblem(
            "TT523",
            f"TileLang {installed_version('tilelang')} lacks what this package is built on: {broken[0].hook.where}",
            notes=tuple(f"{one.hook.where} ({one.hook.why}): {one.fact}" for one in broken),
            help="install a release of TileLang that `pip show tilelang-tt` names, or report this text",
        )


def _fact(hook: Hook) -> str:
    """What is wrong; empty: nothing."""
    module, _, path = hook.where.partition(":")
    try:
        importlib.import_module(module)
    except ImportError as error:
        return f"cannot be imported: {error}"
    found: Any = sys.modules[module]
    for name in path.split("."):
        if not hasattr(found, name):
            return f"has no '{name}'"
        found = getattr(found, name)
    missing = [name for name in hook.takes if name not in _parameters(found)]
    if missing:
        return f"takes no '{missing[0]}' any more"
    lacking = set(hook.has) - set(dir(found)) if hook.has else set()
    lacking -= _set_by(found) if lacking else set()
    return f"has no '{min(lacking)}' any more" if lacking else ""


def _parameters(found: Any) -> set[str]:
    return set(inspect.signature(found).parameters)


def _set_by(kind: type) -> set[str]:
    """Attributes of objects that their classes declare, or set in a method."""
    found: set[str] = set()
    for one in kind.__mro__:
        found |= set(vars(one).get("__annotations__", ()))
        for method in vars(one).values():
            if inspect.isfunction(method):
                found |= {step.argval for step in dis.get_instructions(method) if step.opname == "STORE_ATTR"}
    return found
