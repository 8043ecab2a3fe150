"""Finished programs on their way through TileLang's engine: each as an attribute of a function without body.

    before   mm(A, B, C) { T.gemm ... }
    after    mm(A, B, C) { }   with  toy.program = "..."   and TileLang's mark of device code

The passes that still run on device functions rewrite bodies, never attributes.
"""

from __future__ import annotations

from collections.abc import Callable

from tvm.ir import CallingConv, GlobalVar, IRModule
from tvm.target import Target
from tvm.tirx import Evaluate, PrimFunc


def carrying(module: IRModule, target: Target, attribute: str, compiled: Callable[[PrimFunc], str]) -> IRModule:
    """Every function replaced by what `compiled` makes of it."""
    lowered = {}
    for variable, func in module.functions.items():
        device = PrimFunc(func.params, Evaluate(0), func.ret_type, func.buffer_map)
        attributes = {
            "global_symbol": variable.name_hint,
            "calling_conv": int(CallingConv.DEVICE_KERNEL_LAUNCH),
            "target": target,
            attribute: compiled(func),
        }
        for name, value in attributes.items():
            device = device.with_attr(name, value)
        lowered[GlobalVar(variable.name_hint)] = device
    return IRModule(lowered)


def carried(device_module: IRModule, attribute: str) -> list[str]:
    """The programs of a lowered module."""
    return [str(func.attrs[attribute]) for func in device_module.functions.values()]


class SourceText:
    """What TileLang's engine asks of generated code."""

    def __init__(self, text: str) -> None:
        self._text = text

    def inspect_source(self, _format: str = "") -> str:
        return self._text
