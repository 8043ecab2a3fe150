"""C: mark where a block that compute makes for the writer is complete.

    before   Map C_out = C_local ; Store C_out -> C
    after    Map C_out = C_local ; Publish C_out ; Store C_out -> C

It is published right before the first statement that stores it: there the compute kernel hands it over, and there the
writer takes it.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.tile import Launch, TileProgram
from tilelang_tt.passes.c_tile.publish_points import publish


def publish_blocks(program: TileProgram) -> TileProgram:
    return replace(program, launches=tuple(_launch(launch) for launch in program.launches))


def _launch(launch: Launch) -> Launch:
    body = launch.body
    for buffer, stream in launch.streams.items():
        if stream.producer is Role.COMPUTE and stream.consumer is Role.WRITER:
            published = publish(body, buffer)
            assert published is not None  # separate_roles saw to it
            body = published
    return replace(launch, body=body)
