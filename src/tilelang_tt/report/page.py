"""The page: sections in order, self-contained, without a single address of the network."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import resources
from itertools import pairwise
from pathlib import Path

from tilelang_tt.compiled import Compiled
from tilelang_tt.explain import merged_decisions
from tilelang_tt.options import Options
from tilelang_tt.profile.profiled import Profile
from tilelang_tt.profile.roofline import roofline
from tilelang_tt.report import drawings
from tilelang_tt.report.markup import Markup, Part, joined, tag
from tilelang_tt.runtime.plan import LaunchPlan
from tilelang_tt.runtime.settle import settled
from tilelang_tt.version import __version__

_NO_UNITS = "how many units each core has follows from the sizes of a call: kernel.report(path, n=...), or after a call"
_CORES = 4  # whose timelines are drawn
# What a page may do: its own style and script, and nothing from elsewhere.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def page(
    compiled: Compiled,
    options: Options,
    heading: str,
    profile: Profile | str,
    warnings: Sequence[str],
    values: Mapping[str, int | float] = {},
) -> str:
    """`compiled` with its stages; `profile`, or why there is none; `values` of dynamic sizes that are known."""
    plan = compiled.plan
    sizes = {name: int(values[name]) for name in plan.sizes if name in values}
    launches = settled(plan, sizes).plan.launches if len(sizes) == len(plan.sizes) else plan.launches
    sections = {
        "warnings": ("Warnings", _warnings(warnings)),
        "cores": ("Cores", [_cores(launch, profile, sizes) for launch in launches]),
        "l1": (
            "L1 of a core",
            [_titled(one, drawings.l1_bar(one, plan.tensors, options.chip)) for one in plan.launches],
        ),
        "streams": ("Streams of tiles", [_titled(one, drawings.streams(one)) for one in plan.launches]),
        "time": ("Time", _time(profile)),
        "code": ("Source, stages, C++", _panes(compiled)),
        "decisions": ("Decisions", [tag("pre", merged_decisions(compiled))]),
    }
    if not warnings:
        del sections["warnings"]
    inside = [
        tag("h1", f"Kernel '{plan.name}'"),
        tag("p", heading, class_="dim"),
        tag("p", profile if isinstance(profile, str) else profile.timing.line),
        tag("nav", [tag("a", title, href=f"#{key}") for key, (title, _) in sections.items()]),
        [tag("section", tag("h2", title), part, id=key) for key, (title, part) in sections.items()],
        tag("p", f"tilelang-tt {__version__}", class_="dim"),
    ]
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{plan.name} on {options.chip.title}"),
        tag("style", Markup(_file("style.css"))),
    ]
    body = [joined(inside), tag("script", Markup(_file("page.js")))]
    return f"<!DOCTYPE html>\n{tag('html', tag('head', head), tag('body', body), lang='en')}\n"


def _file(name: str) -> str:
    return resources.files("tilelang_tt.report").joinpath(name).read_text()


def _warnings(texts: Sequence[str]) -> Part:
    return [tag("p", one, class_="warning") for one in texts]


def _titled(launch: LaunchPlan, drawing: Part) -> Markup:
    return tag("div", tag("h3", f"launch '{launch.name}'"), drawing)


def _cores(launch: LaunchPlan, profile: Profile | str, sizes: Mapping[str, int]) -> Markup:
    """Units of each core, where they are known; of the launch that is profiled also how busy it is."""
    maps: list[Part] = []
    with suppress(KeyError):  # a size that only a call tells
        counts = {share.core: float(share.count) for share in launch.shares(sizes)}
        where = "" if isinstance(launch.units, int) else f", {', '.join(f'{name} = {n}' for name, n in sizes.items())}"
        maps.append(tag("div", tag("p", f"units of work{where}"), drawings.heat_map(counts, launch.grid, "units")))
    if isinstance(profile, Profile) and profile.launch.name == launch.name:
        clock = profile.launch.clock
        for lane, title in (("math", "math busy, % of the launch"), ("reader", "reader waiting, % of the launch")):
            values = {
                core: 100 * (lanes[lane].busy if lane == "math" else lanes[lane].waiting) / max(clock.cycles, 1)
                for core, lanes in clock.cores.items()
                if lane in lanes
            }
            maps.append(tag("div", tag("p", title), drawings.heat_map(values, launch.grid, "%")))
    if not maps:
        maps.append(tag("p", _NO_UNITS, class_="dim"))
    return _titled(launch, tag("div", maps, class_="row"))


def _time(profile: Profile | str) -> Part:
    if isinstance(profile, str):
        return [tag("p", profile, class_="dim")]
    shown = list(dict.fromkeys([*profile.critical_path.cores, *profile.last_cores]))
    cores = [core for core in shown if core in profile.log.cores][:_CORES]
    line = roofline(profile.launch)
    clock = profile.launch.clock
    return [
        tag(
            "p",
            f"launch '{profile.launch.name}': green is work, yellow is waiting; the pointer says for what",
            class_="dim",
        ),
        drawings.timeline(profile.log, profile.names, cores, clock.megahertz),
        [tag("h3", "Roofline"), drawings.roofline(line)] if line else [],
        tag("details", tag("summary", "Waits, critical path, changes that would help"), tag("pre", str(profile))),
    ]


def _panes(compiled: Compiled) -> Markup:
    lines = compiled.lines
    files = list(dict.fromkeys(line.user_file for line in lines))
    keys = {(line.file, line.line): f"{files.index(line.user_file)}:{line.user_line}" for line in lines}
    used = set(keys.values())
    sources = [(Path(file).name, _source(file, files.index(file), used)) for file in files]
    names = [kernel.source for launch in compiled.plan.launches for kernel in launch.kernels]
    generated = [(name, _generated(name, compiled.files[name], keys)) for name in names]
    changed = [after for before, after in pairwise([("", ""), *compiled.stages]) if after[1] != before[1]]
    stages = [(name, _stage(text, files)) for name, text in changed]
    panes = [_pane("source", sources), _pane("program after", stages), _pane("generated", generated)]
    return tag("div", panes, class_="panes")


def _pane(what: str, texts: Sequence[tuple[str, Markup]]) -> Markup:
    choice = tag("select", [tag("option", f"{what}: {name}") for name, _ in texts], aria_label=what)
    shown = [
        tag("div", text, class_="text", hidden=None if number == 0 else "") for number, (_, text) in enumerate(texts)
    ]
    return tag("div", choice, tag("div", shown, class_="lines"), class_="pane")


def _source(file: str, number: int, used: set[str]) -> Markup:
    """The lines of a user's file around those that became code."""
    path = Path(file)
    text = path.read_text(errors="replace").splitlines() if path.is_file() else []
    wanted = [int(key.partition(":")[2]) for key in used if key.startswith(f"{number}:")]
    first, last = max(1, min(wanted) - 12), max(wanted) + 3
    return joined(
        _line(at, text[at - 1], f"{number}:{at}" if f"{number}:{at}" in used else None)
        for at in range(first, min(last, len(text)) + 1)
    )


def _generated(name: str, text: str, keys: dict[tuple[str, int], str]) -> Markup:
    """A line without one of its own stems from the one before it, as error messages have it."""
    found, now = [], None
    for at, line in enumerate(text.splitlines(), 1):
        now = keys.get((name, at), now)
        found.append(_line(at, line, now if line.strip() else None))
    return joined(found)


def _stage(text: str, files: Sequence[str]) -> Markup:
    """A program; its statements end with a comment that says their place."""
    names = [Path(file).name for file in files]
    found = []
    for at, line in enumerate(text.rstrip().splitlines(), 1):
        place = re.search(r"# (\S+):(\d+)$", line)
        known = place is not None and place[1] in names
        found.append(_line(at, line, f"{names.index(place[1])}:{place[2]}" if place is not None and known else None))
    return joined(found)


def _line(number: int, text: str, key: str | None) -> Markup:
    return tag("div", tag("i", str(number)), text, data_line=key)
