"""The result of a compilation: files, plan, and the reasons behind them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property

from tilelang_tt.diagnostics import Location
from tilelang_tt.runtime.line_map import LINES_FILE, SourceLine, lines_from_json
from tilelang_tt.runtime.plan import Plan

PLAN_FILE = "tt.plan.json"


@dataclass(frozen=True)
class Decision:
    """One choice of the compiler, with its reason: a line of `explain`."""

    stage: str  # pass that took it
    subject: str  # buffer, loop or hint it concerns
    text: str
    location: Location | None = None


@dataclass(frozen=True)
class Compiled:
    """Everything later steps need; plain data, so that it survives any cache."""

    name: str
    files: dict[str, str]  # reader.cpp compute.cpp writer.cpp main.cpp tt.plan.json tt.lines.json
    decisions: tuple[Decision, ...] = ()
    stages: tuple[tuple[str, str], ...] = ()  # (stage, IR text); empty unless asked for

    @cached_property
    def plan(self) -> Plan:
        return Plan.from_json(self.files[PLAN_FILE])

    @property
    def lines(self) -> tuple[SourceLine, ...]:
        """Lines of the user's behind lines of the files."""
        return lines_from_json(self.files.get(LINES_FILE, "{}"))

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Compiled:
        data = json.loads(text)
        decisions = tuple(
            Decision(
                item["stage"],
                item["subject"],
                item["text"],
                Location(**item["location"]) if item["location"] else None,
            )
            for item in data["decisions"]
        )
        stages = tuple((name, body) for name, body in data["stages"])
        return Compiled(data["name"], data["files"], decisions, stages)
