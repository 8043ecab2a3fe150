"""Where a tensor shall lie, as a user says it: by `TT.layout` in the kernel, or by the target option `layout`.

    TT.layout(A, memory="L1", shard="block", grid=(8, 8))
    {"kind": "tenstorrent", "layout": {"A": {"memory": "L1", "shard": "block", "grid": (8, 8)}}}
        -> LayoutHint(memory="L1", shard="block", cores=8x8)

This file reads the words. What they mean for a tensor of some shape is decided by `place_tensors`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from tilelang_tt.arch import FACE, TILE
from tilelang_tt.core_ranges import VALID, CoreRange, CoreRanges, OverlapError, core_ranges_text, parse_core_ranges
from tilelang_tt.diagnostics import Location
from tilelang_tt.formats import BY_OPTION

MEMORIES = ("DRAM", "L1")
SHARD_KINDS = ("height", "width", "block")
ORDERS = ("row", "column")
PAGES = ("tile", "row")
TILES = ((TILE, TILE), (FACE, TILE), (TILE, FACE))  # rows and columns of a page

Shard = str | tuple[int, ...]


class HintError(ValueError):
    """Words that say nothing, or two things that exclude each other."""

    def __init__(self, message: str, help: str, location: Location | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.help = help
        self.location = location


class IncompleteError(HintError):
    """Words that each say something, but together no layout."""


@dataclass(frozen=True)
class LayoutHint:
    """What was said about one tensor; None: nothing."""

    memory: str | None = None  # "DRAM" or "L1"
    shard: Shard | None = None  # "height", "width", "block", or the extents of a shard, one for each axis
    cores: CoreRanges | None = None  # that hold the shards; of DRAM: banks
    order: str | None = None  # in which shards are dealt to cores: "row" or "column"
    storage: str | None = None
    pages: str | None = None  # "tile" or "row"
    tile: tuple[int, int] | None = None  # rows and columns of a tile, one of `TILES`
    location: Location | None = field(default=None, compare=False)  # of an annotation; None: a target option

    @property
    def is_empty(self) -> bool:
        return all(getattr(self, one.name) is None for one in fields(self) if one.compare)


def parse_hint(values: Mapping[str, Any], location: Location | None = None) -> LayoutHint:
    """What one place says of a tensor; others may say more. HintError: not valid."""
    values = {name: _as_tuple(value) for name, value in values.items()}
    unknown = [name for name in values if name not in _READERS]
    if unknown:
        raise HintError(f"there is no layout setting '{unknown[0]}'", f"valid settings: {', '.join(_READERS)}")
    if "grid" in values and "cores" in values:
        raise HintError("'grid' and 'cores' both say which cores hold the shards", "say one of them")
    found = {name: _READERS[name](name, value) for name, value in values.items() if value is not None}
    if "grid" in found:
        found["cores"] = found.pop("grid")
    return LayoutHint(**found, location=location)


def check_complete(hint: LayoutHint) -> None:
    """HintError: all that was said of a tensor makes no layout."""
    if hint.shard is not None and hint.pages == "row":
        fact = "pages='row' and a shard exclude each other: shards are of tiles"
        raise IncompleteError(fact, "leave one of them out", hint.location)
    if hint.tile is not None and hint.pages == "row":
        fact = "pages='row' and tile= exclude each other: rows are no tiles"
        raise IncompleteError(fact, "leave one of them out", hint.location)
    if hint.shard is None and (hint.cores is not None or hint.order is not None):
        raise IncompleteError(
            f"'{'order' if hint.cores is None else 'grid'}' says where shards go, but the tensor is not sharded",
            f"add shard=, one of {', '.join(SHARD_KINDS)} or the extents of a shard",
            hint.location,
        )
    if isinstance(hint.shard, str) and hint.cores is None:
        fact = f"shard='{hint.shard}' needs the cores that hold the shards"
        raise IncompleteError(fact, "add grid=(8, 8), or cores='8x4+0+2'", hint.location)


def _as_tuple(value: Any) -> Any:
    """JSON knows lists alone."""
    return tuple(map(_as_tuple, value)) if isinstance(value, (tuple, list)) else value


def _one_of(valid: tuple[str, ...]) -> Any:
    def read(name: str, value: Any) -> str:
        for word in valid:
            if str(value).lower() == word.lower():
                return word
        raise HintError(f"'{name}' cannot be {value!r}", f"valid values: {', '.join(valid)}")

    return read


def _shard(name: str, value: Any) -> Shard:
    if isinstance(value, str) and value.lower() in SHARD_KINDS:
        return value.lower()
    extents = value if isinstance(value, tuple) else ()
    if extents and all(isinstance(extent, int) and extent > 0 for extent in extents):
        return extents
    valid = f"{', '.join(SHARD_KINDS)}, or the extents of a shard in elements, one for each axis of the tensor"
    raise HintError(f"'{name}' cannot be {value!r}", f"valid values: {valid}")


def _grid(name: str, value: Any) -> CoreRanges:
    ranges = _cores(name, value)
    if len(ranges) != 1:
        raise HintError(f"'{name}' is one rectangle, not {len(ranges)}", "several rectangles are given as cores=")
    return ranges


def _cores(name: str, value: Any) -> CoreRanges:
    try:
        return parse_core_ranges(value)
    except OverlapError as error:
        raise HintError(f"'{name}': {error}", "let the rectangles have no core in common") from None
    except ValueError:
        raise HintError(f"'{name}' cannot be {value!r}", f"valid values: {VALID}") from None


def _tile(name: str, value: Any) -> tuple[int, int]:
    for shape in TILES:
        if value == shape:
            return shape
    raise HintError(
        f"'{name}' cannot be {value!r}: tensors lie in tiles of {TILE}x{TILE}, or in halves of these",
        f"valid values: {', '.join(map(str, TILES))}",
    )


_READERS = {
    "memory": _one_of(MEMORIES),
    "shard": _shard,
    "grid": _grid,
    "cores": _cores,
    "order": _one_of(ORDERS),
    "storage": _one_of(BY_OPTION),
    "tile": _tile,
    "pages": _one_of(PAGES),
}


def hint_values(hint: LayoutHint) -> dict[str, Any]:
    """What was said, as `parse_hint` reads it."""
    values: dict[str, Any] = {one.name: getattr(hint, one.name) for one in fields(hint) if one.compare}
    if hint.cores is not None:
        values["cores"] = core_ranges_text(hint.cores)
    if hint.tile is not None:
        values["tile"] = list(hint.tile)
    if isinstance(hint.shard, tuple):
        values["shard"] = list(hint.shard)
    return {name: value for name, value in values.items() if value is not None}


Hints = tuple[tuple[str, LayoutHint], ...]  # by the name of the tensor


def parse_hints(value: Any) -> Hints:
    """The target option: a dict by tensor, or the same as JSON. ValueError: not valid."""
    if isinstance(value, str):
        value = json.loads(value or "{}")
    if not isinstance(value, Mapping) or not all(isinstance(one, Mapping) for one in value.values()):
        raise ValueError
    return tuple(sorted((str(name), parse_hint(dict(one))) for name, one in value.items()))


def hints_text(hints: Hints) -> str:
    values = {name: hint_values(hint) for name, hint in hints}
    return json.dumps(values, separators=(",", ":")) if values else ""


def merged(options: Hints, annotations: list[tuple[str, LayoutHint]]) -> Hints:
    """One hint for each tensor. Two that say different things are refused (HintError): both are named."""
    found = dict(options)
    for name, hint in annotations:
        found[name] = _both(name, found[name], hint) if name in found else hint
    for hint in found.values():
        check_complete(hint)
    return tuple(sorted(found.items()))


def _both(name: str, first: LayoutHint, second: LayoutHint) -> LayoutHint:
    said: dict[str, Any] = {}
    for one in fields(LayoutHint):
        before, after = getattr(first, one.name), getattr(second, one.name)
        if one.compare and before is not None and after is not None and before != after:
            place = f"at {first.location}" if first.location else "in the target option 'layout'"
            raise HintError(
                f"two layouts of '{name}' disagree: {one.name} is {_shown(after)} here, and {_shown(before)} {place}",
                f"say '{one.name}' of '{name}' once",
                second.location,
            )
        said[one.name] = before if after is None else after
    return LayoutHint(**said)


def _shown(value: Any) -> str:
    if isinstance(value, tuple) and all(isinstance(one, CoreRange) for one in value):
        return core_ranges_text(value)
    return str(value)
