"""Whether data is what a JSON schema describes, for the keywords that the schema of plans has.

A plan is validated whenever it is written or read, and jsonschema takes 7 % of the time that compiling a kernel takes.
It is asked where something is wrong: it says what.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Check = Callable[[Any], bool]

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_SILENT = {"$schema", "title", "description"}
_OF_OBJECTS = {"properties", "required", "additionalProperties"}


def checker(schema: dict[str, Any]) -> Check:
    """A function that says whether data is as the schema wants it."""
    checks = [_object(schema)] if _OF_OBJECTS & schema.keys() else []
    checks += [_KEYWORDS[key](value) for key, value in schema.items() if key not in _SILENT | _OF_OBJECTS]
    return checks[0] if len(checks) == 1 else lambda data: all(check(data) for check in checks)


def _object(schema: dict[str, Any]) -> Check:
    if schema["additionalProperties"] is not False:
        raise ValueError("objects with other properties than those of the schema are not provided for")
    required = frozenset(schema["required"])
    properties = {name: checker(one) for name, one in schema["properties"].items()}

    def check(data: Any) -> bool:
        if not isinstance(data, dict):
            return True  # which kind of data it must be is another keyword
        if not required <= data.keys() <= properties.keys():
            return False
        return all(properties[name](value) for name, value in data.items())

    return check


def _type(names: str | list[str]) -> Check:
    classes = {one for name in ([names] if isinstance(names, str) else names) for one in _TYPES[name]}
    return lambda data: type(data) in classes  # exactly: True is an int of Python's, but no integer


def _items(schema: dict[str, Any]) -> Check:
    check = checker(schema)
    return lambda data: not isinstance(data, list) or all(map(check, data))


def _one_of(values: list[Any]) -> Check:
    known = {(type(value), value) for value in values}
    return lambda data: not isinstance(data, dict | list) and (type(data), data) in known


_KEYWORDS: dict[str, Callable[[Any], Check]] = {
    "type": _type,
    "items": _items,
    "enum": _one_of,
    "const": lambda value: _one_of([value]),
    "minimum": lambda least: lambda data: not isinstance(data, int | float) or data >= least,
    "maximum": lambda most: lambda data: not isinstance(data, int | float) or data <= most,
    "minItems": lambda least: lambda data: not isinstance(data, list) or len(data) >= least,
    "maxItems": lambda most: lambda data: not isinstance(data, list) or len(data) <= most,
}
