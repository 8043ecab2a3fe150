"""Merge blocks that are never needed at the same time: part of `share_buffers`.

    before   Map a = x * 2 ; Map y = y + a ; Map b = x * 3 ; Map y = y + b         33 circular buffers
    after    Map a = x * 2 ; Map y = y + a ; Map a = x * 3 ; Map y = y + a         32

A chip has 32 circular buffers and little L1. As long as everything fits, every block keeps its own. Otherwise blocks of
the same shape, format and use are merged, one by one: first compute's own, then those that come from the reader or go
to the writer, which costs time because less is read ahead. Two blocks conflict if one is read after the other is
written, on any path through loops and branches, or by the same statement.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.dataflow import conflict, writers
from tilelang_tt.ir.fields import renamed
from tilelang_tt.ir.room import room
from tilelang_tt.ir.tile import Launch, TileProgram
from tilelang_tt.passes.c_tile.separate_roles import handed_over


def share_blocks(program: TileProgram, launch: Launch) -> tuple[Launch, list[Decision]]:
    decisions: list[Decision] = []
    written_at = writers(launch.body)
    members: dict[Buffer, list[Buffer]] = {}  # of each block that stays: those that lie where it does, and itself
    for buffer in sorted(launch.streams, key=lambda buffer: not launch.streams[buffer].private):
        if room(program, launch).is_enough(program.options.chip):
            break
        for other, sharing in members.items():
            if _alike(launch, buffer, other) and not any(conflict(written_at, buffer, one) for one in sharing):
                merged = _without(launch, buffer, other)
                if not handed_over(merged, other):
                    continue
                launch = merged
                sharing.append(buffer)
                text = f"lies where '{other.name}' does: the two are never needed at the same time"
                decisions.append(Decision("share_blocks", buffer.name, text, buffer.location))
                break
        else:
            members[buffer] = [buffer]
    return launch, decisions


def _alike(launch: Launch, a: Buffer, b: Buffer) -> bool:
    if a in launch.constants or b in launch.constants:
        return False
    facts = [(buffer.shape, buffer.dtype, launch.layouts[buffer], launch.streams[buffer]) for buffer in (a, b)]
    return facts[0] == facts[1]


def _without(launch: Launch, buffer: Buffer, other: Buffer) -> Launch:
    body = renamed(launch.body, {buffer: other})
    layouts, streams = dict(launch.layouts), dict(launch.streams)
    del layouts[buffer], streams[buffer]
    return replace(launch, body=body, buffers=tuple(streams), layouts=layouts, streams=streams)
