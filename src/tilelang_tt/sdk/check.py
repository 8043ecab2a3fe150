"""Kernel files against the signature table: every call, every name and every include exists in the release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilelang_tt.sdk.kernel import LITERAL, Call, KernelFile, read_kernel
from tilelang_tt.sdk.table import INTEGERS, PRELUDE, Function, Name, Parameter, Release, arity, load

_STANDARD_HEADERS = frozenset(
    ["<cmath>", "<cstdint>", "<cstddef>", "<limits>", "<type_traits>", "<utility>", "<algorithm>"]
)
_MACROS = {"ASSERT": "api/debug/assert.h"}  # defined under conditions that the table was not made for
CHIPS = ("wormhole_b0", "blackhole")


@dataclass(frozen=True)
class Problem:
    """Something in a kernel file that the release does not take."""

    file: str
    line: int
    release: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: ttnn {self.release}: {self.message}"


def releases_of(sdk: str) -> list[str]:
    """The releases that kernels printed for a value of the target option `sdk` must compile with.

    What is printed for the oldest is meant for every release since; what is printed for another is for that one.
    """
    versions = list(load())
    first = next(i for i, version in enumerate(versions) if version == sdk or version.startswith(f"{sdk}."))
    return versions[first:]


def check(files: Mapping[str, str], release: str, chip: str | None = None) -> list[Problem]:
    """Problems of kernel files (name -> text) with one release, for one chip or for all of them."""
    table = load()[release]
    problems: list[Problem] = []
    for file, text in files.items():
        role = "compute" if '"api/compute/' in text else "dataflow"
        places = frozenset(f"{c}/{role}" for c in ((chip,) if chip else CHIPS))
        problems += [Problem(file, line, release, message) for line, message in _Checker(table, role, places).run(text)]
    return problems


class _Checker:
    def __init__(self, table: Release, role: str, places: frozenset[str]) -> None:
        self.table = table
        self.role = role
        self.places = places
        self.found: list[tuple[int, str]] = []
        self.reach: frozenset[str] = frozenset()

    def run(self, text: str) -> list[tuple[int, str]]:
        kernel = read_kernel(text, self.returns, self.kind_of_name)
        self.found += [(line, "this line cannot be read as C++") for line in kernel.unread]
        self.includes(kernel)
        for call in kernel.calls:
            self.call(call)
        for use in kernel.uses:
            if not self.is_known(use.name):
                self.found.append((use.line, f"there is no {use.name}"))
        return sorted(set(self.found))

    def includes(self, kernel: KernelFile) -> None:
        inside = [f"{PRELUDE}{self.role}"]
        for path, line in kernel.includes:
            header = path.strip('"')
            if header in self.table.headers and header.startswith("api/"):
                inside.append(header)
            elif path not in _STANDARD_HEADERS:
                self.found.append((line, f"there is no header {path}"))
        self.reach = self.table.reach(tuple(inside))

    def declared(self, owner: str, name: str) -> list[Function]:
        """Declarations of a function in every place this kernel is compiled for, wherever they stand."""
        last = name.rsplit("::", 1)[-1]
        functions = self.table.functions.get(last, ())
        return [f for f in functions if f.owner in ((owner,) if owner else ("", last)) and self.places <= set(f.places)]

    def call(self, call: Call) -> None:
        shown = f"{call.owner}::{call.name}" if call.owner else call.name
        functions = self.declared(call.owner, call.name)
        if _MACROS.get(call.name) in self.reach:
            return
        if not functions:
            if not (self.is_class(call.name) and not call.arguments):  # every class here has a default constructor
                self.found.append((call.line, f"there is no function {shown}"))
            return
        reached = [f for f in functions if f.header in self.reach]
        if not reached:
            headers = ", ".join(sorted({f.header for f in functions}))
            self.found.append((call.line, f"{shown} is declared in {headers}, which this file does not include"))
            return
        objections = [self.objection(call, f) for f in reached]
        if None not in objections:
            why = "; ".join(f"{f}: {o}" for f, o in dict(zip(map(str, reached), objections, strict=True)).items())
            self.found.append((call.line, f"no declaration of {shown} takes this call: {why}"))

    def objection(self, call: Call, function: Function) -> str | None:
        """Why this declaration does not take the call; None if it does."""
        is_constructor = function.owner == function.name
        for what, given, wanted in (
            ("template argument", () if is_constructor else call.template, function.template),
            ("argument", call.arguments, function.parameters),
        ):
            fewest, most = arity(wanted)
            if not fewest <= len(given) <= most:
                return f"takes {_range(fewest, most)} {what}s, got {len(given)}"
            for number, (kind, parameter) in enumerate(zip(given, wanted, strict=False), 1):
                if not parameter.pack and not self.fits(kind, parameter):
                    return f"{what} {number} is {_word(kind)}, needs {_word(parameter.kind)}"
        if call.in_constant and not function.constexpr:
            return "is not constexpr"
        return None

    def fits(self, kind: str, parameter: Parameter) -> bool:
        wanted = parameter.kind
        number = kind in INTEGERS or kind in (LITERAL, "bool") or self.is_plain_enum(kind)
        if "any" in (kind, wanted):
            return kind != "type"
        if wanted in INTEGERS:
            return number
        if wanted == "bool":
            return kind in INTEGERS or kind in (LITERAL, "bool")
        if wanted == "float":
            return kind in ("float", LITERAL)
        if wanted == "object":
            return not number and kind not in ("float", "pointer", "type")
        return kind == wanted

    def is_plain_enum(self, kind: str) -> bool:
        return any(name.sort == "enum" for name in self.table.names.get(kind, ()))

    def is_class(self, name: str) -> bool:
        return any(entry.sort == "type" for entry in self.table.names.get(name, ()))

    def names(self, name: str) -> list[Name]:
        """Entries of a name that together cover every place this kernel is compiled for."""
        entries = list(self.table.names.get(name, ()))
        return entries if self.places <= {place for entry in entries for place in entry.places} else []

    def is_known(self, name: str) -> bool:
        *scopes, last = name.split("::")
        if scopes and any(entry.sort.startswith("enum") for entry in self.names(scopes[-1])):
            values = [e for e in self.names(scopes[-1]) if last in e.values]
            return self.places <= {place for entry in values for place in entry.places}
        return bool(self.names(last)) or bool(self.enums_with(last)) or bool(self.declared("", last))

    def enums_with(self, value: str) -> list[str]:
        """Enums that put this value into the surrounding scope."""
        return [
            name
            for name, entries in self.table.names.items()
            if self.places <= {p for e in entries if e.sort == "enum" and value in e.values for p in e.places}
        ]

    def kind_of_name(self, name: str) -> str:
        *scopes, last = name.split("::")
        if scopes and any(entry.sort.startswith("enum") for entry in self.table.names.get(scopes[-1], ())):
            return scopes[-1]
        return next(iter(self.enums_with(last)), "any")

    def returns(self, owner: str, name: str, written: tuple[str, ...]) -> str:
        functions = self.declared(owner, name)
        kinds = {f.returns for f in functions}
        if not functions and self.is_class(name):
            return name
        if kinds == {"any"} and len(written) == 1 and functions[0].template[:1] == (Parameter("type"),):
            return written[0].removeprefix("std::").removesuffix("_t")
        return kinds.pop() if len(kinds) == 1 else "any"


def _range(fewest: int, most: float) -> str:
    return str(fewest) if fewest == most else (f"at least {fewest}" if most == float("inf") else f"{fewest} to {most}")


def _word(kind: str) -> str:
    words = {LITERAL: "an integer", "object": "an object", "type": "a type", "pointer": "a pointer", "any": "a value"}
    return words.get(kind, kind)
