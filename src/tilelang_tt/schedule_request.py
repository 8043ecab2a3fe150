"""What a user says about a schedule: in a target option, in the kernel, or on the command line.

    {"policy": "rectangle", "order": "column", "cores": "4x4+2+1"}
    policy:rectangle,order:column,cores:4x4+2+1

What is not said is None, and is settled by `partition_work`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from tilelang_tt.core_ranges import VALID, CoreRanges, parse_core_ranges
from tilelang_tt.diagnostics import Location
from tilelang_tt.schedule import CORE_ORDERS, ORDERS, PANEL_ORDERS, CoreOrder, Order, Policy

ASKED_POLICIES = ("contiguous", "strided", "rectangle")  # by name; `match` and `units` say the others


class ScheduleError(ValueError):
    """Words that are no schedule. The text says why, and what there is instead unless `help` does."""

    def __init__(self, text: str, help: str | None = None) -> None:
        super().__init__(text)
        self.help = help


@dataclass(frozen=True)
class Request:
    """A wish, perhaps a partial one."""

    policy: Policy | None = None
    order: Order | None = None
    panel: int | None = None
    cores: CoreRanges | None = None
    core_order: CoreOrder | None = None
    match: str | None = None  # a tensor
    units: tuple[tuple[int, ...], ...] | None = None

    def __str__(self) -> str:
        texts = {field.name: getattr(self, field.name) for field in fields(self)}
        return ",".join(f"{name}:{_text(value)}" for name, value in texts.items() if value is not None)

    def names(self) -> list[str]:
        """Of what it says."""
        return [field.name for field in fields(self) if getattr(self, field.name) is not None]

    def differences(self, other: Request) -> list[str]:
        """Names of what both say, and not the same."""
        pairs = ((field.name, getattr(self, field.name), getattr(other, field.name)) for field in fields(self))
        return [name for name, mine, theirs in pairs if None not in (mine, theirs) and mine != theirs]

    def joined(self, other: Request) -> Request:
        """What either says."""
        return Request(
            **{
                field.name: mine if (mine := getattr(self, field.name)) is not None else getattr(other, field.name)
                for field in fields(self)
            }
        )


@dataclass(frozen=True)
class Said:
    """What a kernel says of its own schedule, and where."""

    by: str
    request: Request
    location: Location | None = None
    weak: bool = False  # a hint for GPUs: anything else said of the order counts more


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return "/".join(".".join(map(str, one)) if isinstance(one, tuple) else str(one) for one in value)
    return str(value)


def request_of(given: Any) -> Request:
    """A request from a dict, or from `name:value` words with commas between."""
    if isinstance(given, Request):
        return checked(given)
    if isinstance(given, str):
        pairs = [word.strip().partition(":") for word in given.split(",") if word.strip()]
        values: Mapping[str, Any] = {name: value for name, _, value in pairs}
        if len(values) != len(pairs):
            raise ScheduleError("a name stands there twice")
    elif isinstance(given, Mapping):
        values = given
    else:
        raise ScheduleError("a schedule is a dict, or words such as policy:strided,order:column")
    unknown = [str(name) for name in values if name not in _PARSERS]
    if unknown:
        raise ScheduleError(f"a schedule has no '{unknown[0]}'; it has {', '.join(_PARSERS)}")
    said = {str(name): _PARSERS[name](value) for name, value in values.items() if value is not None}
    return checked(Request(**said))


def checked(request: Request) -> Request:
    """The request, if its parts fit each other."""
    if request.units is not None and (also := _said(request, "policy", "order", "panel", "match")):
        raise ScheduleError(f"'units' says all, so '{also}' has no meaning beside it", f"leave '{also}' out")
    if request.match is not None and request.policy not in (None, "rectangle"):
        raise ScheduleError(f"'match' deals rectangles; the policy cannot be {request.policy}", "leave 'policy' out")
    if request.match is not None and (also := _said(request, "cores", "core_order")):
        fact = f"the tensor that 'match' names says which cores, so '{also}' has no meaning beside it"
        raise ScheduleError(fact, f"leave '{also}' out, or 'match'")
    if request.panel is not None and request.order not in (None, *PANEL_ORDERS):
        fact = f"a panel belongs to the orders {' and '.join(PANEL_ORDERS)}; the order is {request.order}"
        raise ScheduleError(fact, "leave 'panel' out, or take one of these orders")
    if request.policy == "rectangle" and request.cores is not None and len(request.cores) > 1:
        fact = f"policy rectangle needs one rectangle of cores; {len(request.cores)} are given"
        raise ScheduleError(fact, "give one, or say contiguous or strided")
    if request.units is not None and request.cores is not None:
        cores = sum(one.width * one.height for one in request.cores)
        if len(request.units) > cores:
            fact = f"'units' has lists for {len(request.units)} cores; 'cores' are {cores}"
            raise ScheduleError(fact, "leave lists out, or give more cores")
    return request


def _said(request: Request, *names: str) -> str | None:
    return next((name for name in names if getattr(request, name) is not None), None)


def parse_ranges(value: Any) -> CoreRanges:
    """`4x4`, `4x4+2+1`, several with `/` between; or as TT.layout takes them."""
    parts = value.replace("/", ",").split(",") if isinstance(value, str) else value  # one by one: they may overlap
    try:
        one_by_one = isinstance(parts, list | tuple) and not all(isinstance(part, int) for part in parts)
        ranges = tuple(one for part in (parts if one_by_one else [parts]) for one in parse_core_ranges(part))
    except ValueError:
        raise ScheduleError(f"cores {value!r} are no rectangles of cores: {VALID}") from None
    for number, one in enumerate(ranges):
        if other := next((other for other in ranges[:number] if not set(one.cores()).isdisjoint(other.cores())), None):
            raise ScheduleError(f"core ranges {other} and {one} overlap", "let them have no core in common")
    return ranges


def _one_of(name: str, known: tuple[str, ...]) -> Callable[[Any], Any]:
    def parse(value: Any) -> str:
        if str(value) not in known:
            raise ScheduleError(f"{name} '{value}' is none of {', '.join(known)}")
        return str(value)

    return parse


def _panel(value: Any) -> int:
    if not str(value).isdecimal() or int(value) < 1:
        raise ScheduleError(f"panel '{value}' is no number of rows or columns")
    return int(value)


def _units(value: Any) -> tuple[tuple[int, ...], ...]:
    """`0.1.2/3.4`: the blocks of each core, numbered row by row; or lists of them."""
    if isinstance(value, str):
        value = [[word for word in part.split(".") if word] for part in value.split("/")]
    try:
        lists = [[str(unit) for unit in one] for one in value]
    except TypeError:
        fact = "'units' is a list of blocks for each core"
        raise ScheduleError(fact, "write [[0, 3], [1, 2]], or '0.3/1.2'") from None
    if wrong := next((unit for one in lists for unit in one if not unit.isdecimal()), None):
        raise ScheduleError(f"'units' has '{wrong}', which is no number of a block")
    return tuple(tuple(int(unit) for unit in one) for one in lists)


_PARSERS: dict[str, Callable[[Any], Any]] = {
    "policy": _one_of("policy", ASKED_POLICIES),
    "order": _one_of("order", ORDERS),
    "panel": _panel,
    "cores": parse_ranges,
    "core_order": _one_of("core order", CORE_ORDERS),
    "match": str,
    "units": _units,
}
NAMES = tuple(_PARSERS)

# Per T.Kernel: (its number in the function, or "*" for all of them; what is said of it)
Requests = tuple[tuple[str, Said], ...]
OPTION = "the target option 'schedule'"


def requests_of(given: Any) -> Requests:
    """One request for all T.Kernels of a function, or one for each: {"0": {...}, "1": {...}}, 0@policy:...;1@..."""
    if isinstance(given, str):
        parts = [part.strip().rpartition("@") for part in given.split(";") if part.strip()]
        found = [(number or "*", request_of(words)) for number, _, words in parts]
    elif isinstance(given, Mapping) and given and all(_is_number(name) for name in given):
        found = [(str(name), request_of(words)) for name, words in given.items()]
    else:
        found = [("*", request_of(given))]
    numbers = [number for number, _ in found]
    if wrong := next((number for number in numbers if number != "*" and not number.isdecimal()), None):
        raise ScheduleError(f"'{wrong}' is no number of a T.Kernel")
    if twice := next((number for number in numbers if numbers.count(number) > 1), None):
        raise ScheduleError(f"two schedules for {'all T.Kernels' if twice == '*' else f'T.Kernel {twice}'}")
    return tuple((number, Said(OPTION, request)) for number, request in found if str(request))


def _is_number(name: Any) -> bool:
    return str(name) == "*" or str(name).isdecimal()


def requests_text(requests: Requests) -> str:
    return ";".join(str(said.request) if number == "*" else f"{number}@{said.request}" for number, said in requests)
