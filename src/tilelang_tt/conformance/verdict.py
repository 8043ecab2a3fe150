"""From events to one row per kernel: compiled, ran, right, and if not, why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tilelang_tt.conformance.events import KernelEvent, ScriptEvent
from tilelang_tt.conformance.runner import ScriptResult

# From best to worst. "ran": it ran to its end, but nothing judged the result.
STAGES = ("right", "ran", "wrong", "compiled", "refused")


@dataclass(frozen=True)
class Row:
    """One kernel of the checkout, over all scripts and variants that use it."""

    kernel: str  # file:line name
    stage: str
    code: str
    why: str
    variants: int
    irregular: tuple[str, ...]
    own_inputs: tuple[str, ...]  # parameters for which the runner made up values

    @property
    def pure(self) -> bool:
        return not self.irregular


def rows_of(results: list[ScriptResult]) -> list[Row]:
    """Kernels by place and name. One with several variants is as good as its worst; those that a script only compiled
    (to print their source, or because it was stopped then) do not count beside others that it called."""
    variants: dict[str, list[tuple[KernelEvent, ScriptEvent]]] = {}
    for result in results:
        called = {kernel.key for kernel in result.kernels if kernel.calls}
        for kernel in result.kernels:
            if kernel.calls or kernel.code or kernel.key not in called:
                variants.setdefault(kernel.key, []).append((kernel, result.event))
    return [_row(key, variants[key]) for key in sorted(variants)]


def _row(key: str, variants: list[tuple[KernelEvent, ScriptEvent]]) -> Row:
    stage, code, why = max((judge(kernel, script) for kernel, script in variants), key=lambda j: STAGES.index(j[0]))
    irregular = sorted({reason for kernel, _ in variants for reason in kernel.irregular})
    own_inputs = sorted({name for kernel, _ in variants for name in kernel.own_inputs})
    return Row(key, stage, code, why, len(variants), tuple(irregular), tuple(own_inputs))


def judge(kernel: KernelEvent, script: ScriptEvent) -> tuple[str, str, str]:
    """Stage, error code and reason of one variant."""
    if not kernel.compiled:
        return "refused", kernel.code or "stopped", kernel.message or script.message
    if kernel.code:
        return "compiled", kernel.code, kernel.message
    if not kernel.calls:
        return "compiled", "not called", script.message
    if kernel.reference == "equal":
        return "right", "", ""
    if kernel.reference.startswith("differs"):
        return "wrong", "differs", kernel.reference.removeprefix("differs: ")
    if script.end == "ok" and script.comparisons:
        return "right", "", ""
    if script.differed and not script.absent:
        return "wrong", "differs", script.message
    return "ran", "not judged", kernel.reference.removeprefix("none: ") or script.message


def counts(rows: list[Row]) -> dict[str, int]:
    """How many kernels got at least this far."""
    stages = Counter(row.stage for row in rows)
    ran = stages["right"] + stages["ran"] + stages["wrong"]
    return {"kernels": len(rows), "compiled": ran + stages["compiled"], "ran": ran, "right": stages["right"]}
