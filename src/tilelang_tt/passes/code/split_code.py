"""Give scalar code to one kernel, the writer: part of `split_device_kernel`.

before   Code: ...
after    writer: reserve scratch ; for unit ...: bx = unit % 8 ; ...

It runs on the core's first data-movement processor. Reader and compute have nothing to do. All blocks lie in one
circular buffer that nobody else touches.
"""

from __future__ import annotations

from tilelang_tt.compiled import Decision
from tilelang_tt.diagnostics import ResourceError
from tilelang_tt.formats import TILE_BYTES
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Memory
from tilelang_tt.ir.cb import Cb, CbCall, CbKind
from tilelang_tt.ir.code import Code, used_tensors
from tilelang_tt.ir.code_room import room_of
from tilelang_tt.ir.kernel import Kernel, KernelSet
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.movement import Barrier, BarrierKind
from tilelang_tt.ir.room import l1_for_buffers
from tilelang_tt.ir.tensors_of_code import elements
from tilelang_tt.ir.tile import Launch, TileProgram
from tilelang_tt.ir.unit_loop import unit_loop

_PAGE = TILE_BYTES["UInt32"]


def split_code(program: TileProgram, launch: Launch) -> KernelSet:
    (code,) = launch.body
    work = launch.work
    assert isinstance(code, Code)
    assert work is not None
    start, count = scalar.var("unit_start"), scalar.var("unit_count")
    lying = elements(program)
    tensors = tuple(lying[param] for param in sorted({tensor.param for tensor in used_tensors(code)}))
    scratch = _scratch(program, launch, code)
    body = (
        CbCall(CbKind.RESERVE, scratch, scratch.tiles),
        unit_loop(work, start, count, (code,)),
        Barrier(BarrierKind.WRITE),
    )
    writer = Kernel(Role.WRITER, body, tensors=tensors)
    text = f"scalar code with {scratch.bytes:,} B of L1 for its blocks"
    decisions = (Decision("split_code", launch.name, text, launch.location),)
    cbs = {Buffer("scratch", "uint32", (), Memory.SHARED): scratch}
    return KernelSet(
        program, launch, (Kernel(Role.READER, ()), Kernel(Role.COMPUTE, ()), writer), cbs, start, count, decisions
    )


def _scratch(program: TileProgram, launch: Launch, code: Code) -> Cb:
    chip, size, usable = program.options.chip, room_of(code), l1_for_buffers(program)
    if size > usable:
        raise ResourceError(
            "TT204",
            f"the blocks of kernel '{launch.name}' need {size:,} B of L1; {chip.title} has {usable:,} B",
            location=launch.location,
            notes=tuple(f"{block.name}: {list(block.shape)} {block.dtype}" for block in code.blocks),
            help="use smaller blocks, or fewer threads: what a thread has for itself is there once for each of them",
        )
    pages = max(1, -(-size // _PAGE))
    shape, writer = (pages, 1), Role.WRITER
    return Cb(0, "scratch", "UInt32", _PAGE, pages, 1, writer, writer, False, shape, launch.location, is_scratch=True)
