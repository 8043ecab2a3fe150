"""The compiler's account of one kernel: decisions, L1 map, work map; if asked for, the program after each pass.

By default it is about a screen: decisions with the same words are one line, with their pass and the lines of the kernel
they speak of; circular buffers that are alike are one line, and so are rows of cores that do the same. What the L1 map
says is not said twice. `whole` has every decision with its place, and every buffer and row.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from tilelang_tt.arch import Arch
from tilelang_tt.compiled import Compiled, Decision
from tilelang_tt.diagnostics import Location
from tilelang_tt.explain_work import work_map
from tilelang_tt.options import Options
from tilelang_tt.runtime.placing import l1_of
from tilelang_tt.runtime.plan import CbPlan, LaunchPlan, Plan, TensorPlan
from tilelang_tt.runtime.ttnn_tensors import layout_text

Stages = Literal["none", "changes", "texts"]
_IN_L1_MAP = ("allocate_cbs",)  # passes whose decisions the L1 map shows


def explain(
    compiled: Compiled,
    options: Options,
    call_notes: Sequence[str] = (),
    time: str = "",
    *,
    stages: Stages = "texts",
    whole: bool = True,
) -> str:
    """`call_notes`: what the latest call did beyond running the kernels; `time`: how long a call takes, in a line."""
    plan = compiled.plan
    sections = [heading(plan, options) + (f"\n{time}" if time else "")]
    if stages != "none":
        sections += _changes(compiled.stages) if stages == "changes" else _texts(compiled.stages)
    sections.append(decisions(compiled) if whole else merged_decisions(compiled))
    for launch in plan.launches:
        sections.append(l1_map(launch, options.chip, plan.tensors, whole=whole))
        sections.append(work_map(launch, whole=whole))
    if plan.device != "virtual" or call_notes:
        sections.append(ttnn_layouts(plan))
    if call_notes:
        sections.append("\n".join(["latest call", *(f"  {note}" for note in call_notes)]))
    return "\n\n".join(sections) + "\n"


def heading(plan: Plan, options: Options) -> str:
    x, y = options.core_grid
    accumulate = "32-bit" if options.fp32_acc else "16-bit"
    finite = ", fast math" if options.fast_math else ""
    return (
        f"kernel '{plan.name}' for {options.chip.title}, {x}x{y} cores, {options.math_fidelity}, "
        f"{accumulate} DST{finite}, numerics {plan.numerics}, sdk {plan.sdk}, device {plan.device}"
    )


def decisions(compiled: Compiled) -> str:
    """One line per choice, grouped by the pass that made it."""
    lines = ["decisions"]
    stage = ""
    for decision in compiled.decisions:
        if decision.stage != stage:
            stage = decision.stage
            lines.append(f"  {stage}")
        place = f"   [{_short(decision.location)}]" if decision.location else ""
        lines.append(f"    {decision.subject}: {decision.text}{place}")
    return "\n".join(lines)


def merged_decisions(compiled: Compiled) -> str:
    """Decisions of a pass with the same words as one line, with the pass and their places in the program."""
    files = list(dict.fromkeys(one.location.file for one in compiled.decisions if one.location))
    title = "decisions" if len(files) != 1 else f"decisions (lines are those of {_short_path(files[0])})"
    grouped: dict[str, dict[str, list[Decision]]] = {}
    for one in compiled.decisions:
        if one.stage not in _IN_L1_MAP:
            grouped.setdefault(one.stage, {}).setdefault(one.text, []).append(one)
    lines = [title]
    for stage, texts in grouped.items():
        for text, some in texts.items():
            subjects = ", ".join(dict.fromkeys(one.subject for one in some))
            where = ", ".join([stage, *_places(some, alone=len(files) == 1)])
            lines.append(f"  {subjects}: {text}   [{where}]")
    return "\n".join(lines)


def _places(some: Sequence[Decision], *, alone: bool) -> list[str]:
    found = dict.fromkeys(one.location for one in some if one.location)
    if not found:
        return []
    words = [str(place.line) if alone else _short(place) for place in found]
    return [f"{'line ' if alone else ''}{', '.join(words)}"]


def _texts(stages: Sequence[tuple[str, str]]) -> list[str]:
    return [f"== {name}\n{text.rstrip()}" for name, text in stages]


def _changes(stages: Sequence[tuple[str, str]]) -> list[str]:
    """The first program whole, then what each pass changes; where most of it is new, the new one whole."""
    sections: list[str] = []
    before: list[str] = []
    idle: list[str] = []
    for name, text in stages:
        after = text.rstrip().splitlines()
        if after == before:
            idle.append(name)
            continue
        if idle:
            sections.append(f"== no change: {', '.join(idle)}")
            idle = []
        sections.append("\n".join([f"== {name}", *_diff(before, after)]))
        before = after
    return [*sections, f"== no change: {', '.join(idle)}"] if idle else sections


def _diff(before: Sequence[str], after: Sequence[str]) -> Sequence[str]:
    changed = list(difflib.unified_diff(before, after, n=1, lineterm=""))[2:]
    return changed if len(changed) < len(after) else after


def as_json(compiled: Compiled, options: Options, time: dict[str, Any] | None) -> dict[str, Any]:
    """Everything `explain` says, as plain data."""
    plan = compiled.plan
    return {
        "kernel": plan.name,
        "target": {
            "chip": options.chip.name,
            "grid": list(options.core_grid),
            "numerics": plan.numerics,
            "sdk": plan.sdk,
        },
        "time": time,
        "decisions": [
            {
                "pass": one.stage,
                "subject": one.subject,
                "text": one.text,
                "file": one.location.file if one.location else None,
                "line": one.location.line if one.location else None,
            }
            for one in compiled.decisions
        ],
        "launches": [_launch_as_json(launch, options.chip) for launch in plan.launches],
        "stages": [{"pass": name, "program": text} for name, text in compiled.stages],
    }


def _launch_as_json(launch: LaunchPlan, chip: Arch) -> dict[str, Any]:
    known = isinstance(launch.units, int)
    return {
        "name": launch.name,
        "grid": list(launch.grid),
        "units": launch.units,
        "units_by_core": [{"core": list(one.core), "units": one.count} for one in launch.shares({})] if known else None,
        "l1_usable": chip.l1_usable,
        "buffers": [
            {
                "id": cb.id,
                "name": cb.name,
                "format": cb.format,
                "pages": cb.pages,
                "page_bytes": cb.page_bytes,
                "producer": cb.producer,
                "consumer": cb.consumer,
                "tensor": cb.tensor,
            }
            for cb in sorted(launch.cbs, key=lambda cb: cb.id)
        ],
    }


def _short_path(file: str) -> str:
    path = Path(file)
    inside = path.is_absolute() and path.is_relative_to(Path.cwd())
    return str(path.relative_to(Path.cwd()) if inside else path)


def _short(location: Location) -> str:
    """The place as a person in the current directory would name it."""
    return f"{_short_path(location.file)}:{location.line}"


def ttnn_layouts(plan: Plan) -> str:
    """How ttnn tensors must lie to be used where they are."""
    lines = [f"  {item.name}: {layout_text(item, len(plan.params[item.param].shape))}" for item in plan.tensors]
    return "\n".join(
        ["ttnn tensors are used where they lie if they are as follows, and converted there if not", *lines]
    )


def l1_map(launch: LaunchPlan, chip: Arch, tensors: Sequence[TensorPlan] = (), *, whole: bool = True) -> str:
    """Circular buffers in the order of their ids, then tensors, with what they take of a core's L1.

    Not `whole`: buffers that are alike are one line, and a second view of a buffer is in its line.
    """
    cbs = sorted(launch.cbs, key=lambda cb: cb.id)
    rows = [(f"cb{cb.id}", cb.name, *_facts(cb)) for cb in cbs] if whole else _merged(cbs)
    used = sum(cb.pages * cb.page_bytes for cb in launch.cbs if cb.tensor is None and cb.shares is None)
    for tensor in tensors:
        if tensor.memory == "l1":
            size, how = l1_of(tensor, chip), "dealt to all cores" if tensor.shards is None else "in shards"
            rows.append(
                ("L1", tensor.name, f"tensor {tensor.format}", how, "at the call" if size is None else f"{size:,} B")
            )
            used += size or 0
    if launch.list_bytes:
        rows.append(("L1", "units", "list of the core's units", "", f"{launch.list_bytes:,} B"))
        used += launch.list_bytes
    share = 100 * used / chip.l1_usable
    total = f"used {used:,} B of {chip.l1_usable:,} B per core ({share:.1f} %)"
    if not whole:
        return "\n".join([f"L1 map of '{launch.name}', {total}", *_columns(rows)])
    return "\n".join([f"L1 map of '{launch.name}'", *_columns(rows), f"  {total}"])


def _merged(cbs: Sequence[CbPlan]) -> list[tuple[str, ...]]:
    """Buffers that differ in number and name alone in one row; a second view as a word beside its buffer's name."""
    alike: dict[tuple[str, ...], list[CbPlan]] = {}
    for cb in cbs:
        if cb.shares is None:
            views = ", ".join(f"cb{other.id}" for other in cbs if other.shares == cb.id)
            word = f"{cb.name} (also {views})" if views else ""
            alike.setdefault((word, *_facts(cb)), []).append(cb)
    rows = []
    for (word, *facts, takes), some in alike.items():
        names = word or ", ".join(cb.name for cb in some)
        rows.append((_numbers([cb.id for cb in some]), names, *facts, f"{takes} each" if len(some) > 1 else takes))
    return rows


def _numbers(ids: Sequence[int]) -> str:
    """cb1, 2; or cb27 to 31."""
    if len(ids) > 2 and ids[-1] - ids[0] == len(ids) - 1:
        return f"cb{ids[0]} to {ids[-1]}"
    return f"cb{', '.join(map(str, ids))}"


def _facts(cb: CbPlan) -> tuple[str, ...]:
    return f"{cb.pages} x {cb.page_bytes:,} B {cb.format}", f"{cb.producer} -> {cb.consumer}", _takes(cb)


def _takes(cb: CbPlan) -> str:
    if cb.tensor is not None:
        return f"is the shard of {cb.tensor}"
    if cb.block is not None:
        return f"or the shard of {cb.block.tensor}"
    return f"{cb.pages * cb.page_bytes:,} B" if cb.shares is None else f"the pages of cb{cb.shares}"


def _columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Left-aligned columns; the last, a number, right-aligned."""
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  "
        + "  ".join([*(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))][:-1])
        + f"  {row[-1]:>{widths[-1]}}"
        for row in rows
    ]
