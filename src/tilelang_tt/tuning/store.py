"""Outcomes on disk, a line of JSON each, so that a search goes on where it stopped.

    <cache>/tuning/<key>.jsonl      key: kernel, arguments, target, classes of its dynamic sizes, this package's build

Lines are appended in one write as they come, so several searches may write one file, and a line that was cut off
counts for nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from tilelang_tt.runtime.build_cache import cache_directory, digest
from tilelang_tt.target import build_id
from tilelang_tt.tuning.measure import Outcome, Subject
from tilelang_tt.tuning.space import Choice

FOLDER = "tuning"


class Store:
    def __init__(self, subject: Subject, target: str) -> None:
        self.path = cache_directory() / FOLDER / f"{_key(subject, target)}.jsonl"

    def read(self) -> dict[Choice, Outcome]:
        """The last outcome of each choice."""
        try:
            lines = self.path.read_text(errors="replace").splitlines()
        except OSError:
            return {}
        found = (_outcome(line) for line in lines)
        return {outcome.choice: outcome for outcome in found if outcome is not None}

    def add(self, outcome: Outcome) -> None:
        """A cache that cannot be written costs time, not results: nothing is raised."""
        line = json.dumps(_record(outcome), default=str) + "\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(file, line.encode())
            finally:
                os.close(file)
        except OSError:
            return


def size_class(size: int) -> int:
    """Sizes of one class share what was found: the next power of two."""
    return 1 << (size - 1).bit_length()


def _key(subject: Subject, target: str) -> str:
    classes = {name: size_class(size) for name, size in sorted(subject.sizes.items())}
    arguments = [list(map(repr, subject.args)), {name: repr(value) for name, value in sorted(subject.kwargs.items())}]
    return digest(subject.text, subject.name, json.dumps([arguments, classes]), target, build_id())


def _record(outcome: Outcome) -> dict[str, Any]:
    return {
        "arguments": dict(outcome.choice.arguments),
        "options": dict(outcome.choice.options),
        "microseconds": outcome.microseconds,
        "bound": outcome.bound,
        "reason": outcome.reason,
        "tensors": list(outcome.tensors),
        "seconds": outcome.seconds,
    }


def _outcome(line: str) -> Outcome | None:
    try:
        record = json.loads(line)
        choice = Choice(_pairs(record["arguments"]), _pairs(record["options"]))
        return Outcome(
            choice,
            record["microseconds"],
            record["bound"],
            record["reason"],
            tuple(record["tensors"]),
            record["seconds"],
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _pairs(values: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in values.items())
