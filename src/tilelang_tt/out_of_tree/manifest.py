"""One call that makes TileLang know a backend: its targets, its compiler, its text, its kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm.ir import IRModule
from tvm.target import Target

from tilelang_tt.out_of_tree.family import KIND, Family
from tilelang_tt.tilelang_hooks import (
    BackendModule,
    DeviceCodegen,
    ExecutionBackendSpec,
    HostCodegen,
    PassPipeline,
    add_kernel_cache,
    register_backend,
)


def manifest(
    family: Family,
    lower: Callable[[IRModule, Target], IRModule],
    generate: Callable[[IRModule, Target], Any],
    refuse_host: Callable[[IRModule, Target], Any],
) -> BackendModule:
    """`lower` carries programs (`carry.py`), `generate` shows their text; nothing is compiled for TVM's runtime."""
    return BackendModule(
        name=family.name,
        target_kinds=(KIND,),
        supports_target=family.owns,
        pipelines={KIND: PassPipeline(KIND, lower)},
        device_codegens={KIND: DeviceCodegen(KIND, build=generate, build_without_compile=generate)},
        host_codegens={kind: HostCodegen(kind, build=refuse_host) for kind in ("c", "llvm")},
        execution_backends=(ExecutionBackendSpec(family.name),),
    )


def register(backend: BackendModule, cache: Any) -> None:
    """`cache` makes and keeps the kernels (`kernels.KernelCache`). Again is no error."""
    register_backend(backend)
    add_kernel_cache(backend.name, cache)
