"""What may be chosen for a kernel: its own arguments, and options of the target.

    matmul(M=1024, N=1024, K=1024)          block_M   32 64 128 256      arguments that have a number as default
                                            schedule  contiguous, ...    options that leave every result as it is

The first choice is the kernel as written. Choices that change numbers (fidelity, formats, 16-bit sums) are made only
if the user asks for them by name.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tilelang_tt.arch import TILE
from tilelang_tt.cli.usage import UsageError
from tilelang_tt.options import Options
from tilelang_tt.target import NAME, OPTIONS

MOST_CHOICES = 20_000
_FACTORS = (0.25, 0.5, 1, 2, 4)
_PASS_CONFIGS = "pass_configs"  # a word of TileLang's autotuner, no argument of the kernel
_SMALL = (1, 2, 3, 4)  # numbers that count stages, warps, splits
_SCHEDULES = ("policy:strided", "policy:rectangle", "policy:rectangle,order:column")

if TYPE_CHECKING:
    from tilelang_tt.cli.discover import JitFunction

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Choice:
    """Values by name. What is not named stays as written."""

    arguments: tuple[tuple[str, Any], ...] = ()
    options: tuple[tuple[str, str], ...] = ()

    @property
    def values(self) -> dict[str, Any]:
        return {**dict(self.arguments), **dict(self.options)}

    def distance(self, other: Choice) -> int:
        """How many values differ."""
        mine, theirs = self.values, other.values
        return sum(mine.get(name) != theirs.get(name) for name in mine.keys() | theirs.keys())

    def each(self) -> list[Choice]:
        """Its values, one by one."""
        return [Choice((value,)) for value in self.arguments] + [Choice((), (value,)) for value in self.options]

    def holds(self, other: Choice) -> bool:
        return set(other.arguments) <= set(self.arguments) and set(other.options) <= set(self.options)


@dataclass(frozen=True)
class Space:
    """All choices; the first is the kernel as written."""

    choices: tuple[Choice, ...]

    @property
    def names(self) -> list[str]:
        """Of what differs between choices, arguments first."""
        return list(max(self.choices, key=lambda choice: len(choice.values)).values)


def space_of(function: JitFunction, first: Values, asked: Mapping[str, Sequence[str]], options: Options) -> Space:
    """The choices for a kernel that is compiled with `options`.

    `first`: what stands for its defaults. `asked`: texts of values by name, which the user wants tried.
    """
    given = function.given
    defaults = {
        parameter.name: first.get(parameter.name, parameter.default)
        for parameter in function.parameters
        if (parameter.name in first or parameter.default is not parameter.empty) and parameter.name not in given
    }
    asked_options = {name: tuple(texts) for name, texts in asked.items() if name in OPTIONS}
    asked_arguments = {name: texts for name, texts in asked.items() if name not in OPTIONS}
    _check_known(asked_arguments, defaults, given)
    options_by_name = asked_options if asked else _harmless(options)
    option_rows = [
        tuple((name, text) for name, text in row if text != OPTIONS[name].text(getattr(options, name)))
        for row in _product(options_by_name)
    ]
    argument_rows = [
        tuple((name, value) for name, value in row if name not in defaults or value != defaults[name])
        for row in _argument_rows(defaults, function.configs, asked_arguments, bool(asked))
    ]
    _check_count(len(option_rows) * len(argument_rows))
    choices = itertools.product(argument_rows, option_rows)
    return Space(tuple(dict.fromkeys([Choice(), *(Choice(arguments, settings) for arguments, settings in choices)])))


def target_text(options: Options, settings: Mapping[str, str] = {}) -> str:
    """A target as text; `settings` are texts of options by name."""
    changed = replace(options, **{name: OPTIONS[name].parse(text) for name, text in settings.items()})
    usual = Options()
    words = [
        f"-{name}={spec.text(getattr(changed, name))}"
        for name, spec in OPTIONS.items()
        if getattr(changed, name) != getattr(usual, name)
    ]
    return " ".join([NAME, *words])


def _check_known(asked: Mapping[str, Sequence[str]], defaults: Values, given: Values) -> None:
    for name in asked:
        if name in given:
            raise UsageError(f"'{name}' cannot be tried: the call already says {name}={given[name]!r}")
        if name not in defaults:
            has = f"the kernel has {', '.join(defaults)}" if defaults else "the kernel has no arguments to choose"
            raise UsageError(f"there is no argument and no target option '{name}' to try; {has}")


def _check_count(count: int) -> None:
    if count > MOST_CHOICES:
        raise UsageError(f"{count:,} choices are more than {MOST_CHOICES:,}; give fewer values with --try NAME=A,B")


def _harmless(options: Options) -> dict[str, tuple[str, ...]]:
    """Options that say where work is done and not what is computed; the user's own words stay."""
    found = {name: tuple(OPTIONS[name].valid.split(", ")) for name in ("multicast", "blocks")}
    if not options.schedule:
        found["schedule"] = (OPTIONS["schedule"].text(options.schedule), *_SCHEDULES)
    return found


def _argument_rows(
    defaults: Values, configs: Sequence[Values] | None, asked: Mapping[str, Sequence[str]], only_asked: bool
) -> list[tuple[tuple[str, Any], ...]]:
    if asked:
        return _product({name: tuple(_value(text) for text in texts) for name, texts in asked.items()})
    if only_asked:
        return [()]
    if configs is not None:
        if any(_PASS_CONFIGS in config for config in configs):
            raise UsageError(f"configurations with {_PASS_CONFIGS} cannot be tried: they may change results")
        return [tuple(config.items()) for config in configs]
    return _product({name: values for name, default in defaults.items() if (values := _numbers_near(default))})


def _numbers_near(default: Any) -> tuple[int, ...]:
    """What may stand for a number: blocks are whole tiles, small numbers are counts. Others are left alone."""
    if type(default) is not int:
        return ()
    if default >= TILE and default % TILE == 0:
        near = (int(default * factor) for factor in _FACTORS)
        return tuple(number for number in near if number >= TILE and number % TILE == 0)
    return _SMALL if default in _SMALL else ()


def _value(text: str) -> Any:
    words = {"True": True, "False": False, "None": None}
    if text in words:
        return words[text]
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _product(values: Mapping[str, Sequence[Any]]) -> list[tuple[tuple[str, Any], ...]]:
    _check_count(math.prod(map(len, values.values())))
    return [tuple(zip(values, row, strict=True)) for row in itertools.product(*values.values())]
