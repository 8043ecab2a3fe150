"""What printed programs and kernels have in common: names of things in sight, and reading text piece by piece."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TypeVar

from tilelang_tt.diagnostics import Location
from tilelang_tt.ir import scalar, scalar_text
from tilelang_tt.ir.buffers import Buffer, Tensor
from tilelang_tt.ir.elements import TILE_COL, TILE_ROW
from tilelang_tt.ir.extents import Extent
from tilelang_tt.ir.scalar import Expr, Var

INDENT = "  "
AXES = ("i", "j", *(f"i{number}" for number in range(2, 8)))  # of the block being computed, in order
_LINE = re.compile(r"^( *)(.*?)(?: *# (\S+):(\d+))?$")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.\d+)?")
_PLACE = re.compile(r"[^\s:]+:\d+")
_INT = re.compile(r"-?\d+")
_NUMBER = re.compile(r"-?(?:inf|nan|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)")

Kind = TypeVar("Kind")


def place(location: Location | None) -> str:
    """The end of a line: where in the user's program it stems from."""
    return f"  # {PurePath(location.file).name}:{location.line}" if location else ""


def number_text(value: float) -> str:
    """The shortest text that reads back as the same number."""
    return repr(float(value)).removesuffix(".0")


def size(rows: int, cols: int) -> str:
    return f"{rows} x {cols}"


class Names:
    """A name for each thing in sight: its own, or its own and a number if another thing has that."""

    def __init__(self, reserved: tuple[str, ...] = AXES) -> None:
        """`reserved` names are not given to `bind`, except to things that may have them."""
        self._names: dict[object, str] = {TILE_ROW: str(TILE_ROW.name), TILE_COL: str(TILE_COL.name)}
        self._reserved = reserved

    def bind(self, thing: Var | Buffer | Tensor, *, any_name: bool = False) -> str:
        """Bring a thing into sight."""
        name = candidate = str(thing.name)
        taken = {*self._names.values(), *(() if any_name else self._reserved)}
        count = 0
        while candidate in taken:
            count += 1
            candidate = f"{name}.{count}"
        self._names[thing] = candidate
        return candidate

    def see(self, thing: Var) -> str:
        """The name of a thing that may be in sight already."""
        return self._names[thing] if thing in self._names else self.bind(thing)

    def release(self, thing: Var | Buffer | Tensor) -> None:
        self._names.pop(thing, None)

    def __call__(self, thing: Var | Buffer | Tensor) -> str:
        """A question mark shows what nothing in sight defines."""
        return self._names.get(thing, f"?{thing.name}")

    def all(self) -> list[tuple[object, str]]:
        return list(self._names.items())

    def expr(self, expr: Expr) -> str:
        return scalar_text.to_text(expr, self, self.extent)

    def extent(self, extent: Extent) -> str:
        """The name of a side of a circular buffer's blocks."""
        return str(extent)


# --- reading --------------------------------------------------------------------------------------


class ParseError(ValueError):
    """Text that is no program."""


@dataclass
class Sight:
    """What names mean. A name that is used again for something else in the same launch is the same variable."""

    things: dict[str, object] = field(default_factory=lambda: {"tile_row": TILE_ROW, "tile_col": TILE_COL})
    files: Mapping[str, str] = field(default_factory=dict)  # paths by the names that places give

    def variable(self, name: str, dtype: str = "int32") -> Var:
        known = self.things.get(name)
        if not scalar.is_var(known):
            known = self.things[name] = scalar.typed_var(name.partition(".")[0], dtype)
        return known

    def thing(self, name: str, kind: type[Kind]) -> Kind:
        found = self.things.get(name)
        if not isinstance(found, kind):
            raise ParseError(f"'{name}' is no {kind.__name__} in sight")
        return found


class Reader:
    """A line of text, read from left to right."""

    def __init__(self, text: str, sight: Sight) -> None:
        self.text, self.sight = text, sight
        self.at = 0
        self.shape: tuple[int, ...] = ()  # of the block being described or computed
        self.generic = False  # in a generic statement, elements have indices

    def fail(self, wanted: str) -> ParseError:
        return ParseError(f"{wanted} expected at '{self.text[self.at :]}' of '{self.text}'")

    def _skip(self) -> None:
        while self.at < len(self.text) and self.text[self.at] == " ":
            self.at += 1

    def peek(self, literal: str) -> bool:
        self._skip()
        end = self.at + len(literal)
        cut = re.match(r"\w", literal[-1:]) and re.match(r"\w", self.text[end : end + 1])  # in the middle of a word
        return self.text.startswith(literal, self.at) and not cut

    def maybe(self, literal: str) -> bool:
        """Whether `literal` follows; it is taken."""
        found = self.peek(literal)
        self.at += len(literal) if found else 0
        return found

    def take(self, literal: str) -> None:
        if not self.maybe(literal):
            raise self.fail(f"'{literal}'")

    def match(self, pattern: re.Pattern[str], wanted: str) -> str:
        self._skip()
        found = pattern.match(self.text, self.at)
        if found is None:
            raise self.fail(wanted)
        self.at = found.end()
        return found.group()

    def name(self, then: str = "") -> str:
        """A name, and `then` behind it."""
        return self.then(self.match(_NAME, "a name"), then)

    def int(self, then: str = "") -> int:
        return self.then(int(self.match(_INT, "a whole number")), then)

    def location(self) -> Location:
        file, _, line = self.match(_PLACE, "a place").rpartition(":")
        return Location(self.sight.files.get(file, file), int(line))

    def number(self) -> float:
        return float(self.match(_NUMBER, "a number"))

    def then(self, value: Kind, literal: str) -> Kind:
        """What was read, with `literal` behind it."""
        self.take(literal)
        return value

    def rest(self) -> str:
        self._skip()
        text, self.at = self.text[self.at :], len(self.text)
        return text

    @property
    def done(self) -> bool:
        self._skip()
        return self.at == len(self.text)

    def either(self, *ways: Callable[[], Kind]) -> Kind:
        """What the first of several ways to go on finds."""
        start, error = self.at, self.fail("something else")
        for way in ways:
            try:
                return way()
            except ParseError as failed:
                self.at, error = start, failed
        raise error

    def separated(self, one: Callable[[], Kind], by: str = ",") -> list[Kind]:
        found = [one()]
        while self.maybe(by):
            found.append(one())
        return found


@dataclass(frozen=True)
class Line:
    text: str
    location: Location | None
    nested: tuple[Line, ...]


def lines_of(text: str, files: Mapping[str, str]) -> tuple[Line, ...]:
    """Lines with those that are indented below them. `files`: paths of files by the names that places give."""
    rows = []
    for line in text.splitlines():
        found = _LINE.match(line)
        assert found is not None
        indent, content, file, number = found.groups()
        location = Location(files.get(file, file), int(number)) if file else None
        if content or location:
            rows.append((len(indent), content, location))

    def tree(start: int, end: int) -> tuple[Line, ...]:
        found = []
        while start < end:
            depth, content, location = rows[start]
            last = next((n for n in range(start + 1, end) if rows[n][0] <= depth), end)
            found.append(Line(content, location, tree(start + 1, last)))
            start = last
        return tuple(found)

    return tree(0, len(rows))
