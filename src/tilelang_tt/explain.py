"""The compiler's account of one kernel: stages, decisions, L1 map, work map."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tilelang_tt.arch import Arch
from tilelang_tt.compiled import Compiled
from tilelang_tt.diagnostics import Location
from tilelang_tt.explain_work import work_map
from tilelang_tt.options import Options
from tilelang_tt.runtime.placing import l1_of
from tilelang_tt.runtime.plan import LaunchPlan, Plan, TensorPlan
from tilelang_tt.runtime.ttnn_tensors import layout_text


def explain(compiled: Compiled, options: Options, call_notes: Sequence[str] = (), time: str = "") -> str:
    """`call_notes`: what the latest call did beyond running the kernels; `time`: how long a call takes, in a line."""
    plan = compiled.plan
    sections = [_heading(plan, options) + (f"\n{time}" if time else "")]
    sections += [f"== {name}\n{text.rstrip()}" for name, text in compiled.stages]
    sections.append(decisions(compiled))
    for launch in plan.launches:
        sections.append(l1_map(launch, options.chip, plan.tensors))
        sections.append(work_map(launch))
    if plan.device != "virtual" or call_notes:
        sections.append(ttnn_layouts(plan))
    if call_notes:
        sections.append("\n".join(["latest call", *(f"  {note}" for note in call_notes)]))
    return "\n\n".join(sections) + "\n"


def _heading(plan: Plan, options: Options) -> str:
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


def _short(location: Location) -> str:
    """The place as a person in the current directory would name it."""
    path = Path(location.file)
    inside = path.is_absolute() and path.is_relative_to(Path.cwd())
    return f"{path.relative_to(Path.cwd()) if inside else path}:{location.line}"


def ttnn_layouts(plan: Plan) -> str:
    """How ttnn tensors must lie to be used where they are."""
    lines = [f"  {item.name}: {layout_text(item, len(plan.params[item.param].shape))}" for item in plan.tensors]
    return "\n".join(
        ["ttnn tensors are used where they lie if they are as follows, and converted there if not", *lines]
    )


def l1_map(launch: LaunchPlan, chip: Arch, tensors: Sequence[TensorPlan] = ()) -> str:
    """Circular buffers in the order of their ids, then tensors, with what they take of a core's L1."""
    rows = [
        (
            f"cb{cb.id}",
            cb.name,
            f"{cb.pages} x {cb.page_bytes:,} B {cb.format}",
            f"{cb.producer} -> {cb.consumer}",
            f"{cb.pages * cb.page_bytes:,} B" if cb.tensor is None else f"is the shard of {cb.tensor}",
        )
        for cb in sorted(launch.cbs, key=lambda cb: cb.id)
    ]
    used = sum(cb.pages * cb.page_bytes for cb in launch.cbs if cb.tensor is None)
    for tensor in tensors:
        if tensor.memory == "l1":
            size, how = l1_of(tensor, chip), "dealt to all cores" if tensor.shards is None else "in shards"
            rows.append(
                ("L1", tensor.name, f"tensor {tensor.format}", how, "at the call" if size is None else f"{size:,} B")
            )
            used += size or 0
    share = 100 * used / chip.l1_usable
    total = f"  used {used:,} B of {chip.l1_usable:,} B per core ({share:.1f} %)"
    return "\n".join([f"L1 map of '{launch.name}'", *_columns(rows), total])


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
