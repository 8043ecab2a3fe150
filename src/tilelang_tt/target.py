"""Every spelling of the target, and the one table of its options.

    "tenstorrent"   "tenstorrent/blackhole"   "tenstorrent -arch=blackhole -grid=4x4"
    {"kind": "tenstorrent", "grid": (4, 4), "math_fidelity": "HiFi2"}
        -> Target(kind ext_dev, key tenstorrent, feature.arch=..., feature.grid=..., ...)  -> Options

How a target of ours carries its options through TVM: `out_of_tree/family.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from tvm.target import Target

from tilelang_tt.arch import ARCHS
from tilelang_tt.diagnostics import TargetError
from tilelang_tt.formats import BY_OPTION
from tilelang_tt.layout_hints import HintError, hints_text, parse_hints
from tilelang_tt.options import Options
from tilelang_tt.out_of_tree.family import Family
from tilelang_tt.runtime.ttnn_find import card_arch, cards
from tilelang_tt.schedule_request import ScheduleError, requests_of, requests_text
from tilelang_tt.tilelang_hooks import PassConfigKey
from tilelang_tt.version import __version__

NAME = "tenstorrent"


@dataclass(frozen=True)
class OptionSpec:
    """One target option: how it is read, written and described. `name` is a field of Options."""

    name: str
    valid: str  # the valid values, as messages and the README print them
    doc: str
    parse: Callable[[Any], Any]  # ValueError: not valid
    text: Callable[[Any], str] = str


def _one_of(name: str, values: tuple[str, ...], doc: str) -> OptionSpec:
    def parse(value: Any) -> str:
        if str(value) not in values:
            raise ValueError
        return str(value)

    return OptionSpec(name, ", ".join(values), doc, parse)


def _parse_flag(value: Any) -> bool:
    words = {"true": True, "1": True, "false": False, "0": False}
    return words[_word(value, tuple(words))]


def _flag(name: str, meaning: str) -> OptionSpec:
    return OptionSpec(name, "true, false", meaning, _parse_flag, lambda flag: str(flag).lower())


def _choice(name: str, meaning: str) -> OptionSpec:
    """A flag that the compiler may settle."""

    def parse(value: Any) -> bool | None:
        return None if str(value).lower() in ("auto", "none") else _parse_flag(value)

    def text(flag: bool | None) -> str:
        return "auto" if flag is None else str(flag).lower()

    return OptionSpec(name, "auto, true, false", meaning, parse, text)


def _word(value: Any, words: tuple[str, ...]) -> str:
    if str(value).lower() not in words:
        raise ValueError
    return str(value).lower()


def _parse_grid(value: Any) -> tuple[int, int] | None:
    """`8x4`, (8, 4) or [8, 4]; `all` and None leave the choice to the chip."""
    if value is None or value == "all":
        return None
    parts = value.split("x") if isinstance(value, str) else list(value) if _is_pair(value) else []
    if len(parts) != 2 or not all(str(part).isdecimal() for part in parts):
        raise ValueError
    x, y = (int(part) for part in parts)
    if x < 1 or y < 1:
        raise ValueError
    return x, y


def _is_pair(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and len(value) == 2


def _grid_text(grid: tuple[int, int] | None) -> str:
    return "all" if grid is None else f"{grid[0]}x{grid[1]}"


def _parse_storage(value: Any) -> tuple[tuple[str, str], ...]:
    """`bfloat8_b` for all inputs, {"B": "bfloat8_b"}, or `A:bfloat8_b,B:bfloat8_b`."""
    if isinstance(value, Mapping):
        pairs = [(str(name), str(form)) for name, form in value.items()]
    elif isinstance(value, str):
        items = [item.strip().rpartition(":") for item in value.split(",") if item.strip()]
        pairs = [(name or "*", form) for name, _, form in items]
    else:
        raise ValueError
    if any(form not in BY_OPTION for _, form in pairs):
        raise ValueError
    return tuple(sorted(pairs))


def _storage_text(pairs: tuple[tuple[str, str], ...]) -> str:
    return ",".join(f"{name}:{form}" for name, form in pairs)


OPTIONS: dict[str, OptionSpec] = {
    spec.name: spec
    for spec in (
        _one_of("arch", tuple(ARCHS), "chip to compile for"),
        OptionSpec(
            "grid",
            "XxY, such as 4x4 or (4, 4), up to the chip's compute grid; all",
            "cores to use, counted from the first",
            _parse_grid,
            _grid_text,
        ),
        _one_of(
            "math_fidelity",
            ("LoFi", "HiFi2", "HiFi3", "HiFi4"),
            "how many multiplier phases the matrix engine spends",
        ),
        _flag("fp32_acc", "32-bit destination registers"),
        _flag("fast_math", "numbers are finite, so zero times any is zero; as TileLang's TL_ENABLE_FAST_MATH"),
        _flag(
            "approx_exp",
            "exponentials of matrices by the vector unit's fast approximation, right to 3.2 %",
        ),
        _flag("scalar_code", "run what the tile engines cannot do on the cores' small processors; false: refuse it"),
        _choice(
            "multicast",
            "blocks that several cores need are read by one, which sends them to the others; auto: where it pays",
        ),
        _choice(
            "split_k",
            "several cores make parts of a long sum of products, which are then added up; auto: where it pays",
        ),
        _flag("blocks", "the compiler may take blocks of other sizes than the kernel is written with"),
        _one_of(
            "numerics",
            ("fast", "exact", "chip"),
            "arithmetic of the virtual device: the chip's formats with fp32 sums, fp32 throughout, or bit by bit",
        ),
        _one_of("sdk", ("0.77", "0.81"), "TT-Metalium release whose API names are used"),
        _one_of("device", ("virtual", "ttnn", "auto"), "where kernels run; auto: on a card if there is one"),
        _one_of("float16", ("float32", "bfloat16"), "storage of float16 tensors on the device"),
        OptionSpec(
            "storage",
            'bfloat8_b or bfloat4_b for all inputs, or by name, results too: {"B": "bfloat8_b"}, B:bfloat8_b',
            "storage format of tensors, where it shall differ from their dtype",
            _parse_storage,
            _storage_text,
        ),
        OptionSpec(
            "layout",
            '{"A": {"memory": "L1", "shard": "block", "grid": "8x8"}}: a dict, or the same as JSON',
            "where tensors lie, by name, as TT.layout says it in a kernel",
            parse_hints,
            hints_text,
        ),
        OptionSpec(
            "schedule",
            'a dict, {"policy": "rectangle", "order": "z", "cores": "4x4+2+1"}, or words, '
            'policy:rectangle,order:z,cores:4x4+2+1; for each T.Kernel: {"0": {...}}, 0@...;1@...',
            "which core runs which blocks, and in what order, as TT.schedule says it in a kernel",
            requests_of,
            requests_text,
        ),
    )
}


def parse_options(values: Mapping[str, Any]) -> Options:
    """Options from user-given values; what is not given keeps its default."""
    parsed: dict[str, Any] = {}
    for name, value in values.items():
        spec = OPTIONS.get(name)
        if spec is None:
            raise TargetError(
                "TT601",
                f"target '{NAME}' has no option '{name}'",
                help=f"valid options: {', '.join(OPTIONS)}",
            )
        try:
            parsed[name] = spec.parse(value)
        except HintError as error:
            fact = f"target option '{name}': {error.message}"
            raise TargetError("TT602", fact, help=error.help) from None
        except ScheduleError as error:
            raise _invalid(spec, value, str(error)) from None
        except ValueError:
            raise _invalid(spec, value) from None
    options = Options(**parsed)
    _check_grid(options)
    _check_schedule(options)
    return options


def _invalid(spec: OptionSpec, value: Any, *notes: str) -> TargetError:
    return TargetError(
        "TT602",
        f"target option '{spec.name}' cannot be {value!r}",
        notes=notes,
        help=f"valid values: {spec.valid}",
    )


def _check_grid(options: Options) -> None:
    chip = options.chip
    if options.grid and (options.grid[0] > chip.grid[0] or options.grid[1] > chip.grid[1]):
        fact = f"{chip.title} has a compute grid of {_grid_text(chip.grid)} cores"
        raise _invalid(OPTIONS["grid"], _grid_text(options.grid), fact)


def _check_schedule(options: Options) -> None:
    x, y = options.core_grid
    whose = f"target option grid={x}x{y}" if options.grid else f"{options.chip.title}, which has {x}x{y} cores"
    for _, said in options.schedule:
        for one in said.request.cores or ():
            if not one.is_inside((x, y)):
                raise _invalid(OPTIONS["schedule"], str(said.request), f"core range {one} lies outside {whose}")


@cache
def build_id() -> str:
    """Version and content of this package: changes whenever its output may change."""
    digest = hashlib.sha256()
    pending = [resources.files("tilelang_tt")]
    while pending:
        for entry in sorted(pending.pop().iterdir(), key=lambda item: item.name):
            if entry.is_dir():
                pending.append(entry)
            elif entry.name.endswith((".py", ".json", ".h", ".hpp", ".cpp")):
                digest.update(entry.name.encode() + entry.read_bytes())
    return f"{__version__}-{digest.hexdigest()[:12]}"


def target_config(options: Options) -> dict[str, str | list[str]]:
    """The dict TVM makes a Target from."""
    features = {spec.name: spec.text(getattr(options, spec.name)) for spec in OPTIONS.values()}
    return FAMILY.config(features, options.arch)


def make_target(options: Options | None = None) -> Target:
    return Target(target_config(options or Options()))


def is_tenstorrent(target: Target) -> bool:
    return FAMILY.owns(target)


def options_of(target: Target, pass_configs: Mapping[str, Any] | None = None) -> Options:
    """The options a target carries, checked again: a Target may have been made by hand; and those of TileLang's
    pass configurations that mean something here."""
    options = parse_options(FAMILY.features(target))
    fast_math = (pass_configs or {}).get(PassConfigKey.TL_ENABLE_FAST_MATH.value, False)
    return replace(options, fast_math=True) if fast_math else options


def normalize(target: Any) -> Target | None:
    """TileLang asks every backend in turn: a Target when the spelling is ours, otherwise None."""
    return FAMILY.normalize(target)


def _no_option(word: str) -> TargetError:
    return TargetError(
        "TT601",
        f"target option '{word}' does not start with '-'",
        help=f"write '{NAME} -arch=blackhole -grid=4x4'; valid options: {', '.join(OPTIONS)}",
    )


def _from_head(head: str, options: dict[str, Any]) -> Target:
    """`tenstorrent` or `tenstorrent/<arch>`, with options."""
    name, _, arch = head.partition("/")
    if name != NAME or head.endswith("/"):
        forms = ", ".join([NAME, *(f"{NAME}/{known}" for known in ARCHS)])
        raise TargetError("TT603", f"there is no target '{head}'", help=f"valid targets: {forms}")
    if arch:
        if options.get("arch", arch) != arch:
            raise _invalid(OPTIONS["arch"], options["arch"], f"the target's name already says '{arch}'")
        options = {**options, "arch": arch}
    return make_target(parse_options(options))


def detect() -> Target | None:
    """For target="auto", after TileLang has asked for GPUs: the card of this machine, if it has one."""
    if not cards():
        return None
    return make_target(Options(arch=card_arch() or Options().arch, device="auto"))


FAMILY = Family(NAME, build_id, _from_head, _no_option)


def register() -> None:
    archs = {f"{NAME}/{arch}": target_config(Options(arch=arch)) for arch in ARCHS}
    FAMILY.register({NAME: target_config(Options()), **archs}, detect)
