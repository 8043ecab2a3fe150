"""A profile as one screen of text."""

from __future__ import annotations

from collections.abc import Sequence

from tilelang_tt.clock.report import LaneReport, LaunchClock
from tilelang_tt.clock.timing import LaunchTiming, Timing
from tilelang_tt.profile.critical_path import Path
from tilelang_tt.profile.names import Names
from tilelang_tt.profile.roofline import draw, roofline
from tilelang_tt.profile.what_if import Effect

CHANGES = 3  # that are shown
_STEPS = 5  # of the critical path
_WAITS = 2  # of one kind of processor
_LEAST = 0.02  # part of the time below which a wait is not worth a line


def page(timing: Timing, launch: LaunchTiming, names: Names, path: Path, effects: Sequence[Effect]) -> str:
    sections = [
        [timing.line, *timing.caveats],
        _launches(timing, launch),
        processors(launch.clock, names),
        critical(launch.clock, path),
        _roofline(launch),
        helps(launch.microseconds, effects),
    ]
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def _launches(timing: Timing, shown: LaunchTiming) -> list[str]:
    if len(timing.launches) < 2:
        return []
    lines = [
        f"  {'>' if one is shown else ' '} {one.name:<24} {one.microseconds:>10,.1f} us  bound by {one.bound}"
        for one in timing.launches
    ]
    return ["launches (below: the one marked >)", *lines]


def processors(clock: LaunchClock, names: Names) -> list[str]:
    """Busy and waiting, as parts of the launch's time on all of its cores."""
    whole = clock.cycles * max(1, len(clock.cores))
    lines = [f"where the time goes, on {len(clock.cores)} cores       busy  waits"]
    for name, lane in clock.lanes.items():
        causes = _causes(name, lane, names, whole)
        busy, waits = lane.busy / whole, lane.waiting / whole
        lines.append(f"  {name:<8} {_bar(busy)} {busy:>5.0%}  {waits:>5.0%}  {causes[0]}")
        lines += [f"{'':<45}{cause}" for cause in causes[1:]]
    return lines


def _causes(name: str, lane: LaneReport, names: Names, whole: float) -> list[str]:
    waits = sorted(lane.waits, key=lambda wait: -wait.cycles)
    worth = [wait for wait in waits if wait.cycles >= _LEAST * whole][:_WAITS]
    return [
        f"{wait.cycles / whole:.0%} for {names.of_wait(name, wait)}, {names.place(name, wait.line)}" for wait in worth
    ] or [""]


def _bar(share: float, width: int = 20) -> str:
    filled = round(share * width)
    return "#" * filled + "." * (width - filled)


def critical(clock: LaunchClock, path: Path) -> list[str]:
    if not path.steps:
        return []
    cores = path.cores
    through = " -> ".join(f"({x},{y})" for x, y in cores[:6]) + (
        f" and {len(cores) - 6} more" if len(cores) > 6 else ""
    )
    lines = [f"critical path, through core{'s' if len(cores) > 1 else ''} {through}"]
    whole = sum(step.cycles for step in path.steps)
    for lane, what, place, cycles in path.summary()[:_STEPS]:
        lines.append(f"  {cycles / clock.cycles:>5.0%}  {lane:<7} {what}, {place}")
    rest = whole - sum(cycles for *_, cycles in path.summary()[:_STEPS])
    if rest > 0:
        lines.append(f"  {rest / clock.cycles:>5.0%}  {len(path.summary()) - _STEPS} other steps")
    if path.incomplete:
        lines.append(f"         {path.incomplete}")
    return lines


def _roofline(launch: LaunchTiming) -> list[str]:
    line = roofline(launch)
    if line is None:
        return [f"roofline: no tile products; {launch.dram_peak:.0%} of DRAM's bandwidth is used"]
    return ["roofline", *draw(line)]


def helps(microseconds: float, effects: Sequence[Effect]) -> list[str]:
    """The changes with the largest effect."""
    if not effects:
        return ["what would help: nothing that was tried saves 1 % of the time"]
    return ["what would help most (replayed with that resource made free)"] + [
        f"  {one.change.subject}: {one.change.text} {one.microseconds:,.1f} us instead of {microseconds:,.1f} us"
        for one in effects[:CHANGES]
    ]
