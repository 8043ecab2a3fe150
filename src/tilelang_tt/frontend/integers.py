"""Refuse what this version cannot compute with integers: it moves them, and turns narrow ones into floats.

Integers of 8 and 16 bits lie in float formats, so a copy to a float block is their value. Everything else needs
integer instructions, or a cast that truncates, which no pass emits yet.
"""

from __future__ import annotations

from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.formats import INTEGER_FORMATS, INTEGERS, format_of
from tilelang_tt.ir.tile import Buffer, Copy, Launch, reads, walk, writes
from tilelang_tt.options import Options


def refuse_integer_arithmetic(launch: Launch, options: Options) -> None:
    if not options.fp32_acc:
        for buffer in launch.buffers:
            _check_width(buffer)
    for stmt in walk(launch.body):
        if isinstance(stmt, Copy):
            _check_copy(stmt)
            continue
        for buffer in (*reads(stmt), *writes(stmt)):
            if buffer.dtype in INTEGERS:
                raise UnsupportedError(
                    "TT140",
                    f"'{buffer.name}' has dtype {buffer.dtype}; this version copies integers, it does not compute "
                    "with them",
                    location=stmt.location,
                    help="T.copy it to a float32 block and compute there",
                )


def _check_width(buffer: Buffer) -> None:
    if buffer.dtype in INTEGERS and format_of(buffer.dtype, "float32") != "Float16_b":
        raise UnsupportedError(
            "TT142",
            f"'{buffer.name}' has dtype {buffer.dtype}, which a 16-bit DST cannot hold",
            location=buffer.location,
            help="leave out target option fp32_acc=false",
        )


def _check_copy(copy: Copy) -> None:
    source, target = copy.src.source, copy.dst.source
    if source.dtype == target.dtype:
        return
    if target.dtype in INTEGERS:
        _refuse_cast(source.dtype, target.dtype, f"make '{target.name}' a {source.dtype} block", copy.location)
    if format_of(source.dtype, "float32") in INTEGER_FORMATS:
        _refuse_cast(source.dtype, target.dtype, "integers of 8 and 16 bits can be copied to floats", copy.location)


def _refuse_cast(source: str, target: str, help: str, location: Location | None) -> None:
    raise UnsupportedError(
        "TT141", f"T.copy from {source} to {target}: this version has no such cast", location=location, help=help
    )
