"""What TileLang must know to compile for and run on a Tenstorrent device."""

from __future__ import annotations

from typing import NoReturn

from tvm.ir import IRModule
from tvm.ir.transform import PassContext
from tvm.target import Target
from tvm.tirx import PrimFunc

from tilelang_tt import target as targets
from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.execution.kernel import COMPILED_ATTRIBUTE, compiled_functions, new_cache
from tilelang_tt.execution.sources import join_sources
from tilelang_tt.out_of_tree import manifest
from tilelang_tt.out_of_tree.carry import SourceText, carrying
from tilelang_tt.pipeline import compile_function


def lower(module: IRModule, target: Target) -> IRModule:
    """Compile each function whole; what remains for TileLang to carry is a device function without body."""
    options = targets.options_of(target, PassContext.current().config)

    def compiled(func: PrimFunc) -> str:
        refuse_shared_buffers(func)
        return compile_function(func, options).to_json()

    return carrying(module, target, COMPILED_ATTRIBUTE, compiled)


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


def generate(module: IRModule, _target: Target) -> SourceText:
    return SourceText("\n".join(join_sources(compiled) for compiled in compiled_functions(module)))


def refuse_host_module(_module: IRModule, _target_host: Target) -> NoReturn:
    raise UnsupportedError(
        "TT191",
        "a Tenstorrent kernel has no TVM host module",
        help="call lower(...) without enable_host_codegen; main.cpp is the host program",
    )


BACKEND = manifest.manifest(targets.FAMILY, lower, generate, refuse_host_module)
CACHE = new_cache()


def register() -> None:
    targets.register()
    manifest.register(BACKEND, CACHE)
