"""What a breach says, taken apart."""

from __future__ import annotations

from tilelang_tt.diagnostics import DeviceError


def category_of(error: DeviceError) -> str:
    return next(note.removeprefix("category: ") for note in error.notes if note.startswith("category: "))


def code_line(error: DeviceError) -> str:
    place = next(i for i, note in enumerate(error.notes) if note.startswith("core "))
    return error.notes[place + 1].strip()
