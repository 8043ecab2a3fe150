"""Indices that count from the end, as TileLang has them.

    before   A[-1]                      A[T.Ramp(t - 2, 1, 4)]
    after    A[1023]                    each lane that is below zero: + 1024

What is known to be negative counts from the end, and so does every lane of a vector whose sign is open. A single index
whose sign is open does not.
"""

from __future__ import annotations

from tvm import IRModule, tirx

from tilelang_tt.tilelang_hooks import get_stmt_span, set_stmt_span, transform


def with_plain_indices(func: tirx.PrimFunc) -> tirx.PrimFunc:
    plain = transform.LegalizeNegativeIndex()(IRModule({"main": func}))["main"]
    before, after = _stores(func), _stores(plain)
    if len(before) == len(after):
        for old, new in zip(before, after, strict=True):  # TileLang's pass makes new ones, without lines
            set_stmt_span(new, get_stmt_span(old))
    return plain


def _stores(func: tirx.PrimFunc) -> list[tirx.BufferStore]:
    found: list[tirx.BufferStore] = []
    kind = tirx.BufferStore
    tirx.stmt_functor.post_order_visit(func.body, lambda node: found.append(node) if isinstance(node, kind) else None)
    return found
