"""Separate two inits of the vector unit by the end of a basic block: part of `insert_engine_calls`.

    before   exp_tile_init ; exp_tile ... recip_tile_init ; recip_tile ...
    after    exp_tile_init ; exp_tile ... end of block ; recip_tile_init ; recip_tile ...

The SDK's compiler (sfpi 7.69) looks for instructions that occur twice in a basic block, records the first occurrence in
the replay buffer and replays it in place of the second. It ignores calls between them, but a vector
function that was not inlined records its own instructions over those. The constants of an init are such a sequence,
and functions share them: `erf` after `sigmoid` in a long kernel got wrong constants. Conditions and loops end basic
blocks too, except short loops, which the compiler unrolls.
"""

from __future__ import annotations

from tilelang_tt.ir.engine import EndBlock, Init, SfpuMode
from tilelang_tt.ir.fields import children, walk, with_children
from tilelang_tt.ir.kernel import For, KernelStmt
from tilelang_tt.ir.scalar import int_value

UNROLLED = 16  # iterations that GCC unrolls completely, at most (max-completely-peel-times)


def separate_vector_inits(body: tuple[KernelStmt, ...]) -> tuple[KernelStmt, ...]:
    return _body(body, seen=False)[0]


def _body(body: tuple[KernelStmt, ...], seen: bool) -> tuple[tuple[KernelStmt, ...], bool]:
    """The statements with ends of blocks; `seen`: there was an init in the same basic block."""
    result: list[KernelStmt] = []
    for stmt in body:
        if _is_short_loop(stmt):
            again = any(map(_is_vector_init, walk(children(stmt)[0])))  # the next iteration meets the inits of this one
            inner, seen = _body(children(stmt)[0], seen or again)
            result.append(with_children(stmt, (inner,)))
        elif children(stmt):
            result.append(with_children(stmt, tuple(_body(inner, seen=False)[0] for inner in children(stmt))))
            seen = False
        else:
            if _is_vector_init(stmt):
                result += [EndBlock()] if seen else []
                seen = True
            result.append(stmt)
    return tuple(result), seen


def _is_vector_init(stmt: KernelStmt) -> bool:
    return isinstance(stmt, Init) and isinstance(stmt.mode, SfpuMode)


def _is_short_loop(stmt: KernelStmt) -> bool:
    if not isinstance(stmt, For):
        return False
    length = int_value(stmt.stop - stmt.start)
    return length is not None and length <= UNROLLED * stmt.step
