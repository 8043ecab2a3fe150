"""Find the loads that several cores make alike, so that one of them can make them for all: part of `load_less`.

    before   Load A tiles (by * 4, k * 2) 4 x 2 -> A_s       A_s : every core reads its own
    after    the same                                        A_s : one for all cores that agree on by

Which block indices a load depends on follows from the tiles it names and from the loops and conditions around it. Cores
whose units agree on these indices, one after the other, load the same blocks in the same order. Which ones do is known
when the work is dealt out (`deliveries.py`): one of them reads each block and sends it to the others.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Read, TileAccess
from tilelang_tt.ir.fields import children
from tilelang_tt.ir.layout import Role, Stream
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tensors_of_code import codes_of, stored_params
from tilelang_tt.ir.tile import Branch, Launch, Load, Loop, Set, Stmt, TileProgram, writes

Indices = frozenset[Var]  # block indices


def share_loads(program: TileProgram, launch: Launch, decisions: list[Decision]) -> Launch:
    alone = launch.work is None or launch.work.cores == 1
    if alone or codes_of(launch) or not program.options.multicast:
        return launch
    found = _Loads(program, launch)
    found.body(launch.body, frozenset())
    streams = dict(launch.streams)
    several = [var for var, extent in launch.blocks if scalar.int_value(extent) != 1]
    for buffer, indices in found.indices.items():
        stream = streams.get(buffer)
        if stream is None or buffer in found.own or not _may(launch, buffer, stream):
            continue
        if all(var in indices for var in several) and not stream.once:
            continue
        follows = tuple(var for var, _ in launch.blocks if var in indices)
        streams[buffer] = replace(stream, follows=follows)
        names = " and ".join(str(var.name) for var in follows)
        text = f"cores that agree on {names} need the same blocks" if names else "all cores need the same blocks"
        decisions.append(Decision("load_less", buffer.name, f"{text}: one reads each of them for the others"))
    return replace(launch, streams=streams)


def _may(launch: Launch, buffer: Buffer, stream: Stream) -> bool:
    """Whether whole blocks come from a tensor, and lie at the same place in the L1 of all cores."""
    between = (stream.producer, stream.consumer) == (Role.READER, Role.COMPUTE)
    return between and stream.shard is None and launch.layouts[buffer].first_row is None


class _Loads:
    """The block indices that the loads of each block depend on."""

    def __init__(self, program: TileProgram, launch: Launch) -> None:
        self.indices: dict[Buffer, Indices] = {}
        self.own: set[Buffer] = set()  # blocks that are not the same on other cores, or that something else fills, too
        self.stored = stored_params(launch)
        self.known: dict[Var, Indices] = {var: frozenset({var}) for var, _ in launch.blocks}
        self.known |= {size: frozenset() for size in program.sizes}

    def body(self, body: tuple[Stmt, ...], around: Indices | None) -> None:
        """`around`: what it depends on that these statements are carried out; None: on what only the core knows."""
        for stmt in body:
            if isinstance(stmt, Loop):
                extent = self.of(stmt.extent)
                if extent is not None:
                    self.known[stmt.var] = extent
                self.body(stmt.body, _joined(around, extent))
            elif isinstance(stmt, Branch):
                inside = _joined(around, self.of(stmt.condition))
                self.body(stmt.then, inside)
                self.body(stmt.otherwise, inside)
            elif isinstance(stmt, Load):
                self.load(stmt, around)
            elif isinstance(stmt, Read | Set):
                self.known.pop(stmt.var, None)
            else:
                self.own.update(writes(stmt))
                for nested in children(stmt):
                    self.body(nested, around)

    def load(self, load: Load, around: Indices | None) -> None:
        indices = _joined(around, self.of_access(load.src))
        if indices is None or load.src.tensor.param in self.stored:
            self.own.add(load.dst)
        else:
            self.indices[load.dst] = self.indices.get(load.dst, frozenset()) | indices

    def of_access(self, access: TileAccess) -> Indices | None:
        if access.gather is not None or access.pages is not None:
            return None
        places = (access.batch, access.row, access.col, access.guard, access.limit)
        return _joined(*(self.of(place) for place in places if place is not None))

    def of(self, expr: Expr) -> Indices | None:
        return _joined(*(self.known.get(var) for var in scalar.variables(expr)))


def _joined(*parts: Indices | None) -> Indices | None:
    found: Indices = frozenset()
    for part in parts:
        if part is None:
            return None
        found |= part
    return found
