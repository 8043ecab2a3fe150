"""TileLang's own CPU backend as an independent reference for a kernel written for tiles.

    before   S = T.alloc_fragment((64, 64), "float32");  for i, j in T.Parallel(64, 64): ...
    after    S in scope "local";                          two plain loops

With every on-chip buffer an ordinary array and every parallel loop a serial one, TileLang lowers the function to C
without a line of this backend. bfloat16 and 8-bit floats, which its C has not, are computed in float32 and rounded in
results; hints to a GPU are left out.
"""

from __future__ import annotations

import json
import math
from typing import Any

import torch
import tvm
from tvm import tirx

from tilelang_tt.cpu.reductions import written_out
from tilelang_tt.cpu.rounding import every_element, with_roundings
from tilelang_tt.frontend.lift_expression import SAME_TYPE, operator
from tilelang_tt.frontend.refuse_gpu_code import HARMLESS
from tilelang_tt.tilelang_hooks import PassConfigKey, TLCPUSourceWrapper, cached

# Dtypes C has not, as TVM and torch name them.
_NOT_IN_C = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
_WIDER = {getattr(torch, name): torch.float32 for name in _NOT_IN_C}
# Values of the serialised function that change: where buffers live, and dtypes; one has a second name in TVM.
_REWRITTEN = dict.fromkeys(("shared.dyn", "shared", "local.fragment"), "local")
_REWRITTEN |= dict.fromkeys((*_NOT_IN_C, "float8_e4m3"), "float32") | SAME_TYPE
_WIDENED = dict.fromkeys((*_NOT_IN_C, "float8_e4m3", "float16", "float32"), "float64")


def _absolute(call: tirx.Call) -> tirx.PrimExpr:
    """The absolute value of a float in C, for which TVM has no rule; C has no function of its own for 16 bits."""
    if call.dtype == "float64":
        return tirx.call_pure_extern("float64", "fabs", call.args[0])
    return tirx.call_pure_extern("float32", "fabsf", call.args[0].astype("float32")).astype(call.dtype)


tvm.ir.register_intrin_lowering("tirx.fabs", "c", f=_absolute)
# The kernel's own parameter has this type, the function that calls it another one.
TLCPUSourceWrapper._TYPE_MAP["bool"] = "int8_t"


# TileLang's vectors of bfloat16 and float16 are none of C's.
CPU_CONFIGS = {PassConfigKey.TIR_DISABLE_VECTORIZE: True}


def cpu_function(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """What TileLang's CPU backend takes for a tile kernel: plain loops, which round as on-chip blocks do."""
    return plain_loops(with_roundings(func))


class CpuKernel:
    """A function compiled to C by TileLang; a call writes its result tensors in place.

    `rounds`: on-chip blocks round to their type, as they do on a chip; otherwise to C's.
    `wide`: every float has 64 bits, those of tensors among them: a reference for all that rounds earlier.
    """

    def __init__(self, func: tirx.PrimFunc, *, rounds: bool = False, wide: bool = False) -> None:
        self._kernel = cached(
            plain_loops(with_roundings(func) if rounds else func, wide=wide),
            target="c",
            execution_backend="cython",
            pass_configs=CPU_CONFIGS,
        )

    def __call__(self, *args: Any) -> None:
        copies = [_host_copy(arg) if isinstance(arg, torch.Tensor) else arg for arg in args]
        self._kernel(*copies)
        for arg, copy in zip(args, copies, strict=True):
            if isinstance(arg, torch.Tensor) and arg.numel():
                arg.data.copy_(copy)  # not seen by autograd, as a kernel's writes are not


def plain_loops(func: tirx.PrimFunc, *, wide: bool = False) -> tirx.PrimFunc:
    """The same function over ordinary arrays, one step after the other; `wide`: of float64."""
    _refuse_what_differs(func, wide=wide)
    values = _REWRITTEN | _WIDENED if wide else _REWRITTEN
    plain = tvm.ir.load_json(json.dumps(_rewritten(json.loads(tvm.ir.save_json(func)), values)))
    for name in ("tilelang_out_idx", "tilelang_pass_configs", "tilelang_compile_flags"):
        if plain.attrs and name in plain.attrs:
            plain = plain.without_attr(name)
    return plain.with_body(tirx.stmt_functor.ir_transform(plain.body, None, _changed, _CHANGED))


def _refuse_what_differs(func: tirx.PrimFunc, *, wide: bool) -> None:
    """Raise where C would compute something else: elements that are wider there, seen as another type; updates that
    every thread makes, which C makes once."""
    types: dict[tirx.Var, set[str]] = {}
    threads = [1]

    def visit(node: Any) -> None:
        if isinstance(node, tirx.BufferLoad | tirx.BufferStore):
            types.setdefault(node.buffer.data, set()).add(str(node.buffer.dtype))
        if isinstance(node, tirx.SBlock) and "tl.launch_threads" in node.annotations:
            threads.append(math.prod(map(int, node.annotations["tl.launch_threads"])))

    tirx.stmt_functor.post_order_visit(func.body, visit)
    changed = (*_NOT_IN_C, *_WIDENED) if wide else _NOT_IN_C
    if any(len(found) > 1 and not found.isdisjoint(changed) for found in types.values()):
        raise ValueError("bytes of a type that C has not, seen as another type")
    if max(threads) > 1 and _updated_by_threads(func.body):
        raise ValueError("every thread updates an element")


def _updated_by_threads(stmt: tirx.Stmt) -> bool:
    """Whether an atomic update of an element stands outside of T.Parallel."""
    outside = tirx.stmt_functor.ir_transform(
        stmt, lambda loop: tirx.Evaluate(0) if loop.kind == tirx.ForKind.PARALLEL else None, None, ["tirx.For"]
    )
    found: list[tirx.Call] = []

    def visit(node: Any) -> None:
        if isinstance(node, tirx.Call) and operator(node).startswith("tl.atomic"):
            found.append(node)

    tirx.stmt_functor.post_order_visit(outside, visit)
    return bool(found)


def _rewritten(value: Any, values: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _rewritten(item, values) for key, item in value.items()}
    if isinstance(value, list):
        return [_rewritten(item, values) for item in value]
    return values.get(value, value) if isinstance(value, str) else value


def _serial(loop: tirx.For) -> tirx.For | None:
    if loop.kind != tirx.ForKind.PARALLEL:
        return None
    return tirx.For(loop.loop_var, loop.min, loop.extent, tirx.ForKind.SERIAL, loop.body)


def _plain_block(block: tirx.SBlock) -> tirx.SBlock | None:
    """Without layouts, which are annotated for a GPU; arrays start as zeros, as our blocks do."""
    arrays = [buffer for buffer in block.alloc_buffers if str(buffer.scope()) == "local"]
    if "layout_map" not in block.annotations and not arrays:
        return None
    kept = {key: value for key, value in block.annotations.items() if str(key) != "layout_map"}
    body = tirx.SeqStmt([*map(_zeros, arrays), block.body]) if arrays else block.body
    parts = (block.iter_vars, block.reads, block.writes, block.name_hint, body, block.init)
    return tirx.SBlock(*parts, block.alloc_buffers, block.match_buffers, kept)


def _zeros(buffer: Any) -> Any:
    zero = tirx.const(0, buffer.dtype)
    return every_element(buffer, lambda places: tirx.BufferStore(buffer, zero, places))


def _plain_call(stmt: tirx.Evaluate) -> tirx.Stmt | None:
    return tirx.Evaluate(0) if operator(stmt.value) in HARMLESS else written_out(stmt.value)


_CHANGES = {tirx.For: _serial, tirx.SBlock: _plain_block, tirx.Evaluate: _plain_call}
_CHANGED = ["tirx.For", "tirx.SBlock", "tirx.Evaluate"]


def _changed(stmt: tirx.Stmt) -> tirx.Stmt | None:
    """What C gets instead of a statement; None: the statement itself."""
    return _CHANGES[type(stmt)](stmt)


def _host_copy(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().to(_WIDER.get(tensor.dtype, tensor.dtype)).contiguous().clone()
