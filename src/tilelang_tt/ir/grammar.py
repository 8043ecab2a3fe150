"""One line for every statement, from which it is printed and read.

Form(Transpose, "Transpose {src:buffer} -> {dst:buffer}{exact?, exact}")

{field:codec}     the field, written and read by a codec
{field?text}      `text` where the field is true
(? ... ?)         left out where every field inside has its default value
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from tilelang_tt.ir import scalar
from tilelang_tt.ir.text import Names, ParseError, Reader

_PIECE = re.compile(r"\{(\w+):(\w+)\}|\{(\w+)\?([^}]*)\}|(\(\?)|(\?\))")


@dataclass(frozen=True)
class Codec:
    write: Callable[[Any, Any], str]  # of a value, with the names in sight
    read: Callable[[Reader], Any]


def listed(one: Codec, by: str = ", ") -> Codec:
    """Values, as many as there are, one behind the other."""

    def read(reader: Reader) -> tuple[object, ...]:
        found: list[object] = []
        while True:
            start = reader.at
            try:
                if found:
                    reader.take(by.strip())
                found.append(one.read(reader))
            except ParseError:
                reader.at = start
                return tuple(found)

    return Codec(lambda values, names: by.join(one.write(value, names) for value in values), read)


@dataclass(frozen=True)
class _Field:
    name: str
    codec: str


@dataclass(frozen=True)
class _Flag:
    name: str
    text: str


@dataclass(frozen=True)
class _Optional:
    pieces: tuple[_Piece, ...]


_Piece = str | _Field | _Flag | _Optional


def _pieces(template: str, start: int = 0) -> tuple[tuple[_Piece, ...], int]:
    found: list[_Piece] = []
    while start < len(template):
        piece = _PIECE.search(template, start)
        literal = template[start : piece.start() if piece else len(template)]
        found += [literal] if literal else []
        if piece is None:
            return tuple(found), len(template)
        start = piece.end()
        name, codec, flag, text, opened, closed = piece.groups()
        if closed:
            return tuple(found), start
        if opened:
            inner, start = _pieces(template, start)
            found.append(_Optional(inner))
        else:
            found.append(_Field(name, codec) if name else _Flag(flag, text))
    return tuple(found), start


@dataclass(frozen=True)
class Form:
    """The text of a class; `fixed`: of those that have these values in these fields."""

    cls: type
    template: str
    fixed: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pieces", _pieces(self.template)[0])
        defaults = {one.name: one.default for one in fields(self.cls) if one.default is not MISSING}
        object.__setattr__(self, "defaults", defaults)

    pieces: tuple[_Piece, ...] = field(init=False, repr=False)
    defaults: dict[str, object] = field(init=False, repr=False)

    def suits(self, node: object) -> bool:
        return type(node) is self.cls and all(_same(getattr(node, name), value) for name, value in self.fixed.items())

    def write(self, node: object, names: Names, codecs: Mapping[str, Codec]) -> str:
        return "".join(self._written(piece, node, names, codecs) for piece in self.pieces)

    def _written(self, piece: _Piece, node: object, names: Names, codecs: Mapping[str, Codec]) -> str:
        match piece:
            case str():
                return piece
            case _Field(name, codec):
                return codecs[codec].write(getattr(node, name), names)
            case _Flag(name, text):
                return text if getattr(node, name) else ""
            case _Optional(pieces):
                used = any(not _same(getattr(node, name), self.defaults[name]) for name in _names(pieces))
                return "".join(self._written(one, node, names, codecs) for one in pieces) if used else ""

    def read(self, reader: Reader, codecs: Mapping[str, Codec]) -> dict[str, Any]:
        """What the fields are."""
        found = dict(self.fixed)
        for piece in self.pieces:
            self._read(piece, reader, codecs, found)
        return found

    def _read(self, piece: _Piece, reader: Reader, codecs: Mapping[str, Codec], found: dict[str, object]) -> None:
        match piece:
            case str():
                if piece.strip():
                    reader.take(piece.strip())
            case _Field(name, codec):
                found[name] = codecs[codec].read(reader)
            case _Flag(name, text):
                found[name] = reader.maybe(text.strip())
            case _Optional(pieces):
                start, inner = reader.at, dict(found)
                try:
                    for one in pieces:
                        self._read(one, reader, codecs, inner)
                except ParseError:
                    reader.at = start
                else:
                    found |= inner


def _names(pieces: tuple[_Piece, ...]) -> list[str]:
    return [piece.name for piece in pieces if isinstance(piece, _Field | _Flag)]


def _same(value: object, other: object) -> bool:
    if scalar.is_expr(value) or scalar.is_expr(other):
        a, b = (scalar.int_value(one) if scalar.is_expr(one) else None for one in (value, other))
        return a is not None and a == b
    return bool(value == other)


@dataclass(frozen=True)
class Grammar:
    """The forms of statements, and how their fields are written and read."""

    forms: tuple[Form, ...]
    codecs: Mapping[str, Codec]

    def write(self, node: object, names: Names) -> str:
        form = next(form for form in self.forms if form.suits(node))
        return form.write(node, names, self.codecs)

    def read(self, reader: Reader, ends: tuple[str, ...] = ()) -> tuple[type, dict[str, Any]]:
        """The class and the fields of what follows, up to the end of the line or one of `ends`."""
        start, furthest, error = reader.at, -1, reader.fail("a statement")
        for form in self.forms:
            reader.at = start
            try:
                found = form.read(reader, self.codecs)
                if reader.done or any(map(reader.peek, ends)):
                    return form.cls, found
                raise reader.fail("the end")
            except ParseError as failed:
                if reader.at > furthest:
                    furthest, error = reader.at, failed
        raise error

    def codec(self, cls: type) -> Codec:
        """A codec for parts of statements: the first form of a class that fits."""
        forms = [form for form in self.forms if form.cls is cls]

        def read(reader: Reader) -> object:
            return reader.either(*(lambda form=form: cls(**form.read(reader, self.codecs)) for form in forms))

        return Codec(lambda node, names: self.write(node, names), read)
