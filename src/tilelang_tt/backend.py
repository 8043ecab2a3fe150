"""The TileLang manifest: what TileLang must know to compile for and run on a Tenstorrent device."""

from __future__ import annotations

from typing import NoReturn

import tilelang.cache
from tilelang.backend.device_codegen import DeviceCodegen
from tilelang.backend.execution_backend import ExecutionBackendSpec
from tilelang.backend.host_codegen import HostCodegen
from tilelang.backend.module import BackendModule, register_backend
from tilelang.backend.pass_pipeline import PassPipeline
from tvm.ir import CallingConv, GlobalVar, IRModule
from tvm.ir.transform import PassContext
from tvm.target import Target
from tvm.tirx import Evaluate, PrimFunc

from tilelang_tt import target as targets
from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.execution.kernel import COMPILED_ATTRIBUTE, compiled_functions
from tilelang_tt.execution.kernel_cache import TenstorrentKernelCache
from tilelang_tt.execution.sources import join_sources
from tilelang_tt.pipeline import compile_function

EXECUTION_BACKEND = "tenstorrent"


def lower(module: IRModule, target: Target) -> IRModule:
    """Compile each function whole; what remains for TileLang to carry is a device function without body."""
    options = targets.options_of(target, PassContext.current().config)
    lowered = {}
    for variable, func in module.functions.items():
        refuse_shared_buffers(func)
        compiled = compile_function(func, options)
        device = PrimFunc(func.params, Evaluate(0), func.ret_type, func.buffer_map)
        attributes = {
            "global_symbol": variable.name_hint,
            "calling_conv": int(CallingConv.DEVICE_KERNEL_LAUNCH),  # TileLang's mark of device code
            "target": target,
            COMPILED_ATTRIBUTE: compiled.to_json(),
        }
        for name, value in attributes.items():
            device = device.with_attr(name, value)
        lowered[GlobalVar(variable.name_hint)] = device
    return IRModule(lowered)


def refuse_shared_buffers(func: PrimFunc) -> None:
    """One annotation object on two parameters makes TileLang see one buffer: A and C would be the same."""
    owners: dict[int, str] = {}
    for param in func.params:
        if param not in func.buffer_map:
            continue
        name = str(param.name).removesuffix("_handle")
        first = owners.setdefault(hash(func.buffer_map[param].data), name)
        if first != name:
            raise UnsupportedError(
                "TT193",
                f"parameters '{first}' and '{name}' share one T.Tensor annotation, so they are one buffer",
                help=f"write T.Tensor(...) anew in the annotation of '{name}'",
            )


class SourceText:
    """What TileLang's engine asks of generated code."""

    def __init__(self, text: str) -> None:
        self._text = text

    def inspect_source(self, _format: str = "") -> str:
        return self._text


def generate(module: IRModule, _target: Target) -> SourceText:
    return SourceText("\n".join(join_sources(compiled) for compiled in compiled_functions(module)))


def refuse_host_module(_module: IRModule, _target_host: Target) -> NoReturn:
    raise UnsupportedError(
        "TT191",
        "a Tenstorrent kernel has no TVM host module",
        help="call lower(...) without enable_host_codegen; main.cpp is the host program",
    )


BACKEND = BackendModule(
    name=targets.NAME,
    target_kinds=(targets.KIND,),
    supports_target=targets.is_tenstorrent,
    pipelines={targets.KIND: PassPipeline(targets.KIND, lower)},
    device_codegens={targets.KIND: DeviceCodegen(targets.KIND, build=generate, build_without_compile=generate)},
    host_codegens={kind: HostCodegen(kind, build=refuse_host_module) for kind in ("c", "llvm")},
    execution_backends=(ExecutionBackendSpec(EXECUTION_BACKEND),),
)


def register() -> None:
    targets.register()
    register_backend(BACKEND)
    # TileLang has no function to register an execution backend's kernels; this dict is where it looks.
    tilelang.cache._dispatch_map.setdefault(EXECUTION_BACKEND, TenstorrentKernelCache())
