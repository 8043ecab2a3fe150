"""What a script's process writes down while it runs, one JSON line per event, so that a killed one leaves its story."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class KernelEvent:
    """One kernel as one script uses it. Later events of the same number replace earlier ones."""

    number: int
    file: str  # relative to the checkout
    line: int  # of its first statement
    name: str
    irregular: list[str] = field(default_factory=list)
    features: list[str] = field(default_factory=list)
    compiled: bool = False
    scalar: bool = False  # it runs element by element
    calls: int = 0  # that ran to their end
    code: str = ""  # of what stopped it, such as "TT113"; "" while nothing has
    message: str = ""
    discarded: bool = False  # a tuning configuration that was not chosen
    reference: str = ""  # "equal", "differs: ...", "none: ..." or "" if not asked
    own_inputs: list[str] = field(default_factory=list)  # parameters for which the runner made up values

    @property
    def key(self) -> str:
        return f"{self.file}:{self.line} {self.name}"


@dataclass
class ScriptEvent:
    """How the script ended."""

    end: str  # "ok", "exception", "exit", "stopped"; "scalar": its sizes are too large for scalar code
    message: str = ""
    comparisons: int = 0  # assertions on tensors that held
    absent: list[str] = field(default_factory=list)  # packages stood in for
    seconds: float = 0.0
    differed: bool = False  # an assertion on tensors did not hold


@dataclass
class TestEvent:
    """How one test ended."""

    __test__ = False  # for pytest: no test itself

    test: str  # file relative to the checkout::function[case]
    outcome: str  # "passed", "failed", "skipped"
    message: str = ""
    comparisons: int = 0  # assertions on tensors that held
    differed: bool = False  # an assertion on tensors did not hold
    kernels: list[int] = field(default_factory=list)  # numbers of the kernels it compiled


class Journal:
    """Appends events to a file, at once."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w")

    def write(self, event: KernelEvent | ScriptEvent | TestEvent) -> None:
        kind = {KernelEvent: "kernel", ScriptEvent: "script", TestEvent: "test"}[type(event)]
        self._file.write(json.dumps({"event": kind, **asdict(event)}) + "\n")
        self._file.flush()


def read_journal(path: Path) -> tuple[list[KernelEvent], ScriptEvent | None]:
    """The last state of each kernel, and the script's end if it came to one."""
    kernels: dict[int, KernelEvent] = {}
    script: ScriptEvent | None = None
    for line in path.read_text().splitlines() if path.exists() else ():
        values: dict[str, Any] = json.loads(line)
        if values.pop("event") == "kernel":
            kernel = KernelEvent(**values)
            kernels[kernel.number] = kernel
        else:
            script = ScriptEvent(**values)
    return [kernel for kernel in kernels.values() if not kernel.discarded], script


def read_tests(path: Path) -> tuple[dict[int, KernelEvent], list[TestEvent]]:
    """The last state of each kernel by its number, and the tests that ended."""
    kernels: dict[int, KernelEvent] = {}
    tests: list[TestEvent] = []
    for line in path.read_text().splitlines() if path.exists() else ():
        values: dict[str, Any] = json.loads(line)
        if values.pop("event") == "kernel":
            kernels[values["number"]] = KernelEvent(**values)
        else:
            tests.append(TestEvent(**values))
    return kernels, tests
