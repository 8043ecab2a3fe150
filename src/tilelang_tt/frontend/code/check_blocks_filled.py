"""Refuse scalar code that reads a block which nothing ever fills: it would be whatever L1 held before.

Whether a block is filled on every way to where it is read is not asked: `exact` numerics find that when it runs.
"""

from __future__ import annotations

from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.code import Code, Place, Put, Update, parts, values
from tilelang_tt.ir.fields import walk


def check_blocks_filled(code: Code) -> Code:
    owner = dict(code.views)
    targets = (stmt.target.source for stmt in walk(code.body) if isinstance(stmt, Put | Update))
    filled = {owner.get(target, target) for target in targets if isinstance(target, Buffer)}
    for stmt in walk(code.body):
        assigned = {id(stmt.target)} if isinstance(stmt, Put) else set()
        read = (part for value in values(stmt) for part in parts(value) if id(part) not in assigned)
        for place in (part for part in read if isinstance(part, Place) and isinstance(part.source, Buffer)):
            if isinstance(place.source, Buffer) and owner.get(place.source, place.source) not in filled:
                raise UnsupportedError(
                    "TT125",
                    f"'{place.source.name}' is read, but nothing fills it before",
                    location=stmt.location,
                    help="T.copy, T.clear or T.fill it first",
                )
    return code
