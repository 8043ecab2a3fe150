"""The signature table: what the SDK's headers declare, per release, as facts in `table.json`.

A parameter is written as its kind, then `...` for a pack, then `=` and its default (`=?` for one that is no plain
value): "uint32", "bool=false", "VectorMode=VectorMode::RC". Kinds: integer types without `_t`, `bool`, `float`,
`pointer`, `any` (a template's type by value), `object` (a template's type by reference), otherwise the name of an
enum or class. A template parameter is `type` or the kind of its value; a leading `~` says that it is deduced.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from jsonschema import validate

INTEGERS = frozenset(
    ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "int", "unsigned", "size", "uintptr"]
)
PLACES = ("wormhole_b0/dataflow", "wormhole_b0/compute", "blackhole/dataflow", "blackhole/compute")

# Stands among the headers for what the build includes before a kernel: prelude/dataflow, prelude/compute.
PRELUDE = "prelude/"


@dataclass(frozen=True)
class Parameter:
    kind: str
    default: str | None = None
    pack: bool = False
    deduced: bool = False

    @property
    def optional(self) -> bool:
        return self.default is not None or self.pack or self.deduced

    @staticmethod
    def parse(text: str) -> Parameter:
        kind, mark, default = text.partition("=")
        pack = kind.endswith("...")
        name = kind.removeprefix("~").removesuffix("...")
        return Parameter(name, default if mark else None, pack, kind.startswith("~"))

    def __str__(self) -> str:
        default = "" if self.default is None else f"={self.default}"
        return f"{'~' if self.deduced else ''}{self.kind}{'...' if self.pack else ''}{default}"


@dataclass(frozen=True)
class Function:
    """One declaration. `owner` is the class of a method; a constructor has the name of its class."""

    name: str
    header: str
    owner: str = ""
    template: tuple[Parameter, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    returns: str = "void"
    deprecated: bool = False
    constexpr: bool = False
    places: tuple[str, ...] = PLACES

    def arity(self) -> tuple[int, float]:
        return arity(self.parameters)

    def __str__(self) -> str:
        template = f"<{', '.join(map(str, self.template))}>" if self.template else ""
        return f"{self.name}{template}({', '.join(map(str, self.parameters))})"


def arity(parameters: tuple[Parameter, ...]) -> tuple[int, float]:
    """Fewest and most arguments."""
    most = float("inf") if any(p.pack for p in parameters) else len(parameters)
    return sum(not p.optional for p in parameters), most


@dataclass(frozen=True)
class Name:
    """A name that is no function: an enum with its values, a type, a macro, or a variable."""

    name: str
    sort: str  # enum, enum class, type, macro, variable
    header: str
    values: tuple[str, ...] = ()
    places: tuple[str, ...] = PLACES


@dataclass(frozen=True)
class Release:
    version: str
    headers: dict[str, tuple[str, ...]]  # public header -> public headers it includes, directly or through others
    functions: dict[str, tuple[Function, ...]]
    names: dict[str, tuple[Name, ...]]

    def reach(self, includes: tuple[str, ...]) -> frozenset[str]:
        """Every public header that these bring with them."""
        found: set[str] = set()
        left = list(includes)
        while left:
            header = left.pop()
            if header not in found:
                found.add(header)
                left += self.headers.get(header, ())
        return frozenset(found)


def dump(releases: list[Release]) -> str:
    """JSON with one declaration per line; what two releases share stands there once."""
    versions = [release.version for release in releases]
    rows: dict[str, dict[str, list[str]]] = {"headers": {}, "functions": {}, "names": {}}
    for release in releases:
        for header, includes in release.headers.items():
            _row(rows["headers"], {"header": header, "includes": list(includes)}, release.version)
        for functions in release.functions.values():
            for function in functions:
                _row(rows["functions"], _function_to_json(function), release.version)
        for names in release.names.values():
            for name in names:
                _row(rows["names"], _name_to_json(name), release.version)
    parts = [f'"releases": {json.dumps(versions)}']
    for section, entries in rows.items():
        lines = []
        for text, present in sorted(entries.items()):
            only = "" if present == versions else f', "releases": {json.dumps(present)}'
            lines.append(f"  {text[:-1]}{only}}}")
        parts.append(f'"{section}": [\n' + ",\n".join(lines) + "\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _row(rows: dict[str, list[str]], value: dict[str, Any], version: str) -> None:
    versions = rows.setdefault(json.dumps(value), [])
    if version not in versions:
        versions.append(version)


def parse(text: str) -> dict[str, Release]:
    data = json.loads(text)
    validate(data, json.loads(resources.files(__package__).joinpath("table.schema.json").read_text()))
    return {version: _release(data, version) for version in data["releases"]}


def _release(data: dict[str, Any], version: str) -> Release:
    functions: dict[str, tuple[Function, ...]] = {}
    names: dict[str, tuple[Name, ...]] = {}
    for row in _of(data["functions"], version):
        functions[row["name"]] = (*functions.get(row["name"], ()), _function_from_json(row))
    for row in _of(data["names"], version):
        name = Name(
            row["name"], row["sort"], row["header"], tuple(row.get("values", ())), tuple(row.get("places", PLACES))
        )
        names[name.name] = (*names.get(name.name, ()), name)
    headers = {row["header"]: tuple(row["includes"]) for row in _of(data["headers"], version)}
    return Release(version, headers, functions, names)


def _of(rows: list[dict[str, Any]], version: str) -> list[dict[str, Any]]:
    return [row for row in rows if version in row.get("releases", [version])]


@cache
def load() -> dict[str, Release]:
    """The table that ships with the package: version -> release, oldest first."""
    return parse(resources.files(__package__).joinpath("table.json").read_text())


def _function_to_json(function: Function) -> dict[str, Any]:
    row: dict[str, Any] = {"name": function.name}
    if function.owner:
        row["owner"] = function.owner
    row["header"] = function.header
    if function.template:
        row["template"] = [str(p) for p in function.template]
    row["parameters"] = [str(p) for p in function.parameters]
    row["returns"] = function.returns
    for flag in ("deprecated", "constexpr"):
        if getattr(function, flag):
            row[flag] = True
    if function.places != PLACES:
        row["places"] = list(function.places)
    return row


def _function_from_json(row: dict[str, Any]) -> Function:
    return Function(
        name=row["name"],
        header=row["header"],
        owner=row.get("owner", ""),
        template=tuple(map(Parameter.parse, row.get("template", ()))),
        parameters=tuple(map(Parameter.parse, row["parameters"])),
        returns=row["returns"],
        deprecated=row.get("deprecated", False),
        constexpr=row.get("constexpr", False),
        places=tuple(row.get("places", PLACES)),
    )


def _name_to_json(name: Name) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name.name, "sort": name.sort, "header": name.header}
    if name.values:
        row["values"] = list(name.values)
    if name.places != PLACES:
        row["places"] = list(name.places)
    return row
