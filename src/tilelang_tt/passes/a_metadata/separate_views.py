"""Give an input a view of its own for each pair of axes that its blocks lie along: part of `infer_layout`.

    before   Copy G[b, i : 64 x 128] -> X ; Copy G[b, 63, h : 128] -> g
    after    Copy G[b, i : 64 x 128] -> X ; Copy G_1[b, 63, h : 128] -> g    G_1: G again, for the host to lay otherwise

A tensor is stored in tiles over the axes that its blocks extend over. An input that kernels only read can be stored
several times, once for every choice of axes. A vector that is read along tile rows here and along tile columns
there has a view for each: turning it on the chip would cost a tile operation, and float32 its last bits.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.ir.buffers import Tensor, unique_name
from tilelang_tt.ir.fields import rewritten, walk
from tilelang_tt.ir.tensors_of_code import used_by_code
from tilelang_tt.ir.tile import Copy, Stmt, TileProgram, table_reads
from tilelang_tt.passes.a_metadata.orient import Sides, walked

_Way = tuple[tuple[int, ...], bool, bool]  # what `_way` finds


def separate_views(program: TileProgram, sides: Sides) -> TileProgram:
    copies = [s for launch in program.launches for s in walk(launch.body) if isinstance(s, Copy)]
    by_code = {tensor.param for tensor, writes in used_by_code(program).items() if writes}
    written = {copy.dst.source for copy in copies} | {tensor for tensor in program.tensors if tensor.param in by_code}
    _check_tables(program, {tensor.param for tensor in written if isinstance(tensor, Tensor)})
    ways: dict[Tensor, dict[_Way, Tensor]] = {}
    names = {param.name for param in program.params} | {view.name for view in program.views}
    for copy in copies:
        tensor = copy.src.source
        if not isinstance(tensor, Tensor) or tensor in written:
            continue
        known = ways.setdefault(tensor, {})
        if _way(copy, sides) not in known:
            view = replace(tensor, name=unique_name(tensor.name, names)) if known else tensor
            names.add(view.name)
            known[_way(copy, sides)] = view

    def of_view(stmt: Stmt) -> tuple[Stmt] | None:
        if not isinstance(stmt, Copy) or stmt.src.source not in ways:
            return None
        view = ways[stmt.src.source][_way(stmt, sides)]
        return (replace(stmt, src=replace(stmt.src, source=view)),)

    launches = tuple(replace(launch, body=rewritten(launch.body, of_view)) for launch in program.launches)
    more = [view for tensor, known in ways.items() for view in known.values() if view is not tensor]
    return replace(program, launches=launches, views=(*program.views, *more))


def _check_tables(program: TileProgram, written: set[int]) -> None:
    """The host stores a table before the first launch, so later writes to the tensor do not reach it."""
    for launch in program.launches:
        for stmt in walk(launch.body):
            for read in table_reads(stmt):
                if read.table.param in written:
                    name = program.params[read.table.param].name
                    raise UnsupportedError(
                        "TT150",
                        f"elements of '{name}' control indices, bounds or branches, and this function writes '{name}'",
                        location=read.location,
                        help="write it in a function of its own, and call that one first",
                    )


def _way(copy: Copy, sides: Sides) -> _Way:
    """The axes a box extends over, whether each of its rows is looked up, and whether it is a vector turned round."""
    axes, to = walked(copy.src), walked(copy.dst)
    turned = len(axes) == 1 and sides.get((copy.src.source, axes[0])) is not sides.get((copy.dst.source, to[0]))
    return tuple(axes), copy.src.gather is not None, turned
