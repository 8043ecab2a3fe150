"""The targets, a row each: what the released TileLang, this machine's tools and its devices must have for one.

`missing` says in a sentence what a step needs and does not find; None: nothing. A row only looks; `trial.py` tries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
import tvm_ffi
from tvm.tirx import PrimFunc

from tilelang_tt import target as ours
from tilelang_tt.cpu.kernel import CPU_CONFIGS, cpu_function
from tilelang_tt.diagnostics import EnvironmentProblem
from tilelang_tt.runtime.toolchain import find_toolchain
from tilelang_tt.tilelang_hooks import get_cplus_compiler, nvcc, rocm
from tilelang_tt.version import TILELANG_VERSION

Step = Literal["emit", "build", "run"]
Missing = Callable[[], str | None]

# What the bare name means where no device can be asked. TileLang's own choice for CUDA is too old for nvcc 13.
CUDA_WITHOUT_GPU = {"kind": "cuda", "arch": "sm_80"}
HIP_WITHOUT_GPU = {"kind": "hip", "mcpu": "gfx942"}


def _nothing() -> None:
    return None


def _as_it_is(func: PrimFunc) -> PrimFunc:
    return func


@dataclass(frozen=True)
class Row:
    kind: str  # as TVM names it, and as users do
    title: str
    source: str  # language of what is emitted
    bare: Callable[[], Any]  # the target that the name alone means on this machine
    emit: Missing
    build: Missing
    run: Missing
    prepare: Callable[[PrimFunc], PrimFunc] = _as_it_is  # what TileLang's pipeline for it cannot do by itself
    configs: Mapping[str, Any] = field(default_factory=dict)  # of TileLang's passes

    def missing(self, step: Step) -> str | None:
        needed: dict[Step, Missing] = {"emit": self.emit, "build": self.build, "run": self.run}
        for one, of in needed.items():
            found = of()
            if found is not None or one == step:
                return found
        return None


def _generator(name: str, what: str) -> Missing:
    """Generators are C++ functions, compiled into TileLang's wheel or not."""

    def missing() -> str | None:
        if tvm_ffi.get_global_func(name, allow_missing=True) is not None:
            return None
        return f"the installed TileLang {TILELANG_VERSION} is built without {what} (it has no function {name})"

    return missing


def _nvcc() -> str | None:
    try:
        nvcc.find_cuda_path()
    except RuntimeError:
        return "no CUDA toolkit is found: install nvcc, or set CUDA_HOME to where it is"
    return None


def _nvidia() -> str | None:
    if torch.version.cuda is None:
        return "the installed torch is built without CUDA, and kernels take its tensors"
    return None if torch.cuda.is_available() else "torch sees no NVIDIA GPU"


def _hipcc() -> str | None:
    try:
        rocm.find_hipcc()
    except RuntimeError:
        return "no hipcc is found: install ROCm, or set ROCM_PATH to where it is"
    return None


def _amd() -> str | None:
    if torch.version.hip is None:
        return "the installed torch is built without ROCm, and kernels take its tensors"
    return None if torch.cuda.is_available() else "torch sees no AMD GPU"


def _compiler() -> str | None:
    return None if get_cplus_compiler() is not None else "no C++ compiler is found: install g++ or clang, or set CXX"


def _mac() -> str | None:
    there = torch.backends.mps.is_available()
    return None if there else "Metal kernels run on a Mac, and torch sees no Metal device"


def _webgpu() -> str | None:
    if tvm_ffi.get_global_func("device_api.webgpu", allow_missing=True) is None:
        return f"TileLang {TILELANG_VERSION} has no WebGPU runtime for Python; a browser compiles the WGSL"
    return None


def _virtual_device() -> str | None:
    try:
        find_toolchain()
    except EnvironmentProblem as problem:
        return problem.message
    return None


def _gpu_or(kind: str, otherwise: dict[str, str], absent: Missing) -> Callable[[], Any]:
    """TileLang asks the GPU for its architecture when the name stands alone."""
    return lambda: kind if absent() is None else otherwise


ROWS = {
    row.kind: row
    for row in (
        Row(
            "cuda",
            "NVIDIA GPUs",
            "CUDA C++",
            _gpu_or("cuda", CUDA_WITHOUT_GPU, _nvidia),
            _generator("target.build.tilelang_cuda_without_compile", "CUDA"),
            _nvcc,
            _nvidia,
        ),
        Row(
            "hip",
            "AMD GPUs",
            "HIP C++",
            _gpu_or("hip", HIP_WITHOUT_GPU, _amd),
            _generator("target.build.tilelang_hip_without_compile", "HIP"),
            _hipcc,
            _amd,
        ),
        Row(
            "c",
            "this processor, through C",
            "C",
            lambda: "c",
            _generator("target.build.tilelang_c", "its C backend"),
            _compiler,
            _nothing,
            cpu_function,
            CPU_CONFIGS,
        ),
        Row(
            "llvm",
            "this processor, through LLVM",
            "LLVM IR",
            lambda: "llvm",
            _generator("target.build.llvm", "LLVM"),
            _nothing,
            _nothing,
            cpu_function,
            CPU_CONFIGS,
        ),
        Row(
            "webgpu",
            "GPUs in a browser",
            "WGSL",
            lambda: "webgpu",
            _generator("target.build.webgpu", "WebGPU"),
            _nothing,
            _webgpu,
        ),
        Row(
            "metal",
            "Apple GPUs",
            "Metal",
            lambda: "metal",
            _generator("target.build.tilelang_metal_without_compile", "Metal"),
            _nothing,
            _mac,
        ),
        Row(
            ours.NAME,
            "Tenstorrent chips",
            "TT-Metalium C++",
            lambda: ours.NAME,
            _nothing,
            _virtual_device,
            _nothing,
        ),
    )
}
# A word for people who have no accelerator.
ALIASES = {"cpu": "c"}
