"""What the object file of a kernel says: its mutable globals, and the symbols it wants from elsewhere.

On the chip every core has its own copy of a kernel's globals; in one process they are shared, so the device
must know of them and carry their values from switch to switch.
"""

from __future__ import annotations

import struct
from pathlib import Path

_MAGIC_64BIT_LITTLE = b"\x7fELF\x02\x01"
_WRITABLE, _ALLOCATED = 1, 2  # section flags SHF_WRITE, SHF_ALLOC
_PROGBITS, _NOBITS = 1, 8  # section types with program data: stored, zero-initialised
_SYMBOLS = 2  # section type SHT_SYMTAB
_SYMBOL_BYTES = 24
# Constants that hold addresses: written by the loader only.
_LOADER_OWNED = (".data.rel.ro", ".init_array", ".fini_array")


def mutable_globals(unit: Path) -> dict[str, int]:
    """Sections of an object file that hold writable data, and their sizes in bytes."""
    data = _read(unit)
    table, entry_size, count, names_index = _section_table(data)
    headers = [struct.unpack_from("<IIQQQQ", data, table + i * entry_size) for i in range(count)]
    names_at = headers[names_index][4]
    found: dict[str, int] = {}
    for name_offset, kind, flags, _, _, size in headers:
        name = _text(data, names_at + name_offset)
        wanted = kind in (_PROGBITS, _NOBITS) and flags & _WRITABLE and flags & _ALLOCATED
        if wanted and size > 0 and not name.startswith(_LOADER_OWNED):
            found[name] = size
    return found


def undefined_symbols(unit: Path) -> set[str]:
    """Names that an object file uses and does not define."""
    data = _read(unit)
    table, entry_size, count, _ = _section_table(data)
    headers = [struct.unpack_from("<IIQQQQI", data, table + i * entry_size) for i in range(count)]
    found: set[str] = set()
    for _, kind, _, _, at, size, link in headers:
        if kind != _SYMBOLS:
            continue
        names_at = headers[link][4]
        for symbol in range(at + _SYMBOL_BYTES, at + size, _SYMBOL_BYTES):
            name, _, _, section = struct.unpack_from("<IBBH", data, symbol)
            if section == 0:
                found.add(_text(data, names_at + name))
    return found


def _read(unit: Path) -> bytes:
    data = unit.read_bytes()
    if not data.startswith(_MAGIC_64BIT_LITTLE):
        raise ValueError(f"not a 64-bit little-endian ELF file: {unit}")
    return data


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()


def _section_table(data: bytes) -> tuple[int, int, int, int]:
    """Offset of the section headers, size of one, their number, and the index of the name table."""
    (offset,) = struct.unpack_from("<Q", data, 0x28)
    entry_size, count, names_index = struct.unpack_from("<HHH", data, 0x3A)
    return offset, entry_size, count, names_index
