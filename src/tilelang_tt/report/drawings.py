"""Drawings of a launch as SVG: cores, L1, streams of tiles, the timeline, the roofline."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tilelang_tt.arch import Arch
from tilelang_tt.clock.log import CAUSES, TICKS, LaunchLog, Rows, What, processor
from tilelang_tt.clock.report import LANES
from tilelang_tt.profile.names import Names
from tilelang_tt.profile.roofline import Roofline
from tilelang_tt.report.markup import Markup, box, joined, svg, tag, text
from tilelang_tt.runtime.placing import l1_of
from tilelang_tt.runtime.plan import CbPlan, LaunchPlan, TensorPlan

_CELL = 34  # pixels of a core
_WIDTH = 960  # of wide drawings
_COLORS = 10  # hues of buffers in the style sheet
_SLICES = 700  # of a processor in the timeline; shorter ones are merged
_ROLES = ("reader", "compute", "writer")


def heat_map(values: Mapping[tuple[int, int], float], grid: tuple[int, int], unit: str) -> Markup:
    """Each core as a cell, darker where the value is larger."""
    most = max(values.values(), default=0) or 1
    parts = []
    for (x, y), value in sorted(values.items()):
        left, top = 22 + x * _CELL, 18 + y * _CELL
        shown = f"{value:,.0f}"
        parts.append(
            box(
                left,
                top,
                _CELL - 2,
                _CELL - 2,
                f"core ({x}, {y}): {shown} {unit}",
                class_="heat",
                fill_opacity=f"{0.08 + 0.85 * value / most:.3f}",
            )
        )
        if len(shown) <= 4:
            parts.append(text(left + _CELL / 2 - 1, top + _CELL / 2 + 3, shown, class_="middle small"))
    names = [text(22 + x * _CELL + _CELL / 2, 12, str(x), class_="middle small dim") for x in range(grid[0])]
    names += [text(8, 18 + y * _CELL + _CELL / 2 + 3, str(y), class_="middle small dim") for y in range(grid[1])]
    return svg(26 + grid[0] * _CELL, 22 + grid[1] * _CELL, names, parts, label=f"{unit} of each core")


def l1_bar(launch: LaunchPlan, tensors: Sequence[TensorPlan], chip: Arch) -> Markup:
    """What lies in the L1 of a core, to scale, and the same in words beneath."""
    rows = [
        (cb.name, cb.pages * cb.page_bytes, _buffer(cb))
        for cb in sorted(launch.cbs, key=lambda cb: cb.id)
        if not cb.tensor and cb.shares is None
    ]
    rows += [
        (one.name, l1_of(one, chip) or 0, f"tensor {one.name}, {one.format}") for one in tensors if one.memory == "l1"
    ]
    parts, x, legend = [], 0.0, []
    for number, (name, size, what) in enumerate(rows):
        width = _WIDTH * size / max(chip.l1_usable, sum(row[1] for row in rows))
        parts.append(box(x, 4, width, 40, f"{what}: {size:,} B", class_=f"hue{number % _COLORS} edge"))
        if width > 8 * len(name):
            parts.append(text(x + width / 2, 28, name, class_="middle small"))
        x += width
        swatch = tag("span", " ", class_=f"swatch hue{number % _COLORS}")
        legend.append(tag("li", swatch, tag("b", name), f" {size:,} B", title=f"{what}: {size:,} B"))
    used = sum(row[1] for row in rows)
    frame = box(0, 4, _WIDTH, 40, class_="frame")
    words = text(0, 62, f"{used:,} B of {chip.l1_usable:,} B per core ({used / chip.l1_usable:.1%})", class_="small")
    bar = svg(_WIDTH, 70, frame, parts, words, label="L1 of a core")
    return joined([bar, tag("ul", legend, class_="legend")])


def _buffer(cb: CbPlan) -> str:
    return f"cb{cb.id} {cb.name}: {cb.pages} pages of {cb.page_bytes:,} B, {cb.format}, {cb.producer} to {cb.consumer}"


def streams(launch: LaunchPlan) -> Markup:
    """Tensors, kernels and circular buffers as a graph, from left to right."""
    by_role = {kernel.role: kernel for kernel in launch.kernels}
    reads = _tensors(by_role.get("reader"))
    writes = _tensors(by_role.get("writer"))
    own = [cb for cb in launch.cbs if cb.producer == cb.consumer]
    before = [cb for cb in launch.cbs if cb.producer == "reader" and cb not in own]
    after = [cb for cb in launch.cbs if cb.producer == "compute" and cb not in own]
    columns: list[tuple[str, list[tuple[str, str]]]] = [
        ("tensors", [(f"in:{name}", name) for name in reads]),
        ("", [("reader", "reader")] if "reader" in by_role else []),
        ("circular buffers", [(f"cb:{cb.id}", cb.name) for cb in before]),
        ("", [("compute", "compute")] if "compute" in by_role else []),
        ("circular buffers", [(f"cb:{cb.id}", cb.name) for cb in (*own, *after)]),
        ("", [("writer", "writer")] if "writer" in by_role else []),
        ("tensors", [(f"out:{name}", name) for name in writes]),
    ]
    height = 40 + 26 * max(1, *(len(column[1]) for column in columns))
    places: dict[str, tuple[float, float]] = {}
    parts = []
    for number, (_, nodes) in enumerate(columns):
        for row, (key, name) in enumerate(nodes):
            x = 4 + number * (_WIDTH - 120) / 6
            y = 30 + (height - 40) * (row + 0.5) / len(nodes) - 10
            places[key] = (x, y)
            kind = "kernel" if ":" not in key else key.partition(":")[0]
            parts.append(box(x, y, 112, 20, name, class_=f"node {kind}", rx="4"))
            parts.append(text(x + 56, y + 14, name if len(name) <= 16 else name[:15] + "…", class_="middle small"))
    edges = [(f"in:{name}", "reader") for name in reads] + [("writer", f"out:{name}") for name in writes]
    for cb in launch.cbs:
        edges += [(cb.producer, f"cb:{cb.id}"), (f"cb:{cb.id}", cb.consumer)]
    drawn = [_edge(places[a], places[b]) for a, b in edges if a in places and b in places]
    return svg(_WIDTH, height, drawn, parts, label="streams of tiles", class_="wide")


def _tensors(kernel: object) -> list[str]:
    words = getattr(kernel, "compile_time_args", ())
    return list(dict.fromkeys(word.accessor for word in words if word.accessor))


def _edge(start: tuple[float, float], end: tuple[float, float]) -> Markup:
    if end[0] > start[0]:
        x1, y1, x2, y2 = start[0] + 112, start[1] + 10, end[0], end[1] + 10
    else:
        x1, y1, x2, y2 = start[0], start[1] + 14, end[0] + 112, end[1] + 14
    middle = (x1 + x2) / 2
    return tag(
        "path", d=f"M{x1:.1f} {y1:.1f} C{middle:.1f} {y1:.1f} {middle:.1f} {y2:.1f} {x2:.1f} {y2:.1f}", class_="edge"
    )


def timeline(log: LaunchLog, names: Names, cores: Sequence[tuple[int, int]], megahertz: int) -> Markup:
    """What each processor of some cores does, and what it waits for, over the time of the launch."""
    rows = log.of(What.BUSY, What.WAIT)
    end = int(rows["end"].max()) if len(rows) else 1
    scale = (_WIDTH - 120) / end
    parts, y = [], 20
    for core in cores:
        parts.append(text(0, y + 12, f"core ({core[0]}, {core[1]})", class_="small"))
        for number, lane in enumerate(LANES):
            index = log.cores.index(core) * len(LANES) + number
            parts.append(text(112, y + 10, lane, class_="small dim right"))
            parts += _slices(rows[rows["lane"] == index], log, names, scale, y, megahertz)
            y += 14
        y += 8
    ticks = [
        text(
            118 + (_WIDTH - 120) * part / 4,
            12,
            f"{end * part / 4 / TICKS / megahertz:,.1f} us",
            class_=f"small dim {anchor}",
        )
        for part, anchor in enumerate(("", "middle", "middle", "middle", "right"))
    ]
    return svg(_WIDTH, y + 4, ticks, parts, label="timeline of some cores", class_="wide")


def _slices(rows: Rows, log: LaunchLog, names: Names, scale: float, y: int, megahertz: int) -> list[Markup]:
    """One rectangle for each stretch of one kind; what is too short to be seen joins its neighbour."""
    rows = rows[np.argsort(rows["start"], kind="stable")]
    found: list[Markup] = []
    shortest = (_WIDTH - 120) / _SLICES / scale
    begin = last = -1
    kind, words = -1, ""
    for row in rows:
        start, end, what = int(row["start"]), int(row["end"]), int(row["what"])
        if begin >= 0 and what == kind and start - last < shortest:
            last = end
            continue
        if begin >= 0 and last - begin < shortest and start - last < shortest:
            kind, last = what, end
            continue
        if begin >= 0:
            found.append(_slice(begin, last, kind, words, scale, y, megahertz))
        lane = processor(int(row["lane"]))
        doing = (
            names.wait(lane, CAUSES[int(row["cause"])], int(row["id"]))
            if what == What.WAIT
            else log.keys[int(row["key"])]
        )
        begin, last, kind, words = start, end, what, f"{doing}, {names.place(lane, int(row['line']))}"
    if begin >= 0:
        found.append(_slice(begin, last, kind, words, scale, y, megahertz))
    return found


def _slice(begin: int, end: int, kind: int, words: str, scale: float, y: int, megahertz: int) -> Markup:
    waits = kind == What.WAIT
    title = f"{'waits for ' if waits else ''}{words}; {(end - begin) / TICKS / megahertz:,.3f} us"
    return box(118 + begin * scale, y, (end - begin) * scale, 11, title, class_="wait" if waits else "busy")


def roofline(line: Roofline) -> Markup:
    """Both axes by powers of ten; the point is the launch."""
    width, height, left, bottom = 520, 240, 60, 200
    low = min(line.intensity, line.ridge) / 4
    high = max(line.intensity, line.ridge) * 4
    top = line.peak_tflops * 1.6
    least = min(line.tflops, low * line.dram_gigabytes / 1e3) / 1.6

    def at(intensity: float, tflops: float) -> tuple[float, float]:
        x = left + (width - left - 20) * math.log(intensity / low) / math.log(high / low)
        return x, bottom - (bottom - 10) * math.log(max(tflops, least) / least) / math.log(top / least)

    (x0, y0), (x1, y1), (x2, y2) = (
        at(low, low * line.dram_gigabytes / 1e3),
        at(line.ridge, line.peak_tflops),
        at(high, line.peak_tflops),
    )
    px, py = at(line.intensity, line.tflops)
    parts = [
        tag("path", d=f"M{left} 6V{bottom}H{width - 10}", class_="axis"),
        tag("path", d=f"M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}", class_="roof"),
        box(px - 5, py - 5, 10, 10, f"{line.tflops:,.1f} TFLOPS", class_="point", rx="5"),
        text(px + 9, py + 4, f"{line.tflops:,.1f} TFLOPS, {line.tflops / line.roof:.0%} of its roof", class_="small"),
        text(x2, y2 - 6, f"matrix engines {line.peak_tflops:,.0f} TFLOPS", class_="small dim right"),
        text(x0 + 10, y0 + 16, f"DRAM {line.dram_gigabytes:,.0f} GB/s", class_="small dim"),
        text(left, bottom + 16, f"{low:,.0f}", class_="small dim middle"),
        text(x1, bottom + 16, f"{line.ridge:,.0f} (ridge)", class_="small dim middle"),
        text(width - 20, bottom + 32, "flop for each byte of DRAM", class_="small dim right"),
    ]
    return svg(width, height, parts, label="roofline")
