"""TileLang's own CPU backend as an independent reference for a kernel written for tiles.

    before   S = T.alloc_fragment((64, 64), "float32");  for i, j in T.Parallel(64, 64): ...
    after    S in scope "local";                          two plain loops

With every on-chip buffer an ordinary array and every parallel loop a serial one, TileLang lowers the function to C
without a line of this backend. bfloat16, which its C has not, is computed in float32 and rounded in results.
"""

from __future__ import annotations

import json
from typing import Any

import torch
import tvm
from tilelang.cache import cached
from tilelang.transform import PassConfigKey
from tvm import tirx

# Values of the serialised function that change: where buffers live, and the one dtype C has not.
_REWRITTEN = {"shared.dyn": "local", "shared": "local", "local.fragment": "local", "bfloat16": "float32"}
_WIDER = {torch.bfloat16: torch.float32}


class CpuKernel:
    """A function compiled to C by TileLang; a call writes its result tensors in place."""

    def __init__(self, func: tirx.PrimFunc) -> None:
        self._kernel = cached(
            plain_loops(func),
            target="c",
            execution_backend="cython",
            pass_configs={PassConfigKey.TIR_DISABLE_VECTORIZE: True},
        )

    def __call__(self, *args: Any) -> None:
        copies = [_host_copy(arg) if isinstance(arg, torch.Tensor) else arg for arg in args]
        self._kernel(*copies)
        for arg, copy in zip(args, copies, strict=True):
            if isinstance(arg, torch.Tensor) and arg.numel():
                arg.copy_(copy)


def plain_loops(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """The same function over ordinary arrays, one step after the other."""
    plain = tvm.ir.load_json(json.dumps(_rewritten(json.loads(tvm.ir.save_json(func)))))
    for name in ("tilelang_out_idx", "tilelang_pass_configs", "tilelang_compile_flags"):
        if plain.attrs and name in plain.attrs:
            plain = plain.without_attr(name)
    return plain.with_body(tirx.stmt_functor.ir_transform(plain.body, None, _plain, ["tirx.For", "tirx.SBlock"]))


def _rewritten(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rewritten(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rewritten(item) for item in value]
    return _REWRITTEN.get(value, value) if isinstance(value, str) else value


def _plain(stmt: tirx.For | tirx.SBlock) -> tirx.For | tirx.SBlock | None:
    """A parallel loop as a serial one; a block without the layouts that were annotated for a GPU."""
    if isinstance(stmt, tirx.SBlock):
        if "layout_map" not in stmt.annotations:
            return None
        kept = {key: value for key, value in stmt.annotations.items() if str(key) != "layout_map"}
        parts = (stmt.iter_vars, stmt.reads, stmt.writes, stmt.name_hint, stmt.body, stmt.init)
        return tirx.SBlock(*parts, stmt.alloc_buffers, stmt.match_buffers, kept)
    if stmt.kind != tirx.ForKind.PARALLEL:
        return None
    return tirx.For(stmt.loop_var, stmt.min, stmt.extent, tirx.ForKind.SERIAL, stmt.body)


def _host_copy(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().to(_WIDER.get(tensor.dtype, tensor.dtype)).contiguous().clone()
